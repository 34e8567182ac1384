/* The table of methods. */
#include <string.h>

#include "method.h"

static const struct {
  const char *name;
  const RpinnMethod *method;
} methods[] = {
#define RPINN_METHOD_ROW(name, ...) {#name, &rpinn_method_##name},
    RPINN_METHOD_LIST(RPINN_METHOD_ROW)
#undef RPINN_METHOD_ROW
};
enum { NUM_METHODS = sizeof methods / sizeof methods[0] };

const char *rpinn_method_name(size_t index) {
  return index < NUM_METHODS ? methods[index].name : NULL;
}
const RpinnMethodDescription *rpinn_method_description(size_t index) {
  return index < NUM_METHODS ? &methods[index].method->about : NULL;
}
const RpinnMethod *rpinn_method_at(size_t index) {
  return index < NUM_METHODS ? methods[index].method : NULL;
}

const RpinnMethod *rpinn_method_find(const char *name) {
  for (size_t i = 0; i < NUM_METHODS; i++)
    if (!strcmp(methods[i].name, name)) return methods[i].method;
  return NULL;
}

/* The choices of the setting are the names in their order. */
const RpinnMethod *rpinn_problem_method(const RpinnProblem *problem) {
  return methods[(size_t)problem->settings.values[RPINN_SETTING_METHOD].number].method;
}

RpinnDrawPlan rpinn_problem_plan(const RpinnProblem *problem) {
  const RpinnMethod *method = rpinn_problem_method(problem);
  RpinnDrawPlan plan = method->plan(&problem->settings);
  plan.is_corrected =
      method->can_be_continued &&
      rpinn_settings_choice(&problem->settings, RPINN_SETTING_CORRECT) == RPINN_CORRECTION_NUTS;
  return plan;
}
