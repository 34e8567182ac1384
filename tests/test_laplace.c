/* Method laplace: on a model that is linear in its parameters against the closed form; linearised rows
 * against the Jacobian of the oracle; quantities computed from linearised fields; and the same bytes however it was run. */
#include "linear_model.h"
#include "problem_bench.h"
#include "run_bench.h"

#include "linear_fields.h"
#include "run_record.h"

/* The most probable point and the evidence to rounding, the bands within the error of 400 draws. */
static void a_linear_model_is_exact(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  const RpinnJsonValue *summary = run_make(bench, "run", linear_yaml, "");
  run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, "run", NULL), &run));
  Closed closed = closed_form(run->posteriors[0]);
  for (size_t j = 0; j < N; j++) check_close(run->laplace.at[j], closed.mean[j], 1e-8);
  check_relative(json_number(summary, "laplace/energy"), closed.energy, 1e-10);
  check_relative(json_number(summary, "laplace/linear_energy"), closed.energy, 1e-10);
  check_relative(json_number(summary, "laplace/log_evidence"), closed.log_evidence, 1e-10);
  check_close(json_number(summary, "laplace/starts"), 8, 0);
  check_close(json_number(summary, "laplace/starts_at_minimum"), 8, 0);
  check_close(json_number(summary, "members/converged"), 400, 0);
  check_true(json_number(summary, "members/gradient_norm_median") < 1e-9, "draws minimise their energies");
  for (size_t p = 0; p < POINTS; p++) {
    double mean = 0, variance = 0;
    for (size_t j = 0; j < N; j++) {
      mean += closed.B[p][j] * closed.mean[j];
      for (size_t k = 0; k < N; k++) variance += closed.B[p][j] * closed.covariance[j][k] * closed.B[p][k];
    }
    check_close(run->results.mean[p], mean, 4 * sqrt(variance / 400));
    check_relative(run->results.deviation[p], sqrt(variance), 4 / sqrt(2 * 400.0));
  }
  rpinn_run_destroy(run);
}

/* log p(d_i | the others) = log p(d) - log p(d without i). */
static void rows_are_left_out(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  const RpinnJsonValue *summary = run_make(bench, "run", linear_yaml, "samples=2");
  run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, "run", NULL), &run));
  Closed closed = closed_form(run->posteriors[0]);
  double sum = 0;
  for (size_t i = 0; i < 4; i++) { /* level is measured, curve a tolerance */
    double H[N][N] = {{0}}, covariance[N][N], slope[N] = {0}, expected = closed.r0[i], variance = 1;
    for (size_t j = 0; j < N; j++) {
      H[j][j] = 1 / 2.25;
      for (size_t r = 0; r < M; r++) {
        if (r == i) continue;
        slope[j] -= closed.A[r][j] * closed.r0[r];
        for (size_t k = 0; k < N; k++) H[j][k] += closed.A[r][j] * closed.A[r][k];
      }
    }
    invert(H, covariance);
    for (size_t j = 0; j < N; j++)
      for (size_t k = 0; k < N; k++) {
        expected += closed.A[i][j] * covariance[j][k] * slope[k];
        variance += closed.A[i][j] * covariance[j][k] * closed.A[i][k];
      }
    sum += -0.5 * expected * expected / variance - 0.5 * log(variance) - 0.91893853320467274178 - log(0.1);
  }
  check_relative(json_number(summary, "laplace/leave_one_out"), sum, 1e-9);
  rpinn_run_destroy(run);
}

/* On a linear model the draws are the members of rPINN, which has the same data and the same noise. */
static void linear_draws_are_rpinn_members(void **state) {
  RunBench *bench = *state;
  run_make(bench, "laplace", linear_yaml, "samples=39");
  run_make(bench, "rpinn", linear_yaml,
           "samples=39 method=rpinn optimizer=lm iterations=200 gradient_tolerance=1e-9 progress_amount=0");
  const RpinnCsvTable *one = run_csv(bench, "laplace", "predictions.csv"),
                      *other = run_csv(bench, "rpinn", "predictions.csv");
  for (size_t p = 0; p < POINTS; p++) {
    check_close(csv_number(one, p, "u_mean"), csv_number(other, p, "u_mean"), 1e-6);
    check_close(csv_number(one, p, "u_q975"), csv_number(other, p, "u_q975"), 1e-6);
  }
}

/* ---- linearised fields ---- */

static const char bent_yaml[] =
    "name: bent\n"
    "coordinates: {x: [0, 2], t: [0, 1]}\n"
    "fields: {u: {network: [5, 4], activation: ACTIVATION}, v: {network: [3], activation: tanh}}\n"
    "unknowns: {k: {start: 1, transform: log, prior: {mean: 0, std: 1}}}\n"
    "terms:\n"
    "  law: {expect: \"d(u, t) - d(u, x, x) - 0.5*d(u, x, t) + x*v\", at: {sobol: 40}, data: 1, noise: 0.5}\n"
    "  level: {expect: \"u - 2*d(v, t)\", at: {grid: [3, 2]}, data: 0, noise: 0.1}\n"
    "predict: {grid: [3, 2], quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 1, scale_fields: no}\n";

/* Terms that are linear in the channels: rows at theta are r + J (theta - theta*), with the oracle's J. */
static void rows_follow_the_jacobian(void **state) {
  (void)state;
  static const char *const activations[] = {"tanh", "sine", "softplus", "swish"};
  for (size_t k = 0; k < 4; k++) {
    char text[sizeof bent_yaml + 16];
    const char *mark = strstr(bent_yaml, "ACTIVATION");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - bent_yaml), bent_yaml, activations[k],
             mark + strlen("ACTIVATION"));
    ProblemBench bench = bench_parse(text, NULL);
    bench_build(&bench);
    const RpinnEnergyModel *model = &bench.posterior->model;
    size_t rows = model->num_rows, count = model->num_parameters;
    double *at = calloc(2 * count + 2 * rows + rows * count, sizeof *at), *theta = at + count,
           *r = theta + count, *found = r + rows, *J = found + rows;
    RpinnStream stream = rpinn_stream(8, RPINN_PURPOSE_CHECK, k, 0);
    RpinnLinearFields *fields;
    rpinn_stream_normals(&stream, 2 * count, at);
    assert_int_equal(rpinn_posterior_residuals(bench.context, bench.posterior, at, r, J), RPINN_OK);
    assert_int_equal(rpinn_linear_fields_create(bench.context, bench.posterior, at, &fields), RPINN_OK);
    assert_int_equal(rpinn_linear_fields_rows(fields, theta, found), RPINN_OK);
    for (size_t i = 0; i < rows; i++) {
      double expected = r[i];
      for (size_t j = 0; j < count; j++) expected += J[i * count + j] * (theta[j] - at[j]);
      check_close(found[i], expected, 1e-10 * (1 + fabs(expected)));
    }
    rpinn_linear_fields_destroy(fields);
    free(at);
    bench_close(&bench);
  }
}

/* With frozen hidden layers there is nothing to linearise: any theta gives what the model gives. */
static void frozen_networks_are_as_they_are(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(linear_yaml, NULL);
  bench_build(&bench);
  double at[N], theta[N], rows[M], expected[M], values[POINTS], exact[POINTS];
  RpinnStream stream = rpinn_stream(9, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnLinearFields *fields;
  RpinnDrawOutputs outputs;
  rpinn_stream_normals(&stream, N, at);
  rpinn_stream_normals(&stream, N, theta);
  bench_require(&bench, rpinn_draw_outputs_plan(bench.context, bench.posterior, &outputs), "outputs");
  bench_require(&bench, rpinn_linear_fields_create(bench.context, bench.posterior, at, &fields), "fields");
  assert_int_equal(rpinn_linear_fields_rows(fields, theta, rows), RPINN_OK);
  assert_int_equal(rpinn_posterior_residuals(bench.context, bench.posterior, theta, expected, NULL),
                   RPINN_OK);
  for (size_t i = 0; i < M; i++) check_close(rows[i], expected[i], 1e-11 * (1 + fabs(expected[i])));
  assert_int_equal(rpinn_linear_fields_outputs(fields, &outputs, theta, values), RPINN_OK);
  assert_int_equal(rpinn_posterior_predict(bench.context, bench.posterior, theta, exact), RPINN_OK);
  for (size_t p = 0; p < POINTS; p++) check_close(values[p], exact[p], 1e-13 * (1 + fabs(exact[p])));
  rpinn_linear_fields_destroy(fields);
  bench_close(&bench);
}

/* ---- runs ---- */

static const char field_yaml[] = "name: field\n"
                                 "coordinates: {x: [0, 1]}\n"
                                 "fields: {y: {network: [6], activation: tanh}}\n"
                                 "quantities: {k: exp(y), log_k: y}\n"
                                 "truth: {y: 2*x - 1}\n"
                                 "terms: {level: {expect: y, at: {grid: 3}, data: truth, noise: 1}}\n"
                                 "predict: {grid: 45, quantities: [k, log_k]}\n"
                                 "settings: {method: laplace, likelihood: noise, prior_scale: 2, "
                                 "scale_fields: no, seed: 1, samples: 50, threads: 1}\n";

/* exp(y) of every draw is positive, and the exponential of the y beside it. */
static void quantities_come_from_linear_fields(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", field_yaml, "");
  const RpinnCsvTable *table = run_csv(bench, "run", "predictions.csv");
  double widest = 0;
  for (size_t p = 0; p < 45; p++) {
    check_true(csv_number(table, p, "k_q025") > 0, "exp(y) is positive at point %zu", p);
    widest = fmax(widest, csv_number(table, p, "log_k_q975") - csv_number(table, p, "log_k_q025"));
  }
  check_true(widest > 2, "the band of y is %g wide: a linearised exp(y) would pass zero", widest);
  FILE *file = fopen(run_path(bench, "points.csv", NULL), "w");
  assert_non_null(file);
  fputs("x\n0\n0.5\n1\n", file);
  assert_int_equal(fclose(file), 0);
  RpinnPredictOptions options = {.points_file = run_path(bench, "points.csv", NULL), .quantities = "k"};
  char *text = rpinn_run_predict(bench->context, run_path(bench, "run", NULL), &options);
  check_true(text != NULL, "%s", run_message(bench));
  RpinnCsvTable *again;
  run_require(bench, rpinn_csv_parse(bench->context, bench->arena, "points", text, strlen(text), &again));
  for (size_t p = 0; p < 3; p++) /* points 0, 22 and 44 of the grid */
    check_relative(csv_number(again, p, "k_mean"), csv_number(table, 22 * p, "k_mean"), 1e-12);
  free(text);
}

static void check_bytes(const RunBench *bench, const char *one, const char *other) {
  RpinnText a = {0}, b = {0};
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, one, "posterior.nc"), 64, &a));
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, other, "posterior.nc"), 64, &b));
  assert_int_equal(a.length, b.length);
  assert_memory_equal(a.bytes, b.bytes, a.length);
  rpinn_text_free(&a);
  rpinn_text_free(&b);
}

static bool after_some(void *user) {
  int *left = user;
  return (*left)-- <= 0;
}

static void bytes_depend_on_the_settings_alone(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  int left = 12;
  run_make(bench, "one", field_yaml, "threads=1");
  run_make(bench, "three", field_yaml, "threads=3");
  check_bytes(bench, "one", "three");
  run_make(bench, "more", field_yaml, "samples=20");
  run_resume(bench, "more", field_yaml, "samples=50 threads=2");
  check_bytes(bench, "one", "more");
  RpinnRunOptions options = {.interrupted = after_some, .user = &left};
  run_require(bench, run_try(bench, "stopped", field_yaml, "", options, &run));
  assert_true(rpinn_run_interrupted(run));
  rpinn_run_destroy(run);
  run_resume(bench, "stopped", field_yaml, "");
  check_bytes(bench, "one", "stopped");
  const RpinnJsonValue *first = run_json(bench, "one"), *last = run_json(bench, "stopped");
  check_close(json_number(last, "laplace/log_evidence"), json_number(first, "laplace/log_evidence"), 0);
}

static void a_prior_is_needed(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  assert_int_equal(run_try(bench, "run", field_yaml, "prior_scale=inf", (RpinnRunOptions){0}, &run),
                   RPINN_ERROR_INPUT);
  check_true(strstr(run_message(bench), "method laplace needs a prior on every parameter") != NULL, "%s",
             run_message(bench));
  assert_false(run_has(bench, "run", "checkpoint.db"));
}

/* What a person reads. */
static void the_table_tells_of_it(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", linear_yaml, "samples=40");
  char *table = rpinn_run_summary(bench->context, run_path(bench, "run", NULL), false);
  check_true(strstr(table, "40 draws of the linearised posterior in ") != NULL, "%s", table);
  check_true(strstr(table, "linearised at the lowest of 8 minima, loss ") != NULL, "%s", table);
  check_true(strstr(table, "log evidence ") != NULL, "%s", table);
  free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(a_linear_model_is_exact),
                                     test_in_folder(rows_are_left_out),
                                     test_in_folder(linear_draws_are_rpinn_members),
                                     cmocka_unit_test(rows_follow_the_jacobian),
                                     cmocka_unit_test(frozen_networks_are_as_they_are),
                                     test_in_folder(quantities_come_from_linear_fields),
                                     test_in_folder(bytes_depend_on_the_settings_alone),
                                     test_in_folder(a_prior_is_needed),
                                     test_in_folder(the_table_tells_of_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
