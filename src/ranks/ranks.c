#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "number_text.h"
#include "rank_plugin.h"
#include "rank_state.h"
#include "steady_clock.h"

enum { MOST_BYTES_OUT = 64 << 20 };

/* ---- open ---- */

static double read_timeout(void) {
  const char *text = getenv("RPINN_RANK_TIMEOUT");
  double seconds;
  return text && rpinn_number_parse(text, &seconds) && seconds > 0 ? seconds : 60;
}

static void free_list(RpinnParcelList *list) {
  while (list->first) {
    RpinnRankParcel *parcel = list->first;
    list->first = parcel->next;
    rpinn_parcel_free(parcel);
  }
}

/* The thread has ended. */
static void destroy(RpinnRanks *ranks) {
  for (size_t r = 0; ranks->peers && r < ranks->size; r++) rpinn_parcel_free(ranks->peers[r].partial);
  free_list(&ranks->incoming);
  free_list(&ranks->outgoing);
  while (ranks->sendings) {
    RpinnSending *sending = ranks->sendings;
    ranks->sendings = sending->next;
    free(sending->bytes);
    free(sending);
  }
  free(ranks->places);
  free(ranks->peers);
  pthread_cond_destroy(&ranks->changed);
  pthread_cond_destroy(&ranks->has_work);
  pthread_mutex_destroy(&ranks->mutex);
  free(ranks);
}

/* Its timed waits go by the steady clock. */
static void steady_cond_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* The mutex is held: wait for a change, so many seconds at most; false: they are over. */
static bool wait_until(RpinnRanks *ranks, double end) {
  double seconds = end - rpinn_steady_seconds();
  struct timespec until;
  if (!(seconds > 0)) return false;
  if (seconds > 1) seconds = 1;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long)(seconds * 1e9);
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&ranks->changed, &ranks->mutex, &until);
  return true;
}

/* Until all ranks have met, or a reason why not. */
static RpinnStatus meet(RpinnContext *context, RpinnRanks *ranks) {
  double end = rpinn_steady_seconds() + 2 * ranks->timeout;
  bool in_time = true;
  pthread_mutex_lock(&ranks->mutex);
  while (!ranks->is_ready && !ranks->open_failed && !ranks->has_fault && in_time)
    in_time = wait_until(ranks, end);
  bool is_ready = ranks->is_ready, failed = ranks->open_failed;
  pthread_mutex_unlock(&ranks->mutex);
  if (failed)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "the ranks of this job cannot meet: %s",
                      ranks->open_message[0] ? ranks->open_message : "out of memory");
  if (!is_ready)
    return rpinn_fail(context, RPINN_ERROR_IO, "the ranks of this job do not meet within %.0f s",
                      2 * ranks->timeout);
  return RPINN_OK;
}

static void end_thread(RpinnRanks *ranks, bool must_abort) {
  pthread_mutex_lock(&ranks->mutex);
  ranks->must_abort = must_abort;
  ranks->has_ended = true;
  pthread_cond_broadcast(&ranks->has_work);
  pthread_mutex_unlock(&ranks->mutex);
  pthread_join(ranks->thread, NULL);
}

RpinnStatus rpinn_ranks_open_with(RpinnContext *context, const RpinnRankOpener *opener, RpinnRanks **result) {
  RpinnRanks *ranks = *result = calloc(1, sizeof *ranks);
  if (!ranks) return rpinn_fail_memory(context);
  ranks->opener = *opener;
  ranks->timeout = read_timeout();
  pthread_mutex_init(&ranks->mutex, NULL);
  steady_cond_init(&ranks->changed);
  steady_cond_init(&ranks->has_work);
  RpinnStatus status = pthread_create(&ranks->thread, NULL, rpinn_rank_service, ranks) == 0
                           ? RPINN_OK
                           : rpinn_fail(context, RPINN_ERROR_MEMORY, "no thread could be started");
  if (status == RPINN_OK) {
    status = meet(context, ranks);
    if (status != RPINN_OK) end_thread(ranks, !ranks->open_failed);
  }
  if (status == RPINN_OK) return RPINN_OK;
  destroy(ranks);
  *result = NULL;
  return status;
}

static int open_plugin(void *user, RpinnRankLink *link, char message[256]) {
  RpinnRankLinkOpen open;
  memcpy(&open, user, sizeof open);
  return open(RPINN_RANK_LINK_VERSION, link, message);
}

static RpinnStatus fail_alone(RpinnContext *context, const RpinnLauncher *launcher, RpinnMpi mpi) {
  return rpinn_fail(
      context, RPINN_ERROR_UNSUPPORTED,
      "%s has started %zu processes, and each of them sees itself alone%s%s: they would make the same run "
      "%zu "
      "times; expected mpirun or mpiexec of the same MPI, srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 "
      "(MPICH), "
      "or shards (docs/clusters.md); RPINN_MPI=openmpi or mpich chooses, none lets each go its own way",
      launcher->name, launcher->launch.size, mpi ? " through the plugin " : "",
      mpi ? rpinn_mpi_name(mpi) : "", launcher->launch.size);
}

/* Where the launcher speaks with both kinds, the one that is there. */
static RpinnMpi choose_installed(const RpinnLauncher *launcher, RpinnMpi mpi) {
  char path[4096];
  RpinnMpi other = mpi == RPINN_MPI_OPENMPI ? RPINN_MPI_MPICH : RPINN_MPI_OPENMPI;
  if (launcher->is_certain || rpinn_rank_plugin_find(mpi, path) || !rpinn_rank_plugin_find(other, path))
    return mpi;
  return other;
}

RpinnStatus rpinn_ranks_open(RpinnContext *context, RpinnRanks **ranks) {
  RpinnLauncher launcher = rpinn_launcher_find();
  RpinnRankLinkOpen open;
  RpinnMpi mpi;
  bool is_chosen;
  *ranks = NULL;
  RPINN_TRY(rpinn_launcher_choose(context, &launcher, &mpi, &is_chosen));
  if (launcher.launch.size == 1 || (is_chosen && mpi == RPINN_MPI_NONE)) return RPINN_OK;
  if (mpi == RPINN_MPI_NONE) return fail_alone(context, &launcher, mpi);
  if (!is_chosen) mpi = choose_installed(&launcher, mpi);
  RPINN_TRY(rpinn_rank_plugin_load(context, mpi, &open));
  RpinnRankOpener opener = {.open = open_plugin, .user = &open};
  RPINN_TRY(rpinn_ranks_open_with(context, &opener, ranks));
  if ((*ranks)->size > 1) return RPINN_OK;
  rpinn_ranks_close(*ranks, 0, NULL, NULL);
  *ranks = NULL;
  return launcher.launch.size > 1 ? fail_alone(context, &launcher, mpi) : RPINN_OK;
}

/* ---- who and where ---- */

size_t rpinn_ranks_rank(const RpinnRanks *ranks) {
  return ranks ? ranks->rank : 0;
}

size_t rpinn_ranks_size(const RpinnRanks *ranks) {
  return ranks ? ranks->size : 1;
}

size_t rpinn_ranks_num_processors_of(const RpinnRanks *ranks, size_t rank) {
  return rpinn_rank_place_share(ranks->size, ranks->places, rank);
}

size_t rpinn_ranks_num_processors_alone(const RpinnRanks *ranks, size_t rank) {
  return rpinn_rank_place_share(1, &ranks->places[rank], 0);
}

const RpinnRankPlace *rpinn_ranks_place(const RpinnRanks *ranks, size_t rank) {
  return &ranks->places[rank];
}

/* ---- ends ---- */

void rpinn_ranks_ask_stop(RpinnRanks *ranks) {
  if (!ranks) return;
  pthread_mutex_lock(&ranks->mutex);
  rpinn_rank_spread_stop(ranks);
  pthread_mutex_unlock(&ranks->mutex);
}

bool rpinn_ranks_is_stopped(RpinnRanks *ranks) {
  if (!ranks) return false;
  pthread_mutex_lock(&ranks->mutex);
  bool is = ranks->is_stopped || ranks->has_fault || ranks->peers[0].has_left;
  pthread_mutex_unlock(&ranks->mutex);
  return is;
}

bool rpinn_ranks_has_left(RpinnRanks *ranks, size_t rank) {
  pthread_mutex_lock(&ranks->mutex);
  bool is = ranks->peers[rank].has_left;
  pthread_mutex_unlock(&ranks->mutex);
  return is;
}

RpinnStatus rpinn_ranks_check(RpinnContext *context, RpinnRanks *ranks) {
  RpinnRankEnd fault;
  if (!ranks) return RPINN_OK;
  pthread_mutex_lock(&ranks->mutex);
  bool has_fault = ranks->has_fault;
  fault = ranks->fault;
  pthread_mutex_unlock(&ranks->mutex);
  if (!has_fault) return RPINN_OK;
  return rpinn_fail(context, fault.code == 2 ? RPINN_ERROR_INPUT : RPINN_ERROR_IO, "%s", fault.message);
}

/* Has everybody whom this rank waits for taken its leave? Rank 0 waits for all, and all others for rank 0. */
static bool others_have_left(const RpinnRanks *ranks) {
  if (ranks->rank > 0) return ranks->peers[0].has_left;
  for (size_t r = 1; r < ranks->size; r++)
    if (!ranks->peers[r].has_left) return false;
  return true;
}

static void say_farewell(RpinnRanks *ranks, int code, const char *message) {
  RpinnRankEnd end = {.code = code};
  snprintf(end.message, sizeof end.message, "%s", message ? message : "");
  for (size_t r = 0; r < ranks->size; r++)
    if (r != ranks->rank && (ranks->rank == 0 || r == 0))
      rpinn_rank_post(ranks, r, RPINN_FRAME_FAREWELL, 0, &end, sizeof end);
}

/* The mutex is held. Those who are there save what they have; whoever is gone is not waited for. */
static bool wait_for_others(RpinnRanks *ranks) {
  double end = ranks->rank == 0 ? rpinn_steady_seconds() + ranks->timeout : 1e300;
  for (bool in_time = true; in_time && !others_have_left(ranks);) {
    if (ranks->is_gone && end > 1e299) end = rpinn_steady_seconds() + 2; /* rank 0 is gone */
    if (ranks->is_gone && ranks->rank == 0 && ranks->timeout > 10)
      end = end < rpinn_steady_seconds() + 10 ? end : rpinn_steady_seconds() + 10;
    in_time = wait_until(ranks, end);
  }
  return others_have_left(ranks);
}

int rpinn_ranks_close(RpinnRanks *ranks, int code, const char *message, char failure[1024]) {
  if (failure) failure[0] = '\0';
  if (!ranks) return code;
  pthread_mutex_lock(&ranks->mutex);
  say_farewell(ranks, code, message);
  bool all = wait_for_others(ranks);
  bool must_abort = !all || ranks->is_gone;
  int result = ranks->rank > 0 && ranks->peers[0].has_left ? ranks->peers[0].end.code : code;
  if (ranks->has_fault && result == 0) {
    result = ranks->fault.code;
    if (failure) snprintf(failure, 1024, "%s", ranks->fault.message);
  }
  if (must_abort) ranks->fault.code = result;
  pthread_mutex_unlock(&ranks->mutex);
  end_thread(ranks, must_abort);
  destroy(ranks);
  return result;
}

/* ---- messages ---- */

RpinnStatus rpinn_ranks_send(RpinnContext *context, RpinnRanks *ranks, size_t to, RpinnRankTag tag,
                             const void *bytes, size_t size) {
  pthread_mutex_lock(&ranks->mutex);
  while (ranks->bytes_out > MOST_BYTES_OUT && !ranks->has_fault)
    wait_until(ranks, rpinn_steady_seconds() + 1);
  bool is_posted = ranks->has_fault || rpinn_rank_post(ranks, to, RPINN_FRAME_MESSAGE, tag, bytes, size);
  pthread_mutex_unlock(&ranks->mutex);
  if (!is_posted) return rpinn_fail_memory(context);
  return rpinn_ranks_check(context, ranks);
}

static bool is_about(RpinnRankTag tag, RpinnRankTag wanted) {
  if (wanted == RPINN_TAG_OF_TASKS)
    return tag == RPINN_TAG_ASK || tag == RPINN_TAG_NOTES || tag == RPINN_TAG_DONE;
  return wanted == RPINN_TAG_ANY || tag == wanted;
}

/* The mutex is held: the first parcel that fits, out of the list. */
static RpinnRankParcel *find(RpinnRanks *ranks, int from, RpinnRankTag tag) {
  RpinnParcelList *list = &ranks->incoming;
  for (RpinnRankParcel **place = &list->first; *place; place = &(*place)->next) {
    RpinnRankParcel *parcel = *place;
    if ((from != RPINN_ANY_RANK && parcel->rank != (size_t)from) || !is_about(parcel->tag, tag)) continue;
    *place = parcel->next;
    if (!parcel->next) list->end = place;
    return parcel;
  }
  return NULL;
}

RpinnStatus rpinn_ranks_receive(RpinnContext *context, RpinnRanks *ranks, int from, RpinnRankTag tag,
                                double seconds, RpinnRankMessage *message) {
  double end = rpinn_steady_seconds() + seconds;
  *message = (RpinnRankMessage){0};
  pthread_mutex_lock(&ranks->mutex);
  RpinnRankParcel *parcel = find(ranks, from, tag);
  while (!parcel && !ranks->has_fault && wait_until(ranks, end)) parcel = find(ranks, from, tag);
  pthread_mutex_unlock(&ranks->mutex);
  if (!parcel) return rpinn_ranks_check(context, ranks);
  *message = (RpinnRankMessage){parcel->rank, parcel->tag, parcel->size, parcel->bytes};
  free(parcel);
  return RPINN_OK;
}

RpinnStatus rpinn_ranks_await(RpinnContext *context, RpinnRanks *ranks, int from, RpinnRankTag tag,
                              RpinnRankMessage *message) {
  do RPINN_TRY(rpinn_ranks_receive(context, ranks, from, tag, 0.1, message));
  while (!message->bytes && !rpinn_ranks_is_stopped(ranks) && !rpinn_is_interrupted(context));
  return RPINN_OK;
}

/* ---- all together ---- */

/* One message from this rank, however long it takes; an end that somebody wants is an end of this, too. */
static RpinnStatus expect(RpinnContext *context, RpinnRanks *ranks, size_t from, RpinnRankTag tag,
                          void *bytes, size_t size) {
  RpinnRankMessage message = {0};
  for (bool has_left = false; !message.bytes;) {
    if (has_left)
      return rpinn_fail(context, RPINN_ERROR_IO, "rank %zu on %s has ended before all others", from,
                        ranks->places[from].node);
    has_left = rpinn_ranks_has_left(ranks, from); /* what it has said before comes yet */
    RPINN_TRY(rpinn_ranks_receive(context, ranks, (int)from, tag, 0.1, &message));
    if (rpinn_is_interrupted(context)) rpinn_ranks_ask_stop(ranks);
    if (!message.bytes && !has_left && rpinn_ranks_is_stopped(ranks)) return rpinn_fail_interrupted(context);
  }
  bool fits = message.size == size;
  if (fits && size) memcpy(bytes, message.bytes, size);
  free(message.bytes);
  return fits ? RPINN_OK
              : rpinn_fail(context, RPINN_ERROR_IO, "rank %zu has sent %zu bytes, and %zu were expected",
                           from, message.size, size);
}

RpinnStatus rpinn_ranks_broadcast(RpinnContext *context, RpinnRanks *ranks, void *bytes, size_t size) {
  if (!ranks) return RPINN_OK;
  if (ranks->rank > 0) return expect(context, ranks, 0, RPINN_TAG_BROADCAST, bytes, size);
  for (size_t r = 1; r < ranks->size; r++)
    RPINN_TRY(rpinn_ranks_send(context, ranks, r, RPINN_TAG_BROADCAST, bytes, size));
  return RPINN_OK;
}

RpinnStatus rpinn_ranks_barrier(RpinnContext *context, RpinnRanks *ranks) {
  if (!ranks) return RPINN_OK;
  if (ranks->rank > 0) {
    RPINN_TRY(rpinn_ranks_send(context, ranks, 0, RPINN_TAG_BARRIER, NULL, 0));
    return expect(context, ranks, 0, RPINN_TAG_BARRIER, NULL, 0);
  }
  for (size_t r = 1; r < ranks->size; r++) RPINN_TRY(expect(context, ranks, r, RPINN_TAG_BARRIER, NULL, 0));
  for (size_t r = 1; r < ranks->size; r++)
    RPINN_TRY(rpinn_ranks_send(context, ranks, r, RPINN_TAG_BARRIER, NULL, 0));
  return RPINN_OK;
}
