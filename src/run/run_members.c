/* Methods map, rpinn and ensemble: threads over members, each a minimisation of its own. Finished members, and
 * the state of long ones, go to the store. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "member_statistics.h"
#include "run_draws.h"
#include "run_progress.h"
#include "run_targets.h"
#include "task_pool.h"
#include "unknown_noise.h"

enum { SLICE = 100, STATE_INTERVAL = 60 /* seconds between saved states of a member */ };

/* A member that was under way when an earlier session stopped. */
typedef struct Resume {
  uint64_t index;
  void *state;
  size_t state_size;
} Resume;

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run;                    /* the driver's */
  const RpinnMemberTarget *targets; /* [num_threads] */
  uint8_t *done;                    /* [num_samples] */
  Resume *resumes;
  size_t num_resumes;
  RpinnRunProgress progress;
  double member_seconds; /* spent by members done here, over all threads */
} Session;

/* ---- in a thread ---- */

/* What a thread hands over: a finished member, or the state of one under way. */
typedef struct Event {
  uint64_t index;
  bool is_state;
  size_t state_size;
  void *state;
  RpinnMemberOutcome outcome; /* its pointers lead to copies */
  double seconds;             /* that the member took */
} Event;

typedef struct Worker {
  const Session *session;
  const RpinnMemberTarget *target;
  RpinnMember *member;
} Worker;

static void free_event(void *user) {
  Event *event = user;
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

/* theta [N], then the noise eta [K] that it was found with. */
static double *copy_draw(const RpinnMemberTarget *target, const double *theta) {
  const RpinnPosterior *posterior = ((RpinnRunTarget *)target->data)->posterior;
  double *copy = malloc((rpinn_posterior_num_drawn(posterior) + 1) * sizeof *copy);
  if (!copy) return NULL;
  memcpy(copy, theta, target->num_parameters * sizeof *copy);
  for (size_t k = 0; k < posterior->num_noises; k++) copy[target->num_parameters + k] = posterior->eta[k];
  return copy;
}

static Event *make_finished(const RpinnMemberTarget *target, uint64_t index,
                            const RpinnMemberOutcome *outcome, double seconds) {
  Event *event = calloc(1, sizeof *event);
  if (!event) return NULL;
  *event = (Event){.index = index, .outcome = *outcome, .seconds = seconds};
  event->outcome.theta = copy_draw(target, outcome->theta);
  event->outcome.parts = copy_bytes(outcome->parts, target->num_parts * sizeof(double));
  event->outcome.trace = copy_bytes(outcome->trace, outcome->num_trace * sizeof *outcome->trace);
  if (event->outcome.theta && event->outcome.parts && event->outcome.trace) return event;
  free_event(event);
  return NULL;
}

static Event *make_state(const RpinnMember *member, uint64_t index) {
  Event *event = calloc(1, sizeof *event);
  if (!event) return NULL;
  *event = (Event){.index = index, .is_state = true, .state_size = rpinn_member_state_size(member)};
  event->state = malloc(event->state_size + 1);
  if (!event->state) {
    free_event(event);
    return NULL;
  }
  rpinn_member_save(member, event->state);
  return event;
}

static bool pool_is_stopped(void *pool) {
  return rpinn_task_pool_is_stopped(pool);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Session *session = user;
  const RpinnProblem *problem = session->run->problem;
  RpinnMinimizeOptions minimize = rpinn_run_minimize_options(problem);
  Worker *own = *worker = calloc(1, sizeof *own);
  if (!own) return rpinn_fail_memory(context);
  minimize.interrupted = pool_is_stopped;
  minimize.user = pool;
  own->session = session;
  own->target = &session->targets[thread];
  return rpinn_member_create(context, own->target, &minimize,
                             (uint32_t)problem->settings.values[RPINN_SETTING_RETRIES].number, &own->member);
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (own) rpinn_member_destroy(own->member);
  free(own);
}

static const Resume *find_resume(const Session *session, uint64_t index) {
  for (size_t i = 0; i < session->num_resumes; i++)
    if (session->resumes[i].index == index) return &session->resumes[i];
  return NULL;
}

/* One member from begin to end, or until the pool stops. */
static RpinnStatus make_member(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t index) {
  Worker *own = worker;
  const Resume *resume = find_resume(own->session, index);
  double begun = rpinn_task_pool_now(), saved = begun;
  RpinnMemberOutcome outcome;
  RPINN_TRY(rpinn_member_begin(context, own->member, index, resume ? resume->state : NULL,
                               resume ? resume->state_size : 0));
  size_t counted = rpinn_member_num_iterations(own->member);
  do {
    RPINN_TRY(rpinn_member_advance(context, own->member, SLICE, &outcome));
    if (outcome.iterations > counted) rpinn_task_pool_count(pool, outcome.iterations - counted);
    counted = outcome.iterations; /* a retry counts from zero again */
    double time = rpinn_task_pool_now();
    bool stopped = rpinn_task_pool_is_stopped(pool);
    if (!outcome.finished && (stopped || time - saved >= STATE_INTERVAL)) {
      Event *event = make_state(own->member, index);
      if (!event) return rpinn_fail_memory(context);
      rpinn_task_pool_post(pool, event);
      saved = time;
    }
    if (!outcome.finished && stopped) return RPINN_OK;
  } while (!outcome.finished);
  Event *event = make_finished(own->target, index, &outcome, rpinn_task_pool_now() - begun);
  if (!event) return rpinn_fail_memory(context);
  rpinn_task_pool_post(pool, event);
  return RPINN_OK;
}

/* ---- in the thread of the caller ---- */

static RpinnStatus store_member(Session *session, const Event *event) {
  RpinnRun *run = session->run;
  const RpinnMemberOutcome *outcome = &event->outcome;
  size_t num_parts = run->posteriors[0]->model.num_terms + 1, count = RPINN_NUM_MEMBER_STATISTICS + num_parts;
  double *statistics = calloc(count, sizeof *statistics),
         *trace = calloc(2 * outcome->num_trace + 1, sizeof *trace);
  RpinnStatus status = RPINN_ERROR_MEMORY;
  if (statistics && trace) {
    statistics[RPINN_MEMBER_LOSS] = outcome->loss;
    statistics[RPINN_MEMBER_GRADIENT_NORM] = outcome->gradient_norm;
    statistics[RPINN_MEMBER_ITERATIONS] = (double)outcome->iterations;
    statistics[RPINN_MEMBER_EVALUATIONS] = (double)outcome->evaluations;
    statistics[RPINN_MEMBER_CONVERGED] = outcome->converged;
    statistics[RPINN_MEMBER_ATTEMPTS] = outcome->attempts;
    statistics[RPINN_MEMBER_SECONDS] = event->seconds;
    memcpy(statistics + RPINN_NUM_MEMBER_STATISTICS, outcome->parts, num_parts * sizeof(double));
    for (size_t k = 0; k < outcome->num_trace; k++) {
      trace[2 * k] = (double)outcome->trace[k].iteration;
      trace[2 * k + 1] = outcome->trace[k].loss;
    }
    RpinnStoredMember member = {.index = event->index,
                                .failed = outcome->failed,
                                .num_parameters =
                                    outcome->failed ? 0 : rpinn_posterior_num_drawn(run->posteriors[0]),
                                .parameters = outcome->failed ? NULL : outcome->theta,
                                .num_statistics = count,
                                .statistics = statistics,
                                .num_trace = outcome->num_trace,
                                .trace = trace,
                                .stop = rpinn_stop_name(outcome->stop)};
    status = rpinn_member_store_put(session->context, run->store, &member);
  }
  free(statistics);
  free(trace);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(session->context) : status;
}

static RpinnStatus handle_event(void *user, const void *posted) {
  Session *session = user;
  RpinnRunProgress *progress = &session->progress;
  const Event *event = posted;
  if (event->is_state)
    return rpinn_member_store_put_state(session->context, session->run->store, event->index, event->state,
                                        event->state_size);
  RPINN_TRY(store_member(session, event));
  progress->done++;
  progress->done_here++;
  progress->failed += event->outcome.failed;
  session->member_seconds += event->seconds;
  progress->seconds_per_unit = session->member_seconds / (double)progress->done_here;
  if (!event->outcome.failed) rpinn_run_progress_add_loss(progress, event->outcome.loss);
  if (event->outcome.failed)
    rpinn_driver_log(session->driver, "member %llu failed: non-finite in %u attempts",
                     (unsigned long long)event->index, event->outcome.attempts + 1);
  return RPINN_OK;
}

static bool tick(void *user, uint64_t iterations) {
  Session *session = user;
  session->progress.iterations = iterations;
  return rpinn_run_progress_tick(&session->progress);
}

/* Which members are done, and the states of those that were under way. */
static RpinnStatus look_back(Session *session) {
  RpinnRun *run = session->run;
  size_t capacity = 0;
  for (uint64_t k = 0; k < run->num_samples; k++) {
    bool has;
    void *state = NULL;
    size_t size;
    RPINN_TRY(rpinn_member_store_has(session->context, run->store, k, &has));
    session->done[k] = has;
    if (!has) RPINN_TRY(rpinn_member_store_get_state(session->context, run->store, k, &state, &size));
    if (!state) continue;
    if (session->num_resumes == capacity) {
      capacity = capacity ? 2 * capacity : 16;
      Resume *grown = realloc(session->resumes, capacity * sizeof *grown);
      if (!grown) {
        free(state);
        return rpinn_fail_memory(session->context);
      }
      session->resumes = grown;
    }
    session->resumes[session->num_resumes++] = (Resume){k, state, size};
  }
  return rpinn_member_store_count(session->context, run->store, run->num_samples, &session->progress.done,
                                  &session->progress.failed);
}

static RpinnStatus make_members(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRun *run = session->run;
  RpinnTaskPoolResult result = {0};
  session->done = calloc(run->num_samples, 1);
  if (!session->done) return rpinn_fail_memory(session->context);
  if (driver->options->resume) RPINN_TRY(look_back(session));
  RpinnTaskPoolOptions options = {.num_threads = driver->num_threads,
                                  .num_tasks = run->num_samples,
                                  .done = session->done,
                                  .time_limit = rpinn_driver_time_limit(driver),
                                  .user = session,
                                  .open_worker = open_worker,
                                  .close_worker = close_worker,
                                  .perform = make_member,
                                  .handle = handle_event,
                                  .free_event = free_event,
                                  .tick = tick};
  RPINN_TRY(rpinn_task_pool_run(session->context, &options, &result));
  session->progress.iterations = result.counted;
  driver->interrupted = result.interrupted && session->progress.done < run->num_samples;
  driver->out_of_time = result.out_of_time && !driver->interrupted;
  rpinn_run_progress_report(&session->progress, true);
  rpinn_driver_log(driver, "%llu of %llu members are done", (unsigned long long)session->progress.done,
                   (unsigned long long)run->num_samples);
  return RPINN_OK;
}

RpinnStatus rpinn_run_make_members(RpinnContext *context, RpinnDriver *driver,
                                   const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  session->context = context;
  session->driver = driver;
  session->run = run;
  session->targets = targets;
  session->progress =
      (RpinnRunProgress){.driver = driver, .unit = driver->maker->progress_unit, .total = run->num_samples};
  RpinnStatus status = make_members(session);
  for (size_t i = 0; i < run->num_posteriors; i++) /* the prior that all share again */
    rpinn_posterior_take_scale(run->posteriors[i], run->posteriors[i]->sigmas.prior);
  for (size_t i = 0; i < session->num_resumes; i++) free(session->resumes[i].state);
  free(session->resumes);
  free(session->done);
  free(session);
  return status;
}
