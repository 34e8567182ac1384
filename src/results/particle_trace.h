/* The scores of particles along their way, because the published ones are those of a moment on it. */
#ifndef RPINN_RESULTS_PARTICLE_TRACE_H
#define RPINN_RESULTS_PARTICLE_TRACE_H

#include "rpinn/run.h"

/* Columns: iteration, mean log density, bandwidth, mean norm of phi; then, for each quantity, rl2, linf, mean std, LPP, LPP of
 * the tables, coverage. */
typedef struct RpinnParticleTrace {
  size_t every; /* iterations between rows */
  size_t width, num_rows;
  double *rows; /* [num_rows][width] */
} RpinnParticleTrace;

enum { RPINN_TRACE_SCORES = 6 };

/* results.particles without a row yet, but with room for all. */
RpinnStatus rpinn_run_make_trace_room(RpinnContext *context, RpinnRun *run);
/* The rows as the state of the particles begins with them: their number, then all of them. *used: where the particles begin. */
RpinnStatus rpinn_particle_trace_restore(RpinnContext *context, RpinnParticleTrace *trace, const char *state,
                                         size_t size, size_t *used);
/* results.particles as the store has them. */
RpinnStatus rpinn_run_load_particle_trace(RpinnContext *context, RpinnRun *run);

#endif
