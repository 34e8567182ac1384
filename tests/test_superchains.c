/* Many short chains that share the members of an earlier run as starts: who judges them, and how. */
#include "hand_problem.h"

#include "rpinn/convergence.h"
#include "rpinn/diagnose.h"
#include "rpinn/report.h"

enum { STARTS = 3, CHAINS = 12, DRAWS = 8 };

/* A run of chains that begin at the STARTS members of the run "members". */
static HandRun make_chains(RunBench *bench, const char *name, size_t chains, size_t draws) {
  char settings[RUN_PATH];
  snprintf(settings, sizeof settings, "method=nuts chains=%zu samples=%zu warmup=10 max_depth=3 start=%s",
           chains, draws, run_path(bench, "members", NULL));
  run_make(bench, name, hand_yaml, settings);
  return hand_open(bench, name);
}

static void make_members(RunBench *bench) {
  run_make(bench, "members", hand_yaml, "method=rpinn samples=3 optimizer=lm iterations=20 start=prior");
}

/* Chain 0 is the same in runs of 18 and 19 chains from 10 members. With 20 each start has two chains, and the metric begins with the
 * spread of the members. */
static void metric_of_starts(void **state) {
  RunBench *bench = *state;
  run_make(bench, "members", hand_yaml, "method=rpinn samples=10 optimizer=lm iterations=20 start=prior");
  HandRun fewest = make_chains(bench, "fewest", 18, DRAWS), few = make_chains(bench, "few", 19, DRAWS),
          many = make_chains(bench, "many", 20, DRAWS);
  assert_memory_equal(few.k, fewest.k, DRAWS * sizeof *few.k);
  for (size_t i = 0; i < DRAWS; i++) assert_true(many.k[i] != few.k[i]);
  hand_close(&fewest);
  hand_close(&few);
  hand_close(&many);
}

static double nested_cell_of_k(const RunBench *bench, const char *name) {
  const RpinnCsvTable *table = run_csv(bench, name, "diagnostics.csv");
  size_t row = 0;
  while (strcmp(csv_text(table, row, "name"), "k")) row++;
  return csv_number(table, row, "rhat_nested");
}

static bool finds(const HandRun *run, const char *id) {
  const RpinnJsonValue *findings = json_at(run->summary, "verdict/findings");
  for (const RpinnJsonValue *finding = findings->first; finding; finding = finding->next)
    if (!strcmp(json_text(finding, "id"), id)) return true;
  return false;
}

/* Chain c is of superchain c mod 3. Nested R-hat of k as the draws in posterior.nc have it; figures of single chains are not asked for. */
static void judged_by_nested_rhat(void **state) {
  RunBench *bench = *state;
  size_t superchains[CHAINS];
  make_members(bench);
  HandRun run = make_chains(bench, "short", CHAINS, DRAWS);
  for (size_t c = 0; c < CHAINS; c++) superchains[c] = c % STARTS;
  double expected = rpinn_nested_rhat(CHAINS, DRAWS, run.k, STARTS, superchains);
  assert_true(expected > 1 && isfinite(expected));
  check_relative(nested_cell_of_k(bench, "short"), expected, 1e-9);
  assert_true(json_number(run.summary, "chains/superchains") == STARTS);
  double largest = json_number(run.summary, "chains/max_nested_rhat");
  assert_true(largest >= expected * (1 - 1e-9));
  assert_true(finds(&run, "nested_rhat") == (largest > 1.01));
  assert_false(finds(&run, "rhat") || finds(&run, "ess_bulk") || finds(&run, "ess_tail") ||
               finds(&run, "no_statistics") || finds(&run, "energy"));
  hand_close(&run);
}

static void told_on_the_page(void **state) {
  RunBench *bench = *state;
  char expected[64];
  make_members(bench);
  HandRun run = make_chains(bench, "short", CHAINS, DRAWS);
  const char *folder = run_path(bench, "short", NULL);
  char *told = rpinn_report(bench->context, 1, &folder, NULL);
  check_true(told != NULL, "%s", run_message(bench));
  free(told);
  const char *page = run_read(bench, "short", "report.html");
  snprintf(expected, sizeof expected, "is at most %.3f in what is predicted",
           json_number(run.summary, "chains/max_nested_rhat"));
  assert_non_null(strstr(page, "12 in 3 superchains"));
  assert_non_null(strstr(page, expected));
  hand_close(&run);
}

static void shown_by_diagnose(void **state) {
  RunBench *bench = *state;
  bool healthy;
  make_members(bench);
  HandRun run = make_chains(bench, "short", CHAINS, DRAWS);
  double largest = json_number(run.summary, "chains/max_nested_rhat");
  char cell[32];
  snprintf(cell, sizeof cell, "%.4f", largest);
  char *text = rpinn_diagnose_run(bench->context, run_path(bench, "short", NULL), NULL, &healthy);
  check_true(text != NULL, "%s", run_message(bench));
  assert_non_null(strstr(text, "R-hat   nested\n"));
  assert_non_null(strstr(text, cell));
  free(text);
  hand_close(&run);
}

/* Chains that hardly share starts, or are long enough to be judged by themselves, are. */
static void judged_one_by_one(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *name;
    size_t chains, draws;
  } cases[] = {{"few", 2 * STARTS - 1, DRAWS}, {"long", 2 * STARTS, 100}};
  make_members(bench);
  for (size_t k = 0; k < 2; k++) {
    HandRun run = make_chains(bench, cases[k].name, cases[k].chains, cases[k].draws);
    assert_null(rpinn_json_find(json_at(run.summary, "chains"), "superchains"));
    assert_null(strstr(run_read(bench, cases[k].name, "diagnostics.csv"), "rhat_nested"));
    assert_true(finds(&run, "ess_bulk"));
    hand_close(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(judged_by_nested_rhat), test_in_folder(told_on_the_page),
                                     test_in_folder(shown_by_diagnose), test_in_folder(judged_one_by_one),
                                     test_in_folder(metric_of_starts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
