/* What a reader of a page wants to see of chains: do they agree, where do they stand, how do they move; and of
 * particles: how their scores change along the iterations. */
#include <math.h>
#include <stdlib.h>

#include "chain_diagnostics.h"
#include "markup.h"
#include "report_page.h"
#include "svg_plot.h"

static const RpinnFrame frame = {440, 290, 58, 10, 20, 42};
enum { MAX_KEYS = 8 };

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

static void write_rhat_histogram(const char *what, size_t count, const RpinnConvergence *convergence,
                                 const double edges[NUM_BINS + 1], const char *colour, RpinnText *page) {
  double heights[NUM_BINS] = {0};
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = rpinn_axis_empty("R-hat", false),
                    .y = {.label = "scalars", .low = 0, .high = 1, .whole = true}};
  if (!count) return;
  for (size_t i = 0; i < count; i++) {
    double share = (convergence[i].rhat - edges[0]) / (edges[NUM_BINS] - edges[0]);
    if (!isnan(share)) heights[(size_t)fmax(0, fmin(NUM_BINS - 1, floor(share * NUM_BINS)))]++;
  }
  for (size_t k = 0; k < NUM_BINS; k++) plot.y.high = fmax(plot.y.high, 1.05 * heights[k]);
  rpinn_axis_include(&plot.x, NUM_BINS + 1, edges);
  rpinn_axis_settle(&plot.x, 0);
  RpinnWorstConvergence worst = rpinn_worst_convergence(count, convergence);
  rpinn_text_append(page, "<figure>\n<figcaption>R-hat of %zu %s; %zu above 1.01</figcaption>\n", count, what,
                    worst.num_unmixed);
  rpinn_plot_open(&plot, "Histogram of R-hat");
  rpinn_plot_bars(&plot, NUM_BINS, edges, heights, colour);
  const double limit[2] = {1.01, 1.01}, ends[2] = {plot.y.low, plot.y.high};
  rpinn_plot_line(&plot, 2, limit, ends, (RpinnStroke){RPINN_INK_BLACK, 1, 1, "4 3"});
  rpinn_plot_close(&plot);
  rpinn_text_append(page, "</figure>\n");
}

/* ---- traces ---- */

static void write_chain_keys(uint64_t num_chains, RpinnText *page) {
  rpinn_text_append(page, "<p class=\"keys\">\n");
  for (uint64_t c = 0; c < num_chains && c < MAX_KEYS; c++) {
    RpinnText label = {0};
    rpinn_text_append(&label, "chain %llu", (unsigned long long)c + 1);
    if (label.bytes) rpinn_key_line(page, (RpinnStroke){rpinn_series_ink(c), 1.5, 1, NULL}, label.bytes);
    rpinn_text_free(&label);
  }
  rpinn_text_append(page, "</p>\n");
}

/* values [num_chains][num_trace] */
static RpinnStatus write_trace(RpinnContext *context, const RpinnRun *run, const char *title,
                               const char *label, const double *values, RpinnText *page) {
  const RpinnChainResults *chains = &run->results.chains;
  size_t count = chains->num_trace;
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = rpinn_axis_empty("draw", false),
                    .y = rpinn_axis_empty(label, false)};
  double *x = malloc(count * sizeof *x);
  if (!x) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) x[i] = (double)(i * chains->trace_every + 1);
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, run->plan.num_chains * count, values);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_text_append(page, "<figure>\n<figcaption>%s</figcaption>\n", title);
  rpinn_plot_open(&plot, title);
  for (uint64_t c = 0; c < run->plan.num_chains; c++)
    rpinn_plot_line(&plot, count, x, values + c * count, (RpinnStroke){rpinn_series_ink(c), 1, 0.75, NULL});
  rpinn_plot_close(&plot);
  write_chain_keys(run->plan.num_chains, page);
  rpinn_text_append(page, "</figure>\n");
  free(x);
  return RPINN_OK;
}

static RpinnStatus write_parameter_trace(RpinnContext *context, const RpinnRun *run, const char *which,
                                         size_t parameter, const double *values, RpinnText *page) {
  RpinnText title = {0};
  rpinn_text_append(&title, "Parameter %zu, the %s mixed of all: R-hat %.3f", parameter, which,
                    run->results.chains.parameters[parameter].rhat);
  RpinnStatus status = title.failed ? rpinn_fail_memory(context)
                                    : write_trace(context, run, title.bytes, "value", values, page);
  rpinn_text_free(&title);
  return status;
}

/* ---- tables ---- */

static void open_table(RpinnText *page, const char *header) {
  rpinn_text_append(page, "<div class=\"scroll\"><table>\n<thead><tr>%s</tr></thead>\n<tbody>\n", header);
}

static void write_cell(RpinnText *page, double value, int digits) {
  rpinn_text_append(page, "<td>");
  rpinn_markup_number(page, value, digits);
  rpinn_text_append(page, "</td>");
}

static void write_convergence_row(const char *name, size_t count, const RpinnConvergence *convergence,
                                  RpinnText *page) {
  RpinnWorstConvergence worst = rpinn_worst_convergence(count, convergence);
  rpinn_text_append(page, "<tr><td>");
  rpinn_markup_text(page, name);
  rpinn_text_append(page, "</td>");
  write_cell(page, worst.max_rhat, 4);
  write_cell(page, worst.min_ess_bulk, 4);
  write_cell(page, worst.min_ess_tail, 4);
  rpinn_text_append(page, "<td>%zu of %zu</td></tr>\n", worst.num_unmixed, count);
}

static void write_convergence(const RpinnRun *run, RpinnText *page) {
  const RpinnChainResults *chains = &run->results.chains;
  open_table(page,
             "<th></th><th>largest R-hat</th><th>least bulk ESS</th><th>least tail ESS</th><th>R-hat above "
             "1.01</th>");
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    write_convergence_row(run->problem->predicted[q].name, run->outputs.num_points,
                          chains->outputs + q * run->outputs.num_points, page);
  write_convergence_row("parameters", chains->num_parameters, chains->parameters, page);
  rpinn_text_append(page, "</tbody></table></div>\n");
}

static void write_chain_table(const RpinnRun *run, RpinnText *page) {
  open_table(page, "<th>chain</th><th>acceptance</th><th>step size</th><th>leapfrogs</th><th>divergences</th>"
                   "<th>at largest depth</th><th>E-BFMI</th>");
  for (uint64_t c = 0; c < run->plan.num_chains; c++) {
    const RpinnChainResult *chain = &run->results.chains.chains[c];
    rpinn_text_append(page, "<tr><td>%llu</td><td>", (unsigned long long)c + 1);
    rpinn_markup_percent(page, chain->acceptance);
    rpinn_text_append(page, "</td>");
    write_cell(page, chain->step_size, 3);
    write_cell(page, (double)chain->leapfrogs, 8);
    write_cell(page, (double)chain->divergences, 8);
    write_cell(page, (double)chain->saturations, 8);
    write_cell(page, chain->energy_fraction, 3);
    rpinn_text_append(page, "</tr>\n");
  }
  rpinn_text_append(page, "</tbody></table></div>\n");
}

/* Per chain, as in Table 3 of the paper. */
static void write_chain_scores(const RpinnRun *run, RpinnText *page) {
  rpinn_text_append(page, "<h3>Scores of each chain</h3>\n");
  open_table(page, "<th></th><th>chain</th><th>rl2</th><th>l&#8734;</th><th>mean std</th><th>LPP</th><th>LPP "
                   "table</th><th>coverage</th>");
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    for (uint64_t c = 0; c < run->plan.num_chains; c++) {
      const RpinnScore *score = &run->results.chains.chains[c].scores[q];
      rpinn_text_append(page, "<tr><td><code>");
      rpinn_markup_text(page, score->name);
      rpinn_text_append(page, "</code></td><td>%llu</td>", (unsigned long long)c + 1);
      write_cell(page, score->rl2, 3);
      write_cell(page, score->linf, 3);
      write_cell(page, score->mean_std, 3);
      write_cell(page, score->lpp, 4);
      write_cell(page, score->lpp_table, 4);
      rpinn_text_append(page, "<td>");
      rpinn_markup_percent(page, score->coverage);
      rpinn_text_append(page, "</td></tr>\n");
    }
  rpinn_text_append(page, "</tbody></table></div>\n");
}

RpinnStatus rpinn_report_chains(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  const RpinnChainResults *chains = &run->results.chains;
  double edges[NUM_BINS + 1];
  rpinn_text_append(page, "<section>\n<h2>Convergence of the chains</h2>\n");
  write_convergence(run, page);
  rpinn_text_append(
      page,
      "<p class=\"note\">R-hat compares the chains: 1 when they agree. ESS, the effective sample size, is "
      "what the draws are worth. Weights of networks have symmetries, so that chains may agree in what they "
      "predict while their parameters do not mix. <code>rpinn diagnose</code> gives a verdict.</p>\n");
  find_edges(chains, edges);
  rpinn_text_append(page, "<div class=\"figures\">\n");
  write_rhat_histogram("predicted numbers", chains->num_outputs, chains->outputs, edges, RPINN_INK_GREEN,
                       page);
  write_rhat_histogram("parameters", chains->num_parameters, chains->parameters, edges, RPINN_INK_BLUE, page);
  RPINN_TRY(write_parameter_trace(context, run, "best", chains->best, chains->best_trace, page));
  RPINN_TRY(write_parameter_trace(context, run, "worst", chains->worst, chains->worst_trace, page));
  RPINN_TRY(write_trace(context, run, "Energy of each chain", "energy", chains->energy_trace, page));
  rpinn_text_append(page, "</div>\n");
  write_chain_table(run, page);
  write_chain_scores(run, page);
  rpinn_text_append(page, "</section>\n");
  return RPINN_OK;
}

/* ---- particles ---- */

/* One score of all quantities along the iterations; its column among those of a quantity. */
static RpinnStatus write_score_trace(RpinnContext *context, const RpinnRun *run, const char *title,
                                     const char *label, size_t column, bool logarithmic, RpinnText *page) {
  enum { FIRST = 4 };
  const RpinnParticleTrace *trace = &run->results.particles;
  size_t count = trace->num_rows, num_quantities = run->outputs.num_quantities;
  double *x = calloc((1 + num_quantities) * (count + 1), sizeof *x);
  RpinnPlot plot = {.page = page,
                    .frame = frame,
                    .x = rpinn_axis_empty("iteration", false),
                    .y = rpinn_axis_empty(label, logarithmic)};
  if (!x) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) {
    x[i] = trace->rows[i * trace->width];
    for (size_t q = 0; q < num_quantities; q++)
      x[(1 + q) * count + i] = trace->rows[i * trace->width + FIRST + q * RPINN_TRACE_SCORES + column];
  }
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, num_quantities * count, x + count);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_text_append(page, "<figure>\n<figcaption>%s</figcaption>\n", title);
  rpinn_plot_open(&plot, title);
  for (size_t q = 0; q < num_quantities; q++)
    rpinn_plot_line(&plot, count, x, x + (1 + q) * count, (RpinnStroke){rpinn_series_ink(q), 1.5, 1, NULL});
  rpinn_plot_close(&plot);
  rpinn_text_append(page, "<p class=\"keys\">\n");
  for (size_t q = 0; q < num_quantities; q++)
    rpinn_key_line(page, (RpinnStroke){rpinn_series_ink(q), 1.5, 1, NULL}, run->problem->predicted[q].name);
  rpinn_text_append(page, "</p>\n</figure>\n");
  free(x);
  return RPINN_OK;
}

RpinnStatus rpinn_report_particles(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  if (!run->results.particles.num_rows || !run->outputs.num_quantities) return RPINN_OK;
  rpinn_text_append(
      page, "<section>\n<h2>Along the iterations</h2>\n<p>The spread of the particles changes while they "
            "move; where they are stopped decides what it says.</p>\n<div class=\"figures\">\n");
  RPINN_TRY(write_score_trace(context, run, "Mean standard deviation", "mean std", 2, true, page));
  RPINN_TRY(write_score_trace(context, run, "Share of the truth within two standard deviations", "coverage",
                              5, false, page));
  rpinn_text_append(page, "</div>\n<p class=\"note\">All scores along the way are in "
                          "<code>svgd_trace.csv</code>.</p>\n</section>\n");
  return RPINN_OK;
}
