/* Draws of method laplace: member k is the draw of the linearised posterior that the noise of rPINN's member k leads to, so
 * that the two are the same where the model is linear. Its loss is that of the linearised rows r* + A (theta - theta*) - xi. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laplace_map.h"
#include "maker.h"
#include "member_statistics.h"
#include "run_draws.h"
#include "run_noise.h"
#include "run_targets.h"
#include "shared_tasks.h"
#include "steady_clock.h"
#include "unknown_noise.h"

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run; /* the driver's */
  RpinnRunProgress progress;
  const RpinnRunTarget *own; /* what draws the noise of a draw */
  uint8_t *done;             /* [num_samples] or another shard's */
} Session;

/* What draws are made with, by one thread. */
typedef struct Worker {
  RpinnContext *context;
  RpinnRun *run;
  RpinnTaskPool *pool;
  const RpinnRunTarget *own;
  RpinnNoiseRows unknown; /* noise that is not known, from its mode on */
  RpinnDoubleTarget target;
  RpinnLinearisation *linearisation; /* NULL until a draw is to be made */
  size_t M, N, num_statistics;
  double *memory;
  double *rows;                  /* [M] at theta* */
  double *factors;               /* [M] of rows, for the noise of the draw; 1 where all noise is known */
  double *draw_rows;             /* [M] of the linearised model at the draw */
  double *noise;                 /* [M + N] */
  double *theta;                 /* [N], then the noise [K] */
  double *direction;             /* [N] */
  double *gradient, *statistics; /* [N], [num_statistics] */
} Worker;

static RpinnStatus begin(Worker *worker) {
  const RpinnRun *run = worker->run;
  double energy;
  RPINN_TRY(rpinn_double_target_open(worker->context, run->posteriors[0], &worker->target));
  worker->M = worker->target.squares.num_rows;
  worker->N = worker->target.squares.num_parameters;
  worker->num_statistics = RPINN_NUM_MEMBER_STATISTICS + run->posteriors[0]->model.num_terms + 1;
  worker->memory =
      calloc(4 * worker->M + 4 * worker->N + run->posteriors[0]->num_noises + worker->num_statistics,
             sizeof(double));
  if (!worker->memory) return rpinn_fail_memory(worker->context);
  worker->rows = worker->memory;
  worker->draw_rows = worker->rows + worker->M;
  worker->noise = worker->draw_rows + worker->M;
  worker->theta = worker->noise + worker->M + worker->N;
  worker->direction = worker->theta + rpinn_posterior_num_drawn(run->posteriors[0]);
  worker->gradient = worker->direction + worker->N;
  worker->statistics = worker->gradient + worker->N;
  worker->factors = worker->statistics + worker->num_statistics;
  for (size_t i = 0; i < worker->M; i++) worker->factors[i] = 1;
  if (run->noise.posterior.count)
    RPINN_TRY(rpinn_noise_rows_of(worker->context, run->posteriors[0]->arena, run->posteriors[0],
                                  &worker->unknown));
  worker->unknown.eta_0 = run->noise.posterior.mode;
  RPINN_TRY(rpinn_laplace_energy(&worker->target.squares, run->laplace.at, worker->rows, &energy));
  return rpinn_linearisation_create(&worker->target.squares, run->laplace.at, &worker->linearisation);
}

/* The parts of the loss and the norm of its gradient A^T r + P p. */
static RpinnStatus measure(Worker *worker) {
  const RpinnLeastSquares *squares = &worker->target.squares;
  const RpinnEnergyModel *model = &worker->run->posteriors[0]->model;
  const double *at = worker->run->laplace.at;
  double *rows = worker->draw_rows, *parts = worker->statistics + RPINN_NUM_MEMBER_STATISTICS, norm = 0;
  for (size_t j = 0; j < worker->N; j++) worker->direction[j] = worker->theta[j] - at[j];
  RPINN_TRY(squares->jacobian_times(squares->data, at, worker->direction, rows));
  memset(worker->statistics, 0, worker->num_statistics * sizeof(double));
  for (size_t t = 0, i = 0; t < model->num_terms; t++)
    for (size_t k = 0; k < model->terms[t].num_rows; k++, i++) {
      rows[i] = (rows[i] + worker->rows[i]) * worker->factors[i] - worker->noise[i];
      parts[t] += 0.5 * rows[i] * rows[i];
      rows[i] *= worker->factors[i];
    }
  RPINN_TRY(squares->transposed_times(squares->data, at, rows, worker->gradient));
  for (size_t j = 0; j < worker->N; j++) {
    double root = squares->prior_root[j],
           row = (worker->theta[j] - squares->prior_mean[j]) * root - worker->noise[worker->M + j],
           slope = worker->gradient[j] + root * row;
    parts[model->num_terms] += 0.5 * row * row;
    norm += slope * slope;
  }
  for (size_t t = 0; t <= model->num_terms; t++) worker->statistics[RPINN_MEMBER_LOSS] += parts[t];
  worker->statistics[RPINN_MEMBER_GRADIENT_NORM] = sqrt(norm);
  return RPINN_OK;
}

/* Is theta* a minimiser? There E is the least energy of the linearised model; a tenth of a nat is a small part of what moves
 * a band. */
static bool is_at_minimum(const RpinnLaplaceResult *laplace) {
  return laplace->energy - laplace->linear_energy <= 0.1;
}

/* With noise that is not known every draw has its own, which is that of rPINN's member, and is one of the posterior given it. */
static RpinnStatus take_noise(Worker *worker, uint64_t index) {
  double *eta = worker->theta + worker->N;
  if (!worker->unknown.count) return RPINN_OK;
  rpinn_run_target_draw_noise(worker->own, index, 0, eta);
  rpinn_noise_factors(&worker->unknown, worker->M, eta, worker->factors);
  RpinnStatus status = rpinn_linearisation_rescale(worker->linearisation, worker->factors);
  if (status != RPINN_ERROR_NUMERIC) return status;
  return rpinn_fail(worker->context, status, "the posterior cannot be linearised with the noise of draw %llu",
                    (unsigned long long)index);
}

static RpinnStatus make_draw(Worker *worker, uint64_t index) {
  RpinnRun *run = worker->run;
  double begun = rpinn_steady_seconds();
  bool converged = is_at_minimum(&run->laplace);
  if (!worker->linearisation) RPINN_TRY(begin(worker));
  RPINN_TRY(take_noise(worker, index));
  rpinn_posterior_draw_offsets(run->posteriors[0], index, worker->noise);
  RPINN_TRY(rpinn_linearisation_draw(worker->linearisation, worker->noise, worker->theta));
  RPINN_TRY(measure(worker));
  double loss = worker->statistics[RPINN_MEMBER_LOSS];
  worker->statistics[RPINN_MEMBER_EVALUATIONS] = 1;
  worker->statistics[RPINN_MEMBER_CONVERGED] = converged;
  worker->statistics[RPINN_MEMBER_SECONDS] = rpinn_steady_seconds() - begun;
  const double trace[] = {0, loss};
  RpinnStoredMember member = {
      .index = index,
      .num_parameters = rpinn_posterior_num_drawn(run->posteriors[0]),
      .parameters = worker->theta,
      .num_statistics = worker->num_statistics,
      .statistics = worker->statistics,
      .num_trace = 1,
      .trace = trace,
      .stop = rpinn_stop_name(converged ? RPINN_STOP_GRADIENT_SMALL : RPINN_STOP_NO_PROGRESS)};
  RpinnRunEvent *event = rpinn_run_event_of_draw(&member);
  if (!event) return rpinn_fail_memory(worker->context);
  event->task = index;
  rpinn_task_pool_post(worker->pool, event);
  return RPINN_OK;
}

/* ---- in a thread ---- */

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **result) {
  const Session *session = user;
  Worker *worker = *result = calloc(1, sizeof *worker);
  (void)thread;
  if (!worker) return rpinn_fail_memory(context);
  worker->context = context;
  worker->run = session->run;
  worker->pool = pool;
  worker->own = session->own;
  return RPINN_OK;
}

static void close_worker(void *user) {
  Worker *worker = user;
  if (!worker) return;
  rpinn_linearisation_destroy(worker->linearisation);
  rpinn_double_target_close(&worker->target);
  free(worker->memory);
  free(worker);
}

static RpinnStatus make_all(void *user, RpinnContext *context, RpinnTaskPool *pool) {
  uint64_t index;
  (void)context;
  while (rpinn_task_pool_take(pool, &index)) RPINN_TRY(make_draw(user, index));
  return RPINN_OK;
}

/* ---- in the thread of the caller ---- */

static void count(void *user, const RpinnRunEvent *event) {
  RpinnRunProgress *progress = &((Session *)user)->progress;
  progress->done++;
  progress->done_here++;
  rpinn_run_progress_add_loss(progress, rpinn_run_event_statistics(event)[RPINN_MEMBER_LOSS]);
}

static bool tick(void *user, uint64_t counted) {
  (void)counted;
  return rpinn_run_progress_tick(&((Session *)user)->progress);
}

static RpinnStatus look_back(Session *session) {
  RpinnRun *run = session->run;
  for (uint64_t k = 0; k < run->num_samples; k++) {
    bool has;
    RPINN_TRY(rpinn_member_store_has(session->context, run->store, k, &has));
    session->done[k] |= has;
  }
  return rpinn_draw_store_count_members(session->context, run->store, &run->plan, &session->progress.done,
                                        &session->progress.failed);
}

/* The draws that are missing, until the caller or the clock wants an end. One thread makes them: each is cheap, and needs the square of
 * the number of rows as memory. */
static RpinnStatus make_missing(Session *session, double seconds_before) {
  RpinnDriver *driver = session->driver;
  RpinnRunProgress *progress = &session->progress;
  double limit = rpinn_driver_time_limit(driver);
  RpinnTaskPoolResult result = {0};
  RpinnSharedTasks work = {.driver = driver,
                           .num_threads = 1,
                           .num_slots = 1,
                           .num_tasks = session->run->num_samples,
                           .done = session->done,
                           .time_limit = limit > 0 ? fmax(limit - seconds_before, 1e-3) : 0,
                           .user = session,
                           .open_worker = open_worker,
                           .close_worker = close_worker,
                           .perform_all = make_all,
                           .count = count,
                           .tick = tick};
  for (uint64_t k = 0; k < session->run->num_samples; k++)
    session->done[k] = !rpinn_shard_owns(driver->shard, k);
  if (driver->options->resume) RPINN_TRY(look_back(session));
  RPINN_TRY(rpinn_saved_states_create(session->context, &work.saved));
  RpinnStatus status = rpinn_run_shared_tasks(session->context, &work, &result);
  rpinn_saved_states_destroy(work.saved);
  bool is_complete = progress->done >= progress->total;
  driver->interrupted = result.interrupted && !is_complete;
  driver->out_of_time = result.out_of_time && !is_complete && !driver->interrupted;
  return status;
}

static RpinnStatus make_draws(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRunProgress *progress = &session->progress;
  double begun = rpinn_steady_seconds();
  RPINN_TRY(rpinn_laplace_map_find(session->context, progress));
  if (!driver->interrupted) RPINN_TRY(make_missing(session, rpinn_steady_seconds() - begun));
  RPINN_TRY(rpinn_member_store_flush(session->context, session->run->store));
  rpinn_run_progress_report(progress, true);
  rpinn_driver_log(driver, "%llu of %llu draws are done", (unsigned long long)progress->done,
                   (unsigned long long)progress->total);
  return RPINN_OK;
}

RpinnStatus rpinn_run_make_laplace_draws(RpinnContext *context, RpinnDriver *driver,
                                         const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  session->context = context;
  session->driver = driver;
  session->run = run;
  session->own = targets[0].data;
  session->progress = (RpinnRunProgress){.driver = driver,
                                         .unit = driver->maker->progress_unit,
                                         .total = rpinn_shard_size(driver->shard, run->num_samples)};
  session->done = calloc(run->num_samples, 1);
  RpinnStatus status = session->done ? make_draws(session) : rpinn_fail_memory(context);
  free(session->done);
  free(session);
  return status;
}
