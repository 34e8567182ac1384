/* How the members of a process are shared among its threads, each of which has several at work at a time. */
#ifndef RPINN_RUN_MEMBER_SHARE_H
#define RPINN_RUN_MEMBER_SHARE_H

#include <stddef.h>
#include <stdint.h>

typedef struct RpinnMemberShare {
  size_t num_threads;
  size_t num_slots; /* members that each of them has at work, at most */
} RpinnMemberShare;

/* most: the threads and slots that there are. places: the members of a step of Levenberg–Marquardt on the device, of which fewer take as
 * long: threads are no more than fill them, and share the members evenly; 0: all threads take what they can. No bit of a member
 * depends on it. */
RpinnMemberShare rpinn_member_share(uint64_t num_members, size_t places, RpinnMemberShare most);

#endif
