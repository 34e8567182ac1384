/* States of members or chains that were under way when an earlier session stopped, until a thread takes them. Threads may ask at the same
 * time. */
#ifndef RPINN_RUN_SAVED_STATES_H
#define RPINN_RUN_SAVED_STATES_H

#include <stdint.h>

#include "context.h"

typedef struct RpinnSavedStates RpinnSavedStates;

RpinnStatus rpinn_saved_states_create(RpinnContext *context, RpinnSavedStates **states);
void rpinn_saved_states_destroy(RpinnSavedStates *states);
/* The state, which it owns from then on, also after a failure; a task has one at most. */
RpinnStatus rpinn_saved_states_put(RpinnContext *context, RpinnSavedStates *states, uint64_t task,
                                   void *state, size_t size);
/* The state of a task, which the caller frees; NULL: it begins anew. */
void *rpinn_saved_states_take(RpinnSavedStates *states, uint64_t task, size_t *size);

#endif
