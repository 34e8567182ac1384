/* The figures of what is predicted. */
#include <stdio.h>
#include <stdlib.h>

#include "markup.h"
#include "report_curves.h"
#include "report_maps.h"
#include "report_page.h"

/* ---- one coordinate ---- */

static void write_curve(const RpinnReport *report, const RpinnCurves *curves, size_t quantity) {
  const RpinnRun *run = report->run;
  const RpinnCoordinate *coordinate = &run->problem->coordinates[0];
  const char *name = run->problem->predicted[quantity].name;
  char across[RPINN_LABEL_SIZE], up[RPINN_LABEL_SIZE], description[512];
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, name, 1),
                    .frame = {440, 310, 58, 10, 20, 42},
                    .x = {.label = rpinn_problem_label(run->problem, coordinate->name, across),
                          .low = coordinate->low,
                          .high = coordinate->high},
                    .y = rpinn_axis_empty(rpinn_problem_label(run->problem, name, up), false)};
  snprintf(description, sizeof description, "%.200s over %.200s with its uncertainty", name,
           coordinate->name);
  rpinn_curves_include(run, curves, quantity, &plot.y);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_figure_open(report->page, name);
  rpinn_plot_open(&plot, description);
  rpinn_curves_draw(run, curves, quantity, true, &plot);
  rpinn_plot_close(&plot);
  rpinn_curves_keys(run, quantity, true, &plot);
  rpinn_figure_close(report->page);
}

static RpinnStatus write_curves(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnCurves curves;
  RpinnStatus status = rpinn_curves_make(report->context, &run->posteriors[0]->data->predict, &curves);
  rpinn_text_append(report->page, "<div class=\"figures\">\n");
  for (size_t q = 0; status == RPINN_OK && q < run->outputs.num_quantities; q++)
    write_curve(report, &curves, q);
  rpinn_text_append(report->page, "</div>\n");
  rpinn_curves_free(&curves);
  return status;
}

/* ---- two coordinates ---- */

static void write_map(const RpinnReport *report, const RpinnMapGrid *grid, size_t quantity, RpinnMapKind kind,
                      const double *values, RpinnAxis colours) {
  const RpinnRun *run = report->run;
  const char *name = run->problem->predicted[quantity].name;
  char across[RPINN_LABEL_SIZE], up[RPINN_LABEL_SIZE], label[RPINN_LABEL_SIZE], file[512], caption[512];
  snprintf(file, sizeof file, "%.80s-%s", name, rpinn_map_file_name(kind));
  snprintf(caption, sizeof caption, "%s: %s",
           kind == RPINN_MAP_COVERAGE ? name : rpinn_problem_label(run->problem, name, label),
           rpinn_map_title(run, kind));
  RpinnPlot plot = {
      .page = report->page,
      .sheet = rpinn_figure_sheet(report->figures, file, 1),
      .title = caption,
      .frame = {360, 0, 52, 66, 20, 42},
      .x = {.label = rpinn_problem_label(run->problem, run->problem->coordinates[0].name, across)},
      .y = {.label = rpinn_problem_label(run->problem, run->problem->coordinates[1].name, up)}};
  rpinn_map_frame(run->problem, &plot);
  rpinn_figure_open(report->page, caption);
  rpinn_map_draw(run, grid, quantity, kind, values, colours, &plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  if (kind != RPINN_MAP_TRUTH) rpinn_map_keys(run, quantity, kind == RPINN_MAP_COVERAGE, &plot);
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
}

/* Truth and mean share their colours. */
static void write_quantity(const RpinnReport *report, const RpinnMapGrid *grid, size_t quantity,
                           double *values) {
  const RpinnRun *run = report->run;
  RpinnAxis colours[RPINN_NUM_MAPS];
  rpinn_text_append(report->page, "<h3><code>");
  rpinn_markup_text(report->page, run->problem->predicted[quantity].name);
  rpinn_text_append(report->page, "</code></h3>\n<div class=\"figures maps\">\n");
  for (int kind = 0; kind < RPINN_NUM_MAPS; kind++) {
    colours[kind] = rpinn_map_colours((RpinnMapKind)kind);
    if (rpinn_map_values(run, quantity, (RpinnMapKind)kind, values))
      rpinn_axis_include(&colours[kind], grid->num_points, values);
  }
  rpinn_axis_join(&colours[RPINN_MAP_TRUTH], &colours[RPINN_MAP_MEAN]);
  for (int kind = 0; kind < RPINN_NUM_MAPS; kind++) {
    rpinn_axis_settle(&colours[kind], 0);
    if (rpinn_map_values(run, quantity, (RpinnMapKind)kind, values))
      write_map(report, grid, quantity, (RpinnMapKind)kind, values, colours[kind]);
  }
  rpinn_text_append(report->page, "</div>\n");
}

static RpinnStatus write_maps(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnMapGrid grid;
  bool is_grid;
  double *values = calloc(run->outputs.num_points + 1, sizeof *values);
  RpinnStatus status =
      rpinn_map_grid_make(report->context, &run->posteriors[0]->data->predict, &grid, &is_grid);
  if (status == RPINN_OK && !values) status = rpinn_fail_memory(report->context);
  if (status == RPINN_OK && is_grid) {
    for (size_t q = 0; q < run->outputs.num_quantities; q++) write_quantity(report, &grid, q, values);
  } else if (status == RPINN_OK)
    rpinn_text_append(report->page,
                      "<p>The points of the predictions are not a grid, so that there are no maps: the "
                      "scores are below and the values in <code>predictions.csv</code>.</p>\n");
  free(values);
  rpinn_map_grid_free(&grid);
  return status;
}

RpinnStatus rpinn_report_predictions(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  if (!run->outputs.num_quantities || !run->outputs.num_points) {
    rpinn_text_append(report->page, "<p>The problem has no <code>predict</code> section, such as "
                                    "<code>predict: {grid: 101, quantities: [NAME]}</code>.</p>\n");
    return RPINN_OK;
  }
  if (run->problem->num_coordinates == 1) return write_curves(report);
  if (run->problem->num_coordinates == 2) return write_maps(report);
  rpinn_text_append(report->page,
                    "<p>Figures are made for one and two coordinates; this problem has %zu. The scores are "
                    "below and the values in <code>predictions.csv</code>.</p>\n",
                    run->problem->num_coordinates);
  return RPINN_OK;
}
