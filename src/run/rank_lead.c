/* Rank 0 of a run: it makes tasks like all others, and between that gives them out, counts what others have made, and hears when somebody wants
 * an end. */
#include <stdlib.h>
#include <string.h>

#include "rank_stores.h"
#include "run_ranks.h"
#include "sharing.h"
#include "steady_clock.h"

static RpinnTaskOffer offer_from_handout(void *user, uint64_t *task) {
  RpinnSharing *sharing = user;
  pthread_mutex_lock(&sharing->mutex);
  if (!sharing->count) {
    sharing->first = 0;
    sharing->count = rpinn_handout_take(&sharing->handout, 0, 1, RPINN_HANDOUT_MOST, sharing->tasks);
  }
  RpinnTaskOffer offer = sharing->count                             ? RPINN_TASK_GIVEN
                         : rpinn_handout_is_over(&sharing->handout) ? RPINN_TASK_NONE
                                                                    : RPINN_TASK_LATER;
  if (sharing->count) {
    *task = sharing->tasks[sharing->first++];
    sharing->count--;
  }
  pthread_mutex_unlock(&sharing->mutex);
  return offer;
}

/* A task, and what is known of it. */
static void append_task(const RpinnSharedTasks *work, uint64_t task, RpinnText *text) {
  RpinnText known = {0};
  size_t size = 0;
  void *state = work->give ? NULL : rpinn_saved_states_take(work->saved, task, &size);
  if (work->give) work->give(work->user, task, &known);
  if (state) rpinn_text_append_bytes(&known, state, size);
  RpinnRankGivenTask given = {task, known.length};
  rpinn_text_append_bytes(text, (const char *)&given, sizeof given);
  if (known.length) rpinn_text_append_bytes(text, known.bytes, known.length);
  text->failed |= known.failed;
  rpinn_text_free(&known);
  free(state);
}

/* Tasks with their states, as one message. */
static RpinnStatus give(RpinnSharing *sharing, size_t rank, size_t count, const uint64_t *tasks,
                        bool is_over) {
  RpinnText text = {0};
  RpinnRankGiving giving = {count, is_over};
  rpinn_text_append_bytes(&text, (const char *)&giving, sizeof giving);
  for (size_t k = 0; k < count; k++) append_task(sharing->work, tasks[k], &text);
  RpinnStatus status = text.failed ? rpinn_fail_memory(sharing->context)
                                   : rpinn_ranks_send(sharing->context, sharing->ranks, rank, RPINN_TAG_TASKS,
                                                      text.bytes, text.length);
  rpinn_text_free(&text);
  return status;
}

/* Whoever waits, and can be told something. Once an end is wanted nobody gets any more. */
static RpinnStatus answer_all(RpinnSharing *sharing) {
  uint64_t tasks[RPINN_HANDOUT_MOST];
  bool is_stopped = rpinn_ranks_is_stopped(sharing->ranks);
  for (size_t r = 1; r < rpinn_ranks_size(sharing->ranks); r++) {
    size_t count = 0;
    if (!sharing->is_waiting[r]) continue;
    pthread_mutex_lock(&sharing->mutex);
    if (!is_stopped)
      count = rpinn_handout_take(&sharing->handout, r, (size_t)sharing->needs[r], RPINN_HANDOUT_MOST, tasks);
    bool is_over = is_stopped || rpinn_handout_is_over(&sharing->handout);
    pthread_mutex_unlock(&sharing->mutex);
    if (!count && !is_over && sharing->needs[r]) continue; /* what is left is kept for others */
    sharing->is_waiting[r] = false;
    RPINN_TRY(give(sharing, r, count, tasks, is_over));
  }
  return RPINN_OK;
}

static RpinnStatus take_notes(RpinnSharing *sharing, const RpinnRankMessage *message) {
  const unsigned char *bytes = message->bytes;
  size_t left = message->size;
  RpinnRankNotes notes;
  if (left < sizeof notes) return RPINN_OK;
  memcpy(&notes, bytes, sizeof notes);
  sharing->counts[message->from] = notes.counted;
  bytes += sizeof notes;
  left -= sizeof notes;
  while (left >= sizeof(RpinnRunEvent)) {
    uint64_t size;
    memcpy(&size, bytes, sizeof size);
    RpinnRunEvent *event = size <= left ? malloc((size_t)size) : NULL;
    if (!event) return rpinn_fail_memory(sharing->context);
    memcpy(event, bytes, (size_t)size);
    if (rpinn_run_event_is_whole(event, (size_t)size)) sharing->work->count(sharing->work->user, event);
    free(event);
    bytes += size;
    left -= (size_t)size;
  }
  return RPINN_OK;
}

static RpinnStatus take_message(RpinnSharing *sharing, const RpinnRankMessage *message) {
  RpinnRankAsking asking = {0};
  switch (message->tag) {
  case RPINN_TAG_ASK:
    if (message->size == sizeof asking) memcpy(&asking, message->bytes, sizeof asking);
    sharing->is_waiting[message->from] = true;
    sharing->needs[message->from] = asking.need;
    return RPINN_OK;
  case RPINN_TAG_NOTES: return take_notes(sharing, message);
  case RPINN_TAG_DONE:
    sharing->has_ended[message->from] = true;
    sharing->is_out_of_time |= *(const char *)message->bytes != 0;
    return RPINN_OK;
  default: return RPINN_OK;
  }
}

/* All about tasks that has come, after so many seconds at most: what ranks say that have done theirs is for later. A rank that is gone is no failure here: all others stop, and save what they have. */
static RpinnStatus serve_ranks(RpinnSharing *sharing, double seconds) {
  for (;;) {
    RpinnRankMessage message;
    if (rpinn_ranks_receive(sharing->context, sharing->ranks, RPINN_ANY_RANK, RPINN_TAG_OF_TASKS, seconds,
                            &message) != RPINN_OK) {
      rpinn_context_clear_error(sharing->context);
      return RPINN_OK;
    }
    if (!message.bytes) return answer_all(sharing);
    RpinnStatus status = take_message(sharing, &message);
    free(message.bytes);
    RPINN_TRY(status);
    seconds = 0;
  }
}

static RpinnStatus serve_others(void *user) {
  RpinnSharing *sharing = user;
  RPINN_TRY(rpinn_scratch_deposit_when_due(sharing->context, sharing->scratch));
  return serve_ranks(sharing, 0);
}

static bool tick_first(void *user, uint64_t counted) {
  RpinnSharing *sharing = user;
  sharing->counted = counted;
  for (size_t r = 1; r < rpinn_ranks_size(sharing->ranks); r++) counted += sharing->counts[r];
  if (sharing->work->tick(sharing->work->user, counted)) rpinn_ranks_ask_stop(sharing->ranks);
  return rpinn_ranks_is_stopped(sharing->ranks);
}

/* Those who have left without a word had nothing to save, or have failed. */
static bool others_have_ended(const RpinnSharing *sharing) {
  for (size_t r = 1; r < rpinn_ranks_size(sharing->ranks); r++)
    if (!sharing->has_ended[r] && !rpinn_ranks_has_left(sharing->ranks, r)) return false;
  return true;
}

/* This rank has nothing more to make, and waits for the others. Whether one has failed is asked after whether all have ended: a rank that
 * leaves in between is not taken for one that has saved its draws. */
static RpinnStatus await_others(RpinnSharing *sharing, RpinnTaskPoolResult *result) {
  for (;;) {
    bool is_over = others_have_ended(sharing);
    RPINN_TRY(rpinn_ranks_check(sharing->context, sharing->ranks));
    if (rpinn_steady_seconds() >= sharing->next_tick) {
      sharing->next_tick = rpinn_steady_seconds() + 0.1;
      result->interrupted |= tick_first(sharing, sharing->counted);
    }
    if (is_over) return RPINN_OK;
    RPINN_TRY(serve_ranks(sharing, 0.01));
  }
}

static RpinnStatus lead(RpinnSharing *sharing, RpinnTaskPoolResult *result) {
  RpinnTaskPoolOptions options = rpinn_sharing_pool(sharing);
  RPINN_TRY(sharing->work->announce ? sharing->work->announce(sharing->work->user, sharing->context)
                                    : rpinn_run_tell_learnt(sharing->context, sharing->work->driver));
  options.offer = offer_from_handout;
  options.serve = serve_others;
  options.tick = tick_first;
  RPINN_TRY(rpinn_sharing_make(sharing, &options, result));
  sharing->counted = result->counted;
  RPINN_TRY(rpinn_member_store_flush(sharing->context, sharing->work->driver->run->store));
  RPINN_TRY(await_others(sharing, result));
  for (size_t r = 1; r < rpinn_ranks_size(sharing->ranks); r++) result->counted += sharing->counts[r];
  result->out_of_time |= sharing->is_out_of_time;
  rpinn_driver_log(sharing->work->driver, "all ranks have made their draws");
  return rpinn_rank_stores_collect(sharing->context, sharing->work->driver);
}

RpinnStatus rpinn_sharing_lead(RpinnSharing *sharing, RpinnTaskPoolResult *result) {
  size_t size = rpinn_ranks_size(sharing->ranks);
  size_t *threads = calloc(size, sizeof *threads);
  uint64_t *reserved = calloc(size, sizeof *reserved);
  sharing->is_waiting = calloc(size, sizeof *sharing->is_waiting);
  sharing->needs = calloc(size, sizeof *sharing->needs);
  sharing->has_ended = calloc(size, sizeof *sharing->has_ended);
  sharing->counts = calloc(size, sizeof *sharing->counts);
  RpinnStatus status =
      threads && reserved && sharing->is_waiting && sharing->needs && sharing->has_ended && sharing->counts
          ? RPINN_OK
          : rpinn_fail_memory(sharing->context);
  if (status == RPINN_OK) {
    for (size_t r = 0; r < size; r++)
      threads[r] = sharing->work->num_slots * rpinn_driver_rank_threads(sharing->work->driver, r);
    sharing->handout = (RpinnHandout){.num_tasks = sharing->work->num_tasks,
                                      .done = sharing->work->done,
                                      .num_ranks = size,
                                      .threads = threads,
                                      .reserved = reserved};
    rpinn_handout_begin(&sharing->handout);
    status = lead(sharing, result);
  }
  free(threads);
  free(reserved);
  free(sharing->is_waiting);
  free(sharing->needs);
  free(sharing->has_ended);
  free(sharing->counts);
  return status;
}
