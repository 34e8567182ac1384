/* Tasks 0, 1, … in one thread per worker, watched by the caller (rpinn/watch.h). A single worker works in the thread that calls:
 * targets that are tied to a thread stay in theirs. Which worker gets which task is left to chance, so that tasks must not
 * depend on it. */
#ifndef RPINN_SAMPLE_WATCHED_WORK_H
#define RPINN_SAMPLE_WATCHED_WORK_H

#include "context.h"
#include "rpinn/watch.h"

typedef struct RpinnWork RpinnWork;

typedef struct RpinnWorkPlan {
  size_t num_workers; /* up to one: in the thread that calls */
  uint64_t num_tasks;
  uint64_t total;          /* what rpinn_work_count comes to in the end */
  const RpinnWatch *watch; /* may be NULL */
  void *user;
  /* All tasks that there are for this worker, by rpinn_work_take, until there is none or the work is stopped. */
  RpinnStatus (*perform)(void *user, RpinnContext *context, RpinnWork *work, size_t worker);
} RpinnWorkPlan;

/* RPINN_ERROR_INTERRUPTED where the caller wanted an end before all was done; a failure of a worker ends it, too. */
RpinnStatus rpinn_work_run(RpinnContext *context, const RpinnWorkPlan *plan);

/* For workers. */
bool rpinn_work_take(RpinnWork *work, uint64_t *task);
/* Somebody wants an end: return without a failure. */
bool rpinn_work_is_stopped(RpinnWork *work);
/* The same for those who take a function to be asked and its user. */
bool rpinn_work_wants_end(void *work);
void rpinn_work_count(RpinnWork *work, uint64_t amount);
void rpinn_work_note_divergence(RpinnWork *work);
void rpinn_work_note_failure(RpinnWork *work);

#endif
