/* Threads over members or chains, and over those of other ranks where there are some: each takes the next one, and what it makes goes to
 * the store of its rank. Rank 0 gives tasks out, with the states that they go on from, and hears what was made; in the end it has all draws
 * in the store of the run. Which rank makes a task leaves no mark on it. */
#ifndef RPINN_RUN_SHARED_TASKS_H
#define RPINN_RUN_SHARED_TASKS_H

#include "driver.h"
#include "run_event.h"
#include "saved_states.h"
#include "task_pool.h"
#include "text.h"

typedef struct RpinnSharedTasks {
  RpinnDriver *driver;
  size_t num_threads; /* of this rank … */
  size_t num_slots;   /* … and tasks that each of them has at work at a time */
  uint64_t num_tasks;
  const uint8_t *done; /* [num_tasks] 1: made before, or not ours; of no concern to other ranks than 0 */
  RpinnSavedStates *
      saved; /* of tasks that were under way; other ranks than 0 find those that they were given with tasks. NULL: give and take are there */
  double time_limit; /* seconds; 0: none */
  void *user;
  /* As in RpinnTaskPoolOptions. */
  RpinnStatus (*open_worker)(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                             void **worker);
  void (*close_worker)(void *worker);
  RpinnStatus (*perform_all)(void *worker, RpinnContext *context, RpinnTaskPool *pool);
  /* On rank 0: others hear of the tasks before they ask for any; NULL: of what the run has learnt. */
  RpinnStatus (*announce)(void *user, RpinnContext *context);
  /* On rank 0, what another rank needs for a task, to bytes; and there, from them, before a thread has the task. */
  void (*give)(void *user, uint64_t task, RpinnText *bytes);
  RpinnStatus (*take)(void *user, RpinnContext *context, uint64_t task, const void *bytes, size_t size);
  /* In the thread that called, on rank 0: of what was made anywhere. Events from other ranks have no parameters, trace or state. */
  void (*count)(void *user, const RpinnRunEvent *event);
  /* The same for what all ranks have counted; true stops them all. */
  bool (*tick)(void *user, uint64_t counted);
} RpinnSharedTasks;

/* On other ranks than 0 the result is about their own. What they made is in the store of the run once rank 0 returns. */
RpinnStatus rpinn_run_shared_tasks(RpinnContext *context, const RpinnSharedTasks *work,
                                   RpinnTaskPoolResult *result);

#endif
