/* The parts of NUTS one by one: dual averaging, windows, metric, vector loops, leapfrog, step size search,
 * trees. */
#include "alike_normals.h"
#include "chain_statistics.h"
#include "counted_allocations.h"
#include "nuts_targets.h"

#include "dual_averaging.h"
#include "nuts_chain.h"
#include "warmup_windows.h"

/* ---- adaptation ---- */

/* Stan's own example of one update. */
static void dual_averaging_update(void **state) {
  (void)state;
  RpinnDualAveraging averaging = {.target = 0.5,
                                  .gamma = 0.05,
                                  .t0 = 10,
                                  .kappa = 0.75,
                                  .mu = 4.13018724667137,
                                  .count = 79,
                                  .error = 0.0209457573689391,
                                  .average = 0.821976337071218};
  check_relative(rpinn_dual_averaging_learn(&averaging, 0.728285153733299), 2.40769920051673, 1e-14);
  check_relative(averaging.error, 0.0181765250233587, 1e-14);
  check_relative(averaging.average, 0.824095816988227, 1e-14);
  assert_int_equal(averaging.count, 80);
  check_relative(rpinn_dual_averaging_step(&averaging), exp(0.824095816988227), 1e-14);
}

/* An acceptance of more than 1 counts as 1, and a restart forgets everything. */
static void dual_averaging_restart(void **state) {
  (void)state;
  RpinnDualAveraging one = {.target = 0.8, .gamma = 0.05, .t0 = 10, .kappa = 0.75}, other = one;
  rpinn_dual_averaging_restart(&one, 0.3);
  rpinn_dual_averaging_learn(&other, 0.1);
  rpinn_dual_averaging_restart(&other, 0.3);
  assert_true(rpinn_dual_averaging_learn(&one, 1) == rpinn_dual_averaging_learn(&other, 7));
  /* t = 1: x = log(10 * 0.3) - (0.8 - 1)/11/0.05, and x-bar = x */
  check_relative(rpinn_dual_averaging_step(&one), 3 * exp(0.2 / 11 / 0.05), 1e-14);
}

static void check_updates(size_t num_warmup, size_t begin, size_t end, const size_t *expected, size_t count) {
  RpinnWarmupWindows windows = rpinn_warmup_windows(num_warmup, 75, 25, 50);
  size_t found = 0;
  for (size_t i = 0; i < num_warmup; i++) {
    check_true(rpinn_warmup_windows_collect(&windows, i) == (i >= begin && i < end),
               "warmup %zu, iteration %zu", num_warmup, i);
    if (!rpinn_warmup_windows_update(&windows, i)) continue;
    check_true(found < count && expected[found] == i, "warmup %zu: update at %zu", num_warmup, i);
    found++;
  }
  assert_int_equal(found, count);
}

/* Stan's windows (windowed_adaptation.hpp: 75, 25, 50) by hand, iterations from 0. The slow phase ends with
 * iteration e = n - 51. The first window ends with 75 + 25 - 1 = 99. A window that has ended with iteration i
 * doubles the length L; the next ends with i + L, but with e when that is not e and the one after it would end
 * beyond: i + L + 2 L > e.
 *   150: e = 99, and 99 is the end
 *   151: 99; L = 50, 149 + 100 > 100: e = 100.     175: 99, e = 124.     199: 99, e = 148
 *   200: 99; L = 50, 149 is e.                     201: 99; 149 + 100 > 150: e = 150
 *   280: 99; 149 + 100 > 229: e
 *   299: 99; 149 + 100 > 248: e                    300: 99; 149 + 100 is not > 249: 149; L = 100, 249 is e
 *   400: 99; 149; L = 100, 249 + 200 > 349: e
 *  1000: 99; 149; 249; L = 200, 449 + 400 is not > 949: 449; L = 400, 849 + 800 > 949: e
 * Below 150: 15 % of n (rounded down), the rest, 10 % of n; below 20: none. */
static void windows_of_adaptation(void **state) {
  (void)state;
  check_updates(150, 75, 100, (size_t[]){99}, 1);
  check_updates(151, 75, 101, (size_t[]){99, 100}, 2);
  check_updates(175, 75, 125, (size_t[]){99, 124}, 2);
  check_updates(199, 75, 149, (size_t[]){99, 148}, 2);
  check_updates(200, 75, 150, (size_t[]){99, 149}, 2);
  check_updates(201, 75, 151, (size_t[]){99, 150}, 2);
  check_updates(280, 75, 230, (size_t[]){99, 229}, 2);
  check_updates(299, 75, 249, (size_t[]){99, 248}, 2);
  check_updates(300, 75, 250, (size_t[]){99, 149, 249}, 3);
  check_updates(400, 75, 350, (size_t[]){99, 149, 349}, 3);
  check_updates(1000, 75, 950, (size_t[]){99, 149, 249, 449, 949}, 5);
  check_updates(149, 22, 135, (size_t[]){134}, 1);
  check_updates(100, 15, 90, (size_t[]){89}, 1);
  check_updates(20, 3, 18, (size_t[]){17}, 1);
  check_updates(19, 0, 0, NULL, 0);
  check_updates(0, 0, 0, NULL, 0);
  RpinnWarmupWindows no_end = rpinn_warmup_windows(100, 75, 25, 0);
  assert_true(rpinn_warmup_windows_update(&no_end, 99));
}

/* ---- metric ---- */

static RpinnNutsMetric make_metric(RpinnArena *arena, RpinnMetric kind, size_t N) {
  RpinnNutsMetric metric;
  assert_true(rpinn_nuts_metric_create(arena, kind, N, &metric));
  return metric;
}

static void metric_regularises(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  const double same[] = {3, -1};
  for (RpinnMetric kind = RPINN_METRIC_DIAGONAL; kind <= RPINN_METRIC_DENSE; kind++) {
    RpinnNutsMetric metric = make_metric(arena, kind, 2);
    size_t second = kind == RPINN_METRIC_DENSE ? 3 : 1;
    for (int n = 0; n < 10; n++) rpinn_nuts_metric_learn(&metric, same);
    assert_int_equal(rpinn_nuts_metric_update(context, &metric), RPINN_OK);
    assert_true(metric.inverse[0] == 1e-3 * 5 / 15. && metric.inverse[second] == 1e-3 * 5 / 15.);
    assert_int_equal(metric.num_draws, 0);
    /* (1, 2), (3, -2), (8, 3): variances 13, 7; covariance 4 */
    rpinn_nuts_metric_learn(&metric, (double[]){1, 2});
    rpinn_nuts_metric_learn(&metric, (double[]){3, -2});
    rpinn_nuts_metric_learn(&metric, (double[]){8, 3});
    assert_int_equal(rpinn_nuts_metric_update(context, &metric), RPINN_OK);
    check_relative(metric.inverse[0], 3 / 8. * 13 + 1e-3 * 5 / 8, 1e-15);
    check_relative(metric.inverse[second], 3 / 8. * 7 + 1e-3 * 5 / 8, 1e-15);
    if (kind == RPINN_METRIC_DENSE) {
      check_relative(metric.inverse[1], 3 / 8. * 4, 1e-15);
      assert_true(metric.inverse[1] == metric.inverse[2]);
    }
    /* One draw has no covariance: the metric so far stands for it. */
    double first = metric.inverse[0], off_diagonal = metric.inverse[1];
    rpinn_nuts_metric_learn(&metric, (double[]){50, 60});
    assert_int_equal(rpinn_nuts_metric_update(context, &metric), RPINN_OK);
    check_relative(metric.inverse[0], first / 6 + 1e-3 * 5 / 6, 1e-15);
    if (kind == RPINN_METRIC_DENSE) check_relative(metric.inverse[1], off_diagonal / 6, 1e-15);
  }
  RpinnNutsMetric metric = make_metric(arena, RPINN_METRIC_DENSE, 2);
  rpinn_nuts_metric_learn(&metric, (double[]){1, 2});
  rpinn_nuts_metric_learn(&metric, (double[]){INFINITY, 2});
  assert_int_equal(rpinn_nuts_metric_update(context, &metric), RPINN_ERROR_NUMERIC);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

/* The covariance of momenta is M, so that of M^-1 p is M^-1: entry by entry within 5 standard errors, which 9
 * entries break by chance once in 2e5. */
static void momenta_have_the_metric(void **state) {
  (void)state;
  enum { N = 3, DRAWS = 40000 };
  RpinnArena *arena = rpinn_arena_create();
  const double C[N][N] = {{2, 0.6, -0.3}, {0.6, 1, 0.2}, {-0.3, 0.2, 0.5}};
  for (RpinnMetric kind = RPINN_METRIC_UNIT; kind <= RPINN_METRIC_DENSE; kind++) {
    RpinnNutsMetric metric = make_metric(arena, kind, N);
    RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHAIN, 0, 0);
    double expected[N][N] = {{0}}, sums[N][N] = {{0}};
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++) {
        if (kind == RPINN_METRIC_DENSE) metric.inverse[i * N + j] = C[i][j];
        if (kind == RPINN_METRIC_DIAGONAL && i == j) metric.inverse[i] = C[i][i];
        expected[i][j] = kind == RPINN_METRIC_DENSE  ? C[i][j]
                         : i != j                    ? 0
                         : kind == RPINN_METRIC_UNIT ? 1
                                                     : C[i][i];
      }
    assert_true(rpinn_nuts_metric_refresh(&metric));
    for (int n = 0; n < DRAWS; n++) {
      double p[N], sharp[N];
      rpinn_nuts_metric_draw(&metric, &stream, p);
      for (size_t i = 0; i < N; i++) {
        sharp[i] = 0;
        for (size_t j = 0; j < N; j++) sharp[i] += expected[i][j] * p[j];
      }
      for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) sums[i][j] += sharp[i] * sharp[j] / DRAWS;
    }
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++) {
        double variance = expected[i][i] * expected[j][j] + expected[i][j] * expected[i][j];
        check_true(fabs(sums[i][j] - expected[i][j]) < 5 * sqrt(variance / DRAWS),
                   "metric %d: covariance (%zu, %zu) is %g, expected %g", kind, i, j, sums[i][j],
                   expected[i][j]);
      }
  }
  rpinn_arena_destroy(arena);
}

/* ---- vector loops ---- */

/* kick_on is kick and then kick_drift, bit for bit, with an inverse and without. */
static void check_kick_on(const RpinnPhaseVectors *loops, size_t length, double *const *v) {
  double *both[4], *one[4];
  for (int i = 0; i < 4; i++) {
    both[i] = aligned_alloc(64, length * sizeof(double));
    one[i] = aligned_alloc(64, length * sizeof(double));
  }
  for (int with_inverse = 0; with_inverse < 2; with_inverse++) {
    const double *inverse = with_inverse ? v[1] : NULL;
    for (int i = 0; i < 4; i++) memset(both[i], 0, length * sizeof(double));
    for (int i = 0; i < 4; i++) memset(one[i], 0, length * sizeof(double));
    memcpy(both[0], v[0], length * sizeof(double));
    memcpy(one[0], v[0], length * sizeof(double));
    double found = loops->kick_on(length, 0.1, 0.2, inverse, v[2], v[3], both[0], both[1], both[2], both[3]);
    assert_true(found == loops->kick(length, 0.1, inverse, v[2], one[0], one[1]));
    loops->kick_drift(length, 0.1, 0.2, inverse, one[0], v[2], v[3], one[2], one[3]);
    for (int i = 0; i < 4; i++) assert_memory_equal(both[i], one[i], length * sizeof(double));
  }
  for (int i = 0; i < 4; i++) free(both[i]);
  for (int i = 0; i < 4; i++) free(one[i]);
}

/* The loops for this machine give the bits of the portable ones, and those are the sums that they should be. */
static void vector_loops(void **state) {
  (void)state;
  enum { N = 37, COUNT = 12 };
  size_t length = rpinn_phase_length(N);
  assert_int_equal(length, 40);
  double *v[COUNT], results[2][8], rho[2][40];
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
  for (int i = 0; i < COUNT; i++) {
    v[i] = aligned_alloc(64, length * sizeof(double));
    memset(v[i], 0, length * sizeof(double));
    rpinn_stream_normals(&stream, N, v[i]);
  }
  for (int portable = 0; portable < 2; portable++) {
    const RpinnPhaseVectors *loops = rpinn_phase_vectors(portable);
    RpinnPhaseHalves halves = {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
    loops->join(length, &halves, v[8], results[portable]);
    memcpy(rho[portable], v[8], sizeof rho[0]);
    memcpy(v[9], v[0], length * sizeof(double));
    results[portable][6] = loops->kick(length, 0.1, v[1], v[2], v[9], v[10]);
    loops->kick_drift(length, 0.1, 0.2, v[1], v[3], v[4], v[5], v[9], v[10]);
    results[portable][7] = loops->dot(length, v[9], v[10]);
    check_kick_on(loops, length, v);
  }
  assert_memory_equal(results[0], results[1], sizeof results[0]);
  assert_memory_equal(rho[0], rho[1], sizeof rho[0]);
  double sums[8] = {0};
  for (size_t i = 0; i < N; i++) {
    double whole = v[0][i] + v[1][i], over = v[0][i] + v[6][i], under = v[1][i] + v[4][i];
    double kicked = v[0][i] + 0.1 * v[2][i], half = v[3][i] + 0.1 * v[4][i];
    assert_true(rho[0][i] == whole);
    sums[0] += v[2][i] * whole;
    sums[1] += v[3][i] * whole;
    sums[2] += v[2][i] * over;
    sums[3] += v[7][i] * over;
    sums[4] += v[5][i] * under;
    sums[5] += v[3][i] * under;
    sums[6] += kicked * v[1][i] * kicked;
    sums[7] += half * (v[5][i] + 0.2 * v[1][i] * half);
  }
  for (int k = 0; k < 8; k++) check_relative(results[0][k], sums[k], 1e-13);
  for (int i = 0; i < COUNT; i++) free(v[i]);
}

/* ---- leapfrog ---- */

/* log p = -sum x^4/4 - x_0 x_1: not quadratic, so that the leapfrog errs. */
static RpinnStatus quartic(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = -0.25 * (pow(x[0], 4) + pow(x[1], 4) + pow(x[2], 4)) - 0.3 * x[0] * x[1];
  if (!gradient) return RPINN_OK;
  for (int i = 0; i < 3; i++) gradient[i] = -pow(x[i], 3);
  gradient[0] -= 0.3 * x[1];
  gradient[1] -= 0.3 * x[0];
  return RPINN_OK;
}

typedef struct Bench {
  RpinnContext *context;
  RpinnNuts *nuts;
} Bench;

static Bench make_bench(RpinnStatus (*evaluate)(void *, const double *, double *, double *), size_t N,
                        const RpinnNutsOptions *options) {
  Bench bench = {.context = rpinn_context_create()};
  RpinnLogDensity target = {.num_parameters = N, .evaluate = evaluate};
  assert_int_equal(rpinn_nuts_create(bench.context, &target, options, &bench.nuts), RPINN_OK);
  return bench;
}

static void close_bench(Bench *bench) {
  rpinn_nuts_destroy(bench->nuts);
  rpinn_context_destroy(bench->context);
}

static void set_metric(RpinnNutsMetric *metric) {
  const double C[3][3] = {{2, 0.6, -0.3}, {0.6, 1, 0.2}, {-0.3, 0.2, 0.5}};
  for (size_t i = 0; i < 3; i++) {
    if (metric->kind == RPINN_METRIC_DIAGONAL) metric->inverse[i] = C[i][i];
    for (size_t j = 0; metric->kind == RPINN_METRIC_DENSE && j < 3; j++) metric->inverse[i * 3 + j] = C[i][j];
  }
  assert_true(rpinn_nuts_metric_refresh(metric));
}

static RpinnPhasePoint *leap(const Bench *bench, const RpinnPhasePoint *from, double step) {
  RpinnTrajectory *trajectory = &bench->nuts->trajectory;
  rpinn_trajectory_leap(trajectory, from, step);
  assert_int_equal(rpinn_request_answer(bench->context, &trajectory->request), RPINN_OK);
  return rpinn_trajectory_land(trajectory);
}

static const double first_momentum[] = {1.1, -0.4, 0.7};

/* Energy error after the time 1, in `steps` leapfrogs; then backwards to the start. */
static double energy_error(const Bench *bench, int steps, double *way_back) {
  RpinnTrajectory *trajectory = &bench->nuts->trajectory;
  RpinnPhasePoint *start = trajectory->current, *point = start, *next;
  memcpy(start->p, first_momentum, sizeof first_momentum);
  rpinn_trajectory_weigh(trajectory, start);
  double error = 0;
  for (int direction = 1; direction >= -1; direction -= 2) {
    for (int k = 0; k < steps; k++) {
      next = leap(bench, point, direction / (double)steps);
      if (point != start) trajectory->free_points[trajectory->num_free++] = point;
      point = next;
    }
    if (direction == 1) error = point->energy - start->energy;
  }
  *way_back = 0;
  for (int i = 0; i < 3; i++)
    *way_back = fmax(*way_back, fmax(fabs(point->q[i] - start->q[i]), fabs(point->p[i] - start->p[i])));
  rpinn_trajectory_clear(trajectory);
  return error;
}

/* Second order: half the step, a quarter of the error. Reversible: back to rounding. */
static void leapfrog_is_second_order_and_reversible(void **state) {
  (void)state;
  for (RpinnMetric kind = RPINN_METRIC_UNIT; kind <= RPINN_METRIC_DENSE; kind++) {
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.metric = kind;
    Bench bench = make_bench(quartic, 3, &options);
    assert_int_equal(rpinn_nuts_start(bench.context, bench.nuts, 0, 0, (double[]){0.3, -0.8, 1.2}), RPINN_OK);
    set_metric(&bench.nuts->metric);
    double back, coarse = energy_error(&bench, 50, &back);
    check_true(back < 1e-13, "metric %d: %g from the start", kind, back);
    double fine = energy_error(&bench, 100, &back);
    check_true(fabs(coarse / fine - 4) < 0.05, "metric %d: errors %g, %g", kind, coarse, fine);
    close_bench(&bench);
  }
}

/* ---- step size search ---- */

enum { MANY = 4000 };
static double narrow_sd; /* of every parameter */

static RpinnStatus narrow(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (int i = 0; i < MANY; i++) {
    *log_density -= 0.5 * pow(x[i] / narrow_sd, 2);
    if (gradient) gradient[i] = -x[i] / narrow_sd / narrow_sd;
  }
  return RPINN_OK;
}

static double mean_energy_loss(const Bench *bench, double step) {
  RpinnTrajectory *trajectory = &bench->nuts->trajectory;
  double sum = 0;
  for (int k = 0; k < 20; k++) {
    rpinn_trajectory_refresh(trajectory);
    const RpinnPhasePoint *end = leap(bench, trajectory->current, step);
    sum += (end->energy - trajectory->current->energy) / 20;
    rpinn_trajectory_clear(trajectory);
  }
  return sum;
}

/* Down from 1 to a narrow density, up from 1 to a wide one. The search sees one momentum per step, so the mean
 * loss over many may cross the threshold one doubling away from where the search found it. */
static void search_brackets_the_threshold(void **state) {
  (void)state;
  static double theta[MANY];
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 0;
  options.metric = RPINN_METRIC_UNIT;
  for (int upwards = 0; upwards < 2; upwards++) {
    narrow_sd = upwards ? 100 : 0.1;
    Bench bench = make_bench(narrow, MANY, &options);
    RpinnNutsDraw draw;
    RpinnStream stream = rpinn_stream(8, RPINN_PURPOSE_CHECK, 0, 0);
    for (int i = 0; i < MANY; i++) theta[i] = narrow_sd * rpinn_stream_normal(&stream);
    assert_int_equal(rpinn_nuts_start(bench.context, bench.nuts, 1, 0, theta), RPINN_OK);
    assert_int_equal(rpinn_nuts_advance(bench.context, bench.nuts, &draw), RPINN_OK);
    double step = upwards ? draw.step_size / 2 : draw.step_size; /* upwards it ends with one that is bad */
    double good = mean_energy_loss(&bench, step / 2), bad = mean_energy_loss(&bench, 4 * step);
    check_true(good < -log(0.8) && bad > -log(0.8), "step %g: losses %g, %g", step, good, bad);
    assert_true(upwards ? step > 1 : step < 0.1);
    assert_true(log2(step) == round(log2(step)));
    close_bench(&bench);
  }
}

static RpinnStatus flat(void *data, const double *x, double *log_density, double *gradient) {
  (void)data, (void)x;
  *log_density = 0;
  if (gradient) gradient[0] = gradient[1] = gradient[2] = 0;
  return RPINN_OK;
}

/* Finite at the start only. */
static RpinnStatus needle(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = x[0] == 0 ? 0 : NAN;
  if (gradient) gradient[0] = gradient[1] = gradient[2] = 1;
  return RPINN_OK;
}

static void search_without_a_bound(void **state) {
  (void)state;
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNutsDraw draw;
  Bench wide = make_bench(flat, 3, &options), sharp = make_bench(needle, 3, &options);
  assert_int_equal(rpinn_nuts_start(wide.context, wide.nuts, 1, 0, (double[]){0, 0, 0}), RPINN_OK);
  assert_int_equal(rpinn_nuts_advance(wide.context, wide.nuts, &draw), RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(wide.context)->message, "improper"));
  assert_int_equal(rpinn_nuts_advance(wide.context, wide.nuts, &draw), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_nuts_start(sharp.context, sharp.nuts, 1, 0, (double[]){0, 0, 0}), RPINN_OK);
  assert_int_equal(rpinn_nuts_advance(sharp.context, sharp.nuts, &draw), RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(sharp.context)->message, "shrank to 0"));
  close_bench(&wide);
  close_bench(&sharp);
}

/* ---- trees ---- */

/* A flat density never turns back: trajectories are straight and full, all points weigh the same, 2^k points
 * weigh 2^k. So a new half is always preferred to the old one, the draw is anywhere in the last half of
 * K = 2^(depth-1) points, and the start anywhere in the half beside it: the distance between them is 1 + a + b
 * steps with a, b uniform in 0 … K-1. Chi-square over distances, each depth at the level 1e-4. */
static void trees_on_a_flat_density(void **state) {
  (void)state;
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 0;
  options.num_draws = 2000;
  options.first_step = 0.1;
  options.metric = RPINN_METRIC_UNIT;
  for (unsigned depth = 1; depth <= 6; depth++) {
    options.max_depth = depth;
    Bench bench = make_bench(flat, 3, &options);
    size_t points = (size_t)1 << depth, half = points / 2, counts[64] = {0};
    assert_int_equal(rpinn_nuts_start(bench.context, bench.nuts, 1, depth, (double[]){0, 0, 0}), RPINN_OK);
    while (!rpinn_nuts_finished(bench.nuts)) {
      RpinnNutsDraw draw;
      double before[3], moved = 0, speed = 0;
      memcpy(before, bench.nuts->trajectory.current->q, sizeof before);
      assert_int_equal(rpinn_nuts_advance(bench.context, bench.nuts, &draw), RPINN_OK);
      assert_int_equal(draw.num_steps, points - 1);
      assert_int_equal(draw.tree_depth, depth);
      assert_true(draw.reached_max_depth && !draw.diverging && draw.acceptance_rate == 1);
      assert_true(draw.energy_error == 0 && draw.max_energy_error == 0);
      for (int i = 0; i < 3; i++) {
        moved += pow(draw.parameters[i] - before[i], 2);
        speed += pow(bench.nuts->trajectory.current->p[i], 2);
      }
      double steps = sqrt(moved / speed) / 0.1;
      assert_true(fabs(steps - round(steps)) < 1e-6 && steps > 0.5 && steps < (double)points - 0.5);
      counts[(size_t)round(steps)]++;
    }
    double chi_square = 0;
    for (size_t k = 1; k < points; k++) {
      double ways = (double)(k <= half ? k : points - k), expected = 2000 * ways / (double)(half * half);
      chi_square += pow((double)counts[k] - expected, 2) / expected;
    }
    check_true(depth == 1 || chi_square < chi_square_bound((double)points - 2), "depth %u: chi-square %g",
               depth, chi_square);
    assert_int_equal(rpinn_nuts_num_leapfrogs(bench.nuts), 2000 * (points - 1));
    close_bench(&bench);
  }
}

/* On many standard normals all coordinates swing in phase, and with the wrong step both ends of a tree have
 * turned so far that they look as if they had not. The checks across the seam see it: without them these
 * trajectories take 100 leapfrogs and more. */
static void turns_at_the_seam_are_seen(void **state) {
  (void)state;
  const double steps[] = {0.8, 1.5};
  for (int k = 0; k < 2; k++) {
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.num_warmup = 0;
    options.num_draws = 500;
    options.first_step = steps[k];
    options.metric = RPINN_METRIC_UNIT;
    Bench bench = make_bench(alike, ALIKE, &options);
    double theta[ALIKE];
    RpinnStream stream = rpinn_stream(9, RPINN_PURPOSE_CHECK, 0, 0);
    rpinn_stream_normals(&stream, ALIKE, theta);
    assert_int_equal(rpinn_nuts_start(bench.context, bench.nuts, 1, 0, theta), RPINN_OK);
    while (!rpinn_nuts_finished(bench.nuts)) {
      RpinnNutsDraw draw;
      assert_int_equal(rpinn_nuts_advance(bench.context, bench.nuts, &draw), RPINN_OK);
    }
    double mean = (double)rpinn_nuts_num_leapfrogs(bench.nuts) / 500;
    check_true(mean < 8, "step %g: %g leapfrogs per trajectory", steps[k], mean);
    close_bench(&bench);
  }
}

/* ---- memory ---- */

static void advancing_allocates_nothing(void **state) {
  (void)state;
  for (RpinnMetric kind = RPINN_METRIC_UNIT; kind <= RPINN_METRIC_DENSE; kind++) {
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.metric = kind;
    options.num_warmup = 150;
    options.num_draws = 50;
    Bench bench = make_bench(alike, ALIKE, &options);
    double theta[ALIKE] = {0};
    size_t before = num_allocations;
    assert_true(before > 0);
    assert_int_equal(rpinn_nuts_start(bench.context, bench.nuts, 1, 0, theta), RPINN_OK);
    while (!rpinn_nuts_finished(bench.nuts)) {
      RpinnNutsDraw draw;
      assert_int_equal(rpinn_nuts_advance(bench.context, bench.nuts, &draw), RPINN_OK);
    }
    assert_int_equal(num_allocations, before);
    close_bench(&bench);
  }
}

/* log p = -c x^2/2 in one dimension with a step beyond the stability limit diverges at once. */
static RpinnStatus stiff(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = -0.5e6 * x[0] * x[0];
  if (gradient) gradient[0] = -1e6 * x[0];
  return RPINN_OK;
}

static void large_step_diverges_in_one_leapfrog(void **state) {
  (void)state;
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 0;
  options.num_draws = 10;
  options.first_step = 1;
  options.metric = RPINN_METRIC_UNIT;
  Bench bench = make_bench(stiff, 1, &options);
  double theta = 1e-3;
  assert_int_equal(rpinn_nuts_start(bench.context, bench.nuts, 1, 0, &theta), RPINN_OK);
  while (!rpinn_nuts_finished(bench.nuts)) {
    RpinnNutsDraw draw;
    assert_int_equal(rpinn_nuts_advance(bench.context, bench.nuts, &draw), RPINN_OK);
    assert_true(draw.diverging && draw.num_steps == 1 && draw.tree_depth == 0 && draw.acceptance_rate == 0);
    assert_true(draw.parameters[0] == theta && draw.energy_error == 0 && draw.max_energy_error > 1000);
  }
  close_bench(&bench);
}

/* Points 0, 2, 4 and 1, 5, 3 have the variances 4 and 4 and the covariance 2: 3/8 of them, and 1e-3 * 5/8 on the diagonal. */
static void metric_of_first_points(void **state) {
  (void)state;
  static const double points[] = {0, 1, 2, 5, 4, 3};
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_first_points = 3;
  options.first_points = points;
  for (size_t k = 0; k < 3; k++) {
    RpinnNuts *nuts;
    options.metric = metrics[k];
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
    assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (const double[]){0, 0}), RPINN_OK);
    const double *inverse = rpinn_nuts_inverse_metric(nuts), own = 4 * 3.0 / 8 + 1e-3 * 5 / 8;
    if (metrics[k] == RPINN_METRIC_UNIT) assert_null(inverse);
    if (metrics[k] == RPINN_METRIC_DIAGONAL) {
      check_relative(inverse[0], own, 1e-14);
      check_relative(inverse[1], own, 1e-14);
    }
    if (metrics[k] == RPINN_METRIC_DENSE) {
      check_relative(inverse[0], own, 1e-14);
      check_relative(inverse[1], 2 * 3.0 / 8, 1e-14);
      check_relative(inverse[3], own, 1e-14);
    }
    rpinn_nuts_destroy(nuts);
  }
  rpinn_context_destroy(context);
}

/* A metric that is given stays through all windows of a warmup that adapts the step; one that is no metric is refused. */
static void metric_that_is_given(void **state) {
  (void)state;
  static const double diagonal[] = {0.25, 9}, dense[] = {2, 0.5, 0.5, 3}, wrong[] = {1, -1};
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNutsDraw draw;
  RpinnNuts *nuts;
  options.num_warmup = 300;
  options.num_draws = 0;
  for (size_t k = 0; k < 2; k++) {
    options.metric = k ? RPINN_METRIC_DENSE : RPINN_METRIC_DIAGONAL;
    options.inverse_metric = k ? dense : diagonal;
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
    assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (const double[]){0, 0}), RPINN_OK);
    while (!rpinn_nuts_finished(nuts)) assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    assert_memory_equal(rpinn_nuts_inverse_metric(nuts), options.inverse_metric,
                        (k ? 4 : 2) * sizeof(double));
    rpinn_nuts_destroy(nuts);
  }
  options.metric = RPINN_METRIC_DIAGONAL;
  options.inverse_metric = wrong;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (const double[]){0, 0}), RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(context)->message, "inverse metric that is given"));
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

/* The first draw and every third from there on have a fifth of the step, and the warmup has not. */
static void steps_that_are_small_now_and_then(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNutsDraw draw;
  RpinnNuts *nuts;
  options.num_warmup = 0;
  options.num_draws = 7;
  options.first_step = 0.5;
  options.small_step_every = 3;
  options.small_step_factor = 0.2;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (const double[]){0, 0}), RPINN_OK);
  for (size_t i = 0; !rpinn_nuts_finished(nuts); i++) {
    assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    check_relative(draw.step_size, i % 3 == 0 ? 0.1 : 0.5, 1e-15);
  }
  rpinn_nuts_destroy(nuts);
  options.num_warmup = 5;
  options.step_adaptation = 0.2;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (const double[]){0, 0}), RPINN_OK);
  assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
  check_relative(draw.step_size, 0.5, 1e-15);
  rpinn_nuts_destroy(nuts);
  options.small_step_factor = 1;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(metric_that_is_given),
                                     cmocka_unit_test(steps_that_are_small_now_and_then),
                                     cmocka_unit_test(dual_averaging_update),
                                     cmocka_unit_test(dual_averaging_restart),
                                     cmocka_unit_test(metric_of_first_points),
                                     cmocka_unit_test(windows_of_adaptation),
                                     cmocka_unit_test(metric_regularises),
                                     cmocka_unit_test(momenta_have_the_metric),
                                     cmocka_unit_test(vector_loops),
                                     cmocka_unit_test(leapfrog_is_second_order_and_reversible),
                                     cmocka_unit_test(search_brackets_the_threshold),
                                     cmocka_unit_test(search_without_a_bound),
                                     cmocka_unit_test(trees_on_a_flat_density),
                                     cmocka_unit_test(turns_at_the_seam_are_seen),
                                     cmocka_unit_test(advancing_allocates_nothing),
                                     cmocka_unit_test(large_step_diverges_in_one_leapfrog)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
