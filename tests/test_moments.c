/* Moments over draws, and the draws kept for quantiles. */
#include "check.h"

#include "kept_draws.h"
#include "moments.h"
#include "random_stream.h"

static void test_few_draws(void **state) {
  (void)state;
  RpinnMoments *moments = rpinn_moments_create(2);
  double mean[2], deviation[2];
  rpinn_moments_get(moments, mean, deviation);
  assert_true(isnan(mean[0]) && isnan(deviation[0]));
  rpinn_moments_add(moments, (double[]){3, -1});
  rpinn_moments_get(moments, mean, deviation);
  assert_true(mean[0] == 3 && mean[1] == -1 && isnan(deviation[0]) && isnan(deviation[1]));
  rpinn_moments_add(moments, (double[]){5, -1});
  rpinn_moments_add(moments, (double[]){10, -1});
  rpinn_moments_get(moments, mean, deviation);
  assert_int_equal(rpinn_moments_count(moments), 3);
  check_relative(mean[0], 6, 1e-15);
  check_relative(deviation[0], sqrt(13), 1e-15); /* (9 + 1 + 16) / 2 */
  assert_true(mean[1] == -1 && deviation[1] == 0);
  rpinn_moments_get(moments, NULL, NULL);
  rpinn_moments_destroy(moments);
  rpinn_moments_destroy(NULL);
}

/* A spread of 1 around 1e9: squares of the values would leave no digit of the variance. */
static void test_far_from_zero(void **state) {
  (void)state;
  enum { COUNT = 10000 };
  RpinnMoments *moments = rpinn_moments_create(1);
  double mean, deviation;
  for (size_t i = 0; i < COUNT; i++) rpinn_moments_add(moments, (double[]){1e9 + (i % 2 ? 1 : -1)});
  rpinn_moments_get(moments, &mean, &deviation);
  check_relative(mean, 1e9, 1e-15);
  check_relative(deviation, sqrt(COUNT / (COUNT - 1.0)), 1e-12);
  rpinn_moments_destroy(moments);
}

/* Two passes in long double are the judge, for counts on both sides of the block's edges. */
static void test_against_two_passes(void **state) {
  (void)state;
  enum { MOST = 1000 };
  static double draws[MOST];
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, MOST, draws);
  size_t counts[] = {2, 63, 64, 65, 127, 128, 129, MOST};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    RpinnMoments *moments = rpinn_moments_create(1);
    long double sum = 0, squares = 0;
    for (size_t i = 0; i < counts[k]; i++) rpinn_moments_add(moments, &draws[i]), sum += draws[i];
    long double exact = sum / counts[k];
    for (size_t i = 0; i < counts[k]; i++) squares += (draws[i] - exact) * (draws[i] - exact);
    double mean, deviation;
    rpinn_moments_get(moments, &mean, &deviation);
    check_close(mean, (double)exact, 2e-15);
    check_relative(deviation, (double)sqrtl(squares / (counts[k] - 1)), 2e-15);
    rpinn_moments_destroy(moments);
  }
}

/* Looking in between, and how many values travel together, change no bit. */
static void test_bits_depend_on_the_draws_alone(void **state) {
  (void)state;
  enum { COUNT = 333, VALUES = 5 };
  RpinnMoments *together = rpinn_moments_create(VALUES), *alone = rpinn_moments_create(1);
  double mean[VALUES], deviation[VALUES], mean_alone, deviation_alone;
  RpinnStream stream = rpinn_stream(2, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t i = 0; i < COUNT; i++) {
    double values[VALUES];
    rpinn_stream_normals(&stream, VALUES, values);
    rpinn_moments_add(together, values);
    rpinn_moments_add(alone, &values[3]);
    rpinn_moments_get(together, mean, deviation);
  }
  rpinn_moments_get(alone, &mean_alone, &deviation_alone);
  assert_memory_equal(&mean[3], &mean_alone, sizeof mean_alone);
  assert_memory_equal(&deviation[3], &deviation_alone, sizeof deviation_alone);
  rpinn_moments_destroy(together);
  rpinn_moments_destroy(alone);
}

static void test_keep_every(void **state) {
  (void)state;
  assert_int_equal(rpinn_keep_every(5000, 402, (size_t)64 << 20), 1);
  assert_int_equal(rpinn_keep_every(100, 1, 800), 1);
  assert_int_equal(rpinn_keep_every(101, 1, 800), 2);
  assert_int_equal(rpinn_keep_every(1000000, 10, 8000), 10000);
  assert_int_equal(rpinn_keep_every(10, 1000, 1), 10); /* one draw at least */
  assert_int_equal(rpinn_keep_every(0, 10, 0), 1);
  assert_int_equal(rpinn_keep_every(10, 0, 0), 1);
  for (size_t draws = 1; draws < 60; draws++)
    for (size_t room = 1; room < 20; room++) {
      size_t every = rpinn_keep_every(draws, 1, room * sizeof(double));
      assert_true((draws + every - 1) / every <= room);
      assert_true(every == 1 || (draws + every - 2) / (every - 1) > room);
    }
}

static void test_quantiles_by_hand(void **state) {
  (void)state;
  RpinnKeptDraws *kept = rpinn_kept_draws_create(2, 3);
  const double first[] = {7, 1, 9, 3}; /* draws 0, 3, 6, 9 */
  double quantiles[5][2];
  const double probabilities[] = {0, 0.1, 0.5, 0.75, 1};
  assert_int_equal(rpinn_kept_draws_quantiles(kept, 1, probabilities, quantiles[0]), RPINN_OK);
  assert_true(isnan(quantiles[0][0]));
  for (size_t draw = 0; draw < 12; draw++) {
    double values[] = {draw % 3 ? 1e9 : first[draw / 3], 4};
    assert_int_equal(rpinn_kept_draws_add(kept, draw, values), RPINN_OK);
  }
  assert_int_equal(rpinn_kept_draws_count(kept), 4);
  assert_int_equal(rpinn_kept_draws_num_values(kept), 2);
  assert_int_equal(rpinn_kept_draws_quantiles(kept, 5, probabilities, quantiles[0]), RPINN_OK);
  const double expected[] = {1, 1.6, 5, 7.5, 9}; /* numpy.quantile([7, 1, 9, 3], probabilities) */
  for (size_t k = 0; k < 5; k++) {
    check_relative(quantiles[k][0], expected[k], 1e-15);
    assert_true(quantiles[k][1] == 4);
  }
  rpinn_kept_draws_destroy(kept);
  rpinn_kept_draws_destroy(NULL);
}

/* More values than are sorted at once and more draws than a chunk holds; a NaN spoils its own value only. */
static void test_quantiles_of_many(void **state) {
  (void)state;
  enum { VALUES = 1003, DRAWS = 301 };
  RpinnKeptDraws *kept = rpinn_kept_draws_create(VALUES, 1);
  static double values[VALUES], quantiles[2][VALUES];
  for (size_t draw = 0; draw < DRAWS; draw++) {
    for (size_t i = 0; i < VALUES; i++) values[i] = (double)(i + draw * 8 % DRAWS);
    if (draw == 100) values[17] = (double)NAN;
    if (draw == 100) values[18] = (double)INFINITY;
    assert_int_equal(rpinn_kept_draws_add(kept, draw, values), RPINN_OK);
  }
  assert_int_equal(rpinn_kept_draws_quantiles(kept, 2, (double[]){0.025, 0.5}, quantiles[0]), RPINN_OK);
  for (size_t i = 0; i < VALUES; i++)
    if (i == 17)
      assert_true(isnan(quantiles[0][i]) && isnan(quantiles[1][i]));
    else if (i != 18) {
      check_relative(quantiles[0][i], (double)i + 7.5, 1e-14);
      check_relative(quantiles[1][i], (double)i + 150, 1e-14);
    }
  check_relative(quantiles[0][18], 18 + 7.5, 1e-14);
  rpinn_kept_draws_destroy(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_few_draws),          cmocka_unit_test(test_far_from_zero),
      cmocka_unit_test(test_against_two_passes), cmocka_unit_test(test_bits_depend_on_the_draws_alone),
      cmocka_unit_test(test_keep_every),         cmocka_unit_test(test_quantiles_by_hand),
      cmocka_unit_test(test_quantiles_of_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
