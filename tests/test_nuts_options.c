/* What the options of NUTS do, which are refused, and failures that come back to the caller. */
#include "nuts_targets.h"

/* Unit metric, first step 5e-4 taken as it is, adapted over 0.75 of the warmup and then left alone. */
static void fixed_step_after_its_share_of_warmup(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
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
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder};
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

/* ---- refused ---- */

static void bad_options(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
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
  RpinnLogDensity target = {.num_parameters = 2, .data = &fails, .evaluate = failing};
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
  target = (RpinnLogDensity){.num_parameters = 1, .evaluate = walls};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (double[]){2}), RPINN_ERROR_NUMERIC);
  assert_non_null(
      strstr(rpinn_context_error(context)->message, "the log density is -inf at the start of chain 0"));
  rpinn_nuts_destroy(nuts);
  target = (RpinnLogDensity){.num_parameters = 2, .data = &pair, .evaluate = gaussian};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 3, (double[]){0, NAN}), RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(context)->message, "nan at the start of chain 3"));
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_step_after_its_share_of_warmup),
                                     cmocka_unit_test(warmup_that_ends_with_a_window),
                                     cmocka_unit_test(bad_options),
                                     cmocka_unit_test(failures_and_bad_starts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
