/* Predictions against what is known: every quantity of `predict:` and every held-out term. */
#ifndef RPINN_RESULTS_RUN_SCORES_H
#define RPINN_RESULTS_RUN_SCORES_H

#include "rpinn/run.h"

/* Scores of one quantity, or of one held-out term, against what is known of it; NaN where that says nothing. */
typedef struct RpinnScore {
  const char *name;
  size_t first, count;     /* within the outputs */
  const double *reference; /* [count], or NULL */
  double rl2, linf, mean_std, lpp, lpp_table, coverage, interval_coverage, crps;
} RpinnScore;

/* scores [num_quantities + num_tests]: names, places and references, no numbers yet. */
void rpinn_run_list_scores(const RpinnRun *run, RpinnScore *scores);
/* What follows from mean and deviation [outputs.num_values] of some draws; without has_spread the errors alone.
 * The rest becomes NaN. */
void rpinn_score_moments(RpinnScore *score, const double *mean, const double *deviation, bool has_spread);
/* results.scores, and those of each chain. */
RpinnStatus rpinn_run_score_results(RpinnContext *context, RpinnRun *run);

#endif
