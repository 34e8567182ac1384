/* Known points in figures: where lines, bands, points, bars and images lie, what stands at the ticks. */
#include "check.h"

#include "raster_image.h"
#include "svg_plot.h"

/* Axes of 400 by 200 units, whose left upper corner lies at (50, 20). */
static const RpinnFrame frame = {
    .width = 470, .height = 260, .left = 50, .right = 20, .top = 20, .bottom = 40};
static const RpinnStroke thin = {"#123456", 1.5, 0.75, NULL};

static RpinnPlot plot_of(RpinnText *page, RpinnAxis x, RpinnAxis y) {
  return (RpinnPlot){.page = page, .frame = frame, .x = x, .y = y};
}

/* x from 0 to 10, y from -1 to 3; or decades: x from 1 to 100, y from 0.001 to 10. */
static RpinnPlot linear_plot(RpinnText *page) {
  return plot_of(page, (RpinnAxis){.label = "x", .high = 10},
                 (RpinnAxis){.label = "y", .low = -1, .high = 3});
}
static RpinnPlot logarithmic_plot(RpinnText *page) {
  return plot_of(page, (RpinnAxis){.label = "x", .low = 1, .high = 100, .logarithmic = true},
                 (RpinnAxis){.label = "y", .low = 1e-3, .high = 10, .logarithmic = true});
}

static void expect(RpinnText *page, const char *expected) {
  check_true(!page->failed && page->bytes && !strcmp(page->bytes, expected), "found\n%sexpected\n%s",
             page->bytes ? page->bytes : "", expected);
  rpinn_text_free(page);
  *page = (RpinnText){0};
}

#define THIN                                                                                                 \
  "\" fill=\"none\" stroke=\"#123456\" stroke-width=\"1.50\" stroke-opacity=\"0.75\" "                       \
  "stroke-linejoin=\"round\"/>\n"

/* ---- what is drawn ---- */

static void lines_pass_through_their_points(void **state) {
  (void)state;
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
  rpinn_plot_line(&plot, 4, (double[]){0, 2.5, 5, 10}, (double[]){-1, 0, 1, 3}, thin);
  expect(&page, "<path d=\"M0 0M0.00 200.00L100.00 150.00L200.00 100.00L400.00 0.00" THIN);
  plot = logarithmic_plot(&page);
  rpinn_plot_line(&plot, 4, (double[]){1, 10, 31.622776601683793, 100}, (double[]){1e-3, 0.1, 1, 10}, thin);
  expect(&page, "<path d=\"M0 0M0.00 200.00L200.00 100.00L300.00 50.00L400.00 0.00" THIN);
  /* Far outside: what any viewer can draw, twenty times the axes. */
  plot = linear_plot(&page);
  rpinn_plot_line(&plot, 2, (double[]){0, 1e9}, (double[]){-1e9, 1e9}, thin);
  expect(&page, "<path d=\"M0 0M0.00 4200.00L8000.00 -3800.00" THIN);
}

static void lines_have_gaps_where_numbers_are_missing(void **state) {
  (void)state;
  const double nan = (double)NAN, inf = (double)INFINITY;
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
  rpinn_plot_line(&plot, 7, (double[]){0, 1, 2, 3, nan, 5, 6}, (double[]){1, nan, 1, 1, 1, inf, 3}, thin);
  expect(&page, "<path d=\"M0 0M0.00 100.00M80.00 100.00L120.00 100.00M240.00 0.00" THIN);
  plot = logarithmic_plot(&page);
  rpinn_plot_line(&plot, 5, (double[]){1, 10, 10, -1, 100}, (double[]){0.1, 0, 0.1, 1, 1}, thin);
  expect(&page, "<path d=\"M0 0M0.00 100.00M200.00 100.00M400.00 50.00" THIN);
}

static void bands_go_there_above_and_back_below(void **state) {
  (void)state;
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
  rpinn_plot_band(&plot, 6, (double[]){0, 5, 6, 7.5, 10, (double)NAN},
                  (double[]){-1, 0, (double)NAN, 1, 2, 2}, (double[]){0, 1, 1, 2, 3, 3}, "#abcdef", 0.25);
  expect(&page, "<path d=\"M0 0M0.00 150.00L200.00 100.00L200.00 150.00L0.00 200.00Z"
                "M300.00 50.00L400.00 0.00L400.00 50.00L300.00 100.00Z"
                "\" fill=\"#abcdef\" fill-opacity=\"0.25\"/>\n");
}

static void error_bars_reach_both_ways(void **state) {
  (void)state;
  const RpinnPointStyle style = {RPINN_MARKER_CIRCLE, 3, "#ffffff", "#000000"};
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
  rpinn_plot_points(&plot, 2, (double[]){2.5, (double)NAN}, (double[]){1, 1}, 0.5, style);
  expect(&page, "<path d=\"M0 0M100.00 125.00V75.00\" fill=\"none\" stroke=\"#000000\" stroke-width=\"1.2\" "
                "stroke-opacity=\"0.7\"/>\n"
                "<circle cx=\"100.00\" cy=\"100.00\" r=\"3.00\" fill=\"#ffffff\" stroke=\"#000000\" "
                "stroke-width=\"1\"/>\n");
  /* A bar that would reach below zero has no place on a logarithmic axis; its point has. */
  plot = logarithmic_plot(&page);
  rpinn_plot_points(&plot, 2, (double[]){1, 10}, (double[]){0.1, 1}, 0.9, style);
  expect(&page, "<path d=\"M0 0M200.00 100.00V36.06\" fill=\"none\" stroke=\"#000000\" stroke-width=\"1.2\" "
                "stroke-opacity=\"0.7\"/>\n"
                "<circle cx=\"0.00\" cy=\"100.00\" r=\"3.00\" fill=\"#ffffff\" stroke=\"#000000\" "
                "stroke-width=\"1\"/>"
                "<circle cx=\"200.00\" cy=\"50.00\" r=\"3.00\" fill=\"#ffffff\" stroke=\"#000000\" "
                "stroke-width=\"1\"/>\n");
}

static void markers_stand_on_their_points(void **state) {
  (void)state;
  static const char *const shapes[RPINN_NUM_MARKERS] = {
      [RPINN_MARKER_CIRCLE] = "<circle cx=\"200.00\" cy=\"150.00\" r=\"10.00\"",
      [RPINN_MARKER_SQUARE] = "<path d=\"M191.00 141.00h18.00v18.00h-18.00Z\"",
      [RPINN_MARKER_DIAMOND] = "<path d=\"M187.50 150.00l12.50 -12.50l12.50 12.50l-12.50 12.50Z\"",
      [RPINN_MARKER_TRIANGLE] = "<path d=\"M200.00 137.00l12.00 21.00h-24.00Z\""};
  for (int marker = 0; marker < RPINN_NUM_MARKERS; marker++) {
    RpinnText page = {0}, expected = {0};
    RpinnPlot plot = linear_plot(&page);
    rpinn_plot_points(&plot, 1, (double[]){5}, (double[]){0}, 0,
                      (RpinnPointStyle){(RpinnMarker)marker, 10, "#111111", "#222222"});
    rpinn_text_append(&expected, "%s fill=\"#111111\" stroke=\"#222222\" stroke-width=\"1\"/>\n",
                      shapes[marker]);
    expect(&page, expected.bytes);
    rpinn_text_free(&expected);
  }
}

static void bars_stand_on_the_axis(void **state) {
  (void)state;
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
  rpinn_plot_bars(&plot, 3, (double[]){0, 2.5, 5, 10}, (double[]){3, 0, (double)NAN}, "#00ff00");
  expect(&page, "<rect x=\"0.00\" y=\"0.00\" width=\"100.00\" height=\"200.00\" fill=\"#00ff00\" "
                "stroke=\"#ffffff\" stroke-width=\"0.8\"/>"
                "<rect x=\"100.00\" y=\"150.00\" width=\"100.00\" height=\"50.00\" fill=\"#00ff00\" "
                "stroke=\"#ffffff\" stroke-width=\"0.8\"/>\n");
  plot = logarithmic_plot(&page);
  plot.y = (RpinnAxis){.high = 4};
  rpinn_plot_bars(&plot, 1, (double[]){10, 100}, (double[]){1}, "#00ff00");
  expect(&page, "<rect x=\"200.00\" y=\"150.00\" width=\"200.00\" height=\"50.00\" fill=\"#00ff00\" "
                "stroke=\"#ffffff\" stroke-width=\"0.8\"/>\n");
}

/* ---- images ---- */

static void append_raster(RpinnText *text, RpinnColourMap map, size_t columns, size_t rows,
                          const double *values, double low, double high) {
  assert_int_equal(rpinn_raster_image_append(text, map, columns, rows, values, low, high), RPINN_OK);
}

static void images_cover_their_rectangle(void **state) {
  (void)state;
  const double values[] = {1, 2, 3, 4, 5, 6};
  RpinnText page = {0}, expected = {0};
  RpinnPlot plot = linear_plot(&page);
  RpinnPlotImage image = {2.5, 10, 0, 3, RPINN_COLOURS_SPREAD, 3, 2, values, 1, 6};
  rpinn_plot_image(&plot, &image);
  rpinn_text_append(&expected, "<svg width=\"400.00\" height=\"200.00\"><image x=\"100.00\" y=\"0.00\" "
                               "width=\"300.00\" height=\"150.00\" preserveAspectRatio=\"none\" "
                               "style=\"image-rendering:pixelated\" href=\"");
  append_raster(&expected, RPINN_COLOURS_SPREAD, 3, 2, values, 1, 6);
  rpinn_text_append(&expected, "\"/>\n</svg>\n<rect width=\"400.00\" height=\"200.00\" fill=\"none\" "
                               "stroke=\"#4b5563\"/>\n");
  expect(&page, expected.bytes);
  rpinn_text_free(&expected);
}

/* The bar of colours in the margin: the highest value at the top, ticks at its right. */
static void the_colour_bar_has_high_above_low(void **state) {
  (void)state;
  enum { STEPS = 255 };
  double values[STEPS];
  for (int k = 0; k < STEPS; k++) values[k] = (STEPS - 1 - k) / (STEPS - 1.0);
  RpinnText page = {0}, expected = {0};
  RpinnPlot plot = linear_plot(&page);
  plot.frame.right = 70; /* axes of 350 by 200 */
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, (RpinnAxis){.low = 0, .high = 8});
  rpinn_text_append(&expected, "</svg>\n<image x=\"412.00\" y=\"20.00\" width=\"13.00\" height=\"200.00\" "
                               "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"");
  append_raster(&expected, RPINN_COLOURS_VALUE, 1, STEPS, values, 0, 1);
  rpinn_text_append(&expected, "\"/>\n<rect x=\"412.00\" y=\"20.00\" width=\"13.00\" height=\"200.00\" "
                               "fill=\"none\" stroke=\"#4b5563\"/>\n");
  for (int value = 0; value <= 8; value += 2)
    rpinn_text_append(&expected,
                      "<path d=\"M425.00 %.2fh5\" stroke=\"#4b5563\"/>"
                      "<text x=\"433.00\" y=\"%.2f\" text-anchor=\"start\">%d</text>",
                      220 - 25.0 * value, 224 - 25.0 * value, value);
  rpinn_text_append(&expected, "\n</svg>\n");
  expect(&page, expected.bytes);
  rpinn_text_free(&expected);
}

/* ---- ticks ---- */

/* A label as a person reads it: superscripts behind ^, entities as ASCII. */
static void read_label(const char *from, const char *end, char label[64]) {
  static const struct {
    const char *markup, *read;
  } parts[] = {{"<tspan", "^"}, {"&#8722;", "-"}, {"&#183;", "*"}, {"&#215;", "x"}};
  size_t length = 0;
  while (from < end) {
    const char *read = NULL;
    for (size_t k = 0; k < sizeof parts / sizeof parts[0] && !read; k++)
      if (!strncmp(from, parts[k].markup, strlen(parts[k].markup))) {
        read = parts[k].read;
        from += strlen(parts[k].markup);
        if (*read == '^') from = strchr(from, '>') + 1;
      }
    if (!read && *from == '<') {
      from = strchr(from, '>') + 1;
      continue;
    }
    assert_true(length < 62);
    label[length++] = read ? *read : *from++;
  }
  label[length] = '\0';
}

typedef struct AxisCase {
  RpinnAxis axis;
  const char *labels;     /* in their order, with blanks between them */
  const char *multiplier; /* at the end of the axis, or NULL */
  size_t num_unlabelled;  /* ticks without a label */
  double shares[12];      /* where the labels lie: 0 at the low end, 1 at the high one */
} AxisCase;

static const AxisCase axes[] = {
    {{.low = 0, .high = 10}, "0 2 4 6 8 10", NULL, 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = -1, .high = 1.5}, "-1.0 -0.5 0.0 0.5 1.0 1.5", NULL, 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = 0, .high = 0.5}, "0.0 0.1 0.2 0.3 0.4 0.5", NULL, 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = -1, .high = 1},
     "-1.0 -0.8 -0.6 -0.4 -0.2 0.0 0.2 0.4 0.6 0.8 1.0",
     NULL,
     0,
     {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
    {{.low = 0.9, .high = 1.4}, "0.9 1.0 1.1 1.2 1.3 1.4", NULL, 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = 0.01, .high = 0.06}, "0.01 0.02 0.03 0.04 0.05 0.06", NULL, 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = 0, .high = 9999}, "0 2000 4000 6000 8000", NULL, 0, {0, 0.20002, 0.40004, 0.60006, 0.80008}},
    {{.low = 0, .high = 50000}, "0 1 2 3 4 5", "x10^4", 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = -2.5e5, .high = 0}, "-2.5 -2.0 -1.5 -1.0 -0.5 0.0", "x10^5", 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = 0, .high = 0.0025}, "0.0 0.5 1.0 1.5 2.0 2.5", "x10^-3", 0, {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = 12300, .high = 12400},
     "1.230 1.232 1.234 1.236 1.238 1.240",
     "x10^4",
     0,
     {0, 0.2, 0.4, 0.6, 0.8, 1}},
    {{.low = 0, .high = 3, .whole = true}, "0 1 2 3", NULL, 0, {0, 1. / 3, 2. / 3, 1}},
    {{.low = 1, .high = 100, .logarithmic = true},
     "1 2 5 10 20 50 100",
     NULL,
     12,
     {0, 0.150515, 0.349485, 0.5, 0.650515, 0.849485, 1}},
    {{.low = 0.01, .high = 10, .logarithmic = true}, "0.01 0.1 1 10", NULL, 24, {0, 1. / 3, 2. / 3, 1}},
    {{.low = 1e-6, .high = 1e-2, .logarithmic = true},
     "10^-6 10^-5 10^-4 10^-3 10^-2",
     NULL,
     32,
     {0, 0.25, 0.5, 0.75, 1}},
    {{.low = 1e4, .high = 1e5, .logarithmic = true},
     "10^4 2*10^4 5*10^4 10^5",
     NULL,
     6,
     {0, 0.30103, 0.69897, 1}},
    {{.low = 1e-8, .high = 1e8, .logarithmic = true},
     "10^-8 10^-5 10^-2 10^1 10^4 10^7",
     NULL,
     0,
     {0, 0.1875, 0.375, 0.5625, 0.75, 0.9375}},
    {{.low = 2, .high = 5, .logarithmic = true},
     "2.0 2.5 3.0 3.5 4.0 4.5 5.0",
     NULL,
     0,
     {0, 0.243529, 0.442507, 0.610740, 0.756471, 0.885011, 1}},
};

/* The texts of an axis that lie on it, from `at` on: whether they are those of the case. */
static const char *check_labels(const AxisCase *a, const char *at, bool is_x) {
  char wanted[64], found[64];
  size_t k = 0;
  for (const char *label = a->labels; *label; k++) {
    size_t length = strcspn(label, " ");
    snprintf(wanted, sizeof wanted, "%.*s", (int)length, label);
    label += length + (label[length] == ' ');
    double x, y;
    at = strstr(at, "<text x=");
    check_true(at && sscanf(at, "<text x=\"%lf\" y=\"%lf\"", &x, &y) == 2, "no label %s", wanted);
    const char *start = strchr(at, '>') + 1, *end = strstr(start, "</text>");
    read_label(start, end, found);
    check_true(!strcmp(found, wanted), "%c axis from %g to %g: label %zu is '%s', expected '%s'",
               is_x ? 'x' : 'y', a->axis.low, a->axis.high, k + 1, found, wanted);
    double across = is_x ? x - 50 : x - 42, down = is_x ? y - 277 : y - 264;
    check_true(fabs(across - (is_x ? 400 * a->shares[k] : 0)) < 0.02 &&
                   fabs(down + (is_x ? 0 : 240 * a->shares[k])) < 0.02,
               "%c axis from %g to %g: label %s lies at %g, %g", is_x ? 'x' : 'y', a->axis.low, a->axis.high,
               found, x, y);
    at = end;
  }
  return at;
}

/* What stands at the end of the axis, and its name. */
static const char *check_multiplier(const AxisCase *a, const char *at, bool is_x) {
  char found[64], place[64];
  if (!a->multiplier) return at;
  at = strstr(at, "<text x=");
  assert_non_null(at);
  snprintf(place, sizeof place,
           is_x ? "<text x=\"450.00\" y=\"294.00\" text-anchor=\"end\">"
                : "<text x=\"50.00\" y=\"14.00\" text-anchor=\"start\">");
  check_true(!strncmp(at, place, strlen(place)), "the multiplier is at %.60s", at);
  const char *end = strstr(at, "</text>");
  read_label(at + strlen(place), end, found);
  assert_string_equal(found, a->multiplier);
  return end;
}

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

static void ticks_are_labelled_with_their_values(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof axes / sizeof axes[0]; k++) {
    RpinnText page = {0};
    RpinnPlot plot = plot_of(&page, axes[k].axis, axes[k].axis);
    plot.frame.height = 300; /* axes of 400 by 240, for about six labels on each */
    plot.x.label = "a < b", plot.y.label = "p [kPa]";
    rpinn_plot_open(&plot, "ticks");
    const char *at = check_labels(&axes[k], page.bytes, true);
    at = check_multiplier(&axes[k], at, true);
    const char *name =
        strstr(at, "<text x=\"250.00\" y=\"294.00\" text-anchor=\"middle\" font-size=\"13\">a &lt; b</text>");
    assert_non_null(name);
    at = check_labels(&axes[k], strchr(name + 1, '\n'), false);
    at = check_multiplier(&axes[k], at, false);
    name = strstr(at, "<text x=\"13\" y=\"140.00\" text-anchor=\"middle\" font-size=\"13\" "
                      "transform=\"rotate(-90 13 140.00)\">p [kPa]</text>");
    assert_non_null(name);
    /* Short ticks where there is no label; grid lines only where there is one. */
    assert_int_equal(count_of(page.bytes, "v3\" stroke=\"#4b5563\""), axes[k].num_unlabelled);
    assert_int_equal(count_of(page.bytes, "h-3\" stroke=\"#4b5563\""), axes[k].num_unlabelled);
    size_t num_labels = 1 + count_of(axes[k].labels, " ");
    assert_int_equal(count_of(page.bytes, "v5\" stroke=\"#4b5563\""), num_labels);
    assert_int_equal(count_of(page.bytes, "h-5\" stroke=\"#4b5563\""), num_labels);
    assert_int_equal(count_of(page.bytes, "V20.00\" stroke=\"#e5e7eb\""), num_labels);
    assert_int_equal(count_of(page.bytes, "h400.00\" stroke=\"#e5e7eb\""), num_labels);
    rpinn_text_free(&page);
  }
}

/* Grid lines and ticks meet at the value that they mean. */
static void grid_lines_lie_at_their_values(void **state) {
  (void)state;
  RpinnText page = {0};
  RpinnPlot plot =
      plot_of(&page, (RpinnAxis){.label = "x", .high = 10}, (RpinnAxis){.label = "y", .high = 4});
  rpinn_plot_open(&plot, "a \"grid\"");
  assert_non_null(strstr(page.bytes,
                         "<svg class=\"plot\" viewBox=\"0 0 470 260\" role=\"img\" font-size=\"12\" "
                         "fill=\"#1f2937\" aria-label=\"a &quot;grid&quot;\">"));
  assert_non_null(strstr(page.bytes, "<path d=\"M130.00 220.00V20.00\" stroke=\"#e5e7eb\"/>"
                                     "<path d=\"M130.00 220.00v5\" stroke=\"#4b5563\"/>"));
  assert_non_null(strstr(page.bytes, "<path d=\"M50.00 170.00h400.00\" stroke=\"#e5e7eb\"/>"
                                     "<path d=\"M50.00 170.00h-5\" stroke=\"#4b5563\"/>"));
  assert_non_null(strstr(page.bytes,
                         "<svg x=\"46.00\" y=\"16.00\" width=\"408.00\" height=\"208.00\" "
                         "viewBox=\"-4 -4 408.00 208.00\">\n"
                         "<rect width=\"400.00\" height=\"200.00\" fill=\"none\" stroke=\"#4b5563\"/>"));
  rpinn_text_free(&page);
  page = (RpinnText){0};
  plot.without_grid = true;
  rpinn_plot_open(&plot, "no grid");
  assert_null(strstr(page.bytes, "#e5e7eb"));
  rpinn_text_free(&page);
}

/* ---- axes ---- */

static void check_axis(RpinnAxis axis, double low, double high) {
  double scale = fmax(fabs(low), fabs(high));
  check_true(fabs(axis.low - low) <= 1e-12 * scale && fabs(axis.high - high) <= 1e-12 * scale,
             "the axis is %.17g to %.17g, expected %.17g to %.17g", axis.low, axis.high, low, high);
}

static void axes_reach_around_their_values(void **state) {
  (void)state;
  const double nan = (double)NAN, inf = (double)INFINITY;
  static const double lone = 7;
  RpinnAxis axis = rpinn_axis_empty("x", false), second = rpinn_axis_empty("y", false);
  rpinn_axis_include(&axis, 6, (double[]){3, nan, -1, inf, 4, -1e305});
  check_axis(axis, -1, 4);
  rpinn_axis_include(&second, 2, (double[]){-9, -5});
  check_axis(second, -9, -5);
  second = rpinn_axis_empty("y", false);
  rpinn_axis_include(&second, 2, (double[]){-2, 3});
  rpinn_axis_join(&axis, &second);
  check_axis(axis, -2, 4);
  check_axis(second, -2, 4);
  rpinn_axis_settle(&axis, 0.05);
  check_axis(axis, -2.3, 4.3);
  axis = rpinn_axis_empty("nothing", false);
  rpinn_axis_settle(&axis, 0.05);
  check_axis(axis, -1, 1);
  axis = rpinn_axis_empty("one value", false);
  rpinn_axis_include(&axis, 1, &lone);
  rpinn_axis_settle(&axis, 0.05);
  check_axis(axis, 6.3, 7.7);

  axis = rpinn_axis_empty("decades", true);
  rpinn_axis_include(&axis, 4, (double[]){0, -5, 100, 1});
  check_axis(axis, 1, 100);
  rpinn_axis_settle(&axis, 0.5);
  check_axis(axis, 0.1, 1000);
  axis = rpinn_axis_empty("nothing", true);
  rpinn_axis_settle(&axis, 0);
  check_axis(axis, pow(10, -0.3), pow(10, 0.3));
  axis = rpinn_axis_empty("one value", true);
  rpinn_axis_include(&axis, 1, &lone);
  rpinn_axis_settle(&axis, 0);
  check_axis(axis, 7 * pow(10, -0.3), 7 * pow(10, 0.3));
}

static void ticks_can_be_asked_for(void **state) {
  (void)state;
  double values[4];
  RpinnAxis axis = {.low = 1, .high = 100, .logarithmic = true};
  assert_int_equal(rpinn_axis_ticks(&axis, 5, 4, values), 4);
  const double expected[] = {1, 2, 5, 10};
  for (size_t k = 0; k < 4; k++) check_close(values[k], expected[k], 1e-14);
  axis = (RpinnAxis){.low = -0.1, .high = 2.1};
  assert_int_equal(rpinn_axis_ticks(&axis, 2, 4, values), 3);
  for (size_t k = 0; k < 3; k++) check_close(values[k], (double)k, 1e-14);
}

/* ---- keys ---- */

static void keys_show_what_they_name(void **state) {
  (void)state;
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
#define KEY "<span class=\"key\"><svg class=\"swatch\" viewBox=\"0 0 26 14\">"
  rpinn_plot_key_line(&plot, (RpinnStroke){"#123456", 2, 1, "6 4"}, "a & b");
  expect(
      &page, KEY
      "<path d=\"M1 7H25\" fill=\"none\" stroke=\"#123456\" stroke-width=\"2.00\" "
      "stroke-opacity=\"1.00\" stroke-dasharray=\"6 4\" stroke-linejoin=\"round\"/></svg>a &amp; b</span>\n");
  rpinn_plot_key_band(&plot, "#abcdef", 0.25, "95 %");
  expect(&page,
         KEY "<rect x=\"1\" y=\"2\" width=\"24\" height=\"10\" fill=\"#abcdef\" fill-opacity=\"0.25\"/>"
             "</svg>95 %</span>\n");
  const RpinnPointStyle style = {RPINN_MARKER_CIRCLE, 3, "#ffffff", "#000000"};
#define DOT                                                                                                  \
  "<circle cx=\"13.00\" cy=\"7.00\" r=\"3.00\" fill=\"#ffffff\" stroke=\"#000000\" stroke-width=\"1\"/>"
  rpinn_plot_key_points(&plot, false, style, "data");
  expect(&page, KEY DOT "</svg>data</span>\n");
  rpinn_plot_key_points(&plot, true, style, "data");
  expect(&page,
         KEY "<path d=\"M13 0V14\" stroke=\"#000000\" stroke-width=\"1.2\"/>" DOT "</svg>data</span>\n");
}

static void chains_have_numbers_and_inks_of_their_own(void **state) {
  (void)state;
  static const char *const inks[] = {"#0072b2", "#d55e00", "#009e73", "#a8467f",
                                     "#6b7280", "#111827", "#0072b2", "#d55e00"};
  RpinnText page = {0};
  RpinnPlot plot = linear_plot(&page);
  rpinn_plot_key_chains(&plot, 11); /* the first eight */
  const char *at = page.bytes;
  for (int c = 0; c < 8; c++) {
    char ink[32], label[32];
    snprintf(ink, sizeof ink, "stroke=\"%s\"", inks[c]);
    snprintf(label, sizeof label, "</svg>chain %d</span>", c + 1);
    const char *line = strstr(at, ink), *name = strstr(at, label);
    check_true(line && name && line < name, "no chain %d in its ink", c + 1);
    assert_string_equal(rpinn_series_ink((size_t)c), inks[c]);
    at = name;
  }
  assert_int_equal(count_of(page.bytes, "class=\"key\""), 8);
  rpinn_text_free(&page);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_pass_through_their_points),
                                     cmocka_unit_test(lines_have_gaps_where_numbers_are_missing),
                                     cmocka_unit_test(bands_go_there_above_and_back_below),
                                     cmocka_unit_test(error_bars_reach_both_ways),
                                     cmocka_unit_test(markers_stand_on_their_points),
                                     cmocka_unit_test(bars_stand_on_the_axis),
                                     cmocka_unit_test(images_cover_their_rectangle),
                                     cmocka_unit_test(the_colour_bar_has_high_above_low),
                                     cmocka_unit_test(ticks_are_labelled_with_their_values),
                                     cmocka_unit_test(grid_lines_lie_at_their_values),
                                     cmocka_unit_test(axes_reach_around_their_values),
                                     cmocka_unit_test(ticks_can_be_asked_for),
                                     cmocka_unit_test(keys_show_what_they_name),
                                     cmocka_unit_test(chains_have_numbers_and_inks_of_their_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
