/* Whole chains of NUTS in memory: they are those that are advanced one by one, and a failure leaves none. */
#include "counted_allocations.h"
#include "nuts_targets.h"

enum { CHAINS = 3, DRAWS = 40 };

static RpinnNutsOptions short_chains(void) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 150;
  options.num_draws = DRAWS;
  options.thin = 2;
  return options;
}

static double statistic(const RpinnDraws *draws, size_t i, const char *name) {
  int position = rpinn_draws_statistic(draws, name);
  check_true(position >= 0, "no statistic '%s'", name);
  return rpinn_draws_get(draws, i).statistics[position];
}

static void check_draw(const RpinnDraws *draws, size_t chain, const RpinnNutsDraw *expected) {
  size_t i = chain * DRAWS + expected->index;
  RpinnDraw draw = rpinn_draws_get(draws, i);
  assert_int_equal(draw.chain, chain);
  assert_int_equal(draw.index, expected->index);
  assert_memory_equal(draw.parameters, expected->parameters, LADDER * sizeof(double));
  assert_true(statistic(draws, i, "lp") == expected->log_density);
  assert_true(statistic(draws, i, "acceptance_rate") == expected->acceptance_rate);
  assert_true(statistic(draws, i, "step_size") == expected->step_size);
  assert_true(statistic(draws, i, "tree_depth") == (double)expected->tree_depth);
  assert_true(statistic(draws, i, "n_steps") == (double)expected->num_steps);
  assert_true(statistic(draws, i, "diverging") == (double)expected->diverging);
  assert_true(statistic(draws, i, "energy") == expected->energy);
  assert_true(statistic(draws, i, "energy_error") == expected->energy_error);
  assert_true(statistic(draws, i, "max_energy_error") == expected->max_energy_error);
  assert_true(statistic(draws, i, "reached_max_treedepth") == (double)expected->reached_max_depth);
}

static void draws_are_those_of_single_chains(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder};
  RpinnNutsOptions options = short_chains();
  RpinnDraws *draws;
  RpinnNuts *nuts;
  double starts[CHAINS][LADDER] = {{0.3}, {-0.2, 1}, {0, 0, 2}};
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 51, CHAINS, starts[0], &draws), RPINN_OK);
  assert_int_equal(rpinn_draws_count(draws), CHAINS * DRAWS);
  assert_int_equal(rpinn_draws_num_parameters(draws), LADDER);
  assert_int_equal(rpinn_draws_statistic(draws, "nothing"), -1);
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  for (size_t chain = 0; chain < CHAINS; chain++) {
    size_t num_kept = 0;
    assert_int_equal(rpinn_nuts_start(context, nuts, 51, chain, starts[chain]), RPINN_OK);
    while (!rpinn_nuts_finished(nuts)) {
      RpinnNutsDraw draw;
      assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
      if (draw.is_kept) check_draw(draws, chain, &draw);
      num_kept += draw.is_kept;
    }
    assert_int_equal(num_kept, DRAWS);
  }
  rpinn_nuts_destroy(nuts);
  rpinn_draws_destroy(draws);
  rpinn_draws_destroy(NULL);
  rpinn_context_destroy(context);
}

/* Finite in a tenth of (-2, 2). */
static RpinnStatus narrow_walls(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = x[0] > 1.1 && x[0] < 1.5 ? 0 : -INFINITY;
  if (gradient) gradient[0] = 0;
  return RPINN_OK;
}

static RpinnStatus nowhere(void *data, const double *x, double *log_density, double *gradient) {
  (void)data, (void)x;
  *log_density = -INFINITY;
  if (gradient) gradient[0] = 0;
  return RPINN_OK;
}

static void starts_are_sought_where_the_density_is_finite(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 1, .evaluate = narrow_walls};
  RpinnNutsOptions options = short_chains();
  RpinnDraws *draws;
  options.num_warmup = 0;
  options.first_step = 0.1;
  options.metric = RPINN_METRIC_UNIT;
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 52, CHAINS, NULL, &draws), RPINN_OK);
  for (size_t i = 0; i < CHAINS * DRAWS; i++) {
    double x = rpinn_draws_get(draws, i).parameters[0];
    assert_true(x > 1.1 && x < 1.5);
  }
  rpinn_draws_destroy(draws);
  target.evaluate = nowhere;
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 52, CHAINS, NULL, &draws),
                   RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(context)->message, "-inf at the start of chain 0"));
  assert_null(draws);
  rpinn_context_destroy(context);
}

/* Whichever allocation fails, and where there are more draws than a machine can count bytes. */
static void lack_of_memory_is_reported(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
  RpinnNutsOptions options = short_chains();
  RpinnDraws *draws = NULL;
  size_t num_failures = 0;
  while (!draws) {
    fails_at = num_allocations + num_failures + 1;
    RpinnStatus status = rpinn_nuts_sample(context, &target, &options, 53, CHAINS, NULL, &draws);
    assert_int_equal(status, draws ? RPINN_OK : RPINN_ERROR_MEMORY);
    num_failures += !draws;
  }
  fails_at = 0;
  assert_true(num_failures >= 3); /* the chain, the draws, a start */
  rpinn_draws_destroy(draws);
  options.num_draws = SIZE_MAX / 32 + 1; /* of 3 chains and 12 numbers each: 9 times 2^64 bytes */
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 53, CHAINS, NULL, &draws),
                   RPINN_ERROR_MEMORY);
  assert_null(draws);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(draws_are_those_of_single_chains),
                                     cmocka_unit_test(starts_are_sought_where_the_density_is_finite),
                                     cmocka_unit_test(lack_of_memory_is_reported)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
