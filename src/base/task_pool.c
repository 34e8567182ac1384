#include "task_pool.h"
#include "steady_clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUE_SIZE = 64 };

/* What a thread hands over: an event of a task, or a line of its log. */
typedef struct News {
  void *event;
  char *line;
  RpinnLogLevel level;
} News;

struct RpinnTaskPool {
  const RpinnTaskPoolOptions *options;
  pthread_mutex_t mutex;
  pthread_cond_t not_empty, not_full;
  pthread_cond_t has_tasks; /* somebody may have tasks to offer */
  News queue[QUEUE_SIZE];
  size_t first, count; /* of the queue */
  size_t num_running;  /* threads */
  uint64_t next;       /* task to look at */
  bool has_begun;      /* with any task */
  RpinnError error;    /* of the first thread that failed */
  atomic_bool stop, out_of_time;
  atomic_uint_fast64_t counted;
  double started;
  size_t num_started;
  struct Worker *workers; /* [num_threads], of which num_started are at work */
};

typedef struct Worker {
  RpinnTaskPool *pool;
  size_t number;
  pthread_t thread;
} Worker;

/* ---- for tasks ---- */

bool rpinn_task_pool_is_stopped(const RpinnTaskPool *pool) {
  return atomic_load(&pool->stop);
}

bool rpinn_task_pool_wants_end(void *pool) {
  return rpinn_task_pool_is_stopped(pool);
}

static bool time_is_up(const RpinnTaskPool *pool) {
  double limit = pool->options->time_limit;
  return limit > 0 && rpinn_steady_seconds() - pool->started >= limit;
}

bool rpinn_task_pool_is_late(RpinnTaskPool *pool) {
  if (!time_is_up(pool)) return false;
  atomic_store(&pool->out_of_time, true);
  return true;
}

void rpinn_task_pool_count(RpinnTaskPool *pool, uint64_t amount) {
  atomic_fetch_add(&pool->counted, amount);
}

static void post(RpinnTaskPool *pool, News news) {
  pthread_mutex_lock(&pool->mutex);
  while (pool->count == QUEUE_SIZE) pthread_cond_wait(&pool->not_full, &pool->mutex);
  pool->queue[(pool->first + pool->count++) % QUEUE_SIZE] = news;
  pthread_cond_signal(&pool->not_empty);
  pthread_mutex_unlock(&pool->mutex);
}

void rpinn_task_pool_post(RpinnTaskPool *pool, void *event) {
  post(pool, (News){.event = event});
}

/* A line for which there is no memory is lost. */
static void post_line(void *pool, RpinnLogLevel level, const char *line) {
  char *own = strdup(line);
  if (own) post(pool, (News){.line = own, .level = level});
}

/* ---- a thread ---- */

/* The next one of the pool's own. */
static RpinnTaskOffer offer_next(RpinnTaskPool *pool, uint64_t *task) {
  const RpinnTaskPoolOptions *options = pool->options;
  while (pool->next < options->num_tasks && options->done && options->done[pool->next]) pool->next++;
  if (pool->next >= options->num_tasks) return RPINN_TASK_NONE;
  if (pool->has_begun && rpinn_task_pool_is_late(pool)) return RPINN_TASK_NONE;
  *task = pool->next++;
  return RPINN_TASK_GIVEN;
}

/* One from elsewhere, as soon as there is one. */
static RpinnTaskOffer await_offer(RpinnTaskPool *pool, uint64_t *task) {
  const RpinnTaskPoolOptions *options = pool->options;
  for (;;) {
    if (atomic_load(&pool->stop) || (pool->has_begun && rpinn_task_pool_is_late(pool)))
      return RPINN_TASK_NONE;
    RpinnTaskOffer offer = options->offer(options->user, task);
    if (offer != RPINN_TASK_LATER) return offer;
    pthread_cond_wait(&pool->has_tasks, &pool->mutex);
  }
}

/* The first is begun however late it is, so that sessions with a short limit come to an end some day. */
bool rpinn_task_pool_take(RpinnTaskPool *pool, uint64_t *task) {
  bool found = false;
  pthread_mutex_lock(&pool->mutex);
  if (!atomic_load(&pool->stop))
    found = (pool->options->offer ? await_offer(pool, task) : offer_next(pool, task)) == RPINN_TASK_GIVEN;
  pool->has_begun |= found;
  pthread_mutex_unlock(&pool->mutex);
  return found;
}

static void record_failure(RpinnTaskPool *pool, const RpinnContext *context, RpinnStatus status) {
  pthread_mutex_lock(&pool->mutex);
  if (pool->error.status == RPINN_OK) {
    if (context) pool->error = context->error;
    pool->error.status = status;
  }
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->has_tasks);
  pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *user) {
  Worker *own = user;
  RpinnTaskPool *pool = own->pool;
  const RpinnTaskPoolOptions *options = pool->options;
  RpinnContext *context = rpinn_context_create();
  void *worker = NULL;
  if (context) rpinn_context_set_log(context, post_line, pool);
  RpinnStatus status =
      context ? options->open_worker(options->user, context, pool, own->number, &worker) : RPINN_ERROR_MEMORY;
  uint64_t task;
  if (status == RPINN_OK && options->perform_all) status = options->perform_all(worker, context, pool);
  while (options->perform && status == RPINN_OK && rpinn_task_pool_take(pool, &task))
    status = options->perform(worker, context, pool, task);
  if (status != RPINN_OK) record_failure(pool, context, status);
  options->close_worker(worker);
  rpinn_context_destroy(context);
  pthread_mutex_lock(&pool->mutex);
  pool->num_running--;
  pthread_cond_signal(&pool->not_empty);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* ---- the caller's side ---- */

/* What comes next; nothing after a while, or when all threads are done (*over). */
static News pop(RpinnTaskPool *pool, bool *over) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += pool->options->serve ? 1000000 : 100000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  News news = {0};
  pthread_mutex_lock(&pool->mutex);
  if (!pool->count && pool->num_running) pthread_cond_timedwait(&pool->not_empty, &pool->mutex, &until);
  *over = !pool->count && !pool->num_running;
  if (pool->count) {
    news = pool->queue[pool->first];
    pool->first = (pool->first + 1) % QUEUE_SIZE;
    pool->count--;
    pthread_cond_signal(&pool->not_full);
  }
  pthread_mutex_unlock(&pool->mutex);
  return news;
}

void rpinn_task_pool_stop(RpinnTaskPool *pool) {
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->has_tasks);
  pthread_mutex_unlock(&pool->mutex);
}

/* Whoever waits for tasks looks again. */
static RpinnStatus serve(RpinnTaskPool *pool) {
  if (!pool->options->serve) return RPINN_OK;
  RpinnStatus status = pool->options->serve(pool->options->user);
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->has_tasks);
  pthread_mutex_unlock(&pool->mutex);
  return status;
}

/* Handle events and lines until all threads are done. After a failure of the handler events are only emptied. */
static RpinnStatus drain(RpinnContext *context, RpinnTaskPool *pool, RpinnTaskPoolResult *result) {
  const RpinnTaskPoolOptions *options = pool->options;
  RpinnStatus status = RPINN_OK;
  double next_tick = 0;
  for (bool over = false; !over;) {
    if (options->tick && rpinn_steady_seconds() >= next_tick) {
      next_tick = rpinn_steady_seconds() + 0.1;
      result->interrupted |= options->tick(options->user, atomic_load(&pool->counted));
    }
    if (status == RPINN_OK) status = serve(pool);
    if (status != RPINN_OK || result->interrupted) rpinn_task_pool_stop(pool);
    News news = pop(pool, &over);
    if (news.event && status == RPINN_OK) status = options->handle(options->user, news.event);
    if (news.event) options->free_event(news.event);
    if (news.line) rpinn_log(context, news.level, "%s", news.line);
    free(news.line);
  }
  return status;
}

/* Its timed waits go by the steady clock: the wall clock may be set at any time. */
static void steady_cond_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

static void start_threads(RpinnTaskPool *pool) {
  for (size_t i = 0; i < pool->options->num_threads; i++) {
    pool->workers[i] = (Worker){.pool = pool, .number = i};
    pthread_mutex_lock(&pool->mutex);
    pool->num_running++;
    pthread_mutex_unlock(&pool->mutex);
    if (pthread_create(&pool->workers[i].thread, NULL, work, &pool->workers[i]) == 0) {
      pool->num_started++;
      continue;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->num_running--;
    pthread_mutex_unlock(&pool->mutex);
    break;
  }
}

static void destroy(RpinnTaskPool *pool) {
  pthread_cond_destroy(&pool->not_full);
  pthread_cond_destroy(&pool->has_tasks);
  pthread_cond_destroy(&pool->not_empty);
  pthread_mutex_destroy(&pool->mutex);
  free(pool->workers);
  free(pool);
}

RpinnStatus rpinn_task_pool_start(RpinnContext *context, const RpinnTaskPoolOptions *options,
                                  RpinnTaskPool **result) {
  RpinnTaskPool *pool = calloc(1, sizeof *pool);
  Worker *workers = calloc(options->num_threads, sizeof *workers);
  *result = NULL;
  if (!pool || !workers) {
    free(pool);
    free(workers);
    return rpinn_fail_memory(context);
  }
  pool->options = options;
  pool->workers = workers;
  pool->started = rpinn_steady_seconds();
  pthread_mutex_init(&pool->mutex, NULL);
  steady_cond_init(&pool->not_empty);
  pthread_cond_init(&pool->not_full, NULL);
  pthread_cond_init(&pool->has_tasks, NULL);
  start_threads(pool);
  if (!pool->num_started) {
    destroy(pool);
    return rpinn_fail(context, RPINN_ERROR_MEMORY, "no thread could be started");
  }
  *result = pool;
  return RPINN_OK;
}

RpinnStatus rpinn_task_pool_finish(RpinnContext *context, RpinnTaskPool *pool, RpinnTaskPoolResult *result) {
  *result = (RpinnTaskPoolResult){0};
  RpinnStatus status = drain(context, pool, result);
  for (size_t i = 0; i < pool->num_started; i++) pthread_join(pool->workers[i].thread, NULL);
  result->out_of_time = atomic_load(&pool->out_of_time);
  result->counted = atomic_load(&pool->counted);
  if (status == RPINN_OK && pool->error.status != RPINN_OK) {
    context->error = pool->error;
    status = pool->error.status;
  }
  destroy(pool);
  return status;
}

RpinnStatus rpinn_task_pool_run(RpinnContext *context, const RpinnTaskPoolOptions *options,
                                RpinnTaskPoolResult *result) {
  RpinnTaskPool *pool;
  *result = (RpinnTaskPoolResult){0};
  RPINN_TRY(rpinn_task_pool_start(context, options, &pool));
  return rpinn_task_pool_finish(context, pool, result);
}
