/* The least squares of a posterior in double, whatever precision its own backend has: for differences of large numbers
 * (evidences, importance weights) that float cannot tell. Used by one thread at a time; several may share one posterior, whose
 * model they only read. */
#ifndef RPINN_POSTERIOR_DOUBLE_TARGET_H
#define RPINN_POSTERIOR_DOUBLE_TARGET_H

#include "posterior.h"

typedef struct RpinnDoubleTarget {
  RpinnContext
      *context; /* where failures are told: that of opening, until another thread puts its own here */
  RpinnBackend *backend;
  RpinnLeastSquares squares; /* with the prior of the posterior; a caller may put another in its place */
} RpinnDoubleTarget;

/* Borrows the posterior; must stay where it is while squares is used. */
RpinnStatus rpinn_double_target_open(RpinnContext *context, const RpinnPosterior *posterior,
                                     RpinnDoubleTarget *target);
/* The same in float: half the time, for searches. */
RpinnStatus rpinn_single_target_open(RpinnContext *context, const RpinnPosterior *posterior,
                                     RpinnDoubleTarget *target);
/* Accepts one that was not opened. */
void rpinn_double_target_close(RpinnDoubleTarget *target);

#endif
