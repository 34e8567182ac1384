/* Noise that differs by row, by an expression or by a column: in the energy of each backend, in synthetic data, in the rows
 * of a run's files, and in what a run directory says of itself. Expected numbers are made by hand. */
#include "posterior_numbers.h"
#include "problem_bench.h"

#include "run_record.h"

/* u is an unknown slope times x: R = a x, so that every row is known without a network's help. */
static const char line_yaml[] = "name: line\n"
                                "coordinates: {x: [0, 2]}\n"
                                "constants: {s: 0.1}\n"
                                "fields: {u: {network: [2]}}\n"
                                "unknowns: {a: {start: 1, prior: {mean: 0, std: 10}}}\n"
                                "truth: {a: 3, u: 0}\n"
                                "terms:\n"
                                "  d: {expect: a*x, at: {grid: 5}, data: 1, noise: s*(1 + x)}\n"
                                "  z: {expect: u, at: {grid: 3}, data: 0, noise: 1}\n"
                                "settings: {likelihood: noise, prior_scale: 1, seed: 3}\n";

/* The energy of term d at a = 2, by hand: sum (2 x - 1)^2 / (2 (0.1 (1 + x))^2) over x = 0, 0.5, 1, 1.5, 2. */
static double energy_by_hand(void) {
  double sum = 0;
  for (size_t p = 0; p < 5; p++) {
    double x = 0.5 * (double)p, row = (2 * x - 1) / (0.1 * (1 + x));
    sum += 0.5 * row * row;
  }
  return sum;
}

/* dE/da by hand: sum (2 x - 1) x / s^2. */
static double slope_by_hand(void) {
  double sum = 0;
  for (size_t p = 0; p < 5; p++) {
    double x = 0.5 * (double)p, s = 0.1 * (1 + x);
    sum += (2 * x - 1) * x / (s * s);
  }
  return sum;
}

/* Energies, gradient, whitened rows, J, J^T w and J J^T of one backend. */
static void check_backend(const char *backend, const char *precision, double tolerance) {
  RpinnOverride overrides[] = {{"backend", backend, "test", false}, {"precision", precision, "test", false}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  ProblemBench bench = bench_parse(line_yaml, &options);
  bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, true, &bench.posterior),
                backend);
  RpinnPosterior *posterior = bench.posterior;
  size_t N = posterior->model.num_parameters, a = posterior->model.unknown_start;
  double theta[64] = {0}, gradient[64], parts[3], energy, rows[8], weights[8] = {1, 2, 3, 4, 5}, product[64];
  double *jacobian = calloc(8 * N, sizeof *jacobian), *gram = calloc(64, sizeof *gram);
  assert_true(N < 64 && jacobian && gram);
  theta[a] = 2;
  assert_int_equal(rpinn_posterior_energy(NULL, posterior, theta, NULL, &energy, gradient, parts), RPINN_OK);
  check_relative(parts[0], energy_by_hand(), tolerance);
  check_relative(gradient[a], slope_by_hand() + 2 / 100.0, tolerance);
  assert_int_equal(rpinn_posterior_residuals(NULL, posterior, theta, rows, jacobian), RPINN_OK);
  double transposed = 0;
  for (size_t p = 0; p < 5; p++) {
    double x = 0.5 * (double)p, s = 0.1 * (1 + x);
    check_relative(rows[p], (2 * x - 1) / s, tolerance);
    check_close(jacobian[p * N + a], x / s, tolerance * 10);
    transposed += weights[p] * x / s;
  }
  RpinnPosteriorMember member = {.posterior = posterior};
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  if (squares.transposed_times) {
    assert_int_equal(squares.transposed_times(squares.data, theta, weights, product), RPINN_OK);
    check_relative(product[a], transposed, tolerance);
  }
  if (squares.gram) {
    assert_int_equal(squares.gram(squares.data, theta, NULL, rows, gram), RPINN_OK);
    check_relative(gram[4 * 8 + 2], 2 / 0.3 * (1 / 0.2), tolerance); /* x = 2 and x = 1 */
  }
  free(jacobian);
  free(gram);
  bench_close(&bench);
}

static void every_backend_divides_by_each_row(void **state) {
  (void)state;
  check_backend("plain", "double", 1e-13);
  check_backend("cpu", "double", 1e-13);
  check_backend("cpu", "float", 1e-6);
}

/* Synthetic data: the same normal numbers as with one noise for all, each times its own deviation. */
static void synthetic_data_have_it(void **state) {
  (void)state;
  static const char format[] = "name: line\ncoordinates: {x: [0, 2]}\nfields: {u: {network: [2]}}\n"
                               "truth: {u: 5}\n"
                               "terms: {d: {expect: u, at: {grid: 5}, data: %s, noise: %s}}\n"
                               "settings: {likelihood: noise, prior_scale: 1, seed: 3}\n";
  static const char *const sources[] = {"truth", "5, perturb: true"};
  for (size_t k = 0; k < 2; k++) {
    char one[512], rows[512];
    snprintf(one, sizeof one, format, sources[k], "1");
    snprintf(rows, sizeof rows, format, sources[k], "\"0.01*(1 + x^2)\"");
    ProblemBench same = bench_parse(one, NULL), differing = bench_parse(rows, NULL);
    bench_build(&same);
    bench_build(&differing);
    const RpinnTermData *data = bench_data(&differing, "d");
    for (size_t p = 0; p < 5; p++) {
      double x = 0.5 * (double)p, normal = bench_data(&same, "d")->values[p] - 5;
      check_relative(data->noise[p], 0.01 * (1 + x * x), 1e-14);
      check_close(data->values[p], 5 + 0.01 * (1 + x * x) * normal, 1e-13);
      check_true(fabs(normal) > 1e-3, "there is noise");
    }
    /* for people: the root mean square of 0.01 (1 + x^2) */
    double square = (1 + 1.25 * 1.25 + 4 + 3.25 * 3.25 + 25) / 5;
    check_relative(differing.posterior->sigmas.terms[0], 0.01 * sqrt(square), 1e-14);
    bench_close(&same);
    bench_close(&differing);
  }
}

/* ---- columns of files ---- */

static void write_text_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static const char column_yaml[] = "name: column\n"
                                  "coordinates: {x: [0, 2]}\n"
                                  "fields: {u: {network: [4]}}\n"
                                  "terms:\n"
                                  "  d: {expect: u, data: %s}\n"
                                  "  z: {expect: \"d(u, x, x)\", at: {grid: 3}, data: 0, noise: 1 + x/4}\n"
                                  "predict: {grid: 3, quantities: [u]}\n"
                                  "settings: {likelihood: noise, method: rpinn, optimizer: lm, iterations: "
                                  "100, start: glorot, prior_scale: 1,"
                                  " samples: 6, threads: 1, seed: 3, precision: double}\n";

static const double column_noise[] = {0.5, 0.25, 2};

/* posterior.nc: s of each row by name, and log likelihoods that were divided by it. */
static void check_column_run(const RunBench *bench, const char *run) {
  double sigma[3], likelihood[18], values[18], observed[3], x[3];
  read_numbers(bench, run, "/constant_data", "d_sigma", 3, sigma);
  read_numbers(bench, run, "/log_likelihood", "d", 18, likelihood);
  read_numbers(bench, run, "/predictions", "u", 18, values); /* at x = 0, 1, 2, which are the data's */
  read_numbers(bench, run, "/observed_data", "d", 3, observed);
  read_numbers(bench, run, "/constant_data", "d_x", 3, x);
  for (size_t p = 0; p < 3; p++) {
    check_close(sigma[p], column_noise[p], 0);
    check_close(x[p], (double)p, 0);
  }
  for (size_t k = 0; k < 6; k++)
    for (size_t p = 0; p < 3; p++) {
      double row = (values[k * 3 + p] - observed[p]) / column_noise[p];
      check_close(likelihood[k * 3 + p], -0.5 * row * row - log(column_noise[p]) - 0.91893853320467274, 1e-9);
    }
  double curve[3];
  read_numbers(bench, run, "/constant_data", "z_sigma", 3, curve);
  for (size_t p = 0; p < 3; p++) check_relative(curve[p], 1 + 0.25 * (double)p, 1e-15);
}

static void a_column_is_read_and_kept(void **state) {
  RunBench *bench = *state;
  char yaml[2048];
  write_text_file(run_path(bench, "wells.csv", NULL), "x,value,noise\n0,1,0.5\n1,2,0.25\n2,0,2\n");
  snprintf(yaml, sizeof yaml, column_yaml, run_path(bench, "wells.csv", NULL));
  run_make(bench, "own", yaml, "");
  check_column_run(bench, "own");
  const RpinnCsvTable *data = run_csv(bench, "own", "data.csv");
  check_close(csv_number(data, 1, "noise"), 0.25, 0);
  assert_string_equal(csv_text(data, 3, "noise"), ""); /* of z, whose noise is in run.yaml */
  assert_non_null(strstr(run_read(bench, "own", "run.yaml"), "noise: 1 + x/4"));
  /* the run directory is a problem: the same draws, and the same run.yaml */
  RpinnProblem *problem;
  RpinnRun *run;
  run_require(bench, rpinn_problem_load(bench->context, run_path(bench, "own", "run.yaml"), NULL, &problem));
  RpinnRunOptions options = {.folder = run_path(bench, "again", NULL)};
  run_require(bench, rpinn_run(bench->context, problem, &options, &run));
  rpinn_run_destroy(run);
  rpinn_problem_destroy(problem);
  check_column_run(bench, "again");
  assert_string_equal(run_read(bench, "own", "run.yaml"), run_read(bench, "again", "run.yaml"));
  assert_string_equal(run_read(bench, "own", "predictions.csv"), run_read(bench, "again", "predictions.csv"));
}

/* A table for all terms: its column stands for what the problem file says, and empty cells leave that. */
static void a_table_of_terms_replaces_noise(void **state) {
  RunBench *bench = *state;
  const char *path = run_path(bench, "all.csv", NULL);
  write_text_file(path, "term,x,value,noise\nd,0,1,0.5\nd,1,2,0.25\nz,0,0,\n");
  RpinnProblemOptions options = {.data_file = path};
  ProblemBench problem = bench_parse(line_yaml, &options);
  bench_build(&problem);
  check_close(rpinn_posterior_row_sigma(problem.posterior, 0, 0), 0.5, 0);
  check_close(rpinn_posterior_row_sigma(problem.posterior, 0, 1), 0.25, 0);
  check_close(rpinn_posterior_row_sigma(problem.posterior, 1, 0), 1, 0);
  bench_close(&problem);
}

/* Members of rPINN with noise by row are those of the same problem with each row as a term of its own. */
static void members_are_those_of_single_rows(void **state) {
  RunBench *bench = *state;
  static const char format[] =
      "name: rows\ncoordinates: {x: [0, 2]}\nfields: {u: {network: [5], trainable: output}}\n"
      "terms:\n%s"
      "predict: {grid: 4, quantities: [u]}\n"
      "settings: {likelihood: noise, optimizer: lm, iterations: 100, start: glorot, prior_scale: 1,"
      " samples: 5, threads: 1, seed: 3, precision: double}\n";
  static const char *const methods[] = {"method=rpinn", "method=laplace", "method=nuts warmup=20 chains=2"};
  char together[2048], apart[2048];
  snprintf(together, sizeof together, format,
           "  d: {expect: u, at: {points: [[0], [1], [2]]}, data: x, noise: 0.1 + x^2}\n");
  snprintf(apart, sizeof apart, format,
           "  d0: {expect: u, at: {points: [[0]]}, data: 0, noise: 0.1}\n"
           "  d1: {expect: u, at: {points: [[1]]}, data: 1, noise: 1.1}\n"
           "  d2: {expect: u, at: {points: [[2]]}, data: 2, noise: 4.1}\n");
  for (size_t k = 0; k < 3; k++) {
    char names[2][16];
    snprintf(names[0], sizeof names[0], "together%zu", k);
    snprintf(names[1], sizeof names[1], "apart%zu", k);
    run_make(bench, names[0], together, methods[k]);
    run_make(bench, names[1], apart, methods[k]);
    const RpinnCsvTable *found = run_csv(bench, names[0], "predictions.csv"),
                        *expected = run_csv(bench, names[1], "predictions.csv");
    for (size_t p = 0; p < 4; p++) {
      check_relative(csv_number(found, p, "u_mean"), csv_number(expected, p, "u_mean"), 1e-6);
      check_relative(csv_number(found, p, "u_std"), csv_number(expected, p, "u_std"), 1e-6);
    }
    if (k == 1)
      check_relative(json_number(run_json(bench, names[0]), "laplace/log_evidence"),
                     json_number(run_json(bench, names[1]), "laplace/log_evidence"), 1e-10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_backend_divides_by_each_row), cmocka_unit_test(synthetic_data_have_it),
      test_in_folder(a_column_is_read_and_kept), test_in_folder(a_table_of_terms_replaces_noise),
      test_in_folder(members_are_those_of_single_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
