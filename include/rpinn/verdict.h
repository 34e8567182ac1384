/* The verdict on a run: can its bands be used? One word, and what was found, from evidence that needs no truth. It is made
 * once, when the run is finished, and stands in summary.json; the terminal, the report and `rpinn diagnose` show that one. */
#ifndef RPINN_VERDICT_H
#define RPINN_VERDICT_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* good: nothing that was looked at speaks against the bands; fair: read the cautions first; bad: do not use them. */
typedef enum RpinnVerdictWord { RPINN_VERDICT_GOOD, RPINN_VERDICT_FAIR, RPINN_VERDICT_BAD } RpinnVerdictWord;

/* A note leaves the word as it is, a caution makes it fair at best. */
typedef enum RpinnSeverity { RPINN_SEVERITY_NOTE, RPINN_SEVERITY_CAUTION, RPINN_SEVERITY_BAD } RpinnSeverity;

enum { RPINN_MAX_FINDINGS = 40, RPINN_FINDING_ID_SIZE = 24, RPINN_FINDING_TEXT_SIZE = 768 };

typedef struct RpinnFinding {
  char id[RPINN_FINDING_ID_SIZE]; /* "misfit": the same for ever, see docs/verdicts.md */
  RpinnSeverity severity;
  char sentence[RPINN_FINDING_TEXT_SIZE]; /* what was found, with its figures, and what to do */
} RpinnFinding;

typedef struct RpinnVerdict {
  RpinnVerdictWord word;
  size_t num_findings;
  RpinnFinding findings[RPINN_MAX_FINDINGS]; /* the gravest first; at most one of an id */
} RpinnVerdict;

/* "good", "fair", "bad"; "note", "caution", "bad". */
RPINN_API const char *rpinn_verdict_word_name(RpinnVerdictWord word);
RPINN_API const char *rpinn_severity_name(RpinnSeverity severity);

/* The verdict on a finished run, as long as the run lives; NULL after an interruption. */
RPINN_API const RpinnVerdict *rpinn_run_verdict(const RpinnRun *run);

#ifdef __cplusplus
}
#endif
#endif
