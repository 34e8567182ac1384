#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(RpinnText *text, size_t extra) {
  if (text->failed || extra > (size_t)-1 / 4 - text->length) {
    text->failed = true;
    return false;
  }
  size_t need = text->length + extra + 1;
  if (need <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 128;
  while (capacity < need) capacity *= 2;
  char *bytes = realloc(text->bytes, capacity);
  if (!bytes) {
    text->failed = true;
    return false;
  }
  text->bytes = bytes;
  text->capacity = capacity;
  return true;
}

void rpinn_text_append_bytes(RpinnText *text, const char *bytes, size_t length) {
  if (!reserve(text, length)) return;
  if (length) memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = '\0';
}

void rpinn_text_append(RpinnText *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  int length = rpinn_format_list(NULL, 0, format, arguments);
  va_end(arguments);
  if (length >= 0 && reserve(text, (size_t)length)) {
    rpinn_format_list(text->bytes + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  } else {
    text->failed = true;
  }
  va_end(again);
}

void rpinn_text_free(RpinnText *text) {
  free(text->bytes);
  *text = (RpinnText){0};
}

/* Edit distance with swaps of neighbours (optimal string alignment), for names up to NAME_LIMIT letters. */
enum { NAME_LIMIT = 48 };

static size_t edit_distance(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b);
  if (n > NAME_LIMIT || m > NAME_LIMIT) return NAME_LIMIT;
  size_t row[3][NAME_LIMIT + 1]; /* row[i % 3][j]: distance of the first i letters of a and j of b */
  for (size_t j = 0; j <= m; j++) row[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *now = row[i % 3], *before = row[(i - 1) % 3], *two_before = row[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
      if (before[j] + 1 < best) best = before[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swap && two_before[j - 2] + 1 < best) best = two_before[j - 2] + 1;
      now[j] = best;
    }
  }
  return row[n % 3][m];
}

const char *rpinn_nearest_name(const char *typo, const char *const *names, size_t count) {
  size_t length = strlen(typo);
  size_t limit = length <= 2 ? 1 : length <= 5 ? 2 : 3;
  const char *nearest = NULL;
  size_t least = limit + 1;
  for (size_t i = 0; i < count; i++) {
    size_t distance = edit_distance(typo, names[i]);
    /* A distance as long as the word itself is no likeness: "x" is not a typo of "b". */
    if (distance < least && distance < length) {
      least = distance;
      nearest = names[i];
    }
  }
  /* Otherwise the one name that continues what was written: "reference" for "reference_term". */
  size_t num_longer = 0;
  for (size_t i = 0; !nearest && length >= 3 && i < count; i++)
    num_longer += strncmp(names[i], typo, length) == 0;
  for (size_t i = 0; num_longer == 1 && i < count; i++)
    if (strncmp(names[i], typo, length) == 0) return names[i];
  return nearest;
}
