/* What makers share whose draws are members: minimisers, or particles, with a loss of their own. */
#ifndef RPINN_RUN_MAKER_MEMBERS_H
#define RPINN_RUN_MAKER_MEMBERS_H

#include "maker.h"
#include "minimize.h"
#include "run_draws.h"
#include "run_record.h"

/* How minimisers are made: all of the struct but the settings that the method refuses. */
#define RPINN_MAKER_OF_MINIMISERS                                                                            \
  .progress_unit = "members", .make_draws = rpinn_run_make_members, .estimate = rpinn_members_estimate,      \
  .describe_run = rpinn_members_describe_run

RpinnStatus rpinn_members_estimate(RpinnContext *context, RpinnDriver *driver,
                                   const RpinnMemberTarget *targets, RpinnRunEstimate *estimate);
void rpinn_members_describe_run(const RpinnRun *run, RpinnText *text);

/* Settings that some methods refuse. */
RpinnStatus rpinn_refuse_member_start(RpinnContext *context, const RpinnProblem *problem);
RpinnStatus rpinn_refuse_adagrad(RpinnContext *context, const RpinnProblem *problem);
RpinnStatus rpinn_members_check_settings(RpinnContext *context, const RpinnProblem *problem); /* both */
/* Seconds of an iteration of the minimiser, from half a second of work. */
RpinnStatus rpinn_try_minimizer(RpinnContext *context, const RpinnMemberTarget *target,
                                const RpinnMinimizeOptions *options, double *seconds);
/* Seconds of a gradient, likewise. */
RpinnStatus rpinn_try_gradient(RpinnContext *context, const RpinnProblem *problem,
                               const RpinnMemberTarget *target, double *seconds);

#endif
