/* Have the chains of the paper's NUTS runs converged? fig-nuts-convergence: a row for every run with the log density
 * along its chains, a histogram of R-hat over the parameters, and the traces of the best and of the worst mixed one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain_draw_statistics.h"
#include "reproduce_figures.h"
#include "reproduce_run.h"

enum { NUM_BINS = 40, NUM_TRACES = 3, BEST = 1, WORST = 2 };

typedef struct Row {
  const RpinnReproducedRun *run;
  size_t num_chains;
  struct {
    size_t count;
    double every;       /* draws between points */
    double *values;     /* [num_chains][count] */
  } traces[NUM_TRACES]; /* log density, best, worst */
  double edges[NUM_BINS + 1], heights[NUM_BINS];
  size_t num_parameters, num_unmixed, parameters[NUM_TRACES];
  double rhats[NUM_TRACES], rhat_paper;
} Row;

typedef struct Gathered {
  size_t count;
  Row rows[RPINN_MAX_PAPER_RUNS];
} Gathered;

/* ---- gathering ---- */

/* Even bins from 1 to the largest, but to 1.05 at least so that good runs look alike. */
static void make_histogram(const RpinnChainResults *chains, Row *row) {
  double high = 1.05;
  for (size_t i = 0; i < chains->num_parameters; i++) high = fmax(high, chains->parameters[i].rhat);
  if (!isfinite(high)) high = 10;
  for (size_t k = 0; k <= NUM_BINS; k++) row->edges[k] = 1 + (1.0001 * high - 1) * (double)k / NUM_BINS;
  for (size_t i = 0; i < chains->num_parameters; i++) {
    double share = (chains->parameters[i].rhat - 1) / (row->edges[NUM_BINS] - 1);
    if (!isnan(share)) row->heights[(size_t)fmax(0, fmin(NUM_BINS - 1, floor(share * NUM_BINS)))]++;
    row->num_unmixed += chains->parameters[i].rhat > 1.01;
  }
  row->num_parameters = chains->num_parameters;
}

/* The log density of the kept draws: they lie keep_every apart in the order of chains and draws. */
static RpinnStatus keep_log_density(RpinnMadeRun *made, const RpinnRun *run, Row *row) {
  size_t every = run->results.keep_every ? run->results.keep_every : 1, num_draws = run->plan.num_draws;
  size_t count = row->traces[0].count = num_draws / every;
  row->traces[0].every = (double)every;
  row->traces[0].values = RPINN_ARENA_NEW(made->reproduction->arena, double, row->num_chains *count + 1);
  if (!row->traces[0].values) return rpinn_fail_memory(made->context);
  for (size_t k = 0; k < rpinn_kept_draws_count(run->results.statistics); k++) {
    size_t chain = k * every / num_draws, at = (k * every - chain * num_draws) / every;
    if (chain < row->num_chains && at < count)
      row->traces[0].values[chain * count + at] =
          rpinn_kept_draws_get(run->results.statistics, k)[RPINN_CHAIN_LP];
  }
  return RPINN_OK;
}

static RpinnStatus keep_parameter(RpinnMadeRun *made, const RpinnChainResults *chains, size_t which,
                                  size_t parameter, const double *values, Row *row) {
  size_t count = chains->num_trace, all = row->num_chains * count;
  row->traces[which].count = count;
  row->traces[which].every = (double)chains->trace_every;
  row->traces[which].values = RPINN_ARENA_NEW(made->reproduction->arena, double, all + 1);
  if (!row->traces[which].values) return rpinn_fail_memory(made->context);
  memcpy(row->traces[which].values, values, all * sizeof *values);
  row->parameters[which] = parameter;
  row->rhats[which] = chains->parameters[parameter].rhat;
  return RPINN_OK;
}

static RpinnStatus keep_run(RpinnMadeRun *made, const RpinnRun *run) {
  Gathered *gathered = made->reproduction->own;
  const RpinnChainResults *chains = &run->results.chains;
  Row *row = &gathered->rows[gathered->count++];
  *row = (Row){.run = made->run, .num_chains = (size_t)run->plan.num_chains};
  make_histogram(chains, row);
  row->rhat_paper = chains->parameters[chains->worst].rhat_paper;
  RPINN_TRY(keep_log_density(made, run, row));
  RPINN_TRY(keep_parameter(made, chains, BEST, chains->best, chains->best_trace, row));
  return keep_parameter(made, chains, WORST, chains->worst, chains->worst_trace, row);
}

static RpinnStatus take(RpinnMadeRun *made) {
  return rpinn_made_run_show(made, keep_run);
}

static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  reproduction->own = RPINN_ARENA_NEW(reproduction->arena, Gathered, 1);
  return reproduction->own ? rpinn_reproduction_plan(context, reproduction) : rpinn_fail_memory(context);
}

/* ---- drawing ---- */

static const RpinnFrame frame = {340, 220, 58, 10, 20, 42};

static RpinnStatus draw_trace(RpinnContext *context, RpinnSheet *sheet, RpinnText *page, const Row *row,
                              size_t which, const char *title, const char *label) {
  size_t count = row->traces[which].count;
  double *x = calloc(count + 1, sizeof *x);
  if (!x) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) x[i] = 1 + (double)i * row->traces[which].every;
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = title,
                    .frame = frame,
                    .x = rpinn_axis_empty("draw", false),
                    .y = rpinn_axis_empty(label, false)};
  rpinn_axis_include(&plot.x, count, x);
  rpinn_axis_include(&plot.y, row->num_chains * count, row->traces[which].values);
  rpinn_axis_settle(&plot.x, 0);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_plot_open(&plot, title);
  for (size_t c = 0; c < row->num_chains; c++)
    rpinn_plot_line(&plot, count, x, row->traces[which].values + c * count,
                    (RpinnStroke){rpinn_series_ink(c), 0.7, 0.8, NULL});
  rpinn_plot_close(&plot);
  rpinn_plot_key_chains(&plot, row->num_chains);
  free(x);
  return RPINN_OK;
}

static void draw_histogram(RpinnSheet *sheet, RpinnText *page, const Row *row, const char *title) {
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = title,
                    .frame = frame,
                    .x = {.label = "R-hat", .low = 1, .high = row->edges[NUM_BINS]},
                    .y = {.label = "parameters", .low = 0, .high = 1}};
  for (size_t k = 0; k < NUM_BINS; k++) plot.y.high = fmax(plot.y.high, 1.05 * row->heights[k]);
  rpinn_plot_open(&plot, title);
  rpinn_plot_bars(&plot, NUM_BINS, row->edges, row->heights, RPINN_INK_BLUE);
  rpinn_plot_close(&plot);
}

static RpinnStatus draw_row(RpinnContext *context, RpinnSheet *sheet, RpinnText *page, const Row *row) {
  const RpinnPaperCase *paper = row->run->paper_case;
  RpinnText titles[4] = {0};
  rpinn_text_append(&titles[0], "%s, N_f = %s, σ = %s",
                    strstr(paper->problem, "non") ? "non-linear" : "linear", paper->num_points, paper->sigma);
  rpinn_text_append(&titles[1], "R-hat above 1.01: %zu of %zu", row->num_unmixed, row->num_parameters);
  rpinn_text_append(&titles[2], "parameter %zu, R-hat %.3f", row->parameters[BEST], row->rhats[BEST]);
  rpinn_text_append(&titles[3], "parameter %zu, R-hat %.3g", row->parameters[WORST], row->rhats[WORST]);
  RpinnStatus status = RPINN_OK;
  for (size_t k = 0; k < 4 && status == RPINN_OK; k++)
    if (titles[k].failed) status = rpinn_fail_memory(context);
  if (status == RPINN_OK)
    status = draw_trace(context, sheet, page, row, 0, titles[0].bytes, "log posterior density");
  if (status == RPINN_OK) draw_histogram(sheet, page, row, titles[1].bytes);
  if (status == RPINN_OK) status = draw_trace(context, sheet, page, row, BEST, titles[2].bytes, "best mixed");
  if (status == RPINN_OK)
    status = draw_trace(context, sheet, page, row, WORST, titles[3].bytes, "worst mixed");
  for (size_t k = 0; k < 4; k++) rpinn_text_free(&titles[k]);
  return status;
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  const Gathered *gathered = reproduction->own;
  RpinnSheet sheet = {.columns = 4};
  RpinnText page = {0}, *csv = &reproduction->csv;
  RpinnStatus status = RPINN_OK;
  rpinn_text_append(
      csv, "problem,points,sigma,parameters,unmixed,smallest_rhat,largest_rhat,largest_rhat_paper\n");
  for (size_t i = 0; i < gathered->count && status == RPINN_OK; i++) {
    const Row *row = &gathered->rows[i];
    status = draw_row(context, &sheet, &page, row);
    rpinn_text_append(csv, "%s,%s,%s,%zu,%zu,%.6g,%.6g,%.6g\n", row->run->paper_case->problem,
                      row->run->paper_case->num_points, row->run->paper_case->sigma, row->num_parameters,
                      row->num_unmixed, row->rhats[BEST], row->rhats[WORST], row->rhat_paper);
  }
  if (status == RPINN_OK) status = rpinn_figure_finish(context, reproduction, &sheet);
  rpinn_text_free(&page);
  rpinn_sheet_free(&sheet);
  return status;
}

static bool has_chains(const RpinnReproducedRun *run) {
  return rpinn_paper_method(run->method)->has_chains;
}

const RpinnReproduceKind rpinn_convergence_figure = {
    .is_figure = true, .plan = plan, .shows = has_chains, .take = take, .finish = finish};
