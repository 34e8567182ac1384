/* Predictions of several runs, one column for each, on common axes and colours: as in the figures of the paper. */
#include <stdio.h>
#include <stdlib.h>

#include "markup.h"
#include "report_compare.h"
#include "report_curves.h"
#include "report_maps.h"

/* <figure> over the whole width, and a cell of it, with a title or without (NULL). */
static void open_row(RpinnText *page, const char *caption) {
  rpinn_text_append(page, "<figure class=\"wide\">\n<figcaption>");
  rpinn_markup_text(page, caption);
  rpinn_text_append(page, "</figcaption>\n<div class=\"panels\">\n");
}

static void open_panel(RpinnText *page, const char *title) {
  rpinn_text_append(page, "<div>");
  if (title) {
    rpinn_text_append(page, "<p>");
    rpinn_markup_text(page, title);
    rpinn_text_append(page, "</p>\n");
  }
}

/* ---- one coordinate ---- */

static void write_curves(const RpinnReport *report, const RpinnComparison *comparison,
                         const RpinnCurves *curves, size_t quantity) {
  const RpinnProblem *problem = comparison->runs[0]->problem;
  const RpinnCoordinate *coordinate = &problem->coordinates[0];
  const char *name = problem->predicted[quantity].name;
  char across[RPINN_LABEL_SIZE], up[RPINN_LABEL_SIZE], description[512];
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, name, comparison->num_runs),
                    .frame = {300, 230, 54, 8, 20, 42},
                    .x = {.label = rpinn_problem_label(problem, coordinate->name, across),
                          .low = coordinate->low,
                          .high = coordinate->high},
                    .y = rpinn_axis_empty(rpinn_problem_label(problem, name, up), false)};
  for (size_t i = 0; i < comparison->num_runs; i++)
    rpinn_curves_include(comparison->runs[i], curves, quantity, &plot.y);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_axis_settle(&plot.x, 0.015);
  open_row(report->page, name);
  for (size_t i = 0; i < comparison->num_runs; i++) {
    snprintf(description, sizeof description, "%.200s over %.200s by %.80s", name, coordinate->name,
             comparison->labels[i].text);
    plot.title = comparison->labels[i].text;
    open_panel(report->page, plot.title);
    rpinn_plot_open(&plot, description);
    rpinn_curves_draw(comparison->runs[i], curves, quantity, false, &plot);
    rpinn_plot_close(&plot);
    rpinn_text_append(report->page, "</div>\n");
  }
  rpinn_text_append(report->page, "</div>\n");
  size_t fullest = 0; /* keys of a run that has a band */
  for (size_t i = 0; i < comparison->num_runs; i++)
    if (rpinn_report_num_draws(comparison->runs[i]) > rpinn_report_num_draws(comparison->runs[fullest]))
      fullest = i;
  rpinn_curves_keys(comparison->runs[fullest], quantity, false, &plot);
  rpinn_text_append(report->page, "</figure>\n");
}

/* ---- two coordinates ---- */

/* One row of maps; the truth is the same in all runs and stands alone. */
static void write_row(const RpinnReport *report, const RpinnComparison *comparison, const RpinnMapGrid *grid,
                      size_t quantity, RpinnMapKind kind, RpinnAxis colours, double *values,
                      RpinnSheet *sheet) {
  const RpinnProblem *problem = comparison->runs[0]->problem;
  const char *name = problem->predicted[quantity].name;
  char across[RPINN_LABEL_SIZE], up[RPINN_LABEL_SIZE], label[RPINN_LABEL_SIZE], title[512];
  RpinnPlot plot = {.page = report->page,
                    .sheet = sheet,
                    .frame = {300, 0, 48, 64, 20, 42},
                    .x = {.label = rpinn_problem_label(problem, problem->coordinates[0].name, across)},
                    .y = {.label = rpinn_problem_label(problem, problem->coordinates[1].name, up)}};
  rpinn_map_frame(problem, &plot);
  snprintf(title, sizeof title, "%s: %s", rpinn_problem_label(problem, name, label),
           rpinn_map_title(comparison->runs[0], kind));
  open_row(report->page, title);
  for (size_t i = 0; i < (kind == RPINN_MAP_TRUTH ? 1 : comparison->num_runs); i++) {
    const RpinnRun *run = comparison->runs[i];
    open_panel(report->page, kind == RPINN_MAP_TRUTH ? NULL : comparison->labels[i].text);
    snprintf(title, sizeof title, "%.100s: %.100s", comparison->labels[i].text, rpinn_map_file_name(kind));
    plot.title = kind == RPINN_MAP_TRUTH ? "truth" : title;
    if (rpinn_map_values(run, quantity, kind, values))
      rpinn_map_draw(run, grid, quantity, kind, values, colours, &plot);
    else
      rpinn_text_append(report->page, "<p class=\"note\">one member has no spread</p>\n");
    rpinn_text_append(report->page, "</div>\n");
  }
  rpinn_text_append(report->page, "</div>\n<p class=\"keys\">\n");
  if (kind != RPINN_MAP_TRUTH)
    rpinn_map_keys(comparison->runs[0], quantity, kind == RPINN_MAP_COVERAGE, &plot);
  rpinn_text_append(report->page, "</p>\n</figure>\n");
}

static void write_quantity(const RpinnReport *report, const RpinnComparison *comparison,
                           const RpinnMapGrid *grid, size_t quantity, double *values) {
  const char *name = comparison->runs[0]->problem->predicted[quantity].name;
  RpinnAxis colours[RPINN_NUM_MAPS];
  bool exists[RPINN_NUM_MAPS] = {0};
  char file[160];
  for (int kind = 0; kind < RPINN_NUM_MAPS; kind++) {
    colours[kind] = rpinn_map_colours((RpinnMapKind)kind);
    for (size_t i = 0; i < comparison->num_runs; i++) {
      if (!rpinn_map_values(comparison->runs[i], quantity, (RpinnMapKind)kind, values)) continue;
      exists[kind] = true;
      rpinn_axis_include(&colours[kind], grid->num_points, values);
    }
  }
  rpinn_axis_join(&colours[RPINN_MAP_TRUTH], &colours[RPINN_MAP_MEAN]);
  for (int kind = 0; kind < RPINN_NUM_MAPS; kind++) {
    if (!exists[kind]) continue;
    size_t columns = kind == RPINN_MAP_TRUTH ? 1 : comparison->num_runs;
    snprintf(file, sizeof file, "%.80s-%s", name, rpinn_map_file_name((RpinnMapKind)kind));
    rpinn_axis_settle(&colours[kind], 0);
    write_row(report, comparison, grid, quantity, (RpinnMapKind)kind, colours[kind], values,
              rpinn_figure_sheet(report->figures, file, columns));
  }
}

static RpinnStatus write_maps(const RpinnReport *report, const RpinnComparison *comparison) {
  const RpinnRun *first = comparison->runs[0];
  RpinnMapGrid grid;
  bool is_grid;
  double *values = calloc(first->outputs.num_points + 1, sizeof *values);
  RpinnStatus status =
      rpinn_map_grid_make(report->context, &first->posteriors[0]->data->predict, &grid, &is_grid);
  if (status == RPINN_OK && !values) status = rpinn_fail_memory(report->context);
  for (size_t q = 0; status == RPINN_OK && is_grid && q < first->outputs.num_quantities; q++)
    write_quantity(report, comparison, &grid, q, values);
  if (status == RPINN_OK && !is_grid)
    rpinn_text_append(report->page,
                      "<p>The points of the predictions are not a grid: there are no maps.</p>\n");
  free(values);
  rpinn_map_grid_free(&grid);
  return status;
}

RpinnStatus rpinn_comparison_columns(const RpinnReport *report, const RpinnComparison *comparison) {
  const RpinnRun *first = comparison->runs[0];
  bool has_points = first->outputs.num_quantities && first->outputs.num_points;
  if (has_points && first->problem->num_coordinates == 2) return write_maps(report, comparison);
  if (has_points && first->problem->num_coordinates == 1) {
    RpinnCurves curves;
    RpinnStatus status = rpinn_curves_make(report->context, &first->posteriors[0]->data->predict, &curves);
    for (size_t q = 0; status == RPINN_OK && q < first->outputs.num_quantities; q++)
      write_curves(report, comparison, &curves, q);
    rpinn_curves_free(&curves);
    return status;
  }
  rpinn_text_append(report->page, "<p>Figures are made of predictions over one and two coordinates.</p>\n");
  return RPINN_OK;
}
