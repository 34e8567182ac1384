/* The verdict on each figure of a table, just inside and just outside of its tolerance, above and below. */
#include "check.h"

#include "reproduce_state.h"

static const RpinnPaperCase *find_case(const char *table, const char *sigma) {
  for (size_t c = 0; c < rpinn_num_paper_cases(); c++)
    if (!strcmp(rpinn_paper_case(c)->table, table) && !strcmp(rpinn_paper_case(c)->sigma, sigma))
      return rpinn_paper_case(c);
  fail_msg("no case %s, %s", table, sigma);
  return NULL;
}

static void each_figure_on_both_sides(void **state) {
  (void)state;
  static const double metrics[] = {0.03, 0.4, 0.02, -1000, 0.9}, errors[] = {0.001, 0.02, 0.003, 40, 0.01},
                      digits[] = {0, 0, 0, 0, 0.01}; /* shares are printed as whole per cent */
  const RpinnPaperCase *paper = find_case("table1", "0.1");
  RpinnPublishedRow rerun = {.members = 2000, .iterations = 20000};
  RpinnReproduction reproduction = {.scale = RPINN_SCALE_PAPER, .has_data = true};
  RpinnReproducedRun run = {.paper_case = paper,
                            .method = RPINN_PAPER_RPINN,
                            .members = 5000,
                            .chains = (double)NAN,
                            .iterations = 20000};
  RpinnReproducedRow row = {.run = &run, .rerun = &rerun};
  assert_int_equal(RPINN_NUM_TABLE_METRICS, 5);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    rerun.metrics[k] = metrics[k], row.errors[k] = errors[k];
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
    double tolerance =
        4 * errors[k] * sqrt(1 + 5000.0 / 2000) + paper->slack * fabs(metrics[k]) + digits[k] / 2;
    for (int side = -1; side <= 1; side += 2)
      for (int beyond = 0; beyond < 2; beyond++) {
        for (size_t other = 0; other < RPINN_NUM_TABLE_METRICS; other++) row.ours[other] = metrics[other];
        row.ours[k] = metrics[k] + side * tolerance * (beyond ? 1.0001 : 0.9999);
        rpinn_reproduction_judge(&reproduction, &row);
        assert_null(row.unjudged);
        check_relative(row.tolerances[k], tolerance, 1e-12);
        for (size_t other = 0; other < RPINN_NUM_TABLE_METRICS; other++)
          check_true(row.verdicts[other] ==
                         (other == k && beyond ? RPINN_AGREEMENT_DIFFERS : RPINN_AGREEMENT_AGREES),
                     "figure %zu: ours is %g, the re-run's %g, within %g: verdict %d on figure %zu", k,
                     row.ours[k], metrics[k], tolerance, (int)row.verdicts[other], other);
      }
    row.ours[k] = -1e9; /* far below */
    rpinn_reproduction_judge(&reproduction, &row);
    assert_int_equal(row.verdicts[k], RPINN_AGREEMENT_DIFFERS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_figure_on_both_sides)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
