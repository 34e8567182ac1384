/* What is known, what is to be made, and what may be delivered. */
#include "many_runs.h"

#include <math.h>
#include <stdlib.h>

#include "many_state.h"
#include "ranks.h"
#include "steady_clock.h"
#include "task_shard.h"

bool rpinn_many_is_interrupted(RpinnManyState *state) {
  const RpinnManyOptions *options = state->options;
  state->interrupted = state->interrupted || (options->interrupted && options->interrupted(options->user)) ||
                       rpinn_is_interrupted(state->context);
  return state->interrupted;
}

void rpinn_many_begin(const RpinnManyState *state, size_t task) {
  char name[RPINN_TASK_NAME_SIZE];
  state->runs->name(state->runs->user, task, name);
  if (state->options->begins) state->options->begins(state->options->user, name);
}

/* ---- in order ---- */

static RpinnStatus deliver(RpinnManyState *state, size_t task) {
  const RpinnManyRuns *runs = state->runs;
  double each = (rpinn_steady_seconds() - state->started) / (double)state->num_made;
  RpinnManyProgress progress = {.done = ++state->num_delivered,
                                .total = runs->num_tasks,
                                .is_new = state->tasks[task] == RPINN_TASK_MADE,
                                .seconds_left =
                                    state->num_made ? each * (double)state->num_to_make : (double)NAN};
  RpinnStatus status =
      runs->deliver(runs->user, state->context, task, rpinn_task_yield(runs, task), &progress);
  if (status != RPINN_OK) rpinn_task_blame(runs, task, state->context);
  return status;
}

static RpinnStatus deliver_all(RpinnManyState *state) {
  if (rpinn_many_shard(state->options).count) return RPINN_OK;
  for (; state->next < state->runs->num_tasks && state->tasks[state->next] != RPINN_TASK_TO_MAKE;
       state->next++)
    if (state->tasks[state->next] != RPINN_TASK_FAILED) RPINN_TRY(deliver(state, state->next));
  return RPINN_OK;
}

RpinnStatus rpinn_many_settle(RpinnManyState *state, const RpinnTaskOutcome *outcome) {
  const RpinnManyRuns *runs = state->runs;
  state->num_ended++;
  if (outcome->is_stopped) return RPINN_OK;
  bool is_made = outcome->error.status == RPINN_OK;
  state->num_to_make--;
  state->num_made += is_made;
  pthread_mutex_lock(&state->mutex);
  state->tasks[outcome->task] = is_made ? RPINN_TASK_MADE : RPINN_TASK_FAILED;
  pthread_mutex_unlock(&state->mutex);
  if (!is_made) {
    state->context->error = outcome->error;
    if (!runs->fail) return outcome->error.status;
    RPINN_TRY(runs->fail(runs->user, state->context, outcome->task));
    rpinn_context_clear_error(state->context);
  }
  return deliver_all(state);
}

/* ---- the whole ---- */

static RpinnStatus recall_all(RpinnManyState *state) {
  const RpinnManyRuns *runs = state->runs;
  for (size_t task = 0; task < runs->num_tasks; task++) {
    bool is_known = false;
    size_t place = runs->place ? runs->place(runs->user, task) : task;
    if (!rpinn_shard_owns(rpinn_many_shard(state->options), place)) {
      state->tasks[task] = RPINN_TASK_ANOTHERS;
      continue;
    }
    RpinnStatus status =
        runs->recall(runs->user, state->context, task, rpinn_task_yield(runs, task), &is_known);
    if (status != RPINN_OK) rpinn_task_blame(runs, task, state->context);
    RPINN_TRY(status);
    state->tasks[task] = is_known ? RPINN_TASK_KNOWN : RPINN_TASK_TO_MAKE;
    state->num_to_make += !is_known;
  }
  return deliver_all(state);
}

static RpinnStatus make_one_by_one(RpinnManyState *state) {
  RpinnRunOptions calls = {.interrupted = state->options->interrupted,
                           .progress = state->options->progress,
                           .user = state->options->user};
  for (size_t task = state->next; task < state->runs->num_tasks; task++) {
    if (state->tasks[task] != RPINN_TASK_TO_MAKE) continue;
    if (rpinn_many_is_interrupted(state)) return RPINN_OK;
    rpinn_many_begin(state, task);
    RpinnTaskOutcome outcome = rpinn_task_make(state->runs, task, state->context, &calls);
    state->interrupted = outcome.is_stopped;
    RPINN_TRY(rpinn_many_settle(state, &outcome));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_many_runs_make(RpinnContext *context, const RpinnManyRuns *runs,
                                 const RpinnManyOptions *options, bool *interrupted) {
  RpinnManyState state = {
      .context = context, .runs = runs, .options = options, .started = rpinn_steady_seconds()};
  size_t num_ranks = options->shard ? rpinn_ranks_size(options->shard->ranks) : 1;
  *interrupted = false;
  if (options->shard && rpinn_task_shard_follows(options->shard)) {
    RpinnStatus followed = rpinn_many_make_for_others(&state);
    *interrupted = state.interrupted;
    return followed;
  }
  RPINN_TRY(rpinn_task_shard_claim(context, options));
  state.tasks = calloc(runs->num_tasks + 1, sizeof *state.tasks);
  if (!state.tasks) return rpinn_fail_memory(context);
  pthread_mutex_init(&state.mutex, NULL);
  RpinnStatus status = recall_all(&state);
  if (status == RPINN_OK) status = rpinn_task_shard_note(&state);
  if (status == RPINN_OK)
    status = num_ranks > 1           ? rpinn_many_make_with_others(&state)
             : options->num_jobs > 1 ? rpinn_many_make_side_by_side(&state)
                                     : make_one_by_one(&state);
  RpinnStatus noted = rpinn_task_shard_note(&state); /* after a failure as well */
  if (status == RPINN_OK) status = noted;
  pthread_mutex_destroy(&state.mutex);
  if (status == RPINN_ERROR_INTERRUPTED) { /* while something was delivered */
    rpinn_context_clear_error(context);
    state.interrupted = true;
    status = RPINN_OK;
  }
  *interrupted = state.interrupted;
  free(state.tasks);
  return status;
}
