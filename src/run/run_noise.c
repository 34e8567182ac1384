/* As with the prior's scale, methods that seek the most probable point have the evidence there: searches begin at draws of the
 * prior (near zero they end with all data as noise), and the one of the highest evidence is kept, since energies under different
 * noise cannot be compared. Methods that draw have the mean of the evidence at a few rPINN members: minima may have collapsed where
 * the mass of the posterior has not. */
#include "run_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "maker.h"
#include "run_progress.h"
#include "run_targets.h"
#include "scale_trial.h"
#include "scaled_rows.h"
#include "task_pool.h"
#include "unknown_noise.h"

enum { MAX_STARTS = 8, ITERATIONS = 200, MAX_ROUNDS = 20 };
static const double settled = 1e-3; /* of eta: a per mille of s */

RpinnStatus rpinn_noise_rows_of(RpinnContext *context, RpinnArena *arena, const RpinnPosterior *posterior,
                                RpinnNoiseRows *noise) {
  size_t K = posterior->num_noises, M = posterior->model.num_rows, row = 0;
  size_t *of_row = RPINN_ARENA_NEW(arena, size_t, M + K + 1);
  double *numbers = RPINN_ARENA_NEW(arena, double, 3 * K + 1);
  if (!of_row || !numbers) return rpinn_fail_memory(context);
  size_t *num_rows = of_row + M;
  double *eta_0 = numbers, *prior_mean = numbers + K, *prior_std = numbers + 2 * K;
  for (size_t i = 0; i < M; i++) of_row[i] = K;
  for (size_t t = 0; t < posterior->model.num_terms; row += posterior->model.terms[t++].num_rows)
    for (size_t k = 0; k < K; k++)
      for (size_t i = 0; posterior->noises[k].term == t && i < posterior->noises[k].num_rows; i++)
        of_row[row + i] = k;
  for (size_t k = 0; k < K; k++) {
    num_rows[k] = posterior->noises[k].num_rows;
    eta_0[k] = log(posterior->noises[k].start);
    prior_mean[k] = posterior->noises[k].prior_mean;
    prior_std[k] = posterior->noises[k].prior_std;
  }
  *noise = (RpinnNoiseRows){K, of_row, num_rows, eta_0, prior_mean, prior_std};
  return RPINN_OK;
}

/* ---- in a thread ---- */

typedef struct Search {
  RpinnDriver *driver;
  RpinnRun *run; /* the driver's */
  RpinnRunProgress progress;
  const RpinnPosterior *posterior; /* at the starts of its noise */
  RpinnNoiseRows noise;
  bool at_minimum;
  size_t num_starts, round;
  double *theta;                      /* [MAX_STARTS][N] */
  double *eta;                        /* [MAX_STARTS][K]; at members, the first is that of all */
  RpinnNoiseFit fits[MAX_STARTS];     /* at the minimum */
  bool converged[MAX_STARTS];         /* at members */
  RpinnLinearisation *at[MAX_STARTS]; /* likewise; NULL where it is not finite */
} Search;

typedef struct Worker {
  Search *search;
  RpinnDoubleTarget target;
  RpinnScaledRows scaled;
  double *offsets; /* [M + N] */
} Worker;

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  Worker *own = *worker = calloc(1, sizeof *own);
  (void)pool;
  (void)thread;
  if (!own) return rpinn_fail_memory(context);
  own->search = user;
  const RpinnEnergyModel *model = &own->search->posterior->model;
  own->offsets = malloc((model->num_rows + model->num_parameters + 1) * sizeof *own->offsets);
  if (!own->offsets) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_double_target_open(context, own->search->posterior, &own->target));
  return rpinn_scaled_rows_open(&own->target.squares, &own->scaled) == RPINN_OK ? RPINN_OK
                                                                                : rpinn_fail_memory(context);
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (!own) return;
  rpinn_scaled_rows_close(&own->scaled);
  rpinn_double_target_close(&own->target);
  free(own->offsets);
  free(own);
}

/* The minimum that a start leads to, with the noise of its own evidence. */
static RpinnStatus fit_from_start(RpinnContext *context, const Worker *own, RpinnTaskPool *pool,
                                  size_t start) {
  Search *search = own->search;
  double *theta = search->theta + start * search->posterior->model.num_parameters,
         *eta = search->eta + start * search->noise.count;
  rpinn_posterior_start_search(search->posterior, start, search->posterior->model.prior_root, own->offsets,
                               theta);
  memcpy(eta, search->noise.eta_0, search->noise.count * sizeof *eta);
  return rpinn_noise_fit(context, &own->target.squares, NULL, &search->noise, ITERATIONS,
                         rpinn_task_pool_wants_end, pool, theta, eta, &search->fits[start]);
}

/* One member with the noise of all, from where it was in the round before, and the model linearised there. */
static RpinnStatus move_member(RpinnContext *context, const Worker *own, RpinnTaskPool *pool, size_t member) {
  Search *search = own->search;
  const RpinnEnergyModel *model = &search->posterior->model;
  double *theta = search->theta + member * model->num_parameters, energy;
  rpinn_posterior_start_search(search->posterior, member, model->prior_root, own->offsets,
                               search->round ? NULL : theta);
  rpinn_noise_factors(&search->noise, model->num_rows, search->eta, own->scaled.factors);
  RPINN_TRY(rpinn_scale_minimise(context, &own->scaled.squares, own->offsets, ITERATIONS,
                                 rpinn_task_pool_wants_end, pool, theta, &energy,
                                 &search->converged[member]));
  if (!isfinite(energy)) return RPINN_OK;
  RpinnStatus status = rpinn_linearisation_create(&own->target.squares, theta, &search->at[member]);
  if (status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  return status == RPINN_ERROR_NUMERIC ? RPINN_OK : status;
}

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t start) {
  const Worker *own = worker;
  return own->search->at_minimum ? fit_from_start(context, own, pool, start)
                                 : move_member(context, own, pool, start);
}

/* ---- in the thread of the caller ---- */

static bool tick(void *user, uint64_t counted) {
  (void)counted;
  return rpinn_run_progress_tick(&((Search *)user)->progress);
}

static RpinnStatus run_starts(RpinnContext *context, Search *search) {
  RpinnDriver *driver = search->driver;
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions pool = {.num_threads = driver->num_threads < search->num_starts ? driver->num_threads
                                                                                       : search->num_starts,
                               .num_tasks = search->num_starts,
                               .user = search,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .perform = perform,
                               .tick = tick};
  RPINN_TRY(rpinn_task_pool_run(context, &pool, &result));
  driver->interrupted = result.interrupted;
  return RPINN_OK;
}

static RpinnStatus fail_unheld(RpinnContext *context, const Search *search) {
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "the noise cannot be learnt: no search from %zu draws of the prior ended where the data hold "
      "it; expected more data, a prior: for the noise, or the noise itself",
      search->num_starts);
}

/* Noise at zero: the model passes through every value, or nearly, and the data cannot tell what is noise. */
static RpinnStatus refuse_zero(RpinnContext *context, const Search *search, const RpinnNoisePoints *points) {
  static const double least_share = 1e-4, least_freedom = 0.02;
  const RpinnPosterior *posterior = search->posterior;
  for (size_t k = 0; k < search->noise.count; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    double sigma = exp(search->run->noise.posterior.mode[k]), freedom = 0;
    for (size_t i = 0; i < points->num_rows; i++)
      for (size_t p = 0; search->noise.of_row[i] == k && p < points->count; p++)
        freedom += rpinn_linearisation_inverse_diagonal(points->at[p], i);
    freedom /= (double)(noise->num_rows * points->count);
    if (sigma > least_share * noise->spread && freedom > least_freedom) continue;
    const RpinnTerm *term = &posterior->problem->terms[posterior->fitted[noise->term]];
    return rpinn_fail_at(
        context, term->noise_place,
        "the noise of term '%s' cannot be learnt: it falls to %.3g, where the spread of the data "
        "is %.3g and the model passes through them all; expected more data, a prior: for the "
        "noise, or the noise itself",
        term->name, sigma, noise->spread);
  }
  return RPINN_OK;
}

static RpinnStatus describe_mode(RpinnContext *context, const Search *search, const RpinnNoisePoints *points,
                                 const double *eta) {
  double value;
  RpinnStatus status = rpinn_noise_posterior_make(context, points, eta, &search->run->noise.posterior);
  if (status == RPINN_OK) status = rpinn_noise_evidence(points, eta, &value, NULL);
  if (status == RPINN_ERROR_NUMERIC) return fail_unheld(context, search);
  return status == RPINN_OK ? refuse_zero(context, search, points) : status;
}

/* ---- at the minimum ---- */

static RpinnStatus linearise_at_best(RpinnContext *context, const Search *search, const double *eta) {
  RpinnDoubleTarget target;
  RpinnLinearisation *linearisation = NULL;
  RpinnStatus status = rpinn_double_target_open(context, search->posterior, &target);
  if (status == RPINN_OK)
    status = rpinn_linearisation_create(&target.squares, search->run->noise.at, &linearisation);
  RpinnNoisePoints points = {&search->noise, search->posterior->model.num_rows, 1, &linearisation};
  status = status == RPINN_OK              ? describe_mode(context, search, &points, eta)
           : status == RPINN_ERROR_NUMERIC ? fail_unheld(context, search)
                                           : status;
  rpinn_linearisation_destroy(linearisation);
  rpinn_double_target_close(&target);
  return status;
}

static RpinnStatus learn_at_minimum(RpinnContext *context, Search *search) {
  RpinnRunNoise *found = &search->run->noise;
  size_t best = 0, N = search->posterior->model.num_parameters;
  RPINN_TRY(run_starts(context, search));
  if (search->driver->interrupted) return RPINN_OK;
  for (size_t k = 1; k < search->num_starts; k++)
    if (search->fits[k].value > search->fits[best].value) best = k;
  if (!isfinite(search->fits[best].value)) return fail_unheld(context, search);
  found->num_at_maximum = 0;
  for (size_t k = 0; k < search->num_starts; k++) /* within one nat: about as probable */
    found->num_at_maximum += search->fits[k].value >= search->fits[best].value - 1;
  memcpy(found->at, search->theta + best * N, N * sizeof(double));
  return linearise_at_best(context, search, search->eta + best * search->noise.count);
}

/* ---- at members ---- */

static void forget_points(Search *search) {
  for (size_t k = 0; k < search->num_starts; k++) {
    rpinn_linearisation_destroy(search->at[k]);
    search->at[k] = NULL;
  }
}

/* Those that are finite come first. */
static size_t gather_points(Search *search) {
  size_t count = 0;
  for (size_t k = 0; k < search->num_starts; k++) {
    RpinnLinearisation *point = search->at[k];
    search->at[k] = NULL;
    if (point) search->at[count++] = point;
  }
  return count;
}

/* Members for eta, then eta for members, until eta rests; with the points of the last round. before [K]. */
static RpinnStatus move_in_turn(RpinnContext *context, Search *search, double *before,
                                RpinnNoisePoints *points) {
  size_t K = search->noise.count;
  double moved = (double)INFINITY, value;
  memcpy(search->eta, search->noise.eta_0, K * sizeof *before);
  for (search->round = 0; search->round < MAX_ROUNDS && moved > settled; search->round++) {
    forget_points(search);
    RPINN_TRY(run_starts(context, search));
    if (search->driver->interrupted) return RPINN_OK;
    points->count = gather_points(search);
    if (2 * points->count < search->num_starts) return fail_unheld(context, search);
    memcpy(before, search->eta, K * sizeof *before);
    RpinnStatus status = rpinn_noise_climb(points, search->eta, &value);
    if (status == RPINN_ERROR_NUMERIC) return fail_unheld(context, search);
    if (status != RPINN_OK) return rpinn_fail_memory(context);
    moved = 0;
    for (size_t k = 0; k < K; k++) moved = fmax(moved, fabs(search->eta[k] - before[k]));
  }
  return RPINN_OK;
}

static RpinnStatus learn_at_members(RpinnContext *context, Search *search) {
  RpinnRunNoise *found = &search->run->noise;
  const RpinnEnergyModel *model = &search->posterior->model;
  RpinnNoisePoints points = {&search->noise, model->num_rows, 0, search->at};
  double *before = malloc((search->noise.count + 1) * sizeof *before);
  if (!before) return rpinn_fail_memory(context);
  RpinnStatus status = move_in_turn(context, search, before, &points);
  if (status == RPINN_OK && !search->driver->interrupted)
    status = describe_mode(context, search, &points, search->eta);
  forget_points(search);
  free(before);
  found->num_at_maximum = 0;
  for (size_t k = 0; k < search->num_starts; k++) found->num_at_maximum += search->converged[k];
  memcpy(found->at, model->prior_mean, model->num_parameters * sizeof(double));
  return status;
}

/* ---- either ---- */

/* Points for the evidence: several only where they are cheap, for each costs as much as all searches for one. */
static size_t count_starts(const Search *search) {
  size_t M = search->posterior->model.num_rows;
  return search->at_minimum || M <= 400 ? MAX_STARTS : M <= 1200 ? MAX_STARTS / 2 : MAX_STARTS / 4;
}

static RpinnStatus learn(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  Search search = {
      .driver = driver,
      .run = run,
      .progress = {.driver = driver, .unit = driver->maker->progress_unit, .total = run->num_samples},
      .posterior = run->posteriors[0],
      .at_minimum = driver->maker->prior_at_minimum};
  size_t N = search.posterior->model.num_parameters, K = search.posterior->num_noises;
  rpinn_posterior_set_noise(run->posteriors[0], NULL);
  RPINN_TRY(rpinn_noise_rows_of(context, search.posterior->arena, search.posterior, &search.noise));
  search.num_starts = count_starts(&search);
  run->noise.num_starts = (double)search.num_starts;
  search.theta = malloc(MAX_STARTS * (N + K) * sizeof *search.theta);
  if (!search.theta) return rpinn_fail_memory(context);
  search.eta = search.theta + MAX_STARTS * N;
  RpinnStatus status =
      search.at_minimum ? learn_at_minimum(context, &search) : learn_at_members(context, &search);
  free(search.theta);
  return status;
}

static RpinnStatus save(RpinnContext *context, RpinnRun *run) {
  void *state;
  size_t size;
  RPINN_TRY(rpinn_run_pack_noise(context, run, &state, &size));
  RpinnStatus status =
      rpinn_member_store_put_state(context, run->store, rpinn_noise_state_key(), state, size);
  free(state);
  return status == RPINN_OK ? rpinn_member_store_flush(context, run->store) : status;
}

/* ---- the whole ---- */

/* The evidence needs a Gaussian prior on all parameters. */
static RpinnStatus check_prior(RpinnContext *context, const RpinnPosterior *posterior) {
  for (size_t j = 0; j < posterior->model.num_parameters; j++)
    if (!(posterior->model.prior_root[j] > 0))
      return rpinn_fail_at(
          context, posterior->problem->terms[posterior->fitted[posterior->noises[0].term]].noise_place,
          "noise that is unknown needs a prior on every parameter, and %s no prior; expected a "
          "finite scale, such as --prior-scale 1, or the noise as a number",
          j < posterior->model.unknown_start ? "networks have" : "an unknown has");
  return RPINN_OK;
}

static void tell(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  const RpinnPosterior *posterior = run->posteriors[0];
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const char *term = rpinn_posterior_term_name(posterior, posterior->noises[k].term);
    double sigma = exp(run->noise.posterior.mode[k]);
    rpinn_driver_log(driver, "the noise of term %s is %.4g", term, sigma);
    if (!rpinn_run_is_all_noise(run, k)) continue;
    rpinn_driver_log(driver, "the data of term %s are explained as noise alone", term);
    rpinn_log(context, RPINN_LOG_WARNING,
              "the noise of term '%s' is learnt as %.3g, as much as the spread of its data (%.3g): the model "
              "explains nothing of them; state the noise, give it a prior:, or look at the other terms",
              term, sigma, posterior->noises[k].spread);
  }
}

RpinnStatus rpinn_run_learn_noise(RpinnContext *context, RpinnDriver *driver,
                                  const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  bool found = false;
  if (!run->posteriors[0]->num_noises) return RPINN_OK;
  RPINN_TRY(check_prior(context, run->posteriors[0]));
  RPINN_TRY(rpinn_run_make_noise_room(context, run));
  if (driver->has_past) RPINN_TRY(rpinn_run_find_noise(context, run, &found));
  if (!found) {
    rpinn_driver_log(driver, "the noise is being learnt");
    RPINN_TRY(learn(context, driver));
    if (driver->interrupted) return RPINN_OK;
    tell(context, driver);
    RPINN_TRY(save(context, run));
  }
  rpinn_run_reset_noise(run);
  for (size_t i = 0; i < driver->num_threads; i++)
    ((RpinnRunTarget *)targets[i].data)->noise = &run->noise.posterior;
  return RPINN_OK;
}
