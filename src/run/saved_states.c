#include "saved_states.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Saved {
  uint64_t task;
  void *state; /* NULL: taken */
  size_t size;
} Saved;

struct RpinnSavedStates {
  pthread_mutex_t mutex;
  size_t count, capacity;
  Saved *saved; /* [capacity], by their tasks */
};

RpinnStatus rpinn_saved_states_create(RpinnContext *context, RpinnSavedStates **states) {
  *states = calloc(1, sizeof **states);
  if (!*states) return rpinn_fail_memory(context);
  pthread_mutex_init(&(*states)->mutex, NULL);
  return RPINN_OK;
}

void rpinn_saved_states_destroy(RpinnSavedStates *states) {
  if (!states) return;
  for (size_t k = 0; k < states->count; k++) free(states->saved[k].state);
  pthread_mutex_destroy(&states->mutex);
  free(states->saved);
  free(states);
}

/* The first one whose task is not less. */
static size_t find(const RpinnSavedStates *states, uint64_t task) {
  size_t low = 0, high = states->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (states->saved[middle].task < task)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool make_room(RpinnSavedStates *states) {
  if (states->count < states->capacity) return true;
  size_t capacity = states->capacity ? 2 * states->capacity : 16;
  Saved *grown = realloc(states->saved, capacity * sizeof *grown);
  if (!grown) return false;
  states->saved = grown;
  states->capacity = capacity;
  return true;
}

RpinnStatus rpinn_saved_states_put(RpinnContext *context, RpinnSavedStates *states, uint64_t task,
                                   void *state, size_t size) {
  pthread_mutex_lock(&states->mutex);
  bool has_room = make_room(states);
  if (has_room) {
    size_t at = find(states, task);
    memmove(&states->saved[at + 1], &states->saved[at], (states->count - at) * sizeof(Saved));
    states->saved[at] = (Saved){task, state, size};
    states->count++;
  }
  pthread_mutex_unlock(&states->mutex);
  if (has_room) return RPINN_OK;
  free(state);
  return rpinn_fail_memory(context);
}

void *rpinn_saved_states_take(RpinnSavedStates *states, uint64_t task, size_t *size) {
  void *state = NULL;
  pthread_mutex_lock(&states->mutex);
  size_t at = find(states, task);
  if (at < states->count && states->saved[at].task == task) {
    Saved *saved = &states->saved[at];
    state = saved->state;
    *size = saved->size;
    saved->state = NULL;
  }
  pthread_mutex_unlock(&states->mutex);
  return state;
}
