/* A step length along a descent direction that satisfies the strong Wolfe conditions. */
#ifndef RPINN_OPTIMIZE_LINE_SEARCH_H
#define RPINN_OPTIMIZE_LINE_SEARCH_H

#include "rpinn/target.h"

/* The loss phi(step) = f(theta + step * direction) and its slope phi' = gradient . direction. */
typedef struct RpinnLineSearch {
  const RpinnObjective *objective;
  const double *theta, *direction;      /* [N] */
  double value, slope;                  /* phi(0), phi'(0) < 0 */
  double lowest_value;                  /* the lowest loss of the run so far */
  double rounding;                      /* values this far apart, relative to their size, are the same */
  double first_step;                    /* > 0 */
  double *trial_theta, *trial_gradient; /* [N] out: the point found and its gradient */
  double trial_value;                   /* out */
  size_t num_evaluations;               /* out */
} RpinnLineSearch;

/* *found is false when no point with a lower loss was found; the outputs then mean nothing. */
RpinnStatus rpinn_line_search(RpinnLineSearch *search, bool *found);

#endif
