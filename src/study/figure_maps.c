/* Maps over two coordinates.
 *
 *   fig-darcy-y, fig-darcy-h   a row for every sigma: mean, error of the mean, standard deviation, coverage by two
 *   fig-reference              the reference y and h, with the measured points */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reproduce_figures.h"
#include "reproduce_run.h"
#include "tensor_grid.h"

enum { MEAN, ERROR, DEVIATION, COVERED, NUM_MAPS, MAX_ROWS = 8 };

/* Values on a grid, the first row at the top as images have it. */
typedef struct Raster {
  size_t columns, rows;
  double low[2], high[2]; /* of the coordinates, to the edges of the cells */
  double *values;         /* [rows][columns] */
} Raster;

typedef struct Row {
  const RpinnReproducedRun *run;
  Raster maps[NUM_MAPS];
} Row;

typedef struct Gathered {
  size_t num_rows, num_measured;
  Row rows[MAX_ROWS];
  Raster truth[RPINN_PAPER_QUANTITIES];
  double *measured[2]; /* coordinates [num_measured] */
} Gathered;

static const char *quantity_of(const RpinnReproduction *reproduction) {
  return reproduction->entry->name + strlen(reproduction->entry->name) - 1; /* fig-darcy-y */
}

/* ---- gathering ---- */

static RpinnStatus find_grid(RpinnMadeRun *made, const RpinnPosterior *posterior, RpinnTensorGrid *grid) {
  bool found = false;
  RPINN_TRY(rpinn_tensor_grid_find(made->context, made->reproduction->arena, 2, &posterior->data->predict,
                                   grid, &found));
  if (found && grid->counts[0] > 1 && grid->counts[1] > 1) return RPINN_OK;
  return rpinn_fail(made->context, RPINN_ERROR_INPUT, "the predicted points are no grid; a map needs one");
}

static RpinnStatus make_raster(RpinnMadeRun *made, const RpinnTensorGrid *grid, const double *values,
                               Raster *raster) {
  size_t columns = grid->counts[0], rows = grid->counts[1];
  *raster = (Raster){.columns = columns,
                     .rows = rows,
                     .values = RPINN_ARENA_NEW(made->reproduction->arena, double, columns *rows)};
  if (!raster->values) return rpinn_fail_memory(made->context);
  for (int i = 0; i < 2; i++) {
    const double *axis = grid->axes[i];
    double half = 0.5 * (axis[grid->counts[i] - 1] - axis[0]) / (double)(grid->counts[i] - 1);
    raster->low[i] = axis[0] - half;
    raster->high[i] = axis[grid->counts[i] - 1] + half;
  }
  for (size_t p = 0; p < columns * rows; p++) {
    size_t column = grid->slots[p] % columns, row = grid->slots[p] / columns;
    raster->values[(rows - 1 - row) * columns + column] = values[p];
  }
  return RPINN_OK;
}

/* The measured points, which are the same for y and h and in every run. */
static RpinnStatus keep_measured(RpinnMadeRun *made, const RpinnPosterior *posterior) {
  Gathered *gathered = made->reproduction->own;
  const RpinnProblem *problem = posterior->problem;
  RpinnText csv = {0};
  if (gathered->num_measured) return RPINN_OK;
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnPointSet *points = &posterior->data->terms[t].points;
    if (strcmp(problem->terms[t].name, "y") != 0) continue;
    rpinn_point_set_write(problem, points, &csv);
    gathered->num_measured = points->count;
    for (size_t i = 0; i < 2; i++) {
      gathered->measured[i] = RPINN_ARENA_NEW(made->reproduction->arena, double, points->count + 1);
      if (!gathered->measured[i]) break;
      for (size_t p = 0; p < points->count; p++) gathered->measured[i][p] = points->x[2 * p + i];
    }
  }
  RpinnStatus status =
      gathered->measured[1]
          ? rpinn_reproduction_write_file(made->context, made->reproduction, "_measured.csv", &csv)
          : rpinn_fail_memory(made->context);
  rpinn_text_free(&csv);
  return status;
}

static size_t find_predicted(const RpinnProblem *problem, const char *quantity) {
  size_t k = 0;
  while (k < problem->num_predicted && strcmp(problem->predicted[k].name, quantity) != 0) k++;
  return k;
}

/* NAME_sigma0.1.csv: x1,x2,mean,error,std,covered. */
static RpinnStatus write_panels(RpinnMadeRun *made, const RpinnPointSet *points,
                                double *const maps[NUM_MAPS]) {
  RpinnText csv = {0};
  char suffix[64];
  snprintf(suffix, sizeof suffix, "_sigma%s.csv", made->run->paper_case->sigma);
  rpinn_text_append(&csv, "x1,x2,mean,error,std,covered\n");
  for (size_t p = 0; p < points->count; p++)
    rpinn_text_append(&csv, "%.9g,%.9g,%.9g,%.9g,%.9g,%.0f\n", points->x[2 * p], points->x[2 * p + 1],
                      maps[MEAN][p], maps[ERROR][p], maps[DEVIATION][p], maps[COVERED][p]);
  RpinnStatus status = rpinn_reproduction_write_file(made->context, made->reproduction, suffix, &csv);
  rpinn_text_free(&csv);
  return status;
}

static RpinnStatus keep_maps(RpinnMadeRun *made, const RpinnRun *run, double *scratch) {
  Gathered *gathered = made->reproduction->own;
  const RpinnPosterior *posterior = run->posteriors[0];
  size_t n = run->outputs.num_points, k = find_predicted(run->problem, quantity_of(made->reproduction));
  const double *truth = k < run->problem->num_predicted ? posterior->data->predicted_truth[k] : NULL;
  RpinnTensorGrid grid;
  if (!truth || gathered->num_rows == MAX_ROWS)
    return rpinn_fail(made->context, RPINN_ERROR_INPUT, "the problem has no truth");
  double *maps[NUM_MAPS] = {run->results.mean + k * n, scratch, run->results.deviation + k * n, scratch + n};
  for (size_t p = 0; p < n; p++) {
    maps[ERROR][p] = maps[MEAN][p] - truth[p];
    maps[COVERED][p] = fabs(maps[ERROR][p]) < 2 * maps[DEVIATION][p];
  }
  RPINN_TRY(find_grid(made, posterior, &grid));
  Row *row = &gathered->rows[gathered->num_rows++];
  row->run = made->run;
  for (size_t m = 0; m < NUM_MAPS; m++) RPINN_TRY(make_raster(made, &grid, maps[m], &row->maps[m]));
  RPINN_TRY(make_raster(made, &grid, truth, &gathered->truth[0]));
  RPINN_TRY(write_panels(made, &posterior->data->predict, maps));
  return keep_measured(made, posterior);
}

static RpinnStatus keep_run(RpinnMadeRun *made, const RpinnRun *run) {
  double *scratch = calloc(2 * run->outputs.num_points + 1, sizeof *scratch);
  RpinnStatus status = scratch ? keep_maps(made, run, scratch) : rpinn_fail_memory(made->context);
  free(scratch);
  return status;
}

static RpinnStatus take_maps(RpinnMadeRun *made) {
  return rpinn_made_run_show(made, keep_run);
}

/* NAME.csv: x1,x2,y,h. */
static RpinnStatus take_reference(RpinnMadeRun *made) {
  Gathered *gathered = made->reproduction->own;
  const RpinnDataSet *data = made->posterior->data;
  const double *truth[RPINN_PAPER_QUANTITIES];
  RpinnTensorGrid grid;
  RPINN_TRY(find_grid(made, made->posterior, &grid));
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
    size_t k = find_predicted(made->problem, made->run->paper_case->quantities[q]);
    truth[q] = k < made->problem->num_predicted ? data->predicted_truth[k] : NULL;
    if (!truth[q]) return rpinn_fail(made->context, RPINN_ERROR_INPUT, "the problem has no truth");
    RPINN_TRY(make_raster(made, &grid, truth[q], &gathered->truth[q]));
  }
  rpinn_text_append(&made->reproduction->csv, "x1,x2,y,h\n");
  for (size_t p = 0; p < data->predict.count; p++)
    rpinn_text_append(&made->reproduction->csv, "%.9g,%.9g,%.9g,%.9g\n", data->predict.x[2 * p],
                      data->predict.x[2 * p + 1], truth[0][p], truth[1][p]);
  return keep_measured(made, made->posterior);
}

static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  reproduction->own = RPINN_ARENA_NEW(reproduction->arena, Gathered, 1);
  return reproduction->own ? rpinn_reproduction_plan(context, reproduction) : rpinn_fail_memory(context);
}

/* ---- drawing ---- */

static RpinnAxis range_of(const Raster *first, const Raster *second) {
  RpinnAxis axis = rpinn_axis_empty("", false);
  rpinn_axis_include(&axis, first->columns * first->rows, first->values);
  if (second) rpinn_axis_include(&axis, second->columns * second->rows, second->values);
  return axis;
}

static void draw_map(const Gathered *gathered, RpinnSheet *sheet, RpinnText *page, const Raster *raster,
                     const char *title, RpinnColourMap map, RpinnAxis colours) {
  static const RpinnPointStyle points = {RPINN_MARKER_CIRCLE, 2.2, "#ffffff", RPINN_INK_BLACK};
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = title,
                    .frame = {400, 210, 50, 70, 20, 42},
                    .x = {.label = "x1", .low = raster->low[0], .high = raster->high[0]},
                    .y = {.label = "x2", .low = raster->low[1], .high = raster->high[1]},
                    .without_grid = true};
  RpinnPlotImage image = {.x_low = raster->low[0],
                          .x_high = raster->high[0],
                          .y_low = raster->low[1],
                          .y_high = raster->high[1],
                          .map = map,
                          .columns = raster->columns,
                          .rows = raster->rows,
                          .values = raster->values,
                          .low = colours.low,
                          .high = colours.high};
  rpinn_plot_open(&plot, title);
  rpinn_plot_image(&plot, &image);
  rpinn_plot_points(&plot, gathered->num_measured, gathered->measured[0], gathered->measured[1], 0, points);
  if (map == RPINN_COLOURS_INSIDE)
    rpinn_plot_close_with_keys(&plot, map, colours.low, colours.high);
  else
    rpinn_plot_close_with_colours(&plot, map, colours);
  rpinn_plot_key_points(&plot, false, points, "measured");
  if (map != RPINN_COLOURS_INSIDE) return;
  rpinn_plot_key_band(&plot, RPINN_INK_SKY, 1, "reference inside two standard deviations");
  rpinn_plot_key_band(&plot, RPINN_INK_VERMILION, 1, "outside");
}

/* Means in the colours of the reference, errors in colours that are even around zero. */
static void draw_row(const Gathered *gathered, const Row *row, const char *quantity, RpinnSheet *sheet,
                     RpinnText *page) {
  static const char *const titles[NUM_MAPS] = {"mean", "error of the mean", "standard deviation", "coverage"};
  static const RpinnColourMap colours[NUM_MAPS] = {RPINN_COLOURS_VALUE, RPINN_COLOURS_VALUE,
                                                   RPINN_COLOURS_SPREAD, RPINN_COLOURS_INSIDE};
  for (size_t m = 0; m < NUM_MAPS; m++) {
    char title[128];
    RpinnAxis range = range_of(&row->maps[m], m == MEAN ? &gathered->truth[0] : NULL);
    double largest = fmax(-range.low, range.high), zero = 0, one = 1;
    if (m == ERROR) range.low = -largest, range.high = largest;
    if (m == DEVIATION || m == COVERED) rpinn_axis_include(&range, 1, &zero);
    if (m == COVERED) rpinn_axis_include(&range, 1, &one);
    rpinn_axis_settle(&range, 0);
    snprintf(title, sizeof title, "%.32s, σ = %.32s: %s", quantity, row->run->paper_case->sigma, titles[m]);
    draw_map(gathered, sheet, page, &row->maps[m], title, colours[m], range);
  }
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  const Gathered *gathered = reproduction->own;
  bool is_reference = reproduction->entry->kind->needs_no_run;
  RpinnSheet sheet = {.columns = is_reference ? RPINN_PAPER_QUANTITIES : NUM_MAPS};
  RpinnText page = {0};
  for (size_t r = 0; r < gathered->num_rows; r++)
    draw_row(gathered, &gathered->rows[r], quantity_of(reproduction), &sheet, &page);
  for (size_t q = 0; is_reference && q < RPINN_PAPER_QUANTITIES; q++) {
    static const char *const titles[] = {"(a) reference y", "(b) reference h"};
    RpinnAxis range = range_of(&gathered->truth[q], NULL);
    rpinn_axis_settle(&range, 0);
    draw_map(gathered, &sheet, &page, &gathered->truth[q], titles[q], RPINN_COLOURS_VALUE, range);
  }
  RpinnStatus status = rpinn_figure_finish(context, reproduction, &sheet);
  rpinn_text_free(&page);
  rpinn_sheet_free(&sheet);
  return status;
}

/* The paper has maps of its own method. */
static bool is_randomized(const RpinnReproducedRun *run) {
  return rpinn_paper_method(run->method)->has_offsets;
}

/* The reference is the same for every noise. */
static bool is_first_randomized(const RpinnReproducedRun *run) {
  return is_randomized(run) && !strcmp(run->paper_case->sigma, "1");
}

const RpinnReproduceKind rpinn_darcy_maps = {
    .is_figure = true, .plan = plan, .shows = is_randomized, .take = take_maps, .finish = finish};
const RpinnReproduceKind rpinn_reference_maps = {.is_figure = true,
                                                 .needs_no_run = true,
                                                 .plan = plan,
                                                 .shows = is_first_randomized,
                                                 .take = take_reference,
                                                 .finish = finish};
