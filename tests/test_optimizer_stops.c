/* Why optimisers stop, and that they say so. */
#include "optimizer_bench.h"
#include "optimizer_targets.h"

static void stop_names(void **state) {
  (void)state;
  assert_string_equal(rpinn_stop_name(RPINN_STOP_GRADIENT_SMALL), "gradient_small");
  assert_string_equal(rpinn_stop_name(RPINN_STOP_DAMPING_LIMIT), "damping_limit");
  assert_string_equal(rpinn_stop_name((RpinnStop)99), "unknown");
  assert_true(strlen(rpinn_stop_meaning(RPINN_STOP_NO_PROGRESS)) > 10);
  assert_non_null(rpinn_stop_meaning((RpinnStop)99));
}

static void stops_when_the_start_is_not_finite(void **state) {
  (void)state;
  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs_options = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions lm_options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizers[] = {make_adam(&barrier, &adam_options), make_lbfgs(&barrier, &lbfgs_options),
                                  make_levenberg_marquardt(&log_problem, NULL, &lm_options)};
  double start[] = {-1, 1, 1};
  for (size_t i = 0; i < 3; i++) {
    RpinnOptimum optimum = run(optimizers[i], start);
    check_stop(&optimum, RPINN_STOP_NOT_FINITE);
    assert_int_equal(optimum.num_iterations, 0);
    assert_true(optimum.best_theta[0] == -1 && isinf(optimum.best_loss));
    rpinn_optimizer_destroy(optimizers[i]);
  }
}

/* The first step leaves the domain; the best point is still good. */
static void adam_stops_when_not_finite(void **state) {
  (void)state;
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.rule.learning_rate = 10;
  options.chunk_iterations = 1;
  RpinnOptimizer *optimizer = make_adam(&barrier, &options);
  double start[] = {2, 2, 2};
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_NOT_FINITE);
  assert_true(!isfinite(optimum.loss));
  assert_true(isfinite(optimum.best_loss) && optimum.best_theta[0] == 2);
  rpinn_optimizer_destroy(optimizer);
}

static void stops_without_progress(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain);
  RpinnLeastSquares problem = chain_least_squares(&chain);
  RpinnStopRule rule = {.max_iterations = 100000, .progress_window = 30, .progress_tolerance = 0.5};
  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  adam_options.stop = rule;
  adam_options.stop.progress_window = 300;
  RpinnLbfgsOptions lbfgs_options = {.stop = rule, .memory = 5};
  lbfgs_options.stop.progress_window = 2;
  RpinnLevenbergMarquardtOptions lm_options = {.stop = rule, .initial_damping = 1e6};
  lm_options.stop.progress_window = 2;
  RpinnOptimizer *optimizers[] = {make_adam(&objective, &adam_options),
                                  make_lbfgs(&objective, &lbfgs_options),
                                  make_levenberg_marquardt(&problem, NULL, &lm_options)};
  double start[] = {-1.2, 1};
  for (size_t i = 0; i < 3; i++) {
    RpinnOptimum optimum = run(optimizers[i], start);
    check_stop(&optimum, RPINN_STOP_NO_PROGRESS);
    assert_true(optimum.loss > 1e-3 && optimum.num_iterations < 10000);
    rpinn_optimizer_destroy(optimizers[i]);
  }
}

/* progress_amount: over the first window that gains no more, and no earlier. */
static void small_gains_end_a_search(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 20};
  RpinnLeastSquares problem = chain_least_squares(&chain);
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 200, .progress_window = 2, .progress_amount = 1};
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  double x[20];
  chain_start(20, x);
  RpinnOptimum optimum = run(optimizer, x);
  check_stop(&optimum, RPINN_STOP_NO_PROGRESS);
  size_t last = optimum.num_trace - 1;
  assert_true(last >= 4 && last % 2 == 0);
  for (size_t i = 2; i <= last; i += 2)
    assert_int_equal(optimum.trace[i - 2].loss - optimum.trace[i].loss <= 1, i == last);
  rpinn_optimizer_destroy(optimizer);
}

/* Without a window and without tolerances they end where rounding ends, and say so. */
static void stops_at_rounding(void **state) {
  (void)state;
  static Linear linear;
  double start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_ALL);
  RpinnLeastSquares problem = linear_least_squares(&linear, true);
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, linear.offsets);
  RpinnObjective objective = rpinn_energy_objective(energy);
  RpinnLbfgsOptions lbfgs_options = {.stop = {.max_iterations = 5000}, .memory = 20};
  RpinnLevenbergMarquardtOptions lm_options = {.stop = {.max_iterations = 5000}, .initial_damping = 1e-3};
  RpinnOptimizer *optimizers[] = {make_lbfgs(&objective, &lbfgs_options),
                                  make_levenberg_marquardt(&problem, linear.offsets, &lm_options)};
  for (size_t i = 0; i < 2; i++) {
    RpinnOptimum optimum = run(optimizers[i], start);
    check_stop(&optimum, RPINN_STOP_NO_PROGRESS);
    assert_true(optimum.gradient_norm < 1e-6);
    rpinn_optimizer_destroy(optimizers[i]);
  }
  rpinn_energy_objective_destroy(energy);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(stop_names),
                                     cmocka_unit_test(stops_when_the_start_is_not_finite),
                                     cmocka_unit_test(adam_stops_when_not_finite),
                                     cmocka_unit_test(stops_without_progress),
                                     cmocka_unit_test(small_gains_end_a_search),
                                     cmocka_unit_test(stops_at_rounding)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
