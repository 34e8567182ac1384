/* Method map: one minimiser of the energy. */
#include "method_members.h"

static RpinnDrawPlan plan(const RpinnSettingsValues *settings) {
  (void)settings;
  return (RpinnDrawPlan){.num_chains = 1, .num_draws = 1};
}

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(text, "at most %s iterations of %s", settings->values[RPINN_SETTING_ITERATIONS].text,
                    settings->values[RPINN_SETTING_OPTIMIZER].text);
}

const RpinnMethod rpinn_method_map = {
    .about = {.title = "MAP", .summary = "the most probable point: one minimiser of the energy"},
    .meaning = "The most probable point of the posterior: one minimiser of the loss.",
    RPINN_METHOD_OF_MINIMISERS,
    .sections = {RPINN_SECTION_MEMBERS},
    .has_one_draw = true,
    .plan = plan,
    .describe_settings = describe_settings,
};
