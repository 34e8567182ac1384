/* A finished run once more: at points of the user's choice, in memory for a report, and what a run would do before it
 * does; each number against one made by hand. */
#include "hand_problem.h"

#include "run_record.h"

static const struct {
  const char *name, *settings;
} kinds[] = {{"members", "method=ensemble samples=41 iterations=60"},
             {"randomised", "method=rpinn samples=39 optimizer=lbfgs iterations=500"},
             {"chains", "method=nuts chains=2 samples=22 warmup=20 max_depth=4"},
             {"particles", "method=svgd samples=40 iterations=10 learning_rate=0.02"}};
enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

static void write_points(const RunBench *bench, const char *text) {
  FILE *file = fopen(run_path(bench, "points.csv", NULL), "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void check_cell(const RpinnCsvTable *table, size_t row, const char *quantity, const char *suffix,
                       double expected) {
  char column[64];
  snprintf(column, sizeof column, "%s_%s", quantity, suffix);
  assert_false(isnan(expected)); /* enough draws for intervals */
  check_relative_at((CheckPlace){column, __FILE__, __LINE__}, csv_number(table, row, column), expected, 1e-8);
}

/* ---- predictions elsewhere ---- */

static void predictions_are_those_of_the_draws(void **state) {
  RunBench *bench = *state;
  static const double points[3][2] = {{0.3, 1.1}, {0.9, 0.2}, {0.25, 2}};
  write_points(bench, "t,x\n1.1,0.3\n0.2,0.9\n2,0.25\n");
  for (size_t k = 0; k < NUM_KINDS; k++) {
    static const char *const asked[] = {"flux", "u"};
    run_make(bench, kinds[k].name, hand_yaml, kinds[k].settings);
    RpinnPredictOptions options = {.points_file = run_path(bench, "points.csv", NULL),
                                   .quantities = "flux,u"};
    char *text = rpinn_run_predict(bench->context, run_path(bench, kinds[k].name, NULL), &options);
    check_true(text != NULL, "%s", run_message(bench));
    RpinnCsvTable *table;
    run_require(bench,
                rpinn_csv_parse(bench->context, bench->arena, "predictions", text, strlen(text), &table));
    assert_int_equal(table->num_rows, 3);
    assert_int_equal(table->num_columns, 2 + 2 * 5);
    HandRun run = hand_open(bench, kinds[k].name);
    size_t count = hand_total(&run);
    for (size_t p = 0; p < 3; p++) {
      check_close(csv_number(table, p, "x"), points[p][0], 0);
      check_close(csv_number(table, p, "t"), points[p][1], 0);
      for (size_t q = 0; q < 2; q++) {
        const double *draws = hand_draws(&run, asked[q], 1, &points[p], 0, count);
        check_cell(table, p, asked[q], "mean", hand_mean(count, draws));
        check_cell(table, p, asked[q], "std", hand_deviation(count, draws));
        check_cell(table, p, asked[q], "q025", hand_quantile(count, draws, 0.025));
        check_cell(table, p, asked[q], "median", hand_quantile(count, draws, 0.5));
        check_cell(table, p, asked[q], "q975", hand_quantile(count, draws, 0.975));
      }
    }
    hand_close(&run);
    free(text);
  }
}

/* Points outside the domain are refused, unless they are asked for. */
static void points_outside_are_asked_for(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, kinds[0].settings);
  write_points(bench, "x,t\n1.5,1\n");
  RpinnPredictOptions options = {.points_file = run_path(bench, "points.csv", NULL)};
  assert_null(rpinn_run_predict(bench->context, run_path(bench, "run", NULL), &options));
  check_true(strstr(run_message(bench), "outside the domain") != NULL, "%s", run_message(bench));
  options.extrapolate = true;
  char *text = rpinn_run_predict(bench->context, run_path(bench, "run", NULL), &options);
  check_true(text != NULL, "%s", run_message(bench));
  check_true(!strncmp(text, "x,t,u_mean,u_std,u_q025,u_median,u_q975,flux_mean,", 49), "%s", text);
  free(text);
}

/* ---- in memory ---- */

/* Reopened results are those that the files hold. */
static void reopened_runs_are_the_same(void **state) {
  RunBench *bench = *state;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    RpinnRun *run;
    run_make(bench, kinds[k].name, hand_yaml, kinds[k].settings);
    const char *json = run_read(bench, kinds[k].name, "summary.json");
    const RpinnCsvTable *table = run_csv(bench, kinds[k].name, "predictions.csv");
    const RpinnJsonValue *summary = run_json(bench, kinds[k].name);
    run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, kinds[k].name, NULL), &run));
    assert_string_equal(rpinn_run_json(run), json);
    char *again = rpinn_run_summary(bench->context, run_path(bench, kinds[k].name, NULL), true);
    assert_string_equal(again, json);
    free(again);
    char *words = rpinn_run_summary(bench->context, run_path(bench, kinds[k].name, NULL), false);
    assert_string_equal(words, rpinn_run_table(run));
    free(words);
    const RpinnRunResults *results = &run->results;
    for (size_t p = 0; p < HAND_POINTS; p++) {
      check_same(results->mean[p], csv_number(table, p, "u_mean"), 0, "mean of u");
      check_same(results->deviation[p], csv_number(table, p, "u_std"), 0, "std of u");
      check_same(results->low[HAND_POINTS + p], csv_number(table, p, "flux_q025"), 0, "q025 of flux");
      check_same(results->median[HAND_POINTS + p], csv_number(table, p, "flux_median"), 0, "median of flux");
      check_same(results->high[HAND_POINTS + p], csv_number(table, p, "flux_q975"), 0, "q975 of flux");
    }
    check_same((double)results->num_draws, json_number(summary, "samples"), 0, "draws");
    check_same(results->scores[0].rl2, json_number(summary, "quantities/u/rl2"), 0, "rl2");
    check_same(results->scores[1].crps, json_number(summary, "quantities/flux/crps"), 0, "crps");
    check_same(results->scores[2].lpp, json_number(summary, "tests/later/lpp"), 0,
               "lpp of the held-out term");
    check_same(run->seconds, json_number(summary, "wall_seconds"), 1e-12, "seconds");
    rpinn_run_destroy(run);
  }
}

/* ---- before it runs ---- */

static double number_after(const char *text, const char *words) {
  const char *at = strstr(text, words);
  check_true(at != NULL, "no '%s' in\n%s", words, text);
  return strtod(at + strlen(words), NULL);
}

/* A plan says what would run, and its disk is what the run then takes. */
static void plans_come_true(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *settings, *says;
  } cases[] = {
      {"method=ensemble samples=4000 iterations=7 threads=2",
       "hand, method ensemble: 4000 members of 15 parameters, at most 7 iterations of adam each, on 2 "
       "threads"},
      {"method=nuts chains=3 samples=1200 warmup=6 max_depth=2 threads=2",
       "hand, method nuts: 3 chains of 6 warmup iterations and 1200 draws, trajectories of at most 2^2 - 1 "
       "steps, "
       "on 2 threads"},
      {"method=svgd samples=1 iterations=3 threads=1",
       "hand, method svgd: 1 particle of 15 parameters, at most 3 iterations of adam each, on 1 thread\n"}};
  for (size_t k = 0; k < 3; k++) {
    char name[32];
    RpinnProblem *problem = run_problem(bench, hand_yaml, cases[k].settings);
    char *plan = rpinn_run_plan(bench->context, problem, (RpinnShard){0});
    rpinn_problem_destroy(problem);
    check_true(plan != NULL, "%s", run_message(bench));
    check_true(strstr(plan, cases[k].says) != NULL, "no '%s' in\n%s", cases[k].says, plan);
    assert_true(number_after(plan, "time    about ") >= 0);
    double disk = number_after(plan, "disk    about "), taken = 0;
    assert_true(number_after(plan, "memory  about ") >= 20);
    free(plan);
    snprintf(name, sizeof name, "run%zu", k);
    run_make(bench, name, hand_yaml, cases[k].settings);
    static const char *const files[] = {"checkpoint.db", "posterior.nc"};
    for (size_t f = 0; f < 2; f++) {
      struct stat info;
      assert_int_equal(stat(run_path(bench, name, files[f]), &info), 0);
      taken += 1e-6 * (double)info.st_size;
    }
    check_true(disk >= 0.5 * taken && disk < 40 * taken + 2, "%g MB planned, %g MB taken", disk, taken);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      test_in_folder(predictions_are_those_of_the_draws), test_in_folder(points_outside_are_asked_for),
      test_in_folder(reopened_runs_are_the_same), test_in_folder(plans_come_true)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
