/* The pilot of --correct nuts: metric, step size and length of the chains that all members are continued by.
 *
 *   metric   a chain from every member of the pilot adapts its own, beginning with the spread of the members; the mean of all
 *   step     with that metric, a chain from every member adapts its step; a quarter of them want a smaller one than is taken
 *   length   with both, two chains from every member, T = 4, 8, 16, … iterations: nested R-hat over the second half of them, of the log
 *            density and of predicted numbers, with the chains of a member as a superchain. The first T from
 *            RPINN_SHORTEST_CORRECTION on whose largest R-hat is within RPINN_FORGOTTEN_RHAT; or the last one before 2 T would take
 *            more gradients than the budget has.
 *
 * Every stage begins at the members, so that what it finds depends on them, the seed and the settings alone. Between stages and rounds
 * everything is in the store. */
#ifndef RPINN_RUN_CORRECTION_PILOT_H
#define RPINN_RUN_CORRECTION_PILOT_H

#include "driver.h"
#include "member.h"

/* run->correction of a run that corrects, as an earlier session or another shard has left it; before its members are made. */
RpinnStatus rpinn_run_find_pilot(RpinnContext *context, const RpinnDriver *driver);
/* How many of the first members the session needs for a pilot that it has to make or to end; 0: none. */
uint64_t rpinn_pilot_num_members(const RpinnDriver *driver);
/* Makes it, or goes on with it, behind these members: run->correction is settled then, unless the caller or the clock wants an end before:
 * driver->interrupted, driver->out_of_time. */
RpinnStatus rpinn_run_settle_correction(RpinnContext *context, RpinnDriver *driver,
                                        const RpinnMemberTarget *targets);

/* Gradients of the pilot, at most. */
double rpinn_pilot_gradients(const RpinnRun *run);

#endif
