/* Methods map, rpinn and ensemble: threads over groups of members, each a minimisation of its own. Finished members, and
 * the state of long ones, go to the store. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correction_pilot.h"
#include "maker.h"
#include "member_group.h"
#include "member_share.h"
#include "member_statistics.h"
#include "member_stop.h"
#include "ranks.h"
#include "run_draws.h"
#include "run_progress.h"
#include "run_targets.h"
#include "shared_tasks.h"
#include "unknown_noise.h"

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run;                    /* the driver's */
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnMemberGroupOptions options;
  RpinnDrawPlan plan;  /* of members to make, here and in other shards */
  uint64_t num_pilots; /* of the first of them, which are made here whosever they are */
  uint8_t *done;       /* [plan.num_draws] or another shard's */
  RpinnRunProgress progress;
  double member_seconds; /* spent by members done here, over all threads */
  RpinnMemberShare share;
  double least_iterations, most_iterations; /* of members done here */
  uint64_t num_in_double;                   /* of them, those that went on in double */
} Session;

/* ---- in a thread ---- */

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Session *session = user;
  RpinnMemberGroup *group;
  RPINN_TRY(rpinn_member_group_create(context, &session->targets[thread], &session->options, pool, &group));
  *worker = group;
  return RPINN_OK;
}

static void close_worker(void *worker) {
  rpinn_member_group_destroy(worker);
}

static RpinnStatus make_all(void *worker, RpinnContext *context, RpinnTaskPool *pool) {
  (void)pool;
  return rpinn_member_group_run(context, worker);
}

/* ---- in the thread of the caller ---- */

static void count(void *user, const RpinnRunEvent *event) {
  Session *session = user;
  RpinnRunProgress *progress = &session->progress;
  if (event->is_state) return;
  const double *statistics = rpinn_run_event_statistics(event);
  progress->done++;
  progress->done_here++;
  progress->failed += event->failed ? 1 : 0;
  session->member_seconds += event->seconds;
  double iterations = statistics[RPINN_MEMBER_ITERATIONS];
  bool is_first = progress->done_here == 1;
  session->least_iterations = is_first ? iterations : fmin(session->least_iterations, iterations);
  session->most_iterations = is_first ? iterations : fmax(session->most_iterations, iterations);
  session->num_in_double += rpinn_member_stop_of_word(event->stop).in_double;
  progress->seconds_per_unit = session->member_seconds / (double)progress->done_here;
  if (!event->failed) rpinn_run_progress_add_loss(progress, statistics[RPINN_MEMBER_LOSS]);
  if (event->failed)
    rpinn_driver_log(session->driver, "member %llu failed: non-finite in %.0f attempts",
                     (unsigned long long)event->task, statistics[RPINN_MEMBER_ATTEMPTS] + 1);
}

static bool tick(void *user, uint64_t iterations) {
  Session *session = user;
  session->progress.iterations = iterations;
  return rpinn_run_progress_tick(&session->progress);
}

/* Which of its members are done, and the states of those that were under way. */
static RpinnStatus look_back(Session *session) {
  RpinnRun *run = session->run;
  for (uint64_t k = 0; k < session->plan.num_draws; k++) {
    bool has;
    void *state = NULL;
    size_t size;
    if (session->done[k]) continue;
    RPINN_TRY(rpinn_member_store_has(session->context, run->store, k, &has));
    session->done[k] = has;
    session->progress.done += has;
    if (!has) RPINN_TRY(rpinn_member_store_get_state(session->context, run->store, k, &state, &size));
    if (state) RPINN_TRY(rpinn_saved_states_put(session->context, session->options.saved, k, state, size));
  }
  uint64_t finished;
  return rpinn_draw_store_count_members(session->context, run->store, &session->plan, &finished,
                                        &session->progress.failed);
}

/* Members of a step on the device; 0 where steps are made of products, one member after the other. */
static size_t find_places(const Session *session) {
  const RpinnMemberTarget *target = &session->targets[0];
  const RpinnBatchLeastSquares *squares = target->squares;
  bool by_device = session->options.minimize.minimizer == RPINN_MINIMIZER_LM && squares->damped_steps &&
                   squares->num_rows <= squares->num_parameters && !rpinn_run_is_matrix_free(session->run);
  return by_device ? ((const RpinnRunTarget *)target->data)->slots->backend->step_places : 0;
}

/* With several ranks nobody knows before how many members this one will make. */
static void share_members(Session *session) {
  const RpinnDriver *driver = session->driver;
  size_t places = rpinn_ranks_size(driver->options->ranks) > 1 ? 0 : find_places(session);
  session->share = rpinn_member_share(session->progress.total - session->progress.done, places,
                                      (RpinnMemberShare){driver->num_threads, session->targets[0].num_slots});
  session->options.num_slots = session->share.num_slots;
  session->progress.num_threads = session->share.num_threads;
}

/* What they took: where members differ much in length, threads wait for the last ones. */
static void log_members(const Session *session) {
  const RpinnRunProgress *progress = &session->progress;
  char work[256] = "";
  if (progress->done_here)
    rpinn_format(
        work, sizeof work,
        ": %llu here on %zu thread%s, in %.0f to %.0f iterations each, %llu in all; %llu went on in double",
        (unsigned long long)progress->done_here, session->share.num_threads,
        session->share.num_threads == 1 ? "" : "s", session->least_iterations, session->most_iterations,
        (unsigned long long)progress->iterations, (unsigned long long)session->num_in_double);
  rpinn_driver_log(session->driver, "%llu of %llu members are done%s", (unsigned long long)progress->done,
                   (unsigned long long)progress->total, work);
}

static RpinnStatus make_members(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnTaskPoolResult result = {0};
  RPINN_TRY(rpinn_saved_states_create(session->context, &session->options.saved));
  session->done = calloc(session->plan.num_draws, 1);
  if (!session->done) return rpinn_fail_memory(session->context);
  for (uint64_t k = 0; k < session->plan.num_draws; k++) {
    session->done[k] = k >= session->num_pilots && !rpinn_shard_owns(driver->shard, k);
    session->progress.total += !session->done[k];
  }
  if (driver->options->resume) RPINN_TRY(look_back(session));
  share_members(session);
  RpinnSharedTasks work = {.driver = driver,
                           .num_threads = session->share.num_threads,
                           .num_slots = session->share.num_slots,
                           .num_tasks = session->plan.num_draws,
                           .done = session->done,
                           .saved = session->options.saved,
                           .time_limit = rpinn_driver_time_limit(driver),
                           .user = session,
                           .open_worker = open_worker,
                           .close_worker = close_worker,
                           .perform_all = make_all,
                           .count = count,
                           .tick = tick};
  RPINN_TRY(rpinn_run_shared_tasks(session->context, &work, &result));
  session->progress.iterations = result.counted;
  driver->interrupted = result.interrupted && session->progress.done < session->progress.total;
  driver->out_of_time = result.out_of_time && !driver->interrupted;
  rpinn_run_progress_report(&session->progress, true);
  log_members(session);
  return RPINN_OK;
}

RpinnStatus rpinn_run_make_members(RpinnContext *context, RpinnDriver *driver,
                                   const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  const RpinnSettingsValues *settings = &run->problem->settings;
  uint64_t num_pilots = rpinn_pilot_num_members(driver);
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  *session = (Session){
      .context = context,
      .driver = driver,
      .run = run,
      .targets = targets,
      .plan = {.num_chains = 1, .num_draws = run->num_samples > num_pilots ? run->num_samples : num_pilots},
      .num_pilots = num_pilots,
      .options = {.minimize = rpinn_run_minimize_options(run->problem),
                  .max_retries = (uint32_t)settings->values[RPINN_SETTING_RETRIES].number,
                  .num_drawn = rpinn_posterior_num_drawn(run->posteriors[0])},
      .progress = {.driver = driver, .unit = driver->maker->progress_unit}};
  RpinnStatus status = make_members(session);
  rpinn_saved_states_destroy(session->options.saved);
  free(session->done);
  free(session);
  return status;
}
