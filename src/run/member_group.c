#include "member_group.h"

#include <stdlib.h>
#include <string.h>

#include "askers.h"
#include "member_statistics.h"
#include "member_stop.h"
#include "run_targets.h"
#include "steady_clock.h"

enum { SLICE = 100 /* iterations between looks at the pool */, STATE_INTERVAL = 60 /* seconds */ };

typedef struct Slot {
  RpinnMemberGroup *group;
  size_t number;
  RpinnMember *member;
  bool is_busy;
  uint64_t index; /* of the member in it */
  double saved;   /* when its state was, or it began */
  double seconds; /* of the slot, when the member began */
  size_t counted; /* its iterations that the pool knows of */
} Slot;

struct RpinnMemberGroup {
  const RpinnMemberTarget *target;
  const RpinnMemberGroupOptions *options;
  RpinnTaskPool *pool;
  Slot *slots;        /* [options->num_slots] */
  RpinnAsker *askers; /* likewise */
  double *parameters; /* [num_drawn] of one draw … */
  double *statistics; /* … its statistics … */
  double *trace;      /* … and [2 * RPINN_TRACE_CAPACITY] */
};

/* ---- events ---- */

static RpinnStatus post(RpinnContext *context, const Slot *slot, RpinnRunEvent *event) {
  const RpinnMemberGroup *group = slot->group;
  if (!event) return rpinn_fail_memory(context);
  event->task = slot->index;
  event->iterations = slot->counted;
  event->seconds = group->askers[slot->number].seconds - slot->seconds;
  rpinn_task_pool_post(group->pool, event);
  return RPINN_OK;
}

static RpinnStatus post_state(RpinnContext *context, const Slot *slot) {
  RpinnRunEvent *event = rpinn_run_event_of_state(slot->index, rpinn_member_state_size(slot->member));
  if (event) rpinn_member_save(slot->member, rpinn_run_event_state(event));
  return post(context, slot, event);
}

/* theta [N], then the noise eta [K] that it was found with; statistics, then the parts of the loss. */
static RpinnStatus post_finished(RpinnContext *context, const Slot *slot, const RpinnMemberOutcome *outcome) {
  const RpinnMemberGroup *group = slot->group;
  const RpinnMemberTarget *target = group->target;
  size_t N = target->num_parameters, num_noises = group->options->num_drawn - N;
  memcpy(group->parameters, outcome->theta, N * sizeof(double));
  memcpy(group->parameters + N, rpinn_run_target_noise(target, slot->number), num_noises * sizeof(double));
  const double statistics[RPINN_NUM_MEMBER_STATISTICS] = {
      [RPINN_MEMBER_LOSS] = outcome->loss,
      [RPINN_MEMBER_GRADIENT_NORM] = outcome->gradient_norm,
      [RPINN_MEMBER_ITERATIONS] = (double)outcome->iterations,
      [RPINN_MEMBER_EVALUATIONS] = (double)outcome->evaluations,
      [RPINN_MEMBER_CONVERGED] = outcome->converged,
      [RPINN_MEMBER_ATTEMPTS] = outcome->attempts,
      [RPINN_MEMBER_SECONDS] = group->askers[slot->number].seconds - slot->seconds};
  memcpy(group->statistics, statistics, sizeof statistics);
  memcpy(group->statistics + RPINN_NUM_MEMBER_STATISTICS, outcome->parts,
         target->objective->num_parts * sizeof(double));
  for (size_t k = 0; k < outcome->num_trace; k++) {
    group->trace[2 * k] = (double)outcome->trace[k].iteration;
    group->trace[2 * k + 1] = outcome->trace[k].loss;
  }
  RpinnStoredMember member = {
      .index = slot->index,
      .failed = outcome->failed,
      .num_parameters = outcome->failed ? 0 : group->options->num_drawn,
      .parameters = group->parameters,
      .num_statistics = RPINN_NUM_MEMBER_STATISTICS + target->objective->num_parts,
      .statistics = group->statistics,
      .num_trace = outcome->num_trace,
      .trace = group->trace,
      .stop = rpinn_member_stop_word((RpinnMemberStop){outcome->stop, outcome->in_double})};
  return post(context, slot, rpinn_run_event_of_draw(&member));
}

/* ---- a slot ---- */

/* The next member into the slot; it stays free where there is none. */
static RpinnStatus occupy(RpinnContext *context, Slot *slot) {
  const RpinnMemberGroup *group = slot->group;
  if (!rpinn_task_pool_take(group->pool, &slot->index)) return RPINN_OK;
  size_t size = 0;
  void *state = rpinn_saved_states_take(group->options->saved, slot->index, &size);
  RpinnStatus status = rpinn_member_begin(context, slot->member, slot->index, state, size);
  free(state);
  RPINN_TRY(status);
  slot->is_busy = true;
  slot->counted = rpinn_member_num_iterations(slot->member);
  slot->saved = rpinn_steady_seconds();
  slot->seconds = group->askers[slot->number].seconds;
  return rpinn_member_set_out(context, slot->member, SLICE);
}

/* The member in the slot is at an end, or at a pause: it is handed over, saved, or goes on. */
static RpinnStatus look(RpinnContext *context, Slot *slot, const RpinnMemberOutcome *outcome) {
  RpinnTaskPool *pool = slot->group->pool;
  bool stopped = rpinn_task_pool_is_stopped(pool);
  double time = rpinn_steady_seconds();
  if (outcome->iterations > slot->counted) rpinn_task_pool_count(pool, outcome->iterations - slot->counted);
  slot->counted = outcome->iterations; /* a retry counts from zero again */
  if (outcome->finished) {
    slot->is_busy = false;
    return post_finished(context, slot, outcome);
  }
  if ((stopped || time - slot->saved >= STATE_INTERVAL) && rpinn_member_can_be_saved(slot->member)) {
    RPINN_TRY(post_state(context, slot));
    slot->saved = time;
  }
  slot->is_busy = !stopped;
  return stopped ? RPINN_OK : rpinn_member_set_out(context, slot->member, SLICE);
}

static RpinnStatus next(RpinnContext *context, void *self, RpinnRequest **request) {
  Slot *slot = self;
  RpinnMemberOutcome outcome;
  *request = NULL;
  while (!*request) {
    if (!slot->is_busy) RPINN_TRY(occupy(context, slot));
    if (!slot->is_busy) return RPINN_OK;
    RPINN_TRY(rpinn_member_next(context, slot->member, request, &outcome));
    if (!*request) RPINN_TRY(look(context, slot, &outcome));
  }
  return RPINN_OK;
}

/* ---- the group ---- */

RpinnStatus rpinn_member_group_run(RpinnContext *context, RpinnMemberGroup *group) {
  return rpinn_askers_run(context, group->options->num_slots, group->askers);
}

void rpinn_member_group_destroy(RpinnMemberGroup *group) {
  if (!group) return;
  for (size_t k = 0; group->slots && k < group->options->num_slots; k++)
    rpinn_member_destroy(group->slots[k].member);
  free(group->slots);
  free(group->askers);
  free(group->parameters);
  free(group->statistics);
  free(group->trace);
  free(group);
}

static RpinnStatus fill_slots(RpinnContext *context, RpinnMemberGroup *group) {
  RpinnMinimizeOptions minimize = group->options->minimize;
  minimize.interrupted = rpinn_task_pool_wants_end;
  minimize.user = group->pool;
  for (size_t k = 0; k < group->options->num_slots; k++) {
    group->slots[k] = (Slot){.group = group, .number = k};
    group->askers[k] = (RpinnAsker){.self = &group->slots[k], .next = next};
    RPINN_TRY(rpinn_member_create(context, group->target, k, &minimize, group->options->max_retries,
                                  &group->slots[k].member));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_member_group_create(RpinnContext *context, const RpinnMemberTarget *target,
                                      const RpinnMemberGroupOptions *options, RpinnTaskPool *pool,
                                      RpinnMemberGroup **result) {
  RpinnMemberGroup *group = *result = calloc(1, sizeof *group);
  if (!group) return rpinn_fail_memory(context);
  *group = (RpinnMemberGroup){
      .target = target,
      .options = options,
      .pool = pool,
      .slots = calloc(options->num_slots, sizeof *group->slots),
      .askers = calloc(options->num_slots, sizeof *group->askers),
      .parameters = calloc(options->num_drawn + 1, sizeof(double)),
      .statistics = calloc(RPINN_NUM_MEMBER_STATISTICS + target->objective->num_parts, sizeof(double)),
      .trace = calloc(2 * RPINN_TRACE_CAPACITY, sizeof(double))};
  RpinnStatus status = group->slots && group->askers && group->parameters && group->statistics && group->trace
                           ? fill_slots(context, group)
                           : rpinn_fail_memory(context);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_member_group_destroy(group);
  *result = NULL;
  return status;
}
