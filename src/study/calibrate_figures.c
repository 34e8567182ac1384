#include "calibrate_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rank_uniformity.h"
#include "report_figure.h"
#include "rpinn/verdict.h"
#include "svg_plot.h"

enum { BINS = RPINN_CALIBRATION_BINS, LEVELS = RPINN_CALIBRATION_LEVELS, TOP = LEVELS - 1 };

static const RpinnFrame frame = {400, 290, 58, 12, 20, 42};
static const RpinnStroke uniform_stroke = {RPINN_INK_BLACK, 1.4, 1, "6 4"};
static const double chance_opacity = 0.16;

static const RpinnStroke edge_stroke = {RPINN_INK_GREY, 1, 0.8, NULL};

/* Of areas: the ink of a method, lighter. */
static const char *bar_ink(size_t m) {
  static const char *const inks[] = {"#7fb8d8", "#eaae7f", "#7fceb9", "#d3a2bf", "#b5b9bf", "#888b93"};
  return inks[m % (sizeof inks / sizeof inks[0])];
}

static RpinnPointStyle method_style(size_t m) {
  return (RpinnPointStyle){(RpinnMarker)(m % RPINN_NUM_MARKERS), 3.6, rpinn_series_ink(m),
                           rpinn_series_ink(m)};
}

static size_t num_columns(const RpinnCalibration *calibration) {
  size_t most = 0;
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made > most) most = calibration->methods[m].num_made;
  return most;
}

static const char *column_label(const RpinnCalibration *calibration) {
  return calibration->source == RPINN_FROM_DATA ? "fold" : "data set";
}

static void open_keys(const RpinnPlot *plot) {
  rpinn_text_append(plot->page, "<p class=\"keys\">\n");
}

static void close_keys(const RpinnPlot *plot) {
  rpinn_text_append(plot->page, "</p>\n");
}

/* Data sets across, whole numbers. */
static RpinnAxis data_set_axis(const RpinnCalibration *calibration) {
  return (RpinnAxis){.label = column_label(calibration),
                     .low = 0.4,
                     .high = (double)num_columns(calibration) + 0.6,
                     .whole = true};
}

/* ---- coverage ---- */

/* How many independent trials a share of this subject is of. */
static size_t num_trials(const RpinnCalibration *calibration, const RpinnCalibrationSummary *summary) {
  return calibration->source == RPINN_FROM_DATA ? (size_t)summary->num_points : summary->num_data_sets;
}

static RpinnStatus draw_chance(const RpinnCalibration *calibration, const RpinnCalibrationSummary *summary,
                               const RpinnPlot *plot) {
  enum { STEPS = 40 };
  double x[STEPS + 1], low[STEPS + 1], high[STEPS + 1], ends[] = {0, 100};
  for (size_t k = 0; k <= STEPS; k++) {
    double share = (double)k / STEPS;
    x[k] = 100 * share;
    low[k] = high[k] = share;
    if (k > 0 && k < STEPS)
      RPINN_TRY(rpinn_share_band(num_trials(calibration, summary), share, 0.95, &low[k], &high[k]));
    low[k] *= 100;
    high[k] *= 100;
  }
  rpinn_plot_band(plot, STEPS + 1, x, low, high, RPINN_INK_GREY, chance_opacity);
  rpinn_plot_line(plot, 2, ends, ends, uniform_stroke);
  return RPINN_OK;
}

/* Intervals between ranks that lie as far from both ends hold the bins between them: a line from the histogram, and points
 * with their errors where intervals were scored. */
static void draw_method_coverage(const RpinnCalibrationSummary *summary, size_t m, const RpinnPlot *plot) {
  double x[BINS / 2 + 1] = {0}, y[BINS / 2 + 1] = {0};
  for (size_t k = 1; k <= BINS / 2; k++) {
    x[k] = 100.0 * 2 * (double)k / BINS;
    y[k] = y[k - 1] + 100 * (summary->pit[BINS / 2 - k] + summary->pit[BINS / 2 + k - 1]);
  }
  rpinn_plot_line(plot, BINS / 2 + 1, x, y, (RpinnStroke){rpinn_series_ink(m), 1.8, 0.85, NULL});
  for (size_t l = 0; l < LEVELS; l++) {
    double level = 100 * rpinn_calibration_levels[l], held = 100 * summary->coverage[l].mean;
    rpinn_plot_points(plot, 1, &level, &held, 100 * summary->coverage[l].error, method_style(m));
  }
}

RpinnStatus rpinn_calibration_draw_coverage(const RpinnCalibration *calibration, size_t subject,
                                            RpinnText *page) {
  const char *name = calibration->subjects[subject].name;
  char description[256];
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = {.label = "nominal level, %", .low = 0, .high = 101},
                    .y = {.label = "coverage, %", .low = 0, .high = 101}};
  snprintf(description, sizeof description, "coverage of %.150s against the nominal level", name);
  rpinn_figure_open(page, name);
  rpinn_plot_open(&plot, description);
  for (size_t m = 0, first = 1; m < calibration->num_methods; m++) {
    RpinnCalibrationSummary summary;
    if (!calibration->methods[m].num_made) continue;
    rpinn_calibration_summary(calibration, m, subject, &summary);
    if (first) RPINN_TRY(draw_chance(calibration, &summary, &plot));
    first = 0;
    draw_method_coverage(&summary, m, &plot);
  }
  rpinn_plot_close(&plot);
  open_keys(&plot);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made)
      rpinn_plot_key_points(&plot, true, method_style(m), calibration->methods[m].name);
  rpinn_plot_key_line(&plot, uniform_stroke, "as promised");
  rpinn_plot_key_band(&plot, RPINN_INK_GREY, chance_opacity, "95 % of what chance does");
  close_keys(&plot);
  rpinn_figure_close(page);
  return RPINN_OK;
}

/* ---- ranks ---- */

static void open_method_figure(const RpinnCalibration *calibration, size_t method, const char *name,
                               RpinnText *page) {
  char caption[256];
  snprintf(caption, sizeof caption, "%.150s, %.60s", name, calibration->methods[method].name);
  rpinn_figure_open(page, calibration->num_methods > 1 ? caption : name);
}

RpinnStatus rpinn_calibration_draw_ranks(const RpinnCalibration *calibration, size_t method, size_t subject,
                                         RpinnText *page) {
  RpinnCalibrationSummary summary;
  double edges[BINS + 1], heights[BINS], low, high, one[2] = {1, 1}, lows[2], highs[2], ends[2] = {0, 1};
  rpinn_calibration_summary(calibration, method, subject, &summary);
  RPINN_TRY(rpinn_share_band(num_trials(calibration, &summary), 1.0 / BINS, 0.95, &low, &high));
  for (size_t b = 0; b < BINS; b++) {
    edges[b] = (double)b / BINS;
    heights[b] = BINS * summary.pit[b];
  }
  edges[BINS] = 1;
  lows[0] = lows[1] = BINS * low;
  highs[0] = highs[1] = BINS * high;
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = {.label = "rank of the truth among the draws", .low = 0, .high = 1},
                    .y = rpinn_axis_empty("density", false)};
  double bottom = 0;
  rpinn_axis_include(&plot.y, 1, &bottom);
  rpinn_axis_include(&plot.y, BINS, heights);
  rpinn_axis_include(&plot.y, 1, highs);
  rpinn_axis_settle(&plot.y, 0);
  plot.y.high *= 1.08;
  open_method_figure(calibration, method, calibration->subjects[subject].name, page);
  rpinn_plot_open(&plot, "histogram of ranks");
  rpinn_plot_band(&plot, 2, ends, lows, highs, RPINN_INK_GREY, chance_opacity);
  rpinn_plot_bars(&plot, BINS, edges, heights, bar_ink(method));
  rpinn_plot_line(&plot, 2, ends, lows, edge_stroke);
  rpinn_plot_line(&plot, 2, ends, highs, edge_stroke);
  rpinn_plot_line(&plot, 2, ends, one, uniform_stroke);
  rpinn_plot_close(&plot);
  open_keys(&plot);
  rpinn_plot_key_line(&plot, uniform_stroke, "uniform");
  rpinn_plot_key_band(&plot, RPINN_INK_GREY, chance_opacity, "95 % of what uniform ranks do in a bin");
  close_keys(&plot);
  rpinn_figure_close(page);
  return RPINN_OK;
}

/* ECDF(z_k) - z_k, k = 0 … BINS, of count ranks. */
static void find_differences(size_t count, const double *ranks, double *difference) {
  for (size_t k = 0; k <= BINS; k++) {
    double z = (double)k / BINS, below = 0;
    for (size_t i = 0; i < count; i++) below += ranks[i] < z;
    difference[k] = below / (double)count - z;
  }
}

_Static_assert((int)RPINN_UNIFORMITY_STEPS == (int)BINS, "the band is at the edges of the bins");

RpinnStatus rpinn_calibration_draw_distribution(const RpinnCalibration *calibration, size_t method,
                                                size_t subject, RpinnText *page) {
  double lines[RPINN_RANKED_POINTS][BINS + 1], z[BINS + 1], low[BINS + 1], high[BINS + 1], ends[] = {0, 1},
                                                                                           zeros[] = {0, 0};
  double *ranks = malloc((calibration->methods[method].num_made + 1) * sizeof *ranks);
  size_t num_lines = 0, count = 0;
  if (!ranks) return RPINN_ERROR_MEMORY;
  for (size_t k = 0; k < RPINN_RANKED_POINTS; k++) {
    size_t found = rpinn_calibration_ranks(calibration, method, subject, k, ranks);
    if (!found) continue;
    find_differences(count = found, ranks, lines[num_lines++]);
  }
  free(ranks);
  if (!num_lines) return RPINN_OK;
  RPINN_TRY(rpinn_uniformity_band(count, 0.95, low, high));
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = {.label = "rank of the truth among the draws", .low = 0, .high = 1},
                    .y = rpinn_axis_empty("share below \xe2\x88\x92 rank", false)};
  for (size_t k = 0; k <= BINS; k++) {
    z[k] = (double)k / BINS;
    low[k] -= z[k];
    high[k] -= z[k];
  }
  rpinn_axis_include(&plot.y, BINS + 1, low);
  rpinn_axis_include(&plot.y, BINS + 1, high);
  for (size_t k = 0; k < num_lines; k++) rpinn_axis_include(&plot.y, BINS + 1, lines[k]);
  rpinn_axis_settle(&plot.y, 0.08);
  open_method_figure(calibration, method, calibration->subjects[subject].name, page);
  rpinn_plot_open(&plot, "distribution function of ranks less that of uniform ones");
  rpinn_plot_band(&plot, BINS + 1, z, low, high, RPINN_INK_GREY, 1.4 * chance_opacity);
  rpinn_plot_line(&plot, 2, ends, zeros, uniform_stroke);
  for (size_t k = 0; k < num_lines; k++)
    rpinn_plot_line(&plot, BINS + 1, z, lines[k], (RpinnStroke){rpinn_series_ink(method), 1.6, 0.7, NULL});
  rpinn_plot_close(&plot);
  open_keys(&plot);
  rpinn_plot_key_line(&plot, (RpinnStroke){rpinn_series_ink(method), 1.6, 0.7, NULL},
                      num_lines > 1 ? "at points" : "ranks");
  rpinn_plot_key_band(&plot, RPINN_INK_GREY, 1.4 * chance_opacity, "95 % of uniform ranks stay within");
  close_keys(&plot);
  rpinn_figure_close(page);
  return RPINN_OK;
}

/* ---- data set by data set ---- */

typedef double Pick(const RpinnCalibrationRow *row, size_t subject);

static double pick_crps(const RpinnCalibrationRow *row, size_t subject) {
  return row->scores[subject].crps;
}
static double pick_width(const RpinnCalibrationRow *row, size_t subject) {
  return row->scores[subject].width[TOP];
}
static double pick_scale(const RpinnCalibrationRow *row, size_t subject) {
  (void)subject;
  return row->prior_scale;
}

static void include_rows(const RpinnCalibration *calibration, Pick *pick, size_t subject, RpinnAxis *axis) {
  for (size_t m = 0; m < calibration->num_methods; m++)
    for (size_t d = 0; d < calibration->methods[m].num_made; d++) {
      double value = pick(calibration->methods[m].rows[d], subject);
      rpinn_axis_include(axis, 1, &value);
    }
}

/* Points of method m, a little beside those of the others, and their mean. */
static void draw_rows(const RpinnCalibration *calibration, Pick *pick, size_t subject, size_t m,
                      const RpinnPlot *plot) {
  const RpinnCalibratedMethod *method = &calibration->methods[m];
  double shift =
      calibration->num_methods > 1 ? 0.4 * ((double)m / (double)(calibration->num_methods - 1) - 0.5) : 0;
  double sum = 0, count = 0, ends[] = {plot->x.low, plot->x.high};
  for (size_t d = 0; d < method->num_made; d++) {
    double x = (double)(d + 1) + shift, y = pick(method->rows[d], subject);
    rpinn_plot_points(plot, 1, &x, &y, 0, method_style(m));
    if (isnan(y)) continue;
    sum += y;
    count += 1;
  }
  double means[] = {sum / count, sum / count};
  rpinn_plot_line(plot, 2, ends, means, (RpinnStroke){rpinn_series_ink(m), 1.4, 0.7, "2 3"});
}

static void draw_row_figure(const RpinnCalibration *calibration, Pick *pick, size_t subject,
                            const char *caption, const char *label, RpinnText *page) {
  RpinnPlot plot = {
      .page = page, .frame = frame, .x = data_set_axis(calibration), .y = rpinn_axis_empty(label, true)};
  include_rows(calibration, pick, subject, &plot.y);
  rpinn_axis_settle(&plot.y, 0.06);
  rpinn_figure_open(page, caption);
  rpinn_plot_open(&plot, caption);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) draw_rows(calibration, pick, subject, m, &plot);
  rpinn_plot_close(&plot);
  open_keys(&plot);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made)
      rpinn_plot_key_points(&plot, false, method_style(m), calibration->methods[m].name);
  rpinn_plot_key_line(&plot, (RpinnStroke){RPINN_INK_GREY, 1.4, 1, "2 3"}, "mean");
  close_keys(&plot);
  rpinn_figure_close(page);
}

RpinnStatus rpinn_calibration_draw_scores(const RpinnCalibration *calibration, size_t subject, bool widths,
                                          RpinnText *page) {
  char caption[256];
  snprintf(caption, sizeof caption, "%s of %.150s", widths ? "width of 95 % intervals" : "CRPS",
           calibration->subjects[subject].name);
  draw_row_figure(calibration, widths ? pick_width : pick_crps, subject, caption, widths ? "width" : "CRPS",
                  page);
  return RPINN_OK;
}

/* Nothing where all are the same. */
RpinnStatus rpinn_calibration_draw_scales(const RpinnCalibration *calibration, RpinnText *page) {
  RpinnAxis range = rpinn_axis_empty("", true);
  include_rows(calibration, pick_scale, 0, &range);
  if (!(range.high > range.low * (1 + 1e-9))) return RPINN_OK;
  draw_row_figure(calibration, pick_scale, 0, "scale of the prior that the data chose", "scale", page);
  return RPINN_OK;
}

/* ---- verdicts ---- */

/* The least coverage at 95 % of a quantity, in %; the log likelihood is none. */
static double worst_coverage(const RpinnCalibration *calibration, const RpinnCalibrationRow *row) {
  double least = (double)NAN;
  for (size_t s = 0; s < calibration->num_subjects; s++)
    if (calibration->subjects[s].kind != RPINN_SUBJECT_LIKELIHOOD && row->scores[s].num_points > 1)
      least = fmin(least, 100 * row->scores[s].coverage[TOP]);
  return least;
}

RpinnStatus rpinn_calibration_draw_verdicts(const RpinnCalibration *calibration, size_t method,
                                            RpinnText *page) {
  static const RpinnPointStyle styles[] = {
      {RPINN_MARKER_CIRCLE, 4, RPINN_INK_GREEN, RPINN_INK_GREEN},
      {RPINN_MARKER_DIAMOND, 4, "#e69f00", "#b37b00"},
      {RPINN_MARKER_TRIANGLE, 4.5, RPINN_INK_VERMILION, RPINN_INK_VERMILION}};
  const RpinnCalibratedMethod *rows = &calibration->methods[method];
  size_t counts[3];
  rpinn_calibration_verdicts(rows, counts);
  if (!(counts[0] + counts[1] + counts[2])) return RPINN_OK;
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = data_set_axis(calibration),
                    .y = {.label = "least coverage at 95 %, in %", .low = -3, .high = 103}};
  double ends[] = {plot.x.low, plot.x.high}, promised[] = {95, 95};
  char label[64];
  rpinn_figure_open(page, rows->name);
  rpinn_plot_open(&plot, "verdicts over coverage");
  rpinn_plot_line(&plot, 2, ends, promised, uniform_stroke);
  for (size_t d = 0; d < rows->num_made; d++) {
    double x = (double)(d + 1), y = worst_coverage(calibration, rows->rows[d]);
    if (!isnan(rows->rows[d]->verdict))
      rpinn_plot_points(&plot, 1, &x, &y, 0, styles[(size_t)rows->rows[d]->verdict]);
  }
  rpinn_plot_close(&plot);
  open_keys(&plot);
  for (int k = RPINN_VERDICT_GOOD; k <= RPINN_VERDICT_BAD; k++) {
    snprintf(label, sizeof label, "%s: %zu", rpinn_verdict_word_name((RpinnVerdictWord)k), counts[k]);
    rpinn_plot_key_points(&plot, false, styles[k], label);
  }
  close_keys(&plot);
  rpinn_figure_close(page);
  return RPINN_OK;
}
