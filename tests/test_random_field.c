/* Random fields against their covariance, kriging against the formula written out, draws given measurements
 * against both. */
#include "check.h"

#include "kriging.h"

enum { N1 = 7, N2 = 5, SIZE = N1 * N2, NUM_FIELDS = 2000, NUM_LAGS = 10, NUM_MEASURED = 6 };

static const double places1[N1] = {0, 0.11, 0.2, 0.45, 0.5, 0.83, 1};
static const double places2[N2] = {-1, -0.7, -0.65, 0.1, 0.4};
static const double *const places[2] = {places1, places2};
static const size_t counts[2] = {N1, N2};

static RpinnFieldModel make_model(RpinnCorrelation correlation) {
  return (RpinnFieldModel){
      .num_axes = 2, .correlation = correlation, .length = {0.5, 1.2}, .mean = -3, .variance = 0.81};
}

static void require(RpinnContext *context, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
}

static RpinnRandomField *make_field(RpinnContext *context, const RpinnFieldModel *model) {
  RpinnRandomField *field;
  require(context, rpinn_random_field_create(context, model, counts, places, &field));
  return field;
}

/* The correlations as the header states them, in other words than the library's. */
static double expected_correlation(RpinnCorrelation correlation, double r) {
  switch (correlation) {
  case RPINN_SQUARED_EXPONENTIAL: return exp(-pow(r, 2));
  case RPINN_EXPONENTIAL: return exp(-r);
  case RPINN_MATERN32:
    return exp(-1.7320508075688772 * r) + 1.7320508075688772 * r * exp(-1.7320508075688772 * r);
  default: return (1 + 2.23606797749979 * r + 5 * r * r / 3) / exp(2.23606797749979 * r);
  }
}

/* ---- fields ---- */

typedef struct Lag {
  size_t a[2], b[2]; /* places on both axes */
} Lag;
static const Lag lags[NUM_LAGS] = {{{0, 0}, {0, 0}}, {{0, 0}, {1, 0}}, {{0, 0}, {0, 1}}, {{2, 1}, {3, 2}},
                                   {{6, 4}, {5, 4}}, {{4, 3}, {4, 4}}, {{1, 0}, {4, 3}}, {{0, 0}, {6, 4}},
                                   {{5, 2}, {3, 1}}, {{3, 3}, {4, 2}}};

static void check_covariance(RpinnContext *context, RpinnCorrelation correlation) {
  RpinnFieldModel model = make_model(correlation);
  RpinnRandomField *field = make_field(context, &model);
  RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_RANDOM_FIELD, 0, (uint32_t)correlation);
  double sums[NUM_LAGS] = {0}, total = 0, values[SIZE], worst = 0;
  for (size_t k = 0; k < NUM_FIELDS; k++) {
    rpinn_random_field_draw(field, &stream, values);
    for (size_t l = 0; l < NUM_LAGS; l++)
      sums[l] += (values[lags[l].a[1] * N1 + lags[l].a[0]] - model.mean) *
                 (values[lags[l].b[1] * N1 + lags[l].b[0]] - model.mean);
    total += values[17] - model.mean;
  }
  /* Monte Carlo errors of a normal pair with known mean: var[XY] = v^2 + c^2. */
  for (size_t l = 0; l < NUM_LAGS; l++) {
    double r1 = fabs(places1[lags[l].a[0]] - places1[lags[l].b[0]]) / model.length[0];
    double r2 = fabs(places2[lags[l].a[1]] - places2[lags[l].b[1]]) / model.length[1];
    double expected = 0.81 * expected_correlation(correlation, r1) * expected_correlation(correlation, r2);
    double error = sqrt((0.81 * 0.81 + expected * expected) / NUM_FIELDS);
    double found = sums[l] / NUM_FIELDS;
    worst = fmax(worst, fabs(found - expected) / error);
    check_true(fabs(found - expected) < 4 * error, "%s, lag %zu: covariance %g, expected %g +- %g",
               rpinn_correlation_names[correlation], l, found, expected, error);
  }
  print_message("  %-20s worst of %d lags: %.1f Monte Carlo errors\n", rpinn_correlation_names[correlation],
                NUM_LAGS, worst);
  check_true(fabs(total / NUM_FIELDS) < 4 * sqrt(0.81 / NUM_FIELDS), "the mean is off by %g",
             total / NUM_FIELDS);
  rpinn_random_field_destroy(field);
}

static void fields_have_their_covariance(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  for (size_t k = 0; k < RPINN_NUM_CORRELATIONS; k++) check_covariance(context, (RpinnCorrelation)k);
  rpinn_context_destroy(context);
}

/* Without chance: y = R z with any root R of C has y^T C^-1 y = z^T z. */
static void one_axis_is_a_line(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnFieldModel model = make_model(RPINN_EXPONENTIAL);
  RpinnRandomField *field;
  model.num_axes = 1;
  require(context, rpinn_random_field_create(context, &model, counts, places, &field));
  double values[N1], normals[N1], weighted = 0, length = 0;
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_RANDOM_FIELD, 0, 0), same = stream;
  rpinn_random_field_draw(field, &stream, values);
  rpinn_stream_normals(&same, N1, normals);
  for (size_t i = 0; i < N1; i++) length += normals[i] * normals[i];
  /* An exponential correlation is a Markov chain:
   * y^T C^-1 y = y_0^2 / v + sum (y_i - rho y_{i-1})^2 / (v (1 - rho^2)). */
  for (size_t i = 0; i < N1; i++) {
    double y = values[i] - model.mean, rho = i ? exp(-(places1[i] - places1[i - 1]) / 0.5) : 0;
    double step = y - (i ? rho * (values[i - 1] - model.mean) : 0);
    weighted += step * step / (0.81 * (1 - rho * rho));
  }
  check_relative(weighted, length, 1e-12);
  rpinn_random_field_destroy(field);
  rpinn_context_destroy(context);
}

static void seeds_decide(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnFieldModel model = make_model(RPINN_SQUARED_EXPONENTIAL);
  double first[SIZE], again[SIZE], other[SIZE];
  for (int k = 0; k < 3; k++) {
    RpinnRandomField *field = make_field(context, &model);
    RpinnStream stream = rpinn_stream(k < 2 ? 3 : 4, RPINN_PURPOSE_RANDOM_FIELD, 0, 0);
    rpinn_random_field_draw(field, &stream, k == 0 ? first : k == 1 ? again : other);
    rpinn_random_field_destroy(field);
  }
  assert_memory_equal(first, again, sizeof first);
  size_t num_different = 0;
  for (size_t i = 0; i < SIZE; i++) num_different += first[i] != other[i];
  assert_int_equal(num_different, SIZE);
  rpinn_context_destroy(context);
}

static void bad_models_are_refused(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomField *field;
  RpinnFieldModel model = make_model(RPINN_MATERN32);
  const size_t too_many[2] = {N1, RPINN_FIELD_MAX_PLACES + 1};
  model.length[1] = 0;
  assert_int_equal(rpinn_random_field_create(context, &model, counts, places, &field), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "a correlation length is 0"));
  model = make_model(RPINN_MATERN32);
  model.variance = -1;
  assert_int_equal(rpinn_random_field_create(context, &model, counts, places, &field), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "the variance is -1"));
  model = make_model(RPINN_MATERN32);
  assert_int_equal(rpinn_random_field_create(context, &model, too_many, places, &field), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "expected 1 to 4096"));
  assert_null(field);
  rpinn_context_destroy(context);
}

/* ---- kriging ---- */

static const double measured_places[NUM_MEASURED][2] = {{0.11, -0.7}, {0.5, 0.1}, {0.52, 0.1},
                                                        {0.9, -0.9},  {0.3, 0.3}, {1, 0.4}};
static const double measured[NUM_MEASURED] = {-2, -3.5, -3.1, -4, -3, -2.2};
static const double nuggets[NUM_MEASURED] = {0, 0.01, 0.04, 0.0025, 0.01, 0};

/* Gauss with pivots: solve matrix x = right [n][num_right] in place. */
static void eliminate(size_t n, double *matrix, double *right, size_t num_right) {
  for (size_t k = 0; k < n; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; i++)
      if (fabs(matrix[i * n + k]) > fabs(matrix[pivot * n + k])) pivot = i;
    for (size_t j = 0; j < n + num_right; j++) {
      double *a = j < n ? &matrix[k * n + j] : &right[k * num_right + j - n];
      double *b = j < n ? &matrix[pivot * n + j] : &right[pivot * num_right + j - n];
      double kept = *a;
      *a = *b;
      *b = kept;
    }
    for (size_t i = 0; i < n; i++) {
      double factor = i == k ? 0 : matrix[i * n + k] / matrix[k * n + k];
      for (size_t j = 0; j < n; j++) matrix[i * n + j] -= factor * matrix[k * n + j];
      for (size_t j = 0; j < num_right; j++) right[i * num_right + j] -= factor * right[k * num_right + j];
    }
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < num_right; j++) right[i * num_right + j] /= matrix[i * n + i];
}

static double expected_covariance(RpinnCorrelation correlation, const double *a, const double *b) {
  return 0.81 * expected_correlation(correlation, fabs(a[0] - b[0]) / 0.5) *
         expected_correlation(correlation, fabs(a[1] - b[1]) / 1.2);
}

/* mean + k^T (K + N)^-1 (v - mean) and v - k^T (K + N)^-1 k, written out */
static void written_out(RpinnCorrelation correlation, const double *x, double *mean, double *variance) {
  double matrix[NUM_MEASURED * NUM_MEASURED], right[NUM_MEASURED * 2], k[NUM_MEASURED];
  for (size_t i = 0; i < NUM_MEASURED; i++) {
    for (size_t j = 0; j < NUM_MEASURED; j++)
      matrix[i * NUM_MEASURED + j] =
          expected_covariance(correlation, measured_places[i], measured_places[j]) +
          (i == j ? fmax(nuggets[i], 1e-10 * 0.81) : 0);
    k[i] = expected_covariance(correlation, x, measured_places[i]);
    right[2 * i] = measured[i] + 3;
    right[2 * i + 1] = k[i];
  }
  eliminate(NUM_MEASURED, matrix, right, 2);
  *mean = -3;
  *variance = 0.81;
  for (size_t i = 0; i < NUM_MEASURED; i++) {
    *mean += k[i] * right[2 * i];
    *variance -= k[i] * right[2 * i + 1];
  }
}

static RpinnKriging *make_kriging(RpinnContext *context, RpinnCorrelation correlation) {
  RpinnFieldModel model = make_model(correlation);
  RpinnKriging *kriging;
  require(context, rpinn_kriging_create(context, &model, NUM_MEASURED, measured_places[0], measured, nuggets,
                                        &kriging));
  return kriging;
}

static void kriging_is_the_formula(void **state) {
  (void)state;
  enum { NUM_POINTS = 150 }; /* more than one block of the library */
  RpinnContext *context = rpinn_context_create();
  for (size_t c = 0; c < RPINN_NUM_CORRELATIONS; c++) {
    RpinnKriging *kriging = make_kriging(context, (RpinnCorrelation)c);
    double points[NUM_POINTS][2], mean[NUM_POINTS], variance[NUM_POINTS];
    for (size_t p = 0; p < NUM_POINTS; p++) {
      points[p][0] = 0.007 * (double)p;
      points[p][1] = sin((double)p);
    }
    memcpy(points[3], measured_places[0], sizeof points[3]); /* a measurement without error */
    require(context, rpinn_kriging_predict(context, kriging, NUM_POINTS, points[0], mean, variance));
    for (size_t p = 0; p < NUM_POINTS; p++) {
      double expected_mean, expected_variance;
      written_out((RpinnCorrelation)c, points[p], &expected_mean, &expected_variance);
      /* K + N has a condition of about 1e4 here: twelve digits are left */
      check_relative(mean[p], expected_mean, 1e-11);
      check_close(variance[p], fmax(expected_variance, 0), 1e-13);
    }
    check_relative(mean[3], measured[0], 1e-8);
    assert_true(variance[3] < 1e-9);
    rpinn_kriging_destroy(kriging);
  }
  rpinn_context_destroy(context);
}

static void draws_keep_to_measurements(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  for (size_t c = 0; c < RPINN_NUM_CORRELATIONS; c++) {
    RpinnKriging *kriging = make_kriging(context, (RpinnCorrelation)c);
    RpinnStream stream = rpinn_stream(2, RPINN_PURPOSE_RANDOM_FIELD, 0, (uint32_t)c);
    double values[SIZE], sum[SIZE] = {0}, squares[SIZE] = {0};
    for (size_t k = 0; k < NUM_FIELDS; k++) {
      require(context, rpinn_kriging_simulate(context, kriging, counts, places, &stream, values));
      /* Place (1, 1) is the first measurement: error 0, nugget 1e-10 of the variance, 6 deviations allowed. */
      check_true(fabs(values[1 * N1 + 1] - measured[0]) < 6e-5, "a draw misses its measurement: %g",
                 values[1 * N1 + 1]);
      for (size_t p = 0; p < SIZE; p++) {
        sum[p] += values[p];
        squares[p] += values[p] * values[p];
      }
    }
    for (size_t p = 0; p < SIZE; p++) {
      double mean, variance, point[2] = {places1[p % N1], places2[p / N1]};
      written_out((RpinnCorrelation)c, point, &mean, &variance);
      double found = sum[p] / NUM_FIELDS,
             spread = (squares[p] - NUM_FIELDS * found * found) / (NUM_FIELDS - 1);
      /* Four standard errors of mean and variance of normal draws, and a little for sums that cancel. */
      check_true(fabs(found - mean) < 4 * sqrt(variance / NUM_FIELDS) + 1e-6,
                 "%s, place %zu: mean %g, not %g", rpinn_correlation_names[c], p, found, mean);
      check_true(fabs(spread - variance) < 4 * variance * sqrt(2.0 / NUM_FIELDS) + 1e-6,
                 "%s, place %zu: variance %g, not %g", rpinn_correlation_names[c], p, spread, variance);
    }
    rpinn_kriging_destroy(kriging);
  }
  rpinn_context_destroy(context);
}

static void bad_measurements_are_refused(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnFieldModel model = make_model(RPINN_EXPONENTIAL);
  RpinnKriging *kriging;
  double negative[NUM_MEASURED] = {0, -1};
  assert_int_equal(
      rpinn_kriging_create(context, &model, NUM_MEASURED, measured_places[0], measured, negative, &kriging),
      RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "error variance of a measurement is -1"));
  assert_int_equal(rpinn_kriging_create(context, &model, 0, NULL, NULL, NULL, &kriging), RPINN_ERROR_INPUT);
  assert_null(kriging);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fields_have_their_covariance),
                                     cmocka_unit_test(one_axis_is_a_line),
                                     cmocka_unit_test(seeds_decide),
                                     cmocka_unit_test(bad_models_are_refused),
                                     cmocka_unit_test(kriging_is_the_formula),
                                     cmocka_unit_test(draws_keep_to_measurements),
                                     cmocka_unit_test(bad_measurements_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
