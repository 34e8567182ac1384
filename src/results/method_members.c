#include "method_members.h"

#include "run_record.h"

RpinnDrawPlan rpinn_members_plan(const RpinnSettingsValues *settings) {
  return (RpinnDrawPlan){.num_chains = 1,
                         .num_draws = (uint64_t)settings->values[RPINN_SETTING_SAMPLES].number};
}

double rpinn_members_count(const RpinnRun *run) {
  return (double)run->results.num_draws;
}

const RpinnRunFact rpinn_member_facts[] = {{"Members", .number = rpinn_members_count},
                                           {"Optimiser", .setting = RPINN_SETTING_OPTIMIZER},
                                           {"Iterations, at most", .setting = RPINN_SETTING_ITERATIONS},
                                           {.title = NULL}};

void rpinn_members_describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(text, "%s members of %s iterations", settings->values[RPINN_SETTING_SAMPLES].text,
                    settings->values[RPINN_SETTING_ITERATIONS].text);
}
