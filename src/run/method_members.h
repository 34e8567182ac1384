/* What methods share whose draws are members: minimisers, or particles, with a loss of their own. */
#ifndef RPINN_RUN_METHOD_MEMBERS_H
#define RPINN_RUN_METHOD_MEMBERS_H

#include "finished_run.h"
#include "method.h"
#include "run_state.h"

/* What a method is whose draws are minimisers: all of the struct but its name, its settings, and how many of them. */
#define RPINN_METHOD_OF_MINIMISERS                                                                           \
  .unit = "member", .progress_unit = "members", .draws = &rpinn_member_draws, .minimises = true,             \
  .make_draws = rpinn_run_make_members, .estimate = rpinn_members_estimate,                                  \
  .describe_run = rpinn_members_describe_run, .write_title = rpinn_summary_member_title,                     \
  .write_lines = rpinn_summary_member_lines, .legend = "member", .facts = rpinn_member_facts,                \
  .sections = {RPINN_SECTION_MEMBERS}, .judgement = RPINN_JUDGEMENT_MEMBERS

/* As many members as the setting `samples` says. */
RpinnDrawPlan rpinn_members_plan(const RpinnSettingsValues *settings);
RpinnStatus rpinn_members_estimate(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets,
                                   RpinnRunEstimate *estimate);
void rpinn_members_describe_run(const RpinnRun *run, RpinnText *text);
void rpinn_members_describe_settings(const RpinnSettingsValues *settings, RpinnText *text);

/* At the head of a page: how many, and how they were minimised. */
extern const RpinnRunFact rpinn_member_facts[];
double rpinn_members_count(const RpinnRun *run);

/* Settings that some methods refuse. */
RpinnStatus rpinn_refuse_member_start(RpinnContext *context, const RpinnProblem *problem);
RpinnStatus rpinn_refuse_adagrad(RpinnContext *context, const RpinnProblem *problem);
RpinnStatus rpinn_members_check_settings(RpinnContext *context, const RpinnProblem *problem); /* both */
/* Seconds of an iteration of the minimiser, from half a second of work. */
RpinnStatus rpinn_try_minimizer(RpinnContext *context, const RpinnMemberTarget *target,
                                const RpinnMinimizeOptions *options, double *seconds);

#endif
