/* What the data say of one scale of the prior: how well the model, linearised at points that were found under it, foretells the
 * data. The points are minima of the energy: the most probable parameters, or a few rPINN members.
 *
 * Rows are of two kinds. Data rows were measured. Tolerance rows state how exactly an equation is to hold (a residual that is
 * zero, a known boundary value, the rows of a gaussian prior): no scale is better for foretelling them, so they are given:
 *
 *   log evidence   log mean_k exp(log Z_k(all rows) - log Z_k(tolerance rows))     over points k, each with its linearisation
 *   leave one out  sum over data rows of log mean_k p_k(row | all others)
 *
 * For a model that is linear in its parameters all points say the same. */
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
  size_t
      num_at_minimum;  /* of these: within one nat of the lowest; members: at a minimum of their own energy */
  bool converged;      /* is the lowest a minimum; members: are half of them */
  double energy;       /* the lowest, members: the median; infinite where no start led anywhere */
  double log_evidence; /* NaN where no linearisation is finite */
  double leave_one_out; /* likewise */
  double
      misfit; /* mean square of the data rows, members: their median: about 1 or less where the model fits */
} RpinnScaleTrial;

/* Minimise E, with offsets [M + N] of an rPINN member or without (NULL), by Levenberg–Marquardt from theta [N], which becomes
 * the minimiser; *energy is infinite where E was not finite. interrupted may be NULL; once it says true, theta is any point on
 * the way. */
RpinnStatus rpinn_scale_minimise(RpinnContext *context, const RpinnLeastSquares *squares,
                                 const double *offsets, size_t iterations, bool (*interrupted)(void *user),
                                 void *user, double *theta, double *energy, bool *converged);

/* What the model linearised at one point foretells. */
typedef struct RpinnScaleView {
  double energy;  /* of the point, as its own search saw it */
  bool converged; /* likewise */
  bool is_finite; /* the linearisation: what follows is there */
  double
      linear_energy; /* the least energy, without offsets, of the linearised model: that of the point at a minimum */
  double log_evidence; /* of the data rows, given the others */
  double misfit;
  double *densities; /* [M] log density of each data row given all others; those of other rows are not set */
} RpinnScaleView;

/* Fill all but energy and converged at theta [N]; is_data [M]; view->densities is the caller's. */
RpinnStatus rpinn_scale_look(RpinnContext *context, const RpinnLeastSquares *squares, const bool *is_data,
                             const double *theta, RpinnScaleView *view);

/* Fill log_evidence and leave_one_out with means over the views that are finite (NaN where fewer than half are), misfit with
 * their median. */
void rpinn_scale_trial_pool(RpinnScaleTrial *trial, size_t num_rows, const bool *is_data, size_t num_views,
                            const RpinnScaleView *views);

/* The median of values [count], which are sorted; NaN of none. */
double rpinn_scale_median(size_t count, double *values);

#endif
