/* Shards: a run or a study in parts that know nothing of each other, each made on any machine. */
#ifndef RPINN_SHARD_H
#define RPINN_SHARD_H

#include <stddef.h>

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

/* A shard of a study of many runs. arguments: those of the command that makes the whole of it, without --shard and --out; they are kept with
 * the shard, for whoever merges it. */
typedef struct RpinnTaskShard {
  RpinnShard shard;
  size_t num_arguments;
  const char *const *arguments;
} RpinnTaskShard;

/* "3/64". Bad input where it is none. */
RPINN_API RpinnStatus rpinn_shard_parse(RpinnContext *context, const char *text, RpinnShard *shard);

#ifdef __cplusplus
}
#endif
#endif
