/* Variational inference: a round is, for all starts that are not done,
 *
 *   points      pairs of draws, and the log density with its gradient there      (variational_points.c)
 *   gradient    of the ELBO, a tile of parameters at a time                       (variational_gaussian.c)
 *   step        Adam on the same tiles
 *   schedule    windows, halvings of the step, the end
 *
 * and all but the last is shared out among the threads, one per target. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "target_check.h"
#include "variational_fit.h"

enum { TILE = 512 /* parameters */, MOST_FAILURES = 60 };

RpinnVariationalOptions rpinn_variational_default_options(void) {
  return (RpinnVariationalOptions){.family = RPINN_FAMILY_MEAN_FIELD,
                                   .rank = 10,
                                   .num_starts = 4,
                                   .num_pairs = 8,
                                   .max_iterations = 20000,
                                   .window = 100,
                                   .num_halvings = 6,
                                   .num_final_pairs = 500,
                                   .first_deviation = 0.1,
                                   .rule = {.learning_rate = 0.05,
                                            .decay_rate = 1,
                                            .decay_steps = 1,
                                            .beta1 = 0.9,
                                            .beta2 = 0.999,
                                            .epsilon = 1e-8}};
}

/* ---- create and destroy ---- */

static RpinnStatus check_positive(RpinnContext *context, const char *name, double value) {
  if (value > 0 && isfinite(value)) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "%s is %g, expected a positive number", name, value);
}

static RpinnStatus check_count(RpinnContext *context, const char *name, size_t count, size_t lowest) {
  if (count < lowest)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%s is %zu, expected at least %zu", name, count, lowest);
  if (count > INT32_MAX)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%s is %zu, which is too many", name, count);
  return RPINN_OK;
}

static RpinnStatus check_options(RpinnContext *context, const RpinnVariationalOptions *options) {
  const RpinnAdamRule *rule = &options->rule;
  if ((unsigned)options->family > RPINN_FAMILY_PRECISION)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "family is %d, expected mean field, low rank or precision",
                      (int)options->family);
  if (options->family != RPINN_FAMILY_MEAN_FIELD) RPINN_TRY(check_count(context, "rank", options->rank, 1));
  RPINN_TRY(check_count(context, "num_starts", options->num_starts, 1));
  RPINN_TRY(check_count(context, "num_pairs", options->num_pairs, 1));
  RPINN_TRY(check_count(context, "window", options->window, 2));
  RPINN_TRY(check_count(context, "num_final_pairs", options->num_final_pairs, 2));
  if (options->max_iterations == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "max_iterations is 0, expected at least 1");
  RPINN_TRY(check_positive(context, "first_deviation", options->first_deviation));
  RPINN_TRY(check_positive(context, "learning_rate", rule->learning_rate));
  RPINN_TRY(check_positive(context, "decay_rate", rule->decay_rate));
  RPINN_TRY(check_positive(context, "decay_steps", rule->decay_steps));
  RPINN_TRY(check_positive(context, "epsilon", rule->epsilon));
  if (!(rule->beta1 >= 0 && rule->beta1 < 1 && rule->beta2 >= 0 && rule->beta2 < 1))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "beta1 and beta2 are %g and %g, expected 0 <= beta < 1",
                      rule->beta1, rule->beta2);
  return RPINN_OK;
}

static RpinnStatus check_targets(RpinnContext *context, size_t num_targets,
                                 const RpinnBatchLogDensity *targets) {
  RPINN_TRY(check_count(context, "num_targets", num_targets, 1));
  RPINN_TRY(check_count(context, "num_parameters", targets[0].num_parameters, 1));
  for (size_t k = 0; k < num_targets; k++) {
    RPINN_TRY(rpinn_batch_log_density_check(context, &targets[k]));
    if (targets[k].num_parameters != targets[0].num_parameters || targets[k].group != targets[0].group)
      return rpinn_fail(
          context, RPINN_ERROR_INPUT,
          "target %zu has %zu parameters and groups of %zu, expected %zu and %zu as of the first", k,
          targets[k].num_parameters, targets[k].group, targets[0].num_parameters, targets[0].group);
  }
  return RPINN_OK;
}

static bool create_climb(const RpinnVariational *fit, RpinnVariationalClimb *climb) {
  RpinnArena *arena = fit->arena;
  climb->gradient = RPINN_ARENA_NEW(arena, double, fit->size);
  climb->finite = RPINN_ARENA_NEW(arena, bool, fit->N / TILE + 1);
  climb->m = RPINN_ARENA_NEW(arena, double, fit->size);
  climb->v = RPINN_ARENA_NEW(arena, double, fit->size);
  climb->sum = RPINN_ARENA_NEW(arena, double, fit->size);
  return climb->gradient && climb->finite && climb->m && climb->v && climb->sum &&
         rpinn_variational_gaussian_create(arena, fit->N, fit->options.rank,
                                           fit->options.family == RPINN_FAMILY_PRECISION, &climb->q) &&
         rpinn_variational_pairs_create(arena, fit->N, fit->options.rank, fit->options.num_pairs,
                                        &climb->pairs);
}

static RpinnStatus allocate(RpinnContext *context, RpinnVariational *fit, size_t num_targets,
                            const RpinnBatchLogDensity *targets) {
  const RpinnVariationalOptions *options = &fit->options;
  RpinnArena *arena = fit->arena;
  fit->climbs = RPINN_ARENA_NEW(arena, RpinnVariationalClimb, options->num_starts);
  fit->active = RPINN_ARENA_NEW(arena, size_t, options->num_starts);
  fit->room = RPINN_ARENA_NEW(arena, double, 2 * fit->N + 2 * options->rank);
  if (!fit->climbs || !fit->active || !fit->room) return rpinn_fail_memory(context);
  for (size_t k = 0; k < options->num_starts; k++)
    if (!create_climb(fit, &fit->climbs[k])) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_variational_points_create(context, arena, num_targets, targets, options->num_pairs,
                                            options->num_starts, options->seed, &fit->points));
  return rpinn_team_create(context, num_targets, &fit->team);
}

RpinnStatus rpinn_variational_create_batch(RpinnContext *context, size_t num_targets,
                                           const RpinnBatchLogDensity *targets,
                                           const RpinnVariationalOptions *options,
                                           RpinnVariational **variational) {
  *variational = NULL;
  RPINN_TRY(check_options(context, options));
  RPINN_TRY(check_targets(context, num_targets, targets));
  RpinnArena *arena = rpinn_arena_create();
  RpinnVariational *fit = arena ? RPINN_ARENA_NEW(arena, RpinnVariational, 1) : NULL;
  if (!fit) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  fit->arena = arena;
  fit->options = *options;
  if (options->family == RPINN_FAMILY_MEAN_FIELD) fit->options.rank = 0;
  fit->N = targets[0].num_parameters;
  fit->size = rpinn_variational_gaussian_size(fit->N, fit->options.rank);
  RpinnStatus status = allocate(context, fit, num_targets, targets);
  if (status != RPINN_OK)
    rpinn_variational_destroy(fit);
  else
    *variational = fit;
  return status;
}

RpinnStatus rpinn_variational_create(RpinnContext *context, size_t num_targets,
                                     const RpinnLogDensity *targets, const RpinnVariationalOptions *options,
                                     RpinnVariational **variational) {
  *variational = NULL;
  RpinnBatchLogDensity *batches = calloc(num_targets + 1, sizeof *batches);
  if (!batches) return rpinn_fail_memory(context);
  for (size_t k = 0; k < num_targets; k++) batches[k] = rpinn_log_density_as_batch(&targets[k]);
  RpinnStatus status = rpinn_variational_create_batch(context, num_targets, batches, options, variational);
  for (size_t k = 0; status == RPINN_OK && k < num_targets; k++) {
    RpinnVariationalCaller *caller = &(*variational)->points.callers[k];
    caller->single = targets[k];
    caller->target.data = &caller->single;
  }
  free(batches);
  return status;
}

void rpinn_variational_destroy(RpinnVariational *fit) {
  if (!fit) return;
  for (size_t k = 0; fit->climbs && k < fit->options.num_starts; k++) free(fit->climbs[k].windows);
  rpinn_variational_points_destroy(&fit->points);
  rpinn_team_destroy(fit->team);
  rpinn_arena_destroy(fit->arena);
}

/* ---- the start ---- */

RpinnStatus rpinn_variational_grow(RpinnContext *context, RpinnVariationalClimb *climb, size_t num_windows) {
  if (num_windows <= climb->capacity) return RPINN_OK;
  size_t capacity = 2 * num_windows + 16;
  RpinnVariationalWindow *windows = realloc(climb->windows, capacity * sizeof *windows);
  if (!windows) return rpinn_fail_memory(context);
  climb->windows = windows;
  climb->capacity = capacity;
  return RPINN_OK;
}

/* Columns of V that are not given begin with a length of about 1/2: at 0 the ELBO is level in all of their directions. */
static void start_factors(const RpinnVariational *fit, size_t number, const double *factors,
                          RpinnVariationalGaussian *q) {
  RpinnStream stream = rpinn_stream(fit->options.seed, RPINN_PURPOSE_VARIATIONAL_START, number, 0);
  size_t count = fit->N * q->rank;
  if (factors) {
    memcpy(q->factors, factors, count * sizeof *factors);
    return;
  }
  rpinn_stream_normals(&stream, count, q->factors);
  for (size_t i = 0; i < count; i++) q->factors[i] *= 0.5 / sqrt((double)fit->N);
}

static RpinnStatus start_climb(RpinnContext *context, RpinnVariational *fit, size_t number,
                               const double *mean, const double *deviation, const double *factors) {
  RpinnVariationalClimb *climb = &fit->climbs[number];
  RpinnVariationalGaussian *q = &climb->q;
  for (size_t j = 0; j < fit->N; j++) {
    double s = deviation ? deviation[j] : fit->options.first_deviation;
    if (!isfinite(mean[j]) || !(isfinite(s) && s > 0))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "start %zu has mean %g and deviation %g of parameter %zu, expected a finite and a "
                        "positive number",
                        number, mean[j], s, j);
    q->mean[j] = mean[j];
    q->omega[j] = log(s);
  }
  start_factors(fit, number, factors, q);
  memset(climb->m, 0, fit->size * sizeof(double));
  memset(climb->v, 0, fit->size * sizeof(double));
  memset(climb->sum, 0, fit->size * sizeof(double));
  climb->counts =
      (RpinnVariationalCounts){.best = -(double)INFINITY, .elbo = (double)NAN, .error = (double)NAN};
  if (rpinn_variational_gaussian_settle(q)) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "the deviations or factors of start %zu are too small or too large", number);
}

RpinnStatus rpinn_variational_start(RpinnContext *context, RpinnVariational *fit, const double *means,
                                    const double *deviations, const double *factors) {
  size_t N = fit->N, num_factors = N * fit->options.rank;
  fit->started = false;
  for (size_t k = 0; k < fit->options.num_starts; k++)
    RPINN_TRY(start_climb(context, fit, k, means + k * N, deviations ? deviations + k * N : NULL,
                          factors && num_factors ? factors + k * num_factors : NULL));
  fit->started = true;
  return RPINN_OK;
}

/* ---- gradient and step ---- */

static size_t num_tiles(const RpinnVariational *fit) {
  return (fit->N + TILE - 1) / TILE;
}

static size_t tile_length(const RpinnVariational *fit, size_t first) {
  return fit->N - first < TILE ? fit->N - first : TILE;
}

static bool all_finite(const double *numbers, size_t count) {
  bool finite = true;
  for (size_t j = 0; j < count; j++) finite &= isfinite(numbers[j]) != 0;
  return finite;
}

/* The climb that a task is about, and its tile; NULL: it takes no step in this round. */
static RpinnVariationalClimb *climb_of_task(RpinnVariational *fit, size_t task, size_t *tile) {
  RpinnVariationalClimb *climb = &fit->climbs[fit->active[task / num_tiles(fit)]];
  *tile = task % num_tiles(fit);
  return climb->counts.stage == RPINN_VARIATIONAL_CLIMBING ? climb : NULL;
}

static void pull_pair(void *user, size_t thread, size_t task) {
  RpinnVariational *fit = user;
  RpinnVariationalClimb *climb = &fit->climbs[fit->active[task / fit->options.num_pairs]];
  (void)thread;
  if (climb->counts.stage == RPINN_VARIATIONAL_CLIMBING)
    rpinn_variational_gaussian_pull(&climb->q, fit->options.total_gradient,
                                    &climb->pairs[task % fit->options.num_pairs]);
}

static void make_gradient(void *user, size_t thread, size_t task) {
  RpinnVariational *fit = user;
  size_t tile, N = fit->N, r = fit->options.rank;
  RpinnVariationalClimb *climb = climb_of_task(fit, task, &tile);
  (void)thread;
  if (!climb) return;
  size_t first = tile * TILE, count = tile_length(fit, first);
  rpinn_variational_gaussian_gradient(&climb->q, fit->options.num_pairs, climb->pairs,
                                      fit->options.total_gradient, first, count, climb->gradient);
  climb->finite[tile] = all_finite(climb->gradient + first, count) &&
                        all_finite(climb->gradient + N + first, count) &&
                        all_finite(climb->gradient + 2 * N + first * r, count * r);
}

static double step_of(const RpinnVariational *fit, const RpinnVariationalClimb *climb) {
  const RpinnAdamRule *rule = &fit->options.rule;
  double t = (double)climb->counts.iterations;
  return ldexp(rule->learning_rate * pow(rule->decay_rate, t / rule->decay_steps),
               -(int)climb->counts.halvings);
}

/* Adam upwards on numbers first … of phi, in units [period], one after the other and again, or in 1 where there are none; and their
 * sum over the window. */
static void step_numbers(const RpinnVariational *fit, RpinnVariationalClimb *climb, size_t first,
                         size_t count, size_t period, const double *units) {
  const RpinnAdamRule *rule = &fit->options.rule;
  double t = (double)climb->counts.iterations, unbias_v = 1 / (1 - pow(rule->beta2, t + 1)),
         rate = step_of(fit, climb) / (1 - pow(rule->beta1, t + 1));
  double *phi = climb->q.phi + first, *m = climb->m + first, *v = climb->v + first, *sum = climb->sum + first;
  const double *gradient = climb->gradient + first;
  for (size_t j = 0; j < count; j++) {
    double g = gradient[j];
    m[j] = rule->beta1 * m[j] + (1 - rule->beta1) * g;
    v[j] = rule->beta2 * v[j] + (1 - rule->beta2) * g * g;
    phi[j] += rate * (units ? units[j % period] : 1) * m[j] / (sqrt(v[j] * unbias_v) + rule->epsilon);
    sum[j] += phi[j];
  }
}

static void make_step(void *user, size_t thread, size_t task) {
  RpinnVariational *fit = user;
  size_t tile, N = fit->N, r = fit->options.rank;
  RpinnVariationalClimb *climb = climb_of_task(fit, task, &tile);
  (void)thread;
  if (!climb || climb->counts.failures) return;
  size_t first = tile * TILE, count = tile_length(fit, first);
  step_numbers(fit, climb, first, count, count, climb->q.deviation + first);
  step_numbers(fit, climb, N + first, count, 1, NULL);
  step_numbers(fit, climb, 2 * N + first * r, count * r, r, climb->q.unit);
}

/* ---- the ELBO of a round ---- */

/* Mean and sum of squares, one pair after the other (Welford). */
static void add_pairs(const RpinnVariational *fit, RpinnVariationalClimb *climb) {
  RpinnVariationalCounts *counts = &climb->counts;
  for (size_t p = 0; p < fit->options.num_pairs; p++) {
    const RpinnVariationalPair *pair = &climb->pairs[p];
    double elbo = 0.5 * (pair->log_p[0] + pair->log_p[1]) - pair->log_q, difference = elbo - counts->mean;
    counts->num_pairs++;
    counts->mean += difference / (double)counts->num_pairs;
    counts->squares += difference * (elbo - counts->mean);
  }
}

static void forget_pairs(RpinnVariationalCounts *counts) {
  counts->num_pairs = 0;
  counts->mean = counts->squares = 0;
}

static double error_of(const RpinnVariationalCounts *counts) {
  double n = (double)counts->num_pairs;
  return sqrt(counts->squares / (n * (n - 1)));
}

static bool draws_are_finite(const RpinnVariational *fit, const RpinnVariationalClimb *climb) {
  bool finite = true;
  for (size_t p = 0; p < fit->options.num_pairs; p++)
    finite &= isfinite(climb->pairs[p].log_p[0]) && isfinite(climb->pairs[p].log_p[1]);
  return finite;
}

/* ---- the schedule ---- */

static void give_up(RpinnVariationalClimb *climb) {
  climb->counts.stage = RPINN_VARIATIONAL_DONE;
  climb->counts.elbo = -(double)INFINITY;
  climb->counts.error = (double)NAN;
}

/* From the last iterate to the average of the window, whose ELBO is to be measured. */
static void end_climb(const RpinnVariational *fit, RpinnVariationalClimb *climb, bool converged) {
  RpinnVariationalCounts *counts = &climb->counts;
  for (size_t j = 0; counts->in_window && j < fit->size; j++)
    climb->q.phi[j] = climb->sum[j] / (double)counts->in_window;
  counts->converged = converged;
  counts->stage = RPINN_VARIATIONAL_MEASURING;
  forget_pairs(counts);
  if (!rpinn_variational_gaussian_settle(&climb->q)) give_up(climb);
}

/* A window counts as better where it is so by more than its own error. */
static RpinnStatus close_window(RpinnContext *context, RpinnVariational *fit, RpinnVariationalClimb *climb) {
  RpinnVariationalCounts *counts = &climb->counts;
  double error = error_of(counts), elbo = counts->mean;
  RPINN_TRY(rpinn_variational_grow(context, climb, counts->num_windows + 1));
  climb->windows[counts->num_windows++] =
      (RpinnVariationalWindow){(double)counts->iterations, elbo, error, step_of(fit, climb)};
  if (!(elbo - error > counts->best)) counts->halvings++;
  counts->best = fmax(counts->best, elbo);
  if (counts->halvings > fit->options.num_halvings) {
    counts->halvings--;
    end_climb(fit, climb, true);
    return RPINN_OK;
  }
  if (counts->iterations == fit->options.max_iterations) return RPINN_OK;
  counts->in_window = 0;
  forget_pairs(counts);
  memset(climb->sum, 0, fit->size * sizeof(double));
  return RPINN_OK;
}

/* Where a draw is not finite no step is made, and q becomes narrower. */
static void make_narrower(const RpinnVariational *fit, RpinnVariationalClimb *climb) {
  for (size_t j = 0; j < fit->N; j++) climb->q.omega[j] -= log(2);
  if (climb->counts.failures > MOST_FAILURES || !rpinn_variational_gaussian_settle(&climb->q)) give_up(climb);
}

static RpinnStatus schedule_climb(RpinnContext *context, RpinnVariational *fit,
                                  RpinnVariationalClimb *climb) {
  RpinnVariationalCounts *counts = &climb->counts;
  if (counts->failures) {
    make_narrower(fit, climb);
    return RPINN_OK;
  }
  add_pairs(fit, climb);
  counts->iterations++;
  counts->in_window++;
  if (!rpinn_variational_gaussian_settle(&climb->q)) {
    give_up(climb);
    return RPINN_OK;
  }
  if (counts->in_window == fit->options.window) RPINN_TRY(close_window(context, fit, climb));
  if (counts->stage == RPINN_VARIATIONAL_CLIMBING && counts->iterations == fit->options.max_iterations)
    end_climb(fit, climb, false);
  return RPINN_OK;
}

static void schedule_measurement(const RpinnVariational *fit, RpinnVariationalClimb *climb) {
  RpinnVariationalCounts *counts = &climb->counts;
  if (!draws_are_finite(fit, climb)) {
    give_up(climb);
    return;
  }
  add_pairs(fit, climb);
  if (counts->num_pairs < fit->options.num_final_pairs) return;
  counts->elbo = counts->mean;
  counts->error = error_of(counts);
  counts->stage = RPINN_VARIATIONAL_DONE;
}

/* ---- rounds ---- */

static void list_active(RpinnVariational *fit) {
  RpinnVariationalPoints *points = &fit->points;
  fit->num_active = 0;
  for (size_t k = 0; k < fit->options.num_starts; k++) {
    RpinnVariationalClimb *climb = &fit->climbs[k];
    if (climb->counts.stage == RPINN_VARIATIONAL_DONE) continue;
    points->rounds[fit->num_active] =
        (RpinnVariationalRound){.q = &climb->q,
                                .pairs = climb->pairs,
                                .first = climb->counts.rounds * fit->options.num_pairs,
                                .start = (uint32_t)k,
                                .with_slopes = climb->counts.stage == RPINN_VARIATIONAL_CLIMBING};
    fit->active[fit->num_active++] = k;
  }
  points->num_rounds = fit->num_active;
}

/* Did the round of a climb lead to a gradient? */
static void count_failures(const RpinnVariational *fit, RpinnVariationalClimb *climb) {
  bool finite = draws_are_finite(fit, climb);
  for (size_t t = 0; t < num_tiles(fit); t++) finite &= climb->finite[t];
  climb->counts.failures = finite ? 0 : climb->counts.failures + 1;
}

static RpinnStatus make_round(RpinnContext *context, RpinnVariational *fit) {
  size_t num_tasks = fit->num_active * num_tiles(fit);
  RPINN_TRY(rpinn_variational_points_evaluate(context, &fit->points, fit->team));
  rpinn_team_run(fit->team, fit->num_active * fit->options.num_pairs, pull_pair, fit);
  rpinn_team_run(fit->team, num_tasks, make_gradient, fit);
  for (size_t i = 0; i < fit->num_active; i++) {
    RpinnVariationalClimb *climb = &fit->climbs[fit->active[i]];
    if (climb->counts.stage == RPINN_VARIATIONAL_CLIMBING) count_failures(fit, climb);
    climb->counts.rounds++;
  }
  rpinn_team_run(fit->team, num_tasks, make_step, fit);
  for (size_t i = 0; i < fit->num_active; i++) {
    RpinnVariationalClimb *climb = &fit->climbs[fit->active[i]];
    if (climb->counts.stage == RPINN_VARIATIONAL_CLIMBING)
      RPINN_TRY(schedule_climb(context, fit, climb));
    else
      schedule_measurement(fit, climb);
  }
  return RPINN_OK;
}

/* A fit whose starts were all given up has nothing to tell. */
static RpinnStatus check_outcome(RpinnContext *context, const RpinnVariational *fit) {
  for (size_t k = 0; k < fit->options.num_starts; k++) {
    const RpinnVariationalCounts *counts = &fit->climbs[k].counts;
    if (counts->stage != RPINN_VARIATIONAL_DONE || isfinite(counts->elbo)) return RPINN_OK;
  }
  return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                    "the log density is not finite at draws of any of %zu starts, however narrow",
                    fit->options.num_starts);
}

static RpinnStatus check_started(RpinnContext *context, const RpinnVariational *fit) {
  if (fit->started) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the fit was neither started nor restored");
}

RpinnStatus rpinn_variational_advance(RpinnContext *context, RpinnVariational *fit, size_t num_iterations) {
  RPINN_TRY(check_started(context, fit));
  for (size_t i = 0; i < num_iterations; i++) {
    list_active(fit);
    if (!fit->num_active) break;
    RPINN_TRY(make_round(context, fit));
  }
  return check_outcome(context, fit);
}

RpinnStatus rpinn_variational_finish(RpinnContext *context, RpinnVariational *fit) {
  RPINN_TRY(check_started(context, fit));
  for (size_t k = 0; k < fit->options.num_starts; k++)
    if (fit->climbs[k].counts.stage == RPINN_VARIATIONAL_CLIMBING) end_climb(fit, &fit->climbs[k], false);
  while (!rpinn_variational_is_finished(fit)) RPINN_TRY(rpinn_variational_advance(context, fit, 1));
  return check_outcome(context, fit);
}

/* ---- what there is ---- */

bool rpinn_variational_is_finished(const RpinnVariational *fit) {
  for (size_t k = 0; k < fit->options.num_starts; k++)
    if (fit->climbs[k].counts.stage != RPINN_VARIATIONAL_DONE) return false;
  return true;
}

size_t rpinn_variational_num_iterations(const RpinnVariational *fit) {
  uint64_t most = 0;
  for (size_t k = 0; k < fit->options.num_starts; k++)
    if (fit->climbs[k].counts.iterations > most) most = fit->climbs[k].counts.iterations;
  return (size_t)most;
}

RpinnVariationalStart rpinn_variational_look(const RpinnVariational *fit, size_t start) {
  const RpinnVariationalClimb *climb = &fit->climbs[start];
  const RpinnVariationalCounts *counts = &climb->counts;
  return (RpinnVariationalStart){.num_iterations = (size_t)counts->iterations,
                                 .finished = counts->stage == RPINN_VARIATIONAL_DONE,
                                 .converged = counts->converged != 0,
                                 .elbo = counts->elbo,
                                 .error = counts->error,
                                 .num_windows = (size_t)counts->num_windows,
                                 .windows = climb->windows,
                                 .num_parameters = fit->N,
                                 .rank = fit->options.rank,
                                 .mean = climb->q.mean,
                                 .log_deviation = climb->q.omega,
                                 .factors = climb->q.factors};
}

/* By which starts are compared. */
static double value_of(const RpinnVariationalClimb *climb) {
  const RpinnVariationalCounts *counts = &climb->counts;
  if (counts->stage == RPINN_VARIATIONAL_DONE) return counts->elbo;
  return counts->num_windows ? climb->windows[counts->num_windows - 1].elbo : -(double)INFINITY;
}

size_t rpinn_variational_best(const RpinnVariational *fit) {
  size_t best = 0;
  for (size_t k = 1; k < fit->options.num_starts; k++)
    if (value_of(&fit->climbs[k]) > value_of(&fit->climbs[best])) best = k;
  return best;
}

void rpinn_variational_draw(const RpinnVariational *fit, uint64_t draw, double *theta, double *log_q) {
  rpinn_variational_gaussian_make_draw(&fit->climbs[rpinn_variational_best(fit)].q, fit->options.seed, draw,
                                       fit->room, theta, log_q);
}
