/* How the losses of the members fell, and where they ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "member_statistics.h"
#include "report_page.h"
#include "report_table.h"

enum { MAX_BINS = 40 };

/* Points of the longest trace. */
static size_t longest_trace(const RpinnRunResults *results) {
  size_t most = 0;
  for (size_t k = 0; k < results->num_traces; k++)
    if (results->traces[k].count > most) most = results->traces[k].count;
  return most;
}

/* Nothing where no loss was followed: particles, and draws of a linearised posterior. */
static RpinnStatus write_traces(const RpinnReport *report) {
  const RpinnRunResults *results = &report->run->results;
  size_t most = longest_trace(results);
  if (most < 2) return RPINN_OK;
  RpinnText *page = report->page;
  char caption[128];
  RpinnPlot plot = {.page = page,
                    .sheet = rpinn_figure_sheet(report->figures, "loss-traces", 1),
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("iteration", false),
                    .y = rpinn_axis_empty("loss", true)};
  for (size_t k = 0; k < results->num_traces; k++)
    for (size_t i = 0; i < results->traces[k].count; i++) {
      rpinn_axis_include(&plot.x, 1, &results->traces[k].points[2 * i]);
      rpinn_axis_include(&plot.y, 1, &results->traces[k].points[2 * i + 1]);
    }
  double *x = calloc(2 * most, sizeof *x), *y = x ? x + most : NULL;
  if (!x) return rpinn_fail_memory(report->context);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  snprintf(caption, sizeof caption, "Loss while it is minimised, of %zu member%s", results->num_traces,
           rpinn_plural(results->num_traces));
  rpinn_figure_open(page, caption);
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
  rpinn_figure_close(page);
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

static void draw_histogram(const RpinnReport *report, size_t count, const double *sorted) {
  double edges[MAX_BINS + 1], heights[MAX_BINS] = {0};
  size_t num_bins = choose_bins(count, sorted);
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, "loss-histogram", 1),
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

static RpinnStatus write_histogram(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  size_t count = rpinn_kept_draws_count(run->results.statistics), num_finite = 0;
  double *losses = calloc(2 * count + 1, sizeof *losses);
  if (!losses) return rpinn_fail_memory(report->context);
  rpinn_kept_draws_sort(run->results.statistics, RPINN_MEMBER_LOSS, 1, losses);
  for (size_t i = 0; i < count; i++)
    if (isfinite(losses[i]) && fabs(losses[i]) < 1e300) losses[num_finite++] = losses[i];
  if (num_finite > 1) {
    char caption[128];
    snprintf(caption, sizeof caption, "Loss at the end, of %zu members", num_finite);
    rpinn_figure_open(report->page, caption);
    draw_histogram(report, num_finite, losses);
    rpinn_figure_close(report->page);
  }
  free(losses);
  return RPINN_OK;
}

RpinnStatus rpinn_report_losses(const RpinnReport *report) {
  rpinn_text_append(report->page, "<div class=\"figures\">\n");
  RPINN_TRY(write_traces(report));
  RPINN_TRY(write_histogram(report));
  rpinn_text_append(report->page, "</div>\n");
  return RPINN_OK;
}
