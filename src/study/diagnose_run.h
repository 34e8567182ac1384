/* A finished run before its judges. */
#ifndef RPINN_STUDY_DIAGNOSE_RUN_H
#define RPINN_STUDY_DIAGNOSE_RUN_H

#include "finished_run.h"
#include "method.h"
#include "rpinn/diagnose.h"

typedef struct RpinnRunDiagnosis {
  RpinnContext *context;
  const RpinnDiagnoseOptions *options;
  RpinnArena *arena; /* for what a judge reads */
  RpinnFinishedRun run;
  const RpinnMethod *method;
} RpinnRunDiagnosis;

/* The judges that methods name, diagnose_NAME.c: a page or JSON, and whether nothing speaks against the draws. */
#define RPINN_JUDGE_DECLARATION(enumerator, name)                                                            \
  RpinnStatus rpinn_judge_##name(const RpinnRunDiagnosis *diagnosis, bool *healthy, RpinnText *text);
RPINN_JUDGEMENT_LIST(RPINN_JUDGE_DECLARATION)
#undef RPINN_JUDGE_DECLARATION

#endif
