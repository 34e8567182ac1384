#include "saved_state.h"

#include <inttypes.h>

typedef struct Header {
  uint64_t magic, version, bytes;
} Header;

static size_t header_size(const RpinnStateForm *form) {
  return sizeof(Header) + form->owner_size;
}

/* FNV-1a over words. Each step is invertible, so it finds every single changed word. */
static uint64_t checksum(const unsigned char *bytes, size_t count) {
  uint64_t sum = 0xcbf29ce484222325, word;
  for (size_t i = 0; i < count; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    sum = (sum ^ word) * 0x100000001b3;
    sum ^= sum >> 32;
  }
  return sum;
}

size_t rpinn_state_size(const RpinnStateForm *form, size_t num_field_bytes) {
  return header_size(form) + num_field_bytes + sizeof(uint64_t);
}

RpinnStateCursor rpinn_state_begin(const RpinnStateForm *form, const void *owner, void *buffer, size_t size) {
  Header header = {form->magic, form->version, size};
  memcpy(buffer, &header, sizeof header);
  memcpy((unsigned char *)buffer + sizeof header, owner, form->owner_size);
  return (RpinnStateCursor){.use = RPINN_STATE_SAVE, .target = buffer, .position = header_size(form)};
}

void rpinn_state_end(RpinnStateCursor *cursor) {
  uint64_t sum = checksum(cursor->target, cursor->position);
  rpinn_state_field(cursor, &sum, sizeof sum);
}

RpinnStatus rpinn_state_header(RpinnContext *context, const RpinnStateForm *form, const void *buffer,
                               size_t size, void *owner) {
  Header header;
  if (size < header_size(form))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a saved %s of %zu bytes is cut short", form->name, size);
  memcpy(&header, buffer, sizeof header);
  if (header.magic != form->magic)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "this is not a saved %s of this machine type", form->name);
  if (header.version != form->version)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved %s has version %" PRIu64 ", expected %" PRIu64,
                      form->name, header.version, form->version);
  memcpy(owner, (const unsigned char *)buffer + sizeof header, form->owner_size);
  return RPINN_OK;
}

RpinnStatus rpinn_state_open(RpinnContext *context, const RpinnStateForm *form, const void *buffer,
                             size_t size, size_t expected_size, RpinnStateCursor *cursor) {
  Header header;
  uint64_t sum;
  memcpy(&header, buffer, sizeof header);
  if (size != expected_size || header.bytes != size)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved %s has %zu bytes, expected %zu", form->name,
                      size, expected_size);
  memcpy(&sum, (const unsigned char *)buffer + size - sizeof sum, sizeof sum);
  if (sum != checksum(buffer, size - sizeof sum))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved %s is damaged: its checksum differs",
                      form->name);
  *cursor = (RpinnStateCursor){.use = RPINN_STATE_RESTORE, .source = buffer, .position = header_size(form)};
  return RPINN_OK;
}
