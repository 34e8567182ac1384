/* The saved state of a method that can go on:
 *
 *   magic, version, bytes | owner | fields | checksum
 *
 * in words of 64 bits of the machine's own byte order; a machine with another one does not find the magic. The owner's
 * part says what the state belongs to, and the owner compares it with its own. The fields are measured, written and
 * read by one pass over them, so that the three cannot drift apart:
 *
 *   size      cursor = {.use = RPINN_STATE_MEASURE}, a pass, rpinn_state_size
 *   save      rpinn_state_begin, a pass, rpinn_state_end
 *   restore   rpinn_state_header, a look at the owner, rpinn_state_open, a pass */
#ifndef RPINN_BASE_SAVED_STATE_H
#define RPINN_BASE_SAVED_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "context.h"

typedef struct RpinnStateForm {
  const char *name; /* for messages: "the saved NAME is damaged" */
  uint64_t magic, version;
  size_t owner_size; /* bytes, a multiple of eight */
} RpinnStateForm;

typedef struct RpinnStateCursor {
  enum { RPINN_STATE_MEASURE, RPINN_STATE_SAVE, RPINN_STATE_RESTORE } use;
  unsigned char *target;       /* SAVE */
  const unsigned char *source; /* RESTORE */
  size_t position;
} RpinnStateCursor;

/* Sizes are multiples of eight. */
static inline void rpinn_state_field(RpinnStateCursor *cursor, void *field, size_t size) {
  if (cursor->use == RPINN_STATE_SAVE) memcpy(cursor->target + cursor->position, field, size);
  if (cursor->use == RPINN_STATE_RESTORE) memcpy(field, cursor->source + cursor->position, size);
  cursor->position += size;
}

static inline void rpinn_state_numbers(RpinnStateCursor *cursor, double *numbers, size_t count) {
  rpinn_state_field(cursor, numbers, count * sizeof *numbers);
}

/* Bytes of a state whose fields take so many. */
size_t rpinn_state_size(const RpinnStateForm *form, size_t num_field_bytes);

/* owner [form->owner_size], buffer [size]. */
RpinnStateCursor rpinn_state_begin(const RpinnStateForm *form, const void *owner, void *buffer, size_t size);
void rpinn_state_end(RpinnStateCursor *cursor);

/* Is this a state of that form? owner receives what it belongs to. */
RpinnStatus rpinn_state_header(RpinnContext *context, const RpinnStateForm *form, const void *buffer,
                               size_t size, void *owner);
/* Is it whole and undamaged? The cursor stands before the fields. */
RpinnStatus rpinn_state_open(RpinnContext *context, const RpinnStateForm *form, const void *buffer,
                             size_t size, size_t expected_size, RpinnStateCursor *cursor);

#endif
