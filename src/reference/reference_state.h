/* Reference values in memory: what rpinn_reference_field and rpinn_reference_solve fill. */
#ifndef RPINN_REFERENCE_REFERENCE_STATE_H
#define RPINN_REFERENCE_REFERENCE_STATE_H

#include "arena.h"
#include "context.h"
#include "rpinn/reference.h"

enum { RPINN_REFERENCE_MAX_COLUMNS = 3 };

typedef struct RpinnReferenceColumn {
  const char *name;
  double *values; /* [num_cells] */
} RpinnReferenceColumn;

struct RpinnReference {
  RpinnArena *arena; /* holds everything, the struct itself included */
  size_t num_axes, num_cells;
  size_t counts[2];     /* 1 for an axis that is not there */
  const char *names[2]; /* of the coordinates */
  double low[2], high[2];
  double *centres[2]; /* [counts[i]] */
  size_t num_columns;
  RpinnReferenceColumn columns[RPINN_REFERENCE_MAX_COLUMNS]; /* cells with the first coordinate fastest */
  const char *title;                                         /* what they are, in a line */
  double balance_error;                                      /* of a flow, else NaN */
};

/* An empty one with its arena. */
RpinnStatus rpinn_reference_create(RpinnContext *context, RpinnReference **reference);
/* names of the caller or x1, x2: valid and different, copied. */
RpinnStatus rpinn_reference_name_axes(RpinnContext *context, RpinnReference *reference, size_t num_axes,
                                      const char *const names[2]);
RpinnStatus rpinn_reference_add_column(RpinnContext *context, RpinnReference *reference, const char *name,
                                       double **values);

#endif
