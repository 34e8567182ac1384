/* A finished run before its judges. */
#ifndef RPINN_DIAGNOSE_DIAGNOSE_RUN_H
#define RPINN_DIAGNOSE_DIAGNOSE_RUN_H

#include "finished_run.h"
#include "method.h"
#include "rpinn/diagnose.h"
#include "run_verdict.h"

typedef struct RpinnRunDiagnosis {
  RpinnContext *context;
  const RpinnDiagnoseOptions *options;
  RpinnArena *arena; /* for what a judge reads */
  RpinnFinishedRun run;
  const RpinnMethod *method;
  RpinnVerdict verdict; /* as summary.json has it */
  bool has_problems;    /* that count beside it, because they were asked for */
} RpinnRunDiagnosis;

/* The judges that methods name, diagnose_NAME.c: fill the verdict, and write JSON with it or a page before it. */
#define RPINN_JUDGE_DECLARATION(enumerator, name)                                                            \
  RpinnStatus rpinn_judge_##name(RpinnRunDiagnosis *diagnosis, RpinnText *text);
RPINN_JUDGEMENT_LIST(RPINN_JUDGE_DECLARATION)
#undef RPINN_JUDGE_DECLARATION

#endif
