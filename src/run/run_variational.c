/* Method vi: a normal distribution is fitted, all threads at each iteration of all starts, and then drawn from. The state of the fit
 * goes to the store now and then, when the run stops, and at the end; what was fitted goes there behind its draws, so that draws of
 * another fit, one that the time limit has cut short, are told from its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "member_statistics.h"
#include "rpinn/variational.h"
#include "run_draws.h"
#include "run_progress.h"
#include "run_targets.h"
#include "steady_clock.h"
#include "unknown_noise.h"
#include "variational_gaussian.h"
#include "variational_starts.h"

enum { STATE_INTERVAL = 60 /* seconds */ };

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run;                    /* the driver's */
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnBatchLogDensity *densities;  /* [num_threads] */
  RpinnVariationalOptions options;
  RpinnVariational *fit;
  size_t num_parameters;
  RpinnRunProgress progress;
  double *theta, *gradient; /* [parameters] of one draw */
  double *statistics;       /* [num_statistics] likewise */
  size_t num_statistics;
} Session;

/* ---- create and destroy ---- */

static RpinnVariationalOptions read_options(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  RpinnVariationalOptions options = rpinn_variational_default_options();
  RpinnAdamRule rule = rpinn_run_minimize_options(run->problem).adam;
  options.family = (RpinnFamily)rpinn_settings_choice(settings, RPINN_SETTING_FAMILY);
  options.rank = (size_t)settings->values[RPINN_SETTING_RANK].number;
  options.num_starts = (size_t)settings->values[RPINN_SETTING_STARTS].number;
  options.num_pairs = (size_t)settings->values[RPINN_SETTING_PAIRS].number;
  options.max_iterations = (size_t)settings->values[RPINN_SETTING_ITERATIONS].number;
  options.rule.learning_rate = rule.learning_rate;
  options.rule.decay_rate = rule.decay_rate;
  options.rule.decay_steps = rule.decay_steps;
  options.seed = run->posteriors[0]->seed;
  return options;
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
                       .options = read_options(run),
                       .num_parameters = rpinn_posterior_num_drawn(run->posteriors[0]),
                       .num_statistics = RPINN_NUM_MEMBER_STATISTICS + targets[0].objective->num_parts};
  session->progress = (RpinnRunProgress){
      .driver = driver, .unit = driver->maker->progress_unit, .total = session->options.max_iterations};
  session->densities = calloc(driver->num_threads, sizeof *session->densities);
  session->theta = malloc((session->num_parameters + 1) * sizeof(double));
  session->gradient = malloc((session->num_parameters + 1) * sizeof(double));
  session->statistics = malloc(session->num_statistics * sizeof(double));
  if (!session->densities || !session->theta || !session->gradient || !session->statistics)
    return rpinn_fail_memory(context);
  for (size_t i = 0; i < driver->num_threads; i++)
    session->densities[i] = ((const RpinnRunTarget *)targets[i].data)->slots->density;
  return rpinn_variational_create_batch(context, driver->num_threads, session->densities, &session->options,
                                        &session->fit);
}

static void destroy_session(Session *session) {
  if (!session) return;
  rpinn_variational_destroy(session->fit);
  free(session->densities);
  free(session->theta);
  free(session->gradient);
  free(session->statistics);
  free(session);
}

/* ---- the fit ---- */

static RpinnStatus save_state(Session *session) {
  size_t size = rpinn_variational_state_size(session->fit);
  void *state = malloc(size);
  if (!state) return rpinn_fail_memory(session->context);
  rpinn_variational_save(session->fit, state);
  RpinnStatus status = rpinn_member_store_put_state(session->context, session->run->store,
                                                    rpinn_chain_state_key(0), state, size);
  free(state);
  return status == RPINN_OK ? rpinn_member_store_flush(session->context, session->run->store) : status;
}

static RpinnStatus start_fit(Session *session) {
  const RpinnVariationalOptions *options = &session->options;
  size_t count = options->num_starts * session->num_parameters;
  bool has_factors = options->family == RPINN_FAMILY_PRECISION;
  double *memory = calloc(count * (2 + (has_factors ? options->rank : 0)), sizeof *memory);
  if (!memory) return rpinn_fail_memory(session->context);
  RpinnVariationalBeginning beginning = {.means = memory,
                                         .deviations = memory + count,
                                         .factors = has_factors ? memory + 2 * count : NULL,
                                         .rank = options->rank};
  RpinnStatus status = rpinn_run_variational_starts(session->context, session->driver, session->targets,
                                                    options->num_starts, &beginning);
  if (status == RPINN_OK && !session->driver->interrupted)
    status = rpinn_variational_start(session->context, session->fit, beginning.means, beginning.deviations,
                                     beginning.factors);
  free(memory);
  return status;
}

/* From the start, or from where an earlier session stopped. */
static RpinnStatus begin(Session *session) {
  void *state = NULL;
  size_t size;
  if (session->driver->options->resume)
    RPINN_TRY(rpinn_member_store_get_state(session->context, session->run->store, rpinn_chain_state_key(0),
                                           &state, &size));
  RpinnStatus status =
      state ? rpinn_variational_restore(session->context, session->fit, state, size) : start_fit(session);
  free(state);
  return status;
}

static void look_for_end(Session *session, double begun) {
  RpinnDriver *driver = session->driver;
  double limit = rpinn_driver_time_limit(driver);
  bool more = !rpinn_variational_is_finished(session->fit);
  driver->interrupted = rpinn_run_progress_tick(&session->progress) && more;
  driver->out_of_time = limit > 0 && rpinn_steady_seconds() - begun >= limit && more && !driver->interrupted;
}

static RpinnStatus advance(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRunProgress *progress = &session->progress;
  double begun = rpinn_steady_seconds(), saved = begun;
  progress->done = rpinn_variational_num_iterations(session->fit);
  while (!rpinn_variational_is_finished(session->fit) && !driver->interrupted && !driver->out_of_time) {
    RPINN_TRY(rpinn_variational_advance(session->context, session->fit, 1));
    progress->done = rpinn_variational_num_iterations(session->fit);
    progress->iterations = ++progress->done_here;
    look_for_end(session, begun);
    double time = rpinn_steady_seconds();
    if (time - saved < STATE_INTERVAL) continue;
    RPINN_TRY(save_state(session));
    saved = time;
  }
  rpinn_run_progress_report(progress, true);
  return save_state(session);
}

/* ---- what was fitted ---- */

static RpinnStatus make_result(Session *session) {
  RpinnVariationalResult *result = &session->run->variational;
  double constant = rpinn_posterior_log_constant(session->run->posteriors[0]);
  size_t num_starts = session->options.num_starts, num_windows = 0, next = 0;
  for (size_t k = 0; k < num_starts; k++) num_windows += rpinn_variational_look(session->fit, k).num_windows;
  size_t chosen = rpinn_variational_best(session->fit);
  RpinnVariationalStart best = rpinn_variational_look(session->fit, chosen);
  RPINN_TRY(
      rpinn_run_make_variational_room(session->context, session->run, best.rank, num_starts, num_windows));
  result->chosen = chosen;
  for (size_t k = 0; k < num_starts; k++) {
    RpinnVariationalStart start = rpinn_variational_look(session->fit, k);
    result->starts[k] = (RpinnFittedStart){(double)start.num_iterations, start.converged,
                                           start.elbo + constant, start.error, (double)start.num_windows};
    for (size_t i = 0; i < start.num_windows; i++, next++) {
      result->windows[next] = start.windows[i];
      result->windows[next].elbo += constant;
    }
  }
  memcpy(result->q->mean, best.mean, best.num_parameters * sizeof(double));
  memcpy(result->q->omega, best.log_deviation, best.num_parameters * sizeof(double));
  memcpy(result->q->factors, best.factors, best.num_parameters * best.rank * sizeof(double));
  rpinn_variational_gaussian_settle(result->q); /* as it is in the fit, which was finite */
  rpinn_driver_log(session->driver,
                   "start %zu of %zu has the highest bound on the log evidence, %.6g +- %.2g, after %zu "
                   "iterations",
                   chosen, num_starts, best.elbo + constant, best.error, best.num_iterations);
  return RPINN_OK;
}

/* Is it what the store has, behind its draws? */
static RpinnStatus compare_result(Session *session, const void *state, size_t size, bool *same) {
  void *stored = NULL;
  size_t stored_size = 0;
  RPINN_TRY(rpinn_member_store_get_state(session->context, session->run->store, rpinn_variational_state_key(),
                                         &stored, &stored_size));
  *same = stored && stored_size == size && !memcmp(stored, state, size);
  free(stored);
  return RPINN_OK;
}

/* ---- draws ---- */

static RpinnStatus store_draw(Session *session, uint64_t index) {
  const RpinnMemberTarget *target = &session->targets[0];
  const RpinnRunTarget *own = target->data;
  const RpinnFittedStart *start = &session->run->variational.starts[session->run->variational.chosen];
  double *statistics = session->statistics, norm = 0, begun = rpinn_steady_seconds();
  memset(statistics, 0, session->num_statistics * sizeof *statistics);
  rpinn_variational_draw(session->fit, index, session->theta, NULL);
  RPINN_TRY(rpinn_member_slots_draw_energy(session->context, own->slots, session->theta,
                                           &statistics[RPINN_MEMBER_LOSS],
                                           statistics + RPINN_NUM_MEMBER_STATISTICS, session->gradient));
  for (size_t j = 0; j < target->num_parameters; j++) norm += session->gradient[j] * session->gradient[j];
  statistics[RPINN_MEMBER_GRADIENT_NORM] = sqrt(norm);
  statistics[RPINN_MEMBER_ITERATIONS] = start->num_iterations;
  statistics[RPINN_MEMBER_EVALUATIONS] = 1;
  statistics[RPINN_MEMBER_CONVERGED] = start->converged;
  statistics[RPINN_MEMBER_SECONDS] = rpinn_steady_seconds() - begun;
  RpinnStoredMember member = {
      .index = index,
      .num_parameters = session->num_parameters,
      .parameters = session->theta,
      .num_statistics = session->num_statistics,
      .statistics = statistics,
      .stop = rpinn_stop_name(start->converged > 0 ? RPINN_STOP_NO_PROGRESS : RPINN_STOP_BUDGET)};
  return rpinn_member_store_put(session->context, session->run->store, &member);
}

/* Draws that are missing, or all where those in the store are of another fit. */
static RpinnStatus store_draws(Session *session, bool same) {
  RpinnDriver *driver = session->driver;
  for (uint64_t k = 0; k < session->run->num_samples && !driver->interrupted; k++) {
    bool has = false;
    if (same) RPINN_TRY(rpinn_member_store_has(session->context, session->run->store, k, &has));
    if (has) continue;
    RPINN_TRY(store_draw(session, k));
    driver->interrupted = rpinn_run_progress_tick(&session->progress) && k + 1 < session->run->num_samples;
  }
  return rpinn_member_store_flush(session->context, session->run->store);
}

static RpinnStatus draw(Session *session) {
  void *state;
  size_t size;
  bool same;
  RPINN_TRY(make_result(session));
  RPINN_TRY(rpinn_run_pack_variational(session->context, session->run, &state, &size));
  RpinnStatus status = compare_result(session, state, size, &same);
  if (status == RPINN_OK) status = store_draws(session, same);
  if (status == RPINN_OK && !same && !session->driver->interrupted)
    status = rpinn_member_store_put_state(session->context, session->run->store,
                                          rpinn_variational_state_key(), state, size);
  free(state);
  return status == RPINN_OK ? rpinn_member_store_flush(session->context, session->run->store) : status;
}

/* ---- the run ---- */

/* Where the time limit cuts the fit short its starts are finished where they are, behind the state that a resumed run goes on from. */
static RpinnStatus make_draws(Session *session) {
  RPINN_TRY(begin(session));
  if (session->driver->interrupted) return RPINN_OK;
  RPINN_TRY(advance(session));
  if (session->driver->interrupted) return RPINN_OK;
  if (session->driver->out_of_time) RPINN_TRY(rpinn_variational_finish(session->context, session->fit));
  return draw(session);
}

RpinnStatus rpinn_run_make_variational_draws(RpinnContext *context, RpinnDriver *driver,
                                             const RpinnMemberTarget *targets) {
  Session *session;
  RpinnStatus status = create_session(context, driver, targets, &session);
  if (status == RPINN_OK) status = make_draws(session);
  destroy_session(session);
  return status;
}

/* Starts that nobody has sought: an iteration takes as long anywhere. The first one also touches all memory: the second one counts. */
RpinnStatus rpinn_run_try_variational(RpinnContext *context, RpinnDriver *driver,
                                      const RpinnMemberTarget *targets, double *seconds) {
  Session *session;
  RpinnStatus status = create_session(context, driver, targets, &session);
  double *means = status == RPINN_OK
                      ? calloc(session->options.num_starts * session->num_parameters, sizeof *means)
                      : NULL;
  if (status == RPINN_OK) status = means ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t k = 0; status == RPINN_OK && k < session->options.num_starts; k++) {
    double *own = means + k * session->num_parameters;
    targets[0].take_slot(targets[0].data, 0, k, 0, false);
    status = targets[0].draw_start(targets[0].data, 0, k, 0, own);
    rpinn_run_target_draw_noise(targets[0].data, k, 0, own + targets[0].num_parameters);
  }
  if (status == RPINN_OK) status = rpinn_variational_start(context, session->fit, means, NULL, NULL);
  if (status == RPINN_OK) status = rpinn_variational_advance(context, session->fit, 1);
  double begun = rpinn_steady_seconds();
  if (status == RPINN_OK) status = rpinn_variational_advance(context, session->fit, 1);
  *seconds = rpinn_steady_seconds() - begun;
  free(means);
  destroy_session(session);
  return status;
}
