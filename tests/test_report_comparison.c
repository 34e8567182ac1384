/* Runs side by side: each panel shows its own run, on axes and colours that hold all of them; and runs that do not belong
 * together are refused with the reason. */
#include "figure_bench.h"

#include "report_compare.h"

static const char *const rpinn_settings[] = {"samples", "39", "iterations", "10", NULL},
                         *const ensemble_settings[] = {"method",     "ensemble", "samples", "40",
                                                       "iterations", "10",       NULL};

static FigureBench compare_two(ReportBench first, ReportBench second) {
  FigureBench drawn = {.made = first};
  RpinnRun *runs[2] = {first.run, second.run};
  RpinnReport report = {.context = first.bench.context, .page = &drawn.page, .figures = &drawn.figures};
  bench_require(&first.bench, rpinn_report_comparison(&report, 2, runs), "comparison");
  return drawn;
}

/* Mean base + x, band from a quarter below it to a half above. */
static ReportBench make_beam(const char *const *settings, double base) {
  ReportBench made = report_bench(beam, settings);
  for (size_t p = 0; p < 6; p++) {
    made.run->results.mean[p] = base + (double)p;
    made.run->results.low[p] = base + (double)p - 0.25;
    made.run->results.high[p] = base + (double)p + 0.5;
  }
  return made;
}

static void curves_of_each_run(void **state) {
  (void)state;
  ReportBench other = make_beam(ensemble_settings, 200);
  FigureBench drawn = compare_two(make_beam(rpinn_settings, 100), other);
  const char *data = sheet_of(&drawn, "bend")->blocks.bytes;
  static const char *const blocks[] = {"$d1 << EOD\n0 102.75 103.5 \n1 103.75 104.5 \n2 104.75 105.5 \nEOD\n",
                                       "$d3 << EOD\n0 103 \n1 104 \n2 105 \nEOD\n",
                                       "$d5 << EOD\n0 202.75 203.5 \n1 203.75 204.5 \n2 204.75 205.5 \nEOD\n",
                                       "$d7 << EOD\n0 203 \n1 204 \n2 205 \nEOD\n"};
  for (size_t k = 0; k < 4; k++) check_true(strstr(data, blocks[k]) != NULL, "no\n%sin\n%s", blocks[k], data);
  assert_int_equal(sheet_of(&drawn, "bend")->num_panels, 2);
  check_panel(&drawn, "bend", "  set title \"rpinn\" noenhanced\n");
  check_panel(&drawn, "bend", "  set title \"ensemble\" noenhanced\n");
  /* From 2 - 0.3, the data less their noise, to 205.5, and a twentieth more on both sides: both panels. */
  const char *panels = sheet_of(&drawn, "bend")->panels.bytes, *range = "  set yrange [-8.49:215.69]\n";
  const char *first = strstr(panels, range);
  check_true(first && strstr(first + 1, range), "not twice %sin\n%s", range, panels);
  report_bench_close(&other);
  close_figures(&drawn);
}

static ReportBench make_plate(const char *const *settings, double base) {
  ReportBench made = report_bench(plate, settings);
  const double *x = made.run->posteriors[0]->data->predict.x;
  for (size_t p = 0; p < 6; p++) {
    made.run->results.mean[p] = base + 10 * x[2 * p] + 2 * x[2 * p + 1];
    made.run->results.deviation[p] = base / 100;
  }
  return made;
}

static void maps_of_each_run(void **state) {
  (void)state;
  ReportBench other = make_plate(ensemble_settings, 200);
  FigureBench drawn = compare_two(make_plate(rpinn_settings, 100), other);
  check_data(&drawn, "u-mean",
             "$d1 << EOD\n102 112 122 \n98 108 118 \nEOD\n$d2 << EOD\n0.5 -0.25 \nEOD\n"
             "$d3 << EOD\n202 212 222 \n198 208 218 \nEOD\n$d4 << EOD\n0.5 -0.25 \nEOD\n");
  check_panel(&drawn, "u-mean", "  set cbrange [-1:222]\n"); /* with the truth, from -1 to 21 */
  check_data(&drawn, "u-truth", "$d1 << EOD\n1 11 21 \n-1 9 19 \nEOD\n");
  check_panel(&drawn, "u-truth", "  set cbrange [-1:222]\n");
  check_data(&drawn, "u-std",
             "$d1 << EOD\n1 1 1 \n1 1 1 \nEOD\n$d2 << EOD\n0.5 -0.25 \nEOD\n"
             "$d3 << EOD\n2 2 2 \n2 2 2 \nEOD\n$d4 << EOD\n0.5 -0.25 \nEOD\n");
  check_panel(&drawn, "u-std", "  set cbrange [0:2]\n");
  check_panel(&drawn, "u-std", "  set title \"rpinn: std\" noenhanced\n");
  check_panel(&drawn, "u-std", "  set title \"ensemble: std\" noenhanced\n");
  report_bench_close(&other);
  close_figures(&drawn);
}

/* The same problem with one thing changed. */
static void runs_that_do_not_belong_together(void **state) {
  (void)state;
#define BOARD(name, high, truth, grid, quantities)                                                           \
  "name: " name "\ncoordinates: {x: [0, " high                                                               \
  "]}\nfields:\n  u: {network: [4]}\n  v: {network: [4]}\ntruth: {u: " truth                                 \
  "}\nterms:\n  d: {expect: u + v, at: {grid: 3}, data: 1, noise: 0.1}\n"                                    \
  "prior: {reference_term: d}\npredict: {grid: " grid ", quantities: [" quantities "]}\n"
  static const struct {
    const char *text, *reason;
  } cases[] = {{BOARD("board", "1", "x", "3", "u"), NULL},
               {BOARD("other", "1", "x", "3", "u"), "this is a run of problem 'other'"},
               {BOARD("board", "2", "x", "3", "u"), "its coordinates differ"},
               {BOARD("board", "1", "2*x", "3", "u"), "its truth differs"},
               {BOARD("board", "1", "x", "4", "u"), "its predictions are at other points"},
               {BOARD("board", "1", "x", "3", "v"), "it predicts other quantities"},
               {BOARD("board", "1", "x", "3", "u, v"), "it predicts other quantities"}};
  ReportBench first = report_bench(cases[0].text, rpinn_settings);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    ReportBench second = report_bench(cases[k].text, ensemble_settings);
    RpinnRun *runs[2] = {first.run, second.run};
    RpinnText page = {0};
    RpinnReport report = {.context = first.bench.context, .page = &page};
    RpinnStatus status = rpinn_report_comparison(&report, 2, runs);
    assert_int_equal(status, cases[k].reason ? RPINN_ERROR_INPUT : RPINN_OK);
    if (cases[k].reason) {
      const char *message = rpinn_context_error(first.bench.context)->message;
      check_true(strstr(message, cases[k].reason) != NULL, "no '%s' in: %s", cases[k].reason, message);
    }
    rpinn_text_free(&page);
    report_bench_close(&second);
  }
  report_bench_close(&first);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(curves_of_each_run), cmocka_unit_test(maps_of_each_run),
                                     cmocka_unit_test(runs_that_do_not_belong_together)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
