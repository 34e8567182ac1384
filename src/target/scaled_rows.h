/* A least-squares target with each row times a factor of its own: the same problem with other noise. */
#ifndef RPINN_TARGET_SCALED_ROWS_H
#define RPINN_TARGET_SCALED_ROWS_H

#include "rpinn/target.h"

typedef struct RpinnScaledRows {
  RpinnLeastSquares squares; /* the target; must stay where it is while it is used */
  const RpinnLeastSquares *base;
  double *factors; /* [M], 1 at first: the caller's to change between calls */
  double *weights; /* [M] of one product */
} RpinnScaledRows;

/* Borrows base, and reads its prior at once. RPINN_ERROR_MEMORY, or OK. */
RpinnStatus rpinn_scaled_rows_open(const RpinnLeastSquares *base, RpinnScaledRows *scaled);
/* Accepts one that was not opened. */
void rpinn_scaled_rows_close(RpinnScaledRows *scaled);

#endif
