/* Method map: one minimiser of the energy. */
#include "finished_run.h"
#include "method_members.h"
#include "run_state.h"

static RpinnStatus check_settings(RpinnContext *context, const RpinnProblem *problem) {
  RPINN_TRY(rpinn_refuse_prior_start(context, problem));
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_START) == RPINN_START_MAP)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "method map cannot start from its own result; expected glorot or zero");
  return rpinn_refuse_adagrad(context, problem);
}

static RpinnDrawPlan plan(const RpinnSettingsValues *settings) {
  (void)settings;
  return (RpinnDrawPlan){false, 1, 1};
}

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(text, "at most %s iterations of %s", settings->values[RPINN_SETTING_ITERATIONS].text,
                    settings->values[RPINN_SETTING_OPTIMIZER].text);
}

const RpinnMethod rpinn_method_map = {
    .about = {.title = "MAP", .summary = "the most probable point: one minimiser of the energy"},
    .meaning = "The most probable point of the posterior: one minimiser of the loss.",
    .unit = "member",
    .progress_unit = "members",
    .has_one_draw = true,
    .draws = &rpinn_member_draws,
    .check_settings = check_settings,
    .plan = plan,
    .make_draws = rpinn_run_make_members,
    .estimate = rpinn_members_estimate,
    .describe_run = rpinn_members_describe_run,
    .describe_settings = describe_settings,
    .write_title = rpinn_summary_member_title,
    .write_lines = rpinn_summary_member_lines,
    .legend = "member",
    .facts = rpinn_member_facts,
    .sections = {RPINN_SECTION_MEMBERS},
    .warnings = {RPINN_WARNING_FAILED_MEMBERS, RPINN_WARNING_UNCONVERGED_MEMBERS,
                 RPINN_WARNING_UNDONE_MEMBERS},
    .well = "every member converged",
    .judgement = RPINN_JUDGEMENT_MEMBERS,
};
