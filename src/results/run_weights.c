#include "run_weights.h"

#include <math.h>
#include <stdlib.h>

#include "double_target.h"
#include "draw_blocks.h"
#include "importance.h"
#include "independence_metropolis.h"
#include "run_record.h"
#include "unknown_noise.h"

/* What a thread weighs with. */
typedef struct Scales {
  RpinnPosterior *posterior;
  const RpinnNoisePosterior *noise; /* what the noise of draws was drawn from */
  RpinnDoubleTarget target;         /* weights are differences of large numbers */
  RpinnImportance *importance;
} Scales;

typedef struct Weighing {
  RpinnContext *context;
  RpinnRun *run;
  Scales *scales;      /* [num_posteriors] */
  double *log_weights; /* [draws] the run's */
  size_t count;
} Weighing;

static RpinnStatus make_scales(RpinnContext *context, const RpinnRun *run, RpinnPosterior *posterior,
                               Scales *scales) {
  const RpinnEnergyModel *model = &posterior->model;
  scales->posterior = posterior;
  scales->noise = &run->noise.posterior;
  RPINN_TRY(rpinn_double_target_open(context, posterior, &scales->target));
  scales->importance =
      rpinn_importance_create(model->num_rows, model->num_parameters, model->prior_root, model->prior_mean);
  return scales->importance ? RPINN_OK : rpinn_fail_memory(context);
}

static void free_scales(Scales *scales, size_t count) {
  for (size_t i = 0; scales && i < count; i++) {
    rpinn_double_target_close(&scales[i].target);
    rpinn_importance_destroy(scales[i].importance);
  }
  free(scales);
}

static RpinnStatus look_at_member(void *user, const RpinnVisitedDraw *draw, bool *compute) {
  (void)user; /* the pass that counted has looked at lengths */
  *compute = !draw->stored->failed;
  return RPINN_OK;
}

static void *scales_of(void *user, size_t thread) {
  return &((Weighing *)user)->scales[thread];
}

/* posterior / q over theta given eta, times posterior / q over eta; the latter is 1 where all noise is known. */
static RpinnStatus weigh_member(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                                double *log_weight) {
  Scales *scales = worker;
  const double *theta = draw->stored->parameters, *eta = theta + scales->posterior->model.num_parameters;
  scales->target.context = context;
  rpinn_posterior_set_noise(scales->posterior, eta);
  RPINN_TRY(
      rpinn_importance_log_weight_of_target(scales->importance, &scales->target.squares, theta, log_weight));
  *log_weight -= rpinn_noise_energy(scales->posterior, eta, NULL) +
                 rpinn_noise_posterior_log_density(scales->noise, eta);
  return RPINN_OK;
}

static RpinnStatus take_weight(void *user, const RpinnVisitedDraw *draw, const double *log_weight) {
  Weighing *weighing = user;
  if (!draw->stored->failed) weighing->log_weights[weighing->count++] = *log_weight;
  return RPINN_OK;
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
  RpinnDrawBlocks blocks = {.run = run,
                            .num_values = 1,
                            .user = weighing,
                            .look = look_at_member,
                            .worker = scales_of,
                            .compute = weigh_member,
                            .take = take_weight};
  weighing->scales = calloc(run->num_posteriors, sizeof *weighing->scales);
  if (!weighing->scales) return rpinn_fail_memory(weighing->context);
  for (size_t i = 0; i < run->num_posteriors; i++)
    RPINN_TRY(make_scales(weighing->context, run, run->posteriors[i], &weighing->scales[i]));
  weights->log_weights = weighing->log_weights = calloc(run->num_samples + 1, sizeof(double));
  weights->smoothed = calloc(run->num_samples + 1, sizeof(double));
  if (!weights->log_weights || !weights->smoothed) return rpinn_fail_memory(weighing->context);
  RPINN_TRY(rpinn_draw_blocks_visit(weighing->context, &blocks));
  if (rpinn_pareto_smooth(weighing->count, weights->log_weights, weights->smoothed, &weights->smoothing) !=
      RPINN_OK)
    return rpinn_fail_memory(weighing->context);
  weights->apply = weights->smoothing.usable;
  if (!weights->apply) weights->reason = "a weight is not finite";
  return weights->apply && correct ? correct_draws(weighing, weights) : RPINN_OK;
}

/* NULL when weights make sense, else why they do not. */
static const char *reason_against(const RpinnRun *run, uint64_t finished, uint64_t converged) {
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  if (!run->method->has_weights) return "only members of method rpinn have weights";
  if (run->posteriors[0]->sigmas.integrates)
    return "weights are those of one prior, and every member has a scale of its own";
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
  free_scales(weighing.scales, run->num_posteriors);
  return status;
}
