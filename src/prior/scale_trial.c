#include "scale_trial.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "linearisation.h"
#include "rpinn/optimize.h"

size_t rpinn_scale_trial_at_minimum(const RpinnScaleTrial *trial) {
  size_t count = 0;
  for (size_t k = 0; k < trial->num_starts; k++) count += trial->start_energies[k] <= trial->energy + 1;
  return isfinite(trial->energy) ? count : 0;
}

bool rpinn_scale_trial_converged(const RpinnScaleTrial *trial) {
  return trial->energy - trial->linear_energy <= 0.1;
}

RpinnStatus rpinn_scale_minimise(RpinnContext *context, const RpinnLeastSquares *squares, size_t iterations,
                                 bool (*interrupted)(void *user), void *user, double *theta, double *energy) {
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizer;
  options.stop.max_iterations = iterations;
  options.stop.progress_tolerance = 1e-4; /* of E: far less than what tells two scales apart */
  options.stop.interrupted = interrupted;
  options.stop.interrupted_user = user;
  RPINN_TRY(rpinn_levenberg_marquardt_create(context, squares, NULL, &options, &optimizer));
  RpinnStatus status = rpinn_optimizer_start(context, optimizer, theta);
  if (status == RPINN_OK) status = rpinn_optimizer_advance(context, optimizer, SIZE_MAX);
  if (status == RPINN_OK) {
    RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
    memcpy(theta, optimum.best_theta, squares->num_parameters * sizeof *theta);
    *energy = isfinite(optimum.best_loss) ? optimum.best_loss : (double)INFINITY;
  }
  rpinn_optimizer_destroy(optimizer);
  return status;
}

static RpinnStatus measure_misfit(RpinnContext *context, const RpinnLeastSquares *squares,
                                  const bool *is_data, const double *theta, double *misfit) {
  double *rows = malloc((squares->num_rows + 1) * sizeof *rows), sum = 0, count = 0;
  if (!rows) return rpinn_fail_memory(context);
  RpinnStatus status = squares->residuals(squares->data, theta, rows);
  for (size_t i = 0; status == RPINN_OK && i < squares->num_rows; i++) {
    if (!is_data[i]) continue;
    sum += rows[i] * rows[i];
    count += 1;
  }
  free(rows);
  *misfit = sum / count;
  return status;
}

static RpinnStatus foretell(RpinnContext *context, const RpinnLinearisation *linearisation,
                            const RpinnLeastSquares *squares, const bool *is_data, RpinnScaleTrial *trial) {
  bool *tolerance = malloc((squares->num_rows + 1) * sizeof *tolerance);
  if (!tolerance) return rpinn_fail_memory(context);
  trial->linear_energy = rpinn_linearisation_energy(linearisation);
  trial->leave_one_out = 0;
  for (size_t i = 0; i < squares->num_rows; i++) {
    tolerance[i] = !is_data[i];
    if (is_data[i]) trial->leave_one_out += rpinn_linearisation_leave_out(linearisation, i).log_density;
  }
  trial->log_evidence = rpinn_linearisation_log_evidence(linearisation) -
                        rpinn_linearisation_log_evidence_of(linearisation, tolerance);
  free(tolerance);
  return RPINN_OK;
}

RpinnStatus rpinn_scale_judge(RpinnContext *context, const RpinnLeastSquares *squares, const bool *is_data,
                              const double *theta, RpinnScaleTrial *trial) {
  RpinnLinearisation *linearisation;
  trial->linear_energy = trial->log_evidence = trial->leave_one_out = (double)NAN;
  RPINN_TRY(measure_misfit(context, squares, is_data, theta, &trial->misfit));
  RpinnStatus status = rpinn_linearisation_create(squares, theta, &linearisation);
  if (status == RPINN_ERROR_NUMERIC) return RPINN_OK; /* such a scale is not chosen */
  if (status == RPINN_OK) status = foretell(context, linearisation, squares, is_data, trial);
  rpinn_linearisation_destroy(linearisation);
  return status;
}
