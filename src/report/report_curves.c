#include "report_curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report_figure.h"
#include "report_page.h"

enum {
  CURVE_POINTS = 1000, /* of a line, at most about so many */
  MEMBER_POINTS = 250, /* of a member's line */
  NUM_MEMBER_LINES = 20,
  NUM_DATA_POINTS = 2000 /* of one term */
};

static const RpinnStroke mean_stroke = {RPINN_INK_BLUE, 2, 1, NULL};
static const RpinnStroke truth_stroke = {RPINN_INK_BLACK, 1.6, 1, "6 4"};
static const RpinnStroke member_stroke = {RPINN_INK_GREY, 0.7, 0.35, NULL};
static const double band_opacity = 0.22, predictive_opacity = 0.08;

/* ---- the data of a quantity ---- */

bool rpinn_is_data_of(const RpinnRun *run, size_t term, size_t quantity) {
  const RpinnProblem *problem = run->problem;
  return problem->terms[term].expect.expression == problem->predicted[quantity].expression &&
         problem->terms[term].source != RPINN_DATA_GAUSSIAN && !run->posteriors[0]->data->terms[term].missing;
}

/* The style of the k-th term of a figure; held-out data are hollow. */
static RpinnPointStyle data_style(size_t k, bool is_test) {
  static const char *const inks[] = {RPINN_INK_VERMILION, RPINN_INK_GREEN, RPINN_INK_PURPLE, RPINN_INK_BLACK};
  const char *ink = inks[k % 4];
  return (RpinnPointStyle){(RpinnMarker)(k % RPINN_NUM_MARKERS), 3, is_test ? "#ffffff" : ink, ink};
}

/* ---- points in order ---- */

typedef struct Place {
  double x;
  size_t point;
} Place;

static int compare_places(const void *left, const void *right) {
  const Place *a = left, *b = right;
  return a->x < b->x ? -1 : a->x > b->x ? 1 : a->point < b->point ? -1 : a->point > b->point;
}

void rpinn_curves_free(RpinnCurves *curves) {
  free(curves->order);
  free(curves->x);
  for (int k = 0; k < 3; k++) free(curves->scratch[k]);
}

RpinnStatus rpinn_curves_make(RpinnContext *context, const RpinnPointSet *points, RpinnCurves *curves) {
  size_t count = points->count, stride = rpinn_figure_stride(count, CURVE_POINTS);
  Place *places = calloc(count + 1, sizeof *places);
  *curves = (RpinnCurves){.order = calloc(count + 1, sizeof(size_t)), .x = calloc(count + 1, sizeof(double))};
  bool good = places && curves->order && curves->x;
  for (int k = 0; k < 3; k++) {
    curves->scratch[k] = calloc(count + 1, sizeof(double));
    good = good && curves->scratch[k];
  }
  if (good) {
    for (size_t p = 0; p < count; p++) places[p] = (Place){points->x[p], p};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t p = 0; p < count; p += stride) {
      curves->order[curves->num_points] = places[p].point;
      curves->x[curves->num_points++] = places[p].x;
    }
  }
  free(places);
  return good ? RPINN_OK : rpinn_fail_memory(context);
}

/* values of the quantity's points in the order of the curve. */
static const double *pick(const RpinnCurves *curves, int scratch, const double *values) {
  for (size_t i = 0; i < curves->num_points; i++) curves->scratch[scratch][i] = values[curves->order[i]];
  return curves->scratch[scratch];
}

/* Half the length of the bar at a value: its stated noise, 0 without one. */
static double bar_of(const RpinnDataSet *data, size_t term, size_t point) {
  double noise = rpinn_data_set_noise(data, term, point);
  return isfinite(noise) ? noise : 0;
}

/* Only where it has a band at every point; after the other band, which uses the same room. */
static bool has_predictive(const RpinnRun *run, size_t quantity) {
  if (!run->results.predictive_low) return false;
  const double *low = run->results.predictive_low + quantity * run->outputs.num_points;
  for (size_t p = 0; p < run->outputs.num_points; p++)
    if (!isfinite(low[p])) return false;
  return run->outputs.num_points > 0;
}

void rpinn_curves_include(const RpinnRun *run, const RpinnCurves *curves, size_t quantity, RpinnAxis *y) {
  const RpinnDataSet *data = run->posteriors[0]->data;
  size_t first = quantity * run->outputs.num_points;
  const double *truth = data->predicted_truth[quantity];
  const double *sources[] = {run->results.mean + first, run->results.low + first, run->results.high + first};
  for (int k = 0; k < 3; k++) rpinn_axis_include(y, curves->num_points, pick(curves, 0, sources[k]));
  if (truth) rpinn_axis_include(y, curves->num_points, pick(curves, 0, truth));
  if (has_predictive(run, quantity)) {
    rpinn_axis_include(y, curves->num_points, pick(curves, 0, run->results.predictive_low + first));
    rpinn_axis_include(y, curves->num_points, pick(curves, 0, run->results.predictive_high + first));
  }
  for (size_t t = 0; t < run->problem->num_terms; t++) {
    if (!rpinn_is_data_of(run, t, quantity)) continue;
    for (size_t i = 0; i < data->terms[t].points.count; i++) {
      double noise = bar_of(data, t, i);
      double ends[] = {data->terms[t].values[i] - noise, data->terms[t].values[i] + noise};
      rpinn_axis_include(y, 2, ends);
    }
  }
}

static void draw_members(const RpinnRun *run, const RpinnCurves *curves, size_t quantity,
                         const RpinnPlot *plot) {
  size_t num_kept = rpinn_kept_draws_count(run->results.kept);
  size_t stride = rpinn_figure_stride(curves->num_points, MEMBER_POINTS);
  for (size_t draw = 0; draw < num_kept; draw += rpinn_figure_stride(num_kept, NUM_MEMBER_LINES)) {
    const double *values = rpinn_kept_draws_get(run->results.kept, draw) + quantity * run->outputs.num_points;
    size_t count = 0;
    for (size_t i = 0; i < curves->num_points; i++) {
      if (i % stride != 0 && i + 1 != curves->num_points) continue;
      curves->scratch[0][count] = curves->x[i];
      curves->scratch[1][count++] = values[curves->order[i]];
    }
    rpinn_plot_line(plot, count, curves->scratch[0], curves->scratch[1], member_stroke);
  }
}

static void draw_data(const RpinnRun *run, size_t quantity, const RpinnPlot *plot) {
  for (size_t t = 0, k = 0; t < run->problem->num_terms; t++) {
    if (!rpinn_is_data_of(run, t, quantity)) continue;
    const RpinnTerm *term = &run->problem->terms[t];
    const RpinnTermData *data = &run->posteriors[0]->data->terms[t];
    RpinnPointStyle style = data_style(k++, term->is_test);
    for (size_t i = 0; i < data->points.count; i += rpinn_figure_stride(data->points.count, NUM_DATA_POINTS))
      rpinn_plot_points(plot, 1, &data->points.x[i], &data->values[i], bar_of(run->posteriors[0]->data, t, i),
                        style);
  }
}

static void draw_predictive(const RpinnRun *run, const RpinnCurves *curves, size_t quantity,
                            const RpinnPlot *plot) {
  size_t first = quantity * run->outputs.num_points;
  if (!has_predictive(run, quantity)) return;
  const double *low = pick(curves, 0, run->results.predictive_low + first);
  const double *high = pick(curves, 1, run->results.predictive_high + first);
  rpinn_plot_band(plot, curves->num_points, curves->x, low, high, mean_stroke.colour, predictive_opacity);
}

void rpinn_curves_draw(const RpinnRun *run, const RpinnCurves *curves, size_t quantity, bool with_members,
                       const RpinnPlot *plot) {
  const double *truth = run->posteriors[0]->data->predicted_truth[quantity];
  size_t first = quantity * run->outputs.num_points, count = curves->num_points;
  if (rpinn_report_num_draws(run) > 1) {
    const double *low = pick(curves, 0, run->results.low + first);
    const double *high = pick(curves, 1, run->results.high + first);
    if (rpinn_report_has_intervals(run))
      rpinn_plot_band(plot, count, curves->x, low, high, mean_stroke.colour, band_opacity);
    draw_predictive(run, curves, quantity, plot);
    if (with_members) draw_members(run, curves, quantity, plot);
  }
  draw_data(run, quantity, plot);
  rpinn_plot_line(plot, count, curves->x, pick(curves, 0, run->results.mean + first), mean_stroke);
  if (truth) rpinn_plot_line(plot, count, curves->x, pick(curves, 0, truth), truth_stroke);
}

void rpinn_curves_keys(const RpinnRun *run, size_t quantity, bool with_members, const RpinnPlot *plot) {
  bool several = rpinn_report_num_draws(run) > 1;
  char label[512];
  rpinn_text_append(plot->page, "<p class=\"keys\">\n");
  rpinn_plot_key_line(plot, mean_stroke, several ? "mean" : "the only member");
  if (several) {
    RpinnStroke shown = member_stroke;
    shown.opacity = 0.8;
    snprintf(label, sizeof label, "95 %% of the %ss", run->method->legend);
    if (rpinn_report_has_intervals(run)) rpinn_plot_key_band(plot, mean_stroke.colour, band_opacity, label);
    if (has_predictive(run, quantity))
      rpinn_plot_key_band(plot, mean_stroke.colour, predictive_opacity, "95 % of measurements");
    snprintf(label, sizeof label, "some %ss", run->method->legend);
    if (with_members) rpinn_plot_key_line(plot, shown, label);
  }
  if (run->posteriors[0]->data->predicted_truth[quantity]) rpinn_plot_key_line(plot, truth_stroke, "truth");
  for (size_t t = 0, k = 0; t < run->problem->num_terms; t++) {
    const RpinnTerm *term = &run->problem->terms[t];
    bool has_noise = !isnan(run->posteriors[0]->data->terms[t].typical_noise);
    if (!rpinn_is_data_of(run, t, quantity)) continue;
    snprintf(label, sizeof label, "%s %s%s", term->is_test ? "held-out data" : "data", term->name,
             has_noise ? " \xc2\xb1 noise" : "");
    rpinn_plot_key_points(plot, has_noise, data_style(k++, term->is_test), label);
  }
  rpinn_text_append(plot->page, "</p>\n");
}
