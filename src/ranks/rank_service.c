/* The thread that has the network: pieces of messages out and in, signs of life, and who is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "number_text.h"
#include "rank_state.h"
#include "steady_clock.h"

static const double beat_interval = 1, look_interval = 0.25; /* seconds */

/* ---- parcels ---- */

void rpinn_parcel_list_add(RpinnParcelList *list, RpinnRankParcel *parcel) {
  parcel->next = NULL;
  *(list->first ? list->end : &list->first) = parcel;
  list->end = &parcel->next;
}

void rpinn_parcel_free(RpinnRankParcel *parcel) {
  if (parcel) free(parcel->bytes);
  free(parcel);
}

static RpinnRankParcel *make_parcel(size_t rank, RpinnFrameKind kind, RpinnRankTag tag, size_t size) {
  RpinnRankParcel *parcel = calloc(1, sizeof *parcel);
  if (!parcel) return NULL;
  *parcel = (RpinnRankParcel){
      .kind = kind, .tag = tag, .rank = rank, .size = size, .bytes = malloc(size ? size : 1)};
  if (parcel->bytes) return parcel;
  free(parcel);
  return NULL;
}

bool rpinn_rank_post(RpinnRanks *ranks, size_t to, RpinnFrameKind kind, RpinnRankTag tag, const void *bytes,
                     size_t size) {
  RpinnRankParcel *parcel = make_parcel(to, kind, tag, size);
  if (!parcel) return false;
  if (size) memcpy(parcel->bytes, bytes, size);
  rpinn_parcel_list_add(&ranks->outgoing, parcel);
  ranks->bytes_out += size;
  pthread_cond_signal(&ranks->has_work);
  return true;
}

/* ---- what concerns all ---- */

static void tell_others(RpinnRanks *ranks, RpinnFrameKind kind, const void *bytes, size_t size) {
  for (size_t r = 0; r < ranks->size; r++)
    if (r != ranks->rank && !ranks->peers[r].has_left) rpinn_rank_post(ranks, r, kind, 0, bytes, size);
}

void rpinn_rank_fault(RpinnRanks *ranks, const RpinnRankEnd *fault, bool is_gone) {
  ranks->is_gone |= is_gone;
  if (!ranks->has_fault) {
    ranks->fault = *fault;
    ranks->has_fault = ranks->is_stopped = true;
    if (ranks->rank == 0) tell_others(ranks, RPINN_FRAME_FAULT, fault, sizeof *fault);
  }
  pthread_cond_broadcast(&ranks->changed);
}

/* Others tell rank 0, and rank 0 tells all. */
void rpinn_rank_spread_stop(RpinnRanks *ranks) {
  if (ranks->is_stopped) return;
  ranks->is_stopped = true;
  if (ranks->rank == 0)
    tell_others(ranks, RPINN_FRAME_STOP, NULL, 0);
  else
    rpinn_rank_post(ranks, 0, RPINN_FRAME_STOP, 0, NULL, 0);
  pthread_cond_broadcast(&ranks->changed);
}

/* ---- out ---- */

static bool begin_piece(RpinnRanks *ranks, const RpinnRankParcel *parcel, size_t offset) {
  size_t size = parcel->size - offset;
  if (size > RPINN_RANK_PIECE) size = RPINN_RANK_PIECE;
  RpinnFrameHead head = {(int32_t)parcel->kind, (int32_t)parcel->tag, parcel->size, offset};
  RpinnSending *sending = malloc(sizeof *sending);
  unsigned char *bytes = malloc(sizeof head + size);
  if (sending && bytes) {
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, parcel->bytes + offset, size);
    *sending = (RpinnSending){.next = ranks->sendings, .bytes = bytes, .size = size};
    sending->ticket = ranks->link.begin_send(ranks->link.data, parcel->rank, bytes, sizeof head + size);
    if (sending->ticket) {
      ranks->sendings = sending;
      return true;
    }
  }
  free(sending);
  free(bytes);
  return false;
}

/* All pieces of a parcel, in order; the mutex is not held. */
static bool begin_parcel(RpinnRanks *ranks, const RpinnRankParcel *parcel) {
  size_t offset = 0;
  do {
    if (!begin_piece(ranks, parcel, offset)) return false;
    offset += RPINN_RANK_PIECE;
  } while (offset < parcel->size);
  return true;
}

static bool send_all(RpinnRanks *ranks) {
  bool has_sent = false;
  for (;;) {
    pthread_mutex_lock(&ranks->mutex);
    RpinnRankParcel *parcel = ranks->outgoing.first;
    if (parcel) ranks->outgoing.first = parcel->next;
    pthread_mutex_unlock(&ranks->mutex);
    if (!parcel) return has_sent;
    bool begun = begin_parcel(ranks, parcel);
    pthread_mutex_lock(&ranks->mutex);
    ranks->bytes_out -= parcel->size;
    if (!begun) {
      RpinnRankEnd fault = {.code = 1};
      snprintf(fault.message, sizeof fault.message, "rank %zu cannot send to rank %zu: out of memory",
               ranks->rank, parcel->rank);
      rpinn_rank_fault(ranks, &fault, false);
    }
    pthread_cond_broadcast(&ranks->changed);
    pthread_mutex_unlock(&ranks->mutex);
    rpinn_parcel_free(parcel);
    has_sent = true;
  }
}

static void end_sendings(RpinnRanks *ranks) {
  for (RpinnSending **place = &ranks->sendings; *place;) {
    RpinnSending *sending = *place;
    if (!ranks->link.is_sent(ranks->link.data, sending->ticket)) {
      place = &sending->next;
      continue;
    }
    *place = sending->next;
    free(sending->bytes);
    free(sending);
  }
}

/* ---- in ---- */

static void take_hello(RpinnRanks *ranks, const RpinnRankParcel *parcel) {
  if (ranks->rank != 0 || parcel->size != sizeof(RpinnRankPlace)) return;
  memcpy(&ranks->places[parcel->rank], parcel->bytes, sizeof(RpinnRankPlace));
  if (++ranks->num_hellos < ranks->size - 1) return;
  tell_others(ranks, RPINN_FRAME_ROSTER, ranks->places, ranks->size * sizeof *ranks->places);
  ranks->is_ready = true;
}

static void take_roster(RpinnRanks *ranks, const RpinnRankParcel *parcel) {
  if (parcel->size != ranks->size * sizeof *ranks->places) return;
  memcpy(ranks->places, parcel->bytes, parcel->size);
  ranks->is_ready = true;
}

/* Others than rank 0 take their leave only after it, because an end was asked for, or because they cannot go on: that is a failure of all, also
 * while they end, since what such a rank had to save is not where others look for it. */
static void take_farewell(RpinnRanks *ranks, const RpinnRankParcel *parcel) {
  RpinnRankPeer *peer = &ranks->peers[parcel->rank];
  if (parcel->size != sizeof peer->end) return;
  memcpy(&peer->end, parcel->bytes, sizeof peer->end);
  peer->end.message[sizeof peer->end.message - 1] = '\0';
  peer->has_left = true;
  bool was_asked = ranks->is_stopped && peer->end.code == rpinn_status_exit_code(RPINN_ERROR_INTERRUPTED);
  if (parcel->rank == 0 || was_asked || peer->end.code == 0) return;
  RpinnRankEnd fault = {.code = peer->end.code};
  snprintf(fault.message, sizeof fault.message, "rank %zu on %s: %.900s", parcel->rank,
           ranks->places[parcel->rank].node, peer->end.message);
  rpinn_rank_fault(ranks, &fault, false);
}

static void take_fault(RpinnRanks *ranks, const RpinnRankParcel *parcel) {
  RpinnRankEnd fault;
  if (parcel->size != sizeof fault) return;
  memcpy(&fault, parcel->bytes, sizeof fault);
  fault.message[sizeof fault.message - 1] = '\0';
  rpinn_rank_fault(ranks, &fault, false);
}

/* The mutex is held; true: the parcel is kept. */
static bool take(RpinnRanks *ranks, RpinnRankParcel *parcel) {
  pthread_cond_broadcast(&ranks->changed);
  switch (parcel->kind) {
  case RPINN_FRAME_HELLO: take_hello(ranks, parcel); return false;
  case RPINN_FRAME_ROSTER: take_roster(ranks, parcel); return false;
  case RPINN_FRAME_STOP: rpinn_rank_spread_stop(ranks); return false;
  case RPINN_FRAME_FAULT: take_fault(ranks, parcel); return false;
  case RPINN_FRAME_FAREWELL: take_farewell(ranks, parcel); return false;
  case RPINN_FRAME_MESSAGE: rpinn_parcel_list_add(&ranks->incoming, parcel); return true;
  case RPINN_FRAME_BEAT: return false;
  }
  return false;
}

/* A piece into the message that it belongs to; the mutex is held. */
static void take_piece(RpinnRanks *ranks, size_t from, const unsigned char *bytes, size_t size) {
  RpinnRankPeer *peer = &ranks->peers[from];
  RpinnFrameHead head;
  peer->heard = rpinn_steady_seconds();
  if (size < sizeof head) return;
  memcpy(&head, bytes, sizeof head);
  size -= sizeof head;
  if (head.offset == 0) {
    rpinn_parcel_free(peer->partial);
    peer->partial = make_parcel(from, (RpinnFrameKind)head.kind, (RpinnRankTag)head.tag, (size_t)head.size);
  }
  RpinnRankParcel *parcel = peer->partial;
  if (!parcel || head.size != parcel->size || head.offset + size > parcel->size) {
    RpinnRankEnd fault = {.code = 1};
    snprintf(fault.message, sizeof fault.message, "rank %zu cannot take a message of rank %zu: %s",
             ranks->rank, from, parcel ? "it is not whole" : "out of memory");
    rpinn_rank_fault(ranks, &fault, false);
    return;
  }
  if (size) memcpy(parcel->bytes + head.offset, bytes + sizeof head, size);
  if (head.offset + size < parcel->size) return;
  peer->partial = NULL;
  if (!take(ranks, parcel)) rpinn_parcel_free(parcel);
}

static bool receive_all(RpinnRanks *ranks) {
  bool has_received = false;
  size_t from, size;
  while (ranks->link.has_come(ranks->link.data, &from, &size)) {
    unsigned char *bytes = malloc(size ? size : 1);
    if (!bytes) return has_received; /* it stays where it is, for another try */
    ranks->link.receive(ranks->link.data, from, bytes, size);
    pthread_mutex_lock(&ranks->mutex);
    take_piece(ranks, from, bytes, size);
    pthread_mutex_unlock(&ranks->mutex);
    free(bytes);
    has_received = true;
  }
  return has_received;
}

/* ---- signs of life ---- */

static void send_beats(RpinnRanks *ranks) {
  if (ranks->rank == 0)
    tell_others(ranks, RPINN_FRAME_BEAT, NULL, 0);
  else if (!ranks->peers[0].has_left)
    rpinn_rank_post(ranks, 0, RPINN_FRAME_BEAT, 0, NULL, 0);
}

/* Rank 0 watches all others, and these watch rank 0. */
static void look_for_others(RpinnRanks *ranks, double now) {
  size_t end = ranks->rank == 0 ? ranks->size : 1;
  for (size_t r = ranks->rank == 0 ? 1 : 0; r < end && !ranks->is_gone; r++) {
    const RpinnRankPeer *peer = &ranks->peers[r];
    RpinnRankEnd fault = {.code = 1};
    bool has_ended = rpinn_rank_place_is_gone(&ranks->places[ranks->rank], &ranks->places[r]);
    if (peer->has_left || (!has_ended && now - peer->heard < ranks->timeout)) continue;
    if (has_ended)
      snprintf(fault.message, sizeof fault.message, "rank %zu, process %lld on %s, is gone", r,
               (long long)ranks->places[r].process, ranks->places[r].node);
    else
      rpinn_format(fault.message, sizeof fault.message, "rank %zu on %s has given no sign of life for %.0f s",
                   r, ranks->places[r].node, ranks->timeout);
    strncat(fault.message, "; what is finished is saved, and --resume goes on with it",
            sizeof fault.message - strlen(fault.message) - 1);
    rpinn_rank_fault(ranks, &fault, true);
  }
}

static void keep_alive(RpinnRanks *ranks, double *next_beat, double *next_look) {
  double now = rpinn_steady_seconds();
  pthread_mutex_lock(&ranks->mutex);
  if (now >= *next_beat) {
    send_beats(ranks);
    *next_beat = now + beat_interval;
  }
  if (ranks->is_ready && now >= *next_look) {
    look_for_others(ranks, now);
    *next_look = now + look_interval;
  }
  pthread_mutex_unlock(&ranks->mutex);
}

/* ---- the thread ---- */

/* A network cannot wake a thread: it looks often while something happens, and a thousand times a second otherwise. */
static void rest(RpinnRanks *ranks, double last_activity) {
  bool is_busy = rpinn_steady_seconds() - last_activity < 0.005;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += is_busy ? 50000 : 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&ranks->mutex);
  if (!ranks->outgoing.first && !ranks->has_ended)
    pthread_cond_timedwait(&ranks->has_work, &ranks->mutex, &until);
  pthread_mutex_unlock(&ranks->mutex);
}

static bool open_link(RpinnRanks *ranks) {
  bool failed = ranks->opener.open(ranks->opener.user, &ranks->link, ranks->open_message) != 0;
  pthread_mutex_lock(&ranks->mutex);
  ranks->open_failed = failed;
  ranks->rank = ranks->link.rank;
  ranks->size = failed ? 1 : ranks->link.size;
  ranks->places = calloc(ranks->size, sizeof *ranks->places);
  ranks->peers = calloc(ranks->size, sizeof *ranks->peers);
  if (!ranks->places || !ranks->peers) ranks->open_failed = true;
  if (!ranks->open_failed) {
    ranks->places[ranks->rank] = ranks->opener.place ? *ranks->opener.place : rpinn_rank_place_here();
    for (size_t r = 0; r < ranks->size; r++) ranks->peers[r].heard = rpinn_steady_seconds();
    if (ranks->rank > 0)
      rpinn_rank_post(ranks, 0, RPINN_FRAME_HELLO, 0, &ranks->places[ranks->rank], sizeof *ranks->places);
    ranks->is_ready = ranks->size == 1;
  }
  bool is_open = !ranks->open_failed;
  pthread_cond_broadcast(&ranks->changed);
  pthread_mutex_unlock(&ranks->mutex);
  return is_open;
}

static bool is_over(RpinnRanks *ranks) {
  pthread_mutex_lock(&ranks->mutex);
  bool is = ranks->has_ended && !ranks->outgoing.first && (!ranks->sendings || ranks->must_abort);
  pthread_mutex_unlock(&ranks->mutex);
  return is;
}

void *rpinn_rank_service(void *user) {
  RpinnRanks *ranks = user;
  double next_beat = 0, next_look = 0, last_activity = 0;
  if (!open_link(ranks)) return NULL;
  while (!is_over(ranks)) {
    bool is_busy = receive_all(ranks);
    is_busy |= send_all(ranks);
    end_sendings(ranks);
    if (is_busy) last_activity = rpinn_steady_seconds();
    keep_alive(ranks, &next_beat, &next_look);
    rest(ranks, last_activity);
  }
  if (ranks->must_abort)
    ranks->link.abort(ranks->link.data, ranks->fault.code ? ranks->fault.code : 1);
  else
    ranks->link.close(ranks->link.data);
  return NULL;
}
