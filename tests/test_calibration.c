/* Scores of intervals: small cases by hand, and truths that are exchangeable with the draws. */
#include "check.h"

#include "calibration.h"
#include "rank_interval.h"
#include "rank_uniformity.h"

static RpinnKeptDraws *kept_of(size_t num_draws, size_t num_values, const double *values) {
  RpinnKeptDraws *kept = rpinn_kept_draws_create(num_values, 1);
  assert_non_null(kept);
  for (size_t k = 0; k < num_draws; k++)
    assert_int_equal(rpinn_kept_draws_add(kept, k, values + k * num_values), RPINN_OK);
  return kept;
}

static RpinnCalibrationScore score_of(size_t num_draws, size_t num_values, const double *values,
                                      const double *truth, RpinnStream *stream) {
  RpinnKeptDraws *kept = kept_of(num_draws, num_values, values);
  RpinnCalibrationScore score;
  assert_int_equal(rpinn_calibration_score(kept, 0, num_values, truth, NULL, stream, &score), RPINN_OK);
  rpinn_kept_draws_destroy(kept);
  return score;
}

static void test_ranks(void **state) {
  (void)state;
  double sorted[79];
  for (size_t i = 0; i < 79; i++) sorted[i] = (double)(i + 1); /* the value is the rank */
  check_close(rpinn_rank_quantile(79, sorted, 0.025), 2, 0);
  check_close(rpinn_rank_quantile(79, sorted, 0.975), 78, 0);
  check_close(rpinn_rank_quantile(79, sorted, 0.1), 8, 0);
  check_close(rpinn_rank_quantile(79, sorted, 0.75), 60, 0);
  check_close(rpinn_rank_quantile(10, sorted, 0.3), 3.3, 1e-12); /* rank 0.3 * 11, between two */
  check_close(rpinn_rank_quantile(39, sorted, 0.025), 1, 0);
  check_close(rpinn_rank_quantile(39, sorted, 0.975), 39, 0);
  assert_true(isnan(rpinn_rank_quantile(38, sorted, 0.025)));
  assert_true(isnan(rpinn_rank_quantile(38, sorted, 0.975)));
  assert_true(isnan(rpinn_rank_quantile(0, sorted, 0.5)));
  sorted[40] = (double)NAN; /* a draw that is none, sorted last */
  assert_true(isnan(rpinn_rank_quantile(41, sorted, 0.5)));
  sorted[39] = sorted[40] = (double)INFINITY;
  assert_true(isinf(rpinn_rank_quantile(41, sorted, 0.975))); /* rank 40.95, between equals */
}

/* All values of kept draws at once, as a run has its intervals. */
static void test_quantiles_of_all_values(void **state) {
  (void)state;
  enum { DRAWS = 49, VALUES = 11 };
  static const double probabilities[] = {0.025, 0.5, 0.975};
  double values[DRAWS][VALUES], found[3][VALUES];
  for (size_t k = 0; k < DRAWS; k++)
    for (size_t v = 0; v < VALUES; v++) values[k][v] = (double)(k * 20 % DRAWS + 1) + 100 * (double)v;
  RpinnKeptDraws *kept = kept_of(DRAWS, VALUES, values[0]);
  assert_int_equal(rpinn_rank_quantiles(kept, 3, probabilities, found[0]), RPINN_OK);
  for (size_t v = 0; v < VALUES; v++) {
    check_close(found[0][v], 1.25 + 100 * (double)v, 1e-12); /* rank 0.025 * 50 */
    check_close(found[1][v], 25 + 100 * (double)v, 1e-12);
    check_close(found[2][v], 48.75 + 100 * (double)v, 1e-12);
  }
  rpinn_kept_draws_destroy(kept);
}

/* Draws 1 … 79 in disorder against truths whose ranks are known. */
static void test_scores_by_hand(void **state) {
  (void)state;
  enum { DRAWS = 79, POINTS = 4 };
  static const double truth[POINTS] = {40, 78, 78.5, 61}; /* held by all, 95 %, none, 80 and 95 % */
  double values[DRAWS][POINTS];
  for (size_t k = 0; k < DRAWS; k++)
    for (size_t p = 0; p < POINTS; p++) values[k][p] = (double)(k * 30 % DRAWS + 1);
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnCalibrationScore score = score_of(DRAWS, POINTS, values[0], truth, &stream);
  check_close(score.coverage[0], 0.25, 0);
  check_close(score.coverage[1], 0.5, 0);
  check_close(score.coverage[2], 0.75, 0);
  check_close(score.width[0], 40, 1e-12);
  check_close(score.width[1], 64, 1e-12);
  check_close(score.width[2], 76, 1e-12);
  check_close(score.error, sqrt((0 + 38.0 * 38 + 38.5 * 38.5 + 21.0 * 21) / 4), 1e-12);
  /* E|X - y| - 1/2 E|X - X'| with X' another draw: (n + 1)/3 for 1 … n. */
  double distance = 0;
  for (size_t p = 0; p < POINTS; p++)
    for (size_t k = 1; k <= DRAWS; k++) distance += fabs((double)k - truth[p]) / DRAWS / POINTS;
  check_close(score.crps, distance - 0.5 * (DRAWS + 1) / 3.0, 1e-12);
  /* Ranks: 78.5 has 78 draws below it, (78 + u)/80; 78 is equal to a draw, (77 + 0 or 1 + u)/80: both in the last of 20
   * bins, whose width is 4 ranks. 40: (39 or 40 + u)/80, bin 9 or 10. 61: (60 or 61 + u)/80, bin 15. */
  check_close(score.pit[19], 2, 0);
  check_close(score.pit[15], 1, 0);
  check_close(score.pit[9] + score.pit[10], 1, 0);
}

/* Exchangeable draws and truths: intervals hold what they promise, and ranks are uniform, with few draws and with equal
 * values. */
static void test_exchangeable(void **state) {
  (void)state;
  enum { DRAWS = 39, SETS = 20000 };
  static double values[DRAWS][1];
  for (int rounds = 0; rounds < 2; rounds++) {
    RpinnStream stream = rpinn_stream(2, RPINN_PURPOSE_CHECK, (uint64_t)rounds, 0);
    double coverage[RPINN_CALIBRATION_LEVELS] = {0}, pit[RPINN_CALIBRATION_BINS] = {0};
    for (size_t s = 0; s < SETS; s++) {
      double truth[1], scale = rounds ? 2 : 1e-9; /* rounded to few values the second time */
      for (size_t k = 0; k <= DRAWS; k++) {
        double x = rpinn_stream_normal(&stream);
        if (rounds) x = round(scale * x);
        *(k < DRAWS ? &values[k][0] : truth) = x;
      }
      RpinnCalibrationScore score = score_of(DRAWS, 1, values[0], truth, &stream);
      for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) coverage[l] += score.coverage[l] / SETS;
      for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++) pit[b] += score.pit[b] / SETS;
    }
    for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS && !rounds; l++) {
      double level = rpinn_calibration_levels[l];
      check_close(coverage[l], level, 4 * sqrt(level * (1 - level) / SETS));
    }
    for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++)
      check_close(pit[b], 0.05, 4.5 * sqrt(0.05 * 0.95 / SETS));
  }
}

static void test_summary(void **state) {
  (void)state;
  RpinnCalibrationScore scores[3] = {{.num_points = 1,
                                      .coverage = {0.4, 0.8, 1},
                                      .width = {1, 2, 3},
                                      .crps = 1,
                                      .error = 2,
                                      .pit = {[0] = 1}},
                                     {.num_points = 1,
                                      .coverage = {0.5, 0.8, 1},
                                      .width = {2, 2, 3},
                                      .crps = 2,
                                      .error = 4,
                                      .pit = {[0] = 1}},
                                     {.num_points = 1,
                                      .coverage = {0.9, 0.8, 1},
                                      .width = {3, 2, 3},
                                      .crps = 6,
                                      .error = 6,
                                      .pit = {[19] = 1}}};
  RpinnCalibrationSummary summary;
  rpinn_calibration_summarise(3, scores, false, &summary);
  assert_int_equal(summary.num_data_sets, 3);
  check_close(summary.coverage[0].mean, 0.6, 1e-15);
  check_close(summary.coverage[0].error, sqrt(0.5 * 0.5 / 3), 1e-15); /* above that of the three, 0.153 */
  check_close(summary.coverage[2].mean, 1, 1e-15);
  check_close(summary.coverage[2].error, sqrt(0.05 * 0.95 / 3), 1e-15);
  check_close(summary.crps.mean, 3, 1e-15);
  check_close(summary.crps.error, sqrt(7.0 / 3), 1e-15);
  check_close(summary.error.mean, 4, 1e-15);
  check_close(summary.width[0].error, sqrt(1.0 / 3), 1e-15);
  check_close(summary.width[1].error, 0, 0);
  check_close(summary.pit[0], 2.0 / 3, 1e-15);
  check_close(summary.pit[19], 1.0 / 3, 1e-15);
  rpinn_calibration_summarise(1, scores, false, &summary);
  assert_true(isnan(summary.crps.error));
  check_close(summary.coverage[2].error, sqrt(0.05 * 0.95), 1e-15);
  /* Where data sets differ more than chance alone would have it, theirs is the error. */
  scores[0].coverage[2] = scores[1].coverage[2] = 0;
  rpinn_calibration_summarise(3, scores, false, &summary);
  check_close(summary.coverage[2].error, 1.0 / 3, 1e-15);
}

/* Folds: of different sizes, some without rows; rows err on their own. */
static void test_summary_of_folds(void **state) {
  (void)state;
  RpinnCalibrationScore scores[3] = {
      {.num_points = 3, .coverage = {0, 0, 1}, .crps = 1, .z_mean = 1, .z_square = 2, .z_inside = 1},
      {.num_points = 0, .coverage = {(double)NAN}, .crps = (double)NAN, .z_mean = (double)NAN},
      {.num_points = 1, .coverage = {0, 0, 0}, .crps = 5, .z_mean = -3, .z_square = 9, .z_inside = 0}};
  RpinnCalibrationSummary summary;
  rpinn_calibration_summarise(3, scores, true, &summary);
  assert_int_equal(summary.num_data_sets, 2);
  check_close(summary.num_points, 4, 0);
  check_close(summary.crps.mean, 2, 1e-15);                            /* (3 * 1 + 5) / 4 */
  check_close(summary.crps.error, sqrt(2 * (0.5625 + 0.5625)), 1e-15); /* 2/1 ((3/4)^2 1 + (1/4)^2 9) */
  check_close(summary.coverage[2].mean, 0.75, 1e-15);
  check_close(summary.coverage[0].error, sqrt(0.25 / 4), 1e-15); /* of 4 rows */
  check_close(summary.z_mean, 0, 1e-15);
  check_close(summary.z_deviation, sqrt(3.75), 1e-15); /* (3 * 2 + 9) / 4 */
  check_close(summary.z_inside, 0.75, 1e-15);
  rpinn_calibration_summarise(1, scores + 1, true, &summary); /* nothing at all */
  assert_true(isnan(summary.crps.mean) && isnan(summary.coverage[2].mean) &&
              isnan(summary.coverage[2].error));
}

/* Measurements have noise that draws of the mean have not: with it they are exchangeable, without it not. */
static void test_noise_of_the_truth(void **state) {
  (void)state;
  enum { DRAWS = 79, SETS = 4000 };
  static double values[DRAWS][1];
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, 0, 0);
  double with = 0, without = 0, square = 0, noise = 2;
  RpinnTruthNoise stated = {.deviations = &noise};
  for (size_t s = 0; s < SETS; s++) {
    double truth = rpinn_stream_normal(&stream) + noise * rpinn_stream_normal(&stream);
    for (size_t k = 0; k < DRAWS; k++) values[k][0] = rpinn_stream_normal(&stream);
    RpinnKeptDraws *kept = kept_of(DRAWS, 1, values[0]);
    RpinnCalibrationScore score;
    assert_int_equal(rpinn_calibration_score(kept, 0, 1, &truth, &stated, &stream, &score), RPINN_OK);
    with += score.coverage[2] / SETS;
    square += score.z_square / SETS;
    assert_int_equal(rpinn_calibration_score(kept, 0, 1, &truth, NULL, &stream, &score), RPINN_OK);
    without += score.coverage[2] / SETS;
    rpinn_kept_draws_destroy(kept);
  }
  check_close(with, 0.95, 4 * sqrt(0.05 * 0.95 / SETS));
  check_close(square, 1, 4 * sqrt(2.0 / SETS) + 0.01); /* the mean of 79 draws has an error too */
  check_close(without, 0.618, 0.04);                   /* 2 Phi(1.96 / sqrt(5)) - 1 */
}

/* The same where every draw has a noise of its own, as its second value. */
static void test_noise_of_draws(void **state) {
  (void)state;
  enum { DRAWS = 79, SETS = 2000 };
  static double values[DRAWS][2];
  RpinnStream stream = rpinn_stream(6, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnTruthNoise drawn = {.drawn = 1};
  double held = 0, square = 0;
  for (size_t s = 0; s < SETS; s++) {
    double truth = rpinn_stream_normal(&stream);
    truth += (rpinn_stream_uniform(&stream) < 0.5 ? 1 : 3) * rpinn_stream_normal(&stream);
    for (size_t k = 0; k < DRAWS; k++) {
      values[k][0] = rpinn_stream_normal(&stream);
      values[k][1] = rpinn_stream_uniform(&stream) < 0.5 ? 1 : 3;
    }
    RpinnKeptDraws *kept = kept_of(DRAWS, 2, values[0]);
    RpinnCalibrationScore score;
    assert_int_equal(rpinn_calibration_score(kept, 0, 1, &truth, &drawn, &stream, &score), RPINN_OK);
    held += score.coverage[1] / SETS;
    square += score.z_square / SETS;
    rpinn_kept_draws_destroy(kept);
  }
  check_close(held, 0.8, 4 * sqrt(0.2 * 0.8 / SETS));
  check_close(square, 1, 0.15); /* the variance is 1 + (1 + 9) / 2 */
}

/* Of 201 points the 21st, 61st, …; of three all of them. */
static void test_ranked_points(void **state) {
  (void)state;
  static const size_t expected[] = {20, 60, 100, 140, 180};
  for (size_t k = 0; k < RPINN_RANKED_POINTS; k++) {
    assert_int_equal(rpinn_ranked_point(201, k), expected[k]);
    assert_int_equal(rpinn_ranked_point(3, k), k < 3 ? k : 3);
  }
  double values[39][3], truth[3] = {100, -100, 20};
  for (size_t k = 0; k < 39; k++)
    for (size_t p = 0; p < 3; p++) values[k][p] = (double)k + 0.5;
  RpinnStream stream = rpinn_stream(4, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnCalibrationScore score = score_of(39, 3, values[0], truth, &stream);
  assert_true(score.ranks[0] > 39.0 / 40 && score.ranks[1] < 1.0 / 40);
  check_close(score.ranks[2], 20.5 / 40, 0.5 / 40); /* behind 20 of them */
  assert_true(isnan(score.ranks[3]) && isnan(score.ranks[4]));
}

/* ---- uniform ranks ---- */

/* min_k of the two-sided p of Bin(2, k/20), by the definition, for two numbers in these bins. */
static double statistic_of_two(size_t a, size_t b) {
  double least = 1;
  for (size_t k = 1; k < 20; k++) {
    double z = (double)k / 20, below[] = {(1 - z) * (1 - z), 1 - z * z, 1};
    double above[] = {1, 1 - below[0], z * z};
    size_t n = (size_t)(a < k) + (size_t)(b < k);
    least = fmin(least, fmin(1, 2 * fmin(below[n], above[n])));
  }
  return least;
}

/* All pairs of bins are equally likely: the p-value is the share of those that look no more uniform. */
static void test_p_value_of_two(void **state) {
  (void)state;
  for (size_t a = 0; a < 20; a += 3)
    for (size_t b = 0; b < 20; b++) {
      double numbers[] = {((double)a + 0.5) / 20, ((double)b + 0.5) / 20}, p_value, expected = 0;
      for (size_t c = 0; c < 400; c++)
        expected += (statistic_of_two(c / 20, c % 20) <= statistic_of_two(a, b) * (1 + 1e-9)) / 400.0;
      assert_int_equal(rpinn_uniformity_p_value(2, numbers, &p_value), RPINN_OK);
      check_close(p_value, expected, 1e-12);
    }
}

/* Uniform numbers: a p-value of at most 5 % hardly ever, and just when they leave the band. Others: always. */
static void test_uniformity(void **state) {
  (void)state;
  enum { COUNT = 100, SETS = 2000 };
  double numbers[COUNT], low[RPINN_UNIFORMITY_STEPS + 1], high[RPINN_UNIFORMITY_STEPS + 1], p_value,
      rejected[3] = {0};
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
  assert_int_equal(rpinn_uniformity_band(COUNT, 0.95, low, high), RPINN_OK);
  for (size_t s = 0; s < SETS; s++)
    for (size_t kind = 0; kind < 3; kind++) {
      for (size_t i = 0; i < COUNT; i++) {
        double u = rpinn_stream_uniform(&stream);
        numbers[i] = kind == 0 ? u : kind == 1 ? 0.5 - 0.5 * cos(3.141592653589793 * u) : u * u;
      }
      assert_int_equal(rpinn_uniformity_p_value(COUNT, numbers, &p_value), RPINN_OK);
      rejected[kind] += (p_value <= 0.05) / (double)SETS;
      bool leaves = false;
      for (size_t k = 1; k < RPINN_UNIFORMITY_STEPS; k++) {
        double below = 0;
        for (size_t i = 0; i < COUNT; i++)
          below += (numbers[i] < (double)k / RPINN_UNIFORMITY_STEPS) / (double)COUNT;
        leaves |= below < low[k] - 1e-12 || below > high[k] + 1e-12;
      }
      check_true(leaves == (p_value <= 0.05), "p %g, and %s the band", p_value, leaves ? "leaves" : "within");
    }
  assert_true(rejected[0] < 0.05 + 3 * sqrt(0.05 * 0.95 / SETS) && rejected[0] > 0.02);
  assert_true(rejected[1] > 0.85 && rejected[2] > 0.99); /* a valley, a slope */
}

/* Bin(10, 1/2): 2 to 8 of 10 with 97.9 %, 3 to 7 with 89 %. */
static void test_share_band(void **state) {
  (void)state;
  double low, high;
  assert_int_equal(rpinn_share_band(10, 0.5, 0.95, &low, &high), RPINN_OK);
  check_close(low, 0.2, 0);
  check_close(high, 0.8, 0);
  assert_int_equal(rpinn_share_band(10, 0.5, 0.89, &low, &high), RPINN_OK);
  check_close(low, 0.3, 0);
  check_close(high, 0.7, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks),
                                     cmocka_unit_test(test_quantiles_of_all_values),
                                     cmocka_unit_test(test_scores_by_hand),
                                     cmocka_unit_test(test_exchangeable),
                                     cmocka_unit_test(test_summary),
                                     cmocka_unit_test(test_summary_of_folds),
                                     cmocka_unit_test(test_noise_of_the_truth),
                                     cmocka_unit_test(test_noise_of_draws),
                                     cmocka_unit_test(test_ranked_points),
                                     cmocka_unit_test(test_p_value_of_two),
                                     cmocka_unit_test(test_uniformity),
                                     cmocka_unit_test(test_share_band)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
