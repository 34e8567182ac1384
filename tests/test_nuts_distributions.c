/* Chains of NUTS: do they have the distribution that they should have, and do they tell when something is wrong?
 * Seeds are fixed. Bounds are multiples of Monte Carlo standard errors, or levels of tests, stated where they are used. */
#include "chain_statistics.h"
#include "nuts_targets.h"

#include "nuts_chain.h"

/* ---- chains in memory ---- */

typedef struct Chains {
  RpinnDraws *draws;
  size_t count;
} Chains;

static Chains sample(const RpinnLogDensity *target, const RpinnNutsOptions *options, uint64_t seed,
                     size_t num_chains) {
  RpinnContext *context = rpinn_context_create();
  Chains chains;
  RpinnStatus status = rpinn_nuts_sample(context, target, options, seed, num_chains, NULL, &chains.draws);
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
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
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
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
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
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder};
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

static void bent_banana(void **state) {
  (void)state;
  RpinnLogDensity target = {.num_parameters = 2, .evaluate = banana};
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

static void funnel_diverges(void **state) {
  (void)state;
  RpinnLogDensity target = {.num_parameters = FUNNEL, .evaluate = funnel};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  Chains chains = sample(&target, &options, 24, 4);
  double share = statistic_mean(&chains, "diverging");
  print_message("funnel: %.1f %% of the transitions diverge\n", 100 * share);
  check_true(share > 0.001, "%g of the transitions diverge", share);
  rpinn_draws_destroy(chains.draws);
}

/* Equal halves of N(-20, 1) and N(20, 1). */
static RpinnStatus two_modes(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  double side = x[0] > 0 ? 1 : -1, distance = 40 * fabs(x[0]), other = exp(-distance);
  *log_density = -0.5 * pow(x[0] - 20 * side, 2) + log1p(other);
  if (gradient) gradient[0] = -(x[0] - 20 * side) - 40 * side * other / (1 + other);
  return RPINN_OK;
}

/* Chains that sit in two modes, 40 deviations apart, do not agree: the variance between their means is far
 * beyond the variance within over the number of draws. */
static void far_modes_disagree(void **state) {
  (void)state;
  RpinnLogDensity target = {.num_parameters = 1, .evaluate = two_modes};
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

/* What is outside is never drawn, and what is inside is uniform. */
static void walls_are_not_passed(void **state) {
  (void)state;
  int as_nan = 1;
  for (int k = 0; k < 2; k++) {
    RpinnLogDensity target = {.num_parameters = 1, .data = k ? &as_nan : NULL, .evaluate = walls};
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(transitions_conserve_the_target),
                                     cmocka_unit_test(correlated_pair),
                                     cmocka_unit_test(many_scales),
                                     cmocka_unit_test(bent_banana),
                                     cmocka_unit_test(funnel_diverges),
                                     cmocka_unit_test(far_modes_disagree),
                                     cmocka_unit_test(walls_are_not_passed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
