/* A walk over the members of a store in the order of their indices, one step at a time, which hands members over to another store as they are. */
#ifndef RPINN_IO_STORE_WALK_H
#define RPINN_IO_STORE_WALK_H

#include "member_store.h"

/* A store has one walk at a time, and no visit beside it. */
typedef struct RpinnStoreWalk {
  RpinnMemberStore *store;
  bool has_member; /* it stands at a member, and is not behind the last one */
  uint64_t index;  /* of that member */
} RpinnStoreWalk;

/* At the first member of the range. End it on every path. */
RpinnStatus rpinn_store_walk_begin(RpinnContext *context, RpinnMemberStore *store, RpinnStoreRange range,
                                   RpinnStoreWalk *walk);
RpinnStatus rpinn_store_walk_next(RpinnContext *context, RpinnStoreWalk *walk);
/* The member that it stands at, into a store that has neither it nor a state of it. A damaged one is bad input. */
RpinnStatus rpinn_store_walk_copy(RpinnContext *context, const RpinnStoreWalk *walk, RpinnMemberStore *to);
void rpinn_store_walk_end(RpinnStoreWalk *walk);

#endif
