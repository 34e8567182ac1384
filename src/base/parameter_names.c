#include "parameter_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

enum { NUMBERED_SIZE = 32 }; /* of "theta[N]" */

struct RpinnParameterNames {
  char *texts;        /* all names, one after the other, each with its final NUL */
  const char *list[]; /* [count] */
};

/* Names tell parameters apart. */
static RpinnStatus check(RpinnContext *context, size_t count, const char *const *given) {
  RpinnRepeat repeat;
  for (size_t j = 0; j < count; j++)
    if (!given[j] || !*given[j])
      return rpinn_fail(context, RPINN_ERROR_INPUT, "parameter %zu has no name; expected one for each", j);
  RPINN_TRY(rpinn_names_find_repeat(context, given, count, &repeat));
  if (!repeat.found) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "parameters %zu and %zu are both called '%s'; expected names that differ", repeat.first,
                    repeat.second, given[repeat.second]);
}

static size_t texts_size(size_t count, const char *const *given) {
  if (!given) return count * NUMBERED_SIZE + 1;
  size_t size = 1;
  for (size_t j = 0; j < count; j++) size += strlen(given[j]) + 1;
  return size;
}

RpinnStatus rpinn_parameter_names_create(RpinnContext *context, size_t count, const char *const *given,
                                         RpinnParameterNames **result) {
  *result = NULL;
  if (given) RPINN_TRY(check(context, count, given));
  RpinnParameterNames *names = malloc(sizeof *names + count * sizeof names->list[0]);
  char *text = malloc(texts_size(count, given));
  if (!names || !text) {
    free(names);
    free(text);
    return rpinn_fail_memory(context);
  }
  names->texts = text;
  for (size_t j = 0; j < count; j++) {
    names->list[j] = text;
    if (given)
      memcpy(text, given[j], strlen(given[j]) + 1);
    else
      snprintf(text, NUMBERED_SIZE, "theta[%zu]", j);
    text += strlen(text) + 1;
  }
  *result = names;
  return RPINN_OK;
}

void rpinn_parameter_names_destroy(RpinnParameterNames *names) {
  if (!names) return;
  free(names->texts);
  free(names);
}

const char *rpinn_parameter_name(const RpinnParameterNames *names, size_t parameter) {
  return names->list[parameter];
}
