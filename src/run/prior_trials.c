/* At members: a few rPINN members of each scale, the same normals for every scale, and what the model linearised at each of
 * them foretells. At the minimum: a few starts drawn from the prior of each scale (near zero a search ends in u = 0 with all
 * data as noise), then starts from the minimisers of its neighbours, so that the criterion is a smooth curve over the scales
 * and not the luck of starts.
 *
 * Noise that is not known is found anew by every search, as the evidence under that scale has it: scale and noise are chosen
 * together. Minima are then compared by their evidence over the noise, -L of noise_evidence.h, in place of their energies. */
#include "prior_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "run_noise.h"
#include "scaled_rows.h"
#include "task_pool.h"

enum {
  FRESH_STARTS = 4,
  FEW_STARTS = 2, /* where a step is dear */
  ITERATIONS = 200,
  FEW_ITERATIONS = 60
};
/* Operations of a step of Levenberg–Marquardt: some tenths of a second. */
static const double dear_step = 1e9;

/* Points that are nearly there tell scales apart as well as those that are; fewer members would not. By the sizes alone, so
 * that the choice depends on no clock. */
static void set_effort(RpinnPriorTrials *search) {
  double M = (double)search->M, N = (double)search->N;
  double limit = search->options->dear_step > 0 ? search->options->dear_step : dear_step;
  search->is_dear = M * N * fmin(M, N) >= limit;
  search->num_fresh = search->is_dear ? FEW_STARTS : FRESH_STARTS;
  search->iterations = search->is_dear ? FEW_ITERATIONS : ITERATIONS;
}

/* ---- in a thread ---- */

typedef struct Worker {
  RpinnPriorTrials *search;
  RpinnDoubleTarget target;
  RpinnDoubleTarget rough; /* in float, where a step is dear */
  RpinnScaledRows scaled;  /* the same with other noise */
  double *root;            /* [N] of the scale at work */
  double *normal;          /* [M + N] */
} Worker;

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  RpinnPriorTrials *search = user;
  const RpinnEnergyModel *model = &search->posterior->model;
  Worker *own = *worker = calloc(1, sizeof *own);
  (void)pool;
  (void)thread;
  if (!own) return rpinn_fail_memory(context);
  own->search = search;
  own->root = malloc((search->N + 1) * sizeof *own->root);
  own->normal = malloc((search->M + search->N + 1) * sizeof *own->normal);
  if (!own->root || !own->normal) return rpinn_fail_memory(context);
  memcpy(own->root, model->prior_root, search->N * sizeof *own->root);
  RPINN_TRY(rpinn_double_target_open(context, search->posterior, &own->target));
  if (search->is_dear) RPINN_TRY(rpinn_single_target_open(context, search->posterior, &own->rough));
  own->target.squares.prior_root = own->rough.squares.prior_root = own->root;
  return rpinn_scaled_rows_open(&own->target.squares, &own->scaled) == RPINN_OK ? RPINN_OK
                                                                                : rpinn_fail_memory(context);
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (!own) return;
  rpinn_scaled_rows_close(&own->scaled);
  rpinn_double_target_close(&own->target);
  rpinn_double_target_close(&own->rough);
  free(own->root);
  free(own->normal);
  free(own);
}

/* The prior of a trial: its scale is that of all fields that have none of their own, or of the field whose factor is sought. */
static void set_roots(const RpinnPriorTrials *search, double scale, double *root) {
  const RpinnPosterior *posterior = search->posterior;
  if (!search->factors) {
    rpinn_posterior_network_roots(posterior, scale, root);
    return;
  }
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    const RpinnFieldPrior *prior = &posterior->sigmas.fields[f];
    double other = prior->has_own_scale ? prior->scale : search->line_scale * search->factors[f];
    rpinn_posterior_field_roots(posterior, f, f == search->line_field ? scale : other, root);
  }
}

/* The target with the noise of a point [length]. */
static const RpinnLeastSquares *with_noise(Worker *own, const double *point) {
  const RpinnPriorTrials *search = own->search;
  if (!search->noise.count) return &own->target.squares;
  rpinn_noise_factors(&search->noise, search->M, point + search->N, own->scaled.factors);
  return &own->scaled.squares;
}

/* Rows are whitened by the noise of the point: -eta turns densities of measured ones into those of the same data. */
static void unwhiten(const RpinnPriorTrials *search, const double *point, RpinnScaleView *view) {
  const RpinnNoiseRows *noise = &search->noise;
  const double *eta = point + search->N;
  for (size_t i = 0; i < search->M; i++) {
    if (noise->of_row[i] == noise->count) continue;
    view->log_evidence -= eta[noise->of_row[i]];
    view->densities[i] -= eta[noise->of_row[i]];
  }
  for (size_t k = 0; k < noise->count; k++) {
    double z = (eta[k] - noise->prior_mean[k]) / noise->prior_std[k];
    view->log_evidence -= 0.5 * z * z;
  }
}

static RpinnStatus look_at(RpinnContext *context, Worker *own, const double *point, RpinnScaleView *view) {
  RPINN_TRY(rpinn_scale_look(context, with_noise(own, point), own->search->is_data, point, view));
  if (own->search->noise.count && view->is_finite) unwhiten(own->search, point, view);
  return RPINN_OK;
}

/* The minimum of E from job->theta, and the noise of the highest evidence there. */
static RpinnStatus seek(RpinnContext *context, Worker *own, RpinnTaskPool *pool, RpinnPriorJob *job) {
  const RpinnPriorTrials *search = own->search;
  const RpinnLeastSquares *squares = &own->target.squares;
  const double *offsets = search->options->at_minimum ? NULL : own->normal;
  double *eta = job->theta + search->N;
  RpinnNoiseFit fit;
  if (!search->noise.count)
    return rpinn_scale_minimise(context, search->is_dear ? &own->rough.squares : squares, offsets,
                                search->iterations, rpinn_task_pool_wants_end, pool, job->theta,
                                &job->view.energy, &job->view.converged);
  if (!job->from) memcpy(eta, search->noise.eta_0, search->noise.count * sizeof *eta);
  RPINN_TRY(rpinn_noise_fit(context, squares, offsets, &search->noise, search->iterations,
                            rpinn_task_pool_wants_end, pool, job->theta, eta, &fit));
  eta[search->noise.count] = fit.energy;
  job->view.energy = offsets ? fit.energy : -fit.value;
  job->view.converged = fit.converged && fit.is_settled;
  return RPINN_OK;
}

static RpinnStatus make_job(Worker *own, RpinnContext *context, RpinnTaskPool *pool, RpinnPriorJob *job) {
  const RpinnPriorTrials *search = own->search;
  set_roots(search, search->choice->trials[job->trial].scale, own->root);
  if (search->is_looking) return look_at(context, own, search->best[job->trial], &job->view);
  if (job->from)
    memcpy(job->theta, job->from, search->length * sizeof *job->theta);
  else
    rpinn_posterior_start_search(search->posterior, job->start, own->root, own->normal, job->theta);
  RPINN_TRY(seek(context, own, pool, job));
  if (search->options->at_minimum || !isfinite(job->view.energy)) return RPINN_OK;
  return look_at(context, own, job->theta, &job->view);
}

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  Worker *own = worker;
  RPINN_TRY(make_job(own, context, pool, &own->search->jobs[task]));
  rpinn_task_pool_count(pool, 1);
  return RPINN_OK;
}

/* ---- in the thread of the caller ---- */

static bool tick(void *user, uint64_t counted) {
  const RpinnPriorTrials *search = user;
  uint64_t known = search->num_done + search->num_jobs;
  if (search->options->progress)
    search->options->progress(search->options->user, search->num_done + counted,
                              known > search->num_expected ? known : search->num_expected);
  return search->options->interrupted && search->options->interrupted(search->options->user);
}

static RpinnStatus run_jobs(RpinnContext *context, RpinnPriorTrials *search) {
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions pool = {.num_threads = search->options->num_threads < search->num_jobs
                                                  ? search->options->num_threads
                                                  : search->num_jobs,
                               .num_tasks = search->num_jobs,
                               .user = search,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .perform = perform,
                               .tick = tick};
  if (!search->num_jobs) return RPINN_OK;
  RPINN_TRY(rpinn_task_pool_run(context, &pool, &result));
  search->num_done += search->num_jobs;
  if (!result.interrupted) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INTERRUPTED, "interrupted while the scale of the prior was chosen");
}

static void add_job(RpinnPriorTrials *search, size_t trial, size_t start, const double *from) {
  size_t k = search->num_jobs++;
  double *memory = search->memory + k * (search->length + search->M);
  search->jobs[k] =
      (RpinnPriorJob){.trial = trial,
                      .start = start,
                      .from = from,
                      .theta = memory,
                      .view = {.energy = (double)INFINITY, .densities = memory + search->length}};
}

/* ---- trials at members ---- */

static void pool_members(RpinnPriorTrials *search, size_t trial, const RpinnPriorJob *jobs) {
  RpinnScaleTrial *own = &search->choice->trials[trial];
  RpinnScaleView views[RPINN_TRIAL_MEMBERS];
  double energies[RPINN_TRIAL_MEMBERS];
  for (size_t k = 0; k < RPINN_TRIAL_MEMBERS; k++) {
    views[k] = jobs[k].view;
    energies[k] = own->start_energies[k] = views[k].energy;
    own->num_at_minimum += views[k].converged;
  }
  own->num_starts = RPINN_TRIAL_MEMBERS;
  own->converged = 2 * own->num_at_minimum >= RPINN_TRIAL_MEMBERS;
  own->energy = rpinn_scale_median(RPINN_TRIAL_MEMBERS, energies);
  for (size_t n = 0; n < search->noise.count; n++) { /* that of the trial: the middle of theirs */
    for (size_t k = 0; k < RPINN_TRIAL_MEMBERS; k++) energies[k] = jobs[k].theta[search->N + n];
    search->best[trial][search->N + n] = rpinn_scale_median(RPINN_TRIAL_MEMBERS, energies);
  }
  rpinn_scale_trial_pool(own, search->M, search->is_data, RPINN_TRIAL_MEMBERS, views);
}

static RpinnStatus try_at_members(RpinnContext *context, RpinnPriorTrials *search, size_t first,
                                  size_t count) {
  for (size_t t = first; t < first + count; t++)
    for (size_t k = 0; k < RPINN_TRIAL_MEMBERS; k++) add_job(search, t, k, NULL);
  RPINN_TRY(run_jobs(context, search));
  for (size_t t = 0; t < count; t++) pool_members(search, first + t, search->jobs + t * RPINN_TRIAL_MEMBERS);
  search->num_jobs = 0;
  return RPINN_OK;
}

/* ---- trials at the minimum ---- */

/* Minimise what was added, and keep the lowest of each trial. */
static RpinnStatus minimise(RpinnContext *context, RpinnPriorTrials *search) {
  RPINN_TRY(run_jobs(context, search));
  for (size_t k = 0; k < search->num_jobs; k++) {
    const RpinnPriorJob *job = &search->jobs[k];
    RpinnScaleTrial *trial = &search->choice->trials[job->trial];
    trial->start_energies[trial->num_starts++] = job->view.energy;
    if (!(job->view.energy < trial->energy)) continue;
    trial->energy = job->view.energy;
    memcpy(search->best[job->trial], job->theta, search->length * sizeof *job->theta);
  }
  search->num_jobs = 0;
  return RPINN_OK;
}

static void add_neighbours(RpinnPriorTrials *search, size_t trial) {
  const RpinnPriorChoice *choice = search->choice;
  if (trial > 0 && isfinite(choice->trials[trial - 1].energy))
    add_job(search, trial, 0, search->best[trial - 1]);
  if (trial + 1 < choice->num_trials && isfinite(choice->trials[trial + 1].energy))
    add_job(search, trial, 0, search->best[trial + 1]);
}

/* A tenth of a nat is a small part of what tells two scales apart. */
static void take_view(RpinnPriorTrials *search, const RpinnPriorJob *job) {
  RpinnScaleTrial *trial = &search->choice->trials[job->trial];
  rpinn_scale_trial_pool(trial, search->M, search->is_data, 1, &job->view);
  double loss = search->noise.count ? search->best[job->trial][search->length - 1] : trial->energy;
  trial->converged = job->view.is_finite && loss - job->view.linear_energy <= 0.1;
  for (size_t k = 0; k < trial->num_starts; k++)
    trial->num_at_minimum += trial->start_energies[k] <= trial->energy + 1;
}

static RpinnStatus look(RpinnContext *context, RpinnPriorTrials *search, size_t first, size_t count) {
  for (size_t t = first; t < first + count; t++)
    if (isfinite(search->choice->trials[t].energy)) add_job(search, t, 0, NULL);
  search->is_looking = true;
  RpinnStatus status = run_jobs(context, search);
  search->is_looking = false;
  for (size_t k = 0; status == RPINN_OK && k < search->num_jobs; k++) take_view(search, &search->jobs[k]);
  search->num_jobs = 0;
  return status;
}

static RpinnStatus try_at_minimum(RpinnContext *context, RpinnPriorTrials *search, size_t first,
                                  size_t count) {
  for (size_t t = first; t < first + count; t++)
    for (size_t k = 0; k < search->num_fresh; k++) add_job(search, t, k, NULL);
  RPINN_TRY(minimise(context, search));
  for (size_t t = first; t < first + count; t++) add_neighbours(search, t);
  RPINN_TRY(minimise(context, search));
  return look(context, search, first, count);
}

/* ---- the whole ---- */

RpinnStatus rpinn_prior_trials_make(RpinnContext *context, RpinnPriorTrials *search, size_t first,
                                    size_t count) {
  bool at_minimum = search->options->at_minimum;
  search->num_expected += count * (at_minimum ? search->num_fresh + 2 : RPINN_TRIAL_MEMBERS);
  return at_minimum ? try_at_minimum(context, search, first, count)
                    : try_at_members(context, search, first, count);
}

RpinnStatus rpinn_prior_trials_misfit_of_nothing(RpinnContext *context, RpinnPriorTrials *search,
                                                 size_t trial, double *misfit) {
  const RpinnEnergyModel *model = &search->posterior->model;
  Worker worker = {.search = search};
  RpinnScaleView view = {.densities = search->memory};
  RpinnStatus status = rpinn_double_target_open(context, search->posterior, &worker.target);
  if (status == RPINN_OK) status = rpinn_scaled_rows_open(&worker.target.squares, &worker.scaled);
  if (status == RPINN_OK)
    status = rpinn_scale_look(context, with_noise(&worker, search->best[trial]), search->is_data,
                              model->prior_mean, &view);
  *misfit = view.misfit;
  rpinn_scaled_rows_close(&worker.scaled);
  rpinn_double_target_close(&worker.target);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(context) : status;
}

/* Where nothing was measured, what is known exactly is all there is to choose by. */
static void find_data(const RpinnPriorTrials *search) {
  size_t count = 0, M = search->posterior->model.num_rows;
  rpinn_posterior_data_rows(search->posterior, search->is_data);
  for (size_t i = 0; i < M; i++) count += search->is_data[i];
  for (size_t i = 0; i < M && !count; i++) search->is_data[i] = true;
}

RpinnStatus rpinn_prior_trials_open(RpinnContext *context, RpinnPriorTrials *search) {
  search->M = search->posterior->model.num_rows;
  search->N = search->posterior->model.num_parameters;
  set_effort(search);
  search->length = search->N + search->posterior->num_noises + 1;
  size_t of_jobs = RPINN_MAX_TRIAL_JOBS * (search->length + search->M);
  search->is_data = malloc((search->M + 1) * sizeof *search->is_data);
  search->memory = malloc((of_jobs + RPINN_MAX_TRIALS * search->length + 1) * sizeof *search->memory);
  search->arena = rpinn_arena_create();
  if (!search->is_data || !search->memory || !search->arena) return rpinn_fail_memory(context);
  for (size_t t = 0; t < RPINN_MAX_TRIALS; t++)
    search->best[t] = search->memory + of_jobs + t * search->length;
  RPINN_TRY(rpinn_noise_rows_of(context, search->arena, search->posterior, &search->noise));
  find_data(search);
  return RPINN_OK;
}

void rpinn_prior_trials_close(RpinnPriorTrials *search) {
  free(search->is_data);
  free(search->memory);
  rpinn_arena_destroy(search->arena);
}
