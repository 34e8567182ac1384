/* What a method is to those who read its runs: one struct, of which every method has one in a file of its own. Nothing else
 * asks which method a run has; it asks the struct. Members that may be NULL say so. How its draws are made, the driver knows. */
#ifndef RPINN_RESULTS_METHOD_H
#define RPINN_RESULTS_METHOD_H

#include "draw_store.h"
#include "json_reader.h"
#include "json_writer.h"
#include "problem.h"
#include "rpinn/methods.h"
#include "rpinn/run.h"
#include "run_weights.h"

/* What only the pages of some methods have, behind the scores: X(ENUMERATOR, name), written by rpinn_report_NAME. */
#define RPINN_REPORT_SECTION_LIST(X)                                                                         \
  X(MEMBERS, members)                                                                                        \
  X(CORRECTION, correction)                                                                                  \
  X(CHAINS, chains)                                                                                          \
  X(PARTICLES, particles)                                                                                    \
  X(VARIATIONAL, variational)

typedef enum RpinnReportSection {
  RPINN_SECTION_NONE, /* ends a list */
#define RPINN_SECTION_ENUM(enumerator, name) RPINN_SECTION_##enumerator,
  RPINN_REPORT_SECTION_LIST(RPINN_SECTION_ENUM)
#undef RPINN_SECTION_ENUM
} RpinnReportSection;

/* What `rpinn diagnose` shows of a run before its verdict: X(ENUMERATOR, name), by rpinn_judge_NAME. */
#define RPINN_JUDGEMENT_LIST(X)                                                                              \
  X(MEMBERS, members)                                                                                        \
  X(CHAINS, chains)

typedef enum RpinnJudgement {
  RPINN_JUDGEMENT_NONE,
#define RPINN_JUDGEMENT_ENUM(enumerator, name) RPINN_JUDGEMENT_##enumerator,
  RPINN_JUDGEMENT_LIST(RPINN_JUDGEMENT_ENUM)
#undef RPINN_JUDGEMENT_ENUM
} RpinnJudgement;

enum { RPINN_MAX_METHOD_LIST = 5 }; /* with the end */

/* A line at the head of a page: a number, or what a setting says. */
typedef struct RpinnRunFact {
  const char *title;                     /* NULL ends a list */
  double (*number)(const RpinnRun *run); /* NULL: the setting */
  RpinnSetting setting;
} RpinnRunFact;

/* What the store keeps of a draw beside its parameters, and the pass that makes results of all draws: results_pass.h.
 * Methods share them. */
typedef struct RpinnDrawKind RpinnDrawKind;
extern const RpinnDrawKind rpinn_member_draws;    /* minimisers, or particles, with a loss of their own */
extern const RpinnDrawKind rpinn_chain_draws;     /* with what NUTS tells of each */
extern const RpinnDrawKind rpinn_corrected_draws; /* members that NUTS has continued */

typedef struct RpinnMethod {
  RpinnMethodDescription about;
  const char *meaning;   /* what it does, in a sentence */
  const char *unit;      /* what the setting `samples` counts: "member" */
  bool has_chains;       /* draws come in chains, one depending on those before */
  bool has_one_draw;     /* whatever the setting `samples` says */
  bool minimises;        /* every draw is a minimiser */
  bool has_offsets;      /* … of an energy with noise of its own */
  bool can_be_continued; /* every draw can begin a chain that forgets it: --correct nuts */
  bool moves_together;   /* every draw depends on all others, and so on their number */

  /* ---- draws ---- */
  const RpinnDrawKind *draws;
  const RpinnWeigher *weigher; /* of their importance weights; NULL: they have none */
  /* The draws that the settings ask for. */
  RpinnDrawPlan (*plan)(const RpinnSettingsValues *settings);
  /* In a few words what the settings ask for. */
  void (*describe_settings)(const RpinnSettingsValues *settings, RpinnText *text);

  /* ---- results ---- */
  /* What results need of the store beside the draws, before the pass over them; may be NULL. */
  RpinnStatus (*prepare_results)(RpinnContext *context, RpinnRun *run);
  /* Results that the store has beside the draws; may be NULL. */
  RpinnStatus (*load_results)(RpinnContext *context, RpinnRun *run);
  /* Members of summary.json that only runs of this method have; may be NULL. */
  void (*write_json)(const RpinnRun *run, RpinnJson *json);
  /* about.file; NULL where there is none. */
  void (*write_file)(const RpinnRun *run, RpinnText *csv);
  /* The table for people, from summary.json: what was made, in its title, and lines below the scores and unknowns. */
  void (*write_title)(const RpinnJsonValue *summary, RpinnText *table);
  void (*write_lines)(const RpinnJsonValue *summary, RpinnText *table);

  /* ---- pages and verdicts ---- */
  const char *legend; /* what figures call a draw: "member" */
  const RpinnRunFact *facts;
  RpinnReportSection sections[RPINN_MAX_METHOD_LIST];
  const char *
      caution; /* what the spread of the draws is, where it is not the posterior's, and what to do; else NULL */
  /* Is the spread of this run the posterior's nevertheless? Then there is no caution. May be NULL: never. */
  bool (*spread_holds)(const RpinnRun *run);
  /* In a sentence before the caution, what that spread comes to in this run; may be NULL. */
  void (*describe_spread)(const RpinnRun *run, RpinnText *sentence);
  RpinnJudgement judgement;
} RpinnMethod;

#define RPINN_METHOD_DECLARATION(name, ...) extern const RpinnMethod rpinn_method_##name;
RPINN_METHOD_LIST(RPINN_METHOD_DECLARATION)
#undef RPINN_METHOD_DECLARATION

/* A method by its place in the list, NULL behind the last one; by its name, NULL where there is none; of a problem. */
const RpinnMethod *rpinn_method_at(size_t index);
const RpinnMethod *rpinn_method_find(const char *name);
const RpinnMethod *rpinn_problem_method(const RpinnProblem *problem);
/* The draws that the settings of a problem ask for. */
RpinnDrawPlan rpinn_problem_plan(const RpinnProblem *problem);

#endif
