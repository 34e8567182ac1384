/* What makers make draws with, each into the store: RpinnDrawMaker.make_draws. */
#ifndef RPINN_RUN_RUN_DRAWS_H
#define RPINN_RUN_RUN_DRAWS_H

#include "driver.h"
#include "member.h"

RpinnStatus rpinn_run_make_members(RpinnContext *context, RpinnDriver *driver,
                                   const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_chains(RpinnContext *context, RpinnDriver *driver,
                                  const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_particles(RpinnContext *context, RpinnDriver *driver,
                                     const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_laplace_draws(RpinnContext *context, RpinnDriver *driver,
                                         const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_variational_draws(RpinnContext *context, RpinnDriver *driver,
                                             const RpinnMemberTarget *targets);
/* Seconds of one iteration of all starts of method vi, on all threads. */
RpinnStatus rpinn_run_try_variational(RpinnContext *context, RpinnDriver *driver,
                                      const RpinnMemberTarget *targets, double *seconds);
/* --correct nuts, behind the members of a run that is asked for it; nothing for others. */
RpinnStatus rpinn_run_correct_members(RpinnContext *context, RpinnDriver *driver,
                                      const RpinnMemberTarget *targets);
/* Gradients of it, at most: those that the budget allows every member and the last stage of the pilot, and the pilot's first stages. */
double rpinn_run_correction_gradients(const RpinnRun *run);
/* Seconds of one iteration of all particles, on all threads. */
RpinnStatus rpinn_run_try_particles(RpinnContext *context, RpinnDriver *driver,
                                    const RpinnMemberTarget *targets, double *seconds);

#endif
