/* Threads over tasks: members of an ensemble, chains of a sampler, columns of a table. Each thread takes the
 * next task that is not done; what it makes goes through a bounded queue to the thread that called, which
 * alone touches files. Which thread performs a task leaves no mark on it. What a task logs goes the same way, to
 * the log of the context that the pool was called with. */
#ifndef RPINN_BASE_TASK_POOL_H
#define RPINN_BASE_TASK_POOL_H

#include <stdint.h>

#include "context.h"

typedef struct RpinnTaskPool RpinnTaskPool;

/* What a thread that is free hears of somebody who gives out tasks: one, none any more, or to wait. */
typedef enum RpinnTaskOffer { RPINN_TASK_GIVEN, RPINN_TASK_NONE, RPINN_TASK_LATER } RpinnTaskOffer;

typedef struct RpinnTaskPoolOptions {
  size_t num_threads;
  uint64_t num_tasks;
  const uint8_t *done; /* [num_tasks] 1: made before; NULL: none is */
  double time_limit;   /* seconds after which no task but the first is begun; 0: no limit */
  void *user;
  /* In place of num_tasks and done, for tasks that come from elsewhere; in a thread, one at a time. May be NULL. */
  RpinnTaskOffer (*offer)(void *user, uint64_t *task);
  /* In the thread that called, about a thousand times a second: to see that there are tasks to offer, say. A failure stops the pool
   * and is returned. May be NULL. */
  RpinnStatus (*serve)(void *user);
  /* In a thread, before its first task and after its last: what it works with. Close accepts NULL. */
  RpinnStatus (*open_worker)(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                             void **worker);
  void (*close_worker)(void *worker);
  /* In a thread: one task, until it is done or the pool is stopped. A failure stops the pool. */
  RpinnStatus (*perform)(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task);
  /* In place of perform, for threads that have several tasks at work at a time: all that there are for this thread, taken by
   * rpinn_task_pool_take. */
  RpinnStatus (*perform_all)(void *worker, RpinnContext *context, RpinnTaskPool *pool);
  /* In the thread that called: what a task has posted, in the order of each task. A failure stops the pool
   * and is returned. NULL when nothing is posted. */
  RpinnStatus (*handle)(void *user, const void *event);
  void (*free_event)(void *event);
  /* Called several times a second with what rpinn_task_pool_count has summed up; true stops the pool. May be
   * NULL. */
  bool (*tick)(void *user, uint64_t counted);
} RpinnTaskPoolOptions;

typedef struct RpinnTaskPoolResult {
  bool interrupted; /* tick asked for it */
  bool out_of_time; /* the time limit left work undone */
  uint64_t counted; /* all that rpinn_task_pool_count has summed up */
} RpinnTaskPoolResult;

RpinnStatus rpinn_task_pool_run(RpinnContext *context, const RpinnTaskPoolOptions *options,
                                RpinnTaskPoolResult *result);

/* The same in two calls, for a caller that has other things to do meanwhile: threads work from the first on, until the queue is
 * full or they are done; events, lines and ticks are those of the second, which ends the pool on every path. The options
 * must last until then. */
RpinnStatus rpinn_task_pool_start(RpinnContext *context, const RpinnTaskPoolOptions *options,
                                  RpinnTaskPool **pool);
RpinnStatus rpinn_task_pool_finish(RpinnContext *context, RpinnTaskPool *pool, RpinnTaskPoolResult *result);
/* No task is begun any more. */
void rpinn_task_pool_stop(RpinnTaskPool *pool);

/* For tasks. */

/* The next task that is not done; false when there is none, or no time to begin one. */
bool rpinn_task_pool_take(RpinnTaskPool *pool, uint64_t *task);
/* The task should save itself and return. */
bool rpinn_task_pool_is_stopped(const RpinnTaskPool *pool);
/* The same for those who take a function to be asked and its user. */
bool rpinn_task_pool_wants_end(void *pool);
/* The time limit has passed: for tasks that can end early. */
bool rpinn_task_pool_is_late(RpinnTaskPool *pool);
/* Hand over an event, which the pool frees. Waits while the queue is full, so that memory stays flat however
 * fast tasks are. */
void rpinn_task_pool_post(RpinnTaskPool *pool, void *event);
void rpinn_task_pool_count(RpinnTaskPool *pool, uint64_t amount);

#endif
