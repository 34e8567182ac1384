/* Shards: a run or a study in parts that know nothing of each other, each made on any machine. */
#ifndef RPINN_SHARD_H
#define RPINN_SHARD_H

#include <stddef.h>

#include "rpinn/ranks.h"
#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RPINN_MAX_SHARDS = 100000 };

/* Shard `number` of `count`, from 1 on, has the members, chains or tasks number - 1, number - 1 + count, and so on, whatever their
 * number is. Shard 0 has none: it learns what all shards need. count 0: no shard, but the whole. */
typedef struct RpinnShard {
  size_t number, count;
} RpinnShard;

/* A shard of a study of many runs, or the whole by several ranks. arguments: those of the command that makes the whole of it, without --shard and --out;
 * they are kept with the shard, for whoever merges it. ranks: those that make the runs of one folder together, each called alike; rank 0 has the
 * results. NULL: one process. */
typedef struct RpinnTaskShard {
  RpinnShard shard;
  RpinnRanks *ranks;
  size_t num_arguments;
  const char *const *arguments;
} RpinnTaskShard;

/* "3/64". Bad input where it is none. */
RPINN_API RpinnStatus rpinn_shard_parse(RpinnContext *context, const char *text, RpinnShard *shard);

#ifdef __cplusplus
}
#endif
#endif
