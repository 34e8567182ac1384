/* Method map: one minimiser of the energy. */
#include "maker_members.h"

static RpinnStatus check_settings(RpinnContext *context, const RpinnProblem *problem) {
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_START) == RPINN_START_MAP)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "method map cannot start from its own result; expected prior, glorot or zero");
  return rpinn_members_check_settings(context, problem);
}

const RpinnDrawMaker rpinn_maker_map = {
    RPINN_MAKER_OF_MINIMISERS,
    .prior_at_minimum = true,
    .check_settings = check_settings,
};
