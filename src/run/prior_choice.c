/* Every trial has a few starts drawn from its own prior (near zero a search ends in u = 0 with all data as noise), the same
 * normals for each scale, and then starts from the minimisers of its neighbours, so that the criterion is a smooth curve over
 * the scales and not the luck of starts. */
#include "prior_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "task_pool.h"

enum {
  FRESH_STARTS = 4,
  MAX_JOBS = RPINN_MAX_SCALE_TRIALS * FRESH_STARTS,
  ITERATIONS = 200,
  MAX_WIDENINGS = 3
};
static const double widening = 1.6;

/* One minimisation, or one judgement, of a trial. */
typedef struct Job {
  size_t trial;
  size_t start;       /* number of a fresh start, where from is NULL */
  const double *from; /* [N] */
  double *theta;      /* [N] */
  double energy;
} Job;

typedef struct Search {
  const RpinnPosterior *posterior;
  const RpinnPriorChoiceOptions *options;
  RpinnPriorChoice *choice;
  size_t N;
  const double *factors; /* [num_fields] where the factor of one field is sought: those of the others … */
  size_t line_field;     /* … and that field, whose scale the trials have */
  double line_scale;     /* that the factors multiply */
  bool *is_data;         /* [M] */
  double *best[RPINN_MAX_SCALE_TRIALS]; /* [N] each */
  size_t num_jobs;
  Job jobs[MAX_JOBS];
  double *memory; /* [MAX_JOBS][N] */
  bool is_judging;
} Search;

/* ---- in a thread ---- */

typedef struct Worker {
  Search *search;
  RpinnDoubleTarget target;
  double *root;   /* [N] of the scale at work */
  double *normal; /* [M + N] */
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
  own->normal = malloc((model->num_rows + search->N + 1) * sizeof *own->normal);
  if (!own->root || !own->normal) return rpinn_fail_memory(context);
  memcpy(own->root, model->prior_root, search->N * sizeof *own->root);
  RPINN_TRY(rpinn_double_target_open(context, search->posterior, &own->target));
  own->target.squares.prior_root = own->root;
  return RPINN_OK;
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (!own) return;
  rpinn_double_target_close(&own->target);
  free(own->root);
  free(own->normal);
  free(own);
}

/* theta = mean + normal / root: a draw from the prior of this scale. */
static void draw_start(Worker *own, size_t start, double *theta) {
  const RpinnEnergyModel *model = &own->search->posterior->model;
  RpinnStream stream = rpinn_stream(own->search->posterior->seed, RPINN_PURPOSE_SCALE, start, 0);
  rpinn_stream_normals(&stream, own->search->N, own->normal);
  for (size_t j = 0; j < own->search->N; j++)
    theta[j] = model->prior_mean[j] + (own->root[j] > 0 ? own->normal[j] / own->root[j] : 0);
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

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  Worker *own = worker;
  Search *search = own->search;
  Job *job = &search->jobs[task];
  RpinnScaleTrial *trial = &search->choice->trials[job->trial];
  set_roots(search, trial->scale, own->root);
  if (search->is_judging)
    return rpinn_scale_judge(context, &own->target.squares, search->is_data, search->best[job->trial], trial);
  if (job->from)
    memcpy(job->theta, job->from, search->N * sizeof *job->theta);
  else
    draw_start(own, job->start, job->theta);
  return rpinn_scale_minimise(context, &own->target.squares, ITERATIONS, pool_is_stopped, pool, job->theta,
                              &job->energy);
}

/* ---- in the thread of the caller ---- */

static bool tick(void *user, uint64_t counted) {
  const Search *search = user;
  (void)counted;
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
  if (!result.interrupted) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INTERRUPTED, "interrupted while the scale of the prior was chosen");
}

static void add_job(Search *search, size_t trial, size_t start, const double *from) {
  size_t k = search->num_jobs++;
  search->jobs[k] = (Job){.trial = trial,
                          .start = start,
                          .from = from,
                          .theta = search->memory + k * search->N,
                          .energy = (double)INFINITY};
}

/* Minimise what was added, and keep the lowest of each trial. */
static RpinnStatus minimise(RpinnContext *context, Search *search) {
  RPINN_TRY(run_jobs(context, search));
  for (size_t k = 0; k < search->num_jobs; k++) {
    const Job *job = &search->jobs[k];
    RpinnScaleTrial *trial = &search->choice->trials[job->trial];
    trial->start_energies[trial->num_starts++] = job->energy;
    if (!(job->energy < trial->energy)) continue;
    trial->energy = job->energy;
    memcpy(search->best[job->trial], job->theta, search->N * sizeof *job->theta);
  }
  search->num_jobs = 0;
  return RPINN_OK;
}

static RpinnStatus judge(RpinnContext *context, Search *search, size_t first, size_t count) {
  for (size_t t = first; t < first + count; t++)
    if (isfinite(search->choice->trials[t].energy)) add_job(search, t, 0, NULL);
  search->is_judging = true;
  RpinnStatus status = run_jobs(context, search);
  search->is_judging = false;
  search->num_jobs = 0;
  return status;
}

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
 * scale grows. Of those whose leave-one-out sum is within one nat of the highest, the smallest is taken; bench/calibration shows
 * what that is worth. */
static void prefer_smaller(RpinnPriorChoice *choice) {
  const double nat = 1;
  if (choice->rule != RPINN_SCALE_LOO) return;
  double highest = rpinn_prior_criterion(choice, choice->chosen);
  for (size_t t = choice->chosen; t-- > 0;)
    if (rpinn_prior_criterion(choice, t) >= highest - nat) choice->chosen = t;
}

/* ---- scales ---- */

static RpinnStatus insert_trial(RpinnContext *context, Search *search, double scale, size_t *where) {
  RpinnPriorChoice *choice = search->choice;
  double *best = malloc((search->N + 1) * sizeof *best);
  if (!best) return rpinn_fail_memory(context);
  size_t t = choice->num_trials++;
  for (; t > 0 && choice->trials[t - 1].scale > scale; t--) {
    choice->trials[t] = choice->trials[t - 1];
    search->best[t] = search->best[t - 1];
  }
  choice->trials[t] = (RpinnScaleTrial){.scale = scale,
                                        .energy = (double)INFINITY,
                                        .linear_energy = (double)NAN,
                                        .log_evidence = (double)NAN,
                                        .leave_one_out = (double)NAN,
                                        .misfit = (double)NAN};
  search->best[t] = best;
  *where = t;
  return RPINN_OK;
}

static void add_neighbours(Search *search, size_t trial) {
  if (trial > 0 && isfinite(search->choice->trials[trial - 1].energy))
    add_job(search, trial, 0, search->best[trial - 1]);
  if (trial + 1 < search->choice->num_trials && isfinite(search->choice->trials[trial + 1].energy))
    add_job(search, trial, 0, search->best[trial + 1]);
}

/* A scale beside or between those that were tried. */
static RpinnStatus try_scale(RpinnContext *context, Search *search, double scale) {
  size_t trial;
  RPINN_TRY(insert_trial(context, search, scale, &trial));
  for (size_t k = 0; k < FRESH_STARTS; k++) add_job(search, trial, k, NULL);
  RPINN_TRY(minimise(context, search));
  add_neighbours(search, trial);
  RPINN_TRY(minimise(context, search));
  RPINN_TRY(judge(context, search, trial, 1));
  find_highest(search->choice);
  return RPINN_OK;
}

static RpinnStatus try_grid(RpinnContext *context, Search *search) {
  static const double iid[] = {0.2, 0.3, 0.5, 0.8, 1.2}, fan_in[] = {0.7, 1, 1.5, 2, 3, 4.5};
  bool has_fan_in = search->posterior->sigmas.fields[0].shape == RPINN_PRIOR_FAN_IN;
  const double *grid = has_fan_in ? fan_in : iid;
  size_t count = has_fan_in ? sizeof fan_in / sizeof *fan_in : sizeof iid / sizeof *iid, trial;
  for (size_t i = 0; i < count; i++) {
    RPINN_TRY(insert_trial(context, search, grid[i], &trial));
    for (size_t k = 0; k < FRESH_STARTS; k++) add_job(search, trial, k, NULL);
  }
  RPINN_TRY(minimise(context, search));
  for (size_t i = 0; i < count; i++) add_neighbours(search, i);
  RPINN_TRY(minimise(context, search));
  RPINN_TRY(judge(context, search, 0, count));
  find_highest(search->choice);
  return RPINN_OK;
}

/* Further out while the highest is at an end of the grid. */
static RpinnStatus widen(RpinnContext *context, Search *search) {
  for (size_t k = 0; k < MAX_WIDENINGS; k++) {
    const RpinnPriorChoice *choice = search->choice;
    if (choice->chosen == 0)
      RPINN_TRY(try_scale(context, search, choice->trials[0].scale / widening));
    else if (choice->chosen + 1 == choice->num_trials)
      RPINN_TRY(try_scale(context, search, choice->trials[choice->chosen].scale * widening));
    else
      break;
  }
  return RPINN_OK;
}

/* The vertex of the parabola through the highest trial and its neighbours, over log scale. */
static RpinnStatus refine(RpinnContext *context, Search *search) {
  const RpinnPriorChoice *choice = search->choice;
  size_t t = choice->chosen;
  if (t == 0 || t + 1 >= choice->num_trials) return RPINN_OK;
  double x[3], y[3];
  for (size_t k = 0; k < 3; k++) {
    x[k] = log(choice->trials[t + k - 1].scale / choice->trials[t].scale);
    y[k] = rpinn_prior_criterion(choice, t + k - 1) - rpinn_prior_criterion(choice, t);
  }
  double left = y[0] / x[0], right = y[2] / x[2]; /* y = a x + b x^2 with a + b x = y / x */
  double curvature = (right - left) / (x[2] - x[0]), slope = left - curvature * x[0];
  double vertex = -0.5 * slope / curvature;
  if (!(curvature < 0) || !(vertex > x[0] && vertex < x[2]) || fabs(vertex) < 0.05) return RPINN_OK;
  return try_scale(context, search, choice->trials[t].scale * exp(vertex));
}

/* ---- what was found ---- */

/* Mean square of the data rows with all networks at their prior means. */
static RpinnStatus misfit_of_nothing(RpinnContext *context, const Search *search, double *misfit) {
  const RpinnEnergyModel *model = &search->posterior->model;
  RpinnDoubleTarget target;
  RpinnScaleTrial trial = {0};
  RPINN_TRY(rpinn_double_target_open(context, search->posterior, &target));
  RpinnStatus status =
      rpinn_scale_judge(context, &target.squares, search->is_data, model->prior_mean, &trial);
  *misfit = trial.misfit;
  rpinn_double_target_close(&target);
  return status;
}

/* u = 0 with all data as noise is a minimum under every prior; a scale that ended there was not chosen, it was not found. */
static RpinnStatus refuse_collapse(RpinnContext *context, const Search *search) {
  const RpinnPriorChoice *choice = search->choice;
  const RpinnScaleTrial *chosen = &choice->trials[choice->chosen];
  double nothing;
  if (!isfinite(rpinn_prior_criterion(choice, choice->chosen)))
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "the scale of the prior cannot be chosen: no minimum that was found is finite; give it, such as "
        "--prior-scale 1");
  RPINN_TRY(misfit_of_nothing(context, search, &nothing));
  if (!(nothing > 2 && chosen->misfit > 0.9 * nothing)) return RPINN_OK;
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
  const RpinnEnergyModel *model = &search->posterior->model;
  search->is_data = malloc((model->num_rows + 1) * sizeof *search->is_data);
  search->memory = malloc((MAX_JOBS * search->N + 1) * sizeof *search->memory);
  if (!search->is_data || !search->memory) return rpinn_fail_memory(context);
  find_data(search);
  return RPINN_OK;
}

/* theta: what was found at the chosen trial, in the place of what was known before; NULL after a failure. */
static void close_search(Search *search, double **theta) {
  RpinnPriorChoice *choice = search->choice;
  if (theta) {
    free(*theta);
    *theta = search->best[choice->chosen];
    search->best[choice->chosen] = NULL;
  }
  for (size_t t = 0; t < choice->num_trials; t++) free(search->best[t]);
  free(search->is_data);
  free(search->memory);
}

static RpinnStatus search_scales(RpinnContext *context, Search *search) {
  RPINN_TRY(open_search(context, search));
  RPINN_TRY(try_grid(context, search));
  RPINN_TRY(widen(context, search));
  RPINN_TRY(refine(context, search));
  prefer_smaller(search->choice);
  return refuse_collapse(context, search);
}

/* ---- factors of fields ---- */

static const double line_factors[RPINN_MAX_LINE_TRIALS] = {0.4, 0.625, 1, 1.6, 2.5};

/* The scale of one field with those of all others fixed, by the same rule: fresh starts, the point that is known, then
 * neighbours. */
static RpinnStatus try_line(RpinnContext *context, Search *search, const double *known) {
  size_t trial;
  RPINN_TRY(open_search(context, search));
  for (size_t i = 0; i < RPINN_MAX_LINE_TRIALS; i++) {
    double factor = search->factors[search->line_field] * line_factors[i];
    RPINN_TRY(insert_trial(context, search, search->line_scale * factor, &trial));
    for (size_t k = 0; k < FRESH_STARTS; k++) add_job(search, trial, k, NULL);
    add_job(search, trial, 0, known);
  }
  RPINN_TRY(minimise(context, search));
  for (size_t i = 0; i < RPINN_MAX_LINE_TRIALS; i++) add_neighbours(search, i);
  RPINN_TRY(minimise(context, search));
  RPINN_TRY(judge(context, search, 0, RPINN_MAX_LINE_TRIALS));
  find_highest(search->choice);
  prefer_smaller(search->choice);
  return RPINN_OK;
}

/* factors [num_fields] receives that of the field. */
static RpinnStatus choose_factor(RpinnContext *context, const Search *common, size_t field, double *factors) {
  RpinnPriorChoice *choice = common->choice, along = {.rule = choice->rule};
  Search search = {.posterior = common->posterior,
                   .options = common->options,
                   .choice = &along,
                   .N = common->N,
                   .factors = factors,
                   .line_field = field,
                   .line_scale = choice->trials[choice->chosen].scale};
  RpinnStatus status = try_line(context, &search, choice->theta);
  close_search(&search, status == RPINN_OK ? &choice->theta : NULL);
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
  Search search = {
      .posterior = posterior, .options = options, .choice = choice, .N = posterior->model.num_parameters};
  *choice = (RpinnPriorChoice){.rule = options->rule, .is_fresh = true};
  RpinnStatus status = search_scales(context, &search);
  close_search(&search, status == RPINN_OK ? &choice->theta : NULL);
  if (status == RPINN_OK) status = choose_factors(context, &search);
  if (status != RPINN_OK) rpinn_prior_choice_free(choice);
  return status;
}
