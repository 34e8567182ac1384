/* Studies: published figures, bootstrap errors, verdicts. */
#include "check.h"

#include <string.h>

#include "bootstrap.h"
#include "prior_scale.h"
#include "random_stream.h"

static void test_published(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  RpinnPublishedTable table;
  assert_null(rpinn_published_text("table9"));
  assert_int_equal(rpinn_published_parse(context, arena, "table1", rpinn_published_text("table1"), &table),
                   RPINN_OK);
  assert_int_equal(table.num_rows, 4 * 8 + 2 * 8);
  const RpinnPublishedRow *row = rpinn_published_find(&table, "32", "0.1", "ensemble", "u", false);
  assert_true(row && row->metrics[RPINN_TABLE_LPP_TABLE] == -3580 &&
              row->metrics[RPINN_TABLE_COVERAGE] == 0.2 && row->seconds == 418 && isnan(row->members));
  row = rpinn_published_find(&table, "128", "0.01", "rpinn", "f", true);
  assert_true(row && row->metrics[RPINN_TABLE_RL2] == 1.41e-2 && row->members == 5000 && isnan(row->seconds));
  assert_null(rpinn_published_find(&table, "128", "0.01", "ensemble", "f", true));
  row = rpinn_published_find(&table, "32", "0.1", "svgd", "f", true);
  assert_true(row && row->metrics[RPINN_TABLE_COVERAGE] == 0.86 && row->iterations == 5300);
  row = rpinn_published_find(&table, "32", "0.1", "svgd_divided", "f", true);
  assert_true(row && row->metrics[RPINN_TABLE_COVERAGE] == 0.45);
  assert_int_equal(rpinn_published_parse(context, arena, "table2", rpinn_published_text("table2"), &table),
                   RPINN_OK);
  assert_int_equal(table.num_rows, 2 * 6 + 2 * 2);
  row = rpinn_published_find(&table, "32", "0.01", "rpinn", "u", true);
  assert_true(row && row->members == 1000 && row->iterations == 20000);
  assert_int_equal(rpinn_published_parse(context, arena, "table3", rpinn_published_text("table3"), &table),
                   RPINN_OK);
  assert_int_equal(table.num_rows, 2 * 12 + 2);
  row = rpinn_published_find(&table, "32", "0.01", "chain6", "u", false);
  assert_true(row && row->metrics[RPINN_TABLE_LPP_TABLE] == -2924888 &&
              isnan(row->metrics[RPINN_TABLE_LINF]));
  assert_int_equal(rpinn_published_parse(context, arena, "table4", rpinn_published_text("table4"), &table),
                   RPINN_OK);
  assert_int_equal(table.num_rows, 3 * 4 + 2 * 2 + 4);
  row = rpinn_published_find(&table, "", "0.1", "ensemble", "y", true);
  assert_true(row && row->metrics[RPINN_TABLE_MEAN_STD] == 3.72e-2 && row->members == 32);
  assert_int_equal(rpinn_published_parse(context, arena, "bad", "Nf,sigma\n1,2\n", &table),
                   RPINN_ERROR_INPUT);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

/* One value, n normal draws of mean 1.5 + shift and deviation s, truth 1 + shift:
 * the error of the mean is s / sqrt(n), that of the deviation s / sqrt(2 n). */
static void test_bootstrap(void **state) {
  (void)state;
  enum { COUNT = 2000, RESAMPLES = 400 };
  const double s = 0.2;
  for (int far = 0; far < 2; far++) {
    double shift = far ? 1e6 : 0, reference[] = {7, 1 + shift}, errors[RPINN_NUM_FIGURES],
           again[RPINN_NUM_FIGURES];
    RpinnKeptDraws *kept = rpinn_kept_draws_create(2, 1);
    RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
    for (size_t i = 0; i < COUNT; i++) {
      double draw[] = {-1, 1.5 + shift + s * rpinn_stream_normal(&stream)};
      assert_int_equal(rpinn_kept_draws_add(kept, i, draw), RPINN_OK);
    }
    assert_true(rpinn_kept_draws_get(kept, 3)[0] == -1);
    assert_int_equal(rpinn_bootstrap_errors(kept, 1, 1, reference + 1, 0, RESAMPLES, errors), RPINN_OK);
    check_relative(errors[RPINN_TABLE_LINF], s / sqrt(COUNT), 0.15);
    check_relative(errors[RPINN_TABLE_RL2], s / sqrt(COUNT) / (1 + shift), 0.15);
    check_relative(errors[RPINN_TABLE_MEAN_STD], s / sqrt(2 * COUNT), 0.15);
    assert_true(errors[RPINN_TABLE_COVERAGE] == 0);
    assert_int_equal(rpinn_bootstrap_errors(kept, 1, 1, reference + 1, 0, RESAMPLES, again), RPINN_OK);
    assert_memory_equal(errors, again, sizeof errors);
    rpinn_kept_draws_destroy(kept);
  }
}

/* 100 kept of 400: half the error; 400 worth 25: twice that of the kept ones. */
static void test_bootstrap_factor(void **state) {
  (void)state;
  check_relative(rpinn_bootstrap_factor(100, 400, (double)NAN), 0.5, 1e-15);
  check_relative(rpinn_bootstrap_factor(100, 400, 25), 2, 1e-15);
  check_relative(rpinn_bootstrap_factor(400, 400, 25), 4, 1e-15);
  check_relative(rpinn_bootstrap_factor(400, 400, 900), 1, 1e-15);
}

static void test_too_few_draws(void **state) {
  (void)state;
  double reference = 1, draw = 2, errors[RPINN_NUM_FIGURES];
  RpinnKeptDraws *kept = rpinn_kept_draws_create(1, 1);
  rpinn_kept_draws_add(kept, 0, &draw);
  assert_int_equal(rpinn_bootstrap_errors(kept, 0, 1, &reference, 0, 10, errors), RPINN_OK);
  for (size_t k = 0; k < RPINN_NUM_FIGURES; k++) assert_true(isnan(errors[k]));
  rpinn_kept_draws_destroy(kept);
}

static const RpinnPaperCase *find_case(const char *table, const char *sigma) {
  for (size_t c = 0; c < rpinn_num_paper_cases(); c++)
    if (!strcmp(rpinn_paper_case(c)->table, table) && !strcmp(rpinn_paper_case(c)->sigma, sigma))
      return rpinn_paper_case(c);
  return NULL;
}

static void test_verdicts(void **state) {
  (void)state;
  const RpinnPublishedRow rerun = {.members = 5000, .iterations = 20000, .metrics = {1, 1, 1, -1000, 0.02}};
  RpinnReproduction reproduction = {.scale = RPINN_SCALE_PAPER, .has_data = true};
  RpinnReproducedRun run = {.paper_case = find_case("table2", "0.01"),
                            .method = RPINN_PAPER_RPINN,
                            .members = 5000,
                            .chains = (double)NAN,
                            .iterations = 20000};
  /* As many members: 4 sqrt(2) e + 0.02 |rerun|, and half a per cent for the coverage. */
  const double tolerance = 4 * sqrt(2) * 0.01 + 0.02;
  RpinnReproducedRow row = {.run = &run,
                            .rerun = &rerun,
                            .errors = {0.01, 0.01, 0.01, 10, 0},
                            .ours = {9, 1 + 0.999 * tolerance, 1 + 1.001 * tolerance, -1020, 0.0254}};
  rpinn_reproduction_judge(&reproduction, &row);
  check_relative(row.tolerances[RPINN_TABLE_LINF], tolerance, 1e-14);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_AGREEMENT_REPORTED);
  assert_int_equal(row.verdicts[RPINN_TABLE_LINF], RPINN_AGREEMENT_AGREES);
  assert_int_equal(row.verdicts[RPINN_TABLE_MEAN_STD], RPINN_AGREEMENT_DIFFERS);
  assert_int_equal(row.verdicts[RPINN_TABLE_LPP_TABLE], RPINN_AGREEMENT_AGREES);
  assert_int_equal(row.verdicts[RPINN_TABLE_COVERAGE], RPINN_AGREEMENT_AGREES);
  row.ours[RPINN_TABLE_COVERAGE] = 0.0255;
  row.ours[RPINN_TABLE_LINF] = (double)NAN;
  run.paper_case = find_case("table1", "0.01");
  rpinn_reproduction_judge(&reproduction, &row);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_AGREEMENT_DIFFERS);
  assert_int_equal(row.verdicts[RPINN_TABLE_COVERAGE], RPINN_AGREEMENT_DIFFERS);
  assert_int_equal(row.verdicts[RPINN_TABLE_LINF],
                   RPINN_AGREEMENT_DIFFERS); /* no number agrees with nothing */
  run.members = 1000;                        /* fewer of ours: the re-run's error is smaller than ours */
  rpinn_reproduction_judge(&reproduction, &row);
  check_relative(row.tolerances[RPINN_TABLE_LINF], 4 * sqrt(1.2) * 0.01 + 0.02, 1e-14);
  reproduction.scale = RPINN_SCALE_MEDIUM; /* judged as well */
  rpinn_reproduction_judge(&reproduction, &row);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_AGREEMENT_DIFFERS);
  run.paper_case = find_case("table4", "0.1"); /* spread and coverage alone, five per cent */
  rpinn_reproduction_judge(&reproduction, &row);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_AGREEMENT_REPORTED);
  assert_int_equal(row.verdicts[RPINN_TABLE_COVERAGE], RPINN_AGREEMENT_AGREES);
  check_relative(row.tolerances[RPINN_TABLE_MEAN_STD], 4 * sqrt(1.2) * 0.01 + 0.05, 1e-14);
}

/* What stands in the way of judging, and the re-run that is one chain. */
static void test_unjudged(void **state) {
  (void)state;
  RpinnPublishedRow rerun = {.members = (double)NAN, .iterations = (double)NAN, .metrics = {1, 1, 1, 1, 1}};
  RpinnReproduction reproduction = {.scale = RPINN_SCALE_MEDIUM, .has_data = true};
  RpinnReproducedRun run = {.paper_case = find_case("table1", "0.1"),
                            .method = RPINN_PAPER_NUTS,
                            .members = 4000,
                            .chains = 4,
                            .iterations = (double)NAN};
  RpinnReproducedRow row = {.run = &run, .rerun = &rerun, .errors = {0.01}, .ours = {1}};
  rpinn_reproduction_judge(&reproduction, &row);
  assert_null(row.unjudged);
  check_relative(row.tolerances[RPINN_TABLE_RL2], 4 * sqrt(1 + 4) * 0.01 + 0.02, 1e-14);
  rerun.members = 1000;
  rerun.iterations = 5300;
  run = (RpinnReproducedRun){
      .paper_case = run.paper_case, .method = RPINN_PAPER_SVGD, .members = 1000, .iterations = 5300};
  rpinn_reproduction_judge(&reproduction, &row);
  assert_null(row.unjudged);
  run.members = 999;
  rpinn_reproduction_judge(&reproduction, &row);
  assert_string_equal(row.unjudged, "not judged: other particles than the re-run's");
  run.iterations = 1500;
  rpinn_reproduction_judge(&reproduction, &row);
  assert_string_equal(row.unjudged, "not judged: other iterations than the re-run's");
  reproduction.scale = RPINN_SCALE_QUICK;
  rpinn_reproduction_judge(&reproduction, &row);
  assert_string_equal(row.unjudged, "not judged");
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_AGREEMENT_NONE);
  reproduction = (RpinnReproduction){.scale = RPINN_SCALE_PAPER};
  rpinn_reproduction_judge(&reproduction, &row);
  assert_string_equal(row.unjudged, "not judged");
  row.rerun = NULL;
  rpinn_reproduction_judge(&reproduction, &row);
  assert_string_equal(row.unjudged, "no re-run");
}

/* The last of the overrides of a setting; NULL: none. */
static const char *scaled(const RpinnPaperCase *paper, RpinnPaperMethod method, RpinnPaperScale scale,
                          const char *setting) {
  RpinnOverride overrides[RPINN_MAX_SCALE_OVERRIDES];
  size_t count = rpinn_scale_overrides(paper, method, scale, overrides);
  const char *value = NULL;
  for (size_t k = 0; k < count; k++)
    if (!strcmp(overrides[k].name, setting)) value = overrides[k].value;
  return value;
}

static void test_scales(void **state) {
  (void)state;
  const RpinnPaperCase *darcy = find_case("table4", "0.1"), *linear = find_case("table1", "0.1"),
                       *hard = find_case("table2", "0.01");
  assert_string_equal(scaled(darcy, RPINN_PAPER_RPINN, RPINN_SCALE_MEDIUM, "samples"), "16");
  assert_string_equal(scaled(find_case("table4", "1"), RPINN_PAPER_RPINN, RPINN_SCALE_MEDIUM, "samples"),
                      "4");
  assert_string_equal(scaled(darcy, RPINN_PAPER_ENSEMBLE, RPINN_SCALE_QUICK, "iterations"), "20");
  assert_null(scaled(darcy, RPINN_PAPER_RPINN, RPINN_SCALE_PAPER, "samples"));
  assert_null(scaled(linear, RPINN_PAPER_SVGD, RPINN_SCALE_MEDIUM, "iterations")); /* as the re-run's */
  assert_string_equal(scaled(linear, RPINN_PAPER_NUTS, RPINN_SCALE_MEDIUM, "warmup"), "4000");
  assert_string_equal(scaled(hard, RPINN_PAPER_RPINN, RPINN_SCALE_PAPER, "samples"), "1000");
  assert_string_equal(scaled(hard, RPINN_PAPER_RPINN, RPINN_SCALE_QUICK, "iterations"), "60");
  assert_null(scaled(hard, RPINN_PAPER_SVGD, RPINN_SCALE_PAPER, "iterations"));
}

static void test_chain_order(void **state) {
  (void)state;
  RpinnReproducedChain chains[] = {{1, {{3, 0}, {0.5, 0}}}, {2, {{1, 0}, {0.7, 0}}}, {3, {{2, 0}, {0.6, 0}}}};
  rpinn_chains_sort(3, chains);
  assert_true(chains[0].number == 2 && chains[1].number == 3 && chains[2].number == 1);
  check_relative(rpinn_chains_range(3, chains, 0), 2, 1e-15);
  check_relative(rpinn_chains_range(3, chains, 1), 0.2, 1e-14);
  assert_true(isnan(rpinn_chains_range(0, chains, 0)));
}

/* ---- studies ---- */

static void test_estimates(void **state) {
  (void)state;
  const double values[] = {1, (double)NAN, 2, 3, (double)INFINITY, 6};
  RpinnEstimate mean = rpinn_estimate_mean(6, values); /* of 1, 2, 3, 6: variance 14/3 */
  check_relative(mean.value, 3, 1e-15);
  check_relative(mean.error, sqrt(14.0 / 3 / 4), 1e-15);
  mean = rpinn_estimate_mean(1, values);
  assert_true(mean.value == 1 && isnan(mean.error));
  assert_true(isnan(rpinn_estimate_mean(1, values + 1).value));
  RpinnEstimate change = rpinn_estimate_change((RpinnEstimate){5, 3}, (RpinnEstimate){4, 4});
  check_relative(change.value, -1, 1e-15);
  check_relative(change.error, 5, 1e-15);
}

/* Two standard errors decide, in the claimed direction or against it. */
static void test_claims(void **state) {
  (void)state;
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){2.1, 1}, 1), RPINN_CLAIM_HOLDS);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){2.1, 1}, -1), RPINN_CLAIM_CONTRADICTED);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){-2.1, 1}, 1), RPINN_CLAIM_CONTRADICTED);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){-2.1, 1}, -1), RPINN_CLAIM_HOLDS);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){-1.9, 1}, 1), RPINN_CLAIM_UNDECIDED);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){0, 0}, 1), RPINN_CLAIM_UNDECIDED);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){7, (double)NAN}, 1), RPINN_CLAIM_OPEN);
  assert_int_equal(rpinn_claim_judge((RpinnEstimate){(double)NAN, 1}, 1), RPINN_CLAIM_OPEN);
}

static void test_printed(void **state) {
  (void)state;
  assert_int_equal(rpinn_printed_judge(0.0790569, "0.079"), RPINN_PRINTED_AGREES);
  assert_int_equal(rpinn_printed_judge(2.90474, "2.905"), RPINN_PRINTED_AGREES);
  assert_int_equal(rpinn_printed_judge(0.290474, "0.291"), RPINN_PRINTED_NEAR); /* by way of 0.2905 */
  assert_int_equal(rpinn_printed_judge(0.289, "0.291"), RPINN_PRINTED_DIFFERS);
  assert_int_equal(rpinn_printed_judge(1, "1"), RPINN_PRINTED_AGREES);
  assert_int_equal(rpinn_printed_judge(3.6, "1"), RPINN_PRINTED_DIFFERS);
}

/* u prefers the second, f the third; the sum of both the third. A run whose LPP is no number is passed over. */
static void test_epsilon_choice(void **state) {
  (void)state;
  enum { COUNT = 4 };
  const double nothing = (double)NAN, lpp[COUNT][2] = {{10, -100}, {30, -90}, {20, -40}, {25, nothing}};
  RpinnReproducedRun runs[COUNT + 1] = {0};
  RpinnReproducedRow rows[2 * COUNT] = {0};
  for (size_t i = 0; i < 2 * COUNT; i++) {
    rows[i] = (RpinnReproducedRow){.run = &runs[1 + i / 2], .quantity = i % 2};
    rows[i].ours[RPINN_FIGURE_LPP] = lpp[i / 2][i % 2];
    rows[i].errors[RPINN_FIGURE_LPP] = 1 + (double)(i % 2);
  }
  RpinnReproduction reproduction = {.runs = runs, .num_runs = COUNT + 1, .rows = rows, .num_rows = 2 * COUNT};
  RpinnEpsilonGrid grid = {.first_run = 1, .count = COUNT};
  rpinn_epsilon_grid_choose(&reproduction, &grid);
  assert_true(grid.best[0] == 1 && grid.best[1] == 2 && grid.best_sum == 2);
  check_relative(grid.sums[2].value, -20, 1e-15);
  check_relative(grid.sums[2].error, 3, 1e-15);
  assert_true(isnan(grid.sums[3].value));
  assert_int_equal(rpinn_largest_place(2, (double[]){nothing, nothing}), 2);
  assert_int_equal(rpinn_largest_place(3, (double[]){1, 5, 5}), 1);
}

/* Every entry has a kind, a description and tables that exist; `all` is the last. */
static void test_entries(void **state) {
  (void)state;
  size_t count = rpinn_num_reproduce_entries();
  assert_null(rpinn_reproduce_name(count));
  assert_null(rpinn_reproduce_description(count));
  assert_string_equal(rpinn_reproduce_name(count - 1), "all");
  for (size_t i = 0; i < count; i++) {
    const RpinnReproduceEntry *entry = rpinn_reproduce_entry(i);
    assert_true(entry->kind && entry->kind->plan && entry->kind->finish && entry->description[0]);
    for (size_t k = 0; k < RPINN_MAX_ENTRY_TABLES && entry->tables[k]; k++)
      assert_non_null(rpinn_published_text(entry->tables[k]));
    for (size_t other = 0; other < i; other++)
      assert_string_not_equal(entry->name, rpinn_reproduce_entry(other)->name);
  }
}

static void test_darcy_chains(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  RpinnPublishedTable table;
  assert_int_equal(
      rpinn_published_parse(context, arena, "darcy_nuts", rpinn_published_text("darcy_nuts"), &table),
      RPINN_OK);
  const RpinnPublishedRow *row = rpinn_published_find(&table, "", "1", "chain3", "h", false);
  assert_true(row && row->metrics[RPINN_TABLE_RL2] == 2.1 && isnan(row->metrics[RPINN_TABLE_LPP_TABLE]));
  const RpinnPaperCase *paper = find_case("darcy_nuts", "1");
  assert_true(paper && paper->rhat == 20);
  assert_string_equal(scaled(paper, RPINN_PAPER_NUTS, RPINN_SCALE_MEDIUM, "max_depth"), "6");
  assert_null(scaled(paper, RPINN_PAPER_NUTS, RPINN_SCALE_PAPER, "warmup")); /* the preset has it */
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published),        cmocka_unit_test(test_bootstrap),
      cmocka_unit_test(test_bootstrap_factor), cmocka_unit_test(test_too_few_draws),
      cmocka_unit_test(test_verdicts),         cmocka_unit_test(test_unjudged),
      cmocka_unit_test(test_scales),           cmocka_unit_test(test_chain_order),
      cmocka_unit_test(test_estimates),        cmocka_unit_test(test_claims),
      cmocka_unit_test(test_printed),          cmocka_unit_test(test_epsilon_choice),
      cmocka_unit_test(test_entries),          cmocka_unit_test(test_darcy_chains)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
