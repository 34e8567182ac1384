/* How the scores and the discrepancy of particles change along the iterations. */
#include <math.h>
#include <stdlib.h>

#include "report_page.h"

typedef struct Line {
  size_t column; /* of the trace */
  RpinnStroke stroke;
  const char *name;
} Line;

typedef struct Figure {
  const char *file, *title, *label;
  bool logarithmic;
} Figure;

/* Columns of the trace along the iterations. */
static RpinnStatus draw_trace(const RpinnReport *report, Figure figure, size_t num_lines, const Line *lines) {
  const RpinnParticleTrace *trace = &report->run->results.particles;
  size_t count = trace->num_rows;
  double *x = calloc((1 + num_lines) * (count + 1), sizeof *x);
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, figure.file, 1),
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("iteration", false),
                    .y = rpinn_axis_empty(figure.label, figure.logarithmic)};
  if (!x) return rpinn_fail_memory(report->context);
  for (size_t i = 0; i < count; i++) {
    x[i] = trace->rows[i * trace->width];
    for (size_t k = 0; k < num_lines; k++)
      x[(1 + k) * count + i] = trace->rows[i * trace->width + lines[k].column];
  }
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, num_lines * count, x + count);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_figure_open(report->page, figure.title);
  rpinn_plot_open(&plot, figure.title);
  for (size_t k = 0; k < num_lines; k++)
    rpinn_plot_line(&plot, count, x, x + (1 + k) * count, lines[k].stroke);
  rpinn_plot_close(&plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  for (size_t k = 0; k < num_lines; k++) rpinn_plot_key_line(&plot, lines[k].stroke, lines[k].name);
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
  free(x);
  return RPINN_OK;
}

/* One score of all quantities; its column among those of a quantity. */
static RpinnStatus draw_score(const RpinnReport *report, Figure figure, size_t column) {
  const RpinnRun *run = report->run;
  Line *lines = calloc(run->outputs.num_quantities, sizeof *lines);
  if (!lines) return rpinn_fail_memory(report->context);
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    lines[q] = (Line){RPINN_TRACE_OWN + q * RPINN_TRACE_SCORES + column,
                      {rpinn_series_ink(q), 1.5, 1, NULL},
                      run->problem->predicted[q].name};
  RpinnStatus status = draw_trace(report, figure, run->outputs.num_quantities, lines);
  free(lines);
  return status;
}

/* A run of an earlier version has none. */
static RpinnStatus draw_discrepancy(const RpinnReport *report) {
  const RpinnParticleTrace *trace = &report->run->results.particles;
  if (isnan(trace->rows[(trace->num_rows - 1) * trace->width + RPINN_TRACE_DISCREPANCY])) return RPINN_OK;
  const Line line = {RPINN_TRACE_DISCREPANCY, {rpinn_series_ink(0), 1.5, 1, NULL}, "particles"};
  return draw_trace(report, (Figure){"svgd-stein", "Kernel Stein discrepancy", "discrepancy", true}, 1,
                    &line);
}

RpinnStatus rpinn_report_particles(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  if (!run->results.particles.num_rows || !run->outputs.num_quantities) return RPINN_OK;
  rpinn_text_append(
      page, "<section>\n<h2>Along the iterations</h2>\n<p>The spread of the particles changes while they "
            "move; where they are stopped decides what it says.</p>\n<div class=\"figures\">\n");
  RPINN_TRY(draw_score(report, (Figure){"svgd-std", "Mean standard deviation", "mean std", true}, 2));
  RPINN_TRY(draw_score(
      report,
      (Figure){"svgd-coverage", "Share of the truth within two standard deviations", "coverage", false}, 5));
  RPINN_TRY(draw_discrepancy(report));
  rpinn_text_append(page, "</div>\n<p class=\"note\">All scores along the way are in "
                          "<code>svgd_trace.csv</code>.</p>\n</section>\n");
  return RPINN_OK;
}
