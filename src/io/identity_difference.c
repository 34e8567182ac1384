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

static bool has_line(const char *text, Line line) {
  while (*text)
    if (same_line(next_line(&text), line)) return true;
  return false;
}

/* The next lines that differ. A line that stands further down in the other text has none to differ from: the other one is
 * left or new, and its place here is empty. False: there are none. */
static bool next_difference(const char **before, const char **now, Line *was, Line *is) {
  while (**before || **now) {
    const char *before_line = *before, *now_line = *now;
    *was = next_line(before);
    *is = next_line(now);
    if (same_line(*was, *is)) continue;
    if (was->start && is->start && has_line(*now, *was)) {
      *before = before_line;
      *was = (Line){0};
    } else if (was->start && is->start && has_line(*before, *is)) {
      *now = now_line;
      *is = (Line){0};
    }
    return true;
  }
  return false;
}

void rpinn_identity_difference(const char *before, const char *now, const char *word_before,
                               const char *word_now, char list[RPINN_IDENTITY_DIFFERENCE]) {
  enum { MAX_NAMED = 3 };
  size_t length = 0;
  Line was, is;
  snprintf(list, RPINN_IDENTITY_DIFFERENCE, "the texts differ in their last newline");
  for (size_t named = 0; named < MAX_NAMED && length < RPINN_IDENTITY_DIFFERENCE; named++) {
    if (!next_difference(&before, &now, &was, &is)) break;
    static const char nothing[] = "nothing";
    if (!was.start) was = (Line){nothing, sizeof nothing - 1};
    if (!is.start) is = (Line){nothing, sizeof nothing - 1};
    int written =
        snprintf(list + length, RPINN_IDENTITY_DIFFERENCE - length, "%s%s %.*s, %s %.*s", named ? "; " : "",
                 word_before, was.length, was.start, word_now, is.length, is.start);
    length += written > 0 ? (size_t)written : RPINN_IDENTITY_DIFFERENCE;
  }
}

RpinnStatus rpinn_identity_compare(RpinnContext *context, const char *before, const char *now) {
  char list[RPINN_IDENTITY_DIFFERENCE];
  if (!strcmp(before, now)) return RPINN_OK;
  rpinn_identity_difference(before, now, "was", "is now", list);
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the run in this directory was made with other settings: %s",
                    list);
}
