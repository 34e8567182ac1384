#include "scale_trial.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "linearisation.h"
#include "rpinn/optimize.h"

/* ---- a point ---- */

RpinnStatus rpinn_scale_minimise(RpinnContext *context, const RpinnLeastSquares *squares,
                                 const double *offsets, size_t iterations, bool (*interrupted)(void *user),
                                 void *user, double *theta, double *energy, bool *converged) {
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizer;
  options.stop.max_iterations = iterations;
  options.stop.progress_tolerance = 1e-4; /* of E: far less than what tells two scales apart */
  options.stop.progress_amount = 0.1;     /* nats: likewise */
  options.momentum = options.acceleration = true;
  options.stop.interrupted = interrupted;
  options.stop.interrupted_user = user;
  RPINN_TRY(rpinn_levenberg_marquardt_create(context, squares, offsets, &options, &optimizer));
  RpinnStatus status = rpinn_optimizer_start(context, optimizer, theta);
  if (status == RPINN_OK) status = rpinn_optimizer_advance(context, optimizer, SIZE_MAX);
  if (status == RPINN_OK) {
    RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
    memcpy(theta, optimum.best_theta, squares->num_parameters * sizeof *theta);
    *energy = isfinite(optimum.best_loss) ? optimum.best_loss : (double)INFINITY;
    *converged = optimum.stop != RPINN_STOP_BUDGET;
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
                            const RpinnLeastSquares *squares, const bool *is_data, RpinnScaleView *view) {
  bool *tolerance = malloc((squares->num_rows + 1) * sizeof *tolerance);
  if (!tolerance) return rpinn_fail_memory(context);
  view->linear_energy = rpinn_linearisation_energy(linearisation);
  for (size_t i = 0; i < squares->num_rows; i++) {
    tolerance[i] = !is_data[i];
    if (is_data[i]) view->densities[i] = rpinn_linearisation_leave_out(linearisation, i).log_density;
  }
  view->log_evidence = rpinn_linearisation_log_evidence(linearisation) -
                       rpinn_linearisation_log_evidence_of(linearisation, tolerance);
  free(tolerance);
  view->is_finite = isfinite(view->log_evidence);
  return RPINN_OK;
}

RpinnStatus rpinn_scale_look(RpinnContext *context, const RpinnLeastSquares *squares, const bool *is_data,
                             const double *theta, RpinnScaleView *view) {
  RpinnLinearisation *linearisation;
  view->is_finite = false;
  RPINN_TRY(measure_misfit(context, squares, is_data, theta, &view->misfit));
  RpinnStatus status = rpinn_linearisation_create(squares, theta, &linearisation);
  if (status == RPINN_ERROR_NUMERIC) return RPINN_OK; /* such a point says nothing */
  if (status == RPINN_OK) status = foretell(context, linearisation, squares, is_data, view);
  rpinn_linearisation_destroy(linearisation);
  return status;
}

/* ---- all points of a trial ---- */

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

double rpinn_scale_median(size_t count, double *values) {
  if (!count) return (double)NAN;
  qsort(values, count, sizeof *values, compare_numbers);
  return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

/* log mean exp of values [count]. */
static double log_mean(size_t count, const double *values) {
  double highest = -(double)INFINITY, sum = 0;
  for (size_t k = 0; k < count; k++) highest = fmax(highest, values[k]);
  for (size_t k = 0; k < count; k++) sum += exp(values[k] - highest);
  return highest + log(sum / (double)count);
}

void rpinn_scale_trial_pool(RpinnScaleTrial *trial, size_t num_rows, const bool *is_data, size_t num_views,
                            const RpinnScaleView *views) {
  const RpinnScaleView *finite[RPINN_MAX_TRIAL_STARTS];
  double values[RPINN_MAX_TRIAL_STARTS];
  size_t count = 0;
  for (size_t k = 0; k < num_views; k++)
    if (views[k].is_finite) finite[count++] = &views[k];
  trial->log_evidence = trial->leave_one_out = trial->misfit = (double)NAN;
  if (!count || 2 * count < num_views) return;
  for (size_t k = 0; k < count; k++) values[k] = finite[k]->log_evidence;
  trial->log_evidence = log_mean(count, values);
  trial->leave_one_out = 0;
  for (size_t i = 0; i < num_rows; i++) {
    if (!is_data[i]) continue;
    for (size_t k = 0; k < count; k++) values[k] = finite[k]->densities[i];
    trial->leave_one_out += log_mean(count, values);
  }
  for (size_t k = 0; k < count; k++) values[k] = finite[k]->misfit;
  trial->misfit = rpinn_scale_median(count, values);
}
