/* Evidence on a finished run, and the verdict from it. */
#ifndef RPINN_RUN_RUN_VERDICT_H
#define RPINN_RUN_RUN_VERDICT_H

#include "run_state.h"
#include "verdict.h"

/* Reads the draws in the store. Depends on them and on the posterior alone. RPINN_ERROR_INTERRUPTED where the caller of the run
 * wants an end. */
RpinnStatus rpinn_run_row_evidence(RpinnContext *context, const RpinnRun *run, RpinnRowEvidence *evidence);

/* run->verdict, of a run with results and scores and an open store. */
RpinnStatus rpinn_run_judge(RpinnContext *context, RpinnRun *run);

/* "evidence": {…}: what the rows say, by term, as summary.json has it. */
void rpinn_run_evidence_json(const RpinnRun *run, RpinnJson *json);

/* The verdict that stands in a summary; of one from before there were verdicts, what can be told from it and from its chains
 * (may be NULL) alone. */
void rpinn_summary_verdict(const RpinnJsonValue *summary, const RpinnChainEvidence *chains,
                           RpinnVerdict *verdict);

#endif
