/* The stores of all shards as the store of the run. */
#ifndef RPINN_RUN_MERGE_STORE_H
#define RPINN_RUN_MERGE_STORE_H

#include "shard_set.h"

/* folder/checkpoint.db, which is not there before, and is whole or not there afterwards: the draws in their order, states to go on
 * from, and what was learnt. Memory is that of one draw. */
RpinnStatus rpinn_merge_stores(RpinnContext *context, const RpinnShardSet *set,
                               const RpinnMergeOptions *options);

#endif
