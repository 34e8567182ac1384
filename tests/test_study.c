/* Studies: published figures, bootstrap errors, verdicts. */
#include "check.h"

#include <string.h>

#include "bootstrap.h"
#include "random_stream.h"
#include "reproduce_state.h"

static void test_published(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  RpinnPublishedTable table;
  assert_null(rpinn_published_text("table9"));
  assert_int_equal(rpinn_published_parse(context, arena, "table1", rpinn_published_text("table1"), &table),
                   RPINN_OK);
  assert_int_equal(table.num_rows, 4 * 8 + 2 * 7);
  const RpinnPublishedRow *row = rpinn_published_find(&table, "32", "0.1", "ensemble", "u", false);
  assert_true(row && row->metrics[RPINN_TABLE_LPP_TABLE] == -3580 &&
              row->metrics[RPINN_TABLE_COVERAGE] == 0.2 && row->seconds == 418 && isnan(row->members));
  row = rpinn_published_find(&table, "128", "0.01", "rpinn", "f", true);
  assert_true(row && row->metrics[RPINN_TABLE_RL2] == 1.41e-2 && row->members == 5000 && isnan(row->seconds));
  assert_null(rpinn_published_find(&table, "128", "0.01", "ensemble", "f", true));
  assert_int_equal(rpinn_published_parse(context, arena, "table2", rpinn_published_text("table2"), &table),
                   RPINN_OK);
  assert_int_equal(table.num_rows, 2 * 6 + 2 * 2);
  row = rpinn_published_find(&table, "32", "0.01", "rpinn", "u", true);
  assert_true(row && row->members == 1000 && row->iterations == 20000);
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
    double shift = far ? 1e6 : 0, reference[] = {7, 1 + shift}, errors[RPINN_NUM_TABLE_METRICS],
           again[RPINN_NUM_TABLE_METRICS];
    RpinnKeptDraws *kept = rpinn_kept_draws_create(2, 1);
    RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
    for (size_t i = 0; i < COUNT; i++) {
      double draw[] = {-1, 1.5 + shift + s * rpinn_stream_normal(&stream)};
      assert_int_equal(rpinn_kept_draws_add(kept, i, draw), RPINN_OK);
    }
    assert_true(rpinn_kept_draws_get(kept, 3)[0] == -1);
    assert_int_equal(rpinn_bootstrap_errors(kept, 1, 1, reference + 1, 0, RESAMPLES, errors), RPINN_OK);
    check_close(errors[RPINN_TABLE_LINF], s / sqrt(COUNT), 0.15);
    check_close(errors[RPINN_TABLE_RL2], s / sqrt(COUNT) / (1 + shift), 0.15);
    check_close(errors[RPINN_TABLE_MEAN_STD], s / sqrt(2 * COUNT), 0.15);
    assert_true(errors[RPINN_TABLE_COVERAGE] == 0);
    assert_int_equal(rpinn_bootstrap_errors(kept, 1, 1, reference + 1, 0, RESAMPLES, again), RPINN_OK);
    assert_memory_equal(errors, again, sizeof errors);
    rpinn_kept_draws_destroy(kept);
  }
}

static void test_too_few_draws(void **state) {
  (void)state;
  double reference = 1, draw = 2, errors[RPINN_NUM_TABLE_METRICS];
  RpinnKeptDraws *kept = rpinn_kept_draws_create(1, 1);
  rpinn_kept_draws_add(kept, 0, &draw);
  assert_int_equal(rpinn_bootstrap_errors(kept, 0, 1, &reference, 0, 10, errors), RPINN_OK);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) assert_true(isnan(errors[k]));
  rpinn_kept_draws_destroy(kept);
}

static void test_verdicts(void **state) {
  (void)state;
  const RpinnPaperCase paper = {"table2", "p", "32", "0.01", 1000, 20000, RPINN_TABLE_RL2},
                       other = {"table1", "p", "32", "0.01", 1000, 20000, RPINN_NUM_TABLE_METRICS};
  const RpinnPublishedRow rerun = {.members = 5000, .metrics = {1, 1, 1, -1000, 0.02}};
  RpinnReproduction reproduction = {.is_paper_scale = true, .has_data = true};
  /* As many members: 4 sqrt(2) e + 0.02 |rerun|, and half a per cent for the coverage. */
  const double tolerance = 4 * sqrt(2) * 0.01 + 0.02;
  RpinnReproducedRow row = {.paper_case = &paper,
                            .quantity = "u",
                            .rerun = &rerun,
                            .members = 5000,
                            .errors = {0.01, 0.01, 0.01, 10, 0},
                            .ours = {9, 1 + 0.999 * tolerance, 1 + 1.001 * tolerance, -1020, 0.0254}};
  rpinn_reproduction_judge(&reproduction, &row);
  check_close(row.tolerances[RPINN_TABLE_LINF], tolerance, 1e-14);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_VERDICT_REPORTED);
  assert_int_equal(row.verdicts[RPINN_TABLE_LINF], RPINN_VERDICT_AGREES);
  assert_int_equal(row.verdicts[RPINN_TABLE_MEAN_STD], RPINN_VERDICT_DIFFERS);
  assert_int_equal(row.verdicts[RPINN_TABLE_LPP_TABLE], RPINN_VERDICT_AGREES);
  assert_int_equal(row.verdicts[RPINN_TABLE_COVERAGE], RPINN_VERDICT_AGREES);
  row.ours[RPINN_TABLE_COVERAGE] = 0.0255;
  row.ours[RPINN_TABLE_LINF] = (double)NAN;
  row.paper_case = &other;
  rpinn_reproduction_judge(&reproduction, &row);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_VERDICT_DIFFERS);
  assert_int_equal(row.verdicts[RPINN_TABLE_COVERAGE], RPINN_VERDICT_DIFFERS);
  assert_int_equal(row.verdicts[RPINN_TABLE_LINF], RPINN_VERDICT_DIFFERS); /* no number agrees with nothing */
  row.members = 1000; /* fewer of ours: the re-run's error is smaller than ours */
  rpinn_reproduction_judge(&reproduction, &row);
  check_close(row.tolerances[RPINN_TABLE_LINF], 4 * sqrt(1.2) * 0.01 + 0.02, 1e-14);
  reproduction.has_data = false;
  rpinn_reproduction_judge(&reproduction, &row);
  assert_int_equal(row.verdicts[RPINN_TABLE_RL2], RPINN_VERDICT_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_published), cmocka_unit_test(test_bootstrap),
                                     cmocka_unit_test(test_too_few_draws), cmocka_unit_test(test_verdicts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
