/* A run that several ranks make: rank 0 has its folder and store, learns what all draws need, gives them out and makes the results; all
 * others make draws in stores of their own, and know of the run what rank 0 tells them. */
#ifndef RPINN_RUN_RUN_RANKS_H
#define RPINN_RUN_RUN_RANKS_H

#include "driver.h"
#include "folders.h"

/* The options of a rank: where anybody wants an end, all do. */
typedef struct RpinnRankOptions {
  RpinnRunOptions options;
  const RpinnRunOptions *asked;
  char learnt[RPINN_PATH_SIZE];
} RpinnRankOptions;

void rpinn_rank_options_make(const RpinnRunOptions *asked, RpinnRankOptions *own);
/* Is this one of several, and not the first? */
bool rpinn_run_follows(const RpinnDriver *driver);
/* Unsupported, with the reason: ranks cannot make such a run. What they will do is said. */
RpinnStatus rpinn_run_check_ranks(RpinnContext *context, const RpinnDriver *driver);

/* Rank 0: what was learnt, to all others. */
RpinnStatus rpinn_run_tell_learnt(RpinnContext *context, const RpinnDriver *driver);
/* Another rank: wait for it, and leave it at options->learnt; *is_told is false where it never comes, because nothing is left to make or
 * somebody wants an end. */
RpinnStatus rpinn_run_await_learnt(RpinnContext *context, RpinnDriver *driver, bool *is_told);
/* Another rank has made its last draw: its store is closed, for rank 0 to collect. */
RpinnStatus rpinn_run_hand_in(RpinnContext *context, RpinnDriver *driver);
/* Rank 0, where it gives out no tasks: until all others have. */
RpinnStatus rpinn_run_await_handed_in(RpinnContext *context, const RpinnDriver *driver);

#endif
