#include "watched_work.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "steady_clock.h"
#include "task_pool.h"

static const double look_interval = 0.1; /* seconds */

/* What all workers share. */
typedef struct Site {
  const RpinnWorkPlan *plan;
  RpinnContext *context; /* of the caller */
  double started;
  atomic_uint_fast64_t divergences, failed;
  /* ---- of a single worker ---- */
  uint64_t next, counted;
  double next_look;
  bool stopped;
} Site;

struct RpinnWork {
  Site *site;
  RpinnTaskPool *pool; /* NULL: a single worker in the thread that called */
  size_t number;
};

/* ---- the caller's side ---- */

static void report(Site *site, uint64_t done, bool last) {
  const RpinnWatch *watch = site->plan->watch;
  if (!watch || !watch->progress) return;
  double seconds = rpinn_steady_seconds() - site->started;
  RpinnWatchedProgress progress = {
      .done = done,
      .total = site->plan->total,
      .divergences = atomic_load(&site->divergences),
      .failed = atomic_load(&site->failed),
      .seconds = seconds,
      .seconds_left = done ? seconds * (double)(site->plan->total - done) / (double)done : (double)NAN,
      .last = last};
  watch->progress(watch->user, &progress);
}

static bool look(void *user, uint64_t counted) {
  Site *site = user;
  const RpinnWatch *watch = site->plan->watch;
  report(site, counted, false);
  return (watch && watch->interrupted && watch->interrupted(watch->user)) ||
         rpinn_is_interrupted(site->context);
}

/* ---- for workers ---- */

bool rpinn_work_is_stopped(RpinnWork *work) {
  Site *site = work->site;
  if (work->pool) return rpinn_task_pool_is_stopped(work->pool);
  if (site->stopped || rpinn_steady_seconds() < site->next_look) return site->stopped;
  site->stopped = look(site, site->counted);
  site->next_look = rpinn_steady_seconds() + look_interval;
  return site->stopped;
}

bool rpinn_work_wants_end(void *work) {
  return rpinn_work_is_stopped(work);
}

bool rpinn_work_take(RpinnWork *work, uint64_t *task) {
  if (work->pool) return rpinn_task_pool_take(work->pool, task);
  if (work->site->next == work->site->plan->num_tasks || rpinn_work_is_stopped(work)) return false;
  *task = work->site->next++;
  return true;
}

void rpinn_work_count(RpinnWork *work, uint64_t amount) {
  if (work->pool)
    rpinn_task_pool_count(work->pool, amount);
  else
    work->site->counted += amount;
}

void rpinn_work_note_divergence(RpinnWork *work) {
  atomic_fetch_add(&work->site->divergences, 1);
}

void rpinn_work_note_failure(RpinnWork *work) {
  atomic_fetch_add(&work->site->failed, 1);
}

/* ---- one worker, or threads ---- */

static RpinnStatus work_alone(RpinnContext *context, Site *site, uint64_t *counted) {
  RpinnWork work = {.site = site};
  RpinnStatus status = site->plan->perform(site->plan->user, context, &work, 0);
  *counted = site->counted;
  return status;
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  RpinnWork *work = *worker = malloc(sizeof *work);
  if (!work) return rpinn_fail_memory(context);
  *work = (RpinnWork){.site = user, .pool = pool, .number = thread};
  return RPINN_OK;
}

static RpinnStatus perform_all(void *worker, RpinnContext *context, RpinnTaskPool *pool) {
  RpinnWork *work = worker;
  (void)pool;
  return work->site->plan->perform(work->site->plan->user, context, work, work->number);
}

static RpinnStatus work_in_threads(RpinnContext *context, Site *site, uint64_t *counted) {
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions options = {.num_threads = site->plan->num_workers,
                                  .num_tasks = site->plan->num_tasks,
                                  .user = site,
                                  .open_worker = open_worker,
                                  .close_worker = free,
                                  .perform_all = perform_all,
                                  .tick = look};
  RpinnStatus status = rpinn_task_pool_run(context, &options, &result);
  site->stopped = result.interrupted;
  *counted = result.counted;
  return status;
}

RpinnStatus rpinn_work_run(RpinnContext *context, const RpinnWorkPlan *plan) {
  Site site = {.plan = plan, .context = context, .started = rpinn_steady_seconds()};
  uint64_t counted = 0;
  RPINN_TRY(plan->num_workers > 1 ? work_in_threads(context, &site, &counted)
                                  : work_alone(context, &site, &counted));
  report(&site, counted, true);
  return site.stopped && counted < plan->total ? rpinn_fail_interrupted(context) : RPINN_OK;
}
