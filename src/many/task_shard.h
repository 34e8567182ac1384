/* A folder that holds a shard of a study: shard.json in it says which one, of what, and what it has still to make. */
#ifndef RPINN_MANY_TASK_SHARD_H
#define RPINN_MANY_TASK_SHARD_H

#include "arena.h"
#include "many_state.h"
#include "shard.h"

#define RPINN_TASK_SHARD_FILE "shard.json"

/* In an arena. */
typedef struct RpinnTaskShardFile {
  RpinnTaskShard made; /* count 0: there is none */
  const char *version; /* of rpinn */
  size_t num_left;
  const char **left; /* names of its tasks that are not made */
} RpinnTaskShardFile;

/* Of a folder, which need not have one. */
RpinnStatus rpinn_task_shard_read(RpinnContext *context, RpinnArena *arena, const char *folder,
                                  RpinnTaskShardFile *file);

/* Is this one of several ranks, and not the first: it makes the runs that it is given, and nothing else? */
bool rpinn_task_shard_follows(const RpinnTaskShard *shard);
/* The same, or a shard: the whole, and what is no run, is made elsewhere. */
bool rpinn_task_shard_is_part(const RpinnTaskShard *shard);
/* count 0: all tasks. */
RpinnShard rpinn_many_shard(const RpinnManyOptions *options);
/* Bad input: the folder of the study holds a shard, and another one, or the whole study, is to be made there. */
RpinnStatus rpinn_task_shard_claim(RpinnContext *context, const RpinnManyOptions *options);
/* What of these tasks is not made yet goes into the file; nothing, where all tasks are to be made. */
RpinnStatus rpinn_task_shard_note(const RpinnManyState *state);

#endif
