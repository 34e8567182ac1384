/* How the bound on the evidence rose along the iterations of variational inference, from every start. */
#include <stdio.h>
#include <stdlib.h>

#include "report_page.h"

/* The highest window, and its error. */
static RpinnVariationalWindow find_best(const RpinnVariationalResult *result) {
  RpinnVariationalWindow best = result->windows[0];
  for (size_t i = 1; i < result->num_windows; i++)
    if (result->windows[i].elbo > best.elbo) best = result->windows[i];
  return best;
}

/* On a logarithmic axis, how far below the highest window each of them is, and that one by its error: the first windows are below
 * the last by many times what these differ by. */
static RpinnStatus draw_starts(const RpinnReport *report) {
  const RpinnVariationalResult *result = &report->run->variational;
  const RpinnVariationalWindow best = find_best(result);
  size_t count = result->num_windows;
  double *x = calloc(2 * count, sizeof *x), *y = x + count;
  const char *title = "Bound on the log evidence";
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, "vi-elbo", 1),
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("iteration", false),
                    .y = rpinn_axis_empty("nats below the highest", true)};
  if (!x) return rpinn_fail_memory(report->context);
  for (size_t i = 0; i < count; i++) {
    x[i] = result->windows[i].iteration;
    y[i] = best.elbo + best.error - result->windows[i].elbo;
  }
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, count, y);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_figure_open(report->page, title);
  rpinn_plot_open(&plot, title);
  for (size_t k = 0, first = 0; k < result->num_starts; first += (size_t)result->starts[k++].num_windows)
    rpinn_plot_line(&plot, (size_t)result->starts[k].num_windows, x + first, y + first,
                    (RpinnStroke){rpinn_series_ink(k), k == result->chosen ? 2.5 : 1, 1, NULL});
  rpinn_plot_close(&plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  for (size_t k = 0; k < result->num_starts; k++) {
    char name[64];
    snprintf(name, sizeof name, "start %zu%s", k, k == result->chosen ? ", kept" : "");
    rpinn_plot_key_line(&plot, (RpinnStroke){rpinn_series_ink(k), k == result->chosen ? 2.5 : 1, 1, NULL},
                        name);
  }
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
  free(x);
  return RPINN_OK;
}

RpinnStatus rpinn_report_variational(const RpinnReport *report) {
  RpinnText *page = report->page;
  if (!report->run->variational.num_windows) return RPINN_OK;
  rpinn_text_append(page,
                    "<section>\n<h2>Along the iterations</h2>\n<p>The normal distribution that is drawn "
                    "from has the highest bound on the log evidence of those that the starts ended "
                    "at. A step is halved where a window of iterations is no better than those before.</p>\n"
                    "<div class=\"figures\">\n");
  RPINN_TRY(draw_starts(report));
  rpinn_text_append(page, "</div>\n<p class=\"note\">All windows are in <code>vi_trace.csv</code>.</p>\n"
                          "</section>\n");
  return RPINN_OK;
}
