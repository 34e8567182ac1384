/* A pass over the fields of a saved state, in one order for all three uses, so that they cannot drift apart. */
#ifndef RPINN_BASE_STATE_CURSOR_H
#define RPINN_BASE_STATE_CURSOR_H

#include <stddef.h>
#include <string.h>

typedef struct RpinnStateCursor {
  enum { RPINN_STATE_MEASURE, RPINN_STATE_SAVE, RPINN_STATE_RESTORE } use;
  unsigned char *target;       /* SAVE */
  const unsigned char *source; /* RESTORE */
  size_t position;
} RpinnStateCursor;

static inline void rpinn_state_field(RpinnStateCursor *cursor, void *field, size_t size) {
  if (cursor->use == RPINN_STATE_SAVE) memcpy(cursor->target + cursor->position, field, size);
  if (cursor->use == RPINN_STATE_RESTORE) memcpy(field, cursor->source + cursor->position, size);
  cursor->position += size;
}

static inline void rpinn_state_numbers(RpinnStateCursor *cursor, double *numbers, size_t count) {
  rpinn_state_field(cursor, numbers, count * sizeof *numbers);
}

#endif
