#include "study_words.h"

#include <string.h>

#include "text.h"

RpinnStatus rpinn_study_read_choice(RpinnContext *context, const char *option, const char *found,
                                    const char *const *choices, size_t num_choices, size_t *place) {
  RpinnText list = {0};
  for (size_t k = 0; k < num_choices; k++) {
    if (!strcmp(found, choices[k])) {
      *place = k;
      rpinn_text_free(&list);
      return RPINN_OK;
    }
    rpinn_text_append(&list, "%s%s", k == 0 ? "" : k + 1 < num_choices ? ", " : " or ", choices[k]);
  }
  const char *near = rpinn_nearest_name(found, choices, num_choices);
  RpinnStatus status = rpinn_fail_at(context, (RpinnPlace){.file = option},
                                     "found '%.60s'; expected %s%s%s%s", found, list.bytes ? list.bytes : "",
                                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  rpinn_text_free(&list);
  return status;
}
