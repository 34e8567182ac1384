/* Growing text. Numbers in it are as number_text.h has them. */
#ifndef RPINN_BASE_TEXT_H
#define RPINN_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "number_text.h"

/* A text that grows. After a failed allocation `failed` stays set and further appends do nothing: check once.
 */
typedef struct RpinnText {
  char *bytes; /* NUL-terminated, or NULL while empty */
  size_t length, capacity;
  bool failed;
} RpinnText;

void rpinn_text_append(RpinnText *text, const char *format, ...) RPINN_PRINTF(2, 3);
void rpinn_text_append_bytes(RpinnText *text, const char *bytes, size_t length);
void rpinn_text_free(RpinnText *text);

#endif
