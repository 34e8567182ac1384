/* A rank that is not the first: it asks for tasks before its threads have made the last ones, and tells what they made. */
#include <stdlib.h>
#include <string.h>

#include "sharing.h"
#include "steady_clock.h"

static RpinnTaskOffer offer_given(void *user, uint64_t *task) {
  RpinnSharing *sharing = user;
  pthread_mutex_lock(&sharing->mutex);
  RpinnTaskOffer offer = sharing->count     ? RPINN_TASK_GIVEN
                         : sharing->is_over ? RPINN_TASK_NONE
                                            : RPINN_TASK_LATER;
  if (sharing->count) {
    *task = sharing->tasks[sharing->first++ % RPINN_RANK_QUEUE];
    sharing->count--;
  }
  sharing->is_hungry = offer == RPINN_TASK_LATER;
  pthread_mutex_unlock(&sharing->mutex);
  return offer;
}

/* ---- tasks ---- */

/* What is known of a task. */
static RpinnStatus take_known(RpinnSharing *sharing, uint64_t task, const void *bytes, size_t size) {
  const RpinnSharedTasks *work = sharing->work;
  if (work->take) return work->take(work->user, sharing->context, task, bytes, size);
  if (!size) return RPINN_OK;
  void *state = malloc(size);
  if (!state) return rpinn_fail_memory(sharing->context);
  memcpy(state, bytes, size);
  return rpinn_saved_states_put(sharing->context, work->saved, task, state, size);
}

static RpinnStatus take_tasks(RpinnSharing *sharing, const unsigned char *bytes, size_t size) {
  RpinnRankGiving giving;
  RpinnRankGivenTask given;
  RpinnStatus status = RPINN_OK;
  if (size < sizeof giving) return RPINN_OK;
  memcpy(&giving, bytes, sizeof giving);
  const unsigned char *at = bytes + sizeof giving, *end = bytes + size;
  sharing->is_asking = false;
  sharing->may_fetch_ahead = giving.count > 0;
  sharing->last_given = (size_t)giving.count;
  pthread_mutex_lock(&sharing->mutex);
  sharing->is_over = giving.is_over;
  for (uint64_t k = 0; k < giving.count && status == RPINN_OK && (size_t)(end - at) >= sizeof given; k++) {
    memcpy(&given, at, sizeof given);
    at += sizeof given;
    if (given.state_size > (uint64_t)(end - at)) break;
    status = take_known(sharing, given.task, at, (size_t)given.state_size);
    at += given.state_size;
    sharing->tasks[(sharing->first + sharing->count++) % RPINN_RANK_QUEUE] = given.task;
  }
  pthread_mutex_unlock(&sharing->mutex);
  return status;
}

/* Before all are made, while there are many; later on, when a thread has none. */
static RpinnStatus ask(RpinnSharing *sharing) {
  size_t reserve = sharing->last_given / 4;
  if (reserve < sharing->work->num_threads) reserve = sharing->work->num_threads;
  if (reserve > RPINN_HANDOUT_MOST) reserve = RPINN_HANDOUT_MOST;
  pthread_mutex_lock(&sharing->mutex);
  bool is_hungry = sharing->is_hungry && !sharing->count,
       is_low = sharing->may_fetch_ahead && sharing->count < reserve;
  bool wants = !sharing->is_over && (is_hungry || is_low);
  pthread_mutex_unlock(&sharing->mutex);
  if (!wants || sharing->is_asking) return RPINN_OK;
  RpinnRankAsking asking = {is_hungry};
  sharing->is_asking = true;
  return rpinn_ranks_send(sharing->context, sharing->ranks, 0, RPINN_TAG_ASK, &asking, sizeof asking);
}

/* ---- notes ---- */

static RpinnStatus send_notes(RpinnSharing *sharing) {
  RpinnText message = {0};
  RpinnRankNotes notes = {sharing->counted};
  rpinn_text_append_bytes(&message, (const char *)&notes, sizeof notes);
  if (sharing->notes.length) rpinn_text_append_bytes(&message, sharing->notes.bytes, sharing->notes.length);
  RpinnStatus status = message.failed ? rpinn_fail_memory(sharing->context)
                                      : rpinn_ranks_send(sharing->context, sharing->ranks, 0, RPINN_TAG_NOTES,
                                                         message.bytes, message.length);
  rpinn_text_free(&message);
  sharing->notes.length = 0;
  return status;
}

/* A few times a second. */
static RpinnStatus send_notes_when_due(RpinnSharing *sharing) {
  double now = rpinn_steady_seconds();
  if (now < sharing->next_notes) return RPINN_OK;
  sharing->next_notes = now + 0.2;
  return send_notes(sharing);
}

/* ---- the whole ---- */

/* A rank that is gone is no failure here: this one stops, and saves what it has. */
static RpinnStatus serve(void *user) {
  RpinnSharing *sharing = user;
  RpinnStatus status = RPINN_OK;
  RPINN_TRY(rpinn_scratch_deposit_when_due(sharing->context, sharing->scratch));
  for (RpinnRankMessage message = {.size = 1}; status == RPINN_OK && message.size;) {
    if (rpinn_ranks_receive(sharing->context, sharing->ranks, 0, RPINN_TAG_TASKS, 0, &message) != RPINN_OK)
      break;
    if (message.bytes) status = take_tasks(sharing, message.bytes, message.size);
    free(message.bytes);
  }
  if (rpinn_ranks_check(sharing->context, sharing->ranks) == RPINN_OK && status == RPINN_OK)
    status = ask(sharing);
  if (rpinn_ranks_check(sharing->context, sharing->ranks) == RPINN_OK && status == RPINN_OK)
    status = send_notes_when_due(sharing);
  if (rpinn_ranks_check(sharing->context, sharing->ranks) == RPINN_OK) return status;
  rpinn_context_clear_error(sharing->context);
  return RPINN_OK;
}

static bool tick(void *user, uint64_t counted) {
  RpinnSharing *sharing = user;
  const RpinnRunOptions *options = sharing->work->driver->options;
  sharing->counted = counted;
  if (options->interrupted && options->interrupted(options->user)) rpinn_ranks_ask_stop(sharing->ranks);
  return rpinn_ranks_is_stopped(sharing->ranks);
}

RpinnStatus rpinn_sharing_follow(RpinnSharing *sharing, RpinnTaskPoolResult *result) {
  RpinnTaskPoolOptions options = rpinn_sharing_pool(sharing);
  options.offer = offer_given;
  options.serve = serve;
  options.tick = tick;
  sharing->may_fetch_ahead = true;
  RPINN_TRY(rpinn_sharing_make(sharing, &options, result));
  sharing->counted = result->counted;
  if (rpinn_ranks_has_left(sharing->ranks, 0)) return RPINN_OK;
  return send_notes(sharing);
}
