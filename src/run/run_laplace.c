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
#include "steady_clock.h"
#include "unknown_noise.h"

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run; /* the driver's */
  RpinnRunProgress progress;
  const RpinnRunTarget *own; /* what draws the noise of a draw */
  RpinnNoiseRows unknown;    /* noise that is not known, from its mode on */
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
} Session;

static RpinnStatus begin(Session *session) {
  const RpinnRun *run = session->run;
  double energy;
  RPINN_TRY(rpinn_double_target_open(session->context, run->posteriors[0], &session->target));
  session->M = session->target.squares.num_rows;
  session->N = session->target.squares.num_parameters;
  session->num_statistics = RPINN_NUM_MEMBER_STATISTICS + run->posteriors[0]->model.num_terms + 1;
  session->memory =
      calloc(4 * session->M + 4 * session->N + run->posteriors[0]->num_noises + session->num_statistics,
             sizeof(double));
  if (!session->memory) return rpinn_fail_memory(session->context);
  session->rows = session->memory;
  session->draw_rows = session->rows + session->M;
  session->noise = session->draw_rows + session->M;
  session->theta = session->noise + session->M + session->N;
  session->direction = session->theta + rpinn_posterior_num_drawn(run->posteriors[0]);
  session->gradient = session->direction + session->N;
  session->statistics = session->gradient + session->N;
  session->factors = session->statistics + session->num_statistics;
  for (size_t i = 0; i < session->M; i++) session->factors[i] = 1;
  if (run->noise.posterior.count)
    RPINN_TRY(rpinn_noise_rows_of(session->context, run->posteriors[0]->arena, run->posteriors[0],
                                  &session->unknown));
  session->unknown.eta_0 = run->noise.posterior.mode;
  RPINN_TRY(rpinn_laplace_energy(&session->target.squares, run->laplace.at, session->rows, &energy));
  return rpinn_linearisation_create(&session->target.squares, run->laplace.at, &session->linearisation);
}

/* The parts of the loss and the norm of its gradient A^T r + P p. */
static RpinnStatus measure(Session *session) {
  const RpinnLeastSquares *squares = &session->target.squares;
  const RpinnEnergyModel *model = &session->run->posteriors[0]->model;
  const double *at = session->run->laplace.at;
  double *rows = session->draw_rows, *parts = session->statistics + RPINN_NUM_MEMBER_STATISTICS, norm = 0;
  for (size_t j = 0; j < session->N; j++) session->direction[j] = session->theta[j] - at[j];
  RPINN_TRY(squares->jacobian_times(squares->data, at, session->direction, rows));
  memset(session->statistics, 0, session->num_statistics * sizeof(double));
  for (size_t t = 0, i = 0; t < model->num_terms; t++)
    for (size_t k = 0; k < model->terms[t].num_rows; k++, i++) {
      rows[i] = (rows[i] + session->rows[i]) * session->factors[i] - session->noise[i];
      parts[t] += 0.5 * rows[i] * rows[i];
      rows[i] *= session->factors[i];
    }
  RPINN_TRY(squares->transposed_times(squares->data, at, rows, session->gradient));
  for (size_t j = 0; j < session->N; j++) {
    double root = squares->prior_root[j],
           row = (session->theta[j] - squares->prior_mean[j]) * root - session->noise[session->M + j],
           slope = session->gradient[j] + root * row;
    parts[model->num_terms] += 0.5 * row * row;
    norm += slope * slope;
  }
  for (size_t t = 0; t <= model->num_terms; t++) session->statistics[RPINN_MEMBER_LOSS] += parts[t];
  session->statistics[RPINN_MEMBER_GRADIENT_NORM] = sqrt(norm);
  return RPINN_OK;
}

/* Is theta* a minimiser? There E is the least energy of the linearised model; a tenth of a nat is a small part of what moves
 * a band. */
static bool is_at_minimum(const RpinnLaplaceResult *laplace) {
  return laplace->energy - laplace->linear_energy <= 0.1;
}

/* With noise that is not known every draw has its own, which is that of rPINN's member, and is one of the posterior given it. */
static RpinnStatus take_noise(Session *session, uint64_t index) {
  double *eta = session->theta + session->N;
  if (!session->unknown.count) return RPINN_OK;
  rpinn_run_target_draw_noise(session->own, index, 0, eta);
  rpinn_noise_factors(&session->unknown, session->M, eta, session->factors);
  RpinnStatus status = rpinn_linearisation_rescale(session->linearisation, session->factors);
  if (status != RPINN_ERROR_NUMERIC) return status;
  return rpinn_fail(session->context, status,
                    "the posterior cannot be linearised with the noise of draw %llu",
                    (unsigned long long)index);
}

static RpinnStatus make_draw(Session *session, uint64_t index) {
  RpinnRun *run = session->run;
  double begun = rpinn_steady_seconds();
  bool converged = is_at_minimum(&run->laplace);
  if (!session->linearisation) RPINN_TRY(begin(session));
  RPINN_TRY(take_noise(session, index));
  rpinn_posterior_draw_offsets(run->posteriors[0], index, session->noise);
  RPINN_TRY(rpinn_linearisation_draw(session->linearisation, session->noise, session->theta));
  RPINN_TRY(measure(session));
  double loss = session->statistics[RPINN_MEMBER_LOSS];
  session->statistics[RPINN_MEMBER_EVALUATIONS] = 1;
  session->statistics[RPINN_MEMBER_CONVERGED] = converged;
  session->statistics[RPINN_MEMBER_SECONDS] = rpinn_steady_seconds() - begun;
  const double trace[] = {0, loss};
  RpinnStoredMember member = {
      .index = index,
      .num_parameters = rpinn_posterior_num_drawn(run->posteriors[0]),
      .parameters = session->theta,
      .num_statistics = session->num_statistics,
      .statistics = session->statistics,
      .num_trace = 1,
      .trace = trace,
      .stop = rpinn_stop_name(converged ? RPINN_STOP_GRADIENT_SMALL : RPINN_STOP_NO_PROGRESS)};
  RPINN_TRY(rpinn_member_store_put(session->context, run->store, &member));
  session->progress.done++;
  session->progress.done_here++;
  rpinn_run_progress_add_loss(&session->progress, loss);
  return RPINN_OK;
}

/* The draws that are missing, until the caller or the clock wants an end. */
static RpinnStatus make_draws(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRun *run = session->run;
  RpinnRunProgress *progress = &session->progress;
  double begun = rpinn_steady_seconds(), limit = rpinn_driver_time_limit(driver);
  RPINN_TRY(rpinn_laplace_map_find(session->context, progress));
  if (driver->options->resume)
    RPINN_TRY(rpinn_draw_store_count_members(session->context, run->store, &run->plan, &progress->done,
                                             &progress->failed));
  for (uint64_t k = 0; k < run->num_samples && !driver->interrupted && !driver->out_of_time; k++) {
    bool has;
    if (!rpinn_shard_owns(driver->shard, k)) continue;
    RPINN_TRY(rpinn_member_store_has(session->context, run->store, k, &has));
    if (has) continue;
    RPINN_TRY(make_draw(session, k));
    bool is_last = progress->done == progress->total;
    driver->interrupted = rpinn_run_progress_tick(progress) && !is_last;
    driver->out_of_time =
        limit > 0 && rpinn_steady_seconds() - begun > limit && !is_last && !driver->interrupted;
  }
  RPINN_TRY(rpinn_member_store_flush(session->context, run->store));
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
  RpinnStatus status = make_draws(session);
  rpinn_linearisation_destroy(session->linearisation);
  rpinn_double_target_close(&session->target);
  free(session->memory);
  free(session);
  return status;
}
