/* The chains that one thread has at work: one in every slot of its target. Their leapfrogs are made together, and a chain begins
 * as soon as a slot is free. */
#ifndef RPINN_RUN_CHAIN_GROUP_H
#define RPINN_RUN_CHAIN_GROUP_H

#include "member.h"
#include "rpinn/nuts.h"
#include "run_event.h"
#include "saved_states.h"
#include "task_pool.h"

typedef struct RpinnChainGroupOptions {
  RpinnNutsOptions nuts;
  bool keep_warmup;
  uint64_t seed;
  size_t num_drawn;              /* numbers of a draw */
  RpinnSavedStates *saved;       /* of chains that an earlier session began */
  RpinnMinimizeOptions minimize; /* of members that chains start from */
  uint32_t max_retries;
} RpinnChainGroupOptions;

typedef struct RpinnChainGroup RpinnChainGroup;

/* Borrows target and options. */
RpinnStatus rpinn_chain_group_create(RpinnContext *context, const RpinnMemberTarget *target,
                                     const RpinnChainGroupOptions *options, RpinnTaskPool *pool,
                                     RpinnChainGroup **group);
void rpinn_chain_group_destroy(RpinnChainGroup *group);
/* Chains taken from the pool, until there are no more, it is stopped, or time is up. Their draws go to it as events, and so do
 * their states: now and then, when they stop, and at the end. */
RpinnStatus rpinn_chain_group_run(RpinnContext *context, RpinnChainGroup *group);

#endif
