/* The shape of a posterior: planes through three points, products with Hessians, spectra. */
#include "check.h"

#include "hessian.h"
#include "posterior_plane.h"
#include "problem_bench.h"
#include "random_stream.h"

/* ---- functions whose Hessian is known ---- */

/* f = 1/2 x^T A x + sum_j c_j exp(x_j): H = A + diag(c_j exp(x_j)), A symmetric. */
typedef struct Model {
  size_t n;
  double *A, *c;
} Model;

static RpinnStatus model_evaluate(void *data, const double *x, double *value, double *gradient) {
  const Model *model = data;
  *value = 0;
  for (size_t i = 0; i < model->n; i++) {
    double product = 0;
    for (size_t j = 0; j < model->n; j++) product += model->A[i * model->n + j] * x[j];
    *value += 0.5 * x[i] * product + model->c[i] * exp(x[i]);
    if (gradient) gradient[i] = product + model->c[i] * exp(x[i]);
  }
  return RPINN_OK;
}

/* A = Q diag(d) Q with the reflection Q = I - 2 w w^T: eigenvalues d. */
static Model make_model(size_t n, const double *d, double curvature) {
  Model model = {n, calloc(n * n, sizeof(double)), calloc(n, sizeof(double))};
  double *w = calloc(n, sizeof *w), norm = 0;
  assert_true(model.A && model.c && w);
  RpinnStream stream = rpinn_stream(7, RPINN_PURPOSE_CHECK, n, 0);
  rpinn_stream_normals(&stream, n, w);
  for (size_t i = 0; i < n; i++) norm += w[i] * w[i];
  for (size_t i = 0; i < n; i++) w[i] /= sqrt(norm);
  double inner = 0; /* w^T D w */
  for (size_t i = 0; i < n; i++) inner += w[i] * w[i] * d[i];
  for (size_t i = 0; i < n; i++) {
    model.c[i] = curvature * rpinn_stream_normal(&stream);
    for (size_t j = 0; j < n; j++)
      model.A[i * n + j] = (i == j ? d[i] : 0) - 2 * w[i] * w[j] * (d[i] + d[j]) + 4 * inner * w[i] * w[j];
  }
  free(w);
  return model;
}

static RpinnObjective model_objective(Model *model) {
  return (RpinnObjective){.num_parameters = model->n, .data = model, .evaluate = model_evaluate};
}

static void free_model(Model *model) {
  free(model->A);
  free(model->c);
}

static void products(void **state) {
  (void)state;
  enum { N = 20 };
  double d[N], x[N], v[N], found[N], difference = 0, size = 0;
  RpinnStream stream = rpinn_stream(8, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, N, d);
  rpinn_stream_normals(&stream, N, x);
  rpinn_stream_normals(&stream, N, v);
  Model model = make_model(N, d, 1);
  RpinnObjective objective = model_objective(&model);
  RpinnHessian *hessian = rpinn_hessian_create(&objective, x);
  for (double scale = 1e-6; scale <= 1e6; scale *= 1e6) { /* the length of v must not matter */
    for (size_t i = 0; i < N; i++) v[i] *= scale;
    assert_int_equal(rpinn_hessian_times(hessian, v, found), RPINN_OK);
    for (size_t i = 0; i < N; i++) {
      double expected = model.c[i] * exp(x[i]) * v[i];
      for (size_t j = 0; j < N; j++) expected += model.A[i * N + j] * v[j];
      difference = fmax(difference, fabs(found[i] - expected) / scale);
      size = fmax(size, fabs(expected) / scale);
    }
    for (size_t i = 0; i < N; i++) v[i] /= scale;
  }
  print_message("  product: relative error %.1e\n", difference / size);
  assert_true(difference <= 1e-7 * size);
  memset(v, 0, sizeof v);
  assert_int_equal(rpinn_hessian_times(hessian, v, found), RPINN_OK);
  for (size_t i = 0; i < N; i++) assert_true(found[i] == 0);
  rpinn_hessian_destroy(hessian);
  free_model(&model);
}

/* ---- a network: H v by another way ---- */

/* H v = J^T J v + P^2 v + d/dt J(theta + t v)^T r(theta), the last by a stencil of order 8 on the Jacobian: other
 * derivatives, other differences. */
static void product_by_jacobian(const RpinnLeastSquares *problem, const double *theta, const double *v,
                                double *product) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  static const double weights[4] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  const double step = 0.02;
  double *J = calloc(M * N, sizeof *J), *r = calloc(M, sizeof *r), *rows = calloc(M, sizeof *rows),
         *moved = calloc(N, sizeof *moved);
  assert_true(J && r && rows && moved);
  assert_int_equal(problem->jacobian(problem->data, theta, r, J), RPINN_OK);
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) rows[i] += J[i * N + j] * v[j];
  for (size_t j = 0; j < N; j++) {
    product[j] = problem->prior_root[j] * problem->prior_root[j] * v[j];
    for (size_t i = 0; i < M; i++) product[j] += J[i * N + j] * rows[i];
  }
  for (int k = -4; k <= 4; k++) {
    if (k == 0) continue;
    double weight = (k < 0 ? -1 : 1) * weights[abs(k) - 1] / step;
    for (size_t j = 0; j < N; j++) moved[j] = theta[j] + k * step * v[j];
    assert_int_equal(problem->jacobian(problem->data, moved, rows, J), RPINN_OK);
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < N; j++) product[j] += weight * J[i * N + j] * r[i];
  }
  free(J);
  free(r);
  free(rows);
  free(moved);
}

static void products_of_a_network(void **state) {
  (void)state;
  ProblemBench bench = bench_load("poisson-linear", NULL);
  bench_build(&bench);
  RpinnPosteriorMember member = {.posterior = bench.posterior, .context = bench.context};
  RpinnLeastSquares problem = rpinn_posterior_least_squares(&member);
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, NULL);
  RpinnObjective objective = rpinn_energy_objective(energy);
  size_t N = problem.num_parameters;
  double *theta = calloc(4 * N, sizeof *theta), *v = theta + N, *found = v + N, *expected = found + N;
  rpinn_posterior_start_glorot(bench.posterior, 1, theta);
  RpinnHessian *hessian = rpinn_hessian_create(&objective, theta);
  RpinnStream stream = rpinn_stream(9, RPINN_PURPOSE_CHECK, 0, 0);
  for (int repetition = 0; repetition < 3; repetition++) {
    double norm = 0, difference = 0, size = 0;
    rpinn_stream_normals(&stream, N, v);
    for (size_t j = 0; j < N; j++) norm += v[j] * v[j];
    for (size_t j = 0; j < N; j++) v[j] /= sqrt(norm);
    assert_int_equal(rpinn_hessian_times(hessian, v, found), RPINN_OK);
    product_by_jacobian(&problem, theta, v, expected);
    for (size_t j = 0; j < N; j++) {
      difference += (found[j] - expected[j]) * (found[j] - expected[j]);
      size += expected[j] * expected[j];
    }
    print_message("  network of %zu parameters: relative error %.1e\n", N, sqrt(difference / size));
    assert_true(sqrt(difference) <= 1e-7 * sqrt(size));
  }
  rpinn_hessian_destroy(hessian);
  rpinn_energy_objective_destroy(energy);
  free(theta);
  bench_close(&bench);
}

/* ---- spectra ---- */

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void known_spectrum(void **state) {
  (void)state;
  enum { N = 30 };
  double d[N], x[N], found[N], asymmetry, *vectors = calloc(N * N, sizeof *vectors);
  RpinnContext *context = rpinn_context_create();
  for (size_t i = 0; i < N; i++) {
    d[i] = (i % 3 ? 1 : -1) * pow(10, (double)i / 10);
    x[i] = sin((double)i);
  }
  Model model = make_model(N, d, 0);
  RpinnObjective objective = model_objective(&model);
  assert_int_equal(rpinn_hessian_spectrum(context, &objective, x, found, vectors, &asymmetry), RPINN_OK);
  qsort(d, N, sizeof *d, compare_numbers);
  print_message("  asymmetry %.1e\n", asymmetry);
  assert_true(asymmetry <= 1e-9);
  for (size_t i = 0; i < N; i++) {
    check_close(found[i] / 1000, d[i] / 1000, 1e-12); /* relative to the largest, about 1000 */
    double difference = 0;                            /* |A v - lambda v| */
    for (size_t r = 0; r < N; r++) {
      double product = -found[i] * vectors[i * N + r];
      for (size_t c = 0; c < N; c++) product += model.A[r * N + c] * vectors[i * N + c];
      difference = fmax(difference, fabs(product));
    }
    assert_true(difference <= 1e-6);
  }
  free(vectors);
  free_model(&model);
  rpinn_context_destroy(context);
}

static RpinnStatus rosenbrock(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  double t = x[1] - x[0] * x[0];
  *value = (1 - x[0]) * (1 - x[0]) + 100 * t * t;
  if (gradient) gradient[0] = -2 * (1 - x[0]) - 400 * x[0] * t, gradient[1] = 200 * t;
  return RPINN_OK;
}

static RpinnStatus minus_rosenbrock(void *data, const double *x, double *value, double *gradient) {
  RpinnStatus status = rosenbrock(data, x, value, gradient);
  *value = -*value;
  for (size_t i = 0; gradient && i < 2; i++) gradient[i] = -gradient[i];
  return status;
}

/* H = [802, -400; -400, 200]: trace 1002, determinant 400. As a log density, with the sign turned. */
static void rosenbrock_at_its_minimum(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnObjective objective = {.num_parameters = 2, .evaluate = rosenbrock};
  RpinnLogDensity density = {.num_parameters = 2, .evaluate = minus_rosenbrock};
  RpinnObjective logarithm = rpinn_hessian_of_log_density(&density);
  double found[2], minus[2], asymmetry, root = sqrt(1002.0 * 1002 - 1600);
  static const double minimum[2] = {1, 1};
  assert_int_equal(rpinn_hessian_spectrum(context, &objective, minimum, found, NULL, &asymmetry), RPINN_OK);
  check_relative(found[0], 800 / (1002 + root), 1e-9);
  check_relative(found[1], (1002 + root) / 2, 1e-10);
  assert_int_equal(rpinn_hessian_spectrum(context, &logarithm, minimum, minus, NULL, &asymmetry), RPINN_OK);
  check_relative(minus[0], -found[1], 1e-12);
  check_relative(minus[1], -found[0], 1e-9);
  rpinn_context_destroy(context);
}

/* ---- Gauss-Newton ---- */

/* r = B theta - y */
typedef struct Linear {
  size_t M, N;
  double *B, *y;
} Linear;

static RpinnStatus linear_jacobian(void *data, const double *theta, double *rows, double *jacobian) {
  const Linear *linear = data;
  for (size_t i = 0; i < linear->M; i++) {
    rows[i] = -linear->y[i];
    for (size_t j = 0; j < linear->N; j++) rows[i] += linear->B[i * linear->N + j] * theta[j];
  }
  if (jacobian) memcpy(jacobian, linear->B, linear->M * linear->N * sizeof(double));
  return RPINN_OK;
}

static RpinnStatus linear_residuals(void *data, const double *theta, double *rows) {
  return linear_jacobian(data, theta, rows, NULL);
}

/* For a linear model both spectra are the same: by rows, by parameters, with one prior, several and none. */
static void gauss_newton_of_a_linear_model(void **state) {
  (void)state;
  enum { MOST = 12 };
  double B[MOST * MOST], y[MOST], theta[MOST], roots[MOST], found[MOST], expected[MOST], asymmetry;
  RpinnContext *context = rpinn_context_create();
  RpinnStream stream = rpinn_stream(10, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, MOST * MOST, B);
  rpinn_stream_normals(&stream, MOST, y);
  rpinn_stream_normals(&stream, MOST, theta);
  static const size_t sizes[][2] = {{5, 12}, {12, 5}, {8, 8}};
  for (size_t k = 0; k < 3; k++)
    for (int prior = 0; prior < 3; prior++) {
      Linear linear = {sizes[k][0], sizes[k][1], B, y};
      for (size_t j = 0; j < linear.N; j++) roots[j] = prior == 1 ? 0.7 : 0.5 + 0.1 * (double)j;
      RpinnLeastSquares problem = {.num_parameters = linear.N,
                                   .num_rows = linear.M,
                                   .data = &linear,
                                   .residuals = linear_residuals,
                                   .jacobian = linear_jacobian,
                                   .prior_root = prior ? roots : NULL};
      RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, NULL);
      RpinnObjective objective = rpinn_energy_objective(energy);
      assert_int_equal(rpinn_gauss_newton_spectrum(context, &problem, theta, found), RPINN_OK);
      assert_int_equal(rpinn_hessian_spectrum(context, &objective, theta, expected, NULL, &asymmetry),
                       RPINN_OK);
      for (size_t j = 0; j < linear.N; j++) check_close(found[j], expected[j], 1e-11);
      if (prior == 1 && linear.M < linear.N) assert_true(found[0] == 0.7 * 0.7);
      rpinn_energy_objective_destroy(energy);
    }
  rpinn_context_destroy(context);
}

/* ---- the leading part ---- */

static void leading_part(void **state) {
  (void)state;
  enum { N = 300, LEADING = 8 };
  double d[N], x[N], all[N], leading[LEADING], asymmetry, *vectors = calloc(LEADING * N, sizeof *vectors);
  RpinnContext *context = rpinn_context_create();
  for (size_t i = 0; i < N; i++) {
    d[i] = (i % 2 ? 1 : -1) * 100 / (1 + (double)i); /* both signs */
    x[i] = cos((double)i);
  }
  Model model = make_model(N, d, 0.5);
  RpinnObjective objective = model_objective(&model);
  RpinnStatus status = rpinn_hessian_leading(context, &objective, x, LEADING, leading, vectors);
  if (!rpinn_leading_spectrum_available()) {
    assert_int_equal(status, RPINN_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rpinn_context_error(context)->message, "ARPACK"));
    print_message("  skipped: built without ARPACK\n");
  } else {
    check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
    assert_int_equal(rpinn_hessian_spectrum(context, &objective, x, all, NULL, &asymmetry), RPINN_OK);
    size_t low = 0, high = N;
    for (size_t i = 0; i < LEADING; i++) {
      double expected = fabs(all[low]) > fabs(all[high - 1]) ? all[low++] : all[--high];
      check_true(fabs(leading[i] - expected) <= 1e-7 * fabs(expected),
                 "eigenvalue %zu: %.12g, expected %.12g", i, leading[i], expected);
      for (size_t k = 0; k <= i; k++) { /* orthonormal */
        double dot = 0;
        for (size_t j = 0; j < N; j++) dot += vectors[i * N + j] * vectors[k * N + j];
        check_close(dot, k == i, 1e-12);
      }
    }
    double again[LEADING]; /* the same digits */
    assert_int_equal(rpinn_hessian_leading(context, &objective, x, LEADING, again, NULL), RPINN_OK);
    assert_memory_equal(again, leading, sizeof again);
    assert_int_equal(rpinn_hessian_leading(context, &objective, x, N, all, NULL), RPINN_ERROR_INPUT);
    assert_int_equal(rpinn_hessian_leading(context, &objective, x, 0, all, NULL), RPINN_ERROR_INPUT);
  }
  free(vectors);
  free_model(&model);
  rpinn_context_destroy(context);
}

/* ---- refusals ---- */

static RpinnStatus endless(void *data, const double *x, double *value, double *gradient) {
  (void)x;
  *value = 0;
  for (size_t i = 0; gradient && i < *(size_t *)data; i++) gradient[i] = (double)NAN;
  return RPINN_OK;
}

static RpinnStatus broken(void *data, const double *x, double *value, double *gradient) {
  (void)data, (void)x, (void)value, (void)gradient;
  return RPINN_ERROR_IO;
}

static void refusals(void **state) {
  (void)state;
  size_t n = 3;
  double x[3] = {0}, found[3], asymmetry;
  RpinnContext *context = rpinn_context_create();
  RpinnObjective objective = {.num_parameters = n, .data = &n, .evaluate = endless};
  assert_int_equal(rpinn_hessian_spectrum(context, &objective, x, found, NULL, &asymmetry),
                   RPINN_ERROR_NUMERIC);
  rpinn_context_clear_error(context);
  objective.evaluate = broken;
  assert_int_equal(rpinn_hessian_spectrum(context, &objective, x, found, NULL, &asymmetry), RPINN_ERROR_IO);
  assert_true(rpinn_context_error(context)->message[0]);
  rpinn_context_clear_error(context);
  objective.num_parameters = RPINN_DENSE_SPECTRUM_LIMIT + 1;
  assert_int_equal(rpinn_hessian_spectrum(context, &objective, x, found, NULL, &asymmetry),
                   RPINN_ERROR_UNSUPPORTED);
  assert_non_null(strstr(rpinn_context_error(context)->message, "at most 4000"));
  rpinn_context_destroy(context);
}

/* ---- planes ---- */

static RpinnStatus gaussian(void *data, const double *x, double *value, double *gradient) {
  (void)data, (void)gradient;
  *value = 0;
  for (size_t i = 0; i < 4; i++) *value -= 0.5 * x[i] * x[i] / (double)(i + 1);
  return RPINN_OK;
}

static void plane_through_three_points(void **state) {
  (void)state;
  static const double points[3][4] = {{1, 0, 2, -1}, {3, 1, 0, 0}, {-1, 2, 2, 0}};
  RpinnContext *context = rpinn_context_create();
  RpinnPlane *plane;
  double theta[4], dot = 0;
  assert_int_equal(rpinn_plane_create(context, 4, points[0], points[1], points[2], &plane), RPINN_OK);
  for (size_t k = 0; k < 3; k++) {
    rpinn_plane_theta(plane, plane->points[k][0], plane->points[k][1], theta);
    for (size_t j = 0; j < 4; j++) check_close(theta[j], points[k][j], 1e-14);
  }
  for (size_t j = 0; j < 4; j++) dot += plane->e1[j] * plane->e2[j];
  check_close(dot, 0, 1e-15);
  assert_true(plane->points[0][0] == 0 && plane->points[0][1] == 0 && plane->points[1][1] == 0);
  assert_true(plane->points[2][1] > 0);
  RpinnPlaneGrid grid = rpinn_plane_cover(plane, 0.25, 5, 3);
  check_relative(grid.x_high - grid.x_low, 1.5 * (plane->points[1][0] - plane->points[2][0]),
                 1e-14); /* c lies left of a */
  check_relative(grid.y_low, -0.25 * plane->points[2][1], 1e-14);
  assert_true(rpinn_plane_grid_x(&grid, 0) == grid.x_low && rpinn_plane_grid_x(&grid, 4) == grid.x_high);
  RpinnLogDensity density = {.num_parameters = 4, .evaluate = gaussian};
  double values[15], expected;
  assert_int_equal(rpinn_plane_evaluate(plane, &density, &grid, values), RPINN_OK);
  rpinn_plane_theta(plane, rpinn_plane_grid_x(&grid, 3), rpinn_plane_grid_y(&grid, 1), theta);
  gaussian(NULL, theta, &expected, NULL);
  assert_true(values[1 * 5 + 3] == expected);
  rpinn_plane_destroy(plane);
  rpinn_context_destroy(context);
}

static void no_plane(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnPlane *plane;
  double a[3] = {1, 2, 3}, b[3] = {2, 4, 6}, c[3] = {3, 6, 9}, bad[3] = {0, (double)NAN, 0};
  assert_int_equal(rpinn_plane_create(context, 3, a, b, c, &plane), RPINN_ERROR_INPUT);
  assert_null(plane);
  assert_non_null(strstr(rpinn_context_error(context)->message, "lie on a line"));
  assert_int_equal(rpinn_plane_create(context, 3, a, a, c, &plane), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "first and the second point are the same"));
  assert_int_equal(rpinn_plane_create(context, 3, a, b, a, &plane), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_plane_create(context, 3, a, b, b, &plane), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_plane_create(context, 3, a, b, bad, &plane), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "not finite"));
  c[0] += 1e-3; /* nearly on a line is still a plane, with orthogonal directions */
  assert_int_equal(rpinn_plane_create(context, 3, a, b, c, &plane), RPINN_OK);
  check_close(plane->e1[0] * plane->e2[0] + plane->e1[1] * plane->e2[1] + plane->e1[2] * plane->e2[2], 0,
              1e-15);
  rpinn_plane_destroy(plane);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products),
                                     cmocka_unit_test(products_of_a_network),
                                     cmocka_unit_test(known_spectrum),
                                     cmocka_unit_test(rosenbrock_at_its_minimum),
                                     cmocka_unit_test(gauss_newton_of_a_linear_model),
                                     cmocka_unit_test(leading_part),
                                     cmocka_unit_test(refusals),
                                     cmocka_unit_test(plane_through_three_points),
                                     cmocka_unit_test(no_plane)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
