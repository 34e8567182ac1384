#include <math.h>
#include <stdlib.h>

#include "importance.h"
#include "independence_metropolis.h"
#include "run_progress.h"

typedef struct Weighing {
  RpinnContext *context;
  RpinnRun *run;
  RpinnBackend *backend; /* in double whatever the run is in: weights are differences of large numbers */
  RpinnLeastSquares squares;
  RpinnImportance *importance;
  double *log_weights; /* [draws] */
  size_t count;
} Weighing;

static RpinnStatus times_direction(void *data, const double *theta, const double *direction,
                                   double *product) {
  RpinnBackend *backend = data;
  return backend->operations->jacobian_times(backend, theta, direction, product);
}

static RpinnStatus gram_matrix(void *data, const double *theta, const double *scale, double *rows,
                               double *gram) {
  RpinnBackend *backend = data;
  return backend->operations->gram(backend, theta, scale, rows, gram);
}

static RpinnStatus rows_only(void *data, const double *theta, double *rows) {
  RpinnBackend *backend = data;
  return backend->operations->residuals(backend, theta, rows, NULL);
}

static RpinnStatus rows_and_jacobian(void *data, const double *theta, double *rows, double *jacobian) {
  RpinnBackend *backend = data;
  return backend->operations->residuals(backend, theta, rows, jacobian);
}

static RpinnStatus weigh_member(void *user, const RpinnStoredMember *member) {
  Weighing *weighing = user;
  if (member->failed) return RPINN_OK;
  if (rpinn_run_is_stopped(weighing->context, weighing->run))
    return rpinn_fail_interrupted(weighing->context);
  return rpinn_importance_log_weight_of_target(weighing->importance, &weighing->squares, member->parameters,
                                               &weighing->log_weights[weighing->count++]);
}

/* The chain as counts: it only ever moves forward, so a draw's places in it are next to each other. */
static RpinnStatus correct_draws(Weighing *weighing, RpinnRunWeights *weights) {
  size_t *chain = calloc(weighing->count, sizeof *chain);
  weights->times = calloc(weighing->count, sizeof *weights->times);
  if (!chain || !weights->times) {
    free(chain);
    return rpinn_fail_memory(weighing->context);
  }
  weights->acceptance = rpinn_independence_metropolis(weighing->run->posteriors[0]->seed, weighing->count,
                                                      weighing->log_weights, chain);
  for (size_t i = 0; i < weighing->count; i++) weights->times[chain[i]]++;
  weights->corrected = true;
  free(chain);
  return RPINN_OK;
}

static RpinnStatus weigh(Weighing *weighing, RpinnRunWeights *weights, bool correct) {
  RpinnRun *run = weighing->run;
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  RPINN_TRY(rpinn_cpu_backend.create(weighing->context, model, RPINN_PRECISION_DOUBLE, &weighing->backend));
  weighing->squares = rpinn_posterior_least_squares(run->posteriors[0]);
  weighing->squares.data = weighing->backend;
  weighing->squares.residuals = rows_only;
  weighing->squares.jacobian = rows_and_jacobian;
  weighing->squares.jacobian_times = times_direction;
  weighing->squares.transposed_times = NULL;
  weighing->squares.gram = gram_matrix;
  weighing->importance =
      rpinn_importance_create(model->num_rows, model->num_parameters, model->prior_root, model->prior_mean);
  weighing->log_weights = calloc(run->num_samples + 1, sizeof(double));
  double *smoothed = calloc(run->num_samples + 1, sizeof *smoothed);
  RpinnStatus status =
      weighing->importance && weighing->log_weights && smoothed ? RPINN_OK : RPINN_ERROR_MEMORY;
  if (status == RPINN_OK)
    status =
        rpinn_member_store_visit(weighing->context, run->store, run->num_samples, weigh_member, weighing);
  if (status == RPINN_OK)
    status = rpinn_pareto_smooth(weighing->count, weighing->log_weights, smoothed, &weights->smoothing);
  if (status == RPINN_OK) weights->apply = weights->smoothing.usable;
  if (status == RPINN_OK && !weights->apply) weights->reason = "a weight is not finite";
  if (status == RPINN_OK && weights->apply && correct) status = correct_draws(weighing, weights);
  free(smoothed);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(weighing->context) : status;
}

/* NULL when weights make sense, else why they do not. */
static const char *reason_against(const RpinnRun *run, uint64_t finished, uint64_t converged) {
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  if (!run->method->has_weights) return "only members of method rpinn have weights";
  if (converged < finished) return "weights belong to converged members, and some did not converge";
  if (!rpinn_importance_available(model->num_parameters, model->prior_root))
    return "weights need a prior on every parameter";
  return NULL;
}

RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t finished,
                                   uint64_t converged) {
  RpinnRunWeights *weights = &run->results.weights;
  bool correct = rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_CORRECT) == RPINN_CORRECTION_MH;
  *weights = (RpinnRunWeights){.acceptance = (double)NAN,
                               .smoothing = {.k = (double)NAN, .effective_size = (double)NAN}};
  weights->reason = reason_against(run, finished, converged);
  if (weights->reason) return RPINN_OK;
  Weighing weighing = {.context = context, .run = run};
  RpinnStatus status = weigh(&weighing, weights, correct);
  if (weighing.backend) weighing.backend->operations->destroy(weighing.backend);
  rpinn_importance_destroy(weighing.importance);
  free(weighing.log_weights);
  return status;
}
