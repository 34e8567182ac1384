/* Scores of predictions, by hand and against the closed forms of normal distributions. */
#include "check.h"

#include "metrics.h"
#include "random_stream.h"

static const double pi = 3.14159265358979323846;

static void test_errors(void **state) {
  (void)state;
  const double mean[] = {1, 2, 5}, reference[] = {0, 3, 4}, std[] = {0.5, 1, 3};
  check_relative(rpinn_metric_relative_l2(3, mean, reference), sqrt(3.0 / 25), 1e-15);
  check_relative(rpinn_metric_largest_error(3, mean, reference), 1, 1e-15);
  check_relative(rpinn_metric_mean_std(3, std), 1.5, 1e-15);
  assert_true(isnan(rpinn_metric_mean_std(0, std)));
}

/* A prediction that is no number has no largest error, wherever it stands. */
static void test_largest_error_of_no_number(void **state) {
  (void)state;
  const double reference[] = {1, 1, 1};
  for (size_t place = 0; place < 3; place++) {
    double mean[] = {1, 2, 3};
    mean[place] = (double)NAN;
    assert_true(isnan(rpinn_metric_largest_error(3, mean, reference)));
    mean[place] = -(double)INFINITY;
    assert_true(rpinn_metric_largest_error(3, mean, reference) == (double)INFINITY);
  }
  check_relative(rpinn_metric_largest_error(3, (double[]){1, -4, 3}, reference), 5, 1e-15);
}

static void test_lpp(void **state) {
  (void)state;
  const double mean[] = {1, 2}, reference[] = {0, 3}, std[] = {0.5, 2};
  /* -1/2 (4 + 1/4) - log(2 pi) - log 0.5 - log 2, and the logarithms of std cancel */
  check_relative(rpinn_metric_lpp(2, mean, std, reference), -2.125 - log(2 * pi), 1e-14);
  check_relative(rpinn_metric_lpp_table(2, mean, std, reference), -2.125 - log(2 * pi), 1e-14);
  check_relative(rpinn_metric_lpp(1, mean, std, reference), -2 - 0.5 * log(2 * pi) + log(2), 1e-14);
  check_relative(rpinn_metric_lpp_table(1, mean, std, reference), -2 - 0.5 * log(2 * pi) + 2 * log(2), 1e-14);
  assert_true(rpinn_metric_lpp(1, mean, (double[]){0}, reference) == -(double)INFINITY);
  assert_true(rpinn_metric_lpp(1, mean, (double[]){0}, mean) == (double)INFINITY);
  assert_true(isnan(rpinn_metric_lpp(1, (double[]){(double)NAN}, (double[]){0}, mean)));
}

/* References drawn from the predicted normal: the sum tends to its expectation, minus the entropy, with
 * variance 1/2 per point. */
static void test_lpp_of_a_true_prediction(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  static double mean[COUNT], std[COUNT], reference[COUNT];
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t i = 0; i < COUNT; i++) {
    mean[i] = 5 * rpinn_stream_normal(&stream), std[i] = 0.3;
    reference[i] = mean[i] + std[i] * rpinn_stream_normal(&stream);
  }
  double expected = -COUNT * (0.5 + 0.5 * log(2 * pi) + log(0.3)), deviation = sqrt(0.5 * COUNT);
  double found = rpinn_metric_lpp(COUNT, mean, std, reference);
  check_true(fabs(found - expected) < 4 * deviation, "%g, expected %g within %g", found, expected, deviation);
  double coverage = rpinn_metric_coverage(COUNT, mean, std, reference), share = erf(sqrt(2));
  check_true(fabs(coverage - share) < 4 * sqrt(share * (1 - share) / COUNT), "%g", coverage);
}

static void test_coverage(void **state) {
  (void)state;
  const double mean[] = {0, 0, 0, 0, (double)NAN}, std[] = {1, 1, 1, 0, 1};
  const double reference[] = {1.99, 2, -2.01, 0, 0}; /* strictly inside counts */
  check_relative(rpinn_metric_coverage(5, mean, std, reference), 0.2, 1e-15);
  const double low[] = {1.99, 3, -4, 0, (double)NAN}, high[] = {3, 4, -3, 0, 1}; /* edges count */
  check_relative(rpinn_metric_interval_coverage(5, low, high, reference), 0.4, 1e-15);
  assert_true(isnan(rpinn_metric_coverage(0, mean, std, reference)));
}

static RpinnKeptDraws *keep(size_t num_draws, size_t num_values, const double *draws) {
  RpinnKeptDraws *kept = rpinn_kept_draws_create(num_values, 1);
  for (size_t i = 0; i < num_draws; i++)
    assert_int_equal(rpinn_kept_draws_add(kept, i, draws + i * num_values), RPINN_OK);
  return kept;
}

/* Draws 4, 0, 2 and reference 1: E|X-y| = 5/3; the pairs differ by 4, 2, 2, so E|X-X'| is 2 * 8 / 9, or
 * 2 * 8 / 6 without the pairs of a draw with itself. */
static void test_crps_by_hand(void **state) {
  (void)state;
  RpinnKeptDraws *kept = keep(3, 2, (double[]){4, 7, 0, 7, 2, 7});
  double crps, unbiased;
  assert_int_equal(rpinn_metric_crps(kept, 0, 1, (double[]){1}, &crps, &unbiased), RPINN_OK);
  check_relative(crps, 5.0 / 3 - 8.0 / 9, 1e-15);
  check_relative(unbiased, 5.0 / 3 - 8.0 / 6, 1e-15);
  /* all draws equal: the absolute error */
  assert_int_equal(rpinn_metric_crps(kept, 1, 1, (double[]){9.5}, &crps, NULL), RPINN_OK);
  check_relative(crps, 2.5, 1e-15);
  /* both values: the mean over the points */
  assert_int_equal(rpinn_metric_crps(kept, 0, 2, (double[]){1, 9.5}, &crps, NULL), RPINN_OK);
  check_relative(crps, 0.5 * (5.0 / 3 - 8.0 / 9 + 2.5), 1e-15);
  rpinn_kept_draws_destroy(kept);

  kept = keep(1, 1, (double[]){3});
  assert_int_equal(rpinn_metric_crps(kept, 0, 1, (double[]){1}, &crps, &unbiased), RPINN_OK);
  check_relative(crps, 2, 1e-15);
  assert_true(isnan(unbiased));
  rpinn_kept_draws_destroy(kept);
  kept = keep(0, 1, NULL);
  assert_int_equal(rpinn_metric_crps(kept, 0, 1, (double[]){1}, &crps, &unbiased), RPINN_OK);
  assert_true(isnan(crps) && isnan(unbiased));
  rpinn_kept_draws_destroy(kept);
}

/* N(0, 1) scored at y: y (2 Phi(y) - 1) + 2 phi(y) - 1 / sqrt(pi) */
static double normal_crps(double y) {
  return y * erf(y / sqrt(2)) + 2 * exp(-y * y / 2) / sqrt(2 * pi) - 1 / sqrt(pi);
}

/* Many small samples: the unbiased score averages to the closed form, the plain one lies above it by
 * 1/2 E|X - X'| / n = 1 / (n sqrt(pi)). */
static void test_crps_of_normals(void **state) {
  (void)state;
  enum { DRAWS = 5, POINTS = 40000 };
  RpinnKeptDraws *kept = rpinn_kept_draws_create(POINTS, 1);
  static double values[POINTS], reference[POINTS];
  RpinnStream stream = rpinn_stream(4, RPINN_PURPOSE_CHECK, 0, 0);
  const double ys[] = {0, 0.7, -2};
  for (size_t draw = 0; draw < DRAWS; draw++) {
    rpinn_stream_normals(&stream, POINTS, values);
    assert_int_equal(rpinn_kept_draws_add(kept, draw, values), RPINN_OK);
  }
  for (size_t k = 0; k < 3; k++) {
    double crps, unbiased, error = 4 * 0.6 / sqrt(POINTS); /* a point's score deviates by less than 0.6 */
    for (size_t i = 0; i < POINTS; i++) reference[i] = ys[k];
    assert_int_equal(rpinn_metric_crps(kept, 0, POINTS, reference, &crps, &unbiased), RPINN_OK);
    check_close(unbiased, normal_crps(ys[k]), error);
    check_close(crps, normal_crps(ys[k]) + 1 / (DRAWS * sqrt(pi)), error);
  }
  rpinn_kept_draws_destroy(kept);
}

/* Uniform on (0, 1) scored at y: y^2 - y + 1/3; far from zero, so that the shift matters. */
static void test_crps_of_an_even_sample(void **state) {
  (void)state;
  enum { DRAWS = 2000 };
  const double far = 1 << 30;
  RpinnKeptDraws *kept = rpinn_kept_draws_create(1, 1);
  for (size_t i = 0; i < DRAWS; i++)
    assert_int_equal(rpinn_kept_draws_add(kept, i, (double[]){far + ((double)i + 0.5) / DRAWS}), RPINN_OK);
  double crps;
  assert_int_equal(rpinn_metric_crps(kept, 0, 1, (double[]){far + 0.25}, &crps, NULL), RPINN_OK);
  check_close(crps, 0.0625 - 0.25 + 1.0 / 3, 2e-7);
  rpinn_kept_draws_destroy(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_largest_error_of_no_number),
      cmocka_unit_test(test_lpp),
      cmocka_unit_test(test_lpp_of_a_true_prediction),
      cmocka_unit_test(test_coverage),
      cmocka_unit_test(test_crps_by_hand),
      cmocka_unit_test(test_crps_of_normals),
      cmocka_unit_test(test_crps_of_an_even_sample),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
