#include "run_event.h"

#include <stdlib.h>
#include <string.h>

static double *numbers_of(const RpinnRunEvent *event) {
  return (double *)(event + 1); /* every field before is a multiple of 8 bytes */
}

_Static_assert(sizeof(RpinnRunEvent) % sizeof(double) == 0, "numbers follow an event without a gap");

static RpinnRunEvent *allocate(size_t payload) {
  RpinnRunEvent *event = calloc(1, sizeof *event + payload);
  if (event) event->size = sizeof *event + payload;
  return event;
}

static void copy_numbers(double **to, const double *from, size_t count) {
  if (count) memcpy(*to, from, count * sizeof **to);
  *to += count;
}

RpinnRunEvent *rpinn_run_event_of_draw(const RpinnStoredMember *draw) {
  size_t count = draw->num_parameters + draw->num_statistics + 2 * draw->num_trace;
  RpinnRunEvent *event = allocate(count * sizeof(double));
  if (!event) return NULL;
  double *numbers = numbers_of(event);
  event->key = draw->index;
  event->failed = draw->failed;
  event->num_parameters = draw->num_parameters;
  event->num_statistics = draw->num_statistics;
  event->num_trace = draw->num_trace;
  strncpy(event->stop, draw->stop, sizeof event->stop - 1);
  copy_numbers(&numbers, draw->parameters, draw->num_parameters);
  copy_numbers(&numbers, draw->statistics, draw->num_statistics);
  copy_numbers(&numbers, draw->trace, 2 * draw->num_trace);
  return event;
}

RpinnRunEvent *rpinn_run_event_of_state(uint64_t key, size_t state_size) {
  RpinnRunEvent *event = allocate(state_size);
  if (!event) return NULL;
  event->key = key;
  event->is_state = 1;
  event->state_size = state_size;
  return event;
}

RpinnRunEvent *rpinn_run_event_of_event(const RpinnRunEvent *event) {
  size_t payload = (size_t)event->num_statistics * sizeof(double);
  RpinnRunEvent *note = allocate(payload);
  if (!note) return NULL;
  *note = *event;
  note->size = sizeof *note + payload;
  note->num_parameters = note->num_trace = note->state_size = 0;
  if (payload) memcpy(numbers_of(note), rpinn_run_event_statistics(event), payload);
  return note;
}

void *rpinn_run_event_state(RpinnRunEvent *event) {
  return event + 1;
}

const double *rpinn_run_event_statistics(const RpinnRunEvent *event) {
  return numbers_of(event) + event->num_parameters;
}

/* Bytes behind the head, by its counts; SIZE_MAX where these make no sense. */
static size_t payload_of(const RpinnRunEvent *event) {
  const uint64_t most = SIZE_MAX / 64;
  if (event->is_state) return event->state_size < most ? (size_t)event->state_size : SIZE_MAX;
  if (event->num_parameters > most || event->num_statistics > most || event->num_trace > most)
    return SIZE_MAX;
  return (size_t)(event->num_parameters + event->num_statistics + 2 * event->num_trace) * sizeof(double);
}

bool rpinn_run_event_is_whole(const void *bytes, size_t size) {
  RpinnRunEvent head;
  if (size < sizeof head) return false;
  memcpy(&head, bytes, sizeof head);
  return head.size == size && payload_of(&head) == size - sizeof head &&
         memchr(head.stop, 0, sizeof head.stop);
}

RpinnStatus rpinn_run_event_store(RpinnContext *context, RpinnMemberStore *store,
                                  const RpinnRunEvent *event) {
  const double *numbers = numbers_of(event);
  if (event->is_state)
    return rpinn_member_store_put_state(context, store, event->key, event + 1, (size_t)event->state_size);
  RpinnStoredMember draw = {.index = event->key,
                            .failed = event->failed,
                            .num_parameters = (size_t)event->num_parameters,
                            .parameters = event->num_parameters ? numbers : NULL,
                            .num_statistics = (size_t)event->num_statistics,
                            .statistics = numbers + event->num_parameters,
                            .num_trace = (size_t)event->num_trace,
                            .trace = numbers + event->num_parameters + event->num_statistics,
                            .stop = event->stop};
  return rpinn_member_store_put(context, store, &draw);
}
