/* The shards of a run, opened to be read: do they belong together, and what do they lack? */
#ifndef RPINN_RUN_SHARD_SET_H
#define RPINN_RUN_SHARD_SET_H

#include "rpinn/merge.h"
#include "shard_record.h"

typedef struct RpinnOpenShard {
  char *folder;            /* NULL: there is none of this number */
  RpinnMemberStore *store; /* only read */
  RpinnShardRecord record;
  uint64_t num_draws; /* of those that the run wants, when gaps have been sought */
} RpinnOpenShard;

typedef struct RpinnShardSet {
  size_t count;           /* shards that the run has */
  RpinnOpenShard *shards; /* [count + 1] by their numbers; number 0 has no draws */
  size_t first;           /* the number of the one that all others are compared with */
  size_t latest;          /* … and of one that was asked for the most samples */
  char *identity;         /* of the run */
  RpinnProblem *problem;  /* as the latest has it */
  RpinnDrawPlan plan;     /* of the whole run */
  bool is_complete;       /* no draw is missing */
} RpinnShardSet;

/* Bad input: shards that do not belong together; with the place of the one that does not belong to those before it. Close the set
 * on every path. */
RpinnStatus rpinn_shard_set_open(RpinnContext *context, size_t num_folders, const char *const *folders,
                                 RpinnShardSet *set);
void rpinn_shard_set_close(RpinnShardSet *set);
/* set->is_complete; all that is missing goes to the log of the context, with the command that makes it. */
RpinnStatus rpinn_shard_set_find_gaps(RpinnContext *context, RpinnShardSet *set);

/* The shard that makes a member or chain; NULL: it is not there. */
static inline const RpinnOpenShard *rpinn_shard_set_owner(const RpinnShardSet *set, uint64_t task) {
  const RpinnOpenShard *shard = &set->shards[task % set->count + 1];
  return shard->folder ? shard : NULL;
}

#endif
