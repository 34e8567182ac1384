/* What a program has in memory and a command has in files: problems and tables, many parameter vectors, points, draws. Each is
 * compared with the same from files, or one by one. */
#include "hand_problem.h"

#include "mock_backend.h"
#include "rpinn/diagnose.h"

/* ---- files in memory ---- */

static const char tables_yaml[] =
    "name: tables\n"
    "coordinates: {x: [0, 2]}\n"
    "fields: {u: {network: [3]}}\n"
    "truth: truth.csv\n"
    "terms:\n"
    "  level: {expect: u, data: level.csv, noise: 0.1}\n"
    "  slope: {expect: \"d(u, x)\", at: {csv: where.csv}, data: x, noise: 0.2}\n"
    "predict: {cells: truth, quantities: [u]}\n"
    "settings: {prior_scale: 1.5, precision: double, samples: 3, iterations: 5}\n";
static const struct {
  const char *name, *text;
} tables[] = {{"problem.yaml", tables_yaml},
              {"truth.csv", "x,u\n0,0.25\n0.5,1\n1.75,-0.125\n"},
              {"level.csv", "x,value\n0.1,0.3\n1.9,-0.7\n"},
              {"where.csv", "x\n0.5\n1\n1.5\n"}};
enum { NUM_TABLES = sizeof tables / sizeof tables[0] };

static void fill_files(RpinnFileInMemory files[NUM_TABLES]) {
  for (size_t i = 0; i < NUM_TABLES; i++)
    files[i] = (RpinnFileInMemory){tables[i].name, tables[i].text, strlen(tables[i].text)};
}

static void write_files(const RunBench *bench) {
  for (size_t i = 0; i < NUM_TABLES; i++) {
    FILE *file = fopen(run_path(bench, tables[i].name, NULL), "w");
    assert_non_null(file);
    fputs(tables[i].text, file);
    assert_int_equal(fclose(file), 0);
  }
}

/* The run of a problem in memory has the files of one on disk, copies of its tables among them. */
static void memory_stands_in_for_files(void **state) {
  RunBench *bench = *state;
  RpinnFileInMemory files[NUM_TABLES];
  RpinnProblemOptions options = {.num_files = NUM_TABLES, .files = files};
  write_files(bench);
  fill_files(files);
  static const char *const names[] = {"disk", "memory"};
  for (size_t k = 0; k < 2; k++) {
    RpinnProblem *problem;
    RpinnRun *run;
    run_require(
        bench, k ? rpinn_problem_load(bench->context, "problem.yaml", &options, &problem)
                 : rpinn_problem_load(bench->context, run_path(bench, "problem.yaml", NULL), NULL, &problem));
    memset(files, 0, sizeof files); /* the problem has copies */
    run_require(bench, rpinn_run(bench->context, problem,
                                 &(RpinnRunOptions){.folder = run_path(bench, names[k], NULL)}, &run));
    rpinn_run_destroy(run);
    rpinn_problem_destroy(problem);
    fill_files(files);
  }
  static const char *const written[] = {"run.yaml", "data.csv", "truth.csv", "predictions.csv"};
  for (size_t f = 0; f < sizeof written / sizeof written[0]; f++)
    assert_string_equal(run_read(bench, "memory", written[f]), run_read(bench, "disk", written[f]));
  assert_string_equal(run_read(bench, "memory", "truth.csv"), tables[1].text);
}

/* A file in memory comes before one in the folder of the problem, and the other tables still come from there. */
static void one_table_is_replaced(void **state) {
  RunBench *bench = *state;
  static const char level[] = "x,value\n0.1,5\n1.9,6\n";
  const RpinnFileInMemory file = {"level.csv", level, strlen(level)};
  write_files(bench);
  ProblemBench problem = bench_load(run_path(bench, "problem.yaml", NULL),
                                    &(RpinnProblemOptions){.num_files = 1, .files = &file});
  bench_build(&problem);
  check_close(bench_data(&problem, "level")->values[1], 6, 0);
  check_close(bench_data(&problem, "slope")->points.x[2], 1.5, 0);
  bench_close(&problem);
}

static void mistakes_have_a_place(void **state) {
  (void)state;
  RpinnFileInMemory files[NUM_TABLES];
  RpinnProblemOptions options = {.num_files = NUM_TABLES, .files = files};
  fill_files(files);
  files[2].bytes = "x,value\n0.1,0.3\n1.9,tall\n";
  files[2].length = strlen(files[2].bytes);
  ProblemBench bench = bench_load("problem.yaml", &options);
  assert_int_equal(rpinn_posterior_create(bench.context, bench.problem, true, &bench.posterior),
                   RPINN_ERROR_INPUT);
  const RpinnError *error = rpinn_context_error(bench.context);
  assert_string_equal(error->file, "level.csv");
  assert_int_equal(error->line, 3);
  assert_int_equal(error->column, 5);
  rpinn_problem_destroy(bench.problem);
  files[2].name = "truth.csv";
  assert_int_equal(rpinn_problem_load(bench.context, "problem.yaml", &options, &bench.problem),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(bench.context)->message,
                      "two files in memory are called 'truth.csv'; expected one");
  bench_close(&bench);
}

/* ---- what a problem holds ---- */

static void names_and_ranges(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(hand_yaml, NULL);
  double low, high;
  assert_int_equal(rpinn_problem_num_coordinates(bench.problem), 2);
  assert_string_equal(rpinn_problem_coordinate_name(bench.problem, 1), "t");
  rpinn_problem_coordinate_range(bench.problem, 1, &low, &high);
  check_close(low, 0, 0);
  check_close(high, 2, 0);
  assert_int_equal(rpinn_problem_num_predictable(bench.problem), 2);
  assert_string_equal(rpinn_problem_predictable_name(bench.problem, 0), "u");
  assert_string_equal(rpinn_problem_predictable_name(bench.problem, 1), "flux");
  bench_close(&bench);
}

/* ---- many parameter vectors ---- */

enum { BATCH = 17, HAND_N = 15, HAND_M = 11, HAND_T = 2 };

/* In one call as one by one, to the bit: more than two groups of the mock, a part of the usual piece of cpu. */
static void batches_have_the_bits_of_one(void **state) {
  (void)state;
  static double thetas[BATCH][HAND_N], offsets[BATCH][HAND_M + HAND_N], gradients[BATCH][HAND_N],
      parts[BATCH][HAND_T + 1], rows[BATCH][HAND_M], jacobians[BATCH][HAND_M][HAND_N], energies[BATCH];
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, BATCH * HAND_N, thetas[0]);
  rpinn_stream_normals(&stream, BATCH * (HAND_M + HAND_N), offsets[0]);
  for (int mocked = 0; mocked < 2; mocked++) {
    ProblemBench bench = bench_parse(hand_yaml, NULL);
    if (mocked) mock_backend_use(&mock_backend);
    bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, true, &bench.posterior),
                  "hand");
    assert_int_equal(rpinn_posterior_num_parameters(bench.posterior), HAND_N);
    assert_int_equal(rpinn_posterior_num_rows(bench.posterior), HAND_M);
    bench_require(&bench,
                  rpinn_posterior_energy_batch(bench.context, bench.posterior, BATCH, thetas[0], offsets[0],
                                               energies, gradients[0], parts[0]),
                  "energies");
    bench_require(&bench,
                  rpinn_posterior_residual_batch(bench.context, bench.posterior, BATCH, thetas[0], rows[0],
                                                 jacobians[0][0]),
                  "rows");
    if (mocked) assert_int_equal(mock_backend_counts().num_calls, 2 * 3); /* of 7, 7 and 3 */
    for (size_t k = 0; k < BATCH; k++) {
      double energy, gradient[HAND_N], part[HAND_T + 1], row[HAND_M], jacobian[HAND_M][HAND_N];
      bench_require(&bench,
                    rpinn_posterior_energy(bench.context, bench.posterior, thetas[k], offsets[k], &energy,
                                           gradient, part),
                    "energy");
      bench_require(&bench,
                    rpinn_posterior_residuals(bench.context, bench.posterior, thetas[k], row, jacobian[0]),
                    "row");
      assert_memory_equal(&energies[k], &energy, sizeof energy);
      assert_memory_equal(gradients[k], gradient, sizeof gradient);
      assert_memory_equal(parts[k], part, sizeof part);
      assert_memory_equal(rows[k], row, sizeof row);
      assert_memory_equal(jacobians[k], jacobian, sizeof jacobian);
    }
    double without;
    bench_require(&bench,
                  rpinn_posterior_energy_batch(bench.context, bench.posterior, 1, thetas[2], NULL, &without,
                                               NULL, NULL),
                  "without offsets");
    assert_true(without != energies[2]);
    bench_close(&bench);
    if (mocked) mock_backend_stop();
  }
}

/* An energy with something left open is refused by its name. */
static void energies_are_known(void **state) {
  (void)state;
  static const struct {
    const char *settings, *noise, *says;
  } cases[] = {{"prior_scale: 2", "0.1", NULL},
               {"prior_scale: evidence", "0.1", "choose the scale of the prior, by evidence"},
               {"prior_scale: 2", "{unknown: true, truth: 0.1}", "the noise of term 'level'"}};
  for (size_t k = 0; k < 3; k++) {
    char yaml[512];
    snprintf(
        yaml, sizeof yaml,
        "name: open\ncoordinates: {x: [0, 2]}\nfields: {u: {network: [3]}}\n"
        "terms: {level: {expect: u, at: {grid: 4}, data: x, perturb: true, noise: %s}}\nsettings: {%s}\n",
        cases[k].noise, cases[k].settings);
    ProblemBench bench = bench_parse(yaml, NULL);
    bench_build(&bench);
    RpinnStatus status = rpinn_posterior_require_known(bench.context, bench.posterior);
    assert_int_equal(status, cases[k].says ? RPINN_ERROR_INPUT : RPINN_OK);
    const char *message = rpinn_context_error(bench.context)->message;
    if (cases[k].says) check_true(strstr(message, cases[k].says) != NULL, "%s", message);
    bench_close(&bench);
  }
}

/* ---- points ---- */

/* The numbers of the CSV, and draws whose mean they are. */
static void predictions_are_those_of_the_file(void **state) {
  RunBench *bench = *state;
  static const double points[2][2] = {{0.3, 1.1}, {0.9, 0.2}};
  static const char *const settings[] = {"method=ensemble samples=41 iterations=60",
                                         "method=nuts chains=2 samples=22 warmup=20 max_depth=4"};
  static const char *const columns[] = {"mean", "std", "q025", "median", "q975"};
  FILE *file = fopen(run_path(bench, "points.csv", NULL), "w");
  assert_non_null(file);
  fputs("x,t\n0.3,1.1\n0.9,0.2\n", file);
  assert_int_equal(fclose(file), 0);
  for (size_t k = 0; k < 2; k++) {
    const char *name = k ? "chains" : "members", *folder = run_path(bench, name, NULL);
    run_make(bench, name, hand_yaml, settings[k]);
    RpinnPredictOptions from_file = {.points_file = run_path(bench, "points.csv", NULL),
                                     .quantities = "flux,u"};
    RpinnPointOptions options = {
        .num_points = 2, .points = points[0], .quantities = "flux,u", .keep_draws = k == 1};
    char *text = rpinn_run_predict(bench->context, folder, &from_file);
    check_true(text != NULL, "%s", run_message(bench));
    RpinnCsvTable *table;
    RpinnPrediction *prediction;
    run_require(bench, rpinn_csv_parse(bench->context, bench->arena, "csv", text, strlen(text), &table));
    run_require(bench, rpinn_run_predict_at(bench->context, folder, &options, &prediction));
    assert_int_equal(rpinn_prediction_num_quantities(prediction), 2);
    assert_int_equal(rpinn_prediction_num_chains(prediction), k ? 2 : 1);
    assert_int_equal(rpinn_prediction_num_draws(prediction), k ? 44 : 41);
    for (size_t q = 0; q < 2; q++)
      for (int s = 0; s < RPINN_NUM_PREDICTED_STATISTICS; s++)
        for (size_t p = 0; p < 2; p++) {
          char column[32];
          snprintf(column, sizeof column, "%s_%s", rpinn_prediction_name(prediction, q), columns[s]);
          check_close(rpinn_prediction_statistic(prediction, (RpinnPredictedStatistic)s)[2 * q + p],
                      csv_number(table, p, column), 0);
        }
    const double *draws = rpinn_prediction_draws(prediction);
    assert_int_equal(draws != NULL, options.keep_draws);
    double sum = 0;
    for (size_t i = 0; draws && i < 44; i++) sum += draws[4 * i + 1] / 44; /* flux at the second point */
    if (draws) check_relative(sum, rpinn_prediction_statistic(prediction, RPINN_PREDICTED_MEAN)[1], 1e-12);
    rpinn_prediction_destroy(prediction);
    free(text);
  }
}

static void points_are_checked(void **state) {
  RunBench *bench = *state;
  static const double points[2][2] = {{0.3, 1.1}, {0.9, 2.5}};
  RpinnPointOptions options = {.num_points = 2, .points = points[0]};
  RpinnPrediction *prediction;
  run_make(bench, "run", hand_yaml, "method=ensemble samples=2 iterations=3");
  const char *folder = run_path(bench, "run", NULL);
  assert_int_equal(rpinn_run_predict_at(bench->context, folder, &options, &prediction), RPINN_ERROR_INPUT);
  assert_string_equal(run_message(bench), "t = 2.5 of point 1 is outside the domain; expected 0 to 2");
  assert_null(prediction);
  options.extrapolate = true;
  run_require(bench, rpinn_run_predict_at(bench->context, folder, &options, &prediction));
  assert_string_equal(rpinn_prediction_name(prediction, 1), "flux"); /* those of `predict:` */
  rpinn_prediction_destroy(prediction);
  options.num_points = 0;
  assert_int_equal(rpinn_run_predict_at(bench->context, folder, &options, &prediction), RPINN_ERROR_INPUT);
  assert_string_equal(run_message(bench), "no points; expected one at least");
}

/* ---- draws ---- */

static void draws_of_ones_own(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  static double values[3][400][2];
  static const char *const names[] = {"level", "slope"};
  RpinnStream stream = rpinn_stream(8, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, 2400, values[0][0]);
  RpinnDraws *draws;
  assert_int_equal(rpinn_draws_of_values(context, 3, 400, 2, names, values[0][0], &draws), RPINN_OK);
  assert_int_equal(rpinn_draws_parameter(draws, "slope"), 1);
  check_close(rpinn_draws_get(draws, 807).parameters[1], values[2][7][1], 0);
  assert_int_equal(rpinn_draws_get(draws, 807).chain, 2);
  bool healthy = false;
  char *text = rpinn_diagnose_draws(context, draws, &(RpinnDiagnoseOptions){.all = true}, &healthy);
  assert_non_null(text);
  assert_true(healthy);
  assert_non_null(strstr(text, "slope"));
  free(text);
  rpinn_draws_destroy(draws);
  for (size_t i = 0; i < 400; i++) values[1][i][0] += 3; /* a chain elsewhere */
  assert_int_equal(rpinn_draws_of_values(context, 3, 400, 2, NULL, values[0][0], &draws), RPINN_OK);
  text = rpinn_diagnose_draws(context, draws, &(RpinnDiagnoseOptions){0}, &healthy);
  assert_non_null(text);
  assert_false(healthy);
  free(text);
  rpinn_draws_destroy(draws);
  assert_int_equal(rpinn_draws_of_values(context, 3, 0, 2, NULL, values[0][0], &draws), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "3 chains of 0 draws of 2 parameters; expected one of each at least");
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(memory_stands_in_for_files),
                                     test_in_folder(one_table_is_replaced),
                                     cmocka_unit_test(mistakes_have_a_place),
                                     cmocka_unit_test(names_and_ranges),
                                     cmocka_unit_test(batches_have_the_bits_of_one),
                                     cmocka_unit_test(energies_are_known),
                                     test_in_folder(predictions_are_those_of_the_file),
                                     test_in_folder(points_are_checked),
                                     cmocka_unit_test(draws_of_ones_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
