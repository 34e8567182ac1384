/* Tasks of many runs by several ranks, in the one folder of the study: a task is made by one rank from its beginning to its end, and what is taken of it
 * goes to rank 0, which gives out the next one to whoever asks, makes some itself, and delivers all in their order. Nobody goes on before all tasks of
 * a call are done: the same ranks may make others together afterwards. */
#include <stdlib.h>
#include <string.h>

#include "many_state.h"
#include "ranks.h"
#include "task_pool.h"
#include "text.h"

/* From rank 0, to one who asks. */
typedef struct Answer {
  uint64_t task;
  uint64_t is_over;    /* there is none … */
  uint64_t is_stopped; /* … because somebody wants an end */
} Answer;

static size_t threads_of(const RpinnRanks *ranks) {
  return rpinn_ranks_num_processors_of(ranks, rpinn_ranks_rank(ranks));
}

/* Whoever wants an end, all do. */
static bool anybody_wants_end(void *user) {
  RpinnManyState *state = user;
  RpinnRanks *ranks = state->options->shard->ranks;
  if (rpinn_many_is_interrupted(state)) rpinn_ranks_ask_stop(ranks);
  state->interrupted |= rpinn_ranks_is_stopped(ranks);
  return state->interrupted;
}

/* ---- rank 0 ---- */

typedef struct Lead {
  RpinnManyState *state;
  RpinnRanks *ranks;
  uint8_t *given;            /* [num_tasks]; with the mutex of the state */
  size_t num_given;          /* likewise */
  bool *is_waiting;          /* [ranks] has asked, and got no answer */
  RpinnTaskPoolOptions pool; /* its own threads: what they do with news */
} Lead;

static size_t place_of(const RpinnManyRuns *runs, size_t task) {
  return runs->place ? runs->place(runs->user, task) : task;
}

/* Tasks of one place have one folder, in which there is room for one of them at a time. The mutex is held. */
static bool is_place_taken(const Lead *lead, size_t task) {
  const RpinnManyState *state = lead->state;
  size_t place = place_of(state->runs, task);
  for (size_t other = 0; other < state->runs->num_tasks; other++)
    if (lead->given[other] && state->tasks[other] == RPINN_TASK_TO_MAKE &&
        place_of(state->runs, other) == place)
      return true;
  return false;
}

static RpinnTaskOffer find_task(void *user, uint64_t *task) {
  Lead *lead = user;
  RpinnManyState *state = lead->state;
  RpinnTaskOffer offer = RPINN_TASK_NONE;
  pthread_mutex_lock(&state->mutex);
  for (size_t k = 0; k < state->runs->num_tasks && offer != RPINN_TASK_GIVEN; k++) {
    if (lead->given[k] || state->tasks[k] != RPINN_TASK_TO_MAKE) continue;
    offer = RPINN_TASK_LATER;
    if (is_place_taken(lead, k)) continue;
    offer = RPINN_TASK_GIVEN;
    lead->given[k] = 1;
    lead->num_given++;
    *task = k;
  }
  pthread_mutex_unlock(&state->mutex);
  return offer;
}

static RpinnStatus answer(Lead *lead, size_t rank, const Answer *message) {
  lead->is_waiting[rank] = false;
  return rpinn_ranks_send(lead->state->context, lead->ranks, rank, RPINN_TAG_TASKS, message, sizeof *message);
}

/* Those who wait get tasks; where there are none, they go on waiting. */
static RpinnStatus answer_all(Lead *lead) {
  for (size_t r = 1; r < rpinn_ranks_size(lead->ranks); r++) {
    Answer message = {0};
    if (!lead->is_waiting[r] || anybody_wants_end(lead->state)) continue;
    if (find_task(lead, &message.task) != RPINN_TASK_GIVEN) continue;
    rpinn_many_begin(lead->state, (size_t)message.task);
    RPINN_TRY(answer(lead, r, &message));
  }
  return RPINN_OK;
}

/* What came of a task, followed by its yield. */
static RpinnStatus take_outcome(Lead *lead, const RpinnRankMessage *message) {
  const RpinnManyRuns *runs = lead->state->runs;
  size_t yield_size = runs->yields ? runs->yield_size : 0;
  RpinnTaskOutcome outcome;
  if (message->size == sizeof outcome + yield_size) memcpy(&outcome, message->bytes, sizeof outcome);
  if (message->size != sizeof outcome + yield_size || outcome.task >= runs->num_tasks)
    return rpinn_fail(lead->state->context, RPINN_ERROR_IO, "what rank %zu has told of a run is not whole",
                      message->from);
  if (yield_size && !outcome.is_stopped && outcome.error.status == RPINN_OK)
    memcpy(rpinn_task_yield(runs, outcome.task), (const char *)message->bytes + sizeof outcome, yield_size);
  return rpinn_many_settle(lead->state, &outcome);
}

/* All that has come, after so many seconds at most. */
static RpinnStatus listen(Lead *lead, double seconds) {
  for (;; seconds = 0) {
    RpinnRankMessage message;
    RpinnStatus status = RPINN_OK;
    RPINN_TRY(rpinn_ranks_receive(lead->state->context, lead->ranks, RPINN_ANY_RANK, RPINN_TAG_OF_TASKS,
                                  seconds, &message));
    if (!message.bytes) return answer_all(lead);
    if (message.tag == RPINN_TAG_ASK)
      lead->is_waiting[message.from] = true;
    else
      status = take_outcome(lead, &message);
    free(message.bytes);
    RPINN_TRY(status);
  }
}

static RpinnStatus serve(void *user) {
  return listen(user, 0);
}

static bool tick(void *user, uint64_t counted) {
  const Lead *lead = user;
  (void)counted;
  return anybody_wants_end(lead->state);
}

/* Its own threads are told apart from the rest by what they post. */
static RpinnStatus open_job(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                            void **worker) {
  const Lead *lead = user;
  return lead->pool.open_worker(lead->state, context, pool, thread, worker);
}

static RpinnStatus handle(void *user, const void *event) {
  const Lead *lead = user;
  return lead->pool.handle(lead->state, event);
}

static RpinnStatus make_own(Lead *lead) {
  RpinnTaskPoolOptions pool = lead->pool;
  RpinnTaskPoolResult result;
  pool.num_threads = 1;
  pool.user = lead;
  pool.offer = find_task;
  pool.serve = serve;
  pool.open_worker = open_job;
  pool.handle = handle;
  pool.tick = tick;
  return rpinn_task_pool_run(lead->state->context, &pool, &result);
}

static bool all_have_ended(const Lead *lead) {
  if (lead->state->num_ended < lead->num_given) return false;
  for (size_t r = 1; r < rpinn_ranks_size(lead->ranks); r++)
    if (!lead->is_waiting[r] && !rpinn_ranks_has_left(lead->ranks, r)) return false;
  return true;
}

/* Until everybody waits for a task, of which there are none. */
static RpinnStatus end_all(Lead *lead) {
  while (!all_have_ended(lead)) {
    tick(lead, 0);
    RPINN_TRY(listen(lead, 0.05));
  }
  const Answer over = {.is_over = 1, .is_stopped = anybody_wants_end(lead->state)};
  for (size_t r = 1; r < rpinn_ranks_size(lead->ranks); r++)
    if (lead->is_waiting[r]) RPINN_TRY(answer(lead, r, &over));
  return RPINN_OK;
}

RpinnStatus rpinn_many_make_with_others(RpinnManyState *state) {
  RpinnRanks *ranks = state->options->shard->ranks;
  state->threads_each = threads_of(ranks);
  Lead lead = {.state = state,
               .ranks = ranks,
               .given = calloc(state->runs->num_tasks + 1, 1),
               .is_waiting = calloc(rpinn_ranks_size(ranks), sizeof *lead.is_waiting),
               .pool = rpinn_many_pool(state)};
  RpinnStatus status = lead.given && lead.is_waiting ? make_own(&lead) : rpinn_fail_memory(state->context);
  if (status == RPINN_OK) status = end_all(&lead);
  free(lead.given);
  free(lead.is_waiting);
  return status;
}

/* ---- another rank ---- */

/* However long it takes. Rank 0 that has ended is an end. */
static RpinnStatus ask(RpinnManyState *state, Answer *message) {
  RpinnRanks *ranks = state->options->shard->ranks;
  *message = (Answer){.is_over = 1, .is_stopped = 1};
  RPINN_TRY(rpinn_ranks_send(state->context, ranks, 0, RPINN_TAG_ASK, NULL, 0));
  for (bool has_left = false;;) {
    RpinnRankMessage found;
    RPINN_TRY(rpinn_ranks_receive(state->context, ranks, 0, RPINN_TAG_TASKS, 0.1, &found));
    if (found.bytes) {
      if (found.size == sizeof *message) memcpy(message, found.bytes, sizeof *message);
      free(found.bytes);
      return RPINN_OK;
    }
    if (has_left) return RPINN_OK;
    has_left = rpinn_ranks_has_left(ranks, 0);
    anybody_wants_end(state);
  }
}

static RpinnStatus tell(const RpinnManyState *state, const RpinnTaskOutcome *outcome) {
  const RpinnManyRuns *runs = state->runs;
  RpinnText text = {0};
  rpinn_text_append_bytes(&text, (const char *)outcome, sizeof *outcome);
  if (runs->yields) rpinn_text_append_bytes(&text, rpinn_task_yield(runs, outcome->task), runs->yield_size);
  RpinnStatus status = text.failed ? rpinn_fail_memory(state->context)
                                   : rpinn_ranks_send(state->context, state->options->shard->ranks, 0,
                                                      RPINN_TAG_NOTES, text.bytes, text.length);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_many_make_for_others(RpinnManyState *state) {
  RpinnRanks *ranks = state->options->shard->ranks;
  RpinnRunOptions calls = {.num_threads = threads_of(ranks), .interrupted = anybody_wants_end, .user = state};
  for (;;) {
    Answer message;
    RPINN_TRY(ask(state, &message));
    if (message.is_over || message.task >= state->runs->num_tasks) {
      state->interrupted = message.is_stopped != 0;
      return RPINN_OK;
    }
    RpinnTaskOutcome outcome = rpinn_task_make(state->runs, (size_t)message.task, state->context, &calls);
    if (rpinn_ranks_has_left(ranks, 0)) continue;
    RPINN_TRY(tell(state, &outcome));
  }
}
