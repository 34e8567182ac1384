/* How the draws of a method are made: one struct, of which every method has one in a file of its own. What the method is to
 * those who read its runs is RpinnMethod. */
#ifndef RPINN_RUN_MAKER_H
#define RPINN_RUN_MAKER_H

#include "driver.h"
#include "member.h"
#include "rpinn/methods.h"
#include "run_plan.h"

struct RpinnDrawMaker {
  const char *progress_unit; /* what is counted while the draws are made: "members" */
  bool prior_at_minimum; /* a scale of the prior is chosen where the energy is least, not where draws are */
  bool needs_prior;      /* on every parameter */
  bool splits;           /* draws with different numbers, or chains, can be made by different shards */
  bool linearises;       /* the posterior, by its rows in memory */
  /* Refuses settings that do not go with the method. */
  RpinnStatus (*check_settings)(RpinnContext *context, const RpinnProblem *problem);
  /* Fills the store with draws, until all are there, or the caller or the clock wants an end: driver->interrupted and
   * driver->out_of_time. targets [num_threads]. */
  RpinnStatus (*make_draws)(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets);
  RpinnStatus (*estimate)(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets,
                          RpinnRunEstimate *estimate);
  /* What a run would make, as a part of a sentence. */
  void (*describe_run)(const RpinnRun *run, RpinnText *text);
};

#define RPINN_MAKER_DECLARATION(name, ...) extern const RpinnDrawMaker rpinn_maker_##name;
RPINN_METHOD_LIST(RPINN_MAKER_DECLARATION)
#undef RPINN_MAKER_DECLARATION

/* Of the method by its place in the list, NULL behind the last one; of a problem's. */
const RpinnDrawMaker *rpinn_maker_at(size_t index);
const RpinnDrawMaker *rpinn_problem_maker(const RpinnProblem *problem);

#endif
