/* Method ensemble: minimisers of one energy, each from a start of its own. */
#include "finished_run.h"
#include "method_members.h"
#include "run_state.h"

static RpinnStatus check_settings(RpinnContext *context, const RpinnProblem *problem) {
  RPINN_TRY(rpinn_refuse_prior_start(context, problem));
  return rpinn_refuse_adagrad(context, problem);
}

const RpinnMethod rpinn_method_ensemble = {
    .about = {.title = "ensemble",
              .summary = "a deep ensemble: minimisers of one energy from starts of their own"},
    .meaning = "A deep ensemble: every member minimises the same loss from a start of its own.",
    .unit = "member",
    .progress_unit = "members",
    .draws = &rpinn_member_draws,
    .check_settings = check_settings,
    .plan = rpinn_members_plan,
    .make_draws = rpinn_run_make_members,
    .estimate = rpinn_members_estimate,
    .describe_run = rpinn_members_describe_run,
    .describe_settings = rpinn_members_describe_settings,
    .write_title = rpinn_summary_member_title,
    .write_lines = rpinn_summary_member_lines,
    .legend = "member",
    .facts = rpinn_member_facts,
    .sections = {RPINN_SECTION_MEMBERS},
    .warnings = {RPINN_WARNING_FAILED_MEMBERS, RPINN_WARNING_UNCONVERGED_MEMBERS,
                 RPINN_WARNING_UNDONE_MEMBERS},
    .caution =
        "The spread of an ensemble is that of its starts. It is not a posterior: the bands and scores of "
        "uncertainty below have no such meaning.",
    .well = "every member converged",
    .judgement = RPINN_JUDGEMENT_MEMBERS,
    .remark = "the spread of an ensemble is that of its starts, not of the posterior.",
};
