/* The figures of a run's page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "markup.h"
#include "report_page.h"
#include "svg_plot.h"

enum {
  CURVE_POINTS = 1000, /* of a line, at most about so many */
  MEMBER_POINTS = 250, /* of a member's line */
  NUM_MEMBER_LINES = 20,
  NUM_DATA_POINTS = 2000, /* of one term */
  MAP_PIXELS = 512,       /* along each side */
  MAX_BINS = 40
};

static const RpinnStroke mean_stroke = {RPINN_INK_BLUE, 2, 1, NULL};
static const RpinnStroke truth_stroke = {RPINN_INK_BLACK, 1.6, 1, "6 4"};
static const RpinnStroke member_stroke = {RPINN_INK_GREY, 0.7, 0.35, NULL};
static const double band_opacity = 0.22;

static size_t stride_for(size_t count, size_t limit) {
  return count > limit ? (count - 1) / limit + 1 : 1;
}

/* ---- the data of a quantity ---- */

static bool is_data_of(const RpinnRun *run, size_t term, size_t quantity) {
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

/* ---- one coordinate ---- */

/* Curves over the points in rising order of x, thinned. */
typedef struct Curves {
  size_t num_points;
  size_t *order; /* [num_points] numbers of points */
  double *x;     /* [num_points] */
  double *scratch[3];
} Curves;

typedef struct Place {
  double x;
  size_t point;
} Place;

static int compare_places(const void *left, const void *right) {
  const Place *a = left, *b = right;
  return a->x < b->x ? -1 : a->x > b->x ? 1 : a->point < b->point ? -1 : a->point > b->point;
}

static void free_curves(Curves *curves) {
  free(curves->order);
  free(curves->x);
  for (int k = 0; k < 3; k++) free(curves->scratch[k]);
}

static RpinnStatus make_curves(RpinnContext *context, const RpinnPointSet *points, Curves *curves) {
  size_t count = points->count, stride = stride_for(count, CURVE_POINTS);
  Place *places = calloc(count + 1, sizeof *places);
  *curves = (Curves){.order = calloc(count + 1, sizeof(size_t)), .x = calloc(count + 1, sizeof(double))};
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
static const double *pick(const Curves *curves, int scratch, const double *values) {
  for (size_t i = 0; i < curves->num_points; i++) curves->scratch[scratch][i] = values[curves->order[i]];
  return curves->scratch[scratch];
}

static void include_curve(const RpinnRun *run, const Curves *curves, size_t quantity, RpinnAxis *y) {
  const RpinnDataSet *data = run->posteriors[0]->data;
  size_t first = quantity * run->outputs.num_points;
  const double *truth = data->predicted_truth[quantity];
  const double *sources[] = {run->results.mean + first, run->results.low + first, run->results.high + first};
  for (int k = 0; k < 3; k++) rpinn_axis_include(y, curves->num_points, pick(curves, 0, sources[k]));
  if (truth) rpinn_axis_include(y, curves->num_points, pick(curves, 0, truth));
  for (size_t t = 0; t < run->problem->num_terms; t++) {
    if (!is_data_of(run, t, quantity)) continue;
    double noise = run->problem->terms[t].has_noise ? run->problem->terms[t].noise : 0;
    for (size_t i = 0; i < data->terms[t].points.count; i++) {
      double ends[] = {data->terms[t].values[i] - noise, data->terms[t].values[i] + noise};
      rpinn_axis_include(y, 2, ends);
    }
  }
}

static void draw_members(const RpinnRun *run, const Curves *curves, size_t quantity, const RpinnPlot *plot) {
  size_t num_kept = rpinn_kept_draws_count(run->results.kept);
  size_t stride = stride_for(curves->num_points, MEMBER_POINTS);
  for (size_t draw = 0; draw < num_kept; draw += stride_for(num_kept, NUM_MEMBER_LINES)) {
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
    if (!is_data_of(run, t, quantity)) continue;
    const RpinnTerm *term = &run->problem->terms[t];
    const RpinnTermData *data = &run->posteriors[0]->data->terms[t];
    RpinnPointStyle style = data_style(k++, term->is_test);
    double noise = term->has_noise ? term->noise : 0;
    for (size_t i = 0; i < data->points.count; i += stride_for(data->points.count, NUM_DATA_POINTS))
      rpinn_plot_points(plot, 1, &data->points.x[i], &data->values[i], noise, style);
  }
}

static void write_curve_keys(const RpinnRun *run, size_t quantity, RpinnText *page) {
  bool several = rpinn_report_num_draws(run) > 1;
  rpinn_text_append(page, "<p class=\"keys\">\n");
  rpinn_key_line(page, mean_stroke, several ? "mean" : "the only member");
  if (several) {
    RpinnStroke shown = member_stroke;
    shown.opacity = 0.8;
    rpinn_key_band(page, mean_stroke.colour, band_opacity, "95 % of the members");
    rpinn_key_line(page, shown, "some members");
  }
  if (run->posteriors[0]->data->predicted_truth[quantity]) rpinn_key_line(page, truth_stroke, "truth");
  for (size_t t = 0, k = 0; t < run->problem->num_terms; t++) {
    const RpinnTerm *term = &run->problem->terms[t];
    if (!is_data_of(run, t, quantity)) continue;
    char label[512];
    snprintf(label, sizeof label, "%s %s%s", term->is_test ? "held-out data" : "data", term->name,
             term->has_noise ? " \xc2\xb1 noise" : "");
    rpinn_key_points(page, term->has_noise, data_style(k++, term->is_test), label);
  }
  rpinn_text_append(page, "</p>\n");
}

static void write_curve(const RpinnRun *run, const Curves *curves, size_t quantity, RpinnText *page) {
  const RpinnCoordinate *coordinate = &run->problem->coordinates[0];
  const char *name = run->problem->predicted[quantity].name;
  const double *truth = run->posteriors[0]->data->predicted_truth[quantity];
  size_t first = quantity * run->outputs.num_points;
  RpinnPlot plot = {.page = page,
                    .frame = {440, 310, 58, 10, 20, 42},
                    .x = {.label = coordinate->name, .low = coordinate->low, .high = coordinate->high},
                    .y = rpinn_axis_empty(name, false)};
  char description[512];
  snprintf(description, sizeof description, "%.200s over %.200s with its uncertainty", name,
           coordinate->name);
  include_curve(run, curves, quantity, &plot.y);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_text_append(page, "<figure>\n<figcaption>");
  rpinn_markup_text(page, name);
  rpinn_text_append(page, "</figcaption>\n");
  rpinn_plot_open(&plot, description);
  if (rpinn_report_num_draws(run) > 1) {
    const double *low = pick(curves, 0, run->results.low + first);
    const double *high = pick(curves, 1, run->results.high + first);
    rpinn_plot_band(&plot, curves->num_points, curves->x, low, high, mean_stroke.colour, band_opacity);
    draw_members(run, curves, quantity, &plot);
  }
  draw_data(run, quantity, &plot);
  rpinn_plot_line(&plot, curves->num_points, curves->x, pick(curves, 0, run->results.mean + first),
                  mean_stroke);
  if (truth) rpinn_plot_line(&plot, curves->num_points, curves->x, pick(curves, 0, truth), truth_stroke);
  rpinn_plot_close(&plot);
  write_curve_keys(run, quantity, page);
  rpinn_text_append(page, "</figure>\n");
}

static RpinnStatus write_curves(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  Curves curves;
  RpinnStatus status = make_curves(context, &run->posteriors[0]->data->predict, &curves);
  rpinn_text_append(page, "<div class=\"figures\">\n");
  for (size_t q = 0; status == RPINN_OK && q < run->outputs.num_quantities; q++)
    write_curve(run, &curves, q, page);
  rpinn_text_append(page, "</div>\n");
  free_curves(&curves);
  return status;
}

/* ---- two coordinates ---- */

/* Points that are all pairs of positions along two axes. */
typedef struct Grid {
  size_t counts[2];
  double *positions[2]; /* [counts[i]] rising */
  size_t *points;       /* [counts[1]][counts[0]] which point stands where */
  size_t num_points;
  double *raster; /* [MAP_PIXELS][MAP_PIXELS] at most */
} Grid;

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The position nearest to value. */
static size_t nearest_position(size_t count, const double *positions, double value) {
  size_t low = 0, high = count - 1;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (positions[middle] <= value)
      low = middle;
    else
      high = middle;
  }
  return fabs(value - positions[low]) <= fabs(positions[high] - value) ? low : high;
}

/* Sort and merge what differs only by rounding. */
static size_t distinct_positions(size_t count, double *values) {
  qsort(values, count, sizeof *values, compare_numbers);
  double gap = 1e-9 * (values[count - 1] - values[0]);
  size_t num = 1;
  for (size_t i = 1; i < count; i++)
    if (values[i] - values[num - 1] > gap) values[num++] = values[i];
  return num;
}

static void free_grid(Grid *grid) {
  free(grid->positions[0]);
  free(grid->positions[1]);
  free(grid->points);
  free(grid->raster);
}

/* *is_grid: the points are a grid of at least two by two, each once. */
static RpinnStatus make_grid(RpinnContext *context, const RpinnPointSet *points, Grid *grid, bool *is_grid) {
  size_t count = points->count;
  *is_grid = false;
  *grid = (Grid){.num_points = count,
                 .points = calloc(count + 1, sizeof(size_t)),
                 .raster = calloc((size_t)MAP_PIXELS * MAP_PIXELS, sizeof(double))};
  for (int i = 0; i < 2; i++) grid->positions[i] = calloc(count + 1, sizeof(double));
  if (!grid->points || !grid->raster || !grid->positions[0] || !grid->positions[1])
    return rpinn_fail_memory(context);
  if (count < 4) return RPINN_OK;
  for (size_t i = 0; i < 2; i++) {
    for (size_t p = 0; p < count; p++) grid->positions[i][p] = points->x[2 * p + i];
    grid->counts[i] = distinct_positions(count, grid->positions[i]);
    if (grid->counts[i] < 2) return RPINN_OK;
  }
  if (grid->counts[0] > count / grid->counts[1] || grid->counts[0] * grid->counts[1] != count)
    return RPINN_OK;
  for (size_t p = 0; p < count; p++) {
    size_t column = nearest_position(grid->counts[0], grid->positions[0], points->x[2 * p]);
    size_t row = nearest_position(grid->counts[1], grid->positions[1], points->x[2 * p + 1]);
    size_t *place = &grid->points[row * grid->counts[0] + column];
    if (*place) return RPINN_OK; /* twice */
    *place = p + 1;
  }
  for (size_t k = 0; k < count; k++) grid->points[k]--;
  *is_grid = true;
  return RPINN_OK;
}

/* Which part of axis i an image covers, and with how many pixels: one for each position where these are even
 * (then half a step beyond the ends), otherwise nearest neighbours over the range. */
typedef struct Coverage {
  double low, high;
  size_t pixels;
} Coverage;

static Coverage cover(const Grid *grid, size_t i) {
  size_t count = grid->counts[i];
  const double *positions = grid->positions[i];
  double step = (positions[count - 1] - positions[0]) / (double)(count - 1);
  bool even = count <= MAP_PIXELS;
  for (size_t k = 0; even && k < count; k++)
    even = fabs(positions[k] - (positions[0] + step * (double)k)) < 1e-3 * step;
  if (even) return (Coverage){positions[0] - 0.5 * step, positions[count - 1] + 0.5 * step, count};
  return (Coverage){positions[0], positions[count - 1], MAP_PIXELS};
}

static RpinnPlotImage make_image(const Grid *grid, const double *values, RpinnColourMap map,
                                 const RpinnAxis *colours) {
  Coverage x = cover(grid, 0), y = cover(grid, 1);
  for (size_t row = 0; row < y.pixels; row++)
    for (size_t column = 0; column < x.pixels; column++) {
      double across = x.low + (x.high - x.low) * ((double)column + 0.5) / (double)x.pixels;
      double up = y.high - (y.high - y.low) * ((double)row + 0.5) / (double)y.pixels;
      size_t i = nearest_position(grid->counts[0], grid->positions[0], across);
      size_t j = nearest_position(grid->counts[1], grid->positions[1], up);
      grid->raster[row * x.pixels + column] = values[grid->points[j * grid->counts[0] + i]];
    }
  return (RpinnPlotImage){.x_low = x.low,
                          .x_high = x.high,
                          .y_low = y.low,
                          .y_high = y.high,
                          .map = map,
                          .columns = x.pixels,
                          .rows = y.pixels,
                          .values = grid->raster,
                          .low = colours->low,
                          .high = colours->high};
}

static bool has_data(const RpinnRun *run, size_t quantity) {
  for (size_t t = 0; t < run->problem->num_terms; t++)
    if (is_data_of(run, t, quantity)) return true;
  return false;
}

static const RpinnPointStyle map_point = {RPINN_MARKER_CIRCLE, 2.2, "#ffffff", "#111827"};

static void draw_measurement_points(const RpinnRun *run, size_t quantity, const RpinnPlot *plot) {
  for (size_t t = 0; t < run->problem->num_terms; t++) {
    if (!is_data_of(run, t, quantity)) continue;
    const RpinnPointSet *points = &run->posteriors[0]->data->terms[t].points;
    for (size_t i = 0; i < points->count; i += stride_for(points->count, NUM_DATA_POINTS))
      rpinn_plot_points(plot, 1, &points->x[2 * i], &points->x[2 * i + 1], 0, map_point);
  }
}

typedef struct MapFigure {
  const char *title;
  const double *values; /* [num_points] */
  RpinnColourMap map;
  RpinnAxis colours; /* settled */
  bool with_points;
} MapFigure;

static void write_map(const RpinnRun *run, const Grid *grid, size_t quantity, const MapFigure *figure,
                      RpinnText *page) {
  const RpinnCoordinate *x = &run->problem->coordinates[0], *y = &run->problem->coordinates[1];
  RpinnPlot plot = {.page = page,
                    .frame = {440, 0, 58, 74, 20, 42},
                    .x = {.label = x->name, .low = x->low, .high = x->high},
                    .y = {.label = y->name, .low = y->low, .high = y->high},
                    .without_grid = true};
  double shape = (y->high - y->low) / (x->high - x->low);
  if (shape < 0.3 || shape > 1.5) shape = 0.75; /* not of one kind, probably: space and time, say */
  plot.frame.height =
      plot.frame.top + plot.frame.bottom + shape * (plot.frame.width - plot.frame.left - plot.frame.right);
  RpinnPlotImage image = make_image(grid, figure->values, figure->map, &figure->colours);
  char description[512];
  snprintf(description, sizeof description, "Map of %.200s: %s", run->problem->predicted[quantity].name,
           figure->title);
  rpinn_text_append(page, "<figure>\n<figcaption>");
  rpinn_markup_text(page, run->problem->predicted[quantity].name);
  rpinn_text_append(page, ": %s</figcaption>\n", figure->title);
  rpinn_plot_open(&plot, description);
  rpinn_plot_image(&plot, &image);
  if (figure->with_points) draw_measurement_points(run, quantity, &plot);
  rpinn_plot_close_with_colours(&plot, figure->map, figure->colours);
  rpinn_text_append(page, "</figure>\n");
}

static RpinnAxis colours_for(size_t count, const double *first, const double *second, bool from_zero) {
  RpinnAxis colours = rpinn_axis_empty("", false);
  double zero = 0;
  rpinn_axis_include(&colours, count, first);
  if (second) rpinn_axis_include(&colours, count, second);
  if (from_zero) rpinn_axis_include(&colours, 1, &zero);
  rpinn_axis_settle(&colours, 0);
  return colours;
}

static void write_quantity_maps(const RpinnRun *run, const Grid *grid, size_t quantity, double *error,
                                RpinnText *page) {
  size_t count = grid->num_points, first = quantity * count;
  const double *mean = run->results.mean + first, *deviation = run->results.deviation + first;
  const double *truth = run->posteriors[0]->data->predicted_truth[quantity];
  bool several = rpinn_report_num_draws(run) > 1;
  RpinnAxis values = colours_for(count, mean, truth, false);
  write_map(run, grid, quantity,
            &(MapFigure){several ? "mean" : "the only member", mean, RPINN_COLOURS_VALUE, values, true},
            page);
  if (several)
    write_map(run, grid, quantity,
              &(MapFigure){"standard deviation", deviation, RPINN_COLOURS_SPREAD,
                           colours_for(count, deviation, NULL, true), true},
              page);
  if (truth) {
    for (size_t p = 0; p < count; p++) error[p] = fabs(mean[p] - truth[p]);
    write_map(run, grid, quantity, &(MapFigure){"truth", truth, RPINN_COLOURS_VALUE, values, false}, page);
    write_map(run, grid, quantity,
              &(MapFigure){"absolute error of the mean", error, RPINN_COLOURS_SPREAD,
                           colours_for(count, error, NULL, true), false},
              page);
  }
}

static RpinnStatus write_maps(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  Grid grid;
  bool is_grid;
  double *error = calloc(run->outputs.num_points + 1, sizeof *error);
  RpinnStatus status = make_grid(context, &run->posteriors[0]->data->predict, &grid, &is_grid);
  if (status == RPINN_OK && !error) status = rpinn_fail_memory(context);
  if (status == RPINN_OK && is_grid) {
    bool with_points = false;
    rpinn_text_append(page, "<div class=\"figures\">\n");
    for (size_t q = 0; q < run->outputs.num_quantities; q++) {
      write_quantity_maps(run, &grid, q, error, page);
      with_points = with_points || has_data(run, q);
    }
    rpinn_text_append(page, "</div>\n<p class=\"keys\">\n");
    if (with_points) rpinn_key_points(page, false, map_point, "where the data of the quantity are");
    rpinn_text_append(page, "</p>\n");
  } else if (status == RPINN_OK)
    rpinn_text_append(page, "<p>The points of the predictions are not a grid, so that there are no maps: the "
                            "scores are below and the values in <code>predictions.csv</code>.</p>\n");
  free(error);
  free_grid(&grid);
  return status;
}

RpinnStatus rpinn_report_predictions(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  if (!run->outputs.num_quantities || !run->outputs.num_points) {
    rpinn_text_append(page, "<p>The problem has no <code>predict</code> section.</p>\n");
    return RPINN_OK;
  }
  if (run->problem->num_coordinates == 1) return write_curves(context, run, page);
  if (run->problem->num_coordinates == 2) return write_maps(context, run, page);
  rpinn_text_append(page,
                    "<p>Figures are made for one and two coordinates; this problem has %zu. The scores are "
                    "below and the values in <code>predictions.csv</code>.</p>\n",
                    run->problem->num_coordinates);
  return RPINN_OK;
}

/* ---- losses ---- */

static RpinnStatus write_traces(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  const RpinnRunResults *results = &run->results;
  RpinnPlot plot = {.page = page,
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("iteration", false),
                    .y = rpinn_axis_empty("loss", true)};
  size_t most = 1;
  for (size_t k = 0; k < results->num_traces; k++)
    for (size_t i = 0; i < results->traces[k].count; i++) {
      rpinn_axis_include(&plot.x, 1, &results->traces[k].points[2 * i]);
      rpinn_axis_include(&plot.y, 1, &results->traces[k].points[2 * i + 1]);
      if (i + 1 > most) most = i + 1;
    }
  double *x = calloc(2 * most, sizeof *x), *y = x ? x + most : NULL;
  if (!x) return rpinn_fail_memory(context);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_text_append(page, "<figure>\n<figcaption>Loss while it is minimised, of %zu member%s</figcaption>\n",
                    results->num_traces, results->num_traces == 1 ? "" : "s");
  rpinn_plot_open(&plot, "Loss against iterations");
  for (size_t k = 0; k < results->num_traces; k++) {
    const RpinnLossTrace *trace = &results->traces[k];
    for (size_t i = 0; i < trace->count; i++) {
      x[i] = trace->points[2 * i];
      y[i] = trace->points[2 * i + 1];
    }
    double opacity = results->num_traces > 8 ? 0.4 : 0.8;
    rpinn_plot_line(&plot, trace->count, x, y, (RpinnStroke){RPINN_INK_BLUE, 1, opacity, NULL});
  }
  rpinn_plot_close(&plot);
  rpinn_text_append(page, "</figure>\n");
  free(x);
  return RPINN_OK;
}

/* Bins of the width of Freedman and Diaconis, 2 (q75 - q25) / n^(1/3), but 5 to MAX_BINS of them. */
static size_t choose_bins(size_t count, const double *sorted) {
  double range = sorted[count - 1] - sorted[0];
  double width = 2 *
                 (rpinn_sorted_quantile(count, sorted, 0.75) - rpinn_sorted_quantile(count, sorted, 0.25)) /
                 cbrt((double)count);
  double bins = width > 0 ? ceil(range / width) : 5;
  return bins < 5 ? 5 : bins > MAX_BINS ? MAX_BINS : (size_t)bins;
}

static void draw_histogram(size_t count, const double *sorted, RpinnText *page) {
  double edges[MAX_BINS + 1], heights[MAX_BINS] = {0};
  size_t num_bins = choose_bins(count, sorted);
  RpinnPlot plot = {.page = page,
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("loss", false),
                    .y = {.label = "members", .low = 0, .high = 1, .whole = true}};
  rpinn_axis_include(&plot.x, count, sorted);
  rpinn_axis_settle(&plot.x, 0);
  for (size_t k = 0; k <= num_bins; k++)
    edges[k] = plot.x.low + (plot.x.high - plot.x.low) * (double)k / (double)num_bins;
  for (size_t i = 0; i < count; i++) {
    double share = (sorted[i] - plot.x.low) / (plot.x.high - plot.x.low);
    size_t bin = (size_t)fmax(0, fmin((double)num_bins - 1, floor(share * (double)num_bins)));
    heights[bin]++;
  }
  for (size_t k = 0; k < num_bins; k++) plot.y.high = fmax(plot.y.high, 1.05 * heights[k]);
  rpinn_axis_settle(&plot.x, 0.03);
  rpinn_plot_open(&plot, "Histogram of the losses at the end");
  rpinn_plot_bars(&plot, num_bins, edges, heights, RPINN_INK_BLUE);
  rpinn_plot_close(&plot);
}

static RpinnStatus write_histogram(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  size_t count = rpinn_kept_draws_count(run->results.statistics), num_finite = 0;
  double *losses = calloc(count + 1, sizeof *losses);
  if (!losses) return rpinn_fail_memory(context);
  rpinn_kept_draws_sort(run->results.statistics, RPINN_MEMBER_LOSS, 1, losses);
  for (size_t i = 0; i < count; i++)
    if (isfinite(losses[i]) && fabs(losses[i]) < 1e300) losses[num_finite++] = losses[i];
  if (num_finite > 1) {
    rpinn_text_append(page, "<figure>\n<figcaption>Loss at the end, of %zu members</figcaption>\n",
                      num_finite);
    draw_histogram(num_finite, losses, page);
    rpinn_text_append(page, "</figure>\n");
  }
  free(losses);
  return RPINN_OK;
}

RpinnStatus rpinn_report_losses(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  rpinn_text_append(page, "<div class=\"figures\">\n");
  RPINN_TRY(write_traces(context, run, page));
  RPINN_TRY(write_histogram(context, run, page));
  rpinn_text_append(page, "</div>\n");
  return RPINN_OK;
}
