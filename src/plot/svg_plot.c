#include "svg_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "number_text.h"
#include "plot_sheet.h"
#include "raster_image.h"

enum { MAX_TICKS = 24 };
static const double largest = 1e300; /* differences of numbers up to this stay finite */
static const char minus[] = "&#8722;";

const char *rpinn_series_ink(size_t k) {
  static const char *const inks[] = {RPINN_INK_BLUE,   RPINN_INK_VERMILION, RPINN_INK_GREEN,
                                     RPINN_INK_PURPLE, RPINN_INK_GREY,      RPINN_INK_BLACK};
  return inks[k % (sizeof inks / sizeof inks[0])];
}

/* ---- axes ---- */

RpinnAxis rpinn_axis_empty(const char *label, bool logarithmic) {
  return (RpinnAxis){
      .label = label, .low = (double)INFINITY, .high = -(double)INFINITY, .logarithmic = logarithmic};
}

static bool fits(const RpinnAxis *axis, double value) {
  return isfinite(value) && fabs(value) < largest && (!axis->logarithmic || value > 1 / largest);
}

void rpinn_axis_include(RpinnAxis *axis, size_t count, const double *values) {
  for (size_t i = 0; i < count; i++) {
    if (!fits(axis, values[i])) continue;
    axis->low = fmin(axis->low, values[i]);
    axis->high = fmax(axis->high, values[i]);
  }
}

void rpinn_axis_join(RpinnAxis *first, RpinnAxis *second) {
  first->low = second->low = fmin(first->low, second->low);
  first->high = second->high = fmax(first->high, second->high);
}

void rpinn_axis_settle(RpinnAxis *axis, double margin) {
  if (axis->low > axis->high) axis->low = axis->high = axis->logarithmic ? 1 : 0;
  if (axis->logarithmic) {
    double low = log10(axis->low), high = log10(axis->high);
    if (high - low < 1e-3) low -= 0.3, high += 0.3;
    double more = margin * (high - low);
    axis->low = pow(10, low - more);
    axis->high = pow(10, high + more);
    return;
  }
  double size = fmax(fabs(axis->low), fabs(axis->high)), range = axis->high - axis->low;
  if (range <= 1e-9 * size || range == 0) {
    double half = size > 0 ? 0.1 * size : 1;
    axis->low -= half;
    axis->high += half;
    return;
  }
  axis->low -= margin * range;
  axis->high += margin * range;
}

/* 0 at the lower end of the axis, 1 at the upper one; kept within bounds that any viewer can draw. */
static double share_of(const RpinnAxis *axis, double value) {
  double share = axis->logarithmic
                     ? (log10(value) - log10(axis->low)) / (log10(axis->high) - log10(axis->low))
                     : (value - axis->low) / (axis->high - axis->low);
  return fmax(-20, fmin(20, share));
}

/* ---- ticks ---- */

typedef struct Tick {
  double value;
  bool labelled;
} Tick;

typedef struct Ticks {
  size_t count;
  Tick ticks[MAX_TICKS * 10];
  int decimals, exponent; /* linear: labels are value / 10^exponent with so many decimals */
  bool powers, plain;     /* logarithmic: labels are powers of ten, or these written out */
} Ticks;

static void add_tick(Ticks *ticks, double value, bool labelled) {
  if (ticks->count < sizeof ticks->ticks / sizeof ticks->ticks[0])
    ticks->ticks[ticks->count++] = (Tick){value, labelled};
}

/* Steps of 1, 2 or 5 times a power of ten, about `wanted` of them. */
static void linear_ticks(const RpinnAxis *axis, double wanted, Ticks *ticks) {
  double range = axis->high - axis->low, rough = range / fmax(wanted, 2);
  if (axis->whole) rough = fmax(rough, 1);
  int power = (int)floor(log10(rough));
  double rest = rough / pow(10, power);
  double factor = rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10;
  double step = factor * pow(10, power), size = fmax(fabs(axis->low), fabs(axis->high));
  if (factor == 10) power++;
  for (double k = ceil(axis->low / step - 1e-9); k * step <= axis->high + 1e-9 * range; k++) {
    add_tick(ticks, k * step, true);
    if (ticks->count >= MAX_TICKS) break;
  }
  int leading = (int)floor(log10(size) + 1e-9);
  if (leading >= 4 || leading <= -3) ticks->exponent = leading;
  ticks->decimals = ticks->exponent - power > 0 ? ticks->exponent - power : 0;
}

/* Powers of ten, with unlabelled ticks at 2 … 9 between them; labels at 1, 2 and 5 where the axis is short.
 * On one of hardly a decade even steps are easier to read. */
static void logarithmic_ticks(const RpinnAxis *axis, double wanted, Ticks *ticks) {
  int first = (int)floor(log10(axis->low)), last = (int)floor(log10(axis->high));
  int every = 1 + (int)((last - first) / fmax(wanted, 1));
  double decades = log10(axis->high / axis->low);
  if (decades < 0.8) {
    linear_ticks(axis, wanted, ticks);
    return;
  }
  ticks->powers = true;
  ticks->plain = axis->low >= 1e-3 && axis->high < 2e4;
  for (int power = first; power <= last; power++)
    for (int digit = 1; digit <= 9; digit++) {
      double value = digit * pow(10, power);
      bool main = digit == 1 && (power - first) % every == 0;
      bool also = decades < 2.2 && (digit == 1 || digit == 2 || digit == 5);
      if (value < axis->low * (1 - 1e-12) || value > axis->high * (1 + 1e-12)) continue;
      if (main || also || (every == 1 && decades < 6)) add_tick(ticks, value, main || also);
    }
}

static Ticks make_ticks(const RpinnAxis *axis, double wanted) {
  Ticks ticks = {0};
  if (axis->logarithmic)
    logarithmic_ticks(axis, wanted, &ticks);
  else
    linear_ticks(axis, wanted, &ticks);
  return ticks;
}

size_t rpinn_axis_ticks(const RpinnAxis *axis, double wanted, size_t room, double *values) {
  Ticks ticks = make_ticks(axis, wanted);
  size_t count = 0;
  for (size_t k = 0; k < ticks.count && count < room; k++)
    if (ticks.ticks[k].labelled) values[count++] = ticks.ticks[k].value;
  return count;
}

static void append_power(RpinnText *page, double mantissa, int power) {
  if (mantissa > 1) rpinn_text_append(page, "%.0f&#183;", mantissa);
  rpinn_text_append(page, "10<tspan dy=\"-4.5\" font-size=\"8.5\">%s%d</tspan>", power < 0 ? minus : "",
                    abs(power));
}

static void append_tick_label(RpinnText *page, const Ticks *ticks, double value) {
  if (ticks->powers) {
    int power = (int)floor(log10(value) + 1e-9);
    double mantissa = round(value / pow(10, power));
    if (ticks->plain)
      rpinn_text_append(page, "%.*f", power < 0 ? -power : 0, value);
    else
      append_power(page, mantissa, power);
    return;
  }
  char label[64];
  double scaled = value / pow(10, ticks->exponent);
  rpinn_format(label, sizeof label, "%.*f", ticks->decimals, fabs(scaled));
  bool is_zero = strspn(label, "0.") == strlen(label);
  rpinn_text_append(page, "%s%s", scaled < 0 && !is_zero ? minus : "", label);
}

/* What all labels of the axis are multiplied by. */
static void append_multiplier(RpinnText *page, const Ticks *ticks) {
  rpinn_text_append(page, "&#215;");
  append_power(page, 1, ticks->exponent);
}

/* ---- the frame ---- */

static double inner_width(const RpinnPlot *plot) {
  return plot->frame.width - plot->frame.left - plot->frame.right;
}
static double inner_height(const RpinnPlot *plot) {
  return plot->frame.height - plot->frame.top - plot->frame.bottom;
}
/* Positions inside of the axes. */
static double across(const RpinnPlot *plot, double x) {
  return share_of(&plot->x, x) * inner_width(plot);
}
static double down(const RpinnPlot *plot, double y) {
  return (1 - share_of(&plot->y, y)) * inner_height(plot);
}

static void draw_x_axis(const RpinnPlot *plot) {
  RpinnText *page = plot->page;
  Ticks ticks = make_ticks(&plot->x, inner_width(plot) / 66);
  double left = plot->frame.left, base = plot->frame.top + inner_height(plot);
  for (size_t k = 0; k < ticks.count; k++) {
    double at = left + across(plot, ticks.ticks[k].value);
    bool labelled = ticks.ticks[k].labelled;
    if (labelled && !plot->without_grid)
      rpinn_text_append(page, "<path d=\"M%.2f %.2fV%.2f\" stroke=\"#e5e7eb\"/>", at, base, plot->frame.top);
    rpinn_text_append(page, "<path d=\"M%.2f %.2fv%d\" stroke=\"#4b5563\"/>", at, base, labelled ? 5 : 3);
    if (!labelled) continue;
    rpinn_text_append(page, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">", at, base + 17);
    append_tick_label(page, &ticks, ticks.ticks[k].value);
    rpinn_text_append(page, "</text>");
  }
  double end = left + inner_width(plot);
  if (ticks.exponent) {
    rpinn_text_append(page, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">", end, base + 34);
    append_multiplier(page, &ticks);
    rpinn_text_append(page, "</text>");
  }
  rpinn_text_append(page, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\" font-size=\"13\">",
                    0.5 * (left + end), base + 34);
  rpinn_markup_text(page, plot->x.label);
  rpinn_text_append(page, "</text>\n");
}

/* Ticks to the left of the axes, or to the right of a colour bar. */
static void draw_y_ticks(const RpinnPlot *plot, const RpinnAxis *axis, double at, int direction, bool grid) {
  RpinnText *page = plot->page;
  Ticks ticks = make_ticks(axis, fmin(inner_height(plot) / 40, 7));
  for (size_t k = 0; k < ticks.count; k++) {
    double y = plot->frame.top + (1 - share_of(axis, ticks.ticks[k].value)) * inner_height(plot);
    bool labelled = ticks.ticks[k].labelled;
    if (labelled && grid)
      rpinn_text_append(page, "<path d=\"M%.2f %.2fh%.2f\" stroke=\"#e5e7eb\"/>", at, y, inner_width(plot));
    rpinn_text_append(page, "<path d=\"M%.2f %.2fh%d\" stroke=\"#4b5563\"/>", at, y,
                      direction * (labelled ? 5 : 3));
    if (!labelled) continue;
    rpinn_text_append(page, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", at + direction * 8, y + 4,
                      direction < 0 ? "end" : "start");
    append_tick_label(page, &ticks, ticks.ticks[k].value);
    rpinn_text_append(page, "</text>");
  }
  if (ticks.exponent) {
    rpinn_text_append(page, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", at, plot->frame.top - 6,
                      direction < 0 ? "start" : "middle");
    append_multiplier(page, &ticks);
    rpinn_text_append(page, "</text>");
  }
  rpinn_text_append(page, "\n");
}

static void draw_frame(const RpinnPlot *plot) {
  rpinn_text_append(plot->page, "<rect width=\"%.2f\" height=\"%.2f\" fill=\"none\" stroke=\"#4b5563\"/>\n",
                    inner_width(plot), inner_height(plot));
}

void rpinn_plot_open(const RpinnPlot *plot, const char *description) {
  if (plot->sheet) rpinn_sheet_open_panel(plot);
  const RpinnFrame *frame = &plot->frame;
  RpinnText *page = plot->page;
  rpinn_text_append(page,
                    "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-size=\"12\" "
                    "fill=\"#1f2937\" aria-label=\"",
                    frame->width, frame->height);
  rpinn_markup_text(page, description);
  rpinn_text_append(page, "\">\n");
  draw_x_axis(plot);
  draw_y_ticks(plot, &plot->y, frame->left, -1, !plot->without_grid);
  double middle = frame->top + 0.5 * inner_height(plot);
  rpinn_text_append(page,
                    "<text x=\"13\" y=\"%.2f\" text-anchor=\"middle\" font-size=\"13\" "
                    "transform=\"rotate(-90 13 %.2f)\">",
                    middle, middle);
  rpinn_markup_text(page, plot->y.label);
  /* A picture in the picture cuts off what lies outside of the axes, but leaves room for markers on them. */
  double rim = 4, width = inner_width(plot) + 2 * rim, height = inner_height(plot) + 2 * rim;
  rpinn_text_append(page,
                    "</text>\n<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                    "viewBox=\"%.0f %.0f %.2f %.2f\">\n",
                    frame->left - rim, frame->top - rim, width, height, -rim, -rim, width, height);
  draw_frame(plot);
}

void rpinn_plot_close(const RpinnPlot *plot) {
  if (plot->sheet) rpinn_sheet_close_panel(plot);
  rpinn_text_append(plot->page, "</svg>\n</svg>\n");
}

/* ---- what is drawn ---- */

static void append_stroke(RpinnText *page, RpinnStroke stroke) {
  rpinn_text_append(page, " fill=\"none\" stroke=\"%s\" stroke-width=\"%.2f\" stroke-opacity=\"%.2f\"",
                    stroke.colour, stroke.width, stroke.opacity);
  if (stroke.dashes) rpinn_text_append(page, " stroke-dasharray=\"%s\"", stroke.dashes);
  rpinn_text_append(page, " stroke-linejoin=\"round\"");
}

void rpinn_plot_line(const RpinnPlot *plot, size_t count, const double *x, const double *y,
                     RpinnStroke stroke) {
  if (plot->sheet) rpinn_sheet_line(plot, count, x, y, stroke);
  RpinnText *page = plot->page;
  bool drawing = false;
  rpinn_text_append(page, "<path d=\"M0 0");
  for (size_t i = 0; i < count; i++) {
    bool good = fits(&plot->x, x[i]) && fits(&plot->y, y[i]);
    if (good)
      rpinn_text_append(page, "%c%.2f %.2f", drawing ? 'L' : 'M', across(plot, x[i]), down(plot, y[i]));
    drawing = good;
  }
  rpinn_text_append(page, "\"");
  append_stroke(page, stroke);
  rpinn_text_append(page, "/>\n");
}

/* The points first … end - 1, which all fit, there on one side and back on the other. */
static void append_ribbon(const RpinnPlot *plot, size_t first, size_t end, const double *x, const double *low,
                          const double *high) {
  for (size_t i = first; i < end; i++)
    rpinn_text_append(plot->page, "%c%.2f %.2f", i == first ? 'M' : 'L', across(plot, x[i]),
                      down(plot, high[i]));
  for (size_t i = end; i-- > first;)
    rpinn_text_append(plot->page, "L%.2f %.2f", across(plot, x[i]), down(plot, low[i]));
  rpinn_text_append(plot->page, "Z");
}

void rpinn_plot_band(const RpinnPlot *plot, size_t count, const double *x, const double *low,
                     const double *high, const char *colour, double opacity) {
  if (plot->sheet) rpinn_sheet_band(plot, count, x, low, high, colour, opacity);
  rpinn_text_append(plot->page, "<path d=\"M0 0");
  for (size_t i = 0; i < count;) {
    size_t end = i;
    while (end < count && fits(&plot->x, x[end]) && fits(&plot->y, low[end]) && fits(&plot->y, high[end]))
      end++;
    if (end > i) append_ribbon(plot, i, end, x, low, high);
    i = end + 1;
  }
  rpinn_text_append(plot->page, "\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n", colour, opacity);
}

static void append_marker(RpinnText *page, double x, double y, RpinnPointStyle style) {
  double r = style.size;
  switch (style.marker) {
  case RPINN_MARKER_SQUARE:
    rpinn_text_append(page, "<path d=\"M%.2f %.2fh%.2fv%.2fh%.2fZ\"", x - 0.9 * r, y - 0.9 * r, 1.8 * r,
                      1.8 * r, -1.8 * r);
    break;
  case RPINN_MARKER_DIAMOND:
    rpinn_text_append(page, "<path d=\"M%.2f %.2fl%.2f %.2fl%.2f %.2fl%.2f %.2fZ\"", x - 1.25 * r, y,
                      1.25 * r, -1.25 * r, 1.25 * r, 1.25 * r, -1.25 * r, 1.25 * r);
    break;
  case RPINN_MARKER_TRIANGLE:
    rpinn_text_append(page, "<path d=\"M%.2f %.2fl%.2f %.2fh%.2fZ\"", x, y - 1.3 * r, 1.2 * r, 2.1 * r,
                      -2.4 * r);
    break;
  default: rpinn_text_append(page, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"", x, y, r);
  }
  rpinn_text_append(page, " fill=\"%s\" stroke=\"%s\" stroke-width=\"1\"/>", style.fill, style.outline);
}

void rpinn_plot_points(const RpinnPlot *plot, size_t count, const double *x, const double *y, double error,
                       RpinnPointStyle style) {
  if (plot->sheet) rpinn_sheet_points(plot, count, x, y, error, style);
  RpinnText *page = plot->page;
  if (error > 0 && isfinite(error)) {
    rpinn_text_append(page, "<path d=\"M0 0");
    for (size_t i = 0; i < count; i++)
      if (fits(&plot->x, x[i]) && fits(&plot->y, y[i] - error) && fits(&plot->y, y[i] + error))
        rpinn_text_append(page, "M%.2f %.2fV%.2f", across(plot, x[i]), down(plot, y[i] - error),
                          down(plot, y[i] + error));
    rpinn_text_append(page, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\" stroke-opacity=\"0.7\"/>\n",
                      style.outline);
  }
  for (size_t i = 0; i < count; i++)
    if (fits(&plot->x, x[i]) && fits(&plot->y, y[i]))
      append_marker(page, across(plot, x[i]), down(plot, y[i]), style);
  rpinn_text_append(page, "\n");
}

void rpinn_plot_bars(const RpinnPlot *plot, size_t count, const double *edges, const double *heights,
                     const char *colour) {
  if (plot->sheet) rpinn_sheet_bars(plot, count, edges, heights, colour);
  for (size_t k = 0; k < count; k++) {
    if (!fits(&plot->x, edges[k]) || !fits(&plot->x, edges[k + 1]) || !fits(&plot->y, heights[k])) continue;
    double left = across(plot, edges[k]), right = across(plot, edges[k + 1]), top = down(plot, heights[k]);
    rpinn_text_append(plot->page,
                      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
                      "stroke=\"#ffffff\" stroke-width=\"0.8\"/>",
                      left, top, fmax(right - left, 0), fmax(inner_height(plot) - top, 0), colour);
  }
  rpinn_text_append(plot->page, "\n");
}

static void append_image(RpinnText *page, double x, double y, double width, double height,
                         const RpinnPlotImage *image) {
  rpinn_text_append(page,
                    "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                    "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"",
                    x, y, width, height);
  if (rpinn_raster_image_append(page, image->map, image->columns, image->rows, image->values, image->low,
                                image->high) != RPINN_OK)
    page->failed = true;
  rpinn_text_append(page, "\"/>\n");
}

void rpinn_plot_image(const RpinnPlot *plot, const RpinnPlotImage *image) {
  if (plot->sheet) rpinn_sheet_image(plot, image);
  double left = across(plot, image->x_low), top = down(plot, image->y_high);
  /* The pixels of a grid that has points on the boundary reach over it by a half. */
  rpinn_text_append(plot->page, "<svg width=\"%.2f\" height=\"%.2f\">", inner_width(plot),
                    inner_height(plot));
  append_image(plot->page, left, top, across(plot, image->x_high) - left, down(plot, image->y_low) - top,
               image);
  rpinn_text_append(plot->page, "</svg>\n");
  draw_frame(plot);
}

void rpinn_plot_close_with_keys(const RpinnPlot *plot, RpinnColourMap map, double low, double high) {
  RpinnAxis colours = {.low = low, .high = high};
  if (plot->sheet) {
    rpinn_sheet_colours(plot, map, &colours);
    rpinn_text_append(&plot->sheet->panels, "  unset colorbox\n");
  }
  rpinn_plot_close(plot);
}

void rpinn_plot_close_with_colours(const RpinnPlot *plot, RpinnColourMap map, RpinnAxis colours) {
  if (plot->sheet) {
    rpinn_sheet_colours(plot, map, &colours);
    rpinn_sheet_close_panel(plot);
  }
  enum { STEPS = 255 };
  double values[STEPS], left = plot->frame.width - plot->frame.right + 12, width = 13;
  for (int k = 0; k < STEPS; k++) values[k] = 1 - k / (STEPS - 1.0);
  RpinnPlotImage image = {.map = map, .columns = 1, .rows = STEPS, .values = values, .low = 0, .high = 1};
  rpinn_text_append(plot->page, "</svg>\n");
  append_image(plot->page, left, plot->frame.top, width, inner_height(plot), &image);
  rpinn_text_append(plot->page,
                    "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
                    "stroke=\"#4b5563\"/>\n",
                    left, plot->frame.top, width, inner_height(plot));
  draw_y_ticks(plot, &colours, left + width, 1, false);
  rpinn_text_append(plot->page, "</svg>\n");
}

/* ---- keys ---- */

static void open_key(RpinnText *page) {
  rpinn_text_append(page, "<span class=\"key\"><svg class=\"swatch\" viewBox=\"0 0 26 14\">");
}

static void close_key(RpinnText *page, const char *label) {
  rpinn_text_append(page, "</svg>");
  rpinn_markup_text(page, label);
  rpinn_text_append(page, "</span>\n");
}

static void write_line_key(RpinnText *page, RpinnStroke stroke, const char *label) {
  open_key(page);
  rpinn_text_append(page, "<path d=\"M1 7H25\"");
  append_stroke(page, stroke);
  rpinn_text_append(page, "/>");
  close_key(page, label);
}

static void write_band_key(RpinnText *page, const char *colour, double opacity, const char *label) {
  open_key(page);
  rpinn_text_append(page,
                    "<rect x=\"1\" y=\"2\" width=\"24\" height=\"10\" fill=\"%s\" fill-opacity=\"%.2f\"/>",
                    colour, opacity);
  close_key(page, label);
}

static void write_points_key(RpinnText *page, bool with_error, RpinnPointStyle style, const char *label) {
  open_key(page);
  if (with_error)
    rpinn_text_append(page, "<path d=\"M13 0V14\" stroke=\"%s\" stroke-width=\"1.2\"/>", style.outline);
  append_marker(page, 13, 7, style);
  close_key(page, label);
}

void rpinn_plot_key_line(const RpinnPlot *plot, RpinnStroke stroke, const char *label) {
  write_line_key(plot->page, stroke, label);
  if (plot->sheet) rpinn_sheet_key_line(plot->sheet, stroke, label);
}

void rpinn_plot_key_band(const RpinnPlot *plot, const char *colour, double opacity, const char *label) {
  write_band_key(plot->page, colour, opacity, label);
  if (plot->sheet) rpinn_sheet_key_band(plot->sheet, colour, opacity, label);
}

void rpinn_plot_key_points(const RpinnPlot *plot, bool with_error, RpinnPointStyle style, const char *label) {
  write_points_key(plot->page, with_error, style, label);
  if (plot->sheet) rpinn_sheet_key_points(plot->sheet, style, label);
}

void rpinn_plot_key_chains(const RpinnPlot *plot, size_t num_chains) {
  enum { MAX_KEYS = 8 };
  for (size_t c = 0; c < num_chains && c < MAX_KEYS; c++) {
    char label[32];
    snprintf(label, sizeof label, "chain %zu", c + 1);
    rpinn_plot_key_line(plot, (RpinnStroke){rpinn_series_ink(c), 1.5, 1, NULL}, label);
  }
}
