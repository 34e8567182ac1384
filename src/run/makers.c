/* The table of makers, in the order of the methods. */
#include "maker.h"

static const RpinnDrawMaker *const makers[] = {
#define RPINN_MAKER_ROW(name, ...) &rpinn_maker_##name,
    RPINN_METHOD_LIST(RPINN_MAKER_ROW)
#undef RPINN_MAKER_ROW
};
enum { NUM_MAKERS = sizeof makers / sizeof makers[0] };

const RpinnDrawMaker *rpinn_maker_at(size_t index) {
  return index < NUM_MAKERS ? makers[index] : NULL;
}

/* The choices of the setting are the names of the methods in their order. */
const RpinnDrawMaker *rpinn_problem_maker(const RpinnProblem *problem) {
  return makers[(size_t)problem->settings.values[RPINN_SETTING_METHOD].number];
}
