#include "member_pool.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUE_SIZE = 64, SLICE = 100 };

typedef struct Pool {
  const RpinnPoolOptions *options;
  pthread_mutex_t mutex;
  pthread_cond_t not_empty, not_full;
  RpinnPoolEvent *queue[QUEUE_SIZE];
  size_t first, count; /* of the queue */
  size_t num_running;  /* threads */
  uint64_t next;       /* member to look at */
  bool out_of_time;
  RpinnError error; /* of the first thread that failed */
  atomic_bool stop;
  atomic_uint_fast64_t iterations; /* of all members */
  double started;
} Pool;

typedef struct Worker {
  Pool *pool;
  const RpinnMemberTarget *target;
  pthread_t thread;
} Worker;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- events ---- */

static void free_event(RpinnPoolEvent *event) {
  if (!event) return;
  free(event->state);
  free((void *)event->outcome.theta);
  free((void *)event->outcome.parts);
  free((void *)event->outcome.trace);
  free(event);
}

static void *copy_bytes(const void *from, size_t size) {
  void *copy = malloc(size + 1);
  if (copy && size) memcpy(copy, from, size);
  return copy;
}

static RpinnPoolEvent *make_finished(const RpinnMemberTarget *target, uint64_t index,
                                     const RpinnMemberOutcome *outcome, double seconds) {
  RpinnPoolEvent *event = calloc(1, sizeof *event);
  if (!event) return NULL;
  *event = (RpinnPoolEvent){.index = index, .outcome = *outcome, .seconds = seconds};
  event->outcome.theta = copy_bytes(outcome->theta, target->num_parameters * sizeof(double));
  event->outcome.parts = copy_bytes(outcome->parts, target->num_parts * sizeof(double));
  event->outcome.trace = copy_bytes(outcome->trace, outcome->num_trace * sizeof *outcome->trace);
  if (event->outcome.theta && event->outcome.parts && event->outcome.trace) return event;
  free_event(event);
  return NULL;
}

static RpinnPoolEvent *make_state(const RpinnMember *member, uint64_t index) {
  RpinnPoolEvent *event = calloc(1, sizeof *event);
  if (!event) return NULL;
  *event = (RpinnPoolEvent){.index = index, .is_state = true, .state_size = rpinn_member_state_size(member)};
  event->state = malloc(event->state_size + 1);
  if (!event->state) {
    free_event(event);
    return NULL;
  }
  rpinn_member_save(member, event->state);
  return event;
}

/* Waits while the queue is full, so that memory stays flat however fast members are. */
static void push(Pool *pool, RpinnPoolEvent *event) {
  pthread_mutex_lock(&pool->mutex);
  while (pool->count == QUEUE_SIZE) pthread_cond_wait(&pool->not_full, &pool->mutex);
  pool->queue[(pool->first + pool->count++) % QUEUE_SIZE] = event;
  pthread_cond_signal(&pool->not_empty);
  pthread_mutex_unlock(&pool->mutex);
}

/* ---- a thread ---- */

/* The next member that is not done; false when there is none, or no time to begin one. */
static bool take_member(Pool *pool, uint64_t *index) {
  const RpinnPoolOptions *options = pool->options;
  bool found = false;
  pthread_mutex_lock(&pool->mutex);
  while (pool->next < options->num_members && options->done[pool->next]) pool->next++;
  if (pool->next < options->num_members && now() - pool->started >= options->time_limit)
    pool->out_of_time = true;
  else if (pool->next < options->num_members && !atomic_load(&pool->stop)) {
    *index = pool->next++;
    found = true;
  }
  pthread_mutex_unlock(&pool->mutex);
  return found;
}

static bool pool_is_stopped(void *user) {
  return atomic_load(&((Pool *)user)->stop);
}

static const RpinnPoolResume *find_resume(const RpinnPoolOptions *options, uint64_t index) {
  for (size_t i = 0; i < options->num_resumes; i++)
    if (options->resumes[i].index == index) return &options->resumes[i];
  return NULL;
}

/* One member from begin to end, or until the pool stops. */
static RpinnStatus make_member(RpinnContext *context, Worker *worker, RpinnMember *member, uint64_t index) {
  Pool *pool = worker->pool;
  const RpinnPoolResume *resume = find_resume(pool->options, index);
  double begun = now(), saved = begun;
  size_t counted = 0;
  RpinnMemberOutcome outcome;
  RPINN_TRY(rpinn_member_begin(context, member, index, resume ? resume->state : NULL,
                               resume ? resume->state_size : 0));
  do {
    RPINN_TRY(rpinn_member_advance(context, member, SLICE, &outcome));
    if (outcome.iterations > counted) atomic_fetch_add(&pool->iterations, outcome.iterations - counted);
    counted = outcome.iterations; /* a retry counts from zero again */
    double time = now();
    bool stopped = atomic_load(&pool->stop);
    if (!outcome.finished && (stopped || time - saved >= pool->options->state_interval)) {
      RpinnPoolEvent *event = make_state(member, index);
      if (!event) return rpinn_fail_memory(context);
      push(pool, event);
      saved = time;
    }
    if (!outcome.finished && stopped) return RPINN_OK;
  } while (!outcome.finished);
  RpinnPoolEvent *event = make_finished(worker->target, index, &outcome, now() - begun);
  if (!event) return rpinn_fail_memory(context);
  push(pool, event);
  return RPINN_OK;
}

static void record_failure(Pool *pool, const RpinnContext *context, RpinnStatus status) {
  pthread_mutex_lock(&pool->mutex);
  if (pool->error.status == RPINN_OK) {
    if (context) pool->error = context->error;
    pool->error.status = status;
  }
  atomic_store(&pool->stop, true);
  pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *user) {
  Worker *worker = user;
  Pool *pool = worker->pool;
  RpinnMinimizeOptions minimize = pool->options->minimize;
  minimize.interrupted = pool_is_stopped;
  minimize.user = pool;
  RpinnContext *context = rpinn_context_create();
  RpinnMember *member = NULL;
  RpinnStatus status =
      context ? rpinn_member_create(context, worker->target, &minimize, pool->options->max_retries, &member)
              : RPINN_ERROR_MEMORY;
  uint64_t index;
  while (status == RPINN_OK && take_member(pool, &index))
    status = make_member(context, worker, member, index);
  if (status != RPINN_OK) record_failure(pool, context, status);
  rpinn_member_destroy(member);
  rpinn_context_destroy(context);
  pthread_mutex_lock(&pool->mutex);
  pool->num_running--;
  pthread_cond_signal(&pool->not_empty);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* ---- the caller's side ---- */

/* The next event, or NULL after a tenth of a second or when all threads are done (*over). */
static RpinnPoolEvent *pop(Pool *pool, bool *over) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 100000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  RpinnPoolEvent *event = NULL;
  pthread_mutex_lock(&pool->mutex);
  if (!pool->count && pool->num_running) pthread_cond_timedwait(&pool->not_empty, &pool->mutex, &until);
  if (pool->count) {
    event = pool->queue[pool->first];
    pool->first = (pool->first + 1) % QUEUE_SIZE;
    pool->count--;
    pthread_cond_signal(&pool->not_full);
  }
  *over = !event && !pool->num_running;
  pthread_mutex_unlock(&pool->mutex);
  return event;
}

/* Handle events until all threads are done. After a failure of the handler the rest is only emptied. */
static RpinnStatus drain(Pool *pool, RpinnPoolResult *result) {
  const RpinnPoolOptions *options = pool->options;
  RpinnStatus status = RPINN_OK;
  double next_tick = 0;
  for (bool over = false; !over;) {
    if (now() >= next_tick) {
      next_tick = now() + 0.1;
      result->interrupted |= options->tick(options->user, atomic_load(&pool->iterations));
    }
    if (status != RPINN_OK || result->interrupted) atomic_store(&pool->stop, true);
    RpinnPoolEvent *event = pop(pool, &over);
    if (event && status == RPINN_OK) status = options->handle(options->user, event);
    free_event(event);
  }
  return status;
}

RpinnStatus rpinn_member_pool_run(RpinnContext *context, const RpinnPoolOptions *options,
                                  RpinnPoolResult *result) {
  Pool pool = {.options = options, .started = now()};
  Worker *workers = calloc(options->num_threads, sizeof *workers);
  *result = (RpinnPoolResult){0};
  if (!workers) return rpinn_fail_memory(context);
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.not_empty, NULL);
  pthread_cond_init(&pool.not_full, NULL);
  size_t started = 0;
  for (; started < options->num_threads; started++) {
    workers[started] = (Worker){.pool = &pool, .target = &options->targets[started]};
    pthread_mutex_lock(&pool.mutex);
    pool.num_running++;
    pthread_mutex_unlock(&pool.mutex);
    if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0) continue;
    pthread_mutex_lock(&pool.mutex);
    pool.num_running--;
    pthread_mutex_unlock(&pool.mutex);
    break;
  }
  RpinnStatus status = RPINN_OK;
  if (!started)
    status = rpinn_fail(context, RPINN_ERROR_MEMORY, "no thread could be started");
  else
    status = drain(&pool, result);
  for (size_t i = 0; i < started; i++) pthread_join(workers[i].thread, NULL);
  result->out_of_time = pool.out_of_time;
  if (status == RPINN_OK && pool.error.status != RPINN_OK) {
    context->error = pool.error;
    status = pool.error.status;
  }
  pthread_cond_destroy(&pool.not_full);
  pthread_cond_destroy(&pool.not_empty);
  pthread_mutex_destroy(&pool.mutex);
  free(workers);
  return status;
}
