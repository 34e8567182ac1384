#include "chain_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "askers.h"
#include "chain_draw_statistics.h"
#include "draw_store.h"
#include "nuts_chain.h"
#include "run_targets.h"
#include "steady_clock.h"

enum {
  SLICE = 10, /* iterations of a minimiser between looks at the pool */
  STATE_INTERVAL = 20 /* seconds */,
  MAX_START_ATTEMPTS = 100
};

typedef enum Stage {
  FREE,    /* no chain is in the slot */
  SEEKING, /* the member that its chain starts from */
  STARTING,
  SAMPLING
} Stage;

typedef struct Slot {
  RpinnChainGroup *group;
  size_t number;
  RpinnNuts *nuts;
  RpinnMember *member; /* NULL where chains do not start from members */
  Stage stage;
  bool is_asking; /* the chain waits for an answer, or has one */
  uint64_t chain;
  double saved;     /* when its state was, or it began */
  size_t leapfrogs; /* that the pool knows of */
} Slot;

struct RpinnChainGroup {
  RpinnMemberTarget target; /* whose members have offsets: those that chains start from */
  const RpinnChainGroupOptions *options;
  RpinnTaskPool *pool;
  Slot *slots;        /* [target.num_slots] */
  RpinnAsker *askers; /* likewise */
  double *theta;      /* [num_drawn] */
};

static const RpinnRunTarget *own_target(const RpinnChainGroup *group) {
  return group->target.data;
}

/* ---- events ---- */

static RpinnStatus post(RpinnContext *context, const Slot *slot, RpinnRunEvent *event) {
  if (!event) return rpinn_fail_memory(context);
  event->task = slot->chain;
  event->iterations = rpinn_nuts_num_iterations(slot->nuts);
  rpinn_task_pool_post(slot->group->pool, event);
  return RPINN_OK;
}

static RpinnStatus post_state(RpinnContext *context, const Slot *slot) {
  RpinnRunEvent *event =
      rpinn_run_event_of_state(rpinn_chain_state_key(slot->chain), rpinn_nuts_state_size(slot->nuts));
  if (event) rpinn_nuts_save(slot->nuts, rpinn_run_event_state(event));
  return post(context, slot, event);
}

static RpinnStatus post_draw(RpinnContext *context, const Slot *slot, const RpinnNutsDraw *draw) {
  double statistics[RPINN_NUM_CHAIN_STATISTICS] = {[RPINN_CHAIN_LP] = draw->log_density,
                                                   [RPINN_CHAIN_ACCEPTANCE_RATE] = draw->acceptance_rate,
                                                   [RPINN_CHAIN_STEP_SIZE] = draw->step_size,
                                                   [RPINN_CHAIN_TREE_DEPTH] = draw->tree_depth,
                                                   [RPINN_CHAIN_N_STEPS] = (double)draw->num_steps,
                                                   [RPINN_CHAIN_DIVERGING] = draw->diverging,
                                                   [RPINN_CHAIN_ENERGY] = draw->energy,
                                                   [RPINN_CHAIN_ENERGY_ERROR] = draw->energy_error,
                                                   [RPINN_CHAIN_MAX_ENERGY_ERROR] = draw->max_energy_error,
                                                   [RPINN_CHAIN_REACHED_MAX_DEPTH] = draw->reached_max_depth};
  RpinnStoredMember stored = {.index = rpinn_chain_draw_key(slot->chain, draw->is_warmup, draw->index),
                              .num_parameters = slot->group->options->num_drawn,
                              .parameters = draw->parameters,
                              .num_statistics = RPINN_NUM_CHAIN_STATISTICS,
                              .statistics = statistics,
                              .stop = "draw"};
  RpinnRunEvent *event = rpinn_run_event_of_draw(&stored);
  if (event) event->is_warmup = draw->is_warmup;
  return post(context, slot, event);
}

/* ---- where a chain starts ---- */

/* The log density at group->theta. */
static RpinnStatus weigh(RpinnContext *context, const Slot *slot, double *log_density) {
  RpinnRequest request = {.target = {.density = &own_target(slot->group)->slots->density},
                          .member = slot->number,
                          .question = RPINN_QUESTION_EVALUATE,
                          .theta = slot->group->theta};
  RPINN_TRY(rpinn_request_answer(context, &request));
  *log_density = request.value;
  return RPINN_OK;
}

static RpinnStatus draw_start(RpinnContext *context, const Slot *slot) {
  const RpinnChainGroup *group = slot->group;
  const RpinnMemberTarget *target = &group->target;
  for (uint32_t attempt = 0; attempt < MAX_START_ATTEMPTS; attempt++) {
    double log_density;
    target->take_slot(target->data, slot->number, slot->chain, attempt, false);
    RPINN_TRY(target->draw_start(target->data, slot->number, slot->chain, attempt, group->theta));
    rpinn_run_target_draw_noise(target->data, slot->chain, attempt, group->theta + target->num_parameters);
    RPINN_TRY(weigh(context, slot, &log_density));
    if (isfinite(log_density)) return RPINN_OK;
  }
  return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                    "chain %llu found no start with a finite energy in %d attempts; expected another --start",
                    (unsigned long long)slot->chain, MAX_START_ATTEMPTS);
}

/* The chain is at group->theta, and asks for its density there first. */
static void place(Slot *slot) {
  rpinn_nuts_place(slot->nuts, slot->group->options->seed, slot->chain, slot->group->theta);
  slot->leapfrogs = 0;
  slot->stage = STARTING;
}

/* `start: member`: the minimiser of an energy with offsets of the chain's own, as method rpinn draws it: the chains begin
 * apart from one another, and where the posterior is. */
static RpinnStatus take_member(RpinnContext *context, Slot *slot, const RpinnMemberOutcome *outcome) {
  const RpinnChainGroup *group = slot->group;
  size_t N = group->target.num_parameters;
  if (!outcome->finished && rpinn_task_pool_is_stopped(group->pool)) {
    slot->stage = FREE;
    return RPINN_OK;
  }
  if (!outcome->finished) return rpinn_member_set_out(context, slot->member, SLICE);
  if (outcome->failed)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the member that chain %llu starts from is not finite; expected another --start",
                      (unsigned long long)slot->chain);
  memcpy(group->theta, outcome->theta, N * sizeof(double));
  memcpy(group->theta + N, rpinn_run_target_noise(&group->target, slot->number),
         (group->options->num_drawn - N) * sizeof(double));
  place(slot);
  return RPINN_OK;
}

/* The next chain into the slot; it stays free where there is none. */
static RpinnStatus occupy(RpinnContext *context, Slot *slot) {
  const RpinnChainGroup *group = slot->group;
  if (!rpinn_task_pool_take(group->pool, &slot->chain)) return RPINN_OK;
  size_t size;
  void *state = rpinn_saved_states_take(group->options->saved, slot->chain, &size);
  slot->saved = rpinn_steady_seconds();
  if (state) {
    RpinnStatus status = rpinn_nuts_restore(context, slot->nuts, state, size);
    free(state);
    RPINN_TRY(status);
    slot->leapfrogs = rpinn_nuts_num_leapfrogs(slot->nuts);
    slot->stage = STARTING;
    return RPINN_OK;
  }
  if (slot->member) {
    slot->stage = SEEKING;
    RPINN_TRY(rpinn_member_begin(context, slot->member, slot->chain, NULL, 0));
    return rpinn_member_set_out(context, slot->member, SLICE);
  }
  RPINN_TRY(draw_start(context, slot));
  place(slot);
  return RPINN_OK;
}

/* ---- sampling ---- */

/* An iteration is made: its draw is handed over, and the chain goes on, or is saved. */
static RpinnStatus take_draw(RpinnContext *context, Slot *slot) {
  const RpinnChainGroup *group = slot->group;
  const RpinnNutsDraw *draw = &slot->nuts->draw;
  if (draw->is_kept || (draw->is_warmup && group->options->keep_warmup))
    RPINN_TRY(post_draw(context, slot, draw));
  bool stopped = rpinn_task_pool_is_stopped(group->pool) || rpinn_task_pool_is_late(group->pool);
  double time = rpinn_steady_seconds();
  if (stopped) slot->stage = FREE;
  if (!stopped && time - slot->saved < STATE_INTERVAL) return RPINN_OK;
  slot->saved = time;
  return post_state(context, slot);
}

/* The chain is at rest: started, or with an iteration made. */
static RpinnStatus go_on(RpinnContext *context, Slot *slot) {
  size_t leapfrogs = rpinn_nuts_num_leapfrogs(slot->nuts);
  rpinn_task_pool_count(slot->group->pool, leapfrogs - slot->leapfrogs);
  slot->leapfrogs = leapfrogs;
  if (slot->stage == SAMPLING) RPINN_TRY(take_draw(context, slot));
  if (slot->stage == FREE) return RPINN_OK;
  slot->stage = SAMPLING;
  if (!rpinn_nuts_finished(slot->nuts)) return rpinn_nuts_set_out(context, slot->nuts);
  slot->stage = FREE;
  return post_state(context, slot);
}

static RpinnStatus sample(RpinnContext *context, Slot *slot, RpinnRequest **request) {
  if (slot->is_asking) RPINN_TRY(rpinn_nuts_go_on(context, slot->nuts));
  *request = rpinn_nuts_request(slot->nuts);
  slot->is_asking = *request != NULL;
  return *request ? RPINN_OK : go_on(context, slot);
}

static RpinnStatus seek(RpinnContext *context, Slot *slot, RpinnRequest **request) {
  RpinnMemberOutcome outcome;
  RPINN_TRY(rpinn_member_next(context, slot->member, request, &outcome));
  return *request ? RPINN_OK : take_member(context, slot, &outcome);
}

static RpinnStatus next(RpinnContext *context, void *self, RpinnRequest **request) {
  Slot *slot = self;
  *request = NULL;
  while (!*request) {
    if (slot->stage == FREE) RPINN_TRY(occupy(context, slot));
    if (slot->stage == FREE) return RPINN_OK;
    RPINN_TRY(slot->stage == SEEKING ? seek(context, slot, request) : sample(context, slot, request));
  }
  return RPINN_OK;
}

/* ---- the group ---- */

RpinnStatus rpinn_chain_group_run(RpinnContext *context, RpinnChainGroup *group) {
  return rpinn_askers_run(context, group->target.num_slots, group->askers);
}

void rpinn_chain_group_destroy(RpinnChainGroup *group) {
  if (!group) return;
  for (size_t k = 0; group->slots && k < group->target.num_slots; k++) {
    rpinn_nuts_destroy(group->slots[k].nuts);
    rpinn_member_destroy(group->slots[k].member);
  }
  free(group->slots);
  free(group->askers);
  free(group->theta);
  free(group);
}

static RpinnStatus fill_slots(RpinnContext *context, RpinnChainGroup *group) {
  RpinnMinimizeOptions minimize = group->options->minimize;
  minimize.interrupted = rpinn_task_pool_wants_end;
  minimize.user = group->pool;
  for (size_t k = 0; k < group->target.num_slots; k++) {
    Slot *slot = &group->slots[k];
    *slot = (Slot){.group = group, .number = k};
    group->askers[k] = (RpinnAsker){.self = slot, .next = next};
    RPINN_TRY(rpinn_nuts_create_member(context, &own_target(group)->slots->density, k, &group->options->nuts,
                                       &slot->nuts));
    if (own_target(group)->start == RPINN_START_MEMBER)
      RPINN_TRY(rpinn_member_create(context, &group->target, k, &minimize, group->options->max_retries,
                                    &slot->member));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_chain_group_create(RpinnContext *context, const RpinnMemberTarget *target,
                                     const RpinnChainGroupOptions *options, RpinnTaskPool *pool,
                                     RpinnChainGroup **result) {
  RpinnChainGroup *group = *result = calloc(1, sizeof *group);
  if (!group) return rpinn_fail_memory(context);
  *group = (RpinnChainGroup){.target = *target,
                             .options = options,
                             .pool = pool,
                             .slots = calloc(target->num_slots, sizeof *group->slots),
                             .askers = calloc(target->num_slots, sizeof *group->askers),
                             .theta = calloc(options->num_drawn + 1, sizeof(double))};
  group->target.has_offsets = true;
  RpinnStatus status =
      group->slots && group->askers && group->theta ? fill_slots(context, group) : rpinn_fail_memory(context);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_chain_group_destroy(group);
  *result = NULL;
  return status;
}
