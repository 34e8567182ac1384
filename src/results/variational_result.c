#include "variational_result.h"

#include <math.h>
#include <stdlib.h>

#include "run_record.h"
#include "saved_state.h"
#include "unknown_noise.h"
#include "variational_gaussian.h"

/* ---- room ---- */

RpinnStatus rpinn_run_make_variational_room(RpinnContext *context, RpinnRun *run, size_t rank,
                                            size_t num_starts, size_t num_windows) {
  RpinnVariationalResult *result = &run->variational;
  RpinnArena *arena = rpinn_arena_create();
  rpinn_arena_destroy(result->arena);
  *result = (RpinnVariationalResult){
      .arena = arena, .rank = rank, .num_starts = num_starts, .num_windows = num_windows};
  if (!arena) return rpinn_fail_memory(context);
  result->starts = RPINN_ARENA_NEW(arena, RpinnFittedStart, num_starts);
  result->windows = RPINN_ARENA_NEW(arena, RpinnVariationalWindow, num_windows);
  result->q = RPINN_ARENA_NEW(arena, RpinnVariationalGaussian, 1);
  if (!result->starts || !result->windows || !result->q ||
      !rpinn_variational_gaussian_create(
          arena, rpinn_posterior_num_drawn(run->posteriors[0]), rank,
          rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_FAMILY) == RPINN_FAMILY_PRECISION,
          result->q))
    return rpinn_fail_memory(context);
  return RPINN_OK;
}

/* ---- in the store ---- */

typedef struct Owner {
  uint64_t num_parameters, rank, num_starts, num_windows, chosen;
} Owner;

static const RpinnStateForm form = {"variational fit", 0x72706e6e76666974 /* "rpnnvfit" */, 1, sizeof(Owner)};

static void pass_fields(RpinnStateCursor *cursor, RpinnVariationalResult *result) {
  const RpinnVariationalGaussian *q = result->q;
  rpinn_state_field(cursor, result->starts, result->num_starts * sizeof *result->starts);
  rpinn_state_field(cursor, result->windows, result->num_windows * sizeof *result->windows);
  rpinn_state_numbers(cursor, q->phi, rpinn_variational_gaussian_size(q->N, q->rank));
}

static size_t state_size(RpinnVariationalResult *result) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  pass_fields(&cursor, result);
  return rpinn_state_size(&form, cursor.position);
}

RpinnStatus rpinn_run_pack_variational(RpinnContext *context, RpinnRun *run, void **state, size_t *size) {
  RpinnVariationalResult *result = &run->variational;
  Owner owner = {result->q->N, result->rank, result->num_starts, result->num_windows, result->chosen};
  *size = state_size(result);
  *state = malloc(*size);
  if (!*state) return rpinn_fail_memory(context);
  RpinnStateCursor cursor = rpinn_state_begin(&form, &owner, *state, *size);
  pass_fields(&cursor, result);
  rpinn_state_end(&cursor);
  return RPINN_OK;
}

/* Does a state of this size have room for all that it says to have? Its checksum is looked at behind. */
static bool is_plausible(const Owner *owner, size_t size) {
  uint64_t most = size / sizeof(double);
  return owner->rank < most && owner->num_starts <= most && owner->num_windows <= most &&
         owner->chosen < owner->num_starts && owner->num_parameters * (2 + owner->rank) <= most;
}

static RpinnStatus restore(RpinnContext *context, void *user, const void *state, size_t size) {
  RpinnRun *run = user;
  size_t N = rpinn_posterior_num_drawn(run->posteriors[0]);
  Owner owner;
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, &form, state, size, &owner));
  if (owner.num_parameters != N || !is_plausible(&owner, size))
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                         "the variational fit has %llu parameters; expected %zu",
                         (unsigned long long)owner.num_parameters, N);
  RPINN_TRY(rpinn_run_make_variational_room(context, run, owner.rank, owner.num_starts, owner.num_windows));
  run->variational.chosen = owner.chosen;
  RPINN_TRY(rpinn_state_open(context, &form, state, size, state_size(&run->variational), &cursor));
  pass_fields(&cursor, &run->variational);
  if (rpinn_variational_gaussian_settle(run->variational.q)) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder}, "the variational fit is not finite");
}

RpinnStatus rpinn_run_load_variational(RpinnContext *context, RpinnRun *run) {
  bool found;
  if (run->variational.arena) return RPINN_OK;
  RPINN_TRY(
      rpinn_draw_store_restore(context, run->store, rpinn_variational_state_key(), restore, run, &found));
  if (found) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                       "this run has lost the distribution that it has fitted");
}

/* ---- constants ---- */

/* Noise that is not known is a part of E, rows of its terms bring sum log s along. */
static bool has_unknown_noise(const RpinnPosterior *posterior, size_t term) {
  for (size_t k = 0; k < posterior->num_noises; k++)
    if (posterior->noises[k].term == term) return true;
  return false;
}

double rpinn_posterior_log_constant(const RpinnPosterior *posterior) {
  const RpinnEnergyModel *model = &posterior->model;
  size_t count = model->num_rows + model->num_parameters + posterior->num_noises;
  double sum = -0.5 * (double)count * log(2 * acos(-1.0));
  for (size_t t = 0; t < model->num_terms; t++)
    for (size_t i = 0; i < model->terms[t].num_rows && !has_unknown_noise(posterior, t); i++)
      sum -= log(rpinn_posterior_row_sigma(posterior, t, i));
  for (size_t j = 0; j < model->num_parameters; j++) sum += log(model->prior_root[j]);
  for (size_t k = 0; k < posterior->num_noises; k++) sum -= log(posterior->noises[k].prior_std);
  return sum;
}
