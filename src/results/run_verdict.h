/* Evidence on a finished run, and the verdict from it. */
#ifndef RPINN_RESULTS_RUN_VERDICT_H
#define RPINN_RESULTS_RUN_VERDICT_H

#include "judged_draws.h"
#include "run_state.h"
#include "verdict.h"

/* Fill what rows say at the draws: terms, energy, misfits; or why they are not known. */
RpinnStatus rpinn_run_row_evidence(RpinnJudgedDraws *draws, RpinnRowEvidence *evidence);
/* Move draws to the minimisers of their energies, the prior on networks multiplied by pull: shifts and widths [quantities] as in
 * RpinnQuantityEvidence. Both: RPINN_ERROR_INTERRUPTED where the caller of the run wants an end. */
RpinnStatus rpinn_run_move_draws(RpinnJudgedDraws *draws, double pull, double *shifts, double *widths);

/* run->verdict, of a run with results and scores and an open store. */
RpinnStatus rpinn_run_judge(RpinnContext *context, RpinnRun *run);

/* "evidence": {…}: what the rows say, by term, as summary.json has it. */
void rpinn_run_evidence_json(const RpinnRun *run, RpinnJson *json);

/* The verdict that stands in a summary; of one from before there were verdicts, what can be told from it and from its chains
 * (may be NULL) alone. */
void rpinn_summary_verdict(const RpinnJsonValue *summary, const RpinnChainEvidence *chains,
                           RpinnVerdict *verdict);

#endif
