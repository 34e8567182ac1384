#include "identity_difference.h"

#include <stdio.h>
#include <string.h>

typedef struct Line {
  const char *start; /* NULL past the end */
  int length;
} Line;

static Line next_line(const char **text) {
  if (!**text) return (Line){0};
  const char *start = *text, *end = strchr(start, '\n');
  size_t length = end ? (size_t)(end - start) : strlen(start);
  *text = end ? end + 1 : start + length;
  return (Line){start, length > 200 ? 200 : (int)length};
}

static bool same_line(Line a, Line b) {
  if (!a.start || !b.start) return a.start == b.start;
  size_t length_a = strcspn(a.start, "\n"), length_b = strcspn(b.start, "\n");
  return length_a == length_b && !memcmp(a.start, b.start, length_a);
}

static size_t count_lines(const char *text) {
  size_t count = 0;
  while (next_line(&text).start) count++;
  return count;
}

void rpinn_identity_difference(const char *before, const char *now, const char *word_before,
                               const char *word_now, char list[RPINN_IDENTITY_DIFFERENCE]) {
  enum { MAX_NAMED = 3 };
  size_t most = count_lines(before) == count_lines(now) ? MAX_NAMED : 1, named = 0, length = 0;
  snprintf(list, RPINN_IDENTITY_DIFFERENCE, "the texts differ in their last newline");
  while (named < most && length < RPINN_IDENTITY_DIFFERENCE && (*before || *now)) {
    Line was = next_line(&before), is = next_line(&now);
    if (same_line(was, is)) continue;
    static const char nothing[] = "nothing";
    if (!was.start) was = (Line){nothing, sizeof nothing - 1};
    if (!is.start) is = (Line){nothing, sizeof nothing - 1};
    int written =
        snprintf(list + length, RPINN_IDENTITY_DIFFERENCE - length, "%s%s %.*s, %s %.*s", named ? "; " : "",
                 word_before, was.length, was.start, word_now, is.length, is.start);
    length += written > 0 ? (size_t)written : RPINN_IDENTITY_DIFFERENCE;
    named++;
  }
}

RpinnStatus rpinn_identity_compare(RpinnContext *context, const char *before, const char *now) {
  char list[RPINN_IDENTITY_DIFFERENCE];
  if (!strcmp(before, now)) return RPINN_OK;
  rpinn_identity_difference(before, now, "was", "is now", list);
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the run in this directory was made with other settings: %s",
                    list);
}
