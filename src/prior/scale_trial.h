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

enum { RPINN_MAX_TRIAL_STARTS = 16 };

typedef struct RpinnScaleTrial {
  double scale;
  size_t num_starts;                             /* searches that were made */
  double start_energies[RPINN_MAX_TRIAL_STARTS]; /* [num_starts] where they ended */
  double energy;        /* the lowest of these; infinite where no start led anywhere */
  double linear_energy; /* the least energy of the model linearised there: energy itself at a minimum */
  double log_evidence;  /* NaN where the linearisation is not finite */
  double leave_one_out; /* likewise */
  double misfit;        /* mean square of the data rows: about 1 or less where the model fits */
} RpinnScaleTrial;

/* Starts that ended at the lowest energy, or within one nat of it: about as probable. */
size_t rpinn_scale_trial_at_minimum(const RpinnScaleTrial *trial);
/* Is that a minimum? A tenth of a nat is a small part of what tells two scales apart. */
bool rpinn_scale_trial_converged(const RpinnScaleTrial *trial);

/* Minimise E by Levenberg–Marquardt from theta [N], which becomes the minimiser; *energy is infinite where E was not finite.
 * interrupted may be NULL; once it says true, theta is any point on the way. */
RpinnStatus rpinn_scale_minimise(RpinnContext *context, const RpinnLeastSquares *squares, size_t iterations,
                                 bool (*interrupted)(void *user), void *user, double *theta, double *energy);

/* Fill linear_energy, log_evidence, leave_one_out and misfit at theta [N]; is_data [M]. */
RpinnStatus rpinn_scale_judge(RpinnContext *context, const RpinnLeastSquares *squares, const bool *is_data,
                              const double *theta, RpinnScaleTrial *trial);

#endif
