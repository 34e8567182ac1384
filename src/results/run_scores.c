#include "run_scores.h"

#include <math.h>
#include <stdlib.h>

#include "metrics.h"
#include "rank_interval.h"
#include "run_record.h"

void rpinn_run_list_scores(const RpinnRun *run, RpinnScore *scores) {
  const RpinnPosterior *posterior = run->posteriors[0];
  const RpinnDrawOutputs *outputs = &run->outputs;
  for (size_t q = 0; q < outputs->num_quantities; q++)
    scores[q] = (RpinnScore){.name = run->problem->predicted[q].name,
                             .first = q * outputs->num_points,
                             .count = outputs->num_points,
                             .reference = posterior->data->predicted_truth[q]};
  for (size_t k = 0; k < outputs->num_tests; k++) {
    const RpinnTermData *data = &posterior->data->terms[outputs->test_terms[k]];
    scores[outputs->num_quantities + k] =
        (RpinnScore){.name = run->problem->terms[outputs->test_terms[k]].name,
                     .first = outputs->test_starts[k],
                     .count = data->points.count,
                     .reference = data->missing ? NULL : data->values};
  }
}

void rpinn_score_moments(RpinnScore *score, const double *mean, const double *deviation, bool has_spread) {
  const double *reference = score->reference;
  size_t n = score->count;
  mean += score->first;
  deviation += score->first;
  score->rl2 = score->linf = score->lpp = score->lpp_table = score->coverage = score->interval_coverage =
      score->crps = (double)NAN;
  score->mean_std = rpinn_metric_mean_std(n, deviation);
  if (!reference) return;
  score->rl2 = rpinn_metric_relative_l2(n, mean, reference);
  score->linf = rpinn_metric_largest_error(n, mean, reference);
  if (!has_spread) return;
  score->lpp = rpinn_metric_lpp(n, mean, deviation, reference);
  score->lpp_table = rpinn_metric_lpp_table(n, mean, deviation, reference);
  score->coverage = rpinn_metric_coverage(n, mean, deviation, reference);
}

static RpinnStatus score_results(const RpinnRun *run, RpinnScore *score) {
  const RpinnRunResults *results = &run->results;
  bool has_spread = results->num_draws > 1;
  rpinn_score_moments(score, results->mean, results->deviation, has_spread);
  if (!score->reference || !has_spread) return RPINN_OK;
  if (rpinn_kept_draws_count(results->kept) >= RPINN_INTERVAL_MIN_DRAWS)
    score->interval_coverage = rpinn_metric_interval_coverage(score->count, results->low + score->first,
                                                              results->high + score->first, score->reference);
  rpinn_metric_crps_of_sums(rpinn_kept_draws_count(results->kept), score->count,
                            results->crps_distances + score->first, results->crps_pairs + score->first,
                            &score->crps, NULL);
  return RPINN_OK;
}

/* Per chain, as in Table 3 of the paper. */
static RpinnStatus score_chain(RpinnContext *context, const RpinnRun *run, RpinnChainResult *chain) {
  chain->scores = calloc(run->outputs.num_quantities + run->outputs.num_tests + 1, sizeof *chain->scores);
  if (!chain->scores) return rpinn_fail_memory(context);
  rpinn_run_list_scores(run, chain->scores);
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    rpinn_score_moments(&chain->scores[q], chain->mean, chain->deviation, run->plan.num_draws > 1);
  return RPINN_OK;
}

RpinnStatus rpinn_run_score_results(RpinnContext *context, RpinnRun *run) {
  const RpinnDrawOutputs *outputs = &run->outputs;
  RpinnScore *scores = calloc(outputs->num_quantities + outputs->num_tests + 1, sizeof *scores);
  if (!scores) return rpinn_fail_memory(context);
  run->results.scores = scores;
  rpinn_run_list_scores(run, scores);
  for (size_t k = 0; k < outputs->num_quantities + outputs->num_tests; k++)
    RPINN_TRY(score_results(run, &scores[k]));
  for (uint64_t c = 0; run->results.chains.chains && c < run->plan.num_chains; c++)
    RPINN_TRY(score_chain(context, run, &run->results.chains.chains[c]));
  return RPINN_OK;
}
