/* Inputs at the edge of what is allowed: points on the boundary, short names of files, terms without data, grids of one
 * point, fields and flows at the end of their digits. */
#include <float.h>

#include "finite_volume.h"
#include "kriging.h"
#include "paper_way.h"
#include "problem_bench.h"
#include "run_bench.h"

/* A problem with its tables, in the folder of the test. */
static ProblemBench load_with(const RunBench *bench, const char *yaml, const char *table, const char *csv) {
  const char *const files[][2] = {{"problem.yaml", yaml}, {table, csv}};
  for (size_t k = 0; k < 2; k++) {
    FILE *file = fopen(run_path(bench, files[k][0], NULL), "w");
    assert_non_null(file);
    fputs(files[k][1], file);
    assert_int_equal(fclose(file), 0);
  }
  return bench_load(run_path(bench, "problem.yaml", NULL), NULL);
}

#define HEAD                                                                                                 \
  "name: edge\n"                                                                                             \
  "coordinates: {x: [0, 4]}\n"                                                                               \
  "fields: {u: {network: [3]}}\n"
#define TAIL "prior: {reference_term: a}\nsettings: {" PAPER_SETTINGS "}\n"

/* ---- data ---- */

/* Rounding puts points of the boundary a little outside; they are of the domain, and a thousandth of its width is not. */
static void points_of_the_boundary_belong(void **state) {
  RunBench *bench = *state;
  static const char yaml[] = HEAD "terms: {a: {expect: u, data: u.csv, noise: 0.1}}\n" TAIL;
  static const struct {
    const char *x;
    bool good;
  } points[] = {{"4", true},        {"0", true},         {"4.0000000001", true}, {"-0.0000000001", true},
                {"4.000001", true}, {"-0.000001", true}, {"4.004", false},       {"-0.004", false}};
  for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
    char csv[64];
    snprintf(csv, sizeof csv, "x,value\n1,2\n%s,3\n", points[k].x);
    ProblemBench problem = load_with(bench, yaml, "u.csv", csv);
    RpinnStatus status = rpinn_posterior_create(problem.context, problem.problem, true, &problem.posterior);
    check_true((status == RPINN_OK) == points[k].good, "x = %s: %s", points[k].x,
               rpinn_context_error(problem.context)->message);
    if (points[k].good) check_close(bench_data(&problem, "a")->points.x[1], strtod(points[k].x, NULL), 0);
    bench_close(&problem);
  }
}

/* One letter and .csv is the name of a file; .csv alone is none. */
static void names_of_files_may_be_short(void **state) {
  RunBench *bench = *state;
  ProblemBench problem = load_with(bench, HEAD "terms: {a: {expect: u, data: u.csv, noise: 0.1}}\n" TAIL,
                                   "u.csv", "x,value\n0.5,1.25\n");
  bench_build(&problem);
  assert_true(bench_data(&problem, "a")->from_file);
  assert_int_equal(bench_data(&problem, "a")->points.count, 1);
  check_close(bench_data(&problem, "a")->values[0], 1.25, 0);
  bench_close(&problem);
}

/* A held-out term that a table of all terms has no rows for is missing: it has no score, not one of zero. */
static void held_out_terms_without_rows_are_missing(void **state) {
  RunBench *bench = *state;
  static const char yaml[] =
      HEAD "data: all.csv\n"
           "terms:\n"
           "  a: {expect: u, noise: 0.1}\n"
           "  there: {expect: u, noise: 0.1, role: test}\n"
           "  late: {expect: u, noise: 0.1, role: test}\n" TAIL "predict: {grid: 3, quantities: [u]}\n";
  ProblemBench problem = load_with(bench, yaml, "all.csv", "term,x,value\na,0.5,1\na,3,2\nthere,2,1\n");
  bench_build(&problem);
  assert_true(bench_data(&problem, "late")->missing);
  assert_int_equal(bench_data(&problem, "late")->points.count, 0);
  assert_false(bench_data(&problem, "there")->missing);
  assert_false(bench_data(&problem, "a")->missing);
  bench_close(&problem);
  problem = bench_load(run_path(bench, "problem.yaml", NULL), NULL);
  RpinnRun *run;
  RpinnRunOptions options = {.folder = run_path(bench, "run", NULL)};
  RpinnPlace nowhere = {0};
  static const struct {
    RpinnSetting setting;
    const char *value;
  } settings[] = {
      {RPINN_SETTING_METHOD, "ensemble"}, {RPINN_SETTING_SAMPLES, "3"}, {RPINN_SETTING_ITERATIONS, "20"}};
  for (size_t k = 0; k < 3; k++)
    bench_require(&problem,
                  rpinn_settings_set(problem.context, &problem.problem->settings, settings[k].setting,
                                     settings[k].value, nowhere),
                  "settings");
  bench_require(&problem, rpinn_run(problem.context, problem.problem, &options, &run), "run");
  rpinn_run_destroy(run);
  bench_close(&problem);
  const RpinnJsonValue *summary = run_json(bench, "run");
  assert_true(isnan(json_number(summary, "tests/late/linf")));
  assert_true(isnan(json_number(summary, "tests/late/lpp")));
  assert_true(json_number(summary, "tests/there/linf") > 0);
}

/* Measurements from a table are measurements: a likelihood that takes them for less exact than they are is told of. */
static void measured_tables_are_warned_about(void **state) {
  RunBench *bench = *state;
  static const char yaml[] =
      HEAD "terms:\n"
           "  a: {expect: u, at: {grid: 4}, data: 0, noise: 0.1, weight: 1}\n"
           "  table: {expect: u, data: u.csv, noise: 0.1, weight: 0.01}\n"
           "  given: {expect: u, at: {grid: 4}, data: 0, noise: 0.1, weight: 0.01}\n" TAIL;
  ProblemBench problem = load_with(bench, yaml, "u.csv", "x,value\n0.5,1\n1,1\n2,1\n3,1\n");
  bench_build(&problem);
  const RpinnSigmas *sigmas = &problem.posterior->sigmas;
  size_t table = bench_term(&problem, "table"), given = bench_term(&problem, "given");
  check_close(sigmas->terms[table], sigmas->terms[given], 0);
  assert_true(sigmas->terms[table] > 0.1);
  assert_true(rpinn_sigma_exceeds_noise(problem.problem, sigmas, table));
  assert_false(rpinn_sigma_exceeds_noise(problem.problem, sigmas, given)); /* an expression, not measured */
  bench_close(&problem);
}

/* ---- settings ---- */

static bool is_accepted(const char *setting, const char *value) {
  RpinnOverride override = {setting, value, "--option", true};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &override};
  static const char yaml[] = HEAD "terms: {a: {expect: u, at: {grid: 3}, data: 1, noise: 0.1}}\n" TAIL;
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem = NULL;
  RpinnStatus status = rpinn_problem_parse(context, "test.yaml", yaml, strlen(yaml), &options, &problem);
  check_true(status == RPINN_OK || status == RPINN_ERROR_INPUT, "%s", rpinn_context_error(context)->message);
  if (status == RPINN_OK) rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return status == RPINN_OK;
}

/* A choice is one of its words, whole: no beginning of one, nothing behind it, no two at once, not nothing. */
static void choices_are_whole_words(void **state) {
  (void)state;
  size_t num_words = 0;
  for (int k = 0; k < RPINN_NUM_SETTINGS; k++) {
    const RpinnSettingDefinition *setting = rpinn_setting_definition((RpinnSetting)k);
    check_true(!is_accepted(setting->name, ""), "an empty %s is accepted", setting->name);
    if (setting->kind != RPINN_SETTING_CHOICE) continue;
    for (const char *word = setting->choices; *word; num_words++) {
      char text[64];
      size_t width = strcspn(word, "|");
      snprintf(text, sizeof text, "%.*s", (int)width, word);
      check_true(is_accepted(setting->name, text), "%s %s is refused", setting->name, text);
      for (size_t length = 1; length < width; length++) {
        snprintf(text, sizeof text, "%.*s", (int)length, word);
        check_true(!is_accepted(setting->name, text), "%s %s is accepted", setting->name, text);
      }
      snprintf(text, sizeof text, "%.*sx", (int)width, word);
      check_true(!is_accepted(setting->name, text), "%s %s is accepted", setting->name, text);
      word += width + (word[width] == '|');
    }
    check_true(!strchr(setting->choices, '|') || !is_accepted(setting->name, setting->choices),
               "%s %s is accepted", setting->name, setting->choices);
  }
  assert_true(num_words > 20);
}

/* ---- precision ---- */

/* Optimisers are told the unit of rounding of the arithmetic that the energy is computed in. */
static void rounding_is_that_of_the_precision(void **state) {
  (void)state;
  static const struct {
    const char *precision;
    double epsilon;
  } cases[] = {{"float", (double)FLT_EPSILON}, {"double", DBL_EPSILON}};
  for (size_t k = 0; k < 2; k++) {
    RpinnOverride override = {"precision", cases[k].precision, "test", false};
    RpinnProblemOptions options = {.num_overrides = 1, .overrides = &override};
    ProblemBench problem =
        bench_parse(HEAD "terms: {a: {expect: u, at: {grid: 3}, data: 1, noise: 0.1}}\n" TAIL, &options);
    bench_require(&problem,
                  rpinn_posterior_create(problem.context, problem.problem, true, &problem.posterior),
                  "posterior");
    RpinnPosteriorMember member = {.posterior = problem.posterior};
    check_close(rpinn_posterior_objective(&member).epsilon, cases[k].epsilon, 0);
    bench_close(&problem);
  }
}

/* ---- grids of one point ---- */

/* An axis of one point is as wide as its coordinate, as a picture of it needs some width. */
static void images_of_one_row_have_a_width(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *predict, *extent, *origin, *spacing;
  } cases[] = {{"grid: [3, 1]", "0 2 0 0 0 0", "0 0 0", "1.5 2 1"},
               {"grid: [1, 2]", "0 0 0 1 0 0", "1.5 -1 0", "3 2 1"}};
  for (size_t k = 0; k < 2; k++) {
    char yaml[512], name[32], part[64];
    snprintf(yaml, sizeof yaml,
             "name: plane\ncoordinates: {x: [0, 3], y: [-1, 1]}\nfields: {u: {network: [3]}}\n"
             "terms: {a: {expect: u, at: {grid: 2}, data: 1, noise: 0.1}}\n" TAIL
             "predict: {%s, quantities: [u]}\n",
             cases[k].predict);
    snprintf(name, sizeof name, "run%zu", k);
    run_make(bench, name, yaml, "method=ensemble samples=2 iterations=10");
    const char *image = run_read(bench, name, "fields.vti");
    const char *const parts[][2] = {
        {"WholeExtent", cases[k].extent}, {"Origin", cases[k].origin}, {"Spacing", cases[k].spacing}};
    for (size_t i = 0; i < 3; i++) {
      snprintf(part, sizeof part, "%s=\"%s\"", parts[i][0], parts[i][1]);
      check_true(strstr(image, part) != NULL, "no %s in\n%.400s", part, image);
    }
  }
}

/* ---- fields and flows ---- */

/* A smooth field measured in many places is known up to rounding; its variance is never below zero. */
static void variances_are_not_negative(void **state) {
  RunBench *bench = *state;
  enum { COUNT = 150, POINTS = 600 };
  RpinnFieldModel model = {
      .num_axes = 1, .correlation = RPINN_SQUARED_EXPONENTIAL, .length = {4}, .mean = 0, .variance = 1};
  double places[COUNT], values[COUNT], points[POINTS], mean[POINTS], variance[POINTS], largest = 0;
  RpinnKriging *kriging;
  for (int i = 0; i < COUNT; i++) {
    places[i] = i / (double)(COUNT - 1);
    values[i] = sin(places[i]);
  }
  for (int i = 0; i < POINTS; i++) points[i] = i / (double)(POINTS - 1);
  run_require(bench, rpinn_kriging_create(bench->context, &model, COUNT, places, values, NULL, &kriging));
  run_require(bench, rpinn_kriging_predict(bench->context, kriging, POINTS, points, mean, variance));
  for (int i = 0; i < POINTS; i++) {
    check_true(variance[i] >= 0, "a variance of %g at %g", variance[i], points[i]);
    largest = fmax(largest, variance[i]);
  }
  check_true(largest < 1e-6, "a variance of %g", largest);
  rpinn_kriging_destroy(kriging);
}

/* A cell that lets a million million times as much through as the next loses the digits of its flow: what comes in is not
 * what goes out, and the solver says by how much. */
static void lost_water_is_told(void **state) {
  RunBench *bench = *state;
  enum { CELLS = 6 };
  static const double k[CELLS] = {3e12, 1, 2, 1, 0.7, 1};
  RpinnFlow flow = {.counts = {CELLS, 1},
                    .low = {0, 0},
                    .high = {1, 1},
                    .conductivity = k,
                    .sides = {[RPINN_FLOW_LEFT] = {.fixes_head = true, .value = 1},
                              [RPINN_FLOW_RIGHT] = {.fixes_head = true, .value = 0}}};
  double head[CELLS], error = -1;
  run_require(bench, rpinn_flow_solve(bench->context, &flow, head, &error));
  double inflow = k[0] * 2 * CELLS * (1 - head[0]), outflow = k[CELLS - 1] * 2 * CELLS * head[CELLS - 1];
  double expected = fabs(inflow - outflow) / fmax(inflow, outflow);
  check_true(expected > 1e-9, "the flow is balanced to %g", expected);
  check_relative(error, expected, 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(points_of_the_boundary_belong),
                                     test_in_folder(names_of_files_may_be_short),
                                     test_in_folder(held_out_terms_without_rows_are_missing),
                                     test_in_folder(measured_tables_are_warned_about),
                                     test_in_folder(choices_are_whole_words),
                                     test_in_folder(rounding_is_that_of_the_precision),
                                     test_in_folder(images_of_one_row_have_a_width),
                                     test_in_folder(variances_are_not_negative),
                                     test_in_folder(lost_water_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
