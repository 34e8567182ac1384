/* The kernel Stein discrepancy: by hand, by its definition, against closed forms, and on draws of the right law and of others. */
#include "check.h"

#include "distributions.h"
#include "random_stream.h"
#include "rpinn/stein.h"

static RpinnSteinDiscrepancy discrepancy_of(size_t n, size_t N, const double *points,
                                            const double *gradients) {
  RpinnSteinDiscrepancy found;
  RpinnContext *context = rpinn_context_create();
  assert_int_equal(rpinn_stein_discrepancy(context, n, N, points, gradients, &found), RPINN_OK);
  rpinn_context_destroy(context);
  return found;
}

/* From N(0, I). */
static RpinnSteinDiscrepancy from_normal(size_t n, size_t N, const double *points) {
  double *gradients = malloc(n * N * sizeof *gradients);
  assert_non_null(gradients);
  for (size_t k = 0; k < n * N; k++) gradients[k] = -points[k];
  RpinnSteinDiscrepancy found = discrepancy_of(n, N, points, gradients);
  free(gradients);
  return found;
}

/* ---- formulas ---- */

/* Points -1, 1/2 and 2 beside N(0, 1): u is 2, 5/4 and 5 with themselves; |x - y|^2 is 9/4, 9/4 and 9 between them. */
static void three_points_by_hand(void **state) {
  (void)state;
  static const double points[3] = {-1, 0.5, 2};
  double near = pow(3.25, -0.5), far = pow(10, -0.5);
  double first = near * (-0.5 + (-2.25 + 1 - 3 * 2.25 / 3.25) / 3.25),
         second = near * (1 + (-2.25 + 1 - 3 * 2.25 / 3.25) / 3.25), third = far * (-2 + (-9 + 1 - 2.7) / 10);
  RpinnSteinDiscrepancy found = from_normal(3, 1, points);
  check_relative(found.value, sqrt(8.25 + 2 * (first + second + third)) / 3, 1e-14);
  check_relative(found.by_chance, sqrt(8.25) / 3, 1e-14);
}

static double kernel(size_t N, const double *x, const double *y) {
  double q = 1;
  for (size_t j = 0; j < N; j++) q += (x[j] - y[j]) * (x[j] - y[j]);
  return 1 / sqrt(q);
}

/* u by its definition, the derivatives of the kernel by differences. */
static double by_definition(size_t N, double *x, double *y, const double *g, const double *h) {
  const double step = 1e-4;
  double sum = 0;
  for (size_t j = 0; j < N; j++) {
    double values[2][2], x_j = x[j], y_j = y[j];
    for (size_t a = 0; a < 2; a++)
      for (size_t b = 0; b < 2; b++) {
        x[j] = x_j + (a ? step : -step);
        y[j] = y_j + (b ? step : -step);
        values[a][b] = kernel(N, x, y);
      }
    x[j] = x_j, y[j] = y_j;
    double by_x = (values[1][1] + values[1][0] - values[0][1] - values[0][0]) / (4 * step),
           by_y = (values[1][1] - values[1][0] + values[0][1] - values[0][0]) / (4 * step),
           both = (values[1][1] - values[1][0] - values[0][1] + values[0][0]) / (4 * step * step);
    sum += kernel(N, x, y) * g[j] * h[j] + g[j] * by_y + h[j] * by_x + both;
  }
  return sum;
}

/* More points than a block has, far from the origin, with gradients of any kind. */
static void definition(void **state) {
  (void)state;
  enum { n = 150, N = 3 };
  static double points[n * N], gradients[n * N], shifted[n * N];
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t k = 0; k < n * N; k++) {
    points[k] = rpinn_stream_normal(&stream);
    shifted[k] = points[k] + 1e6;
    gradients[k] = 2 * rpinn_stream_normal(&stream);
  }
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double x[N], y[N];
      memcpy(x, points + i * N, sizeof x);
      memcpy(y, points + j * N, sizeof y);
      sum += by_definition(N, x, y, gradients + i * N, gradients + j * N);
    }
  check_relative(discrepancy_of(n, N, points, gradients).value, sqrt(sum) / n, 1e-5);
  check_relative(discrepancy_of(n, N, shifted, gradients).value,
                 discrepancy_of(n, N, points, gradients).value, 1e-8);
}

/* Points of N(m, 1) beside N(0, 1) have D^2 = E (g_p - g_q)(x) k(x, y) (g_p - g_q)(y) = m^2 E (1 + 2 z^2)^(-1/2), z standard
 * normal. */
static void shifted_normal_by_quadrature(void **state) {
  (void)state;
  enum { n = 2000 };
  static double points[n];
  double mean = 0.7, expected = 0, step = 1e-3;
  for (double z = -12; z < 12; z += step) expected += step * exp(-0.5 * z * z) / sqrt(1 + 2 * z * z);
  expected = mean * sqrt(expected / sqrt(2 * 3.14159265358979323846));
  for (size_t i = 0; i < n; i++) points[i] = mean + rpinn_normal_quantile(((double)i + 0.5) / n);
  check_relative(from_normal(n, 1, points).value, expected, 2e-3);
  for (size_t i = 0; i < n; i++) points[i] -= mean;
  check_true(from_normal(n, 1, points).value < 2e-3, "%g", from_normal(n, 1, points).value);
}

/* ---- draws ---- */

/* The root mean square over sets of n draws of N(shift, scale^2 I) in 4 dimensions. */
static RpinnSteinDiscrepancy of_draws(size_t n, double shift, double scale) {
  enum { N = 4, NUM_SETS = 20, MOST = 1600 };
  static double points[MOST * N];
  RpinnSteinDiscrepancy mean = {0, 0};
  for (uint64_t set = 0; set < NUM_SETS; set++) {
    RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, set, (uint32_t)n);
    for (size_t k = 0; k < n * N; k++) points[k] = shift + scale * rpinn_stream_normal(&stream);
    RpinnSteinDiscrepancy found = from_normal(n, N, points);
    mean.value += found.value * found.value / NUM_SETS;
    mean.by_chance += found.by_chance * found.by_chance / NUM_SETS;
  }
  return (RpinnSteinDiscrepancy){sqrt(mean.value), sqrt(mean.by_chance)};
}

/* u(x, x) = |x|^2 + 4 has mean 8: chance gives sqrt(8 / n). */
static void draws_of_the_right_law_tend_to_zero(void **state) {
  (void)state;
  for (size_t n = 100; n <= 1600; n *= 4) {
    RpinnSteinDiscrepancy found = of_draws(n, 0, 1);
    check_relative(found.by_chance, sqrt(8 / (double)n), 0.03);
    check_relative(found.value, sqrt(8 / (double)n), 0.12);
  }
}

static void draws_of_other_laws_do_not(void **state) {
  (void)state;
  static const double others[][2] = {{0.5, 1}, {0, 0.6}, {0, 1.6}};
  for (size_t k = 0; k < 3; k++) {
    double few = of_draws(400, others[k][0], others[k][1]).value;
    RpinnSteinDiscrepancy many = of_draws(1600, others[k][0], others[k][1]);
    check_true(many.value > 0.85 * few && many.value > 3 * many.by_chance,
               "law %zu: %g of 400, %g of 1600, %g by chance", k, few, many.value, many.by_chance);
  }
}

/* ---- edges ---- */

static void edges(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnSteinDiscrepancy found;
  const double point[2] = {3, 4}, gradient[2] = {1, 2};
  double not_finite[2] = {1, (double)NAN};
  assert_int_equal(rpinn_stein_discrepancy(context, 0, 2, point, gradient, &found), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_stein_discrepancy(context, 1, 0, point, gradient, &found), RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
  check_relative(discrepancy_of(1, 2, point, gradient).value, sqrt(7), 1e-15);
  assert_true(isnan(discrepancy_of(1, 2, point, not_finite).value));
  /* Points that coincide are one. */
  const double twice[4] = {3, 4, 3, 4}, its[4] = {1, 2, 1, 2};
  check_relative(discrepancy_of(2, 2, twice, its).value, sqrt(7), 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_points_by_hand),         cmocka_unit_test(definition),
      cmocka_unit_test(shifted_normal_by_quadrature), cmocka_unit_test(draws_of_the_right_law_tend_to_zero),
      cmocka_unit_test(draws_of_other_laws_do_not),   cmocka_unit_test(edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
