/* What is told to the one who writes: a draw, or the state of one under way. An event is one block of bytes without pointers into
 * memory, so that it can come from another thread or from another process of the same kind of machine. */
#ifndef RPINN_RUN_RUN_EVENT_H
#define RPINN_RUN_RUN_EVENT_H

#include "member_store.h"

enum { RPINN_EVENT_STOP_SIZE = 32 }; /* with the end of the text */

typedef struct RpinnRunEvent {
  uint64_t size;       /* bytes of all */
  uint64_t key;        /* in the store */
  uint64_t task;       /* the member or chain */
  uint64_t iterations; /* that it has made */
  double seconds;      /* that it took */
  uint32_t is_state;   /* state_size bytes follow; else numbers */
  int32_t failed;
  uint64_t is_warmup; /* of a chain */
  uint64_t state_size;
  uint64_t num_parameters, num_statistics, num_trace; /* numbers that follow in this order, num_trace pairs */
  char stop[RPINN_EVENT_STOP_SIZE];
} RpinnRunEvent;

/* A copy of a draw, as the store takes it; NULL: no memory. free() ends it. */
RpinnRunEvent *rpinn_run_event_of_draw(const RpinnStoredMember *draw);
/* Room for a state, which the caller fills in; NULL: no memory. */
RpinnRunEvent *rpinn_run_event_of_state(uint64_t key, size_t state_size);
void *rpinn_run_event_state(RpinnRunEvent *event);
/* What is worth telling of an event to one who does not store it: all but parameters, trace and state. NULL: no memory. */
RpinnRunEvent *rpinn_run_event_of_event(const RpinnRunEvent *event);
/* The statistics [num_statistics] of a draw. */
const double *rpinn_run_event_statistics(const RpinnRunEvent *event);

/* Is this a whole event, as one from elsewhere should be? */
bool rpinn_run_event_is_whole(const void *bytes, size_t size);
/* Into the store. */
RpinnStatus rpinn_run_event_store(RpinnContext *context, RpinnMemberStore *store, const RpinnRunEvent *event);

#endif
