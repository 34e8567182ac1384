/* The numbers in the figures of a report are those of the run, and lie on the axes that name them. Figures are read as
 * scripts for print, which hold what they draw; test_svg_plot.c looks at what the page makes of the same calls. */
#include "figure_bench.h"

#include "member_statistics.h"

/* ---- one coordinate ---- */

static void replace_draws(RpinnRunResults *results, size_t count, const double *values) {
  size_t width = rpinn_kept_draws_num_values(results->kept);
  rpinn_kept_draws_destroy(results->kept);
  results->kept = rpinn_kept_draws_create(width, 1);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(rpinn_kept_draws_add(results->kept, i, values + i * width), RPINN_OK);
}

/* u at x = 0, 1, 2, then bend there, then the held-out term at its two points, then c. */
static ReportBench make_beam(void) {
  static const char *const settings[] = {"samples", "2", "iterations", "10", NULL};
  enum { WIDTH = 9 };
  static const double mean[WIDTH] = {1, 2, 3, 40, 50, 60}, low[WIDTH] = {0.5, 1.5, 2.5, 30, 45, 55},
                      high[WIDTH] = {1.25, 2.25, 9, 42, 52, 70},
                      draws[2 * WIDTH] = {0.75, 1.75, 2.75, 31, 46, 56, 0, 0, 0, 1.5, 2.5, 3.5, 41, 51, 61};
  ReportBench made = report_bench(beam, settings);
  RpinnRunResults *results = &made.run->results;
  assert_int_equal(rpinn_kept_draws_num_values(results->kept), WIDTH);
  memcpy(results->mean, mean, sizeof mean);
  memcpy(results->low, low, sizeof low);
  memcpy(results->high, high, sizeof high);
  replace_draws(results, 2, draws);
  results->num_draws = 39; /* so that there are intervals */
  return made;
}

static void append_data_points(const ReportBench *made, const char *term, RpinnText *text) {
  const RpinnTermData *data = &made->run->posteriors[0]->data->terms[bench_term(&made->bench, term)];
  for (size_t i = 0; i < data->points.count; i++)
    rpinn_text_append(text, "%.7g %.7g \n", data->points.x[i], data->values[i]);
}

static void curves(void **state) {
  (void)state;
  FigureBench drawn = draw(make_beam());
  RpinnText expected = {0};
  rpinn_text_append(&expected, "$d1 << EOD\n0 0.5 1.25 \n1 1.5 2.25 \n2 2.5 9 \nEOD\n" /* band */
                               "$d2 << EOD\n0 0.75 \n1 1.75 \n2 2.75 \nEOD\n"          /* draws */
                               "$d3 << EOD\n0 1.5 \n1 2.5 \n2 3.5 \nEOD\n$d4 << EOD\n");
  append_data_points(&drawn.made, "d", &expected);
  rpinn_text_append(&expected, "EOD\n$d5 << EOD\n");
  append_data_points(&drawn.made, "later", &expected);
  rpinn_text_append(&expected, "EOD\n$d6 << EOD\n0 1 \n1 2 \n2 3 \nEOD\n" /* mean */
                               "$d7 << EOD\n0 0 \n1 1 \n2 2 \nEOD\n");    /* truth */
  check_data(&drawn, "u", expected.bytes);
  check_panel(&drawn, "u",
              "  set xlabel \"x [m]\" noenhanced\n  unset logscale x\n  set xrange [-0.03:2.03]\n");
  check_panel(&drawn, "u", "  set ylabel \"u [Pa]\" noenhanced\n");
  check_panel(&drawn, "u", "$d4  using 1:2:(0.1) with yerrorbars");
  check_panel(&drawn, "u", "$d5  using 1:2:(0.2) with yerrorbars");
  check_panel(&drawn, "u", "$d4 using 1:2 with points pt 7 ps 0.6 lw 0.7 lc rgb \"#00d55e00\"");
  check_panel(&drawn, "u", "$d5 using 1:2 with points pt 5 ps 0.6 lw 0.7 lc rgb \"#00ffffff\""); /* hollow */
  /* c du/dx, of which the term pde is data */
  rpinn_text_free(&expected);
  expected = (RpinnText){0};
  rpinn_text_append(&expected, "$d1 << EOD\n0 30 42 \n1 45 52 \n2 55 70 \nEOD\n"
                               "$d2 << EOD\n0 31 \n1 46 \n2 56 \nEOD\n$d3 << EOD\n0 41 \n1 51 \n2 61 \nEOD\n"
                               "$d4 << EOD\n");
  append_data_points(&drawn.made, "pde", &expected);
  rpinn_text_append(&expected,
                    "EOD\n$d5 << EOD\n0 40 \n1 50 \n2 60 \nEOD\n$d6 << EOD\n0 2 \n1 2 \n2 2 \nEOD\n");
  check_data(&drawn, "bend", expected.bytes);
  /* from 2 - 0.3, the data less their noise, to 70, and a twentieth more on both sides */
  check_panel(&drawn, "bend", "  set yrange [-1.715:73.415]\n");
  check_panel(&drawn, "bend", "  set ylabel \"bend\" noenhanced\n");
  rpinn_text_free(&expected);
  close_figures(&drawn);
}

/* ---- members ---- */

static void losses(void **state) {
  (void)state;
  ReportBench made = make_beam();
  RpinnRunResults *results = &made.run->results;
  assert_true(results->num_traces == 2 && results->traces[0].count > 1 && results->traces[1].count > 1);
  for (size_t k = 0; k < 2; k++) {
    const double points[] = {0, 100 - 10 * (double)k, 10, 1 + (double)k};
    memcpy(results->traces[k].points, points, sizeof points);
    results->traces[k].count = 2;
  }
  /* Losses 10, 11, 12, 13, 18: five bins of 1.6. */
  static const double ends[] = {12, 10, 18, 11, 13};
  size_t width = rpinn_kept_draws_num_values(results->statistics);
  double *row = calloc(width, sizeof *row);
  rpinn_kept_draws_destroy(results->statistics);
  results->statistics = rpinn_kept_draws_create(width, 1);
  for (size_t i = 0; i < 5; i++) {
    row[RPINN_MEMBER_LOSS] = ends[i];
    assert_int_equal(rpinn_kept_draws_add(results->statistics, i, row), RPINN_OK);
  }
  free(row);
  FigureBench drawn = draw(made);
  check_data(&drawn, "loss-traces", "$d1 << EOD\n0 100 \n10 1 \nEOD\n$d2 << EOD\n0 90 \n10 2 \nEOD\n");
  check_panel(&drawn, "loss-traces",
              "  set xlabel \"iteration\" noenhanced\n  unset logscale x\n"
              "  set xrange [-0.15:10.15]\n");
  check_panel(&drawn, "loss-traces",
              "  set ylabel \"loss\" noenhanced\n  unset logscale y\n"
              "  set yrange [0.794328235:125.892541]\n  set logscale y\n");
  check_data(&drawn, "loss-histogram",
             "$d1 << EOD\n10 11.6 2 \n11.6 13.2 2 \n13.2 14.8 0 \n14.8 16.4 0 \n"
             "16.4 18 1 \nEOD\n");
  check_panel(&drawn, "loss-histogram",
              "  set xlabel \"loss\" noenhanced\n  unset logscale x\n"
              "  set xrange [9.76:18.24]\n");
  check_panel(&drawn, "loss-histogram",
              "  set ylabel \"members\" noenhanced\n  unset logscale y\n"
              "  set yrange [0:2.1]\n");
  RpinnText text = read_page(drawn.page.bytes);
  check_lines(&text, "Loss while it is minimised, of 2 members");
  check_lines(&text, "Loss at the end, of 5 members");
  rpinn_text_free(&text);
  close_figures(&drawn);
}

/* A loss that nobody followed has no figure. */
static void losses_without_a_way(void **state) {
  (void)state;
  ReportBench made = make_beam();
  for (size_t k = 0; k < made.run->results.num_traces; k++) made.run->results.traces[k].count = 1;
  FigureBench drawn = draw(made);
  assert_null(strstr(drawn.page.bytes, "Loss while it is minimised"));
  assert_non_null(strstr(drawn.page.bytes, "Loss at the end"));
  close_figures(&drawn);
}

/* ---- particles ---- */

static void particles(void **state) {
  (void)state;
  static const char *const settings[] = {"method", "svgd", "samples", "3", "iterations", "10", NULL};
  ReportBench made = report_bench(beam, settings);
  RpinnParticleTrace *trace = &made.run->results.particles;
  assert_true(trace->num_rows >= 2 && trace->width == 5 + 2 * RPINN_TRACE_SCORES);
  trace->num_rows = 2;
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < trace->width; k++) trace->rows[i * trace->width + k] = (double)(100 * i + k);
  trace->rows[0] = 1, trace->rows[trace->width] = 8;
  FigureBench drawn = draw(made);
  check_data(&drawn, "svgd-std", "$d1 << EOD\n1 7 \n8 107 \nEOD\n$d2 << EOD\n1 13 \n8 113 \nEOD\n");
  check_panel(&drawn, "svgd-std", "  set ylabel \"mean std\" noenhanced\n");
  check_panel(&drawn, "svgd-std", "  set logscale y\n");
  check_data(&drawn, "svgd-coverage", "$d1 << EOD\n1 10 \n8 110 \nEOD\n$d2 << EOD\n1 16 \n8 116 \nEOD\n");
  check_panel(&drawn, "svgd-coverage",
              "  set ylabel \"coverage\" noenhanced\n  unset logscale y\n"
              "  set yrange [4.7:121.3]\n");
  check_panel(&drawn, "svgd-coverage", "  set xrange [0.895:8.105]\n");
  check_data(&drawn, "svgd-stein", "$d1 << EOD\n1 4 \n8 104 \nEOD\n");
  check_panel(&drawn, "svgd-stein", "  set ylabel \"discrepancy\" noenhanced\n");
  assert_non_null(strstr(sheet_of(&drawn, "svgd-std")->keys.bytes,
                         "with lines lw 1.5 lc rgb \"#000072b2\" title \"u\" noenhanced"));
  assert_non_null(strstr(sheet_of(&drawn, "svgd-std")->keys.bytes,
                         "with lines lw 1.5 lc rgb \"#00d55e00\" title \"bend\" noenhanced"));
  close_figures(&drawn);
}

/* ---- chains ---- */

static size_t bar_of(double rhat) { /* of 30 from 0.995 to 2.0002 */
  return (size_t)floor(30 * (rhat - 0.995) / (2 * 1.0001 - 0.995));
}

/* The heights of the bars of a histogram, as many in each as the case says. */
static void check_bars(const FigureBench *drawn, const char *name, const size_t expected[30]) {
  const char *at = strchr(sheet_of(drawn, name)->blocks.bytes, '\n') + 1;
  for (size_t k = 0; k < 30; k++, at = strchr(at, '\n') + 1) {
    double low, high, height;
    assert_int_equal(sscanf(at, "%lf %lf %lf", &low, &high, &height), 3);
    double step = (2 * 1.0001 - 0.995) / 30;
    check_true(fabs(low - (0.995 + (double)k * step)) < 1e-5 && fabs(high - low - step) < 1e-5 &&
                   height == (double)expected[k],
               "%s: bar %zu from %g to %g has height %g, expected %zu", name, k, low, high, height,
               expected[k]);
  }
}

static void chains(void **state) {
  (void)state;
  static const char *const settings[] = {"method", "nuts",   "samples", "6", "warmup",
                                         "9",      "chains", "2",       NULL};
  ReportBench made = report_bench(beam, settings);
  RpinnChainResults *results = &made.run->results.chains;
  size_t outputs[30] = {0}, parameters[30] = {0};
  for (size_t i = 0; i < results->num_outputs; i++) results->outputs[i].rhat = 1.001;
  for (size_t i = 0; i < results->num_parameters; i++) results->parameters[i].rhat = 1.2;
  results->outputs[1].rhat = 1.5, results->outputs[2].rhat = (double)NAN, results->outputs[3].rhat = 2;
  results->parameters[0].rhat = 1.9;
  outputs[bar_of(1.001)] = 6, outputs[bar_of(1.5)] = 1, outputs[bar_of(2)] = 1;
  parameters[bar_of(1.2)] = 13, parameters[bar_of(1.9)] = 1;
  results->best = 4, results->worst = 0;
  results->num_trace = 3, results->trace_every = 2;
  const double best[] = {1, 2, 3, 4, 5, 6}, worst[] = {11, 12, 13, 14, 15, 16},
               energy[] = {21, 22, 23, 24, 25, 31};
  memcpy(results->best_trace, best, sizeof best);
  memcpy(results->worst_trace, worst, sizeof worst);
  memcpy(results->energy_trace, energy, sizeof energy);
  FigureBench drawn = draw(made);
  check_bars(&drawn, "rhat-predictions", outputs);
  check_bars(&drawn, "rhat-parameters", parameters);
  check_panel(&drawn, "rhat-predictions", "  set xlabel \"R-hat\" noenhanced\n");
  check_panel(&drawn, "rhat-predictions", "  set yrange [0:6.3]\n"); /* 1.05 times 6 */
  assert_non_null(
      strstr(sheet_of(&drawn, "rhat-predictions")->blocks.bytes, "$d2 << EOD\n1.01 0 \n1.01 6.3 \nEOD\n"));
  check_data(&drawn, "trace-best", "$d1 << EOD\n1 1 \n3 2 \n5 3 \nEOD\n$d2 << EOD\n1 4 \n3 5 \n5 6 \nEOD\n");
  check_data(&drawn, "trace-worst",
             "$d1 << EOD\n1 11 \n3 12 \n5 13 \nEOD\n$d2 << EOD\n1 14 \n3 15 \n5 16 \nEOD\n");
  check_data(&drawn, "energies",
             "$d1 << EOD\n1 21 \n3 22 \n5 23 \nEOD\n$d2 << EOD\n1 24 \n3 25 \n5 31 \nEOD\n");
  check_panel(&drawn, "energies",
              "  set xlabel \"draw\" noenhanced\n  unset logscale x\n  set xrange [0.94:5.06]\n");
  check_panel(&drawn, "energies",
              "  set ylabel \"energy\" noenhanced\n  unset logscale y\n  set yrange [20.5:31.5]\n");
  check_panel(&drawn, "trace-best", "  set ylabel \"value\" noenhanced\n");
  RpinnText text = read_page(drawn.page.bytes);
  check_lines(&text, "Parameter 4, the best mixed of all: R-hat 1.200");
  check_lines(&text, "Parameter 0, the worst mixed of all: R-hat 1.900");
  rpinn_text_free(&text);
  close_figures(&drawn);
}

/* ---- two coordinates ---- */

/* The mean is 10 x + 2 y, the deviation x + 2 + y/4: at (0, -1), (1, -1), … each of its own. */
static ReportBench make_plate(void) {
  static const char *const settings[] = {"samples", "2", "iterations", "10", NULL};
  ReportBench made = report_bench(plate, settings);
  const RpinnPointSet *points = &made.run->posteriors[0]->data->predict;
  assert_int_equal(points->count, 6);
  for (size_t p = 0; p < 6; p++) {
    double x = points->x[2 * p], y = points->x[2 * p + 1];
    made.run->results.mean[p] = 10 * x + 2 * y;
    made.run->results.deviation[p] = x == 2 ? 0.25 : x + 2 + y / 4;
  }
  return made;
}

/* The first row of an image lies at the top, y = 1; columns run along x; the axes are those of the domain. */
static void maps(void **state) {
  (void)state;
  FigureBench drawn = draw(make_plate());
  static const struct {
    const char *name, *title, *rows, *colours;
    bool has_points;
  } cases[] = {{"u-truth", "u [K]: truth", "1 11 21 \n-1 9 19 \n", "[-2:22]", false},
               {"u-mean", "u [K]: mean", "2 12 22 \n-2 8 18 \n", "[-2:22]", true},
               {"u-error", "u [K]: absolute error of the mean", "1 1 1 \n1 1 1 \n", "[0:1]", true},
               {"u-std", "u [K]: standard deviation", "2.25 3.25 0.25 \n1.75 2.75 0.25 \n", "[0:3.25]", true},
               {"u-coverage", "u: coverage by two standard deviations", "1 1 0 \n1 1 0 \n", "[0:1]", true}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    char text[256];
    snprintf(text, sizeof text, "$d1 << EOD\n%sEOD\n%s", cases[k].rows,
             cases[k].has_points ? "$d2 << EOD\n0.5 -0.25 \nEOD\n" : "");
    check_data(&drawn, cases[k].name, text);
    snprintf(text, sizeof text, "  set title \"%s\" noenhanced\n", cases[k].title);
    check_panel(&drawn, cases[k].name, text);
    snprintf(text, sizeof text, "  set cbrange %s\n", cases[k].colours);
    check_panel(&drawn, cases[k].name, text);
    check_panel(&drawn, cases[k].name,
                "  set xlabel \"x [m]\" noenhanced\n  unset logscale x\n  set xrange [0:2]\n");
    check_panel(&drawn, cases[k].name,
                "  set ylabel \"y [km]\" noenhanced\n  unset logscale y\n  set yrange [-1:1]\n");
    /* pixels of 1 by 2 around their points, which reach over the edges by a half */
    check_panel(&drawn, cases[k].name, "$d1 matrix using (0+$1*1):(1-$2*2):3 with image pixels notitle");
  }
  close_figures(&drawn);
}

/* On the page itself: the image over the axes, three by two pixels. */
static void maps_on_the_page(void **state) {
  (void)state;
  FigureBench drawn = draw(make_plate());
  /* Axes of 242 by 242, for a domain of 2 by 2; the image is larger by half a pixel on every side. */
  const char *at = strstr(drawn.page.bytes, "aria-label=\"Map of u: mean\"");
  assert_non_null(at);
  double x, y, width, height;
  const char *image = strstr(at, "<image ");
  assert_non_null(image);
  assert_int_equal(
      sscanf(image, "<image x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, &y, &width, &height), 4);
  check_close(x, -60.5, 1e-9);
  check_close(y, -121, 1e-9);
  check_close(width, 363, 1e-9);
  check_close(height, 484, 1e-9);
  /* The point at (0.5, -0.25). */
  assert_non_null(strstr(at, "<circle cx=\"60.50\" cy=\"151.25\""));
  close_figures(&drawn);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(curves),          cmocka_unit_test(losses), cmocka_unit_test(losses_without_a_way),
      cmocka_unit_test(particles),       cmocka_unit_test(chains), cmocka_unit_test(maps),
      cmocka_unit_test(maps_on_the_page)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
