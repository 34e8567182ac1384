/* Manners of optimisers: no allocation while they advance, and failures and wrong options that come back to the caller. */
#include "counted_allocations.h"
#include "optimizer_zoo.h"

/* ---- memory ---- */

static void no_allocation_while_advancing(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    size_t before = num_allocations;
    assert_true(before > 0);
    assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
    assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
    check_true(num_allocations == before, "%s: %zu allocations", animal_names[animal],
               num_allocations - before);
    rpinn_optimizer_destroy(optimizer);
  }
}

static RpinnStatus try_create(Zoo *zoo, int method, RpinnOptimizer **optimizer) {
  RpinnAdamOptions adam = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  lbfgs.memory = 1000; /* more than the first block of memory holds */
  switch (method) {
  case 0: return rpinn_adam_create(context, &zoo->composed, &adam, optimizer);
  case 1: return rpinn_lbfgs_create(context, &zoo->composed, &lbfgs, optimizer);
  default: return rpinn_levenberg_marquardt_create(context, &zoo->dense, NULL, &lm, optimizer);
  }
}

/* Whichever allocation fails, create says so and leaves nothing behind (which the leak check of a sanitizer
 * sees). */
static void lack_of_memory_is_reported(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int method = 0; method < 3; method++) {
    RpinnOptimizer *optimizer = NULL;
    size_t num_failures = 0;
    while (!optimizer) {
      fails_at = num_allocations + num_failures + 1;
      RpinnStatus status = try_create(&zoo, method, &optimizer);
      if (optimizer) break;
      assert_int_equal(status, RPINN_ERROR_MEMORY);
      num_failures++;
    }
    fails_at = 0;
    assert_true(num_failures >= 3);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- failures ---- */

static RpinnStatus failing_evaluate(void *data, const double *x, double *value, double *gradient) {
  int *calls_left = data;
  if (*calls_left == 0) return RPINN_ERROR_NUMERIC;
  --*calls_left;
  return slope_evaluate(NULL, x, value, gradient);
}

static void failures_of_the_target_come_back(void **state) {
  (void)state;
  int calls_left = 0;
  double start = 1;
  RpinnObjective objective = {.num_parameters = 1, .data = &calls_left, .evaluate = failing_evaluate};
  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs_options = rpinn_lbfgs_default_options();
  RpinnOptimizer *optimizers[] = {make_adam(&objective, &adam_options),
                                  make_lbfgs(&objective, &lbfgs_options)};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(rpinn_optimizer_advance(context, optimizers[i], 1), RPINN_ERROR_INPUT); /* not started */
    calls_left = 0;
    assert_int_equal(rpinn_optimizer_start(context, optimizers[i], &start), RPINN_ERROR_NUMERIC);
    calls_left = 5;
    assert_int_equal(rpinn_optimizer_start(context, optimizers[i], &start), RPINN_OK);
    assert_int_equal(rpinn_optimizer_advance(context, optimizers[i], 100), RPINN_ERROR_NUMERIC);
    assert_int_equal(rpinn_optimizer_advance(context, optimizers[i], 1), RPINN_ERROR_INPUT);
    rpinn_optimizer_destroy(optimizers[i]);
  }
  rpinn_optimizer_destroy(NULL);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain), empty = {.evaluate = chain_evaluate};
  RpinnLeastSquares problem = chain_least_squares(&chain);
  RpinnAdamOptions adam[9];
  for (size_t i = 0; i < 9; i++) adam[i] = rpinn_adam_default_options();
  adam[0].rule.learning_rate = 0;
  adam[1].rule.decay_rate = -1;
  adam[2].rule.decay_steps = 0;
  adam[3].rule.beta1 = 1;
  adam[4].rule.beta2 = -0.1;
  adam[5].rule.epsilon = (double)NAN;
  adam[6].chunk_iterations = 0;
  adam[7].stop.max_iterations = 0;
  adam[8].stop.gradient_tolerance = -1;
  RpinnOptimizer *optimizer;
  for (size_t i = 0; i < 9; i++) {
    assert_int_equal(rpinn_adam_create(context, &objective, &adam[i], &optimizer), RPINN_ERROR_INPUT);
    assert_null(optimizer);
  }
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  assert_int_equal(rpinn_lbfgs_create(context, &empty, &lbfgs, &optimizer), RPINN_ERROR_INPUT);
  lbfgs.stop.progress_tolerance = (double)NAN;
  assert_int_equal(rpinn_lbfgs_create(context, &objective, &lbfgs, &optimizer), RPINN_ERROR_INPUT);
  lbfgs = rpinn_lbfgs_default_options();
  lbfgs.memory = 0;
  assert_int_equal(rpinn_lbfgs_create(context, &objective, &lbfgs, &optimizer), RPINN_ERROR_INPUT);
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  double root[] = {1, -1};
  problem.prior_root = root;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, &problem, NULL, &lm, &optimizer),
                   RPINN_ERROR_INPUT);
  problem.prior_root = NULL;
  lm.initial_damping = 0;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, &problem, NULL, &lm, &optimizer),
                   RPINN_ERROR_INPUT);
  assert_null(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_allocation_while_advancing), cmocka_unit_test(lack_of_memory_is_reported),
      cmocka_unit_test(failures_of_the_target_come_back), cmocka_unit_test(bad_options_are_refused)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
