/* Growing text, numbers as text that read back exactly, and the nearest name for a typo. */
#ifndef RPINN_BASE_TEXT_H
#define RPINN_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "rpinn/status.h"

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

enum { RPINN_NUMBER_TEXT = 32 };
/* The shortest of %.15g, %.16g and %.17g that reads back to the same double. */
void rpinn_number_format(double value, char text[RPINN_NUMBER_TEXT]);
/* The whole text as a finite or infinite number; false when it is anything else. */
bool rpinn_number_parse(const char *text, double *value);

#endif
