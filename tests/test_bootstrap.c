/* The bootstrap against its definition: resamples as explicit copies of draws, in the stream that the header names. */
#include "check.h"

#include "bootstrap.h"
#include "random_stream.h"

enum { DRAWS = 23, VALUES = 5, FIRST = 1, POINTS = 3, RESAMPLES = 40, SEED = 11 };

static const double reference[POINTS] = {0.9, -2.1, 3.2};

static double draw_of(size_t draw, size_t value) {
  RpinnStream stream = rpinn_stream(6, RPINN_PURPOSE_CHECK, draw, (uint32_t)value);
  return (double)value * 0.5 - 1 + 0.7 * rpinn_stream_normal(&stream);
}

static double deviation_of(size_t count, const double *values, double *mean) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) sum += values[i];
  *mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) squares += (values[i] - *mean) * (values[i] - *mean);
  return sqrt(squares / (double)(count - 1));
}

/* The figures of one resample. */
static void resample(size_t number, double metrics[RPINN_NUM_FIGURES]) {
  RpinnStream stream = rpinn_stream(SEED, RPINN_PURPOSE_BOOTSTRAP, number, 0);
  double mean[POINTS], deviation[POINTS], copies[DRAWS];
  size_t taken[DRAWS];
  for (size_t i = 0; i < DRAWS; i++) taken[i] = rpinn_stream_below(&stream, DRAWS);
  for (size_t p = 0; p < POINTS; p++) {
    for (size_t i = 0; i < DRAWS; i++) copies[i] = draw_of(taken[i], FIRST + p);
    deviation[p] = deviation_of(DRAWS, copies, &mean[p]);
  }
  rpinn_table_metrics(POINTS, mean, deviation, reference, metrics);
}

static void errors_are_those_of_copies(void **state) {
  (void)state;
  static double figures[RPINN_NUM_FIGURES][RESAMPLES];
  double errors[RPINN_NUM_FIGURES], metrics[RPINN_NUM_FIGURES], mean;
  RpinnKeptDraws *kept = rpinn_kept_draws_create(VALUES, 1);
  for (size_t i = 0; i < DRAWS; i++) {
    double values[VALUES];
    for (size_t v = 0; v < VALUES; v++) values[v] = draw_of(i, v);
    assert_int_equal(rpinn_kept_draws_add(kept, i, values), RPINN_OK);
  }
  for (size_t number = 0; number < RESAMPLES; number++) {
    resample(number, metrics);
    for (size_t k = 0; k < RPINN_NUM_FIGURES; k++) figures[k][number] = metrics[k];
  }
  assert_int_equal(rpinn_bootstrap_errors(kept, FIRST, POINTS, reference, SEED, RESAMPLES, errors), RPINN_OK);
  for (size_t k = 0; k < RPINN_NUM_FIGURES; k++) {
    double expected = deviation_of(RESAMPLES, figures[k], &mean);
    check_true(expected > 0, "figure %zu does not vary: it would test nothing", k);
    check_relative(errors[k], expected, 1e-10);
  }
  rpinn_kept_draws_destroy(kept);
}

/* Two points, by hand: errors 1 and -2 with deviations 0.5 and 4. */
static void figures_by_hand(void **state) {
  (void)state;
  const double mean[] = {2, 3}, deviation[] = {0.25, 4}, truth[] = {1, 5}, pi = 3.14159265358979323846;
  double metrics[RPINN_NUM_FIGURES];
  rpinn_table_metrics(2, mean, deviation, truth, metrics);
  const double squares = -0.5 * (16 + 0.25) - log(2 * pi);
  check_relative(metrics[RPINN_TABLE_RL2], sqrt(5.0 / 26), 1e-14);
  check_relative(metrics[RPINN_TABLE_LINF], 2, 1e-14);
  check_relative(metrics[RPINN_TABLE_MEAN_STD], 2.125, 1e-14);
  check_relative(metrics[RPINN_FIGURE_LPP], squares - log(0.25) - log(4), 1e-14);
  check_relative(metrics[RPINN_TABLE_LPP_TABLE], squares - 2 * log(0.25) - 2 * log(4), 1e-14);
  check_relative(metrics[RPINN_TABLE_COVERAGE], 0.5, 1e-14);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_those_of_copies),
                                     cmocka_unit_test(figures_by_hand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
