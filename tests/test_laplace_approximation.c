/* Laplace's approximation of a user's least squares against a Gaussian by hand, with fewer parameters than rows and with more. */
#include "check.h"

#include "rpinn/laplace.h"
#include "rpinn/pareto.h"

/* r_i = (sum_j A_ij t_j - y_i), t_j ~ N(mu_j, s_j). The joint covariance of (y, t) tells all. */
enum { MOST = 4 };
static const double A[MOST][MOST] = {
    {1, 0.5, -0.2, 0.3}, {0.4, 2, 0.1, -1}, {-1, 0.3, 0.7, 0.2}, {0.6, -0.4, 1.5, 0.9}};
static const double y[MOST] = {0.4, -1.2, 2.1, 0.3};
static const double roots[MOST] = {1, 0.5, 2, 0.8}, means[MOST] = {0.2, -0.1, 0, 0.5};

typedef struct Linear {
  size_t M, N;
} Linear;

static RpinnStatus jacobian(void *data, const double *t, double *rows, double *J) {
  const Linear *linear = data;
  for (size_t i = 0; i < linear->M; i++) {
    rows[i] = -y[i];
    for (size_t j = 0; j < linear->N; j++) {
      rows[i] += A[i][j] * t[j];
      if (J) J[i * linear->N + j] = A[i][j];
    }
  }
  return RPINN_OK;
}

static RpinnStatus residuals(void *data, const double *t, double *rows) {
  return jacobian(data, t, rows, NULL);
}

/* The inverse of a small matrix, and its determinant, by elimination. */
static double invert(size_t n, double *matrix, double *inverse) {
  double determinant = 1;
  for (size_t i = 0; i < n * n; i++) inverse[i] = i % (n + 1) == 0;
  for (size_t k = 0; k < n; k++) {
    double pivot = matrix[k * n + k];
    determinant *= pivot;
    for (size_t j = 0; j < n; j++) matrix[k * n + j] /= pivot, inverse[k * n + j] /= pivot;
    for (size_t i = 0; i < n; i++) {
      double factor = matrix[i * n + k];
      for (size_t j = 0; i != k && j < n; j++) {
        matrix[i * n + j] -= factor * matrix[k * n + j];
        inverse[i * n + j] -= factor * inverse[k * n + j];
      }
    }
  }
  return determinant;
}

/* H = P^2 + A^T A, its inverse and the mean of the posterior. */
static void solve(const Linear *linear, double *covariance, double *mean) {
  double H[MOST * MOST] = {0}, g[MOST];
  size_t M = linear->M, N = linear->N;
  for (size_t j = 0; j < N; j++) {
    g[j] = roots[j] * roots[j] * means[j];
    H[j * N + j] = roots[j] * roots[j];
    for (size_t i = 0; i < M; i++) g[j] += A[i][j] * y[i];
    for (size_t k = 0; k < N; k++)
      for (size_t i = 0; i < M; i++) H[j * N + k] += A[i][j] * A[i][k];
  }
  invert(N, H, covariance);
  for (size_t j = 0; j < N; j++) {
    mean[j] = 0;
    for (size_t k = 0; k < N; k++) mean[j] += covariance[j * N + k] * g[k];
  }
}

/* log N(y_chosen; A mu, I + A S A^T) of the rows that are chosen. */
static double log_evidence(const Linear *linear, size_t count, const size_t *chosen) {
  double C[MOST * MOST], inverse[MOST * MOST], off[MOST], sum = 0;
  for (size_t a = 0; a < count; a++) {
    off[a] = y[chosen[a]];
    for (size_t j = 0; j < linear->N; j++) off[a] -= A[chosen[a]][j] * means[j];
    for (size_t b = 0; b < count; b++) {
      C[a * count + b] = a == b;
      for (size_t j = 0; j < linear->N; j++)
        C[a * count + b] += A[chosen[a]][j] * A[chosen[b]][j] / (roots[j] * roots[j]);
    }
  }
  double determinant = invert(count, C, inverse);
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b < count; b++) sum += off[a] * inverse[a * count + b] * off[b];
  return -0.5 * sum - 0.5 * log(determinant) - 0.5 * (double)count * log(2 * acos(-1));
}

static void check_linear(Linear linear) {
  RpinnContext *context = rpinn_context_create();
  RpinnLeastSquares problem = {.num_parameters = linear.N,
                               .num_rows = linear.M,
                               .prior_root = roots,
                               .prior_mean = means,
                               .data = &linear,
                               .residuals = residuals,
                               .jacobian = jacobian};
  const double anywhere[MOST] = {3, -2, 1, 0.5};
  double covariance[MOST * MOST], mean[MOST], found[MOST * MOST], unit[MOST * MOST] = {0};
  const size_t all[MOST] = {0, 1, 2, 3};
  RpinnLaplace *laplace;
  size_t N = linear.N;
  solve(&linear, covariance, mean);
  /* exact from any point where the rows are linear */
  assert_int_equal(rpinn_laplace_create(context, &problem, anywhere, &laplace), RPINN_OK);
  RpinnLaplaceSummary summary = rpinn_laplace_summary(laplace);
  check_relative(summary.log_evidence, log_evidence(&linear, linear.M, all), 1e-12);
  assert_true(summary.energy > summary.linear_energy);
  double rows[MOST], energy = 0;
  residuals(&linear, anywhere, rows);
  for (size_t i = 0; i < linear.M; i++) energy += 0.5 * rows[i] * rows[i];
  for (size_t j = 0; j < N; j++) energy += 0.5 * pow(roots[j] * (anywhere[j] - means[j]), 2);
  check_relative(summary.energy, energy, 1e-13);
  double left_out = 0;
  for (size_t i = 0; i < linear.M; i++) {
    size_t others[MOST], count = 0;
    for (size_t k = 0; k < linear.M; k++)
      if (k != i) others[count++] = k;
    double expected = log_evidence(&linear, linear.M, all) - log_evidence(&linear, count, others);
    check_relative(rpinn_laplace_leave_out(laplace, i).log_density, expected, 1e-11);
    left_out += expected;
  }
  check_relative(summary.leave_one_out, left_out, 1e-11);
  assert_int_equal(rpinn_laplace_mean(context, laplace, found), RPINN_OK);
  for (size_t j = 0; j < N; j++) check_close(found[j], mean[j], 1e-12);
  for (size_t j = 0; j < N; j++) unit[j * N + j] = 1;
  assert_int_equal(rpinn_laplace_covariance(context, laplace, N, unit, found), RPINN_OK);
  for (size_t k = 0; k < N * N; k++) check_close(found[k], covariance[k], 1e-12);
  const double sum[MOST] = {1, 2, -1, 0.5};
  double variance, expected = 0;
  assert_int_equal(rpinn_laplace_covariance(context, laplace, 1, sum, &variance), RPINN_OK);
  for (size_t j = 0; j < N; j++)
    for (size_t k = 0; k < N; k++) expected += sum[j] * covariance[j * N + k] * sum[k];
  check_relative(variance, expected, 1e-11);
  rpinn_laplace_destroy(laplace);
  /* at the minimum both energies are one */
  assert_int_equal(rpinn_laplace_create(context, &problem, mean, &laplace), RPINN_OK);
  summary = rpinn_laplace_summary(laplace);
  check_relative(summary.energy, summary.linear_energy, 1e-12);
  /* draws, all of one weight */
  enum { DRAWS = 20000 };
  RpinnDraws *draws;
  assert_int_equal(rpinn_laplace_sample(context, laplace, 8, DRAWS, NULL, &draws), RPINN_OK);
  assert_int_equal(rpinn_draws_count(draws), DRAWS);
  double averages[MOST] = {0}, squares[MOST * MOST] = {0};
  for (size_t i = 0; i < DRAWS; i++) {
    RpinnDraw draw = rpinn_draws_get(draws, i);
    check_close(draw.statistics[rpinn_draws_statistic(draws, "log_weight")], 0, 1e-10);
    for (size_t j = 0; j < N; j++) {
      averages[j] += draw.parameters[j] / DRAWS;
      for (size_t k = 0; k < N; k++)
        squares[j * N + k] += (draw.parameters[j] - mean[j]) * (draw.parameters[k] - mean[k]) / DRAWS;
    }
  }
  for (size_t j = 0; j < N; j++) {
    check_close(averages[j], mean[j], 4 * sqrt(covariance[j * N + j] / DRAWS));
    for (size_t k = 0; k < N; k++)
      check_close(squares[j * N + k], covariance[j * N + k],
                  4 * sqrt(2 * covariance[j * N + j] * covariance[k * N + k] / DRAWS));
  }
  rpinn_draws_destroy(draws);
  rpinn_laplace_destroy(laplace);
  rpinn_context_destroy(context);
}

static void linear_problems_are_exact(void **state) {
  (void)state;
  check_linear((Linear){.M = 4, .N = 2});
  check_linear((Linear){.M = 2, .N = 4});
  check_linear((Linear){.M = 3, .N = 3});
}

/* t^3 + t, one row: the lp of a draw, and its weight against both densities by hand. */
static RpinnStatus cubic(void *data, const double *t, double *rows, double *J) {
  (void)data;
  rows[0] = t[0] * t[0] * t[0] + t[0] - 1.5;
  J[0] = 3 * t[0] * t[0] + 1;
  return RPINN_OK;
}

static RpinnStatus cubic_rows(void *data, const double *t, double *rows) {
  double J;
  return cubic(data, t, rows, &J);
}

static void draws_have_their_weights(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const double root = 1, at = 0.8;
  RpinnLeastSquares problem = {
      .num_parameters = 1, .num_rows = 1, .prior_root = &root, .residuals = cubic_rows, .jacobian = cubic};
  const char *const name[] = {"t"};
  RpinnLaplace *laplace;
  RpinnDraws *draws;
  assert_int_equal(rpinn_laplace_create(context, &problem, &at, &laplace), RPINN_OK);
  assert_int_equal(rpinn_laplace_sample(context, laplace, 1, 20, name, &draws), RPINN_OK);
  assert_string_equal(rpinn_draws_name(draws, 0), "t");
  for (size_t i = 0; i < 20; i++) {
    RpinnDraw draw = rpinn_draws_get(draws, i);
    double t = draw.parameters[0], row, row_at, J;
    cubic(NULL, &at, &row_at, &J);
    cubic_rows(NULL, &t, &row);
    double energy = 0.5 * row * row + 0.5 * t * t, linear = row_at + J * (t - at);
    check_relative(draw.statistics[0], -energy, 1e-12);
    check_close(draw.statistics[1], 0.5 * linear * linear + 0.5 * t * t - energy, 1e-11);
  }
  rpinn_draws_destroy(draws);
  rpinn_laplace_destroy(laplace);
  rpinn_context_destroy(context);
}

static RpinnStatus not_finite(void *data, const double *t, double *rows, double *J) {
  (void)data;
  rows[0] = log(t[0]);
  J[0] = 1 / t[0];
  return RPINN_OK;
}

static void mistakes_are_named(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const double root[] = {1, 0}, at[] = {-1, 0};
  RpinnLeastSquares problem = {.num_parameters = 2,
                               .num_rows = 1,
                               .prior_root = root,
                               .residuals = cubic_rows,
                               .jacobian = not_finite};
  RpinnLaplace *laplace;
  assert_int_equal(rpinn_laplace_create(context, &problem, at, &laplace), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "the prior root of parameter 1 is 0; expected a positive number: every parameter needs "
                      "a prior");
  problem.num_parameters = 1;
  assert_int_equal(rpinn_laplace_create(context, &problem, at, &laplace), RPINN_ERROR_NUMERIC);
  assert_non_null(
      strstr(rpinn_context_error(context)->message, "not finite where the problem is linearised"));
  problem.jacobian = NULL;
  assert_int_equal(rpinn_laplace_create(context, &problem, at, &laplace), RPINN_ERROR_INPUT);
  assert_null(laplace);
  rpinn_laplace_destroy(NULL);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(linear_problems_are_exact),
                                     cmocka_unit_test(draws_have_their_weights),
                                     cmocka_unit_test(mistakes_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
