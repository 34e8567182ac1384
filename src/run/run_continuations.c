#include "run_continuations.h"

#include <math.h>

#include "continuation_ranks.h"
#include "shared_tasks.h"

typedef struct Session {
  RpinnContinuations *work;
  uint64_t counted; /* iterations of earlier calls */
  double seconds;   /* of draws that were handed over, on one thread */
} Session;

/* ---- in a thread ---- */

RpinnStatus rpinn_continuation_open_worker(RpinnContext *context, const RpinnMemberTarget *target,
                                           const RpinnContinuationOptions *options, RpinnTaskPool *pool,
                                           void **worker) {
  RpinnContinuationGroup *group;
  RPINN_TRY(rpinn_continuation_group_create(context, target, options, pool, &group));
  *worker = group;
  return RPINN_OK;
}

void rpinn_continuation_close_worker(void *worker) {
  rpinn_continuation_group_destroy(worker);
}

RpinnStatus rpinn_continuation_perform_all(void *worker, RpinnContext *context, RpinnTaskPool *pool) {
  (void)pool;
  return rpinn_continuation_group_run(context, worker);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const RpinnContinuations *work = ((Session *)user)->work;
  return rpinn_continuation_open_worker(context, &work->targets[thread], &work->options, pool, worker);
}

/* ---- in the thread of the caller ---- */

static void count(void *user, const RpinnRunEvent *event) {
  Session *session = user;
  RpinnRunProgress *progress = session->work->progress;
  if (event->is_state) return;
  progress->done++;
  progress->done_here++;
  progress->failed += event->failed ? 1 : 0;
  session->seconds += event->seconds;
  progress->seconds_per_unit = session->seconds / (double)progress->done_here;
}

static bool tick(void *user, uint64_t iterations) {
  const Session *session = user;
  RpinnRunProgress *progress = session->work->progress;
  progress->iterations = session->counted + iterations;
  if (!session->work->options.ends_in_draw) progress->done = progress->done_here = progress->iterations;
  return rpinn_run_progress_tick(progress);
}

/* What is left of the time that a session may take. */
static double time_left(const RpinnDriver *driver) {
  double limit = rpinn_driver_time_limit(driver);
  return limit > 0 ? fmax(limit - rpinn_driver_seconds(driver), 1e-3) : 0;
}

/* ---- to other ranks ---- */

static RpinnStatus announce(void *user, RpinnContext *context) {
  const RpinnContinuations *work = ((Session *)user)->work;
  return rpinn_continuations_announce(context, work, time_left(work->driver));
}

static void give(void *user, uint64_t task, RpinnText *bytes) {
  const RpinnContinuationOptions *options = &((Session *)user)->work->options;
  rpinn_continued_chain_pack(&options->chains[task], options->num_drawn, bytes);
}

RpinnStatus rpinn_run_continuations(RpinnContext *context, RpinnContinuations *work) {
  Session session = {.work = work, .counted = work->progress->iterations};
  RpinnTaskPoolResult result = {0};
  RpinnSharedTasks tasks = {.driver = work->driver,
                            .num_threads = work->driver->num_threads,
                            .num_slots = work->targets[0].num_slots,
                            .num_tasks = work->num_chains,
                            .done = work->done,
                            .time_limit = time_left(work->driver),
                            .user = &session,
                            .open_worker = open_worker,
                            .close_worker = rpinn_continuation_close_worker,
                            .perform_all = rpinn_continuation_perform_all,
                            .announce = announce,
                            .give = give,
                            .count = count,
                            .tick = tick};
  RPINN_TRY(rpinn_run_shared_tasks(context, &tasks, &result));
  tick(&session, result.counted);
  work->is_interrupted = result.interrupted;
  work->is_out_of_time = result.out_of_time && !result.interrupted;
  return rpinn_member_store_flush(context, work->driver->run->store);
}

RpinnNutsOptions rpinn_run_nuts_options(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.metric = (RpinnMetric)rpinn_settings_choice(settings, RPINN_SETTING_METRIC);
  options.max_depth = (unsigned)settings->values[RPINN_SETTING_MAX_DEPTH].number;
  options.target_acceptance = settings->values[RPINN_SETTING_TARGET_ACCEPTANCE].number;
  return options;
}

/* Members may lie in narrower places than the draws that the step was adapted to, where it diverges for ever: every other iteration has a
 * quarter of it. */
RpinnNutsOptions rpinn_run_frozen_options(const RpinnRun *run, uint64_t length) {
  RpinnNutsOptions options = rpinn_run_nuts_options(run);
  options.num_warmup = 0;
  options.num_draws = (size_t)length;
  options.first_step = run->correction.step;
  options.inverse_metric = run->correction.inverse_metric;
  options.small_step_every = 2;
  options.small_step_factor = 0.25;
  return options;
}
