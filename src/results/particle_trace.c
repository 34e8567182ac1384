#include "particle_trace.h"

#include <stdlib.h>
#include <string.h>

#include "run_record.h"

enum { TRACE_LENGTH = 500 };

RpinnStatus rpinn_run_make_trace_room(RpinnContext *context, RpinnRun *run) {
  RpinnParticleTrace *trace = &run->results.particles;
  size_t num_iterations = (size_t)run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
  trace->width = 4 + RPINN_TRACE_SCORES * run->outputs.num_quantities;
  trace->every = (num_iterations - 1) / TRACE_LENGTH + 1;
  trace->rows = calloc((TRACE_LENGTH + 2) * trace->width, sizeof(double));
  return trace->rows ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_particle_trace_restore(RpinnContext *context, RpinnParticleTrace *trace, const char *state,
                                         size_t size, size_t *used) {
  uint64_t num_rows = UINT64_MAX;
  if (size > sizeof num_rows) memcpy(&num_rows, state, sizeof num_rows);
  if (num_rows > TRACE_LENGTH + 2 || size < sizeof num_rows + num_rows * trace->width * sizeof(double))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved state of the particles is damaged");
  trace->num_rows = num_rows;
  memcpy(trace->rows, state + sizeof num_rows, num_rows * trace->width * sizeof(double));
  *used = sizeof num_rows + num_rows * trace->width * sizeof(double);
  return RPINN_OK;
}

RpinnStatus rpinn_run_load_particle_trace(RpinnContext *context, RpinnRun *run) {
  void *state = NULL;
  size_t size = 0, used;
  RPINN_TRY(rpinn_run_make_trace_room(context, run));
  RPINN_TRY(rpinn_member_store_get_state(context, run->store, rpinn_chain_state_key(0), &state, &size));
  RpinnStatus status =
      state ? rpinn_particle_trace_restore(context, &run->results.particles, state, size, &used) : RPINN_OK;
  free(state);
  return status;
}
