/* How the scores of particles change along the iterations. */
#include <stdlib.h>

#include "report_page.h"

/* One score of all quantities along the iterations; its column among those of a quantity. */
static RpinnStatus write_score_trace(const RpinnReport *report, const char *file, const char *title,
                                     const char *label, size_t column, bool logarithmic) {
  const RpinnRun *run = report->run;
  enum { FIRST = 4 };
  const RpinnParticleTrace *trace = &run->results.particles;
  size_t count = trace->num_rows, num_quantities = run->outputs.num_quantities;
  double *x = calloc((1 + num_quantities) * (count + 1), sizeof *x);
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, file, 1),
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("iteration", false),
                    .y = rpinn_axis_empty(label, logarithmic)};
  if (!x) return rpinn_fail_memory(report->context);
  for (size_t i = 0; i < count; i++) {
    x[i] = trace->rows[i * trace->width];
    for (size_t q = 0; q < num_quantities; q++)
      x[(1 + q) * count + i] = trace->rows[i * trace->width + FIRST + q * RPINN_TRACE_SCORES + column];
  }
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, num_quantities * count, x + count);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_figure_open(report->page, title);
  rpinn_plot_open(&plot, title);
  for (size_t q = 0; q < num_quantities; q++)
    rpinn_plot_line(&plot, count, x, x + (1 + q) * count, (RpinnStroke){rpinn_series_ink(q), 1.5, 1, NULL});
  rpinn_plot_close(&plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  for (size_t q = 0; q < num_quantities; q++)
    rpinn_plot_key_line(&plot, (RpinnStroke){rpinn_series_ink(q), 1.5, 1, NULL},
                        run->problem->predicted[q].name);
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
  free(x);
  return RPINN_OK;
}

RpinnStatus rpinn_report_particles(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  if (!run->results.particles.num_rows || !run->outputs.num_quantities) return RPINN_OK;
  rpinn_text_append(
      page, "<section>\n<h2>Along the iterations</h2>\n<p>The spread of the particles changes while they "
            "move; where they are stopped decides what it says.</p>\n<div class=\"figures\">\n");
  RPINN_TRY(write_score_trace(report, "svgd-std", "Mean standard deviation", "mean std", 2, true));
  RPINN_TRY(write_score_trace(report, "svgd-coverage", "Share of the truth within two standard deviations",
                              "coverage", 5, false));
  rpinn_text_append(page, "</div>\n<p class=\"note\">All scores along the way are in "
                          "<code>svgd_trace.csv</code>.</p>\n</section>\n");
  return RPINN_OK;
}
