#include "run_weights.h"

#include <math.h>
#include <stdlib.h>

#include "draw_blocks.h"
#include "independence_metropolis.h"
#include "run_record.h"

typedef struct Weighing {
  RpinnContext *context;
  RpinnRun *run;
  const RpinnWeigher *weigher;
  void **scales;       /* [num_posteriors] */
  double *log_weights; /* [draws] the run's */
  size_t count;
} Weighing;

static void free_scales(const Weighing *weighing) {
  for (size_t i = 0; weighing->scales && i < weighing->run->num_posteriors; i++)
    weighing->weigher->close(weighing->scales[i]);
  free(weighing->scales);
}

static RpinnStatus look_at_member(void *user, const RpinnVisitedDraw *draw, bool *compute) {
  (void)user; /* the pass that counted has looked at lengths */
  *compute = !draw->stored->failed;
  return RPINN_OK;
}

static void *scales_of(void *user, size_t thread) {
  return ((Weighing *)user)->scales[thread];
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

/* Weights whose k cannot be told are as little to be used as those whose k is too large, unless all are equal. */
static const char *reason_of(const RpinnWeigher *weigher, const RpinnParetoSmoothing *smoothing) {
  if (!smoothing->usable) return "a weight is not finite";
  if (isinf(weigher->largest_k) || smoothing->constant || smoothing->k <= weigher->largest_k) return NULL;
  return isnan(smoothing->k) ? "their Pareto k takes more draws" : "their Pareto k is too large";
}

static RpinnStatus weigh(Weighing *weighing, RpinnRunWeights *weights, bool correct) {
  RpinnRun *run = weighing->run;
  RpinnDrawBlocks blocks = {.run = run,
                            .num_values = 1,
                            .user = weighing,
                            .look = look_at_member,
                            .worker = scales_of,
                            .compute = weighing->weigher->weigh,
                            .take = take_weight};
  weighing->scales = calloc(run->num_posteriors, sizeof *weighing->scales);
  if (!weighing->scales) return rpinn_fail_memory(weighing->context);
  for (size_t i = 0; i < run->num_posteriors; i++)
    RPINN_TRY(weighing->weigher->open(weighing->context, run, run->posteriors[i], &weighing->scales[i]));
  weights->log_weights = weighing->log_weights = calloc(run->num_samples + 1, sizeof(double));
  weights->smoothed = calloc(run->num_samples + 1, sizeof(double));
  if (!weights->log_weights || !weights->smoothed) return rpinn_fail_memory(weighing->context);
  RPINN_TRY(rpinn_draw_blocks_visit(weighing->context, &blocks));
  if (rpinn_pareto_smooth(weighing->count, weights->log_weights, weights->smoothed, &weights->smoothing) !=
      RPINN_OK)
    return rpinn_fail_memory(weighing->context);
  weights->reason = reason_of(weighing->weigher, &weights->smoothing);
  weights->apply = !weights->reason;
  return weights->apply && correct ? correct_draws(weighing, weights) : RPINN_OK;
}

RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t finished,
                                   uint64_t converged) {
  RpinnRunWeights *weights = &run->results.weights;
  const RpinnWeigher *weigher = run->method->weigher;
  bool correct = rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_CORRECT) == RPINN_CORRECTION_MH;
  *weights = (RpinnRunWeights){.acceptance = (double)NAN,
                               .smoothing = {.k = (double)NAN, .effective_size = (double)NAN}};
  weights->reason = weigher ? weigher->reason_against(run, finished, converged)
                            : "only draws of methods rpinn and vi have weights";
  if (weights->reason) return RPINN_OK;
  Weighing weighing = {.context = context, .run = run, .weigher = weigher};
  RpinnStatus status = weigh(&weighing, weights, correct);
  free_scales(&weighing);
  return status;
}
