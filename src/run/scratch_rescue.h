/* What a session that was killed has left in its scratch folders. The store of a run names the last session that had one, by its mark and its folder,
 * until that session has come to its end; the next session looks there for what did not come into the run directory any more, on all of its
 * machines, whether it has a scratch folder itself or not. What is from an older session the run has gone on without: that, and files of other
 * runs, are named and left alone. */
#ifndef RPINN_RUN_SCRATCH_RESCUE_H
#define RPINN_RUN_SCRATCH_RESCUE_H

#include "driver.h"

/* Rank 0, with its store open: what was left comes to folder/ranks, for rpinn_rank_stores_collect; others do the same where they are. Interrupted
 * where one of them was asked to end before it could. */
RpinnStatus rpinn_scratch_rescue(RpinnContext *context, RpinnDriver *driver);
/* Another rank: its side of this. *is_told is false where somebody wants an end before. */
RpinnStatus rpinn_scratch_follow(RpinnContext *context, RpinnDriver *driver, bool *is_told);
/* Rank 0, once all is collected: from here on the store names this session, or none where it has no scratch folder; and at its end: none. */
RpinnStatus rpinn_scratch_begin_session(RpinnContext *context, const RpinnDriver *driver);
RpinnStatus rpinn_scratch_end_session(RpinnContext *context, const RpinnDriver *driver);

#endif
