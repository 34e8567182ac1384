/* More rows than matrices are made for: products with J against the oracle's J, the same minimiser as with matrices, memory that
 * does not grow with rows times parameters, and a run that says how it was made. */
#include <sys/resource.h>

#include "problem_bench.h"
#include "run_bench.h"

#include "backend.h"
#include "double_target.h"
#include "random_stream.h"
#include "rpinn/optimize.h"

/* An equation at many points, a term whose rows mix theirs, two fields, an unknown, noise that differs by row. */
static const char rows_yaml[] =
    "name: rows\n"
    "coordinates: {x: [0, 1], y: [0, 1]}\n"
    "fields: {u: {network: [6, 5]}, v: {network: [4]}}\n"
    "unknowns: {k: {start: 1.5, transform: log, prior: {mean: 0, std: 1}}}\n"
    "truth: {u: \"sin(3*x)*y\", v: \"x + y\", k: 2}\n"
    "terms:\n"
    "  law: {expect: \"k*(d(u, x, x) + d(u, y, y)) - v*u\", at: {latin_hypercube: 3001}, data: 0, noise: "
    "0.3}\n"
    "  smooth: {gaussian: {field: v, covariance: exponential, length: 0.7, mean: 1, variance: 2}, at: {grid: "
    "[5, 5]}}\n"
    "  level: {expect: u, at: {grid: [7, 5]}, data: truth, noise: \"0.1*(1 + x)\"}\n"
    "predict: {grid: [3, 3], quantities: [u, v]}\n"
    "settings: {likelihood: noise, prior_scale: 1, prior_shape: iid, scale_fields: no, seed: 2}\n";

static void products_are_those_of_the_oracle(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(rows_yaml, NULL);
  bench_build(&bench);
  const RpinnEnergyModel *model = &bench.posterior->model;
  size_t M = model->num_rows, N = model->num_parameters;
  check_true(M > RPINN_MAX_DENSE_ROWS, "%zu rows", M);
  double *J = calloc(M * N, sizeof *J), *vectors = calloc(4 * (M + N), sizeof *vectors);
  assert_true(J && vectors);
  double *theta = vectors, *v = theta + N, *w = v + N, *rows = w + M, *product = rows + M,
         *transposed = product + M;
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, N, theta);
  rpinn_stream_normals(&stream, N, v);
  rpinn_stream_normals(&stream, M, w);
  bench_require(&bench, rpinn_posterior_residuals(bench.context, bench.posterior, theta, rows, J),
                "the oracle");
  RpinnDoubleTarget target;
  bench_require(&bench, rpinn_double_target_open(bench.context, bench.posterior, &target), "cpu");
  const RpinnLeastSquares *squares = &target.squares;
  assert_int_equal(squares->jacobian_times(squares->data, theta, v, product), RPINN_OK);
  assert_int_equal(squares->transposed_times(squares->data, theta, w, transposed), RPINN_OK);
  double largest = 0, off = 0, transposed_off = 0, transposed_largest = 0;
  for (size_t i = 0; i < M; i++) {
    double expected = 0;
    for (size_t j = 0; j < N; j++) expected += J[i * N + j] * v[j];
    largest = fmax(largest, fabs(expected));
    off = fmax(off, fabs(expected - product[i]));
  }
  for (size_t j = 0; j < N; j++) {
    double expected = 0;
    for (size_t i = 0; i < M; i++) expected += J[i * N + j] * w[i];
    transposed_largest = fmax(transposed_largest, fabs(expected));
    transposed_off = fmax(transposed_off, fabs(expected - transposed[j]));
  }
  check_true(largest > 1 && off < 1e-11 * largest, "J v is off by %g of %g", off, largest);
  check_true(transposed_off < 1e-11 * transposed_largest, "J^T w is off by %g of %g", transposed_off,
             transposed_largest);
  rpinn_double_target_close(&target);
  free(J);
  free(vectors);
  bench_close(&bench);
}

/* The lowest point from the same start, with matrices and without; the energy there. */
static double minimise(const RpinnLeastSquares *squares, size_t max_dense_rows, double *theta) {
  RpinnContext *context = rpinn_context_create();
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizer;
  options.max_dense_rows = max_dense_rows;
  options.stop = (RpinnStopRule){.max_iterations = 4000, .gradient_tolerance = 1e-6};
  assert_int_equal(rpinn_levenberg_marquardt_create(context, squares, NULL, &options, &optimizer), RPINN_OK);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, theta), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  double loss = optimum.loss;
  memcpy(theta, optimum.theta, squares->num_parameters * sizeof *theta);
  rpinn_optimizer_destroy(optimizer);
  rpinn_context_destroy(context);
  return loss;
}

static const char middle_yaml[] =
    "name: middle\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [8, 8]}}\n"
    "unknowns: {k: {start: 1, prior: {mean: 1, std: 0.5}}}\n"
    "truth: {u: sin(2*x), k: 1.4}\n"
    "terms:\n"
    "  law: {expect: \"k*d(u, x, x) + 4*u\", at: {grid: POINTS}, data: 0, noise: 0.5}\n"
    "  level: {expect: u, at: {grid: 20}, data: truth, noise: 0.1}\n"
    "predict: {grid: 5, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 0.5, prior_shape: iid, scale_fields: no, seed: 3}\n"
    "constants: {POINTS: 400}\n";

static void the_minimiser_is_the_same(void **state) {
  (void)state;
  for (int fewer = 0; fewer < 2; fewer++) { /* more rows than parameters, and fewer */
    RpinnOverride points = {"POINTS", "40", "test", false};
    RpinnProblemOptions options = {.overrides = &points, .num_overrides = (size_t)fewer};
    ProblemBench bench = bench_parse(middle_yaml, &options);
    bench_build(&bench);
    RpinnDoubleTarget target;
    bench_require(&bench, rpinn_double_target_open(bench.context, bench.posterior, &target), "cpu");
    size_t N = target.squares.num_parameters, M = target.squares.num_rows;
    assert_true(fewer ? M < N : M > N);
    double *dense = calloc(2 * N, sizeof *dense), *free_of_matrices = dense + N;
    assert_non_null(dense);
    RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 1, 0);
    rpinn_stream_normals(&stream, N, dense);
    for (size_t j = 0; j < N; j++) dense[j] *= 0.5;
    /* from near the minimiser, so that both seek the same one */
    double first = minimise(&target.squares, 3000, dense);
    for (size_t j = 0; j < N; j++) free_of_matrices[j] = dense[j] + 1e-2 * (j % 2 ? 1 : -1);
    double second = minimise(&target.squares, 1, free_of_matrices);
    check_close(second, first, 1e-9);
    for (size_t j = 0; j < N; j++)
      check_true(fabs(free_of_matrices[j] - dense[j]) < 1e-4, "parameter %zu: %g, with matrices %g", j,
                 free_of_matrices[j], dense[j]);
    free(dense);
    rpinn_double_target_close(&target);
    bench_close(&bench);
  }
}

/* 5,000 rows in 2,751 parameters: J has 110 MB in double, J J^T 200 MB. */
static void a_run_is_made_in_little_memory(void **state) {
  RunBench *bench = *state;
  static const char yaml[] =
      "name: large\n"
      "coordinates: {x: [-1, 1]}\n"
      "fields: {u: {network: [50, 50]}}\n"
      "truth: {u: sin(2*x)}\n"
      "terms:\n"
      "  law: {expect: \"d(u, x, x) + 4*u\", at: {grid: 4980}, data: 0, noise: 0.5}\n"
      "  level: {expect: u, at: {grid: 20}, data: truth, noise: 0.1}\n"
      "predict: {grid: 11, quantities: [u]}\n"
      "settings: {likelihood: noise, prior_scale: 0.3, prior_shape: iid, scale_fields: no}\n";
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const RpinnJsonValue *summary =
      run_make(bench, "large", yaml,
               "method=rpinn samples=1 optimizer=lm iterations=12 start=glorot threads=1 seed=1");
  getrusage(RUSAGE_SELF, &after);
  long grown = after.ru_maxrss - before.ru_maxrss; /* kB */
  check_true(grown < 60000, "the run took %ld kB", grown);
  const RpinnJsonValue *members = rpinn_json_find(summary, "members");
  assert_true(rpinn_json_find(members, "matrix_free")->boolean);
  check_true(json_number(summary, "members/loss_median") < 8000, "the loss is still %g",
             json_number(summary, "members/loss_median"));
  const RpinnJsonValue *small =
      run_make(bench, "small", middle_yaml, "method=rpinn samples=1 optimizer=lm iterations=2 start=glorot");
  assert_false(rpinn_json_find(rpinn_json_find(small, "members"), "matrix_free")->boolean);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_those_of_the_oracle),
                                     cmocka_unit_test(the_minimiser_is_the_same),
                                     test_in_folder(a_run_is_made_in_little_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
