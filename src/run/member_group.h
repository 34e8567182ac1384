/* The members that one thread has at work: one in every slot of its target, each begun as soon as a slot is free. */
#ifndef RPINN_RUN_MEMBER_GROUP_H
#define RPINN_RUN_MEMBER_GROUP_H

#include "member.h"
#include "run_event.h"
#include "saved_states.h"
#include "task_pool.h"

typedef struct RpinnMemberGroupOptions {
  RpinnMinimizeOptions minimize;
  uint32_t max_retries;
  RpinnSavedStates *saved; /* of members that were under way when an earlier session stopped */
  size_t num_drawn;        /* numbers of a draw: parameters, and the noise that is not known */
  size_t num_slots;        /* members at work at a time; those of the target are as many or more */
} RpinnMemberGroupOptions;

typedef struct RpinnMemberGroup RpinnMemberGroup;

/* Borrows target and options. */
RpinnStatus rpinn_member_group_create(RpinnContext *context, const RpinnMemberTarget *target,
                                      const RpinnMemberGroupOptions *options, RpinnTaskPool *pool,
                                      RpinnMemberGroup **group);
void rpinn_member_group_destroy(RpinnMemberGroup *group);
/* Members taken from the pool, until there are no more or it is stopped. What is finished, and the states of what is not, go to
 * it as events. */
RpinnStatus rpinn_member_group_run(RpinnContext *context, RpinnMemberGroup *group);

#endif
