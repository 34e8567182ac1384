/* At members: a few rPINN members of each scale, the same normals for every scale, and what the model linearised at each of
 * them foretells. At the minimum: a few starts drawn from the prior of each scale (near zero a search ends in u = 0 with all
 * data as noise), then starts from the minimisers of its neighbours, so that the criterion is a smooth curve over the scales
 * and not the luck of starts.
 *
 * Noise that is not known is found anew by every search, as the evidence under that scale has it: scale and noise are chosen
 * together. Minima are then compared by their evidence over the noise, -L of noise_evidence.h, in place of their energies. */
#include "prior_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "run_noise.h"
#include "scaled_rows.h"
#include "task_pool.h"

enum {
  MEMBERS = 8,
  FRESH_STARTS = 4,
  FEW_STARTS = 2,  /* where a step is dear */
  FIRST_RUNGS = 3, /* tried at once, before the criterion is asked whether to climb on */
  NUM_RUNGS = 6,
  MAX_TRIALS = NUM_RUNGS > RPINN_MAX_LINE_TRIALS ? NUM_RUNGS : RPINN_MAX_LINE_TRIALS,
  MAX_JOBS = RPINN_MAX_LINE_TRIALS * MEMBERS, /* at once */
  ITERATIONS = 200,
  FEW_ITERATIONS = 60
};
static const double dear_step =
    1e9;                      /* operations of a step of Levenberg–Marquardt: some tenths of a second */
static const double fall = 5; /* nats below the highest that end the climb */

/* The lowest rung is where a network of this prior is about as large as the outputs it is scaled to: below it bands do not
 * hold (bench/results/calibration.md). */
static const double ladders[][NUM_RUNGS] = {
    [RPINN_PRIOR_IID] = {0.3, 0.5, 0.8, 1.2, 1.9, 3}, [RPINN_PRIOR_FAN_IN] = {1, 1.5, 2, 3, 4.5, 7}};

/* One search, or one look, of a trial. */
typedef struct Job {
  size_t trial;
  size_t start;       /* number of a fresh start, where from is NULL */
  const double *from; /* [N] */
  double *theta;      /* [N + K + 1] parameters, then noise that is not known, then E with it */
  RpinnScaleView view;
} Job;

typedef struct Search {
  const RpinnPosterior *posterior;
  const RpinnPriorChoiceOptions *options;
  RpinnPriorChoice *choice;
  size_t M, N;
  size_t length; /* N + K + 1: of a point with its noise */
  RpinnArena *arena;
  RpinnNoiseRows noise;
  const double *factors; /* [num_fields] where the factor of one field is sought: those of the others … */
  size_t line_field;     /* … and that field, whose scale the trials have */
  double line_scale;     /* that the factors multiply */
  bool *is_data;         /* [M] */
  double *best[MAX_TRIALS]; /* [length] each: the lowest minimum of each trial; at members, the noise alone */
  bool is_dear;             /* a step: fewer searches, shorter ones, and in float */
  size_t num_fresh, iterations;
  size_t num_jobs;
  Job jobs[MAX_JOBS];
  double *memory; /* of thetas and densities of jobs, and of best */
  bool is_looking;
  uint64_t num_done, num_expected; /* jobs before those under way; in all, as far as is known */
} Search;

/* Points that are nearly there tell scales apart as well as those that are; fewer members would not. By the sizes alone, so
 * that the choice depends on no clock. */
static void set_effort(Search *search) {
  double M = (double)search->M, N = (double)search->N;
  double limit = search->options->dear_step > 0 ? search->options->dear_step : dear_step;
  search->is_dear = M * N * fmin(M, N) >= limit;
  search->num_fresh = search->is_dear ? FEW_STARTS : FRESH_STARTS;
  search->iterations = search->is_dear ? FEW_ITERATIONS : ITERATIONS;
}

/* ---- in a thread ---- */

typedef struct Worker {
  Search *search;
  RpinnDoubleTarget target;
  RpinnDoubleTarget rough; /* in float, where a step is dear */
  RpinnScaledRows scaled;  /* the same with other noise */
  double *root;            /* [N] of the scale at work */
  double *normal;          /* [M + N] */
} Worker;

static bool pool_is_stopped(void *user) {
  return rpinn_task_pool_is_stopped(user);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  Search *search = user;
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

/* Offsets of a member; theta = mean + offset / root, a draw from the prior of this scale, is where it starts. */
static void draw_start(Worker *own, size_t start, double *theta) {
  const RpinnEnergyModel *model = &own->search->posterior->model;
  const double *prior_rows = own->normal + own->search->M;
  RpinnStream stream = rpinn_stream(own->search->posterior->seed, RPINN_PURPOSE_SCALE, start, 0);
  rpinn_stream_normals(&stream, own->search->M + own->search->N, own->normal);
  for (size_t j = 0; j < own->search->N; j++)
    theta[j] = model->prior_mean[j] + (own->root[j] > 0 ? prior_rows[j] / own->root[j] : 0);
}

/* The prior of a trial: its scale is that of all fields that have none of their own, or of the field whose factor is sought. */
static void set_roots(const Search *search, double scale, double *root) {
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
  const Search *search = own->search;
  if (!search->noise.count) return &own->target.squares;
  rpinn_noise_factors(&search->noise, search->M, point + search->N, own->scaled.factors);
  return &own->scaled.squares;
}

/* Rows are whitened by the noise of the point: -eta turns densities of measured ones into those of the same data. */
static void unwhiten(const Search *search, const double *point, RpinnScaleView *view) {
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
static RpinnStatus seek(RpinnContext *context, Worker *own, RpinnTaskPool *pool, Job *job) {
  const Search *search = own->search;
  const RpinnLeastSquares *squares = &own->target.squares;
  const double *offsets = search->options->at_minimum ? NULL : own->normal;
  double *eta = job->theta + search->N;
  RpinnNoiseFit fit;
  if (!search->noise.count)
    return rpinn_scale_minimise(context, search->is_dear ? &own->rough.squares : squares, offsets,
                                search->iterations, pool_is_stopped, pool, job->theta, &job->view.energy,
                                &job->view.converged);
  if (!job->from) memcpy(eta, search->noise.eta_0, search->noise.count * sizeof *eta);
  RPINN_TRY(rpinn_noise_fit(context, squares, offsets, &search->noise, search->iterations, pool_is_stopped,
                            pool, job->theta, eta, &fit));
  eta[search->noise.count] = fit.energy;
  job->view.energy = offsets ? fit.energy : -fit.value;
  job->view.converged = fit.converged && fit.is_settled;
  return RPINN_OK;
}

static RpinnStatus make_job(Worker *own, RpinnContext *context, RpinnTaskPool *pool, Job *job) {
  const Search *search = own->search;
  set_roots(search, search->choice->trials[job->trial].scale, own->root);
  if (search->is_looking) return look_at(context, own, search->best[job->trial], &job->view);
  if (job->from)
    memcpy(job->theta, job->from, search->length * sizeof *job->theta);
  else
    draw_start(own, job->start, job->theta);
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
  const Search *search = user;
  uint64_t known = search->num_done + search->num_jobs;
  if (search->options->progress)
    search->options->progress(search->options->user, search->num_done + counted,
                              known > search->num_expected ? known : search->num_expected);
  return search->options->interrupted && search->options->interrupted(search->options->user);
}

static RpinnStatus run_jobs(RpinnContext *context, Search *search) {
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

static void add_job(Search *search, size_t trial, size_t start, const double *from) {
  size_t k = search->num_jobs++;
  double *memory = search->memory + k * (search->length + search->M);
  search->jobs[k] = (Job){.trial = trial,
                          .start = start,
                          .from = from,
                          .theta = memory,
                          .view = {.energy = (double)INFINITY, .densities = memory + search->length}};
}

/* ---- trials at members ---- */

static void pool_members(Search *search, size_t trial, const Job *jobs) {
  RpinnScaleTrial *own = &search->choice->trials[trial];
  RpinnScaleView views[MEMBERS];
  double energies[MEMBERS];
  for (size_t k = 0; k < MEMBERS; k++) {
    views[k] = jobs[k].view;
    energies[k] = own->start_energies[k] = views[k].energy;
    own->num_at_minimum += views[k].converged;
  }
  own->num_starts = MEMBERS;
  own->converged = 2 * own->num_at_minimum >= MEMBERS;
  own->energy = rpinn_scale_median(MEMBERS, energies);
  for (size_t n = 0; n < search->noise.count; n++) { /* that of the trial: the middle of theirs */
    for (size_t k = 0; k < MEMBERS; k++) energies[k] = jobs[k].theta[search->N + n];
    search->best[trial][search->N + n] = rpinn_scale_median(MEMBERS, energies);
  }
  rpinn_scale_trial_pool(own, search->M, search->is_data, MEMBERS, views);
}

static RpinnStatus try_at_members(RpinnContext *context, Search *search, size_t first, size_t count) {
  for (size_t t = first; t < first + count; t++)
    for (size_t k = 0; k < MEMBERS; k++) add_job(search, t, k, NULL);
  RPINN_TRY(run_jobs(context, search));
  for (size_t t = 0; t < count; t++) pool_members(search, first + t, search->jobs + t * MEMBERS);
  search->num_jobs = 0;
  return RPINN_OK;
}

/* ---- trials at the minimum ---- */

/* Minimise what was added, and keep the lowest of each trial. */
static RpinnStatus minimise(RpinnContext *context, Search *search) {
  RPINN_TRY(run_jobs(context, search));
  for (size_t k = 0; k < search->num_jobs; k++) {
    const Job *job = &search->jobs[k];
    RpinnScaleTrial *trial = &search->choice->trials[job->trial];
    trial->start_energies[trial->num_starts++] = job->view.energy;
    if (!(job->view.energy < trial->energy)) continue;
    trial->energy = job->view.energy;
    memcpy(search->best[job->trial], job->theta, search->length * sizeof *job->theta);
  }
  search->num_jobs = 0;
  return RPINN_OK;
}

static void add_neighbours(Search *search, size_t trial) {
  const RpinnPriorChoice *choice = search->choice;
  if (trial > 0 && isfinite(choice->trials[trial - 1].energy))
    add_job(search, trial, 0, search->best[trial - 1]);
  if (trial + 1 < choice->num_trials && isfinite(choice->trials[trial + 1].energy))
    add_job(search, trial, 0, search->best[trial + 1]);
}

/* A tenth of a nat is a small part of what tells two scales apart. */
static void take_view(Search *search, const Job *job) {
  RpinnScaleTrial *trial = &search->choice->trials[job->trial];
  rpinn_scale_trial_pool(trial, search->M, search->is_data, 1, &job->view);
  double loss = search->noise.count ? search->best[job->trial][search->length - 1] : trial->energy;
  trial->converged = job->view.is_finite && loss - job->view.linear_energy <= 0.1;
  for (size_t k = 0; k < trial->num_starts; k++)
    trial->num_at_minimum += trial->start_energies[k] <= trial->energy + 1;
}

static RpinnStatus look(RpinnContext *context, Search *search, size_t first, size_t count) {
  for (size_t t = first; t < first + count; t++)
    if (isfinite(search->choice->trials[t].energy)) add_job(search, t, 0, NULL);
  search->is_looking = true;
  RpinnStatus status = run_jobs(context, search);
  search->is_looking = false;
  for (size_t k = 0; status == RPINN_OK && k < search->num_jobs; k++) take_view(search, &search->jobs[k]);
  search->num_jobs = 0;
  return status;
}

static RpinnStatus try_at_minimum(RpinnContext *context, Search *search, size_t first, size_t count) {
  for (size_t t = first; t < first + count; t++)
    for (size_t k = 0; k < search->num_fresh; k++) add_job(search, t, k, NULL);
  RPINN_TRY(minimise(context, search));
  for (size_t t = first; t < first + count; t++) add_neighbours(search, t);
  RPINN_TRY(minimise(context, search));
  return look(context, search, first, count);
}

/* ---- the ladder ---- */

double rpinn_prior_criterion(const RpinnPriorChoice *choice, size_t trial) {
  return choice->rule == RPINN_SCALE_EVIDENCE ? choice->trials[trial].log_evidence
                                              : choice->trials[trial].leave_one_out;
}

RpinnScaleCurve rpinn_prior_choice_curve(const RpinnPriorChoice *choice) {
  RpinnScaleCurve curve = {0};
  for (size_t t = 0; t < choice->num_trials; t++) {
    double criterion = rpinn_prior_criterion(choice, t);
    if (!isfinite(criterion)) continue;
    curve.scale[curve.count] = choice->trials[t].scale;
    curve.log_density[curve.count++] = criterion;
  }
  return curve;
}

void rpinn_prior_choice_factors(const RpinnPriorChoice *choice, const RpinnPosterior *posterior,
                                double *factors) {
  for (size_t f = 0; f < posterior->problem->num_fields; f++) factors[f] = posterior->sigmas.fields[f].factor;
  for (size_t k = 0; k < choice->num_lines; k++)
    if (choice->lines[k].field < posterior->problem->num_fields)
      factors[choice->lines[k].field] = choice->lines[k].factors[choice->lines[k].chosen];
}

static void find_highest(RpinnPriorChoice *choice) {
  double highest = -(double)INFINITY;
  for (size_t t = 0; t < choice->num_trials; t++) {
    double criterion = rpinn_prior_criterion(choice, t);
    if (!(criterion > highest)) continue;
    highest = criterion;
    choice->chosen = t;
  }
}

/* Scales that foretell the data about as well are alike to them, and not to us: rPINN widens what the data do not hold as the
 * scale grows. Of those whose leave-one-out sum is within one nat of the highest, the smallest is taken, unless the evidence,
 * which foretells the data together and not each from all others, speaks clearly against it; bench/calibration shows what that
 * is worth. */
static void prefer_smaller(RpinnPriorChoice *choice) {
  const double nat = 1, clear = 5;
  if (choice->rule != RPINN_SCALE_LOO) return;
  double least_sum = rpinn_prior_criterion(choice, choice->chosen) - nat, most_evidence = -(double)INFINITY;
  for (size_t t = 0; t < choice->num_trials; t++)
    if (choice->trials[t].leave_one_out >= least_sum)
      most_evidence = fmax(most_evidence, choice->trials[t].log_evidence);
  for (size_t t = choice->num_trials; t-- > 0;)
    if (choice->trials[t].leave_one_out >= least_sum &&
        choice->trials[t].log_evidence >= most_evidence - clear)
      choice->chosen = t;
}

static RpinnStatus try_trials(RpinnContext *context, Search *search, size_t first, size_t count) {
  search->num_expected += count * (search->options->at_minimum ? search->num_fresh + 2 : MEMBERS);
  RPINN_TRY(search->options->at_minimum ? try_at_minimum(context, search, first, count)
                                        : try_at_members(context, search, first, count));
  find_highest(search->choice);
  return RPINN_OK;
}

static void add_trial(RpinnPriorChoice *choice, double scale) {
  choice->trials[choice->num_trials++] = (RpinnScaleTrial){.scale = scale,
                                                           .energy = (double)INFINITY,
                                                           .log_evidence = (double)NAN,
                                                           .leave_one_out = (double)NAN,
                                                           .misfit = (double)NAN};
}

static RpinnStatus try_rungs(RpinnContext *context, Search *search, size_t count) {
  size_t first = search->choice->num_trials;
  const double *ladder = ladders[search->posterior->sigmas.fields[0].shape];
  for (size_t k = 0; k < count; k++) add_trial(search->choice, ladder[first + k]);
  return try_trials(context, search, first, count);
}

static RpinnStatus climb(RpinnContext *context, Search *search) {
  const RpinnPriorChoice *choice = search->choice;
  RPINN_TRY(try_rungs(context, search, FIRST_RUNGS));
  while (choice->num_trials < NUM_RUNGS) {
    double top = rpinn_prior_criterion(choice, choice->num_trials - 1);
    if (top < rpinn_prior_criterion(choice, choice->chosen) - fall) break;
    RPINN_TRY(try_rungs(context, search, 1));
  }
  return RPINN_OK;
}

/* ---- what was found ---- */

/* Mean square of the data rows with all networks at their prior means, and with the noise of a point [length]. */
static RpinnStatus misfit_of_nothing(RpinnContext *context, Search *search, const double *point,
                                     double *misfit) {
  const RpinnEnergyModel *model = &search->posterior->model;
  Worker worker = {.search = search};
  RpinnScaleView view = {.densities = search->memory};
  RpinnStatus status = rpinn_double_target_open(context, search->posterior, &worker.target);
  if (status == RPINN_OK) status = rpinn_scaled_rows_open(&worker.target.squares, &worker.scaled);
  if (status == RPINN_OK)
    status = rpinn_scale_look(context, with_noise(&worker, point), search->is_data, model->prior_mean, &view);
  *misfit = view.misfit;
  rpinn_scaled_rows_close(&worker.scaled);
  rpinn_double_target_close(&worker.target);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(context) : status;
}

/* u = 0 with all data as noise is a minimum under every prior; a scale that ended there was not chosen, it was not found. */
static RpinnStatus refuse_collapse(RpinnContext *context, Search *search) {
  const RpinnPriorChoice *choice = search->choice;
  const RpinnScaleTrial *chosen = &choice->trials[choice->chosen];
  double nothing;
  if (!isfinite(rpinn_prior_criterion(choice, choice->chosen)))
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "the scale of the prior cannot be chosen: no minimum that was found is finite; give it, such as "
        "--prior-scale 1");
  RPINN_TRY(misfit_of_nothing(context, search, search->best[choice->chosen], &nothing));
  bool is_learnt = search->noise.count > 0; /* then the noise is as large as the misfit, whatever that is */
  if (!((nothing > 2 || is_learnt) && chosen->misfit > (is_learnt ? 0.95 : 0.9) * nothing)) return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "the scale of the prior cannot be chosen: from %.3g to %.3g every minimum that was found explains the "
      "data as noise (mean square of their rows %.3g, %.3g with networks of zero); check the noise of the "
      "terms, or give the scale, such as --prior-scale 1",
      choice->trials[0].scale, choice->trials[choice->num_trials - 1].scale, chosen->misfit, nothing);
}

/* Where nothing was measured, what is known exactly is all there is to choose by. */
static void find_data(const Search *search) {
  size_t count = 0, M = search->posterior->model.num_rows;
  rpinn_posterior_data_rows(search->posterior, search->is_data);
  for (size_t i = 0; i < M; i++) count += search->is_data[i];
  for (size_t i = 0; i < M && !count; i++) search->is_data[i] = true;
}

static RpinnStatus open_search(RpinnContext *context, Search *search) {
  search->length = search->N + search->posterior->num_noises + 1;
  size_t of_jobs = MAX_JOBS * (search->length + search->M);
  search->is_data = malloc((search->M + 1) * sizeof *search->is_data);
  search->memory = malloc((of_jobs + MAX_TRIALS * search->length + 1) * sizeof *search->memory);
  search->arena = rpinn_arena_create();
  if (!search->is_data || !search->memory || !search->arena) return rpinn_fail_memory(context);
  for (size_t t = 0; t < MAX_TRIALS; t++) search->best[t] = search->memory + of_jobs + t * search->length;
  RPINN_TRY(rpinn_noise_rows_of(context, search->arena, search->posterior, &search->noise));
  find_data(search);
  return RPINN_OK;
}

/* Where a minimum was sought, the one of the chosen trial takes the place of what was known before. */
static RpinnStatus keep_minimum(RpinnContext *context, const Search *search, double **theta) {
  if (!search->options->at_minimum) return RPINN_OK;
  if (!*theta) *theta = malloc((search->N + 1) * sizeof **theta);
  if (!*theta) return rpinn_fail_memory(context);
  memcpy(*theta, search->best[search->choice->chosen], search->N * sizeof **theta);
  return RPINN_OK;
}

static void close_search(Search *search) {
  free(search->is_data);
  free(search->memory);
  rpinn_arena_destroy(search->arena);
}

static RpinnStatus search_scales(RpinnContext *context, Search *search) {
  RPINN_TRY(open_search(context, search));
  RPINN_TRY(climb(context, search));
  prefer_smaller(search->choice);
  return refuse_collapse(context, search);
}

/* ---- factors of fields ---- */

static const double line_factors[RPINN_MAX_LINE_TRIALS] = {0.4, 0.625, 1, 1.6, 2.5};

/* The scale of one field with those of all others fixed, by the same rule. */
static RpinnStatus try_line(RpinnContext *context, Search *search) {
  RPINN_TRY(open_search(context, search));
  for (size_t i = 0; i < RPINN_MAX_LINE_TRIALS; i++)
    add_trial(search->choice, search->line_scale * search->factors[search->line_field] * line_factors[i]);
  RPINN_TRY(try_trials(context, search, 0, RPINN_MAX_LINE_TRIALS));
  prefer_smaller(search->choice);
  return RPINN_OK;
}

/* factors [num_fields] receives that of the field. */
static RpinnStatus choose_factor(RpinnContext *context, const Search *common, size_t field, double *factors) {
  RpinnPriorChoice *choice = common->choice, along = {.rule = choice->rule};
  Search search = {.posterior = common->posterior,
                   .options = common->options,
                   .choice = &along,
                   .M = common->M,
                   .N = common->N,
                   .factors = factors,
                   .line_field = field,
                   .line_scale = choice->trials[choice->chosen].scale};
  set_effort(&search);
  RpinnStatus status = try_line(context, &search);
  if (status == RPINN_OK) status = keep_minimum(context, &search, &choice->theta);
  close_search(&search);
  RPINN_TRY(status);
  RpinnFieldLine *line = &choice->lines[choice->num_lines++];
  *line = (RpinnFieldLine){.field = field, .num_trials = along.num_trials, .chosen = along.chosen};
  for (size_t i = 0; i < along.num_trials; i++) {
    line->trials[i] = along.trials[i];
    line->factors[i] = factors[field] * line_factors[i];
  }
  factors[field] = line->factors[line->chosen];
  return RPINN_OK;
}

static RpinnStatus choose_factors(RpinnContext *context, const Search *common) {
  const RpinnPosterior *posterior = common->posterior;
  size_t num_fields = posterior->problem->num_fields;
  double *factors = malloc((num_fields + 1) * sizeof *factors);
  common->choice->lines = calloc(num_fields + 1, sizeof *common->choice->lines);
  RpinnStatus status = factors && common->choice->lines ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t f = 0; f < num_fields && status == RPINN_OK; f++)
    factors[f] = posterior->sigmas.fields[f].factor;
  for (size_t f = 0; f < num_fields && status == RPINN_OK; f++)
    if (posterior->sigmas.fields[f].is_separate) status = choose_factor(context, common, f, factors);
  free(factors);
  return status;
}

/* ---- the whole ---- */

void rpinn_prior_choice_free(RpinnPriorChoice *choice) {
  free(choice->lines);
  free(choice->theta);
  choice->lines = NULL;
  choice->theta = NULL;
  choice->num_lines = 0;
}

RpinnStatus rpinn_prior_choose(RpinnContext *context, const RpinnPosterior *posterior,
                               const RpinnPriorChoiceOptions *options, RpinnPriorChoice *choice) {
  Search search = {.posterior = posterior,
                   .options = options,
                   .choice = choice,
                   .M = posterior->model.num_rows,
                   .N = posterior->model.num_parameters};
  *choice = (RpinnPriorChoice){.rule = options->rule, .at_minimum = options->at_minimum, .is_fresh = true};
  set_effort(&search);
  RpinnStatus status = search_scales(context, &search);
  if (status == RPINN_OK) status = keep_minimum(context, &search, &choice->theta);
  close_search(&search);
  if (status == RPINN_OK) status = choose_factors(context, &search);
  if (status != RPINN_OK) rpinn_prior_choice_free(choice);
  return status;
}
