/* Terms with a Gaussian prior against dense formulas that share no code with them: covariances as they are defined,
 * inverses by Cholesky's factors, pseudoinverses by Jacobi's rotations. */
#include "problem_folder.h"

#include "problem_bench.h"
#include "temporary_folder.h"

static const double least_eigenvalue = 1e-6; /* what the documentation promises to keep, of the largest */

static double *numbers(size_t count) {
  double *memory = calloc(count + 1, sizeof(double));
  assert_non_null(memory);
  return memory;
}

/* ---- dense algebra ---- */

/* A [n][n], symmetric, to A^+ without the eigenvalues below `least` of the largest; returns how many are kept. */
static size_t pseudoinvert(size_t n, double *A, double least) {
  double *V = numbers(n * n), largest = 0;
  for (size_t i = 0; i < n; i++) V[i * n + i] = 1;
  for (int turn = 0; turn < 60; turn++)
    for (size_t p = 0; p < n; p++)
      for (size_t q = p + 1; q < n; q++) {
        if (A[p * n + q] == 0) continue;
        double angle = 0.5 * atan2(2 * A[p * n + q], A[q * n + q] - A[p * n + p]), c = cos(angle),
               s = sin(angle);
        for (size_t k = 0; k < n; k++) {
          double a = A[k * n + p], b = A[k * n + q], v = V[k * n + p], w = V[k * n + q];
          A[k * n + p] = c * a - s * b;
          A[k * n + q] = s * a + c * b;
          V[k * n + p] = c * v - s * w;
          V[k * n + q] = s * v + c * w;
        }
        for (size_t k = 0; k < n; k++) {
          double a = A[p * n + k], b = A[q * n + k];
          A[p * n + k] = c * a - s * b;
          A[q * n + k] = s * a + c * b;
        }
      }
  size_t kept = 0;
  double *inverse = numbers(n);
  for (size_t k = 0; k < n; k++) largest = fmax(largest, A[k * n + k]);
  for (size_t k = 0; k < n; k++)
    if (A[k * n + k] > least * largest) {
      inverse[k] = 1 / A[k * n + k];
      kept++;
    }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      A[i * n + j] = 0;
      for (size_t k = 0; k < n; k++) A[i * n + j] += V[i * n + k] * inverse[k] * V[j * n + k];
    }
  free(V);
  free(inverse);
  return kept;
}

/* Solve A x = b for symmetric positive definite A by Cholesky's factors; both are overwritten. */
static void solve(size_t n, double *A, double *b) {
  for (size_t j = 0; j < n; j++)
    for (size_t i = j; i < n; i++) {
      double sum = A[i * n + j];
      for (size_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
      if (i == j) check_true(sum > 0, "pivot %zu is %g", j, sum);
      A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
    }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) b[i] -= A[i * n + k] * b[k];
    b[i] /= A[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) b[i] -= A[k * n + i] * b[k];
    b[i] /= A[i * n + i];
  }
}

static double quadratic(size_t n, const double *A, const double *x) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) sum += x[i] * A[i * n + j] * x[j];
  return sum;
}

/* ---- covariances ---- */

static double squared_exponential(const double *a,
                                  const double *b) { /* variance 0.81, length 0.5 in x and in z */
  return 0.81 * exp(-(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2)) / 0.25);
}

static double matern32_factor(double distance, double length) {
  double r = sqrt(3) * fabs(distance) / length;
  return (1 + r) * exp(-r);
}

static double matern32(const double *a, const double *b) { /* variance 1, lengths 0.4 and 0.8 */
  return matern32_factor(a[0] - b[0], 0.4) * matern32_factor(a[1] - b[1], 0.8);
}

static double line(const double *a, const double *b) { /* of linear-gaussian.yaml */
  return 0.8 * exp(-pow((a[0] - b[0]) / 0.4, 2));
}

typedef double (*Covariance)(const double *a, const double *b);

static double *make_covariance(Covariance covariance, size_t n, const double *x, size_t dimension) {
  double *C = numbers(n * n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) C[i * n + j] = covariance(x + i * dimension, x + j * dimension);
  return C;
}

/* ---- energies ---- */

static ProblemBench load(const char *name) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/%s", source_folder(), name);
  ProblemBench bench = bench_load(path, NULL);
  bench_build(&bench);
  return bench;
}

/* What the model says at the points of a term. */
static double *values_at(const ProblemBench *bench, size_t term, const double *theta) {
  const RpinnTermModel *model = &bench->posterior->terms[term];
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
  RpinnEvaluation evaluation = {.num_points = model->num_points,
                                .points = model->points,
                                .num_programs = 1,
                                .programs = &model->program};
  double *values = numbers(model->num_points);
  assert_int_equal(
      rpinn_backend_evaluate(bench->context, bench->posterior->backend, &batch, &evaluation, &values),
      RPINN_OK);
  return values;
}

/* The part of the energy that is the term's, at a start, against 1/2 (y - m)^T inverse (y - m). */
static void check_energy(const ProblemBench *bench, const char *name, const double *mean,
                         const double *inverse) {
  size_t term = bench_term(bench, name), N = rpinn_posterior_num_parameters(bench->posterior);
  size_t n = bench->posterior->terms[term].num_points; /* all terms of these files are fitted */
  double *theta = numbers(N), *parts = numbers(bench->problem->num_terms + 1), energy;
  rpinn_posterior_start_glorot(bench->posterior, 3, theta);
  double *y = values_at(bench, term, theta);
  for (size_t p = 0; p < n; p++) y[p] -= mean[p];
  assert_int_equal(
      rpinn_posterior_energy(bench->context, bench->posterior, theta, NULL, &energy, NULL, parts), RPINN_OK);
  /* Eigenvalues span a factor 1e6, and their inverses enter: 1e-16 * 1e6, and room for sums. */
  check_relative(parts[term], 0.5 * quadratic(n, inverse, y), 1e-8);
  print_message("  %s: energy %.10g\n", name, parts[term]);
  free(theta);
  free(parts);
  free(y);
}

/* A smooth covariance, singular to rounding. */
static void energy_of_a_smooth_field(void **state) {
  (void)state;
  ProblemBench bench = load("gaussian-term.yaml");
  const RpinnTermData *data = bench_data(&bench, "y_field");
  size_t n = data->points.count;
  assert_int_equal(n, 72);
  double *C = make_covariance(squared_exponential, n, data->points.x, 2), mean[72];
  for (size_t p = 0; p < n; p++) mean[p] = -3;
  size_t kept = pseudoinvert(n, C, least_eigenvalue);
  assert_int_equal(data->num_rows, kept);
  assert_true(kept > 10 && kept < n);
  check_energy(&bench, "y_field", mean, C);
  free(C);
  bench_close(&bench);
}

/* given: the mean and covariance of the field given measurements, from the joint covariance of both. */
static void energy_of_a_kriged_field(void **state) {
  (void)state;
  static const double places[4][2] = {{0.1, 0.1}, {0.5, 0.4}, {0.9, 0.2}, {1.2, 0.3}};
  static const double values[4] = {-2.8, -2.4, -2.7, -2.5}, deviations[4] = {0.1, 0.2, 0.05, 0.1};
  ProblemBench bench = load("gaussian-term.yaml");
  const RpinnTermData *data = bench_data(&bench, "u_field");
  size_t n = data->points.count;
  double *C = make_covariance(matern32, n, data->points.x, 2), *mean = numbers(n);
  for (size_t p = 0; p < n; p++) {
    double K[16], weights[4]; /* K^-1 k(x_p) */
    for (size_t i = 0; i < 4; i++) {
      weights[i] = matern32(places[i], data->points.x + 2 * p);
      for (size_t j = 0; j < 4; j++)
        K[4 * i + j] = matern32(places[i], places[j]) + (i == j ? deviations[i] * deviations[i] : 0);
    }
    solve(4, K, weights);
    for (size_t i = 0; i < 4; i++) {
      mean[p] += weights[i] * values[i];
      for (size_t q = 0; q < n; q++) C[p * n + q] -= weights[i] * matern32(places[i], data->points.x + 2 * q);
    }
    check_relative(data->values[p], mean[p], 1e-12);
  }
  assert_int_equal(data->num_rows, n); /* a rough field: all directions are kept, C^+ is the inverse */
  double *inverse = numbers(n * n), *copy = numbers(n * n), *column = numbers(n);
  for (size_t p = 0; p < n; p++) {
    memcpy(copy, C, n * n * sizeof *C);
    for (size_t q = 0; q < n; q++) column[q] = q == p;
    solve(n, copy, column);
    for (size_t q = 0; q < n; q++) inverse[q * n + p] = column[q];
  }
  check_energy(&bench, "u_field", mean, inverse);
  double *rest[] = {C, mean, inverse, copy, column};
  for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) free(rest[i]);
  bench_close(&bench);
}

/* ---- the closed form ---- */

/* y(x) = phi(x)^T theta: precision A and right side b of the normal posterior, from data and prior as formulas. */
static void dense_posterior(const ProblemBench *bench, double *A, double *b) {
  size_t N = rpinn_posterior_num_parameters(bench->posterior),
         n = rpinn_posterior_num_predictions(bench->posterior);
  const RpinnTermData *prior = bench_data(bench, "y_field"), *data = bench_data(bench, "y");
  double *phi = numbers(N * n), *theta = numbers(N); /* [N][n] */
  double *inverse = make_covariance(line, n, prior->points.x, 1);
  size_t kept = pseudoinvert(n, inverse, least_eigenvalue);
  assert_true(kept < n && kept == prior->num_rows);
  for (size_t a = 0; a < N; a++) {
    theta[a] = 1;
    assert_int_equal(rpinn_posterior_predict(bench->context, bench->posterior, theta, phi + a * n), RPINN_OK);
    theta[a] = 0;
  }
  for (size_t a = 0; a < N; a++) {
    A[a * N + a] += 1 / 9.0; /* prior_scale 3 */
    for (size_t i = 0; i < data->points.count; i++) {
      size_t p = (size_t)lround(10 * data->points.x[i]);
      b[a] += phi[a * n + p] * data->values[i] / 0.01;
      for (size_t c = 0; c < N; c++) A[a * N + c] += phi[a * n + p] * phi[c * n + p] / 0.01;
    }
    for (size_t p = 0; p < n; p++)
      for (size_t q = 0; q < n; q++) {
        b[a] += phi[a * n + p] * inverse[p * n + q] * -1; /* the mean */
        for (size_t c = 0; c < N; c++) A[a * N + c] += phi[a * n + p] * inverse[p * n + q] * phi[c * n + q];
      }
  }
  free(phi);
  free(theta);
  free(inverse);
}

/* A quadratic energy is a normal law: its gradient vanishes at the mean, and everywhere else it is precision times the
 * distance from there. With offsets xi the gradient at the mean is -J^T xi - xi_p/s_p, whose covariance for
 * xi ~ N(0, I) is the precision again: what makes minimisers of perturbed energies draws; test_run.c draws them. */
static void posterior_is_the_closed_form(void **state) {
  (void)state;
  ProblemBench bench = load("linear-gaussian.yaml");
  size_t N = rpinn_posterior_num_parameters(bench.posterior), M = rpinn_posterior_num_rows(bench.posterior);
  double *A = numbers(N * N), *mean = numbers(N), *copy = numbers(N * N), *gradient = numbers(N),
         *theta = numbers(N), *J = numbers(M * N), *rows = numbers(M), energy, scale = 0;
  RpinnBackend *cpu;
  dense_posterior(&bench, A, mean);
  for (size_t a = 0; a < N; a++) scale = fmax(scale, fabs(mean[a])); /* of the gradient at theta = 0 */
  memcpy(copy, A, N * N * sizeof *A);
  solve(N, copy, mean);
  bench_require(
      &bench, rpinn_cpu_backend.create(bench.context, &bench.posterior->model, RPINN_PRECISION_DOUBLE, &cpu),
      "cpu");
  RpinnBackend *backends[] = {bench.posterior->backend, cpu};
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
  for (int k = 0; k < 2; k++) {
    RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
    memcpy(theta, mean, N * sizeof *theta);
    assert_int_equal(rpinn_backend_energies(bench.context, backends[k], &batch, &energy, &gradient, NULL),
                     RPINN_OK);
    for (size_t a = 0; a < N; a++)
      check_true(fabs(gradient[a]) <= 1e-8 * scale, "gradient %g at the mean, up to %g elsewhere",
                 gradient[a], scale);
    rpinn_stream_normals(&stream, N, copy);
    for (size_t a = 0; a < N; a++) theta[a] = mean[a] + copy[a];
    assert_int_equal(rpinn_backend_energies(bench.context, backends[k], &batch, &energy, &gradient, NULL),
                     RPINN_OK);
    assert_int_equal(rpinn_backend_residuals(bench.context, backends[k], &batch, &rows, &J), RPINN_OK);
    for (size_t a = 0; a < N; a++) {
      double expected = 0, size = 0;
      for (size_t c = 0; c < N; c++) {
        double product = a == c ? 1 / 9.0 : 0;
        expected += A[a * N + c] * copy[c];
        size += fabs(A[a * N + c] * copy[c]);
        for (size_t i = 0; i < M; i++) product += J[i * N + a] * J[i * N + c];
        check_true(fabs(product - A[a * N + c]) <= 1e-8 * sqrt(A[a * N + a] * A[c * N + c]),
                   "J^T J + P^2 is %.12g at %zu, %zu; expected %.12g", product, a, c, A[a * N + c]);
      }
      check_true(fabs(gradient[a] - expected) <= 1e-8 * size, "gradient %.12g, expected %.12g", gradient[a],
                 expected);
    }
  }
  rpinn_backend_destroy(cpu);
  double *rest[] = {A, mean, copy, gradient, theta, J, rows};
  for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) free(rest[i]);
  bench_close(&bench);
}

/* ---- what it is and is not ---- */

/* s = 1 under every likelihood, no weight, and the data keep what they have without the term. */
static void rows_are_white(void **state) {
  (void)state;
  static const char *const likelihoods[] = {"paper", "noise", "uniform"};
  for (size_t k = 0; k < 3; k++) {
    char path[PATH_SIZE];
    RpinnOverride overrides[] = {{"likelihood", likelihoods[k], "test", true}};
    RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
    snprintf(path, sizeof path, "%s/tests/problems/gaussian-term.yaml", source_folder());
    ProblemBench bench = bench_load(path, &options);
    bench_build(&bench);
    size_t t = bench_term(&bench, "y_field");
    assert_true(bench.posterior->sigmas.terms[t] == 1 && isnan(bench.posterior->sigmas.weights[t]));
    check_relative(bench.posterior->sigmas.terms[bench_term(&bench, "logs")], 0.05, 1e-14);
    bench_close(&bench);
  }
}

/* --data brings the data of all others and leaves the prior where it is. */
static void data_from_one_file(void **state) {
  (void)state;
  char path[PATH_SIZE];
  ProblemBench bench = load("linear-gaussian.yaml");
  FILE *file = fopen("gaussian_term_data.csv", "wb");
  assert_non_null(file);
  fputs("term,x,value\ny,0.2,-1\ny,0.7,-2\n", file);
  assert_int_equal(fclose(file), 0);
  snprintf(path, sizeof path, "%s/tests/problems/linear-gaussian.yaml", source_folder());
  ProblemBench other = bench_load(path, &(RpinnProblemOptions){.data_file = "gaussian_term_data.csv"});
  bench_build(&other);
  const RpinnTermData *own = bench_data(&bench, "y_field"), *kept = bench_data(&other, "y_field");
  assert_int_equal(bench_data(&other, "y")->points.count, 2);
  assert_int_equal(kept->num_rows, own->num_rows);
  assert_memory_equal(kept->mix, own->mix, own->num_rows * own->points.count * sizeof(double));
  bench_close(&bench);
  bench_close(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(energy_of_a_smooth_field),
                                     cmocka_unit_test(energy_of_a_kriged_field),
                                     cmocka_unit_test(posterior_is_the_closed_form),
                                     cmocka_unit_test(rows_are_white), cmocka_unit_test(data_from_one_file)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
