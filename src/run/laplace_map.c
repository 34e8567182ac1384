/* theta* is the lowest minimum of E without offsets that Levenberg–Marquardt finds from draws of the prior (near zero a search
 * ends in u = 0 with all data as noise). The searches are made in the precision of the run; from the lowest of them one more goes
 * on in double, and then Gauss–Newton steps unless they raise E: for a linear model the first one is exact.
 *
 * Where a step is dear, all searches make a few, and only the best quarter goes on to the end. */
#include "laplace_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "scale_trial.h"
#include "task_pool.h"

enum {
  NUM_STARTS = 8,
  ITERATIONS = 200,
  FIRST_ITERATIONS = 12, /* of each, where a step is dear … */
  NUM_FOLLOWED = 2,      /* … and searches that go on */
  MAX_NEWTON_STEPS = 12
};
static const double dear_step = 1e9; /* operations: some tenths of a second */

typedef struct Search {
  RpinnRunProgress *progress;
  const RpinnPosterior *posterior;
  double *theta; /* [NUM_STARTS][N] */
  double energies[NUM_STARTS];
  bool is_begun;            /* theta is where searches are, not yet at their ends */
  size_t order[NUM_STARTS]; /* the starts of the tasks */
  size_t iterations;        /* of each task, at most */
} Search;

/* ---- in a thread ---- */

typedef struct Worker {
  Search *search;
  RpinnPosteriorMember member;
  RpinnLeastSquares squares;
} Worker;

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  Worker *own = *worker = calloc(1, sizeof *own);
  (void)pool;
  if (!own) return rpinn_fail_memory(context);
  own->search = user;
  own->member = (RpinnPosteriorMember){.posterior = own->search->progress->driver->run->posteriors[thread],
                                       .context = context};
  own->squares = rpinn_posterior_least_squares(&own->member);
  return RPINN_OK;
}

static void close_worker(void *worker) {
  free(worker);
}

/* theta = mean + normal / root: a draw from the prior. Parameters without one begin as with glorot. */
static void draw_start(const RpinnPosterior *posterior, uint64_t start, double *theta) {
  const RpinnEnergyModel *model = &posterior->model;
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_SCALE, start, 0);
  rpinn_posterior_start_glorot(posterior, start, theta);
  for (size_t j = 0; j < model->num_parameters; j++) {
    double normal = rpinn_stream_normal(&stream);
    if (model->prior_root[j] > 0) theta[j] = model->prior_mean[j] + normal / model->prior_root[j];
  }
}

static RpinnStatus minimise(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  Worker *own = worker;
  Search *search = own->search;
  size_t start = search->order[task];
  double *theta = search->theta + start * search->posterior->model.num_parameters;
  bool converged;
  if (!search->is_begun) draw_start(search->posterior, start, theta);
  return rpinn_scale_minimise(context, &own->squares, NULL, search->iterations, rpinn_task_pool_wants_end,
                              pool, theta, &search->energies[start], &converged);
}

/* ---- in the thread of the caller ---- */

static bool tick(void *user, uint64_t counted) {
  (void)counted;
  return rpinn_run_progress_tick(((Search *)user)->progress);
}

/* The first `count` searches of search->order, further by `iterations`. */
static RpinnStatus advance(RpinnContext *context, Search *search, size_t count, size_t iterations) {
  RpinnDriver *driver = search->progress->driver;
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions pool = {.num_threads = driver->num_threads < count ? driver->num_threads : count,
                               .num_tasks = count,
                               .user = search,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .perform = minimise,
                               .tick = tick};
  search->iterations = iterations;
  RPINN_TRY(rpinn_task_pool_run(context, &pool, &result));
  search->is_begun = true;
  driver->interrupted = result.interrupted;
  return RPINN_OK;
}

/* The lowest first. */
static void sort_searches(Search *search) {
  for (size_t i = 1; i < NUM_STARTS; i++)
    for (size_t k = i; k > 0 && search->energies[search->order[k]] < search->energies[search->order[k - 1]];
         k--) {
      size_t kept = search->order[k];
      search->order[k] = search->order[k - 1];
      search->order[k - 1] = kept;
    }
}

static RpinnStatus minimise_all(RpinnContext *context, Search *search) {
  const RpinnEnergyModel *model = &search->posterior->model;
  double M = (double)model->num_rows, N = (double)model->num_parameters;
  for (size_t k = 0; k < NUM_STARTS; k++) search->order[k] = k;
  if (M * N * fmin(M, N) < dear_step) return advance(context, search, NUM_STARTS, ITERATIONS);
  RPINN_TRY(advance(context, search, NUM_STARTS, FIRST_ITERATIONS));
  if (search->progress->driver->interrupted) return RPINN_OK;
  sort_searches(search);
  return advance(context, search, NUM_FOLLOWED, ITERATIONS);
}

RpinnStatus rpinn_laplace_energy(const RpinnLeastSquares *squares, const double *theta, double *rows,
                                 double *energy) {
  RPINN_TRY(squares->residuals(squares->data, theta, rows));
  *energy = 0;
  for (size_t i = 0; i < squares->num_rows; i++) *energy += 0.5 * rows[i] * rows[i];
  for (size_t j = 0; j < squares->num_parameters; j++) {
    double row = (theta[j] - squares->prior_mean[j]) * squares->prior_root[j];
    *energy += 0.5 * row * row;
  }
  return RPINN_OK;
}

/* The linearisation at laplace->at, moved to the linearised mean unless that raises E. room [N + M]. */
static RpinnStatus polish(const RpinnLeastSquares *squares, RpinnLaplaceResult *laplace, double *room,
                          RpinnLinearisation **linearisation) {
  double *candidate = room, *rows = room + squares->num_parameters;
  RPINN_TRY(rpinn_laplace_energy(squares, laplace->at, rows, &laplace->energy));
  RPINN_TRY(rpinn_linearisation_create(squares, laplace->at, linearisation));
  for (int step = 0; step < MAX_NEWTON_STEPS; step++) {
    double energy;
    RPINN_TRY(rpinn_linearisation_mean(*linearisation, candidate));
    RPINN_TRY(rpinn_laplace_energy(squares, candidate, rows, &energy));
    double fall = laplace->energy - energy;
    if (!(fall >= -1e-12 * energy)) break; /* below that E cannot tell, and the step is the better one */
    memcpy(laplace->at, candidate, squares->num_parameters * sizeof *candidate);
    laplace->energy = energy;
    rpinn_linearisation_destroy(*linearisation);
    RPINN_TRY(rpinn_linearisation_create(squares, laplace->at, linearisation));
    if (fall <= 1e-10 * energy) break;
  }
  return RPINN_OK;
}

/* Rows are whitened: -log s_i turns their densities into those of data. */
static RpinnStatus tell(RpinnContext *context, const RpinnPosterior *posterior,
                        const RpinnLinearisation *linearisation, RpinnLaplaceResult *laplace) {
  const RpinnEnergyModel *model = &posterior->model;
  bool *is_data = malloc((model->num_rows + 1) * sizeof *is_data);
  if (!is_data) return rpinn_fail_memory(context);
  rpinn_posterior_data_rows(posterior, is_data);
  laplace->linear_energy = rpinn_linearisation_energy(linearisation);
  laplace->log_evidence = rpinn_linearisation_log_evidence(linearisation);
  laplace->leave_one_out = 0;
  for (size_t t = 0, i = 0; t < model->num_terms; t++) {
    for (size_t k = 0; k < model->terms[t].num_rows; k++, i++) {
      double log_sigma = log(rpinn_posterior_row_sigma(posterior, t, k));
      laplace->log_evidence -= log_sigma;
      if (is_data[i])
        laplace->leave_one_out += rpinn_linearisation_leave_out(linearisation, i).log_density - log_sigma;
    }
  }
  free(is_data);
  return RPINN_OK;
}

/* On in double. */
static RpinnStatus finish(RpinnContext *context, const RpinnDriver *driver, const RpinnLeastSquares *squares,
                          double *theta) {
  double energy;
  bool converged;
  RPINN_TRY(rpinn_scale_minimise(context, squares, NULL, ITERATIONS, driver->options->interrupted,
                                 driver->options->user, theta, &energy, &converged));
  return rpinn_run_is_stopped(context, driver->run) ? rpinn_fail_interrupted(context) : RPINN_OK;
}

static RpinnStatus linearise(RpinnContext *context, const RpinnDriver *driver, RpinnLaplaceResult *laplace) {
  const RpinnPosterior *posterior = driver->run->posteriors[0];
  RpinnDoubleTarget target;
  RpinnLinearisation *linearisation = NULL;
  double *room = malloc((posterior->model.num_parameters + posterior->model.num_rows + 1) * sizeof *room);
  if (!room) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_double_target_open(context, posterior, &target);
  if (status == RPINN_OK) status = finish(context, driver, &target.squares, laplace->at);
  if (status == RPINN_OK) status = polish(&target.squares, laplace, room, &linearisation);
  if (status == RPINN_OK) status = tell(context, posterior, linearisation, laplace);
  rpinn_linearisation_destroy(linearisation);
  rpinn_double_target_close(&target);
  free(room);
  if (status != RPINN_ERROR_NUMERIC) return status;
  return rpinn_fail(context, status, "the posterior cannot be linearised: its rows are not finite there");
}

static RpinnStatus choose(RpinnContext *context, const Search *search, RpinnLaplaceResult *laplace) {
  size_t best = 0, N = search->posterior->model.num_parameters;
  for (size_t k = 1; k < NUM_STARTS; k++)
    if (search->energies[k] < search->energies[best]) best = k;
  if (!isfinite(search->energies[best]))
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the most probable point was not found: no search from %d draws of the prior ended at "
                      "a finite loss",
                      NUM_STARTS);
  memcpy(laplace->at, search->theta + best * N, N * sizeof(double));
  laplace->num_starts = NUM_STARTS;
  for (size_t k = 0; k < NUM_STARTS; k++) /* within one nat: about as probable */
    laplace->num_at_minimum += search->energies[k] <= search->energies[best] + 1;
  return RPINN_OK;
}

/* The point that the choice of the prior's scale ended at, in this session or an earlier one. */
static RpinnStatus look_up_choice(RpinnContext *context, RpinnRun *run, RpinnLaplaceResult *laplace,
                                  bool *found) {
  const RpinnPriorChoice *choice = &run->prior;
  *found = false;
  if (!choice->num_trials) return RPINN_OK;
  RPINN_TRY(rpinn_draw_store_get_vector(context, run->store, rpinn_choice_state_key(),
                                        run->posteriors[0]->model.num_parameters, laplace->at, found));
  if (!*found) return RPINN_OK;
  const RpinnScaleTrial *trial = &choice->trials[choice->chosen];
  laplace->num_starts = (double)trial->num_starts;
  laplace->num_at_minimum = (double)trial->num_at_minimum;
  return RPINN_OK;
}

/* laplace->at, num_starts and num_at_minimum. */
static RpinnStatus seek(RpinnContext *context, RpinnRunProgress *progress, RpinnLaplaceResult *laplace) {
  RpinnRun *run = progress->driver->run;
  bool found;
  if (run->noise.posterior.count &&
      progress->driver->maker->prior_at_minimum) { /* it was found with the noise */
    memcpy(laplace->at, run->noise.at, run->posteriors[0]->model.num_parameters * sizeof(double));
    laplace->num_starts = run->noise.num_starts;
    laplace->num_at_minimum = run->noise.num_at_maximum;
    return RPINN_OK;
  }
  RPINN_TRY(look_up_choice(context, run, laplace, &found));
  if (found) return RPINN_OK;
  Search search = {.progress = progress, .posterior = run->posteriors[0]};
  search.theta = malloc((NUM_STARTS * search.posterior->model.num_parameters + 1) * sizeof *search.theta);
  if (!search.theta) return rpinn_fail_memory(context);
  for (size_t k = 0; k < NUM_STARTS; k++) search.energies[k] = (double)INFINITY;
  RpinnStatus status = minimise_all(context, &search);
  if (status == RPINN_OK && !progress->driver->interrupted) status = choose(context, &search, laplace);
  free(search.theta);
  return status;
}

static RpinnStatus save(RpinnContext *context, RpinnRun *run) {
  void *state;
  size_t size;
  RPINN_TRY(rpinn_run_pack_laplace(context, run, &state, &size));
  RpinnStatus status =
      rpinn_member_store_put_state(context, run->store, rpinn_laplace_state_key(), state, size);
  free(state);
  return status == RPINN_OK ? rpinn_member_store_flush(context, run->store) : status;
}

/* ---- the whole ---- */

RpinnStatus rpinn_laplace_map_find(RpinnContext *context, RpinnRunProgress *progress) {
  RpinnDriver *driver = progress->driver;
  RpinnRun *run = driver->run;
  bool found = false;
  RPINN_TRY(rpinn_run_make_laplace_room(context, run));
  if (driver->has_past) RPINN_TRY(rpinn_run_find_laplace(context, run, &found));
  if (found) return RPINN_OK;
  RPINN_TRY(seek(context, progress, &run->laplace));
  if (driver->interrupted) return RPINN_OK;
  RpinnStatus status = linearise(context, driver, &run->laplace);
  if (status == RPINN_ERROR_INTERRUPTED) {
    rpinn_context_clear_error(context);
    driver->interrupted = true;
    return RPINN_OK;
  }
  RPINN_TRY(status);
  rpinn_driver_log(driver, "the most probable point has loss %.6g, log evidence %.6g", run->laplace.energy,
                   run->laplace.log_evidence);
  return save(context, run);
}

RpinnStatus rpinn_laplace_map_seek(RpinnContext *context, RpinnRunProgress *progress, double *theta) {
  RpinnDriver *driver = progress->driver;
  RpinnRun *run = driver->run;
  size_t N = run->posteriors[0]->model.num_parameters;
  RpinnLaplaceResult lowest = {.at = theta};
  bool found = false;
  if (driver->has_past)
    RPINN_TRY(rpinn_draw_store_get_vector(context, run->store, rpinn_map_state_key(), N, lowest.at, &found));
  if (found) return RPINN_OK;
  RPINN_TRY(seek(context, progress, &lowest));
  if (driver->interrupted) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_put_state(context, run->store, rpinn_map_state_key(), lowest.at,
                                         N * sizeof *lowest.at));
  return rpinn_member_store_flush(context, run->store);
}
