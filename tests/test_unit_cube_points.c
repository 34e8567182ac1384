/* Points of the unit cube: the Sobol sequence and Latin hypercubes. */
#include "check.h"

#include "latin_hypercube.h"
#include "random_stream.h"
#include "sobol.h"

enum { MAX_DIMENSIONS = RPINN_SOBOL_MAX_DIMENSIONS };

/* The points that the program of Joe and Kuo gives after the origin, in sixteenths. */
static void first_sobol_points_are_known(void **state) {
  (void)state;
  static const int sixteenths[][MAX_DIMENSIONS] = {
      {8, 8, 8, 8},    {12, 4, 4, 4}, {4, 12, 12, 12}, {6, 6, 10, 14},  {14, 14, 2, 6},
      {10, 2, 14, 10}, {2, 10, 6, 2}, {3, 5, 15, 7},   {11, 13, 7, 15}, {15, 1, 11, 3},
      {7, 9, 3, 11},   {5, 3, 5, 9},  {13, 11, 13, 1}, {9, 7, 1, 13},   {1, 15, 9, 5},
  };
  for (uint32_t index = 0; index < sizeof sixteenths / sizeof sixteenths[0]; index++)
    for (size_t num_dimensions = 1; num_dimensions <= MAX_DIMENSIONS; num_dimensions++) {
      double point[MAX_DIMENSIONS];
      rpinn_sobol_point(index, num_dimensions, point);
      for (size_t d = 0; d < num_dimensions; d++) check_close(point[d], sixteenths[index][d] / 16.0, 0);
    }
}

/* Cut dimension d into 2^bits[d] slices: every box holds per_box points. */
static void check_boxes(const double *points, size_t count, size_t num_dimensions, const unsigned *bits,
                        size_t per_box) {
  size_t *boxes = calloc(count, sizeof *boxes);
  assert_non_null(boxes);
  for (size_t i = 0; i < count; i++) {
    size_t box = 0;
    for (size_t d = 0; d < num_dimensions; d++)
      box = box << bits[d] | (size_t)ldexp(points[i * num_dimensions + d], (int)bits[d]);
    boxes[box]++;
  }
  for (size_t box = 0; box < count / per_box; box++) assert_int_equal(boxes[box], per_box);
  free(boxes);
}

/* All ways to share out the remaining bits over the remaining dimensions. */
static void check_partitions(const double *points, size_t count, size_t num_dimensions, unsigned *bits,
                             size_t d, unsigned left, size_t per_box) {
  if (d + 1 == num_dimensions) {
    bits[d] = left;
    check_boxes(points, count, num_dimensions, bits, per_box);
    return;
  }
  for (bits[d] = 0; bits[d] <= left; bits[d]++)
    check_partitions(points, count, num_dimensions, bits, d + 1, left - bits[d], per_box);
}

/* Every block of 2^m points is a (t, m, s)-net: each box of volume 2^(t-m) whose sides are 1 / 2^k holds 2^t
 * of them. Sobol's bound: t is the sum of (degree - 1) over the dimensions after the first. */
static void sobol_blocks_are_nets(void **state) {
  (void)state;
  enum { MAX_POWER = 9 };
  static const unsigned qualities[MAX_DIMENSIONS] = {0, 0, 1, 3};
  static double points[(1 << MAX_POWER) * MAX_DIMENSIONS];
  for (size_t num_dimensions = 1; num_dimensions <= MAX_DIMENSIONS; num_dimensions++) {
    unsigned quality = qualities[num_dimensions - 1];
    for (unsigned power = quality; power <= MAX_POWER; power++)
      for (uint32_t block = 1; block <= 3; block++) {
        size_t count = (size_t)1 << power;
        for (uint32_t i = 0; i < count; i++)
          rpinn_sobol_point((block << power) + i - 1, num_dimensions, points + i * num_dimensions);
        unsigned bits[MAX_DIMENSIONS];
        check_partitions(points, count, num_dimensions, bits, 0, power - quality, (size_t)1 << quality);
      }
  }
}

static void late_sobol_points_stay_in_the_cube(void **state) {
  (void)state;
  for (uint32_t back = 2; back < 1000; back++) {
    double point[MAX_DIMENSIONS];
    rpinn_sobol_point(UINT32_MAX - back, MAX_DIMENSIONS, point);
    for (size_t d = 0; d < MAX_DIMENSIONS; d++) assert_true(point[d] >= 0 && point[d] < 1);
  }
}

/* Warnock's formula for the squared L2 star discrepancy of N points in s dimensions:
 *   1/3^s - 2^(1-s)/N sum_i prod_d (1 - x_id^2) + 1/N^2 sum_ij prod_d (1 - max(x_id, x_jd)) */
static double squared_discrepancy(const double *points, size_t count, size_t num_dimensions) {
  double single = 0, pairs = 0;
  for (size_t i = 0; i < count; i++) {
    const double *a = points + i * num_dimensions;
    double product = 1;
    for (size_t d = 0; d < num_dimensions; d++) product *= 1 - a[d] * a[d];
    single += product;
    for (size_t j = 0; j < count; j++) {
      const double *b = points + j * num_dimensions;
      product = 1;
      for (size_t d = 0; d < num_dimensions; d++) product *= 1 - fmax(a[d], b[d]);
      pairs += product;
    }
  }
  double n = (double)count;
  return pow(3, -(double)num_dimensions) - pow(2, 1 - (double)num_dimensions) * single / n + pairs / (n * n);
}

/* Random points have the mean squared discrepancy (2^-s - 3^-s) / N; an even set stays far below it. */
static void point_sets_are_more_even_than_random(void **state) {
  (void)state;
  enum { COUNT = 512 };
  static double points[COUNT * MAX_DIMENSIONS];
  static size_t scratch[COUNT];
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_POINTS, 0, 0);
  for (size_t num_dimensions = 1; num_dimensions <= MAX_DIMENSIONS; num_dimensions++) {
    double s = (double)num_dimensions, random = (pow(2, -s) - pow(3, -s)) / COUNT;
    for (uint32_t i = 0; i < COUNT; i++) rpinn_sobol_point(i, num_dimensions, points + i * num_dimensions);
    double sobol = squared_discrepancy(points, COUNT, num_dimensions);
    check_true(sobol < random / 10, "%zu dimensions: %g, random %g", num_dimensions, sobol, random);
    rpinn_latin_hypercube(&stream, COUNT, num_dimensions, points, scratch);
    double latin = squared_discrepancy(points, COUNT, num_dimensions);
    check_true(latin < random, "%zu dimensions: %g, random %g", num_dimensions, latin, random);
  }
}

static void latin_hypercubes_fill_every_stratum_once(void **state) {
  (void)state;
  enum { MAX_COUNT = 1000 };
  static double points[MAX_COUNT * MAX_DIMENSIONS];
  static size_t scratch[MAX_COUNT];
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_POINTS, 0, 0);
  for (size_t count = 1; count <= MAX_COUNT; count = count * 3 + 1)
    for (size_t num_dimensions = 1; num_dimensions <= MAX_DIMENSIONS; num_dimensions++) {
      rpinn_latin_hypercube(&stream, count, num_dimensions, points, scratch);
      for (size_t d = 0; d < num_dimensions; d++) {
        int seen[MAX_COUNT] = {0};
        for (size_t i = 0; i < count; i++) {
          double x = points[i * num_dimensions + d];
          assert_true(x > 0 && x < 1);
          seen[(size_t)(x * (double)count)]++;
        }
        for (size_t i = 0; i < count; i++) assert_int_equal(seen[i], 1);
      }
    }
}

/* Each coordinate is uniform, and two coordinates of a point are not correlated. */
static void latin_hypercubes_are_uniform(void **state) {
  (void)state;
  enum { COUNT = 20, REPEATS = 5000 };
  RpinnStream stream = rpinn_stream(2, RPINN_PURPOSE_POINTS, 0, 0);
  double mean = 0, square = 0, product = 0;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    double points[COUNT][2];
    size_t scratch[COUNT];
    rpinn_latin_hypercube(&stream, COUNT, 2, &points[0][0], scratch);
    mean += points[0][0] / REPEATS;
    square += points[0][0] * points[0][0] / REPEATS;
    product += (points[0][0] - 0.5) * (points[0][1] - 0.5) / REPEATS;
  }
  /* Five standard errors. */
  check_close(mean, 0.5, 5 * sqrt(1.0 / 12 / REPEATS));
  check_close(square, 1.0 / 3, 5 * sqrt(4.0 / 45 / REPEATS));
  check_close(product, 0, 5.0 / 12 / sqrt(REPEATS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_sobol_points_are_known),
      cmocka_unit_test(sobol_blocks_are_nets),
      cmocka_unit_test(late_sobol_points_stay_in_the_cube),
      cmocka_unit_test(point_sets_are_more_even_than_random),
      cmocka_unit_test(latin_hypercubes_fill_every_stratum_once),
      cmocka_unit_test(latin_hypercubes_are_uniform),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
