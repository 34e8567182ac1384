/* The page of a run must be well-formed, whole and self-contained, whatever the run was. */
#include <ctype.h>

#include "paper_way.h"
#include "problem_bench.h"
#include "temporary_folder.h"

#include "colour_map.h"
#include "markup.h"
#include "report_maps.h"
#include "report_page.h"
#include "rpinn/report.h"
#include "svg_plot.h"

/* ---- a small reader of markup ---- */

enum { MAX_DEPTH = 64, NAME_SIZE = 32 };

/* Attributes whose numbers must be finite. */
static bool is_numeric(const char *name) {
  static const char *const names[] = {
      "x",         "y",         "width",        "height",         "d",           "cx", "cy", "r", "viewBox",
      "transform", "font-size", "stroke-width", "stroke-opacity", "fill-opacity"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
    if (!strcmp(name, names[k])) return true;
  return false;
}

static const char *read_name(const char *at, char name[NAME_SIZE]) {
  size_t length = 0;
  while (isalnum((unsigned char)*at) || *at == '-' || *at == '!') {
    assert_true(length + 1 < NAME_SIZE);
    name[length++] = *at++;
  }
  name[length] = '\0';
  check_true(length > 0, "no name at: %.60s", at);
  return at;
}

static const char *check_attribute(const char *at) {
  char name[NAME_SIZE];
  at = read_name(at, name);
  check_true(at[0] == '=' && at[1] == '"', "attribute %s without a quoted value", name);
  const char *start = at + 2, *end = strchr(start, '"');
  assert_non_null(end);
  for (const char *p = start; p < end; p++) {
    check_true(*p != '<', "< in attribute %s", name);
    if (is_numeric(name)) check_true(strncmp(p, "nan", 3) && strncmp(p, "inf", 3), "%s=%.80s", name, start);
  }
  return end + 1;
}

static const char *check_entity(const char *at) {
  static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  for (size_t k = 0; k < 4; k++)
    if (!strncmp(at, known[k], strlen(known[k]))) return at + strlen(known[k]);
  const char *end = at + 2 + strspn(at + 2, "0123456789");
  check_true(at[1] == '#' && end > at + 2 && *end == ';', "unknown entity: %.20s", at);
  return end + 1;
}

/* From behind the < to behind the >. */
static const char *check_tag(const char *at, char stack[MAX_DEPTH][NAME_SIZE], size_t *depth) {
  char name[NAME_SIZE];
  if (*at == '!') return strchr(at, '>') + 1;
  bool closes = *at == '/';
  at = read_name(at + closes, name);
  if (closes) {
    check_true(*depth > 0 && !strcmp(stack[*depth - 1], name), "</%s> closes <%s>", name,
               *depth ? stack[*depth - 1] : "nothing");
    (*depth)--;
    assert_int_equal(*at, '>');
    return at + 1;
  }
  while (*at == ' ') at = check_attribute(at + 1);
  if (*at == '/') {
    assert_int_equal(at[1], '>');
    return at + 2;
  }
  check_true(*at == '>', "<%s is not closed: %.40s", name, at);
  assert_true(*depth < MAX_DEPTH);
  memcpy(stack[(*depth)++], name, NAME_SIZE);
  return at + 1;
}

static void check_markup(const char *text) {
  char stack[MAX_DEPTH][NAME_SIZE];
  size_t depth = 0;
  for (const char *at = text; *at;) {
    if (*at == '<')
      at = check_tag(at + 1, stack, &depth);
    else if (*at == '&')
      at = check_entity(at);
    else {
      check_true(*at != '>', "> in text: %.40s", at);
      at++;
    }
  }
  check_true(depth == 0, "<%s> is never closed", depth ? stack[depth - 1] : "");
}

/* ---- runs ---- */

typedef struct RunBench {
  ProblemBench bench;
  RpinnRun *run;
  RpinnText page;
  char folder[32];
} RunBench;

typedef struct Case {
  const char *text, *method, *samples, *retries;
} Case;

static RunBench make_run(Case a) {
  RpinnOverride overrides[] = {PAPER_OVERRIDES,
                               {"method", a.method ? a.method : "rpinn", "test", true},
                               {"samples", a.samples ? a.samples : "6", "test", true},
                               {"iterations", "40", "test", true},
                               {"threads", "1", "test", true},
                               {"retries", a.retries ? a.retries : "2", "test", true}};
  RpinnProblemOptions options = {.num_overrides = NUM_PAPER_OVERRIDES + 5, .overrides = overrides};
  RunBench made = {.bench = bench_parse(a.text, &options), .folder = "report_run_XXXXXX"};
  assert_non_null(mkdtemp(made.folder));
  RpinnRunOptions run_options = {.folder = made.folder};
  bench_require(&made.bench, rpinn_run(made.bench.context, made.bench.problem, &run_options, &made.run),
                "run");
  RpinnReport report = {.context = made.bench.context, .page = &made.page, .run = made.run};
  bench_require(&made.bench, rpinn_report_page(&report), "page");
  return made;
}

static void close_run(RunBench *made) {
  rpinn_text_free(&made->page);
  rpinn_run_destroy(made->run);
  bench_close(&made->bench);
}

static size_t count_of(const RunBench *made, const char *part) {
  size_t count = 0;
  for (const char *at = strstr(made->page.bytes, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

/* What every page has, and has not. */
static void check_page(const RunBench *made) {
  static const char *const sections[] = {"<h1>",
                                         "<h2>Predictions</h2>",
                                         "<h2>Scores</h2>",
                                         "<h2>Members</h2>",
                                         "Loss while it is minimised",
                                         "Why the optimiser stopped",
                                         "<h2>Share of each term in the loss</h2>",
                                         "<h2>Details</h2>",
                                         "All settings",
                                         "<footer>",
                                         "</html>"};
  static const char *const foreign[] = {"http:", "https:", "<script", "src=", "@import", "url("};
  check_markup(made->page.bytes);
  assert_int_equal(strlen(made->page.bytes), made->page.length);
  for (size_t k = 0; k < sizeof sections / sizeof sections[0]; k++)
    check_true(count_of(made, sections[k]) == 1, "%zu times %s", count_of(made, sections[k]), sections[k]);
  for (size_t k = 0; k < sizeof foreign / sizeof foreign[0]; k++)
    check_true(count_of(made, foreign[k]) == 0, "%s", foreign[k]);
}

#define LINE "name: line\ncoordinates: {x: [0, 1]}\nfields:\n  u: {network: [6]}\n"
#define LINE_TERMS                                                                                           \
  "terms:\n  d: {expect: u, at: {grid: 5}, data: truth, noise: 0.1}\n"                                       \
  "  later: {expect: u, at: {grid: 3}, data: truth, noise: 0.1, role: test}\n"                               \
  "  pde: {expect: \"d(u, x)\", at: {grid: 4}, data: 1, noise: 0.1}\n"                                       \
  "prior: {reference_term: d}\npredict: {grid: 21, quantities: [u]}\n"
static const char line[] = LINE "truth: {u: x}\n" LINE_TERMS;
static const char line_without_truth[] =
    LINE "terms:\n  d: {expect: u, at: {grid: 5}, data: 1+x, noise: 0.1}\n"
         "prior: {reference_term: d}\npredict: {grid: 21, quantities: [u]}\n";
static const char plane[] =
    "name: plane\ncoordinates: {x: [0, 1], y: [-1, 1]}\nfields:\n  u: {network: [6]}\n"
    "unknowns:\n  c: {start: 1, transform: log, prior: {mean: 0, std: 1}}\n"
    "truth: {u: x*y, c: 2}\n"
    "terms:\n  d: {expect: u, at: {grid: [3, 2]}, data: truth, noise: 0.1}\n"
    "  e: {expect: \"c*u\", at: {grid: [3, 2]}, data: 1, noise: 0.1}\n"
    "prior: {reference_term: d}\npredict: {grid: [7, 5], quantities: [u]}\n";
static const char scattered[] =
    "name: scattered\ncoordinates: {x: [0, 1], y: [-1, 1]}\nfields:\n  u: {network: [6]}\n"
    "terms:\n  d: {expect: u, at: {grid: [3, 2]}, data: 1, noise: 0.1}\n"
    "prior: {reference_term: d}\npredict: {sobol: 20, quantities: [u]}\n";
static const char space[] = "name: space\ncoordinates: {x: [0, 1], y: [-1, 1], z: [0, 2]}\n"
                            "fields:\n  u: {network: [6]}\n"
                            "terms:\n  d: {expect: u, at: {grid: [3, 2, 2]}, data: 1, noise: 0.1}\n"
                            "prior: {reference_term: d}\npredict: {grid: [3, 2, 2], quantities: [u]}\n";

static void one_coordinate_has_curves(void **state) {
  (void)state;
  RunBench made = make_run((Case){.text = line, .samples = "38"});
  assert_int_equal(count_of(&made, "95 % of the members"), 0); /* no interval of 38 */
  close_run(&made);
  made = make_run((Case){.text = line, .samples = "39"});
  check_page(&made);
  assert_int_equal(count_of(&made, "class=\"plot\""), 3); /* u, traces, histogram */
  assert_int_equal(count_of(&made, "<image"), 0);
  assert_int_equal(count_of(&made, "95 % of the members"), 1);
  assert_int_equal(count_of(&made, "</svg>truth</span>"), 1);
  assert_int_equal(count_of(&made, "</svg>data d \xc2\xb1 noise</span>"), 1);
  assert_int_equal(count_of(&made, "held-out data later"), 1);
  assert_int_equal(count_of(&made, "held out</td>"), 1);
  assert_int_equal(count_of(&made, "<circle"), 5 + 1); /* the data and their key */
  assert_int_equal(count_of(&made, "members did not converge"), 1);
  assert_int_equal(count_of(&made, "(spread)"), 0);
  bench_require(&made.bench, rpinn_report_write(made.bench.context, made.run), "write");
  char path[64];
  snprintf(path, sizeof path, "%s/report.html", made.folder);
  assert_int_equal(access(path, R_OK), 0);
  close_run(&made);
}

static void a_page_without_truth_or_spread_says_so(void **state) {
  (void)state;
  RunBench made = make_run((Case){.text = line_without_truth, .method = "map"});
  check_page(&made);
  assert_int_equal(count_of(&made, "class=\"plot\""), 2); /* no histogram of one */
  assert_int_equal(count_of(&made, "95 % of the members"), 0);
  assert_int_equal(count_of(&made, "</svg>truth</span>"), 0);
  assert_int_equal(count_of(&made, "note (one_draw): One point says nothing about uncertainty"), 1);
  close_run(&made);
  made = make_run((Case){.text = line_without_truth, .method = "ensemble", .samples = "3"});
  check_page(&made);
  assert_int_equal(count_of(&made, "caution (spread): The spread of an ensemble is that of its starts"), 1);
  close_run(&made);
}

static void two_coordinates_have_maps(void **state) {
  (void)state;
  RunBench made = make_run((Case){.text = plane});
  check_page(&made);
  /* mean, deviation, truth, error, each with its colours; coverage has keys */
  assert_int_equal(count_of(&made, "<image"), 9);
  assert_int_equal(count_of(&made, "</svg>outside</span>"), 1);
  assert_int_equal(count_of(&made, "<h2>Unknowns</h2>"), 1);
  assert_int_equal(count_of(&made, "<td>2</td></tr>"), 1); /* the true c */
  close_run(&made);
  made = make_run((Case){.text = plane, .method = "map"});
  check_page(&made);
  assert_int_equal(count_of(&made, "<image"), 6); /* no deviation */
  close_run(&made);
  made = make_run((Case){.text = scattered});
  check_page(&made);
  assert_int_equal(count_of(&made, "<image"), 0);
  assert_int_equal(count_of(&made, "are not a grid"), 1);
  close_run(&made);
}

static void more_coordinates_have_tables(void **state) {
  (void)state;
  RunBench made = make_run((Case){.text = space});
  check_page(&made);
  assert_int_equal(count_of(&made, "this problem has 3"), 1);
  close_run(&made);
}

/* log(u) is finite for some starts only. */
static void failed_members_are_named(void **state) {
  (void)state;
  static const char text[] =
      LINE "terms:\n  d: {expect: log(u), at: {points: [[0.6]]}, data: 0, noise: 0.1}\n"
           "prior: {reference_term: d}\npredict: {grid: 5, quantities: [u]}\n";
  RunBench made = make_run((Case){.text = text, .samples = "16", .retries = "0"});
  check_page(&made);
  assert_true(made.run->results.num_failed > 0 && made.run->results.num_failed < 16);
  assert_int_equal(count_of(&made, "of 16 members failed"), 1);
  assert_int_equal(made.run->results.num_traces, 16 - made.run->results.num_failed);
  close_run(&made);
}

/* A truth that the members cannot reach, and a weight that makes less of the data than their noise says. */
static void bad_uncertainty_is_named(void **state) {
  (void)state;
  static const char text[] =
      LINE "truth: {u: 100 + sin(40*x)}\n"
           "terms:\n  d: {expect: u, at: {grid: 5}, data: truth, noise: 0.1, weight: 100}\n"
           "  e: {expect: u, at: {grid: 5}, data: truth, noise: 0.1, weight: 1}\n"
           "prior: {reference_term: d}\npredict: {grid: 21, quantities: [u]}\n";
  RunBench made = make_run((Case){.text = text, .samples = "40"});
  check_page(&made);
  assert_int_equal(count_of(&made, "Verdict: bad"), 1);
  assert_int_equal(count_of(&made, "caution (likelihood): Likelihood paper gives the data of"), 1);
  assert_int_equal(count_of(&made, "bad (off_posterior): The mean of "), 1);
  close_run(&made);
}

/* Every figure of a page is a sheet for print, under a name of its own. */
static void figures_are_for_print(void **state) {
  (void)state;
  static const char *const texts[] = {line, plane};
  for (size_t t = 0; t < 2; t++) {
    RunBench made = make_run((Case){.text = texts[t]});
    RpinnText page = {0};
    RpinnFigureSet figures = {0};
    RpinnReport report = {.context = made.bench.context, .page = &page, .run = made.run, .figures = &figures};
    bench_require(&made.bench, rpinn_report_page(&report), "page");
    assert_int_equal(figures.count, count_of(&made, "class=\"plot\""));
    for (size_t i = 0; i < figures.count; i++) {
      assert_int_equal(figures.items[i]->sheet.num_panels, 1);
      for (size_t k = 0; k < i; k++)
        check_true(strcmp(figures.items[i]->name, figures.items[k]->name) != 0, "%s twice",
                   figures.items[i]->name);
    }
    rpinn_figure_set_free(&figures);
    rpinn_text_free(&page);
    close_run(&made);
  }
}

/* What a directory holds gives the same page as the run itself, and units stand on the axes. */
static void runs_can_be_opened_again(void **state) {
  (void)state;
  static const char with_units[] = LINE "units: {x: m, u: \"W/m\"}\ntruth: {u: x}\n" LINE_TERMS;
  static const struct {
    const char *text, *method;
  } cases[] = {{line, "rpinn"}, {with_units, "rpinn"}, {plane, "ensemble"}, {line, "svgd"}, {line, "map"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    RunBench made = make_run((Case){.text = cases[k].text, .method = cases[k].method});
    RpinnRun *again = NULL;
    RpinnText page = {0};
    bench_require(&made.bench, rpinn_run_reopen(made.bench.context, made.folder, &again), "reopen");
    RpinnReport report = {.context = made.bench.context, .page = &page, .run = again};
    bench_require(&made.bench, rpinn_report_page(&report), "page");
    const char *footer = strstr(made.page.bytes, "<footer>");
    assert_non_null(footer);
    assert_memory_equal(page.bytes, made.page.bytes, (size_t)(footer - made.page.bytes));
    assert_int_equal(count_of(&made, ">u [W/m]</text>"), k == 1);
    assert_int_equal(count_of(&made, ">x [m]</text>"), k == 1);
    rpinn_run_destroy(again);
    rpinn_text_free(&page);
    close_run(&made);
  }
}

/* Inside and outside of two standard deviations, and neither where the truth is not known. */
static void coverage_is_by_two_deviations(void **state) {
  (void)state;
  RunBench made = make_run((Case){.text = plane});
  const double *truth = made.run->posteriors[0]->data->predicted_truth[0];
  size_t count = made.run->outputs.num_points;
  double *values = calloc(count, sizeof *values);
  assert_true(rpinn_map_values(made.run, 0, RPINN_MAP_COVERAGE, values));
  for (size_t p = 0; p < count; p++) {
    double error = fabs(made.run->results.mean[p] - truth[p]);
    assert_true(values[p] == (error <= 2 * made.run->results.deviation[p] ? 1 : 0));
  }
  made.run->results.mean[3] = (double)NAN;
  made.run->results.mean[4] = truth[4] + 2.01 * made.run->results.deviation[4];
  made.run->results.mean[5] = truth[5] - 1.99 * made.run->results.deviation[5];
  assert_true(rpinn_map_values(made.run, 0, RPINN_MAP_COVERAGE, values));
  assert_true(isnan(values[3]) && values[4] == 0 && values[5] == 1);
  free(values);
  close_run(&made);
}

static void names_are_escaped(void **state) {
  (void)state;
  static const char text[] = "name: 'a<b> & \"c\"'\ncoordinates: {x: [0, 1]}\nfields:\n  u: {network: [6]}\n"
                             "terms:\n  d: {expect: u, at: {grid: 5}, data: 1+x, noise: 0.1}\n"
                             "prior: {reference_term: d}\npredict: {grid: 21, quantities: [u]}\n";
  RunBench made = make_run((Case){.text = text});
  check_page(&made);
  assert_true(count_of(&made, "a&lt;b&gt; &amp; &quot;c&quot;") >= 2);
  assert_int_equal(count_of(&made, "a<b>"), 0);
  close_run(&made);
}

/* ---- parts ---- */

static void numbers_read_well(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0"},
               {1, "1"},
               {0.0123456, "0.0123"},
               {-2.5, "&#8722;2.50"},
               {12345.6, "12346"},
               {INFINITY, "&#8734;"},
               {NAN, "&#8211;"},
               {99.96, "100"},
               {1.5e-7, "1.50&#8201;&#215;&#8201;10<sup>&#8722;7</sup>"},
               {2e9, "2.00&#8201;&#215;&#8201;10<sup>9</sup>"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    RpinnText text = {0};
    rpinn_markup_number(&text, cases[k].value, 3);
    assert_string_equal(text.bytes, cases[k].text);
    rpinn_text_free(&text);
  }
}

/* Whatever the numbers, the picture is well-formed and every number in it finite. */
static void plots_bear_any_numbers(void **state) {
  (void)state;
  const double nan = (double)NAN, inf = (double)INFINITY;
  const double rows[][4] = {{0, 0, 0, 0},
                            {1, nan, 3, inf},
                            {nan, nan, nan, nan},
                            {1e-300, 2e-300, 0, 1e-290},
                            {-1e305, 1e305, 0, 1},
                            {1e12, 1e12 + 1, 1e12, 1e12},
                            {-3, -2, -1, 0},
                            {1e-9, 1, 1e9, 1e20},
                            {5e4, 5.1e4, 5.2e4, 5.3e4}};
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
      RpinnText page = {0};
      RpinnPlot plot = {.page = &page,
                        .frame = {440, 300, 58, 70, 20, 42},
                        .x = rpinn_axis_empty("a<b", false),
                        .y = rpinn_axis_empty("\"y\"", logarithmic)};
      double edges[] = {0, 1, 2, 3};
      rpinn_axis_include(&plot.x, 4, rows[k]);
      rpinn_axis_include(&plot.y, 4, rows[k]);
      rpinn_axis_settle(&plot.x, 0.02);
      rpinn_axis_settle(&plot.y, 0.05);
      rpinn_plot_open(&plot, "<any>");
      rpinn_plot_line(&plot, 4, rows[k], rows[k], (RpinnStroke){"#000", 1, 1, "1 2"});
      rpinn_plot_band(&plot, 4, edges, rows[k], rows[(k + 1) % 9], "#000", 0.5);
      for (int marker = 0; marker < RPINN_NUM_MARKERS; marker++)
        rpinn_plot_points(&plot, 4, edges, rows[k], 0.5,
                          (RpinnPointStyle){(RpinnMarker)marker, 3, "#000", "#000"});
      rpinn_plot_bars(&plot, 3, edges, rows[k], "#000");
      rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, plot.x);
      check_markup(page.bytes);
      assert_false(page.failed);
      rpinn_text_free(&page);
    }
}

static double linear_of_srgb(uint8_t value) {
  double x = value / 255.0;
  return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* Oklab of a colour, by the inverse of the matrices in colour_map.c. */
static void oklab_of(const uint8_t rgb[3], double lab[3]) {
  double r = linear_of_srgb(rgb[0]), g = linear_of_srgb(rgb[1]), b = linear_of_srgb(rgb[2]);
  double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  lab[0] = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
  lab[1] = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
  lab[2] = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
}

static void colours_are_even(void **state) {
  (void)state;
  for (int map = 0; map < 2; map++) {
    double before[3], least = 1, most = 0;
    for (int k = 0; k <= 16; k++) {
      uint8_t rgb[3];
      double lab[3], distance = 0;
      rpinn_colour((RpinnColourMap)map, k / 16.0, rgb);
      oklab_of(rgb, lab);
      for (int i = 0; i < 3 && k; i++) distance += (lab[i] - before[i]) * (lab[i] - before[i]);
      if (k) {
        check_true(lab[0] - before[0] > 0.03, "map %d, step %d: lightness rises by %g", map, k,
                   lab[0] - before[0]);
        least = fmin(least, sqrt(distance));
        most = fmax(most, sqrt(distance));
      }
      memcpy(before, lab, sizeof before);
    }
    print_message("  map %d: steps of %.4f to %.4f\n", map, least, most);
    assert_true(most < 1.5 * least);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_coordinate_has_curves),
                                     cmocka_unit_test(a_page_without_truth_or_spread_says_so),
                                     cmocka_unit_test(two_coordinates_have_maps),
                                     cmocka_unit_test(more_coordinates_have_tables),
                                     cmocka_unit_test(failed_members_are_named),
                                     cmocka_unit_test(bad_uncertainty_is_named),
                                     cmocka_unit_test(figures_are_for_print),
                                     cmocka_unit_test(runs_can_be_opened_again),
                                     cmocka_unit_test(coverage_is_by_two_deviations),
                                     cmocka_unit_test(names_are_escaped),
                                     cmocka_unit_test(numbers_read_well),
                                     cmocka_unit_test(plots_bear_any_numbers),
                                     cmocka_unit_test(colours_are_even)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
