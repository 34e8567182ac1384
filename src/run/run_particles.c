/* Method svgd: particles that move together, all threads and all ranks at each iteration. The particles are stored as members
 * when they have arrived, or when time is up; their state, with the scores along the way, now and then before. What is stored, and the scores, are
 * rank 0's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_features.h"
#include "maker.h"
#include "member_statistics.h"
#include "moments.h"
#include "particle_ranks.h"
#include "rank_stores.h"
#include "rpinn/svgd.h"
#include "run_draws.h"
#include "run_progress.h"
#include "run_ranks.h"
#include "run_scores.h"
#include "run_targets.h"
#include "slow_ways.h"
#include "steady_clock.h"
#include "stein_team.h"
#include "unknown_noise.h"

enum {
  STATE_INTERVAL = 60,   /* seconds */
  PREDICTED_TOGETHER = 8 /* particles of each thread */
};

/* How the evaluation of one particle ended, and by whose posterior. */
typedef struct Prediction {
  RpinnStatus status;
  size_t thread;
} Prediction;

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run;                    /* the driver's */
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnBatchLogDensity *densities;  /* [num_threads] */
  RpinnBatchLeastSquares *features; /* [num_threads] of `kernel: functions` */
  RpinnSvgd *svgd;
  RpinnParticleRanks ranks;
  size_t num_particles, num_parameters, num_iterations;
  RpinnRunProgress progress;
  RpinnScore *scores;       /* [quantities and held-out terms] */
  RpinnTeam *team;          /* of as many threads as there are targets */
  double *mean, *deviation; /* [outputs.num_values] */
  size_t predicted_together, first_predicted;
  double *values;          /* [predicted_together][outputs.num_values] */
  Prediction *predictions; /* [predicted_together] */
  double *gradient;        /* [parameters] of one energy */
  size_t piece;            /* iterations between two looks at the clock */
} Session;

/* ---- the way ---- */

/* Where the particles were, with the gradients that they moved by. */
static RpinnStatus trace_particles(Session *session, double *columns) {
  const RpinnSvgd *svgd = session->svgd;
  const double *densities = rpinn_svgd_log_densities(svgd);
  RpinnSteinDiscrepancy discrepancy;
  double mean = 0;
  RPINN_TRY(rpinn_stein_discrepancy_by(session->context, session->team, session->driver->num_threads,
                                       session->num_particles, session->num_parameters,
                                       rpinn_svgd_before(svgd), rpinn_svgd_gradients(svgd), &discrepancy));
  for (size_t i = 0; i < session->num_particles; i++) mean += densities[i] / (double)session->num_particles;
  columns[RPINN_TRACE_ITERATION] = (double)rpinn_svgd_num_iterations(svgd);
  columns[RPINN_TRACE_LOG_DENSITY] = mean;
  columns[RPINN_TRACE_BANDWIDTH] = rpinn_svgd_bandwidth(svgd);
  columns[RPINN_TRACE_NORM] = rpinn_svgd_mean_norm(svgd);
  columns[RPINN_TRACE_DISCREPANCY] = discrepancy.value;
  return RPINN_OK;
}

/* Particle first + task, to its place among `values`. */
static void predict_task(void *user, size_t thread, size_t task) {
  Session *session = user;
  const RpinnRun *run = session->run;
  const double *theta =
      rpinn_svgd_particles(session->svgd) + (session->first_predicted + task) * session->num_parameters;
  session->predictions[task] =
      (Prediction){.status = rpinn_draw_outputs_evaluate(NULL, &run->outputs, run->posteriors[thread], theta,
                                                         session->values + task * run->outputs.num_values),
                   .thread = thread};
}

/* Some particles at a time by all threads, added in their order. One that failed is evaluated again by this thread, to say why; by the same
 * posterior, for it may be its device that has failed. */
static RpinnStatus add_predictions(Session *session, RpinnMoments *moments) {
  const RpinnRun *run = session->run;
  size_t n = session->num_particles, size = run->outputs.num_values;
  for (size_t first = 0; first < n; first += session->predicted_together) {
    size_t count = n - first < session->predicted_together ? n - first : session->predicted_together;
    session->first_predicted = first;
    rpinn_team_run(session->team, count, predict_task, session);
    for (size_t i = 0; i < count; i++) {
      const Prediction *own = &session->predictions[i];
      if (own->status != RPINN_OK)
        RPINN_TRY(rpinn_draw_outputs_evaluate(session->context, &run->outputs, run->posteriors[own->thread],
                                              rpinn_svgd_particles(session->svgd) +
                                                  (first + i) * session->num_parameters,
                                              session->values + i * size));
      rpinn_moments_add(moments, session->values + i * size);
    }
  }
  return RPINN_OK;
}

/* The scores where the particles are now. The published figures are those of such a moment. */
static RpinnStatus trace_scores(Session *session) {
  RpinnRun *run = session->run;
  RpinnParticleTrace *trace = &run->results.particles;
  RpinnMoments *moments = rpinn_moments_create(run->outputs.num_values);
  if (!moments) return rpinn_fail_memory(session->context);
  RpinnStatus status = add_predictions(session, moments);
  if (status == RPINN_OK) rpinn_moments_get(moments, session->mean, session->deviation);
  rpinn_moments_destroy(moments);
  RPINN_TRY(status);
  double *row = trace->rows + trace->num_rows * trace->width;
  RPINN_TRY(trace_particles(session, row));
  trace->num_rows++;
  row += RPINN_TRACE_OWN;
  for (size_t q = 0; q < run->outputs.num_quantities; q++) {
    RpinnScore *score = &session->scores[q];
    rpinn_score_moments(score, session->mean, session->deviation, session->num_particles > 1);
    const double columns[RPINN_TRACE_SCORES] = {score->rl2, score->linf,      score->mean_std,
                                                score->lpp, score->lpp_table, score->coverage};
    memcpy(row, columns, sizeof columns);
    row += RPINN_TRACE_SCORES;
  }
  return RPINN_OK;
}

static size_t num_iterations_of(const RpinnRun *run) {
  return (size_t)run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
}

static RpinnStatus allocate(Session *session) {
  RpinnRun *run = session->run;
  size_t bytes = (run->outputs.num_values + 1) * sizeof(double);
  session->scores = calloc(run->outputs.num_quantities + run->outputs.num_tests + 1, sizeof *session->scores);
  session->predicted_together = PREDICTED_TOGETHER * session->driver->num_threads;
  session->values = malloc(session->predicted_together * bytes);
  session->predictions = calloc(session->predicted_together, sizeof *session->predictions);
  session->mean = malloc(bytes);
  session->deviation = malloc(bytes);
  session->densities = calloc(session->driver->num_threads, sizeof *session->densities);
  session->features = calloc(session->driver->num_threads, sizeof *session->features);
  session->gradient = malloc((session->num_parameters + 1) * sizeof(double));
  if (!session->scores || !session->values || !session->predictions || !session->mean ||
      !session->deviation || !session->densities || !session->features || !session->gradient)
    return rpinn_fail_memory(session->context);
  RPINN_TRY(rpinn_run_make_trace_room(session->context, run));
  rpinn_run_list_scores(run, session->scores);
  for (size_t i = 0; i < session->driver->num_threads; i++)
    session->densities[i] = ((const RpinnRunTarget *)session->targets[i].data)->slots->density;
  return RPINN_OK;
}

static RpinnSvgdOptions read_options(const Session *session) {
  const RpinnProblem *problem = session->run->problem;
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = session->num_particles;
  options.rule = rpinn_run_minimize_options(problem).adam;
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_OPTIMIZER) == RPINN_MINIMIZER_ADAGRAD)
    options.optimizer = RPINN_SVGD_ADAGRAD;
  options.undivided_repulsion =
      rpinn_settings_choice(&problem->settings, RPINN_SETTING_REPULSION) == RPINN_REPULSION_UNDIVIDED;
  options.single_precision = session->run->posteriors[0]->precision != RPINN_PRECISION_DOUBLE;
  return options;
}

/* ---- the state: rows of the trace, then the particles ---- */

static RpinnStatus save_state(Session *session) {
  const RpinnParticleTrace *trace = &session->run->results.particles;
  size_t trace_size = rpinn_particle_trace_size(trace),
         size = trace_size + rpinn_svgd_state_size(session->svgd);
  char *state = malloc(size);
  if (!state) return rpinn_fail_memory(session->context);
  rpinn_particle_trace_save(trace, state);
  rpinn_svgd_save(session->svgd, state + trace_size);
  RpinnStatus status = rpinn_member_store_put_state(session->context, session->run->store,
                                                    rpinn_chain_state_key(0), state, size);
  free(state);
  return status;
}

static RpinnStatus restore_state(Session *session, const char *state, size_t size) {
  size_t used;
  RPINN_TRY(
      rpinn_particle_trace_restore(session->context, &session->run->results.particles, state, size, &used));
  return rpinn_svgd_restore(session->context, session->svgd, state + used, size - used);
}

static RpinnStatus start_particles(Session *session) {
  const RpinnMemberTarget *target = &session->targets[0];
  double *particles = malloc(session->num_particles * session->num_parameters * sizeof *particles);
  RpinnStatus status = particles ? RPINN_OK : rpinn_fail_memory(session->context);
  for (size_t i = 0; i < session->num_particles && status == RPINN_OK; i++) {
    double *own = particles + i * session->num_parameters;
    target->take_slot(target->data, 0, i, 0, false);
    status = target->draw_start(target->data, 0, i, 0, own);
    rpinn_run_target_draw_noise(target->data, i, 0, own + target->num_parameters);
  }
  if (status == RPINN_OK) status = rpinn_svgd_start(session->context, session->svgd, particles);
  free(particles);
  return status;
}

/* From the start, or from where an earlier session stopped. */
static RpinnStatus begin(Session *session) {
  RpinnRun *run = session->run;
  void *state = NULL;
  size_t size;
  if (session->driver->options->resume)
    RPINN_TRY(
        rpinn_member_store_get_state(session->context, run->store, rpinn_chain_state_key(0), &state, &size));
  RpinnStatus status = state ? restore_state(session, state, size) : start_particles(session);
  free(state);
  return status;
}

/* ---- members ---- */

static RpinnStatus store_particle(Session *session, size_t index, double *statistics) {
  const RpinnMemberTarget *target = &session->targets[0];
  const RpinnRunTarget *own = target->data;
  const double *theta = rpinn_svgd_particles(session->svgd) + index * session->num_parameters;
  double norm = 0;
  memset(statistics, 0, RPINN_NUM_MEMBER_STATISTICS * sizeof *statistics);
  RPINN_TRY(rpinn_member_slots_draw_energy(session->context, own->slots, theta,
                                           &statistics[RPINN_MEMBER_LOSS],
                                           statistics + RPINN_NUM_MEMBER_STATISTICS, session->gradient));
  for (size_t j = 0; j < target->num_parameters; j++) norm += session->gradient[j] * session->gradient[j];
  statistics[RPINN_MEMBER_GRADIENT_NORM] = sqrt(norm);
  statistics[RPINN_MEMBER_ITERATIONS] = statistics[RPINN_MEMBER_EVALUATIONS] =
      (double)rpinn_svgd_num_iterations(session->svgd);
  RpinnStoredMember member = {.index = index,
                              .num_parameters = session->num_parameters,
                              .parameters = theta,
                              .num_statistics = RPINN_NUM_MEMBER_STATISTICS + target->objective->num_parts,
                              .statistics = statistics,
                              .stop = rpinn_stop_name(RPINN_STOP_BUDGET)};
  return rpinn_member_store_put(session->context, session->run->store, &member);
}

static RpinnStatus store_particles(Session *session) {
  double *statistics =
      calloc(RPINN_NUM_MEMBER_STATISTICS + session->targets[0].objective->num_parts, sizeof *statistics);
  RpinnStatus status = statistics ? RPINN_OK : rpinn_fail_memory(session->context);
  for (size_t i = 0; i < session->num_particles && status == RPINN_OK; i++)
    status = store_particle(session, i, statistics);
  free(statistics);
  return status;
}

/* ---- the run ---- */

/* Others go on until rank 0 has no further part for them. */
static RpinnStatus follow(Session *session) {
  const RpinnRunOptions *options = session->driver->options;
  RpinnStatus status =
      rpinn_particle_ranks_begin(session->context, &session->ranks, session->driver, session->svgd);
  while (status == RPINN_OK && rpinn_svgd_num_iterations(session->svgd) < session->num_iterations) {
    options->interrupted(options->user); /* rank 0 hears of it */
    status = rpinn_svgd_advance(session->context, session->svgd, 1);
  }
  if (status != RPINN_ERROR_INTERRUPTED) return status;
  rpinn_context_clear_error(session->context);
  return RPINN_OK;
}

/* As many iterations as take some tenths of a second: a call has its price where the particles are on a device. Ranks have one at a time, for
 * any of them may be asked to stop. */
static void choose_piece(Session *session, double seconds) {
  if (session->ranks.ranks) return;
  if (seconds < 0.1 && session->piece < session->num_iterations) session->piece *= 2;
  if (seconds > 0.5 && session->piece > 1) session->piece /= 2;
}

/* Iterations, with a row of the trace behind them where one is due. */
static RpinnStatus iterate(Session *session) {
  size_t done = rpinn_svgd_num_iterations(session->svgd), every = session->run->results.particles.every;
  size_t left = every - done % every, to_end = session->num_iterations - done;
  if (left > to_end) left = to_end;
  bool is_traced = left <= session->piece;
  double begun = rpinn_steady_seconds();
  RPINN_TRY(rpinn_svgd_advance(session->context, session->svgd, is_traced ? left : session->piece));
  choose_piece(session, rpinn_steady_seconds() - begun);
  return is_traced ? trace_scores(session) : RPINN_OK;
}

/* Without the others there is no iteration: the particles are saved where the last one left them. */
static RpinnStatus end_without_others(Session *session, RpinnStatus status) {
  RpinnContext *context = session->context;
  if (status != RPINN_ERROR_INTERRUPTED && rpinn_ranks_check(context, session->ranks.ranks) == RPINN_OK)
    return status;
  RpinnError reason = context->error;
  RPINN_TRY(save_state(session));
  RPINN_TRY(rpinn_member_store_flush(context, session->run->store));
  context->error = reason;
  if (status != RPINN_ERROR_INTERRUPTED) return status;
  rpinn_context_clear_error(context);
  session->driver->interrupted = true;
  return RPINN_OK;
}

static RpinnStatus advance(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRunProgress *progress = &session->progress;
  double limit = rpinn_driver_time_limit(driver), begun = rpinn_steady_seconds(), saved = begun;
  progress->done = rpinn_svgd_num_iterations(session->svgd);
  while (progress->done < session->num_iterations && !driver->interrupted && !driver->out_of_time) {
    size_t before = progress->done;
    RpinnStatus status = iterate(session);
    if (status != RPINN_OK) return end_without_others(session, status);
    progress->done = rpinn_svgd_num_iterations(session->svgd);
    progress->done_here += progress->done - before;
    progress->iterations = progress->done_here;
    rpinn_run_progress_add_loss(progress, -rpinn_svgd_log_densities(session->svgd)[0]);
    bool more = progress->done < session->num_iterations;
    double time = rpinn_steady_seconds();
    driver->interrupted = rpinn_run_progress_tick(progress) && more;
    driver->out_of_time = limit > 0 && time - begun >= limit && more && !driver->interrupted;
    if (driver->interrupted || driver->out_of_time)
      RPINN_TRY(rpinn_particle_ranks_stop(session->context, &session->ranks));
    if (more && (driver->interrupted || driver->out_of_time || time - saved >= STATE_INTERVAL)) {
      RPINN_TRY(save_state(session));
      saved = time;
    }
  }
  rpinn_run_progress_report(progress, true);
  rpinn_driver_log(driver, "%llu of %zu iterations of %zu particles are done",
                   (unsigned long long)progress->done, session->num_iterations, session->num_particles);
  return RPINN_OK;
}

static RpinnStatus make_particles(Session *session) {
  RpinnContext *context = session->context;
  RpinnDriver *driver = session->driver;
  if (rpinn_run_follows(driver)) return follow(session);
  RPINN_TRY(begin(session));
  RPINN_TRY(rpinn_particle_ranks_begin(context, &session->ranks, driver, session->svgd));
  RPINN_TRY(advance(session));
  RPINN_TRY(rpinn_run_await_handed_in(context, driver));
  RPINN_TRY(rpinn_rank_stores_collect(context, driver));
  if (session->driver->interrupted) return RPINN_OK;
  RPINN_TRY(store_particles(session));
  return save_state(session);
}

static RpinnStatus create_particles(Session *session, const RpinnSvgdOptions *options) {
  RpinnContext *context = session->context;
  const RpinnRun *run = session->run;
  size_t num_threads = session->driver->num_threads;
  if (rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_KERNEL) == RPINN_KERNEL_PARAMETERS)
    return rpinn_svgd_create_batch(context, num_threads, session->densities, options, &session->svgd);
  for (size_t k = 0; k < num_threads; k++)
    RPINN_TRY(rpinn_draw_features_create(context, run->posteriors[k], &session->features[k]));
  return rpinn_svgd_create_with_features(context, num_threads, session->densities, session->features, options,
                                         &session->svgd);
}

static RpinnStatus create_session(RpinnContext *context, RpinnDriver *driver,
                                  const RpinnMemberTarget *targets, Session **result) {
  RpinnRun *run = driver->run;
  Session *session = *result = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  *session = (Session){.context = context,
                       .driver = driver,
                       .run = run,
                       .targets = targets,
                       .num_particles = (size_t)run->num_samples,
                       .num_parameters = rpinn_posterior_num_drawn(run->posteriors[0]),
                       .num_iterations = num_iterations_of(run),
                       .piece = 1};
  session->progress = (RpinnRunProgress){
      .driver = driver, .unit = driver->maker->progress_unit, .total = session->num_iterations};
  RpinnSvgdOptions options = read_options(session);
  RPINN_TRY(allocate(session));
  RPINN_TRY(rpinn_team_create(context, driver->num_threads, &session->team));
  return create_particles(session, &options);
}

static void destroy_session(Session *session) {
  if (!session) return;
  rpinn_svgd_destroy(session->svgd);
  rpinn_team_destroy(session->team);
  free(session->scores);
  free(session->values);
  free(session->predictions);
  free(session->mean);
  free(session->deviation);
  free(session->densities);
  free(session->features);
  free(session->gradient);
  free(session);
}

RpinnStatus rpinn_run_make_particles(RpinnContext *context, RpinnDriver *driver,
                                     const RpinnMemberTarget *targets) {
  Session *session;
  rpinn_run_say_slow_particles(context, driver, targets);
  RpinnStatus status = create_session(context, driver, targets, &session);
  if (status == RPINN_OK) status = make_particles(session);
  destroy_session(session);
  return status;
}

/* The first iteration also touches all memory: the second one counts. */
RpinnStatus rpinn_run_try_particles(RpinnContext *context, RpinnDriver *driver,
                                    const RpinnMemberTarget *targets, double *seconds) {
  Session *session;
  RpinnStatus status = create_session(context, driver, targets, &session);
  if (status == RPINN_OK) status = start_particles(session);
  if (status == RPINN_OK) status = rpinn_svgd_advance(context, session->svgd, 1);
  double start = rpinn_steady_seconds();
  if (status == RPINN_OK) status = rpinn_svgd_advance(context, session->svgd, 1);
  *seconds = rpinn_steady_seconds() - start;
  destroy_session(session);
  return status;
}
