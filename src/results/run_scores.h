/* Predictions against what is known: every quantity of `predict:` and every held-out term. */
#ifndef RPINN_RESULTS_RUN_SCORES_H
#define RPINN_RESULTS_RUN_SCORES_H

#include "run_state.h"

/* scores [num_quantities + num_tests]: names, places and references, no numbers yet. */
void rpinn_run_list_scores(const RpinnRun *run, RpinnScore *scores);
/* What follows from mean and deviation [outputs.num_values] of some draws; without has_spread the errors alone.
 * The rest becomes NaN. */
void rpinn_score_moments(RpinnScore *score, const double *mean, const double *deviation, bool has_spread);
/* All of it, from the results of the run. */
RpinnStatus rpinn_run_score(const RpinnRun *run, RpinnScore *score);

#endif
