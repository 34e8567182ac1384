/* What methods share whose draws are members: minimisers, or particles, with a loss of their own. */
#ifndef RPINN_RESULTS_METHOD_MEMBERS_H
#define RPINN_RESULTS_METHOD_MEMBERS_H

#include "finished_run.h"
#include "method.h"

/* What a method is whose draws are minimisers: all of the struct but its name, how many of them, and the
 * sections of its page. */
#define RPINN_METHOD_OF_MINIMISERS                                                                           \
  .unit = "member", .draws = &rpinn_member_draws, .minimises = true,                                         \
  .write_title = rpinn_summary_member_title, .write_lines = rpinn_summary_member_lines, .legend = "member",  \
  .facts = rpinn_member_facts, .judgement = RPINN_JUDGEMENT_MEMBERS

/* As many members as the setting `samples` says. */
RpinnDrawPlan rpinn_members_plan(const RpinnSettingsValues *settings);
void rpinn_members_describe_settings(const RpinnSettingsValues *settings, RpinnText *text);

/* At the head of a page: how many, and how they were minimised. */
extern const RpinnRunFact rpinn_member_facts[];
double rpinn_members_count(const RpinnRun *run);

#endif
