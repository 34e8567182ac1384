#include "particle_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run_record.h"

enum { TRACE_LENGTH = 500 };

RpinnStatus rpinn_run_make_trace_room(RpinnContext *context, RpinnRun *run) {
  RpinnParticleTrace *trace = &run->results.particles;
  size_t num_iterations = (size_t)run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
  trace->width = RPINN_TRACE_OWN + RPINN_TRACE_SCORES * run->outputs.num_quantities;
  trace->every = (num_iterations - 1) / TRACE_LENGTH + 1;
  trace->rows = calloc((TRACE_LENGTH + 2) * trace->width, sizeof(double));
  return trace->rows ? RPINN_OK : rpinn_fail_memory(context);
}

/* ---- as the state of the particles has it ---- */

/* Before the number of rows, which no earlier version let grow so large. */
static const uint64_t magic = 0x72706e6e74726332; /* "rpnntrc2" */

size_t rpinn_particle_trace_size(const RpinnParticleTrace *trace) {
  return 2 * sizeof(uint64_t) + trace->num_rows * trace->width * sizeof(double);
}

void rpinn_particle_trace_save(const RpinnParticleTrace *trace, char *state) {
  const uint64_t head[2] = {magic, trace->num_rows};
  memcpy(state, head, sizeof head);
  memcpy(state + sizeof head, trace->rows, trace->num_rows * trace->width * sizeof(double));
}

/* A row of an earlier version has no discrepancy. */
static void restore_row(const RpinnParticleTrace *trace, bool is_old, const char *stored, double *row) {
  enum { BEFORE = RPINN_TRACE_DISCREPANCY };
  if (!is_old) {
    memcpy(row, stored, trace->width * sizeof *row);
    return;
  }
  memcpy(row, stored, BEFORE * sizeof *row);
  row[RPINN_TRACE_DISCREPANCY] = (double)NAN;
  memcpy(row + RPINN_TRACE_OWN, stored + BEFORE * sizeof *row,
         (trace->width - RPINN_TRACE_OWN) * sizeof *row);
}

RpinnStatus rpinn_particle_trace_restore(RpinnContext *context, RpinnParticleTrace *trace, const char *state,
                                         size_t size, size_t *used) {
  uint64_t head[2] = {UINT64_MAX, UINT64_MAX};
  memcpy(head, state, size < sizeof head ? size : sizeof head);
  bool is_old = head[0] != magic;
  uint64_t num_rows = is_old ? head[0] : head[1];
  size_t begin = is_old ? sizeof head[0] : sizeof head, row_size = (trace->width - is_old) * sizeof(double);
  if (size <= begin || num_rows > TRACE_LENGTH + 2 || size - begin < num_rows * row_size)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved state of the particles is damaged");
  trace->num_rows = num_rows;
  for (size_t i = 0; i < num_rows; i++)
    restore_row(trace, is_old, state + begin + i * row_size, trace->rows + i * trace->width);
  *used = begin + num_rows * row_size;
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
