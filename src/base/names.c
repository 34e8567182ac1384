/* Sort by name, then by position: equal names become neighbours, the earlier one first. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

typedef struct NumberedName {
  const char *name;
  size_t position;
} NumberedName;

static int compare(const void *left, const void *right) {
  const NumberedName *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  return order ? order : (a->position > b->position) - (a->position < b->position);
}

RpinnStatus rpinn_names_find_repeat(RpinnContext *context, const char *const *names, size_t count,
                                    RpinnRepeat *repeat) {
  *repeat = (RpinnRepeat){.found = false};
  if (count < 2) return RPINN_OK;
  NumberedName *sorted = calloc(count, sizeof *sorted);
  if (!sorted) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) sorted[i] = (NumberedName){names[i], i};
  qsort(sorted, count, sizeof *sorted, compare);
  for (size_t i = 1; i < count; i++) {
    if (strcmp(sorted[i - 1].name, sorted[i].name) != 0) continue;
    if (!repeat->found || sorted[i].position < repeat->second)
      *repeat = (RpinnRepeat){true, sorted[i - 1].position, sorted[i].position};
  }
  free(sorted);
  return RPINN_OK;
}
