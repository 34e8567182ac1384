/* A small problem with everything that a run's files can hold (two coordinates, unknowns with and without a
 * transform, a derived quantity, a held-out term), and its numbers computed by hand from the parameters that
 * posterior.nc holds: a network of hyper-dual numbers, sums and sorted draws. */
#ifndef RPINN_TESTS_HAND_PROBLEM_H
#define RPINN_TESTS_HAND_PROBLEM_H

#include <netcdf.h>

#include "hand_network.h"
#include "problem_bench.h"
#include "run_bench.h"

static const char hand_yaml[] =
    "name: hand\n"
    "coordinates: {x: [0, 1], t: [0, 2]}\n"
    "fields: {u: {network: [3], activation: tanh}}\n"
    "unknowns:\n"
    "  k: {start: 1.2, transform: log, prior: {mean: 0.1, std: 0.6}}\n"
    "  shift: {start: 0.2, prior: {mean: 0.3, std: 0.5}}\n"
    "quantities: {flux: \"k*d(u, x)\"}\n"
    "truth: {u: x*t + 0.3, k: 1.5, shift: 0.1}\n"
    "terms:\n"
    "  level: {expect: u, at: {grid: [3, 2]}, data: truth, noise: 0.1}\n"
    "  law: {expect: \"d(u, t) - k*d(u, x) + shift*u\", at: {sobol: 5}, data: x, noise: 0.2}\n"
    "  later: {expect: u, at: {points: [[0.2, 0.4], [0.9, 1.7]]}, data: truth, noise: 0.1, role: test}\n"
    "prior: {reference_term: level}\n"
    "predict: {grid: [3, 2], quantities: [u, flux]}\n"
    "settings: {likelihood: noise, prior_scale: 2, optimizer: adam, start: glorot, scale_fields: no,\n"
    "           precision: double, seed: 3, threads: 2}\n";

enum { HAND_POINTS = 6, HAND_WIDTH = 3, HAND_TESTS = 2 };
static const double hand_predict[HAND_POINTS][2] = {{0, 0}, {0.5, 0}, {1, 0}, {0, 2}, {0.5, 2}, {1, 2}};
static const double hand_later[HAND_TESTS][2] = {{0.2, 0.4}, {0.9, 1.7}};
static const double hand_half_log_two_pi = 0.91893853320467274178;

static inline double hand_truth_u(const double *x) {
  return x[0] * x[1] + 0.3;
}
static inline double hand_truth_flux(const double *x) {
  return 1.5 * x[1]; /* k du/dx */
}

/* A run that is read back. */
typedef struct HandRun {
  const RunBench *bench;
  const char *name;
  const RpinnJsonValue *summary;
  ProblemBench problem; /* from run.yaml, on the plain backend */
  int root;             /* of posterior.nc */
  size_t num_chains, num_draws, num_weights;
  const double *weights, *k, *shift; /* [chains][draws]… */
} HandRun;

/* A variable by its path, such as "posterior/k", as doubles. */
static inline const double *hand_variable(const HandRun *run, const char *path, size_t *count) {
  char group_name[256];
  snprintf(group_name, sizeof group_name, "/%s", path);
  char *slash = strrchr(group_name, '/');
  int group, id, num_dimensions, dimensions[NC_MAX_VAR_DIMS];
  size_t total = 1, length;
  *slash = '\0';
  check_true(nc_inq_grp_full_ncid(run->root, group_name, &group) == NC_NOERR, "no group %s", group_name);
  check_true(nc_inq_varid(group, slash + 1, &id) == NC_NOERR, "no variable %s", path);
  assert_int_equal(nc_inq_varndims(group, id, &num_dimensions), NC_NOERR);
  assert_int_equal(nc_inq_vardimid(group, id, dimensions), NC_NOERR);
  for (int i = 0; i < num_dimensions; i++) {
    assert_int_equal(nc_inq_dimlen(group, dimensions[i], &length), NC_NOERR);
    total *= length;
  }
  double *values = RPINN_ARENA_NEW(run->bench->arena, double, total + 1);
  assert_non_null(values);
  assert_int_equal(nc_get_var_double(group, id, values), NC_NOERR);
  if (count) *count = total;
  return values;
}

static inline const double *hand_numbers(const HandRun *run, const char *path, size_t expected) {
  size_t count;
  const double *values = hand_variable(run, path, &count);
  check_true(count == expected, "%s has %zu numbers, expected %zu", path, count, expected);
  return values;
}

static inline HandRun hand_open(const RunBench *bench, const char *name) {
  HandRun run = {.bench = bench, .name = name, .summary = run_json(bench, name)};
  RpinnOverride in_double = {"precision", "double", "test", false};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &in_double};
  int group, chain, draw;
  run.problem = bench_load(run_path(bench, name, "run.yaml"), &options);
  bench_build(&run.problem);
  check_true(nc_open(run_path(bench, name, "posterior.nc"), NC_NOWRITE, &run.root) == NC_NOERR,
             "no posterior.nc");
  assert_int_equal(nc_inq_grp_full_ncid(run.root, "/posterior", &group), NC_NOERR);
  assert_int_equal(nc_inq_dimid(group, "chain", &chain), NC_NOERR);
  assert_int_equal(nc_inq_dimid(group, "draw", &draw), NC_NOERR);
  assert_int_equal(nc_inq_dimlen(group, chain, &run.num_chains), NC_NOERR);
  assert_int_equal(nc_inq_dimlen(group, draw, &run.num_draws), NC_NOERR);
  run.num_weights = run.problem.posterior->networks[0].num_trainable;
  assert_int_equal(run.num_weights, 2 * HAND_WIDTH + HAND_WIDTH + HAND_WIDTH + 1);
  size_t draws = run.num_chains * run.num_draws;
  run.weights = hand_numbers(&run, "posterior/u_parameters", draws * run.num_weights);
  run.k = hand_numbers(&run, "posterior/k", draws);
  run.shift = hand_numbers(&run, "posterior/shift", draws);
  return run;
}

static inline void hand_close(HandRun *run) {
  nc_close(run->root);
  bench_close(&run->problem);
}

static inline size_t hand_total(const HandRun *run) {
  return run->num_chains * run->num_draws;
}

/* All parameters of a draw as the posterior orders them: the network, log k, shift. */
static inline void hand_theta(const HandRun *run, size_t draw, double *theta) {
  memcpy(theta, run->weights + draw * run->num_weights, run->num_weights * sizeof *theta);
  theta[run->num_weights] = log(run->k[draw]);
  theta[run->num_weights + 1] = run->shift[draw];
}

static inline Hyper hand_u(const HandRun *run, size_t draw, const double *x) {
  return hand_network(&run->problem.posterior->networks[0], run->weights + draw * run->num_weights, x, 0, 1);
}

/* What the terms and quantities say at a point. */
static inline double hand_value(const HandRun *run, size_t draw, const char *name, const double *x) {
  Hyper u = hand_u(run, draw, x);
  if (!strcmp(name, "flux")) return run->k[draw] * u.a;
  if (!strcmp(name, "law")) return u.b - run->k[draw] * u.a + run->shift[draw] * u.v;
  return u.v;
}

/* ---- statistics of draws ---- */

static inline int hand_compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* At rank p (n + 1), counted from 1; NaN where there is no such draw. */
static inline double hand_quantile(size_t count, const double *values, double probability) {
  double sorted[512];
  assert_true(count && count <= 512);
  memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, hand_compare);
  double place = probability * (double)(count + 1);
  size_t below = (size_t)place;
  if (below < 1 || below > count || (below == count && place > (double)count)) return (double)NAN;
  return below == count ? sorted[count - 1]
                        : sorted[below - 1] + (place - (double)below) * (sorted[below] - sorted[below - 1]);
}

static inline double hand_mean(size_t count, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i];
  return sum / (double)count;
}

static inline double hand_deviation(size_t count, const double *values) {
  double mean = hand_mean(count, values), sum = 0;
  for (size_t i = 0; i < count; i++) sum += (values[i] - mean) * (values[i] - mean);
  return sqrt(sum / (double)(count - 1));
}

typedef struct HandScore {
  double rl2, linf, mean_std, lpp, lpp_table, coverage, interval_coverage, crps;
} HandScore;

/* draws [num_points][count] against the truth [num_points], by the definitions. */
static inline HandScore hand_score(size_t num_points, size_t count, const double *draws,
                                   const double *truth) {
  HandScore score = {0};
  double error = 0, size = 0, n = (double)count, points = (double)num_points;
  for (size_t p = 0; p < num_points; p++) {
    const double *own = draws + p * count;
    double mean = hand_mean(count, own), std = hand_deviation(count, own), off = mean - truth[p];
    error += off * off;
    size += truth[p] * truth[p];
    score.linf = fmax(score.linf, fabs(off));
    score.mean_std += std / points;
    score.lpp += -0.5 * off * off / (std * std) - hand_half_log_two_pi - log(std);
    score.lpp_table += -0.5 * off * off / (std * std) - hand_half_log_two_pi - 2 * log(std);
    score.coverage += (fabs(off) < 2 * std) / points;
    score.interval_coverage +=
        (hand_quantile(count, own, 0.025) <= truth[p] && truth[p] <= hand_quantile(count, own, 0.975)) /
        points;
    for (size_t i = 0; i < count; i++) {
      score.crps += fabs(own[i] - truth[p]) / n / points;
      for (size_t j = 0; j < count; j++) score.crps -= 0.5 * fabs(own[i] - own[j]) / (n * n) / points;
    }
  }
  score.rl2 = sqrt(error / size);
  if (isnan(hand_quantile(count, draws, 0.025))) score.interval_coverage = (double)NAN;
  return score;
}

/* The draws first … first + count - 1 of a quantity at points, [num_points][count]. */
static inline double *hand_draws(const HandRun *run, const char *name, size_t num_points,
                                 const double (*points)[2], size_t first, size_t count) {
  double *draws = RPINN_ARENA_NEW(run->bench->arena, double, num_points *count);
  assert_non_null(draws);
  for (size_t p = 0; p < num_points; p++)
    for (size_t i = 0; i < count; i++) draws[p * count + i] = hand_value(run, first + i, name, points[p]);
  return draws;
}

/* A score of summary.json; those of chains have no interval and no crps. */
static inline void hand_check_score(const RpinnJsonValue *object, const char *name, const HandScore *score,
                                    bool is_of_chain) {
  const double tolerance = 1e-9;
  const RpinnJsonValue *found = json_at(object, name);
  check_same(json_number(found, "rl2"), score->rl2, tolerance, "rl2");
  check_same(json_number(found, "linf"), score->linf, tolerance, "linf");
  check_same(json_number(found, "mean_std"), score->mean_std, tolerance, "mean_std");
  check_same(json_number(found, "lpp"), score->lpp, tolerance, "lpp");
  check_same(json_number(found, "lpp_table"), score->lpp_table, tolerance, "lpp_table");
  check_same(json_number(found, "coverage"), score->coverage, tolerance, "coverage");
  if (is_of_chain) return;
  check_same(json_number(found, "interval_coverage"), score->interval_coverage, tolerance,
             "interval_coverage");
  check_same(json_number(found, "crps"), score->crps, tolerance, "crps");
}

/* Scores of draws first … of all quantities below object. */
static inline void hand_check_quantities(const HandRun *run, const RpinnJsonValue *object, size_t first,
                                         size_t count, bool is_of_chain) {
  double truth_u[HAND_POINTS], truth_flux[HAND_POINTS];
  for (size_t p = 0; p < HAND_POINTS; p++) {
    truth_u[p] = hand_truth_u(hand_predict[p]);
    truth_flux[p] = hand_truth_flux(hand_predict[p]);
  }
  HandScore u =
      hand_score(HAND_POINTS, count, hand_draws(run, "u", HAND_POINTS, hand_predict, first, count), truth_u);
  HandScore flux = hand_score(HAND_POINTS, count,
                              hand_draws(run, "flux", HAND_POINTS, hand_predict, first, count), truth_flux);
  hand_check_score(object, "u", &u, is_of_chain);
  hand_check_score(object, "flux", &flux, is_of_chain);
}

#endif
