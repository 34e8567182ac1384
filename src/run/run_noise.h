/* Noise that is not known, in a run: learnt once, before the first draw, kept in the store, and never learnt again. */
#ifndef RPINN_RUN_RUN_NOISE_H
#define RPINN_RUN_RUN_NOISE_H

#include "driver.h"
#include "member.h"
#include "noise_posterior.h"

/* The unknown noise of a posterior, for what is in the room of priors; eta_0 are its starts. In the arena. */
RpinnStatus rpinn_noise_rows_of(RpinnContext *context, RpinnArena *arena, const RpinnPosterior *posterior,
                                RpinnNoiseRows *noise);

/* Fill run->noise: as an earlier session left it in the store, or learnt now, on all threads, and then put there; and let all
 * posteriors be at its mode, and targets draw from it. Depends on the posterior and its seed alone. Nothing where all noise is
 * known. driver->interrupted where the caller wanted an end; then there is none. Bad input: noise that goes to zero. */
RpinnStatus rpinn_run_learn_noise(RpinnContext *context, RpinnDriver *driver,
                                  const RpinnMemberTarget *targets);

#endif
