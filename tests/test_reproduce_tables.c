/* The page, the CSV and the JSON of rpinn reproduce for known figures: tests/golden/reproduce-*. */
#include "golden.h"

#include "reproduce_state.h"

static const double nothing = (double)NAN;

static const RpinnPaperCase linear = {.table = "table1",
                                      .problem = "poisson-linear",
                                      .num_points = "32",
                                      .sigma = "0.1",
                                      .quantities = {"u", "f"},
                                      .slack = 0.02},
                            flow = {.table = "darcy_nuts",
                                    .problem = "darcy",
                                    .num_points = "",
                                    .sigma = "1",
                                    .quantities = {"y", "h"},
                                    .slack = 0.05,
                                    .rhat = 20};

/* ---- rows ---- */

static const RpinnPublishedRow published = {.seconds = 418, .metrics = {0.011, 0.022, 0.033, -44, 0.55}},
                               rerun = {.metrics = {0.0111, 0.0222, 0.0333, -444, 0.555}},
                               divided = {.metrics = {0.0112, 0.0223, 0.0334, -445, 0.556}};

/* One run of every kind: judged, with a peak on the way, of chains, and not made. */
static void make_runs(RpinnReproducedRun runs[4]) {
  for (size_t r = 0; r < 4; r++)
    runs[r] = (RpinnReproducedRun){.paper_case = &linear,
                                   .method = (RpinnPaperMethod)((r + 3) % 4),
                                   .settings = "members 5000",
                                   .departures = r ? "iterations 60 (paper: 20000)" : "",
                                   .members = 5000 + (double)r,
                                   .chains = nothing,
                                   .warmup = nothing,
                                   .iterations = 20000 + (double)r,
                                   .seconds = r ? 123.4 * (double)r : 6.78};
  runs[0].name = "zero", runs[1].name = "one", runs[2].name = "two", runs[3].name = "three";
  runs[3].chains = 4, runs[3].warmup = 1000, runs[3].iterations = nothing;
  runs[2].reason = "not asked for";
}

static void make_rows(const RpinnReproducedRun runs[4], RpinnReproducedRow rows[4]) {
  static const double ours[RPINN_NUM_FIGURES] = {0.0123, 0.0234, 0.0345, -456.7, 0.567, -678.9},
                      errors[RPINN_NUM_FIGURES] = {0.0012, 0.0023, 0.0034, 4.56, 0.0067, 7.89},
                      tolerances[] = {0.011, 0.012, 0.013, 14, 0.015}, peak[] = {0.21, 0.22, 0.23, -24, 0.25};
  static const RpinnAgreement verdicts[] = {RPINN_AGREEMENT_AGREES, RPINN_AGREEMENT_DIFFERS,
                                            RPINN_AGREEMENT_REPORTED, RPINN_AGREEMENT_DIFFERS,
                                            RPINN_AGREEMENT_AGREES};
  for (size_t r = 0; r < 4; r++) {
    rows[r] = (RpinnReproducedRow){.run = &runs[r],
                                   .quantity = r % 2,
                                   .published = &published,
                                   .rerun = r == 2 ? NULL : &rerun,
                                   .effective_size = r == 3 ? 1234.5 : nothing};
    memcpy(rows[r].ours, ours, sizeof ours);
    memcpy(rows[r].errors, errors, sizeof errors);
    memcpy(rows[r].tolerances, tolerances, sizeof tolerances);
    memcpy(rows[r].peak, peak, sizeof peak);
    memcpy(rows[r].verdicts, verdicts, sizeof verdicts);
  }
  rows[0].has_peak = true, rows[0].peak_iteration = 5300, rows[0].divided = &divided;
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rows[1].verdicts[k] = RPINN_AGREEMENT_AGREES;
  rows[3].unjudged = "not judged: other iterations than the re-run's";
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) rows[3].verdicts[k] = RPINN_AGREEMENT_NONE;
  rows[3].ours[RPINN_TABLE_LINF] = rows[3].errors[RPINN_TABLE_MEAN_STD] = nothing;
}

static const RpinnReproduceEntry *entry_of(const char *name) {
  for (size_t i = 0; i < rpinn_num_reproduce_entries(); i++)
    if (!strcmp(rpinn_reproduce_entry(i)->name, name)) return rpinn_reproduce_entry(i);
  fail_msg("no entry %s", name);
  return NULL;
}

static void check_texts(RpinnReproduction *reproduction, const char *name) {
  char file[64];
  RpinnContext *context = rpinn_context_create();
  assert_int_equal(rpinn_reproduction_write_tables(context, reproduction), RPINN_OK);
  snprintf(file, sizeof file, "reproduce-%s.md", name);
  check_golden(file, &reproduction->text);
  snprintf(file, sizeof file, "reproduce-%s.csv", name);
  check_golden(file, &reproduction->csv);
  snprintf(file, sizeof file, "reproduce-%s.json", name);
  check_golden(file, &reproduction->json);
  rpinn_context_destroy(context);
}

static void free_texts(RpinnReproduction *reproduction) {
  rpinn_text_free(&reproduction->text);
  rpinn_text_free(&reproduction->csv);
  rpinn_text_free(&reproduction->json);
  rpinn_text_free(&reproduction->outcome);
}

static void rows_of_a_table(void **state) {
  (void)state;
  RpinnReproducedRun runs[4];
  RpinnReproducedRow rows[4];
  make_runs(runs);
  make_rows(runs, rows);
  RpinnReproduction reproduction = {.entry = entry_of("table1"),
                                    .scale = RPINN_SCALE_MEDIUM,
                                    .has_data = true,
                                    .num_runs = 4,
                                    .runs = runs,
                                    .num_rows = 4,
                                    .rows = rows};
  check_texts(&reproduction, "table");
  /* of the rows whose runs were made: 2 + 5 and 2 and 1 */
  assert_string_equal(reproduction.outcome.bytes, "7 agree, 2 differ, 1 reported only");
  free_texts(&reproduction);
  reproduction = (RpinnReproduction){.entry = entry_of("table4"),
                                     .scale = RPINN_SCALE_QUICK,
                                     .num_runs = 2,
                                     .runs = runs,
                                     .num_rows = 1,
                                     .rows = rows};
  check_texts(&reproduction, "quick");
  assert_string_equal(reproduction.outcome.bytes, "not judged");
  free_texts(&reproduction);
}

/* ---- chains ---- */

static void tables_of_chains(void **state) {
  (void)state;
  RpinnReproducedChain ours[] = {{2, {{0.011, 12}, {0.013, 14}}}, {1, {{0.021, 22}, {0.0135, 24}}}},
                       theirs[] = {{3, {{0.31, 32}, {0.33, 34}}},
                                   {1, {{0.41, 42}, {0.43, 44}}},
                                   {2, {{0.51, 52}, {nothing, nothing}}}};
  RpinnReproducedRun runs[2];
  for (size_t r = 0; r < 2; r++)
    runs[r] = (RpinnReproducedRun){.paper_case = r ? &flow : &linear,
                                   .method = RPINN_PAPER_NUTS,
                                   .name = r ? "flow" : "linear",
                                   .settings = "chains 2",
                                   .departures = "",
                                   .members = 200,
                                   .chains = 2,
                                   .warmup = 50,
                                   .iterations = nothing,
                                   .seconds = 77};
  RpinnReproducedChains tables[2];
  for (size_t r = 0; r < 2; r++)
    tables[r] = (RpinnReproducedChains){.run = &runs[r],
                                        .num_ours = 2,
                                        .num_published = 3,
                                        .ours = ours,
                                        .published = theirs,
                                        .worst = {r ? NULL : &rerun, r ? NULL : &divided},
                                        .quantities = {{1.5, 2.5}, {1.25, 30}},
                                        .parameters = {3.5, 4.5}};
  RpinnReproduction reproduction = {.entry = entry_of("table3"),
                                    .scale = RPINN_SCALE_PAPER,
                                    .has_data = true,
                                    .num_runs = 2,
                                    .runs = runs,
                                    .num_chain_tables = 2,
                                    .chain_tables = tables};
  check_texts(&reproduction, "chains");
  assert_string_equal(reproduction.outcome.bytes,
                      "sigma 0.1: rl2 ranges over 1.0e-02 in u and 5.0e-04 in f, R-hat up to 3.5; "
                      "sigma 1: rl2 ranges over 1.0e-02 in y and 5.0e-04 in h, R-hat up to 3.5");
  free_texts(&reproduction);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_a_table), cmocka_unit_test(tables_of_chains)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
