#include "run_weights.h"

#include <math.h>
#include <stdlib.h>

#include "draw_blocks.h"
#include "independence_metropolis.h"
#include "run_record.h"

/* ---- the pass ---- */

void rpinn_weighing_open(RpinnContext *context, RpinnRun *run, RpinnWeighing *weighing) {
  *weighing = (RpinnWeighing){.context = context, .run = run, .weigher = run->method->weigher};
  if (!weighing->weigher) weighing->reason = "only draws of methods rpinn and vi have weights";
}

RpinnStatus rpinn_weighing_prepare(RpinnWeighing *weighing) {
  RpinnContext *context = weighing->context;
  RpinnRun *run = weighing->run;
  if (weighing->scales) return RPINN_OK;
  weighing->scales = calloc(run->num_posteriors, sizeof *weighing->scales);
  weighing->log_weights = calloc(run->num_samples + 1, sizeof(double));
  if (!weighing->scales || !weighing->log_weights) return rpinn_fail_memory(context);
  for (size_t i = 0; i < run->num_posteriors; i++)
    RPINN_TRY(weighing->weigher->open(context, run, run->posteriors[i], &weighing->scales[i]));
  return RPINN_OK;
}

void rpinn_weighing_close(RpinnWeighing *weighing) {
  for (size_t i = 0; weighing->scales && i < weighing->run->num_posteriors; i++)
    weighing->weigher->close(weighing->scales[i]);
  free(weighing->scales);
  free(weighing->log_weights);
}

bool rpinn_weighing_wants(RpinnWeighing *weighing, uint64_t finished, uint64_t converged) {
  if (!weighing->reason)
    weighing->reason = weighing->weigher->reason_against(weighing->run, finished, converged);
  return !weighing->reason;
}

void rpinn_weighing_add(RpinnWeighing *weighing, double log_weight) {
  weighing->log_weights[weighing->count++] = log_weight;
}

/* ---- what weights come to ---- */

/* The chain as counts: it only ever moves forward, so a draw's places in it are next to each other. */
static RpinnStatus correct_draws(const RpinnWeighing *weighing, RpinnRunWeights *weights) {
  size_t *chain = calloc(weighing->count, sizeof *chain);
  weights->times = calloc(weighing->count, sizeof *weights->times);
  if (!chain || !weights->times) {
    free(chain);
    return rpinn_fail_memory(weighing->context);
  }
  weights->acceptance = rpinn_independence_metropolis(weighing->run->posteriors[0]->seed, weighing->count,
                                                      weights->log_weights, chain);
  for (size_t i = 0; i < weighing->count; i++) weights->times[chain[i]]++;
  weights->corrected = true;
  free(chain);
  return RPINN_OK;
}

/* Weights whose k cannot be told are as little to be used as those whose k is too large, unless all are equal. */
static const char *reason_of(const RpinnWeigher *weigher, const RpinnParetoSmoothing *smoothing) {
  if (!smoothing->usable) return "a weight is not finite";
  if (isinf(weigher->largest_k) || smoothing->constant || smoothing->k <= weigher->largest_k) return NULL;
  return isnan(smoothing->k) ? "their Pareto k takes more draws" : "their Pareto k is too large";
}

static RpinnStatus smooth(RpinnWeighing *weighing, RpinnRunWeights *weights) {
  weights->log_weights = weighing->log_weights;
  weighing->log_weights = NULL;
  weights->smoothed = calloc(weighing->count + 1, sizeof(double));
  if (!weights->smoothed || rpinn_pareto_smooth(weighing->count, weights->log_weights, weights->smoothed,
                                                &weights->smoothing) != RPINN_OK)
    return rpinn_fail_memory(weighing->context);
  weights->reason = reason_of(weighing->weigher, &weights->smoothing);
  weights->apply = !weights->reason;
  return RPINN_OK;
}

RpinnStatus rpinn_weighing_finish(RpinnWeighing *weighing, uint64_t finished, uint64_t converged) {
  RpinnRunWeights *weights = &weighing->run->results.weights;
  const RpinnSettingsValues *settings = &weighing->run->problem->settings;
  *weights = (RpinnRunWeights){.acceptance = (double)NAN,
                               .smoothing = {.k = (double)NAN, .effective_size = (double)NAN}};
  if (rpinn_weighing_wants(weighing, finished, converged)) RPINN_TRY(smooth(weighing, weights));
  if (weighing->reason) weights->reason = weighing->reason;
  if (!weights->apply || rpinn_settings_choice(settings, RPINN_SETTING_CORRECT) != RPINN_CORRECTION_MH)
    return RPINN_OK;
  return correct_draws(weighing, weights);
}

/* ---- by a pass of its own ---- */

static RpinnStatus look_at_draw(void *user, const RpinnVisitedDraw *draw, bool *compute) {
  (void)user;
  *compute = !draw->stored->failed;
  return RPINN_OK;
}

static void *scales_of(void *user, size_t thread) {
  return ((RpinnWeighing *)user)->scales[thread];
}

static RpinnStatus take_weight(void *user, const RpinnVisitedDraw *draw, const double *log_weight) {
  if (!draw->stored->failed) rpinn_weighing_add(user, *log_weight);
  return RPINN_OK;
}

static RpinnStatus weigh_all(RpinnWeighing *weighing) {
  RpinnDrawBlocks blocks = {.run = weighing->run,
                            .num_values = 1,
                            .user = weighing,
                            .look = look_at_draw,
                            .worker = scales_of,
                            .compute = weighing->weigher->weigh,
                            .take = take_weight};
  RPINN_TRY(rpinn_weighing_prepare(weighing));
  return rpinn_draw_blocks_visit(weighing->context, &blocks);
}

RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t num_draws) {
  RpinnWeighing weighing;
  rpinn_weighing_open(context, run, &weighing);
  RpinnStatus status =
      rpinn_weighing_wants(&weighing, num_draws, num_draws) ? weigh_all(&weighing) : RPINN_OK;
  if (status == RPINN_OK) status = rpinn_weighing_finish(&weighing, num_draws, num_draws);
  rpinn_weighing_close(&weighing);
  return status;
}
