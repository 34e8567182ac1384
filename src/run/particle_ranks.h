/* Particles that all ranks move together: what an iteration exchanges goes from every rank to every other one. Rank 0 has the store and the clock; it
 * tells the others in the place of its next part that they are to stop. */
#ifndef RPINN_RUN_PARTICLE_RANKS_H
#define RPINN_RUN_PARTICLE_RANKS_H

#include "driver.h"
#include "ranks.h"
#include "svgd_parts.h"

typedef struct RpinnParticleRanks {
  RpinnRanks *ranks;
  RpinnSvgdParts parts;
} RpinnParticleRanks;

/* By all ranks: rank 0 tells what the run has learnt, and where the particles are, which it has started or restored. From here on svgd advances on all
 * ranks alike. */
RpinnStatus rpinn_particle_ranks_begin(RpinnContext *context, RpinnParticleRanks *particles,
                                       const RpinnDriver *driver, RpinnSvgd *svgd);
/* Rank 0: there is no further iteration, where others expect one. */
RpinnStatus rpinn_particle_ranks_stop(RpinnContext *context, const RpinnParticleRanks *particles);

#endif
