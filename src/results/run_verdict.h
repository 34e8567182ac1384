/* Evidence on a finished run, and the verdict from it. */
#ifndef RPINN_RESULTS_RUN_VERDICT_H
#define RPINN_RESULTS_RUN_VERDICT_H

#include "json_reader.h"
#include "json_writer.h"
#include "rpinn/run.h"
#include "verdict.h"

/* run->verdict, of a run with results and scores and an open store. */
RpinnStatus rpinn_run_judge(RpinnContext *context, RpinnRun *run);

/* "evidence": {…}: what the rows say, by term, as summary.json has it. */
void rpinn_run_evidence_json(const RpinnRun *run, RpinnJson *json);

/* The verdict that stands in a summary; of one from before there were verdicts, what can be told from it and from its chains
 * (may be NULL) alone. */
void rpinn_summary_verdict(const RpinnJsonValue *summary, const RpinnChainEvidence *chains,
                           RpinnVerdict *verdict);

#endif
