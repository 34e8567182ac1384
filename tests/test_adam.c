/* Adam: known minima, its rule step by step, its best point, and the trace that it leaves. */
#include "optimizer_bench.h"
#include "optimizer_targets.h"

/* ---- known minima ---- */

static void rosenbrock_by_adam(void **state) {
  (void)state;
  for (size_t N = 2; N <= 20; N += 18) {
    Chain chain = {.num_parameters = N};
    RpinnObjective objective = chain_objective(&chain);
    RpinnAdamOptions options = rpinn_adam_default_options();
    options.stop.max_iterations = 40000;
    options.stop.gradient_tolerance = 1e-6;
    options.rule.learning_rate = 1e-2;
    options.rule.decay_rate = 0.5;
    RpinnOptimizer *optimizer = make_adam(&objective, &options);
    double x[20];
    chain_start(N, x);
    RpinnOptimum optimum = run(optimizer, x);
    say(N == 2 ? "Rosenbrock 2-D, Adam" : "Rosenbrock 20-D, Adam", distance_to_ones(N, optimum.theta),
        &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_true(distance_to_ones(N, optimum.best_theta) < 1e-5, "%zu parameters", N);
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* Adam's steps are scaled by coordinate, and here no coordinate is an eigenvector: a condition of 1e5 is what
 * it can do in 20000 iterations, to 1e-6. */
static void quadratic_by_adam(void **state) {
  (void)state;
  Quadratic quadratic = {.num_parameters = 20, .condition = 1e5};
  RpinnObjective objective = quadratic_objective(&quadratic);
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 20000;
  options.rule.learning_rate = 1e-2;
  options.rule.decay_rate = 0.5;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  double x[MOST_PARAMETERS] = {0};
  RpinnOptimum optimum = run(optimizer, x);
  say("quadratic 1e5 in 20-D, Adam", quadratic_error(&quadratic, optimum.best_theta), &optimum);
  check_stop(&optimum, RPINN_STOP_BUDGET);
  assert_true(quadratic_error(&quadratic, optimum.best_theta) < 1e-6);
  rpinn_optimizer_destroy(optimizer);
}

static void linear_by_adam(void **state) {
  (void)state;
  static Linear linear;
  double expected[COLUMNS], start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_ALL);
  linear_closed_form(&linear, expected);
  RpinnLeastSquares problem = linear_least_squares(&linear, true);
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, linear.offsets);
  RpinnObjective objective = rpinn_energy_objective(energy);

  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 20000;
  options.rule.learning_rate = 1e-2;
  options.rule.decay_rate = 0.5;
  options.rule.decay_steps = 1000;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  RpinnOptimum optimum = run(optimizer, start);
  say("linear, prior on all, Adam", farthest(COLUMNS, optimum.best_theta, expected), &optimum);
  assert_true(farthest(COLUMNS, optimum.best_theta, expected) < 1e-4);
  rpinn_optimizer_destroy(optimizer);
  rpinn_energy_objective_destroy(energy);
}

/* ---- its rule ---- */

/* A constant gradient makes both means exact, and what is left of a step is the schedule. */
static void adam_follows_its_schedule(void **state) {
  (void)state;
  RpinnObjective objective = {.num_parameters = 1, .evaluate = slope_evaluate};
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.rule.learning_rate = 0.1;
  options.rule.decay_rate = 0.5;
  options.rule.decay_steps = 10;
  options.stop.max_iterations = 57;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  double theta = 2, expected = 2;
  RpinnOptimum optimum = run(optimizer, &theta);
  for (int t = 0; t < 57; t++) expected -= 0.1 * pow(0.5, t / 10.0) * 3 / (3 + 1e-8);
  check_relative(optimum.theta[0], expected, 1e-13);
  assert_int_equal(optimum.num_iterations, 57);
  rpinn_optimizer_destroy(optimizer);
}

static void adam_uses_the_targets_own(void **state) {
  (void)state;
  double theta[2][4], start[] = {-1.2, 1, 0.3, 0.5};
  for (int own = 0; own < 2; own++) {
    Chain chain = {.num_parameters = 4};
    RpinnObjective objective = chain_objective(&chain);
    if (own) objective.adam_advance = chain_adam_advance;
    RpinnAdamOptions options = rpinn_adam_default_options();
    options.stop.max_iterations = 730;
    RpinnOptimizer *optimizer = make_adam(&objective, &options);
    RpinnOptimum optimum = run(optimizer, start);
    memcpy(theta[own], optimum.theta, sizeof theta[own]);
    assert_int_equal(optimum.num_evaluations, 730 + 1 + 8); /* the start, 7 full chunks, the end */
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    rpinn_optimizer_destroy(optimizer);
  }
  assert_true(farthest(4, theta[0], theta[1]) < 1e-11);
}

/* Far too large a learning rate: the last point is worse than the best one, and the best one is what it says.
 */
static void adam_keeps_its_best_point(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain);
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 30;
  options.chunk_iterations = 1;
  options.rule.learning_rate = 3;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  double start[] = {-1.2, 1}, value;
  RpinnOptimum optimum = run(optimizer, start);
  chain_evaluate(&chain, optimum.best_theta, &value, NULL);
  assert_true(optimum.best_loss == value && optimum.best_loss < optimum.loss);
  for (size_t i = 0; i < optimum.num_trace; i++) assert_true(optimum.trace[i].loss >= optimum.best_loss);
  rpinn_optimizer_destroy(optimizer);
}

static void trace_is_thinned_evenly(void **state) {
  (void)state;
  RpinnObjective objective = {.num_parameters = 1, .evaluate = slope_evaluate};
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.chunk_iterations = 1;
  const size_t lengths[] = {100, 254, 255, 256, 257, 1000, 5000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    options.stop.max_iterations = lengths[i];
    RpinnOptimizer *optimizer = make_adam(&objective, &options);
    double theta = 1;
    RpinnOptimum optimum = run(optimizer, &theta);
    size_t stride = optimum.trace[1].iteration;
    check_true(optimum.num_trace <= RPINN_TRACE_CAPACITY, "%zu entries", optimum.num_trace);
    check_true(optimum.num_trace == lengths[i] / stride + 1, "%zu iterations, stride %zu", lengths[i],
               stride);
    for (size_t k = 0; k < optimum.num_trace; k++) assert_int_equal(optimum.trace[k].iteration, k * stride);
    assert_true(optimum.trace[0].loss == 3);
    rpinn_optimizer_destroy(optimizer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rosenbrock_by_adam),
                                     cmocka_unit_test(quadratic_by_adam),
                                     cmocka_unit_test(linear_by_adam),
                                     cmocka_unit_test(adam_follows_its_schedule),
                                     cmocka_unit_test(adam_uses_the_targets_own),
                                     cmocka_unit_test(adam_keeps_its_best_point),
                                     cmocka_unit_test(trace_is_thinned_evenly)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
