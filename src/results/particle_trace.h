/* The scores of particles along their way, because the published ones are those of a moment on it. */
#ifndef RPINN_RESULTS_PARTICLE_TRACE_H
#define RPINN_RESULTS_PARTICLE_TRACE_H

#include "rpinn/run.h"

/* Columns of the particles' own: where they were before the iteration of the row. */
typedef enum RpinnTraceColumn {
  RPINN_TRACE_ITERATION,
  RPINN_TRACE_LOG_DENSITY, /* mean */
  RPINN_TRACE_BANDWIDTH,
  RPINN_TRACE_NORM,        /* of phi, mean */
  RPINN_TRACE_DISCREPANCY, /* rpinn/stein.h; NaN in rows of earlier versions */
  RPINN_TRACE_OWN          /* so many */
} RpinnTraceColumn;

/* Behind them, for each quantity, rl2, linf, mean std, LPP, LPP of the tables, coverage, where they are after it. */
enum { RPINN_TRACE_SCORES = 6 };

typedef struct RpinnParticleTrace {
  size_t every; /* iterations between rows */
  size_t width, num_rows;
  double *rows; /* [num_rows][width] */
} RpinnParticleTrace;

/* results.particles without a row yet, but with room for all. */
RpinnStatus rpinn_run_make_trace_room(RpinnContext *context, RpinnRun *run);
/* The rows as the state of the particles begins with them: what form they have, their number, all of them. A state of an earlier
 * version, whose rows have no discrepancy, is read as well. *used: where the particles begin. */
size_t rpinn_particle_trace_size(const RpinnParticleTrace *trace);
void rpinn_particle_trace_save(const RpinnParticleTrace *trace, char *state);
RpinnStatus rpinn_particle_trace_restore(RpinnContext *context, RpinnParticleTrace *trace, const char *state,
                                         size_t size, size_t *used);
/* results.particles as the store has them. */
RpinnStatus rpinn_run_load_particle_trace(RpinnContext *context, RpinnRun *run);

#endif
