#include "continuation_group.h"

#include <stdlib.h>
#include <string.h>

#include "askers.h"
#include "corrected_statistics.h"
#include "nuts_chain.h"
#include "run_targets.h"
#include "steady_clock.h"
#include "unknown_noise.h"

enum { STATE_INTERVAL = 20 /* seconds */ };

typedef struct Slot {
  RpinnContinuationGroup *group;
  size_t number;
  RpinnNuts *nuts;
  bool is_busy;
  bool is_asking; /* the chain waits for an answer, or has one */
  bool has_begun; /* an iteration, in this slot */
  uint64_t task;
  double saved;    /* when its state was, or it began */
  double seconds;  /* of the slot, that its account knows of */
  double *account; /* [rpinn_account_length] */
} Slot;

struct RpinnContinuationGroup {
  const RpinnMemberTarget *target;
  const RpinnContinuationOptions *options;
  RpinnTaskPool *pool;
  Slot *slots;        /* [target->num_slots] */
  RpinnAsker *askers; /* likewise */
  double *outputs;    /* [outputs->num_values] of one state */
};

/* ---- accounts ---- */

size_t rpinn_account_length(size_t num_watched) {
  return RPINN_NUM_ACCOUNTS + 2 * num_watched;
}

/* A saved chain is its own state, and the account behind it. */
static size_t account_bytes(size_t num_watched) {
  return rpinn_account_length(num_watched) * sizeof(double);
}

RpinnStatus rpinn_continuation_restore(RpinnContext *context, RpinnNuts *nuts, size_t num_watched,
                                       const void *state, size_t size, double *account) {
  size_t own = account_bytes(num_watched);
  if (size < own)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a saved chain has %zu bytes; expected more than %zu", size,
                      own);
  RPINN_TRY(rpinn_nuts_restore(context, nuts, state, size - own));
  memcpy(account, (const unsigned char *)state + (size - own), own);
  return RPINN_OK;
}

/* What the slot has worked since it was asked last. */
static void count_seconds(Slot *slot) {
  double seconds = slot->group->askers[slot->number].seconds;
  slot->account[RPINN_ACCOUNT_SECONDS] += seconds - slot->seconds;
  slot->seconds = seconds;
}

/* ---- events ---- */

static RpinnStatus post(RpinnContext *context, const Slot *slot, RpinnRunEvent *event) {
  if (!event) return rpinn_fail_memory(context);
  event->task = slot->task;
  event->iterations = rpinn_nuts_num_iterations(slot->nuts);
  event->seconds = slot->account[RPINN_ACCOUNT_SECONDS];
  rpinn_task_pool_post(slot->group->pool, event);
  return RPINN_OK;
}

static RpinnStatus post_state(RpinnContext *context, Slot *slot) {
  const RpinnContinuationOptions *options = slot->group->options;
  size_t size = rpinn_nuts_state_size(slot->nuts), own = account_bytes(options->num_watched);
  count_seconds(slot);
  RpinnRunEvent *event = rpinn_run_event_of_state(options->chains[slot->task].key, size + own);
  if (event) {
    unsigned char *state = rpinn_run_event_state(event);
    rpinn_nuts_save(slot->nuts, state);
    memcpy(state + size, slot->account, own);
  }
  return post(context, slot, event);
}

static RpinnStatus post_draw(RpinnContext *context, Slot *slot, bool failed) {
  const RpinnContinuationOptions *options = slot->group->options;
  const RpinnNutsDraw *draw = &slot->nuts->draw;
  count_seconds(slot);
  const double statistics[RPINN_NUM_CORRECTED_STATISTICS] = {
      [RPINN_CORRECTED_LP] = failed ? 0 : draw->log_density,
      [RPINN_CORRECTED_ACCEPTANCE_RATE] =
          failed ? 0 : slot->account[RPINN_ACCOUNT_ACCEPTANCE] / (double)options->nuts.num_draws,
      [RPINN_CORRECTED_N_STEPS] = (double)rpinn_nuts_num_leapfrogs(slot->nuts),
      [RPINN_CORRECTED_DIVERGENCES] = slot->account[RPINN_ACCOUNT_DIVERGENCES],
      [RPINN_CORRECTED_SATURATIONS] = slot->account[RPINN_ACCOUNT_SATURATIONS],
      [RPINN_CORRECTED_ATTEMPTS] = options->chains[slot->task].attempt,
      [RPINN_CORRECTED_SECONDS] = slot->account[RPINN_ACCOUNT_SECONDS]};
  RpinnStoredMember stored = {.index = options->chains[slot->task].key,
                              .failed = failed,
                              .num_parameters = failed ? 0 : options->num_drawn,
                              .parameters = draw->parameters,
                              .num_statistics = RPINN_NUM_CORRECTED_STATISTICS,
                              .statistics = statistics,
                              .stop = failed ? "not_finite" : "draw"};
  return post(context, slot, rpinn_run_event_of_draw(&stored));
}

/* ---- what is watched ---- */

static void watch_number(Slot *slot, size_t k, double value) {
  size_t num_watched = slot->group->options->num_watched;
  double *mean = slot->account + RPINN_NUM_ACCOUNTS + k, *squares = mean + num_watched, step = value - *mean;
  *mean += step / slot->account[RPINN_ACCOUNT_WATCHED];
  *squares += step * (value - *mean);
}

static RpinnStatus watch(RpinnContext *context, Slot *slot) {
  const RpinnContinuationGroup *group = slot->group;
  const RpinnContinuationOptions *options = group->options;
  const RpinnNutsDraw *draw = &slot->nuts->draw;
  size_t iterations = rpinn_nuts_num_iterations(slot->nuts);
  RpinnPosterior *posterior = ((const RpinnRunTarget *)group->target->data)->slots->posterior;
  if (!options->num_watched || iterations <= options->watched_from) return RPINN_OK;
  if (iterations == options->watched_from + 1)
    memset(slot->account + RPINN_ACCOUNT_WATCHED, 0, (1 + 2 * options->num_watched) * sizeof *slot->account);
  slot->account[RPINN_ACCOUNT_WATCHED] += 1;
  rpinn_posterior_set_noise(posterior, draw->parameters + group->target->num_parameters);
  RPINN_TRY(
      rpinn_draw_outputs_evaluate(context, options->outputs, posterior, draw->parameters, group->outputs));
  watch_number(slot, 0, draw->log_density);
  for (size_t k = 1; k < options->num_watched; k++)
    watch_number(slot, k, group->outputs[options->watched[k]]);
  return RPINN_OK;
}

/* ---- a slot ---- */

/* The next chain into the slot; it stays free where there is none. */
static RpinnStatus occupy(RpinnContext *context, Slot *slot) {
  const RpinnContinuationGroup *group = slot->group;
  const RpinnContinuationOptions *options = group->options;
  RpinnMemberSlots *slots = ((const RpinnRunTarget *)group->target->data)->slots;
  if (!rpinn_task_pool_take(group->pool, &slot->task)) return RPINN_OK;
  const RpinnContinuedChain *chain = &options->chains[slot->task];
  rpinn_member_slot_clear(slots, slot->number);
  rpinn_member_slot_take_scale(slots, slot->number, chain->scale);
  slot->is_busy = true;
  slot->has_begun = false;
  slot->saved = rpinn_steady_seconds();
  slot->seconds = group->askers[slot->number].seconds;
  if (chain->state)
    return rpinn_continuation_restore(context, slot->nuts, options->num_watched, chain->state,
                                      chain->state_size, slot->account);
  memset(slot->account, 0, account_bytes(options->num_watched));
  rpinn_nuts_place(slot->nuts, options->seed, chain->stream, chain->start);
  return RPINN_OK;
}

static RpinnStatus take_iteration(RpinnContext *context, Slot *slot) {
  const RpinnNutsDraw *draw = &slot->nuts->draw;
  slot->account[RPINN_ACCOUNT_ACCEPTANCE] += draw->acceptance_rate;
  slot->account[RPINN_ACCOUNT_DIVERGENCES] += draw->diverging;
  slot->account[RPINN_ACCOUNT_SATURATIONS] += draw->reached_max_depth;
  rpinn_task_pool_count(slot->group->pool, 1);
  return watch(context, slot);
}

/* The chain is at rest: started, or with an iteration made. It goes on, is saved, or is at its end. */
static RpinnStatus go_on(RpinnContext *context, Slot *slot) {
  RpinnTaskPool *pool = slot->group->pool;
  bool ends_in_draw = slot->group->options->ends_in_draw;
  if (slot->has_begun) RPINN_TRY(take_iteration(context, slot));
  if (rpinn_nuts_finished(slot->nuts)) {
    slot->is_busy = false;
    return ends_in_draw ? post_draw(context, slot, false) : post_state(context, slot);
  }
  double time = rpinn_steady_seconds();
  bool stopped = rpinn_task_pool_is_stopped(pool) || (!ends_in_draw && rpinn_task_pool_is_late(pool));
  if (stopped || time - slot->saved >= STATE_INTERVAL) {
    RPINN_TRY(post_state(context, slot));
    slot->saved = time;
  }
  slot->is_busy = !stopped;
  slot->has_begun = true;
  return stopped ? RPINN_OK : rpinn_nuts_set_out(context, slot->nuts);
}

/* A point whose density is not finite cannot be continued: the member is recorded as failed. */
static RpinnStatus take_answer(RpinnContext *context, Slot *slot) {
  bool is_start = !slot->has_begun;
  RpinnStatus status = rpinn_nuts_go_on(context, slot->nuts);
  if (status != RPINN_ERROR_NUMERIC || !is_start || !slot->group->options->ends_in_draw) return status;
  rpinn_context_clear_error(context);
  slot->is_busy = slot->is_asking = false;
  return post_draw(context, slot, true);
}

static RpinnStatus next(RpinnContext *context, void *self, RpinnRequest **request) {
  Slot *slot = self;
  *request = NULL;
  while (!*request) {
    if (slot->is_asking) RPINN_TRY(take_answer(context, slot));
    if (!slot->is_busy) RPINN_TRY(occupy(context, slot));
    if (!slot->is_busy) return RPINN_OK;
    *request = rpinn_nuts_request(slot->nuts);
    slot->is_asking = *request != NULL;
    if (!*request) RPINN_TRY(go_on(context, slot));
  }
  return RPINN_OK;
}

/* ---- the group ---- */

RpinnStatus rpinn_continuation_group_run(RpinnContext *context, RpinnContinuationGroup *group) {
  return rpinn_askers_run(context, group->target->num_slots, group->askers);
}

void rpinn_continuation_group_destroy(RpinnContinuationGroup *group) {
  if (!group) return;
  for (size_t k = 0; group->slots && k < group->target->num_slots; k++) {
    rpinn_nuts_destroy(group->slots[k].nuts);
    free(group->slots[k].account);
  }
  free(group->slots);
  free(group->askers);
  free(group->outputs);
  free(group);
}

static RpinnStatus fill_slots(RpinnContext *context, RpinnContinuationGroup *group) {
  const RpinnRunTarget *own = group->target->data;
  const RpinnContinuationOptions *options = group->options;
  for (size_t k = 0; k < group->target->num_slots; k++) {
    Slot *slot = &group->slots[k];
    *slot = (Slot){.group = group, .number = k, .account = malloc(account_bytes(options->num_watched))};
    group->askers[k] = (RpinnAsker){.self = slot, .next = next};
    if (!slot->account) return rpinn_fail_memory(context);
    RPINN_TRY(rpinn_nuts_create_member(context, &own->slots->density, k, &options->nuts, &slot->nuts));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_continuation_group_create(RpinnContext *context, const RpinnMemberTarget *target,
                                            const RpinnContinuationOptions *options, RpinnTaskPool *pool,
                                            RpinnContinuationGroup **result) {
  RpinnContinuationGroup *group = *result = calloc(1, sizeof *group);
  size_t num_outputs = options->outputs ? options->outputs->num_values : 0;
  if (!group) return rpinn_fail_memory(context);
  *group = (RpinnContinuationGroup){.target = target,
                                    .options = options,
                                    .pool = pool,
                                    .slots = calloc(target->num_slots, sizeof *group->slots),
                                    .askers = calloc(target->num_slots, sizeof *group->askers),
                                    .outputs = malloc((num_outputs + 1) * sizeof(double))};
  RpinnStatus status = group->slots && group->askers && group->outputs ? fill_slots(context, group)
                                                                       : rpinn_fail_memory(context);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_continuation_group_destroy(group);
  *result = NULL;
  return status;
}
