/* Chains of NUTS: do they have the distribution that they should have, do they tell when something is wrong,
 * and can they be stopped and continued? Seeds are fixed. Bounds are multiples of Monte Carlo standard errors,
 * or levels of tests, stated where they are used. */
#include "chain_statistics.h"

#include "nuts_chain.h"

/* ---- targets ---- */

/* A Gaussian with the precision matrix P [N][N] and zero mean. */
typedef struct Gaussian {
  size_t N;
  const double *precision;
} Gaussian;

static RpinnStatus gaussian(void *data, const double *x, double *log_density, double *gradient) {
  const Gaussian *g = data;
  *log_density = 0;
  for (size_t i = 0; i < g->N; i++) {
    double sum = 0;
    for (size_t j = 0; j < g->N; j++) sum += g->precision[i * g->N + j] * x[j];
    *log_density -= 0.5 * x[i] * sum;
    if (gradient) gradient[i] = -sum;
  }
  return RPINN_OK;
}

/* Correlation 0.75, deviations 1 and 2: covariance [[1, 1.5], [1.5, 4]], determinant 1.75. */
static const double pair_precision[] = {4 / 1.75, -1.5 / 1.75, -1.5 / 1.75, 1 / 1.75};
static Gaussian pair = {2, pair_precision};

enum { LADDER = 60 };
/* From 0.1 to 10. */
static double ladder_sd(size_t j) {
  return 0.1 * pow(100, (double)j / (LADDER - 1));
}

static RpinnStatus ladder(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (size_t j = 0; j < LADDER; j++) {
    double z = x[j] / ladder_sd(j);
    *log_density -= 0.5 * z * z;
    if (gradient) gradient[j] = -z / ladder_sd(j);
  }
  return RPINN_OK;
}

/* Neal's funnel: v ~ N(0, 3^2), x_k ~ N(0, e^v). */
enum { FUNNEL = 10 };
static RpinnStatus funnel(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  double v = x[0], sum = 0;
  for (int k = 1; k < FUNNEL; k++) sum += x[k] * x[k];
  *log_density = -v * v / 18 - 0.5 * (FUNNEL - 1) * v - 0.5 * sum * exp(-v);
  if (!gradient) return RPINN_OK;
  gradient[0] = -v / 9 - 0.5 * (FUNNEL - 1) + 0.5 * sum * exp(-v);
  for (int k = 1; k < FUNNEL; k++) gradient[k] = -x[k] * exp(-v);
  return RPINN_OK;
}

/* A banana: x ~ N(0, 1), y | x ~ N(x^2/2, 0.5^2). Means 0, 1/2; variances 1, 1/4 + 1/2. */
static RpinnStatus banana(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  double off = (x[1] - 0.5 * x[0] * x[0]) / 0.25;
  *log_density = -0.5 * x[0] * x[0] - 0.125 * off * off;
  if (!gradient) return RPINN_OK;
  gradient[0] = -x[0] + off * x[0];
  gradient[1] = -off;
  return RPINN_OK;
}

/* Equal halves of N(-20, 1) and N(20, 1). */
static RpinnStatus two_modes(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  double side = x[0] > 0 ? 1 : -1, distance = 40 * fabs(x[0]), other = exp(-distance);
  *log_density = -0.5 * pow(x[0] - 20 * side, 2) + log1p(other);
  if (gradient) gradient[0] = -(x[0] - 20 * side) - 40 * side * other / (1 + other);
  return RPINN_OK;
}

/* ---- chains in memory ---- */

typedef struct Chains {
  RpinnDraws *draws;
  size_t count;
} Chains;

static Chains sample(const RpinnLogDensity *target, const RpinnNutsOptions *options, uint64_t seed,
                     size_t num_chains) {
  RpinnContext *context = rpinn_context_create();
  Chains chains = {.draws = rpinn_draws_create()};
  RpinnDrawSink sink = rpinn_draws_sink(chains.draws);
  RpinnStatus status = rpinn_nuts_sample(context, target, options, seed, num_chains, NULL, &sink);
  check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
  chains.count = rpinn_draws_count(chains.draws);
  assert_int_equal(chains.count, num_chains * options->num_draws);
  rpinn_context_destroy(context);
  return chains;
}

static double statistic_mean(const Chains *chains, const char *name) {
  int k = rpinn_draws_statistic(chains->draws, name);
  double sum = 0;
  assert_true(k >= 0);
  for (size_t i = 0; i < chains->count; i++) sum += rpinn_draws_get(chains->draws, i).statistics[k];
  return sum / (double)chains->count;
}

/* |mean of x_a^j x_b^k - expected| in MCSE */
static double moment_score(const Chains *chains, size_t a, int j, size_t b, int k, double expected) {
  double *values = malloc(chains->count * sizeof *values);
  for (size_t i = 0; i < chains->count; i++) {
    const double *x = rpinn_draws_get(chains->draws, i).parameters;
    values[i] = pow(x[a], j) * pow(x[b], k);
  }
  double score = estimate_score(chains->count, values, expected);
  free(values);
  return score;
}

static void check_moment(const Chains *chains, size_t a, int j, size_t b, int k, double expected) {
  double score = moment_score(chains, a, j, b, k, expected);
  check_true(score < 4, "E x%zu^%d x%zu^%d is %g MCSE from %g", a, j, b, k, score, expected);
}

static const RpinnMetric metrics[] = {RPINN_METRIC_UNIT, RPINN_METRIC_DIAGONAL, RPINN_METRIC_DENSE};

/* ---- distributions ---- */

/* Near to the covariance of the pair, not equal to it. */
static void set_pair_metric(RpinnNutsMetric *metric) {
  const double dense[] = {1.2, 1, 1, 3}, diagonal[] = {1.2, 3};
  if (metric->kind == RPINN_METRIC_DENSE) memcpy(metric->inverse, dense, sizeof dense);
  if (metric->kind == RPINN_METRIC_DIAGONAL) memcpy(metric->inverse, diagonal, sizeof diagonal);
  assert_true(rpinn_nuts_metric_refresh(metric));
}

/* Start at exact draws, make one transition each: what comes out has the same distribution, whatever the step,
 * or the kernel is wrong. Five directions per metric and step; each breaks its bound with probability 1e-4. */
static void transitions_conserve_the_target(void **state) {
  (void)state;
  enum { STARTS = 20000 };
  static double projected[5][STARTS];
  const double directions[5][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}, {2, -1}};
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {2, &pair, gaussian};
  for (int m = 0; m < 3; m++)
    for (double step = 0.4; step < 2; step *= 2.5) {
      RpinnNutsOptions options = rpinn_nuts_default_options();
      options.metric = metrics[m];
      options.num_warmup = 0;
      options.num_draws = 1;
      options.first_step = step;
      RpinnNuts *nuts;
      assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
      for (size_t i = 0; i < STARTS; i++) {
        RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_CHECK, i, 0);
        double z = rpinn_stream_normal(&stream),
               theta[] = {z, 1.5 * z + sqrt(1.75) * rpinn_stream_normal(&stream)};
        RpinnNutsDraw draw;
        assert_int_equal(rpinn_nuts_start(context, nuts, 12, i, theta), RPINN_OK);
        set_pair_metric(&nuts->metric);
        assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
        for (int k = 0; k < 5; k++)
          projected[k][i] = directions[k][0] * draw.parameters[0] + directions[k][1] * draw.parameters[1];
      }
      for (int k = 0; k < 5; k++) {
        double a = directions[k][0], b = directions[k][1], sd = sqrt(a * a + 3 * a * b + 4 * b * b);
        double distance = normal_distance(STARTS, projected[k], sd), bound = distance_bound(STARTS, 1e-4);
        check_true(distance < bound, "metric %d, step %g, direction %d: distance %g, at most %g", m, step, k,
                   distance, bound);
      }
      rpinn_nuts_destroy(nuts);
    }
  rpinn_context_destroy(context);
}

static void correlated_pair(void **state) {
  (void)state;
  RpinnLogDensity target = {2, &pair, gaussian};
  for (int m = 0; m < 3; m++) {
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.metric = metrics[m];
    options.num_draws = 4000;
    Chains chains = sample(&target, &options, 21, 4);
    check_moment(&chains, 0, 1, 0, 0, 0);
    check_moment(&chains, 1, 1, 0, 0, 0);
    check_moment(&chains, 0, 2, 0, 0, 1);
    check_moment(&chains, 1, 2, 0, 0, 4);
    check_moment(&chains, 0, 1, 1, 1, 1.5);
    assert_true(statistic_mean(&chains, "diverging") == 0);
    /* Dual averaging aims at 0.8 and stops with the averaged step, which accepts a little more. */
    double acceptance = statistic_mean(&chains, "acceptance_rate");
    check_true(acceptance > 0.7 && acceptance < 0.97, "acceptance %g", acceptance);
    rpinn_draws_destroy(chains.draws);
  }
}

/* 120 moments: 4.5 MCSE are broken by chance once in a thousand runs. */
static void many_scales(void **state) {
  (void)state;
  RpinnLogDensity target = {LADDER, NULL, ladder};
  for (int m = 1; m < 3; m++) {
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.metric = metrics[m];
    Chains chains = sample(&target, &options, 22, 4);
    for (size_t j = 0; j < LADDER; j++) {
      double mean = moment_score(&chains, j, 1, 0, 0, 0),
             square = moment_score(&chains, j, 2, 0, 0, pow(ladder_sd(j), 2));
      check_true(mean < 4.5 && square < 4.5, "metric %d, scale %g: %g, %g MCSE", m, ladder_sd(j), mean,
                 square);
    }
    /* The metric knows the scales: trajectories are short. With the unit metric they take 100 steps or more. */
    check_true(statistic_mean(&chains, "n_steps") < 20, "%g steps", statistic_mean(&chains, "n_steps"));
    rpinn_draws_destroy(chains.draws);
  }
}

static void bent_banana(void **state) {
  (void)state;
  RpinnLogDensity target = {2, NULL, banana};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_draws = 5000;
  Chains chains = sample(&target, &options, 23, 4);
  check_moment(&chains, 0, 1, 0, 0, 0);
  check_moment(&chains, 0, 2, 0, 0, 1);
  check_moment(&chains, 1, 1, 0, 0, 0.5);
  check_moment(&chains, 1, 2, 0, 0, 0.25 + 0.5 + 0.25);
  check_moment(&chains, 0, 2, 1, 1, 1.5); /* E x^4/2 */
  check_moment(&chains, 0, 1, 1, 1, 0);
  rpinn_draws_destroy(chains.draws);
}

/* ---- when something is wrong ---- */

static void funnel_diverges(void **state) {
  (void)state;
  RpinnLogDensity target = {FUNNEL, NULL, funnel};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  Chains chains = sample(&target, &options, 24, 4);
  double share = statistic_mean(&chains, "diverging");
  print_message("funnel: %.1f %% of the transitions diverge\n", 100 * share);
  check_true(share > 0.001, "%g of the transitions diverge", share);
  rpinn_draws_destroy(chains.draws);
}

/* Chains that sit in two modes, 40 deviations apart, do not agree: the variance between their means is far
 * beyond the variance within over the number of draws. */
static void far_modes_disagree(void **state) {
  (void)state;
  RpinnLogDensity target = {1, NULL, two_modes};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  Chains chains = sample(&target, &options, 25, 8);
  double means[8] = {0}, within = 0, between = 0, mean = 0, n = (double)options.num_draws;
  for (size_t i = 0; i < chains.count; i++) {
    RpinnDraw draw = rpinn_draws_get(chains.draws, i);
    means[draw.chain] += draw.parameters[0] / n;
  }
  for (size_t i = 0; i < chains.count; i++) {
    RpinnDraw draw = rpinn_draws_get(chains.draws, i);
    within += pow(draw.parameters[0] - means[draw.chain], 2) / (n - 1) / 8;
  }
  for (int c = 0; c < 8; c++) mean += means[c] / 8;
  for (int c = 0; c < 8; c++) between += pow(means[c] - mean, 2) / 7;
  check_true(between > 100 * within, "between %g, within %g", between, within);
  rpinn_draws_destroy(chains.draws);
}

/* A density with walls: NaN outside of (0, 1) is never drawn, and what is inside is uniform. */
static RpinnStatus walls(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = x[0] > 0 && x[0] < 1 ? 0 : data ? NAN : -INFINITY;
  if (gradient) gradient[0] = 0;
  return RPINN_OK;
}

static void walls_are_not_passed(void **state) {
  (void)state;
  int as_nan = 1;
  for (int k = 0; k < 2; k++) {
    RpinnLogDensity target = {1, k ? &as_nan : NULL, walls};
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.num_warmup = 0;
    options.num_draws = 20000;
    options.first_step = 0.1;
    options.metric = RPINN_METRIC_UNIT;
    Chains chains = sample(&target, &options, 26, 1);
    for (size_t i = 0; i < chains.count; i++) {
      double x = rpinn_draws_get(chains.draws, i).parameters[0];
      assert_true(x > 0 && x < 1);
    }
    check_moment(&chains, 0, 1, 0, 0, 0.5);
    check_moment(&chains, 0, 2, 0, 0, 1 / 3.);
    assert_true(statistic_mean(&chains, "diverging") > 0.5);
    rpinn_draws_destroy(chains.draws);
  }
}

typedef struct Failing {
  size_t calls_left;
} Failing;

static RpinnStatus failing(void *data, const double *x, double *log_density, double *gradient) {
  Failing *fails = data;
  if (fails->calls_left-- == 0) return RPINN_ERROR_IO;
  return gaussian(&pair, x, log_density, gradient);
}

static void failures_and_bad_starts(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Failing fails = {100};
  RpinnLogDensity target = {2, &fails, failing};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  RpinnStatus status = RPINN_OK;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_ERROR_INPUT); /* not started */
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (double[]){1, 1}), RPINN_OK);
  while (status == RPINN_OK) status = rpinn_nuts_advance(context, nuts, &draw);
  assert_int_equal(status, RPINN_ERROR_IO);
  rpinn_nuts_destroy(nuts);
  target = (RpinnLogDensity){1, NULL, walls};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (double[]){2}), RPINN_ERROR_NUMERIC);
  assert_non_null(
      strstr(rpinn_context_error(context)->message, "the log density is -inf at the start of chain 0"));
  rpinn_nuts_destroy(nuts);
  target = (RpinnLogDensity){2, &pair, gaussian};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 3, (double[]){0, NAN}), RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(context)->message, "nan at the start of chain 3"));
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

static void bad_options(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {2, &pair, gaussian};
  RpinnNutsOptions good = rpinn_nuts_default_options(), bad[14];
  for (int k = 0; k < 14; k++) bad[k] = good;
  bad[0].thin = 0;
  bad[1].max_depth = 0;
  bad[2].max_depth = 31;
  bad[3].max_energy_error = 0;
  bad[4].first_step = -1;
  bad[5].target_acceptance = 1;
  bad[6].step_adaptation = 0;
  bad[7].step_adaptation = 1.5;
  bad[8].gamma = NAN;
  bad[9].t0 = -1;
  bad[10].kappa = 2;
  bad[11].window_base = 0;
  bad[12].num_draws = bad[12].thin = SIZE_MAX / 2;
  bad[13].metric = (RpinnMetric)3;
  const char *messages[] = {"thin is 0, expected at least 1",
                            "max_depth is 0, expected 1 to 30 (10 is usual)",
                            "max_depth is 31, expected 1 to 30 (10 is usual)",
                            "max_energy_error is 0, expected a number above 0 (1000 is usual)",
                            "first_step is -1, expected 0, to search for it, or a step up to 1e7",
                            "target_acceptance is 1, expected a number between 0 and 1 (0.8 is usual)",
                            "step_adaptation is 0, expected a share of the warmup, above 0 and at most 1",
                            "step_adaptation is 1.5, expected a share of the warmup, above 0 and at most 1",
                            "gamma is nan, expected a number above 0 (0.05 is usual)",
                            "t0 is -1, expected 0 or more (10 is usual)",
                            "kappa is 2, expected a number above 0 and at most 1 (0.75 is usual)",
                            "window_base is 0, expected at least 1 (25 is usual)",
                            "too many to count",
                            "metric is number 3, expected unit, diagonal or dense"};
  for (int k = 0; k < 14; k++) {
    RpinnNuts *nuts;
    assert_int_equal(rpinn_nuts_create(context, &target, &bad[k], &nuts), RPINN_ERROR_INPUT);
    assert_null(nuts);
    check_true(strstr(rpinn_context_error(context)->message, messages[k]), "%s",
               rpinn_context_error(context)->message);
  }
  rpinn_context_destroy(context);
}

/* ---- the paper's settings, thinning ---- */

/* Unit metric, first step 5e-4 taken as it is, adapted over 0.75 of the warmup and then left alone. */
static void fixed_step_after_its_share_of_warmup(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {2, &pair, gaussian};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.metric = RPINN_METRIC_UNIT;
  options.num_warmup = 200;
  options.num_draws = 20;
  options.thin = 3;
  options.first_step = 5e-4;
  options.target_acceptance = 0.75;
  options.step_adaptation = 0.75;
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  double fixed = 0;
  size_t kept = 0;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (double[]){1, 1}), RPINN_OK);
  for (size_t i = 0; !rpinn_nuts_finished(nuts); i++) {
    assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    if (i == 0) assert_true(draw.step_size == 5e-4);
    if (i == 150) fixed = draw.step_size;
    if (i > 0 && i <= 150) assert_true(draw.step_size != 5e-4);
    if (i > 150) assert_true(draw.step_size == fixed);
    assert_true(draw.is_warmup == (i < 200));
    assert_true(draw.is_kept == (i >= 200 && i % 3 == 1)); /* 202, 205, … */
    assert_int_equal(draw.index, draw.is_kept ? kept : i < 200 ? i : i - 200);
    kept += draw.is_kept;
  }
  assert_int_equal(kept, 20);
  assert_int_equal(rpinn_nuts_num_iterations(nuts), 260);
  assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_ERROR_INPUT);
  assert_null(rpinn_nuts_inverse_metric(nuts));
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

/* window_end 0: the last warmup iteration updates the metric, and the step that is searched for then stays. */
static void warmup_that_ends_with_a_window(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {LADDER, NULL, ladder};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 150;
  options.num_draws = 1;
  options.window_end = 0;
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  double theta[LADDER] = {0};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, theta), RPINN_OK);
  while (!rpinn_nuts_finished(nuts)) assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
  /* With the right metric the search ends within a doubling or two of 1; exp(0) would be a step of exactly 1. */
  check_true(draw.step_size > 0.1 && draw.step_size < 4 && draw.step_size != 1, "step %g", draw.step_size);
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

/* ---- saved chains ---- */

enum { SAVED_DRAWS = 60, SAVED_WARMUP = 120 };

/* All that a draw says, for comparison bit for bit. */
typedef struct Record {
  double theta[LADDER], numbers[6];
  size_t counts[5];
} Record;

static Record record_of(const RpinnNutsDraw *draw) {
  Record record;
  memset(&record, 0, sizeof record);
  memcpy(record.theta, draw->parameters, sizeof record.theta);
  const double numbers[] = {draw->log_density,      draw->energy,          draw->energy_error,
                            draw->max_energy_error, draw->acceptance_rate, draw->step_size};
  const size_t counts[] = {draw->index, draw->num_steps, draw->tree_depth, draw->is_kept, draw->is_warmup};
  memcpy(record.numbers, numbers, sizeof numbers);
  memcpy(record.counts, counts, sizeof counts);
  return record;
}

static RpinnNutsOptions saved_options(RpinnMetric metric) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.metric = metric;
  options.num_warmup = SAVED_WARMUP;
  options.num_draws = SAVED_DRAWS;
  options.max_depth = 6;
  return options;
}

/* The chain is taken down and put up again at random iterations, with the pool in another state each time. */
static void restored_chains_give_the_same_bits(void **state) {
  (void)state;
  static Record records[SAVED_WARMUP + SAVED_DRAWS];
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {LADDER, NULL, ladder};
  for (int m = 0; m < 3; m++) {
    RpinnNutsOptions options = saved_options(metrics[m]);
    RpinnNuts *nuts;
    RpinnNutsDraw draw;
    double theta[LADDER] = {0.3};
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
    assert_int_equal(rpinn_nuts_start(context, nuts, 31, 2, theta), RPINN_OK);
    size_t size = rpinn_nuts_state_size(nuts), leapfrogs;
    for (size_t i = 0; !rpinn_nuts_finished(nuts); i++) {
      assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
      records[i] = record_of(&draw);
    }
    leapfrogs = rpinn_nuts_num_leapfrogs(nuts);
    assert_int_equal(rpinn_nuts_start(context, nuts, 31, 2, theta), RPINN_OK);
    RpinnStream stream = rpinn_stream(32, RPINN_PURPOSE_CHECK, 0, (uint32_t)m);
    unsigned char *buffer = malloc(size);
    for (size_t i = 0; !rpinn_nuts_finished(nuts); i++) {
      if (i == 0 || rpinn_stream_below(&stream, 5) == 0) {
        assert_int_equal(rpinn_nuts_state_size(nuts), size);
        rpinn_nuts_save(nuts, buffer);
        rpinn_nuts_destroy(nuts);
        assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
        assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, size), RPINN_OK);
        assert_int_equal(rpinn_nuts_num_iterations(nuts), i);
      }
      assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
      Record record = record_of(&draw);
      check_true(memcmp(&record, &records[i], sizeof record) == 0, "metric %d, iteration %zu", m, i);
    }
    assert_int_equal(rpinn_nuts_num_leapfrogs(nuts), leapfrogs);
    free(buffer);
    rpinn_nuts_destroy(nuts);
  }
  rpinn_context_destroy(context);
}

/* A finished chain of 20 draws, told to make 60: the bits of a chain that was to make 60 from the start. */
static void more_draws_continue_a_finished_chain(void **state) {
  (void)state;
  static Record records[SAVED_WARMUP + SAVED_DRAWS];
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {LADDER, NULL, ladder};
  RpinnNutsOptions options = saved_options(RPINN_METRIC_DIAGONAL), fewer = options;
  fewer.num_draws = 20;
  RpinnNuts *whole, *first;
  RpinnNutsDraw draw;
  double theta[LADDER] = {0.3};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &whole), RPINN_OK);
  assert_int_equal(rpinn_nuts_create(context, &target, &fewer, &first), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, whole, 31, 2, theta), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, first, 31, 2, theta), RPINN_OK);
  for (size_t i = 0; !rpinn_nuts_finished(whole); i++) {
    assert_int_equal(rpinn_nuts_advance(context, whole, &draw), RPINN_OK);
    records[i] = record_of(&draw);
  }
  while (!rpinn_nuts_finished(first)) assert_int_equal(rpinn_nuts_advance(context, first, &draw), RPINN_OK);
  size_t size = rpinn_nuts_state_size(first);
  void *buffer = malloc(size);
  rpinn_nuts_save(first, buffer);
  assert_int_equal(rpinn_nuts_restore(context, whole, buffer, size), RPINN_OK);
  assert_false(rpinn_nuts_finished(whole));
  for (size_t i = SAVED_WARMUP + 20; !rpinn_nuts_finished(whole); i++) {
    assert_int_equal(rpinn_nuts_advance(context, whole, &draw), RPINN_OK);
    Record record = record_of(&draw);
    check_true(memcmp(&record, &records[i], sizeof record) == 0, "iteration %zu", i);
  }
  rpinn_nuts_save(whole, buffer); /* but not the other way round */
  assert_int_equal(rpinn_nuts_restore(context, first, buffer, size), RPINN_ERROR_INPUT);
  free(buffer);
  rpinn_nuts_destroy(whole);
  rpinn_nuts_destroy(first);
  rpinn_context_destroy(context);
}

static void damaged_states_are_refused(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {LADDER, NULL, ladder}, smaller = {2, &pair, gaussian};
  RpinnNutsOptions options = saved_options(RPINN_METRIC_DENSE), other = options;
  other.target_acceptance = 0.9;
  RpinnNuts *nuts, *others, *small;
  double theta[LADDER] = {0};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_create(context, &target, &other, &others), RPINN_OK);
  assert_int_equal(rpinn_nuts_create(context, &smaller, &options, &small), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 31, 2, theta), RPINN_OK);
  size_t size = rpinn_nuts_state_size(nuts);
  unsigned char *buffer = malloc(size);
  rpinn_nuts_save(nuts, buffer);
  assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, size), RPINN_OK);
  assert_int_equal(rpinn_nuts_restore(context, others, buffer, size), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "other options"));
  assert_int_equal(rpinn_nuts_restore(context, small, buffer, size), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, size - 8), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, 10), RPINN_ERROR_INPUT);
  for (size_t i = 0; i < size; i += 7) {
    buffer[i] ^= 16;
    check_true(rpinn_nuts_restore(context, nuts, buffer, size) == RPINN_ERROR_INPUT, "byte %zu", i);
    buffer[i] ^= 16;
  }
  free(buffer);
  rpinn_nuts_destroy(nuts);
  rpinn_nuts_destroy(others);
  rpinn_nuts_destroy(small);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(transitions_conserve_the_target),
                                     cmocka_unit_test(correlated_pair),
                                     cmocka_unit_test(many_scales),
                                     cmocka_unit_test(bent_banana),
                                     cmocka_unit_test(funnel_diverges),
                                     cmocka_unit_test(far_modes_disagree),
                                     cmocka_unit_test(walls_are_not_passed),
                                     cmocka_unit_test(failures_and_bad_starts),
                                     cmocka_unit_test(bad_options),
                                     cmocka_unit_test(fixed_step_after_its_share_of_warmup),
                                     cmocka_unit_test(warmup_that_ends_with_a_window),
                                     cmocka_unit_test(restored_chains_give_the_same_bits),
                                     cmocka_unit_test(more_draws_continue_a_finished_chain),
                                     cmocka_unit_test(damaged_states_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
