#include "mock_ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Letter {
  struct Letter *next;
  size_t from, size;
  unsigned char bytes[];
} Letter;

typedef struct Mailbox {
  MockJob *job;
  size_t rank;
  Letter *first, *last;
} Mailbox;

struct MockJob {
  size_t size;
  pthread_mutex_t mutex;
  Mailbox boxes[MOCK_MAX_RANKS];
  atomic_bool is_silent[MOCK_MAX_RANKS], is_aborted;
  RpinnRankPlace places[MOCK_MAX_RANKS];
};

MockJob *mock_job_create(size_t size) {
  MockJob *job = calloc(1, sizeof *job);
  if (!job || size > MOCK_MAX_RANKS) abort();
  job->size = size;
  pthread_mutex_init(&job->mutex, NULL);
  for (size_t r = 0; r < size; r++) {
    job->boxes[r] = (Mailbox){.job = job, .rank = r};
    snprintf(job->places[r].node, sizeof job->places[r].node, "node%zu", r / 2); /* two of each machine … */
    job->places[r].processors[0] = 7; /* … with three processors */
  }
  return job;
}

void mock_job_destroy(MockJob *job) {
  for (size_t r = 0; r < job->size; r++)
    while (job->boxes[r].first) {
      Letter *letter = job->boxes[r].first;
      job->boxes[r].first = letter->next;
      free(letter);
    }
  pthread_mutex_destroy(&job->mutex);
  free(job);
}

void mock_job_silence(MockJob *job, size_t rank) {
  atomic_store(&job->is_silent[rank], true);
}

bool mock_job_is_aborted(const MockJob *job) {
  return atomic_load(&job->is_aborted);
}

static void *begin_send(void *data, size_t to, const void *bytes, size_t size) {
  Mailbox *own = data;
  MockJob *job = own->job;
  if (atomic_load(&job->is_silent[own->rank])) return own;
  Letter *letter = malloc(sizeof *letter + size);
  if (!letter) return NULL;
  *letter = (Letter){.from = own->rank, .size = size};
  memcpy(letter->bytes, bytes, size);
  pthread_mutex_lock(&job->mutex);
  Mailbox *box = &job->boxes[to];
  if (box->first)
    box->last->next = letter;
  else
    box->first = letter;
  box->last = letter;
  pthread_mutex_unlock(&job->mutex);
  return own;
}

static bool is_sent(void *data, void *sending) {
  (void)data;
  (void)sending;
  return true;
}

static bool has_come(void *data, size_t *from, size_t *size) {
  Mailbox *own = data;
  pthread_mutex_lock(&own->job->mutex);
  const Letter *letter = own->first;
  if (letter) {
    *from = letter->from;
    *size = letter->size;
  }
  pthread_mutex_unlock(&own->job->mutex);
  return letter != NULL;
}

static void receive(void *data, size_t from, void *bytes, size_t size) {
  Mailbox *own = data;
  (void)from;
  pthread_mutex_lock(&own->job->mutex);
  Letter *letter = own->first;
  own->first = letter->next;
  pthread_mutex_unlock(&own->job->mutex);
  memcpy(bytes, letter->bytes, size);
  free(letter);
}

static void abort_job(void *data, int code) {
  Mailbox *own = data;
  (void)code;
  atomic_store(&own->job->is_aborted, true);
}

static void close_link(void *data) {
  (void)data;
}

static int open_mock(void *user, RpinnRankLink *link, char message[256]) {
  Mailbox *own = user;
  (void)message;
  *link = (RpinnRankLink){.rank = own->rank,
                          .size = own->job->size,
                          .data = own,
                          .begin_send = begin_send,
                          .is_sent = is_sent,
                          .has_come = has_come,
                          .receive = receive,
                          .abort = abort_job,
                          .close = close_link};
  return 0;
}

RpinnRanks *mock_ranks_open(RpinnContext *context, MockJob *job, size_t rank) {
  RpinnRankOpener opener = {.open = open_mock, .user = &job->boxes[rank], .place = &job->places[rank]};
  RpinnRanks *ranks = NULL;
  return rpinn_ranks_open_with(context, &opener, &ranks) == RPINN_OK ? ranks : NULL;
}
