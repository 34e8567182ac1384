/* What a reader of a page wants to see of chains: do they agree, where do they stand, how do they move. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chain_results.h"
#include "number_text.h"
#include "report_page.h"
#include "report_table.h"

static const RpinnFrame frame = {440, 290, 58, 10, 20, 42};

/* ---- R-hat ---- */

enum { NUM_BINS = 30 };

/* Edges from 1, where chains agree, to the largest of both groups; at least to 1.05, so that good runs look alike. */
static void find_edges(const RpinnChainResults *chains, double edges[NUM_BINS + 1]) {
  double high = 1.05;
  high = fmax(high, rpinn_worst_convergence(chains->num_parameters, chains->parameters).max_rhat);
  high = fmax(high, rpinn_worst_convergence(chains->num_outputs, chains->outputs).max_rhat);
  if (!isfinite(high)) high = 10;
  for (size_t k = 0; k <= NUM_BINS; k++) edges[k] = 0.995 + (high * 1.0001 - 0.995) * (double)k / NUM_BINS;
}

static void write_rhat_histogram(const RpinnReport *report, const char *file, const char *what, size_t count,
                                 const RpinnConvergence *convergence, const double edges[NUM_BINS + 1],
                                 const char *colour) {
  char caption[256];
  double heights[NUM_BINS] = {0};
  RpinnPlot plot = {.page = report->page,
                    .frame = frame,
                    .x = rpinn_axis_empty("R-hat", false),
                    .y = {.label = "scalars", .low = 0, .high = 1, .whole = true}};
  if (!count) return;
  plot.sheet = rpinn_figure_sheet(report->figures, file, 1);
  for (size_t i = 0; i < count; i++) {
    double share = (convergence[i].rhat - edges[0]) / (edges[NUM_BINS] - edges[0]);
    if (!isnan(share)) heights[(size_t)fmax(0, fmin(NUM_BINS - 1, floor(share * NUM_BINS)))]++;
  }
  for (size_t k = 0; k < NUM_BINS; k++) plot.y.high = fmax(plot.y.high, 1.05 * heights[k]);
  rpinn_axis_include(&plot.x, NUM_BINS + 1, edges);
  rpinn_axis_settle(&plot.x, 0);
  RpinnWorstConvergence worst = rpinn_worst_convergence(count, convergence);
  snprintf(caption, sizeof caption, "R-hat of %zu %s; %zu above 1.01", count, what, worst.num_unmixed);
  rpinn_figure_open(report->page, caption);
  rpinn_plot_open(&plot, "Histogram of R-hat");
  rpinn_plot_bars(&plot, NUM_BINS, edges, heights, colour);
  const double limit[2] = {1.01, 1.01}, ends[2] = {plot.y.low, plot.y.high};
  rpinn_plot_line(&plot, 2, limit, ends, (RpinnStroke){RPINN_INK_BLACK, 1, 1, "4 3"});
  rpinn_plot_close(&plot);
  rpinn_figure_close(report->page);
}

/* ---- traces ---- */

/* values [num_chains][num_trace] */
static RpinnStatus write_trace(const RpinnReport *report, const char *file, const char *title,
                               const char *label, const double *values) {
  const RpinnRun *run = report->run;
  const RpinnChainResults *chains = &run->results.chains;
  size_t count = chains->num_trace;
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, file, 1),
                    .frame = frame,
                    .x = rpinn_axis_empty("draw", false),
                    .y = rpinn_axis_empty(label, false)};
  double *x = malloc(count * sizeof *x);
  if (!x) return rpinn_fail_memory(report->context);
  for (size_t i = 0; i < count; i++) x[i] = (double)(i * chains->trace_every + 1);
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, run->plan.num_chains * count, values);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_figure_open(report->page, title);
  rpinn_plot_open(&plot, title);
  for (uint64_t c = 0; c < run->plan.num_chains; c++)
    rpinn_plot_line(&plot, count, x, values + c * count, (RpinnStroke){rpinn_series_ink(c), 1, 0.75, NULL});
  rpinn_plot_close(&plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  rpinn_plot_key_chains(&plot, (size_t)run->plan.num_chains);
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
  free(x);
  return RPINN_OK;
}

static RpinnStatus write_parameter_trace(const RpinnReport *report, const char *which, size_t parameter,
                                         const double *values) {
  char file[64], title[256];
  snprintf(file, sizeof file, "trace-%s", which);
  rpinn_format(title, sizeof title, "Parameter %zu, the %s mixed of all: R-hat %.3f", parameter, which,
               report->run->results.chains.parameters[parameter].rhat);
  return write_trace(report, file, title, "value", values);
}

/* ---- tables ---- */

static void write_convergence_row(const char *name, size_t count, const RpinnConvergence *convergence,
                                  RpinnText *page) {
  RpinnWorstConvergence worst = rpinn_worst_convergence(count, convergence);
  rpinn_table_open_row(page, name);
  rpinn_table_number(page, worst.max_rhat, 4);
  rpinn_table_number(page, worst.min_ess_bulk, 4);
  rpinn_table_number(page, worst.min_ess_tail, 4);
  rpinn_text_append(page, "<td>%zu of %zu</td></tr>\n", worst.num_unmixed, count);
}

static void write_convergence(const RpinnRun *run, RpinnText *page) {
  const RpinnChainResults *chains = &run->results.chains;
  static const char *const columns[] = {"", "largest R-hat", "least bulk ESS", "least tail ESS",
                                        "R-hat above 1.01"};
  rpinn_table_open(page, 5, columns);
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    write_convergence_row(run->problem->predicted[q].name, run->outputs.num_points,
                          chains->outputs + q * run->outputs.num_points, page);
  write_convergence_row("parameters", chains->num_parameters, chains->parameters, page);
  rpinn_table_close(page);
}

/* Of many short chains: what judges them. */
static void write_nested(const RpinnRun *run, RpinnText *page) {
  const RpinnChainResults *chains = &run->results.chains;
  if (!chains->num_superchains) return;
  rpinn_text_append(
      page,
      "<p>The chains are many and short: %llu in %zu superchains, whose chains began at one point. "
      "Nested R-hat, which judges them, is at most %.3f in what is predicted and %.3f in "
      "parameters; above 1.01 they have not forgotten where they began. The other columns are of chains one "
      "by one, and do not count.</p>\n",
      (unsigned long long)run->plan.num_chains, chains->num_superchains,
      rpinn_largest(chains->num_outputs, chains->nested_outputs),
      rpinn_largest(chains->num_parameters, chains->nested_parameters));
}

static void write_chain_table(const RpinnRun *run, RpinnText *page) {
  static const char *const columns[] = {"chain",       "acceptance",       "step size", "leapfrogs",
                                        "divergences", "at largest depth", "E-BFMI"};
  rpinn_table_open(page, 7, columns);
  for (uint64_t c = 0; c < run->plan.num_chains; c++) {
    const RpinnChainResult *chain = &run->results.chains.chains[c];
    rpinn_text_append(page, "<tr><td>%llu</td>", (unsigned long long)c + 1);
    rpinn_table_percent(page, chain->acceptance);
    rpinn_table_number(page, chain->step_size, 3);
    rpinn_table_number(page, (double)chain->leapfrogs, 8);
    rpinn_table_number(page, (double)chain->divergences, 8);
    rpinn_table_number(page, (double)chain->saturations, 8);
    rpinn_table_number(page, chain->energy_fraction, 3);
    rpinn_text_append(page, "</tr>\n");
  }
  rpinn_table_close(page);
}

/* Per chain, as in Table 3 of the paper. */
static void write_chain_scores(const RpinnRun *run, RpinnText *page) {
  rpinn_text_append(page, "<h3>Scores of each chain</h3>\n");
  static const char *const columns[] = {"",         "chain", "rl2",       "l&#8734;",
                                        "mean std", "LPP",   "LPP table", "coverage"};
  rpinn_table_open(page, 8, columns);
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    for (uint64_t c = 0; c < run->plan.num_chains; c++) {
      const RpinnScore *score = &run->results.chains.chains[c].scores[q];
      rpinn_table_open_row(page, score->name);
      rpinn_table_number(page, (double)c + 1, 8);
      rpinn_report_table_cells(page, score);
      rpinn_text_append(page, "</tr>\n");
    }
  rpinn_table_close(page);
}

RpinnStatus rpinn_report_chains(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  const RpinnChainResults *chains = &run->results.chains;
  double edges[NUM_BINS + 1];
  rpinn_text_append(page, "<section>\n<h2>Convergence of the chains</h2>\n");
  write_convergence(run, page);
  write_nested(run, page);
  rpinn_text_append(
      page,
      "<p class=\"note\">R-hat compares the chains: 1 when they agree. ESS, the effective sample size, is "
      "what the draws are worth. Weights of networks have symmetries, so that chains may agree in what they "
      "predict while their parameters do not mix. <code>rpinn diagnose</code> gives a verdict.</p>\n");
  find_edges(chains, edges);
  rpinn_text_append(page, "<div class=\"figures\">\n");
  write_rhat_histogram(report, "rhat-predictions", "predicted numbers", chains->num_outputs, chains->outputs,
                       edges, RPINN_INK_GREEN);
  write_rhat_histogram(report, "rhat-parameters", "parameters", chains->num_parameters, chains->parameters,
                       edges, RPINN_INK_BLUE);
  RPINN_TRY(write_parameter_trace(report, "best", chains->best, chains->best_trace));
  RPINN_TRY(write_parameter_trace(report, "worst", chains->worst, chains->worst_trace));
  RPINN_TRY(write_trace(report, "energies", "Energy of each chain", "energy", chains->energy_trace));
  rpinn_text_append(page, "</div>\n");
  write_chain_table(run, page);
  write_chain_scores(run, page);
  rpinn_text_append(page, "</section>\n");
  return RPINN_OK;
}
