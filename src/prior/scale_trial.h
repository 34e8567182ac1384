/* What the data say of one scale of the prior: the most probable parameters under it, and how well the model linearised there
 * foretells the data.
 *
 * Rows are of two kinds. Data rows were measured. Tolerance rows state how exactly an equation is to hold (a residual that is
 * zero, a known boundary value, the rows of a gaussian prior): no scale is better for foretelling them, so they are given:
 *
 *   log evidence   log Z(all rows) - log Z(tolerance rows)       at the same linearisation
 *   leave one out  sum over data rows of log p(row | all others) */
#ifndef RPINN_PRIOR_SCALE_TRIAL_H
#define RPINN_PRIOR_SCALE_TRIAL_H

#include <stdbool.h>

#include "context.h"
#include "rpinn/target.h"

typedef struct RpinnScaleTrial {
  double scale;
  double energy;        /* of the most probable parameters; infinite where no start led anywhere */
  double log_evidence;  /* NaN where the linearisation is not finite */
  double leave_one_out; /* likewise */
  double misfit;        /* mean square of the data rows: about 1 or less where the model fits */
} RpinnScaleTrial;

/* Minimise E by Levenberg–Marquardt from theta [N], which becomes the minimiser; *energy is infinite where E was not finite.
 * interrupted may be NULL; once it says true, theta is any point on the way. */
RpinnStatus rpinn_scale_minimise(RpinnContext *context, const RpinnLeastSquares *squares, size_t iterations,
                                 bool (*interrupted)(void *user), void *user, double *theta, double *energy);

/* Fill log_evidence, leave_one_out and misfit at theta [N]; is_data [M]. */
RpinnStatus rpinn_scale_judge(RpinnContext *context, const RpinnLeastSquares *squares, const bool *is_data,
                              const double *theta, RpinnScaleTrial *trial);

#endif
