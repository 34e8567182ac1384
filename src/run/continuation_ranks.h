/* Chains of --correct nuts on other ranks than the first. They are made in rounds: rank 0 tells the options of all chains of a round to everybody, and
 * with each chain that it gives out where that begins. */
#ifndef RPINN_RUN_CONTINUATION_RANKS_H
#define RPINN_RUN_CONTINUATION_RANKS_H

#include "run_continuations.h"
#include "text.h"

/* Rank 0: a round begins, of which so many seconds are left (0: no limit). */
RpinnStatus rpinn_continuations_announce(RpinnContext *context, const RpinnContinuations *work,
                                         double seconds);
/* Rank 0: what another one needs for a chain. */
void rpinn_continued_chain_pack(const RpinnContinuedChain *chain, size_t num_drawn, RpinnText *bytes);
/* Rank 0: there are no more rounds. Where nobody waits for any, nothing happens. */
RpinnStatus rpinn_continuations_end(RpinnContext *context, const RpinnDriver *driver);

/* Another rank: rounds, each in a store of its own, until there are no more. */
RpinnStatus rpinn_continuations_follow(RpinnContext *context, RpinnDriver *driver,
                                       const RpinnMemberTarget *targets);

#endif
