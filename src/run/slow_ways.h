/* Work of a run that its backend's device takes no part in, though it could with other settings: said before it begins, to the user and in
 * run.log, by the first rank alone. */
#ifndef RPINN_RUN_SLOW_WAYS_H
#define RPINN_RUN_SLOW_WAYS_H

#include "driver.h"
#include "member.h"

/* Chains of NUTS, those that continue members among them. */
void rpinn_run_say_slow_chains(RpinnContext *context, const RpinnDriver *driver,
                               const RpinnMemberTarget *targets);
/* Particles of SVGD. */
void rpinn_run_say_slow_particles(RpinnContext *context, const RpinnDriver *driver,
                                  const RpinnMemberTarget *targets);

#endif
