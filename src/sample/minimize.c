#include "minimize.h"

#include <math.h>

static void apply_stops(const RpinnMinimizeOptions *options, RpinnStopRule *stop) {
  stop->max_iterations = options->iterations;
  if (!isnan(options->gradient_tolerance)) stop->gradient_tolerance = options->gradient_tolerance;
  if (!isnan(options->progress_tolerance)) {
    stop->progress_tolerance = options->progress_tolerance;
    if (!stop->progress_window) stop->progress_window = 100; /* Adam has none of its own */
  }
  if (options->progress_window) stop->progress_window = options->progress_window;
  stop->progress_amount = options->progress_amount;
  stop->interrupted = options->interrupted;
  stop->interrupted_user = options->user;
}

RpinnStatus rpinn_minimize_create(RpinnContext *context, const RpinnMinimizeOptions *options,
                                  const RpinnBatchObjective *objective, const RpinnBatchLeastSquares *squares,
                                  size_t member, const double *offsets, RpinnOptimizer **optimizer) {
  if (options->minimizer == RPINN_MINIMIZER_ADAM) {
    RpinnAdamOptions adam = rpinn_adam_default_options();
    apply_stops(options, &adam.stop);
    adam.rule = options->adam;
    return rpinn_adam_create_member(context, objective, member, &adam, optimizer);
  }
  if (options->minimizer == RPINN_MINIMIZER_LBFGS) {
    RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
    apply_stops(options, &lbfgs.stop);
    return rpinn_lbfgs_create_member(context, objective, member, &lbfgs, optimizer);
  }
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  apply_stops(options, &lm.stop);
  lm.momentum = options->momentum;
  lm.acceleration = options->acceleration;
  return rpinn_levenberg_marquardt_create_member(context, squares, member, offsets, &lm, optimizer);
}

bool rpinn_stop_is_converged(RpinnStop stop) {
  return stop == RPINN_STOP_GRADIENT_SMALL || stop == RPINN_STOP_NO_PROGRESS ||
         stop == RPINN_STOP_DECREASE_SMALL;
}
