/* The stores that ranks of a run write, each its own: folder/ranks/0003.db. They are there while draws are made, and after a session that was
 * killed; whoever goes on with the run, with however many ranks, first puts what is in them into the store of the run. */
#ifndef RPINN_RUN_RANK_STORES_H
#define RPINN_RUN_RANK_STORES_H

#include "driver.h"
#include "folders.h"

/* The store of a rank, and what it was told that the run has learnt; in folder/ranks. */
void rpinn_rank_store_path(const char *folder, size_t rank, const char *ending, char path[RPINN_PATH_SIZE]);
RpinnStatus rpinn_rank_stores_make_folder(RpinnContext *context, const RpinnDriver *driver);
/* That of this rank, new, as run->store. */
RpinnStatus rpinn_rank_store_open(RpinnContext *context, const RpinnDriver *driver);
/* All draws of the ranks' stores into that of the run, which is open, in the order of their keys, and the states of what was under way; memory is
 * that of a draw for each. The ranks' are removed when the run's is safe. Where there are none, nothing happens. */
RpinnStatus rpinn_rank_stores_collect(RpinnContext *context, const RpinnDriver *driver);

#endif
