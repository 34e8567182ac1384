/* Method rpinn: minimisers of energies with noise of their own on data, residuals and prior. */
#include "finished_run.h"
#include "method_members.h"
#include "run_state.h"

const RpinnMethod rpinn_method_rpinn = {
    .about = {.title = "rPINN",
              .summary = "randomised PINNs: each draw minimises an energy with noise of its own"},
    .meaning = "Randomised PINNs: every member minimises the loss with noise of its own on data, "
               "residuals and prior, and stands for a draw from the posterior.",
    .unit = "member",
    .progress_unit = "members",
    .has_offsets = true,
    .has_weights = true,
    .draws = &rpinn_member_draws,
    .check_settings = rpinn_refuse_adagrad,
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
    .well = "every member converged",
    .judgement = RPINN_JUDGEMENT_MEMBERS,
};
