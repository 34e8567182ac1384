/* What methods share whose draws are members: minimisers, or particles, with a loss of their own. */
#ifndef RPINN_RUN_METHOD_MEMBERS_H
#define RPINN_RUN_METHOD_MEMBERS_H

#include "method.h"

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
RpinnStatus rpinn_refuse_prior_start(RpinnContext *context, const RpinnProblem *problem);
RpinnStatus rpinn_refuse_adagrad(RpinnContext *context, const RpinnProblem *problem);
/* Seconds of an iteration of the minimiser, from half a second of work. */
RpinnStatus rpinn_try_minimizer(RpinnContext *context, const RpinnMemberTarget *target,
                                const RpinnMinimizeOptions *options, double *seconds);

#endif
