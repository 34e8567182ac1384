#include "report_maps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report_curves.h"
#include "report_figure.h"
#include "report_page.h"

enum { NUM_DATA_POINTS = 2000 /* of one term */, MAP_PIXELS = 512 /* along each side */ };

/* ---- grids ---- */

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

void rpinn_map_grid_free(RpinnMapGrid *grid) {
  free(grid->positions[0]);
  free(grid->positions[1]);
  free(grid->points);
  free(grid->raster);
}

RpinnStatus rpinn_map_grid_make(RpinnContext *context, const RpinnPointSet *points, RpinnMapGrid *grid,
                                bool *is_grid) {
  size_t count = points->count;
  *is_grid = false;
  *grid = (RpinnMapGrid){.num_points = count,
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

static Coverage cover(const RpinnMapGrid *grid, size_t i) {
  size_t count = grid->counts[i];
  const double *positions = grid->positions[i];
  double step = (positions[count - 1] - positions[0]) / (double)(count - 1);
  bool even = count <= MAP_PIXELS;
  for (size_t k = 0; even && k < count; k++)
    even = fabs(positions[k] - (positions[0] + step * (double)k)) < 1e-3 * step;
  if (even) return (Coverage){positions[0] - 0.5 * step, positions[count - 1] + 0.5 * step, count};
  return (Coverage){positions[0], positions[count - 1], MAP_PIXELS};
}

static RpinnPlotImage make_image(const RpinnMapGrid *grid, const double *values, RpinnColourMap map,
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

/* ---- maps ---- */

static bool has_data(const RpinnRun *run, size_t quantity) {
  for (size_t t = 0; t < run->problem->num_terms; t++)
    if (rpinn_is_data_of(run, t, quantity)) return true;
  return false;
}

static const RpinnPointStyle map_point = {RPINN_MARKER_CIRCLE, 2.2, "#ffffff", "#111827"};

static void draw_measurement_points(const RpinnRun *run, size_t quantity, const RpinnPlot *plot) {
  for (size_t t = 0; t < run->problem->num_terms; t++) {
    if (!rpinn_is_data_of(run, t, quantity)) continue;
    const RpinnPointSet *points = &run->posteriors[0]->data->terms[t].points;
    for (size_t i = 0; i < points->count; i += rpinn_figure_stride(points->count, NUM_DATA_POINTS))
      rpinn_plot_points(plot, 1, &points->x[2 * i], &points->x[2 * i + 1], 0, map_point);
  }
}

const char *rpinn_map_title(const RpinnRun *run, RpinnMapKind kind) {
  static const char *const titles[RPINN_NUM_MAPS] = {"truth", "mean", "absolute error of the mean",
                                                     "standard deviation",
                                                     "coverage by two standard deviations"};
  return kind == RPINN_MAP_MEAN && rpinn_report_num_draws(run) == 1 ? "the only member" : titles[kind];
}

const char *rpinn_map_file_name(RpinnMapKind kind) {
  static const char *const names[RPINN_NUM_MAPS] = {"truth", "mean", "error", "std", "coverage"};
  return names[kind];
}

bool rpinn_map_values(const RpinnRun *run, size_t quantity, RpinnMapKind kind, double *values) {
  size_t count = run->outputs.num_points, first = quantity * count;
  const double *mean = run->results.mean + first, *deviation = run->results.deviation + first;
  const double *truth = run->posteriors[0]->data->predicted_truth[quantity];
  bool needs_truth = kind == RPINN_MAP_TRUTH || kind == RPINN_MAP_ERROR || kind == RPINN_MAP_COVERAGE;
  bool needs_spread = kind == RPINN_MAP_STD || kind == RPINN_MAP_COVERAGE;
  if ((needs_truth && !truth) || (needs_spread && rpinn_report_num_draws(run) < 2)) return false;
  for (size_t p = 0; p < count; p++) {
    double error = needs_truth ? fabs(mean[p] - truth[p]) : 0;
    values[p] = kind == RPINN_MAP_TRUTH                       ? truth[p]
                : kind == RPINN_MAP_MEAN                      ? mean[p]
                : kind == RPINN_MAP_ERROR                     ? error
                : kind == RPINN_MAP_STD                       ? deviation[p]
                : !isfinite(error) || !isfinite(deviation[p]) ? (double)NAN
                                                              : error <= 2 * deviation[p];
  }
  return true;
}

RpinnAxis rpinn_map_colours(RpinnMapKind kind) {
  RpinnAxis colours = rpinn_axis_empty("", false);
  const double ends[] = {0, 1};
  if (kind == RPINN_MAP_COVERAGE) rpinn_axis_include(&colours, 2, ends);
  if (kind == RPINN_MAP_ERROR || kind == RPINN_MAP_STD) rpinn_axis_include(&colours, 1, ends);
  return colours;
}

void rpinn_map_frame(const RpinnProblem *problem, RpinnPlot *plot) {
  const RpinnCoordinate *x = &problem->coordinates[0], *y = &problem->coordinates[1];
  double shape = (y->high - y->low) / (x->high - x->low);
  if (shape < 0.3 || shape > 1.5) shape = 0.75; /* not of one kind, probably: space and time, say */
  plot->x.low = x->low;
  plot->x.high = x->high;
  plot->y.low = y->low;
  plot->y.high = y->high;
  plot->without_grid = true;
  plot->frame.height = plot->frame.top + plot->frame.bottom +
                       shape * (plot->frame.width - plot->frame.left - plot->frame.right);
}

void rpinn_map_draw(const RpinnRun *run, const RpinnMapGrid *grid, size_t quantity, RpinnMapKind kind,
                    const double *values, RpinnAxis colours, const RpinnPlot *plot) {
  RpinnColourMap map = kind == RPINN_MAP_COVERAGE                          ? RPINN_COLOURS_INSIDE
                       : kind == RPINN_MAP_TRUTH || kind == RPINN_MAP_MEAN ? RPINN_COLOURS_VALUE
                                                                           : RPINN_COLOURS_SPREAD;
  RpinnPlotImage image = make_image(grid, values, map, &colours);
  char description[512];
  snprintf(description, sizeof description, "Map of %.200s: %s", run->problem->predicted[quantity].name,
           rpinn_map_title(run, kind));
  rpinn_plot_open(plot, description);
  rpinn_plot_image(plot, &image);
  if (kind != RPINN_MAP_TRUTH) draw_measurement_points(run, quantity, plot);
  if (kind == RPINN_MAP_COVERAGE)
    rpinn_plot_close_with_keys(plot, map, 0, 1);
  else
    rpinn_plot_close_with_colours(plot, map, colours);
}

void rpinn_map_keys(const RpinnRun *run, size_t quantity, bool with_coverage, const RpinnPlot *plot) {
  if (with_coverage) {
    rpinn_plot_key_band(plot, RPINN_INK_SKY, 1, "truth inside");
    rpinn_plot_key_band(plot, RPINN_INK_VERMILION, 1, "outside");
  }
  if (has_data(run, quantity)) rpinn_plot_key_points(plot, false, map_point, "data");
}
