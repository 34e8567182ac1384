/* One minimisation as the settings ask for it: the part that MAP, ensembles and rPINN share. Knows targets,
 * not problems. */
#ifndef RPINN_SAMPLE_MINIMIZE_H
#define RPINN_SAMPLE_MINIMIZE_H

#include "context.h"
#include "rpinn/choices.h"
#include "rpinn/optimize.h"

/* NaN and 0 leave an optimiser's own default. */
typedef struct RpinnMinimizeOptions {
  RpinnMinimizer minimizer; /* not Adagrad */
  size_t iterations;
  RpinnAdamRule adam;
  double gradient_tolerance; /* NaN: default */
  double progress_tolerance; /* NaN: default */
  size_t progress_window;    /* 0: default */
  double progress_amount;
  bool momentum, acceleration; /* of Levenberg–Marquardt */
  bool (*interrupted)(void *user);
  void *user;
} RpinnMinimizeOptions;

/* An optimiser for the energy of a member, given as an objective (adam, lbfgs) and as least squares (lm) with offsets [M+N] or
 * NULL: what the targets and the offsets point to is borrowed until the optimiser is destroyed. */
RpinnStatus rpinn_minimize_create(RpinnContext *context, const RpinnMinimizeOptions *options,
                                  const RpinnBatchObjective *objective, const RpinnBatchLeastSquares *squares,
                                  size_t member, const double *offsets, RpinnOptimizer **optimizer);

/* Did it stop because there was nothing left to gain? */
bool rpinn_stop_is_converged(RpinnStop stop);

#endif
