#include "laplace_result.h"

#include <stdlib.h>

#include "run_record.h"
#include "saved_state.h"

static const RpinnStateForm form = {"point of linearisation", 0x4c41504c41434531, 1, sizeof(uint64_t)};

static void pass_fields(RpinnStateCursor *cursor, size_t num_parameters, RpinnLaplaceResult *laplace) {
  double *const numbers[] = {&laplace->energy,        &laplace->linear_energy, &laplace->log_evidence,
                             &laplace->leave_one_out, &laplace->num_starts,    &laplace->num_at_minimum};
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) rpinn_state_numbers(cursor, numbers[k], 1);
  rpinn_state_numbers(cursor, laplace->at, num_parameters);
}

static size_t state_size(const RpinnRun *run) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  RpinnLaplaceResult nothing = {0};
  pass_fields(&cursor, run->posteriors[0]->model.num_parameters, &nothing);
  return rpinn_state_size(&form, cursor.position);
}

RpinnStatus rpinn_run_pack_laplace(RpinnContext *context, RpinnRun *run, void **state, size_t *size) {
  uint64_t N = run->posteriors[0]->model.num_parameters;
  *size = state_size(run);
  *state = malloc(*size);
  if (!*state) return rpinn_fail_memory(context);
  RpinnStateCursor cursor = rpinn_state_begin(&form, &N, *state, *size);
  pass_fields(&cursor, N, &run->laplace);
  rpinn_state_end(&cursor);
  return RPINN_OK;
}

static RpinnStatus restore(RpinnContext *context, void *user, const void *state, size_t size) {
  RpinnRun *run = user;
  size_t N = run->posteriors[0]->model.num_parameters;
  uint64_t owner;
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, &form, state, size, &owner));
  if (owner != N)
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                         "the point of linearisation has %llu parameters; expected %zu",
                         (unsigned long long)owner, N);
  RPINN_TRY(rpinn_state_open(context, &form, state, size, state_size(run), &cursor));
  pass_fields(&cursor, N, &run->laplace);
  return RPINN_OK;
}

RpinnStatus rpinn_run_make_laplace_room(RpinnContext *context, RpinnRun *run) {
  run->laplace.at = calloc(run->posteriors[0]->model.num_parameters + 1, sizeof(double));
  return run->laplace.at ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_run_find_laplace(RpinnContext *context, RpinnRun *run, bool *found) {
  return rpinn_draw_store_restore(context, run->store, rpinn_laplace_state_key(), restore, run, found);
}

RpinnStatus rpinn_run_load_laplace(RpinnContext *context, RpinnRun *run) {
  bool found;
  if (run->laplace.at) return RPINN_OK;
  RPINN_TRY(rpinn_run_make_laplace_room(context, run));
  RPINN_TRY(rpinn_run_find_laplace(context, run, &found));
  if (found) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                       "this run has lost the point at which it is linearised");
}
