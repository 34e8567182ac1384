/* A step length along a descent direction that satisfies the strong Wolfe conditions. */
#ifndef RPINN_OPTIMIZE_LINE_SEARCH_H
#define RPINN_OPTIMIZE_LINE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* phi and phi' at a step length. */
typedef struct RpinnLineStep {
  double length, value, slope;
} RpinnLineStep;

/* The loss phi(step) = f(theta + step * direction) and its slope phi' = gradient . direction. */
typedef struct RpinnLineSearch {
  size_t num_parameters;           /* N */
  const double *theta, *direction; /* [N] */
  double value, slope;             /* phi(0), phi'(0) < 0 */
  double lowest_value;             /* the lowest loss of the run so far */
  double rounding;                 /* values this far apart, relative to their size, are the same */
  double first_step;               /* > 0 */
  double *trial_theta;             /* [N] out: the point to evaluate; in the end, the point found */
  double *trial_gradient;          /* [N] in: the gradient there, and … */
  double trial_value;              /* … the loss */
  size_t num_evaluations;          /* out */
  bool found;                      /* out: false when no point with a lower loss was found */
  /* ---- of the search under way ---- */
  double length;           /* of the trial */
  RpinnLineStep low, high; /* the bracket */
  bool is_closed;          /* high is known */
  double last_width;       /* of the bracket before the last trial */
  bool is_settling;        /* the trial is low once more */
} RpinnLineSearch;

/* The first trial in trial_theta, whose loss and gradient the search wants to know. */
void rpinn_line_search_begin(RpinnLineSearch *search);
/* They are known. True: there is another trial. False: the search is over, and where it has found a point it is the trial. */
bool rpinn_line_search_answered(RpinnLineSearch *search);

#endif
