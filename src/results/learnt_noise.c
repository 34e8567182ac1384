#include "learnt_noise.h"

#include <math.h>
#include <stdlib.h>

#include "run_record.h"
#include "saved_state.h"
#include "unknown_noise.h"
#include "verdict.h"

/* ---- in the store ---- */

static const RpinnStateForm form = {"noise", 0x4e4f495345303031, 1, 2 * sizeof(uint64_t)};

static void pass_fields(RpinnStateCursor *cursor, size_t N, RpinnRunNoise *noise) {
  size_t K = noise->posterior.count;
  rpinn_state_numbers(cursor, noise->posterior.mode, K);
  rpinn_state_numbers(cursor, noise->posterior.axes, K * K);
  rpinn_state_numbers(cursor, noise->posterior.departure, K * RPINN_NOISE_NODES);
  rpinn_state_numbers(cursor, &noise->num_starts, 1);
  rpinn_state_numbers(cursor, &noise->num_at_maximum, 1);
  rpinn_state_numbers(cursor, noise->at, N);
}

static size_t state_size(const RpinnRun *run) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  RpinnRunNoise nothing = {.posterior = {.count = run->noise.posterior.count}};
  pass_fields(&cursor, run->posteriors[0]->model.num_parameters, &nothing);
  return rpinn_state_size(&form, cursor.position);
}

RpinnStatus rpinn_run_pack_noise(RpinnContext *context, RpinnRun *run, void **state, size_t *size) {
  uint64_t owner[2] = {run->posteriors[0]->model.num_parameters, run->noise.posterior.count};
  *size = state_size(run);
  *state = malloc(*size);
  if (!*state) return rpinn_fail_memory(context);
  RpinnStateCursor cursor = rpinn_state_begin(&form, owner, *state, *size);
  pass_fields(&cursor, owner[0], &run->noise);
  rpinn_state_end(&cursor);
  return RPINN_OK;
}

static RpinnStatus restore(RpinnContext *context, void *user, const void *state, size_t size) {
  RpinnRun *run = user;
  uint64_t owner[2];
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, &form, state, size, owner));
  if (owner[0] != run->posteriors[0]->model.num_parameters || owner[1] != run->noise.posterior.count)
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                         "what this run learnt of the noise does not belong to its run.yaml");
  RPINN_TRY(rpinn_state_open(context, &form, state, size, state_size(run), &cursor));
  pass_fields(&cursor, owner[0], &run->noise);
  rpinn_noise_posterior_complete(&run->noise.posterior);
  return RPINN_OK;
}

RpinnStatus rpinn_run_make_noise_room(RpinnContext *context, RpinnRun *run) {
  RpinnPosterior *posterior = run->posteriors[0];
  run->noise.at = RPINN_ARENA_NEW(posterior->arena, double, posterior->model.num_parameters);
  if (!run->noise.at) return rpinn_fail_memory(context);
  return rpinn_noise_posterior_make_room(context, posterior->arena, posterior->num_noises,
                                         &run->noise.posterior);
}

RpinnStatus rpinn_run_find_noise(RpinnContext *context, RpinnRun *run, bool *found) {
  return rpinn_draw_store_restore(context, run->store, rpinn_noise_state_key(), restore, run, found);
}

RpinnStatus rpinn_run_load_noise(RpinnContext *context, RpinnRun *run) {
  bool found;
  if (!run->posteriors[0]->num_noises) return RPINN_OK;
  RPINN_TRY(rpinn_run_make_noise_room(context, run));
  RPINN_TRY(rpinn_run_find_noise(context, run, &found));
  rpinn_run_reset_noise(run);
  if (found) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                       "this run has lost what it learnt of the noise");
}

/* ---- for readers ---- */

void rpinn_run_reset_noise(const RpinnRun *run) {
  for (size_t i = 0; run->noise.posterior.count && i < run->num_posteriors; i++)
    rpinn_posterior_set_noise(run->posteriors[i], run->noise.posterior.mode);
}

bool rpinn_run_is_all_noise(const RpinnRun *run, size_t k) {
  const RpinnNoiseLevel *noise = &run->posteriors[0]->noises[k];
  return noise->num_rows > 1 && exp(run->noise.posterior.mode[k]) > RPINN_ALL_NOISE_SHARE * noise->spread;
}

void rpinn_run_noise_json(const RpinnRun *run, RpinnJson *json) {
  const RpinnPosterior *posterior = run->posteriors[0];
  if (!posterior->num_noises) return;
  rpinn_json_open(json, "noise", '{');
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    rpinn_json_open(json, rpinn_posterior_term_name(posterior, noise->term), '{');
    rpinn_json_number(json, "estimate", exp(run->noise.posterior.mode[k]));
    rpinn_json_number(json, "start", noise->start);
    rpinn_json_number(json, "prior_mean", noise->prior_mean);
    rpinn_json_number(json, "prior_std", noise->prior_std);
    rpinn_json_number(json, "spread", noise->spread);
    rpinn_json_number(json, "truth", noise->truth);
    rpinn_json_boolean(json, "all_noise", rpinn_run_is_all_noise(run, k));
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}
