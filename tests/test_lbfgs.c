/* L-BFGS: known minima, regions where the loss is not finite, values in float, a search that fails. */
#include <float.h>

#include "optimizer_bench.h"
#include "optimizer_targets.h"

/* ---- known minima ---- */

static void rosenbrock_by_lbfgs(void **state) {
  (void)state;
  for (size_t N = 2; N <= 20; N += 18) {
    Chain chain = {.num_parameters = N};
    RpinnObjective objective = chain_objective(&chain);
    RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
    options.stop.gradient_tolerance = 1e-10;
    RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
    double x[20];
    chain_start(N, x);
    RpinnOptimum optimum = run(optimizer, x);
    say(N == 2 ? "Rosenbrock 2-D, L-BFGS" : "Rosenbrock 20-D, L-BFGS", distance_to_ones(N, optimum.theta),
        &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_true(distance_to_ones(N, optimum.best_theta) < 1e-9, "%zu parameters", N);
    assert_true(optimum.best_theta == optimum.theta && optimum.best_loss == optimum.loss);
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* The error is largest in the flattest direction, where a gradient of 1e-8 leaves an error of 1e-8. */
static void quadratics_by_lbfgs(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    Quadratic quadratic = quadratics[i];
    RpinnObjective objective = quadratic_objective(&quadratic);
    RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
    options.stop = (RpinnStopRule){.max_iterations = 20000, .gradient_tolerance = 1e-8};
    RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
    double x[MOST_PARAMETERS] = {0};
    RpinnOptimum optimum = run(optimizer, x);
    say(i == 0 ? "quadratic 1e6 in 50-D, L-BFGS" : "quadratic 1e8 in 10-D, L-BFGS",
        quadratic_error(&quadratic, optimum.theta), &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    assert_true(quadratic_error(&quadratic, optimum.theta) < 2e-8);
    rpinn_optimizer_destroy(optimizer);
  }
}

static void linear_by_lbfgs(void **state) {
  (void)state;
  static Linear linear;
  double expected[COLUMNS], start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_ALL);
  linear_closed_form(&linear, expected);
  RpinnLeastSquares problem = linear_least_squares(&linear, true);
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, linear.offsets);
  RpinnObjective objective = rpinn_energy_objective(energy);

  RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 2000, .gradient_tolerance = 1e-11};
  RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
  RpinnOptimum optimum = run(optimizer, start);
  say("linear, prior on all, L-BFGS", farthest(COLUMNS, optimum.theta, expected), &optimum);
  assert_true(farthest(COLUMNS, optimum.theta, expected) < 1e-9);
  rpinn_optimizer_destroy(optimizer);
  rpinn_energy_objective_destroy(energy);
}

/* ---- values that mislead ---- */

static void lbfgs_steps_back(void **state) {
  (void)state;
  RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
  options.stop.gradient_tolerance = 1e-12;
  RpinnOptimizer *optimizer = make_lbfgs(&barrier, &options);
  double start[] = {1e-3, 40, 0.2};
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
  assert_true(distance_to_ones(3, optimum.theta) < 1e-11);
  for (size_t i = 0; i < optimum.num_trace; i++) assert_true(isfinite(optimum.trace[i].loss));
  rpinn_optimizer_destroy(optimizer);
}

/* The quadratic plus 100, summed in float: the value is off by some units of rounding, 1e-5 each, up or
 * down from one theta to the next, while the gradient keeps its digits. */
static RpinnStatus coarse_evaluate(void *data, const double *x, double *value, double *gradient) {
  const Quadratic *quadratic = data;
  double rounded[20], y[20];
  float sum = 0;
  for (size_t j = 0; j < 20; j++) rounded[j] = (double)(float)x[j];
  RpinnStatus status = quadratic_evaluate(data, rounded, value, gradient);
  reflect(20, rounded, y);
  for (size_t j = 0; j < 20; j++) {
    float off = (float)(y[j] - quadratic_center(j));
    sum += 5 * (1 + off) + (0.5f * (float)quadratic_curvature(quadratic, j) * off * off - 5 * off);
  }
  *value = (double)sum;
  return status;
}

static RpinnOptimum minimise_in_float(double condition, bool is_told) {
  Quadratic quadratic = {.num_parameters = 20, .condition = condition};
  RpinnObjective objective = {.num_parameters = 20,
                              .data = &quadratic,
                              .evaluate = coarse_evaluate,
                              .epsilon = is_told ? (double)FLT_EPSILON : 0};
  RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
  RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
  double x[20] = {0};
  RpinnOptimum optimum = run(optimizer, x);
  say(is_told ? "quadratic in float" : "quadratic in float, not told", optimum.loss - 100, &optimum);
  rpinn_optimizer_destroy(optimizer);
  return optimum;
}

/* L-BFGS that knows of it goes on by slopes, and stops when there is no more to win; one that takes the values
 * for double precision mostly gives up before. Which of the latter do hangs on the last digits of sums. */
static void lbfgs_minimises_in_float(void **state) {
  (void)state;
  enum { COUNT = 12 };
  size_t given_up = 0;
  for (size_t k = 0; k < COUNT; k++) {
    const double condition = 1e5 * (1 + (double)k / COUNT);
    const double limit = condition * (double)FLT_EPSILON; /* twice what rounding theta does to the gradient */
    RpinnOptimum told = minimise_in_float(condition, true), not_told = minimise_in_float(condition, false);
    check_stop(&told, RPINN_STOP_NO_PROGRESS);
    check_true(told.gradient_norm < limit, "a gradient of %g, expected one below %g", told.gradient_norm,
               limit);
    given_up += not_told.stop == RPINN_STOP_LINE_SEARCH_FAILED && not_told.gradient_norm > limit;
  }
  check_true(3 * given_up > COUNT, "%zu of %d give up", given_up, COUNT);
}

static RpinnStatus uphill_evaluate(void *data, const double *x, double *value, double *gradient) {
  RpinnStatus status = chain_evaluate(data, x, value, gradient);
  for (size_t j = 0; gradient && j < 2; j++) gradient[j] = -gradient[j];
  return status;
}

static void lbfgs_stops_when_its_search_fails(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain);
  objective.evaluate = uphill_evaluate;
  RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
  RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
  double start[] = {-1.2, 1};
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_LINE_SEARCH_FAILED);
  assert_true(optimum.theta[0] == -1.2 && optimum.theta[1] == 1);
  rpinn_optimizer_destroy(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rosenbrock_by_lbfgs),      cmocka_unit_test(quadratics_by_lbfgs),
      cmocka_unit_test(linear_by_lbfgs),          cmocka_unit_test(lbfgs_steps_back),
      cmocka_unit_test(lbfgs_minimises_in_float), cmocka_unit_test(lbfgs_stops_when_its_search_fails)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
