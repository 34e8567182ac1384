/* Means and 95 % intervals over one coordinate, methods in columns as in the paper: fig-linear, fig-nonlinear.
 *
 * Rows are the quantities for each sigma; the columns NUTS (every chain by itself), rPINN, SVGD, ensemble. The interval
 * is the paper's, mean plus and minus two standard deviations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_sheet.h"
#include "reproduce_figures.h"
#include "reproduce_run.h"

static const RpinnPaperMethod columns[] = {RPINN_PAPER_NUTS, RPINN_PAPER_RPINN, RPINN_PAPER_SVGD,
                                           RPINN_PAPER_ENSEMBLE};
enum { NUM_COLUMNS = sizeof columns / sizeof columns[0] };

/* A quantity of one run. */
typedef struct Curves {
  const RpinnReproducedRun *run;
  size_t quantity; /* of the case */
  size_t num_points, num_curves, num_data;
  double *x, *truth;        /* [num_points]; truth may be NULL */
  double *mean, *deviation; /* [num_curves][num_points]: one for each chain, or one */
  double *data_x, *data;    /* [num_data] */
  RpinnAxis y;              /* what it takes to show all of it */
} Curves;

typedef struct Gathered {
  size_t count;
  Curves curves[RPINN_MAX_PAPER_RUNS * RPINN_PAPER_QUANTITIES];
} Gathered;

/* ---- gathering ---- */

static double *keep(RpinnArena *arena, size_t count, const double *values) {
  double *kept = RPINN_ARENA_NEW(arena, double, count + 1);
  if (kept) memcpy(kept, values, count * sizeof *kept);
  return kept;
}

static RpinnStatus keep_data(RpinnMadeRun *made, const RpinnRun *run, size_t predicted, Curves *curves) {
  const RpinnProblem *problem = run->problem;
  RpinnArena *arena = made->reproduction->arena;
  size_t most = 0;
  for (size_t t = 0; t < problem->num_terms; t++) most += run->posteriors[0]->data->terms[t].points.count;
  curves->data_x = RPINN_ARENA_NEW(arena, double, most + 1);
  curves->data = RPINN_ARENA_NEW(arena, double, most + 1);
  if (!curves->data_x || !curves->data) return rpinn_fail_memory(made->context);
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTermData *data = &run->posteriors[0]->data->terms[t];
    if (problem->terms[t].expect.expression != problem->predicted[predicted].expression) continue;
    for (size_t i = 0; i < data->points.count; i++) {
      curves->data_x[curves->num_data] = data->points.x[i];
      curves->data[curves->num_data++] = data->values[i];
    }
  }
  return RPINN_OK;
}

/* mean and deviation of a curve. */
static void keep_curve(Curves *curves, size_t curve, const double *mean, const double *deviation) {
  size_t n = curves->num_points;
  memcpy(curves->mean + curve * n, mean, n * sizeof *mean);
  memcpy(curves->deviation + curve * n, deviation, n * sizeof *deviation);
  for (size_t i = 0; i < n; i++) {
    double ends[] = {mean[i] - 2 * deviation[i], mean[i] + 2 * deviation[i]};
    rpinn_axis_include(&curves->y, 2, ends);
  }
}

static RpinnStatus keep_quantity(RpinnMadeRun *made, const RpinnRun *run, size_t predicted, size_t quantity,
                                 Curves *curves) {
  RpinnArena *arena = made->reproduction->arena;
  const RpinnDataSet *data = run->posteriors[0]->data;
  size_t n = run->outputs.num_points, first = predicted * n;
  const RpinnChainResult *chains = run->results.chains.chains;
  *curves = (Curves){.run = made->run,
                     .quantity = quantity,
                     .num_points = n,
                     .num_curves = chains ? (size_t)run->plan.num_chains : 1,
                     .x = keep(arena, n, data->predict.x),
                     .y = rpinn_axis_empty("", false)};
  curves->mean = RPINN_ARENA_NEW(arena, double, curves->num_curves *n);
  curves->deviation = RPINN_ARENA_NEW(arena, double, curves->num_curves *n);
  if (data->predicted_truth[predicted]) curves->truth = keep(arena, n, data->predicted_truth[predicted]);
  if (!curves->x || !curves->mean || !curves->deviation ||
      (data->predicted_truth[predicted] && !curves->truth))
    return rpinn_fail_memory(made->context);
  for (size_t c = 0; c < curves->num_curves; c++)
    keep_curve(curves, c, (chains ? chains[c].mean : run->results.mean) + first,
               (chains ? chains[c].deviation : run->results.deviation) + first);
  RPINN_TRY(keep_data(made, run, predicted, curves));
  if (curves->truth) rpinn_axis_include(&curves->y, n, curves->truth);
  rpinn_axis_include(&curves->y, curves->num_data, curves->data);
  return RPINN_OK;
}

static RpinnStatus keep_run(RpinnMadeRun *made, const RpinnRun *run) {
  Gathered *gathered = made->reproduction->own;
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    for (size_t k = 0; k < run->problem->num_predicted; k++)
      if (!strcmp(run->problem->predicted[k].name, made->run->paper_case->quantities[q]))
        RPINN_TRY(keep_quantity(made, run, k, q, &gathered->curves[gathered->count++]));
  return RPINN_OK;
}

static RpinnStatus take(RpinnMadeRun *made) {
  return rpinn_made_run_show(made, keep_run);
}

static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  reproduction->own = RPINN_ARENA_NEW(reproduction->arena, Gathered, 1);
  return reproduction->own ? rpinn_reproduction_plan(context, reproduction) : rpinn_fail_memory(context);
}

/* ---- drawing ---- */

static const Curves *find(const Gathered *gathered, const char *sigma, size_t quantity,
                          RpinnPaperMethod method) {
  for (size_t i = 0; i < gathered->count; i++) {
    const Curves *curves = &gathered->curves[i];
    if (curves->run->method == method && curves->quantity == quantity &&
        !strcmp(curves->run->paper_case->sigma, sigma))
      return curves;
  }
  return NULL;
}

/* One axis for a row, but for panels that would squeeze the others: chains that have gone astray. */
static RpinnAxis row_axis(const Curves *const row[NUM_COLUMNS]) {
  RpinnAxis common = rpinn_axis_empty("", false);
  for (size_t k = 0; k < NUM_COLUMNS; k++) {
    RpinnAxis known = rpinn_axis_empty("", false);
    if (!row[k]) continue;
    if (row[k]->truth) rpinn_axis_include(&known, row[k]->num_points, row[k]->truth);
    rpinn_axis_include(&known, row[k]->num_data, row[k]->data);
    if (row[k]->y.high - row[k]->y.low > 2.5 * (known.high - known.low)) continue;
    rpinn_axis_include(&common, 1, &row[k]->y.low);
    rpinn_axis_include(&common, 1, &row[k]->y.high);
  }
  return common;
}

static RpinnAxis panel_axis(const Curves *curves, RpinnAxis common, const char *label) {
  RpinnAxis axis = curves->y.low < common.low || curves->y.high > common.high ? curves->y : common;
  axis.label = label;
  rpinn_axis_settle(&axis, 0.05);
  return axis;
}

static void draw_interval(const RpinnPlot *plot, const Curves *curves, size_t curve, double *low,
                          double *high) {
  static const RpinnPointStyle points = {RPINN_MARKER_CIRCLE, 1.8, RPINN_INK_VERMILION, RPINN_INK_VERMILION};
  size_t n = curves->num_points;
  const double *mean = curves->mean + curve * n, *deviation = curves->deviation + curve * n;
  bool several = curves->num_curves > 1;
  RpinnStroke stroke = {several ? rpinn_series_ink(curve) : RPINN_INK_BLUE, 1.6, 1, NULL};
  for (size_t i = 0; i < n; i++) {
    low[i] = mean[i] - 2 * deviation[i];
    high[i] = mean[i] + 2 * deviation[i];
  }
  rpinn_plot_band(plot, n, curves->x, low, high, stroke.colour, several ? 0.12 : 0.25);
  rpinn_plot_line(plot, n, curves->x, mean, stroke);
  if (curve + 1 < curves->num_curves) return;
  rpinn_plot_points(plot, curves->num_data, curves->data_x, curves->data, 0, points);
  if (curves->truth)
    rpinn_plot_line(plot, n, curves->x, curves->truth, (RpinnStroke){RPINN_INK_BLACK, 1.2, 1, "6 4"});
}

static void add_keys(const RpinnPlot *plot) {
  rpinn_plot_key_line(plot, (RpinnStroke){RPINN_INK_BLUE, 1.6, 1, NULL}, "mean (NUTS: of each chain)");
  rpinn_plot_key_band(plot, RPINN_INK_BLUE, 0.25, "mean ± two standard deviations");
  rpinn_plot_key_line(plot, (RpinnStroke){RPINN_INK_BLACK, 1.2, 1, "6 4"}, "reference");
  rpinn_plot_key_points(plot, false,
                        (RpinnPointStyle){RPINN_MARKER_CIRCLE, 1.8, RPINN_INK_VERMILION, RPINN_INK_VERMILION},
                        "data");
}

static RpinnStatus draw_panel(RpinnContext *context, RpinnSheet *sheet, RpinnText *page, const Curves *curves,
                              RpinnAxis common) {
  RpinnText label = {0};
  rpinn_text_append(&label, "%s, σ = %s", curves->run->paper_case->quantities[curves->quantity],
                    curves->run->paper_case->sigma);
  double *low = calloc(2 * curves->num_points + 1, sizeof *low);
  if (!low || label.failed) {
    free(low);
    rpinn_text_free(&label);
    return rpinn_fail_memory(context);
  }
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = rpinn_paper_method(curves->run->method)->about.title,
                    .frame = {340, 230, 58, 10, 20, 42},
                    .x = {.label = "x", .low = curves->x[0], .high = curves->x[curves->num_points - 1]},
                    .y = panel_axis(curves, common, label.bytes)};
  rpinn_plot_open(&plot, "curves");
  for (size_t c = 0; c < curves->num_curves; c++)
    draw_interval(&plot, curves, c, low, low + curves->num_points);
  rpinn_plot_close(&plot);
  add_keys(&plot);
  rpinn_text_free(&label);
  free(low);
  return RPINN_OK;
}

static void append_rows(const Curves *curves, RpinnText *csv) {
  const RpinnPaperCase *paper = curves->run->paper_case;
  for (size_t c = 0; c < curves->num_curves; c++)
    for (size_t i = 0; i < curves->num_points; i++) {
      size_t at = c * curves->num_points + i;
      rpinn_text_append(csv, "%s,%s,%zu,%s,%.9g,%.9g,%.9g,%.9g\n", paper->sigma,
                        rpinn_paper_methods[curves->run->method], c + 1, paper->quantities[curves->quantity],
                        curves->x[i], curves->mean[at], curves->deviation[at],
                        curves->truth ? curves->truth[i] : (double)NAN);
    }
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  static const char *const sigmas[] = {"0.1", "0.01"};
  const Gathered *gathered = reproduction->own;
  RpinnSheet sheet = {.columns = NUM_COLUMNS};
  RpinnText page = {0}; /* a sheet is all that is wanted */
  RpinnStatus status = RPINN_OK;
  rpinn_text_append(&reproduction->csv, "sigma,method,chain,quantity,x,mean,std,reference\n");
  for (size_t s = 0; s < 2; s++)
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
      const Curves *row[NUM_COLUMNS];
      for (size_t k = 0; k < NUM_COLUMNS; k++) row[k] = find(gathered, sigmas[s], q, columns[k]);
      RpinnAxis common = row_axis(row);
      for (size_t k = 0; k < NUM_COLUMNS && status == RPINN_OK; k++) {
        if (!row[k]) continue;
        status = draw_panel(context, &sheet, &page, row[k], common);
        append_rows(row[k], &reproduction->csv);
      }
    }
  if (status == RPINN_OK) status = rpinn_figure_finish(context, reproduction, &sheet);
  rpinn_text_free(&page);
  rpinn_sheet_free(&sheet);
  return status;
}

/* The figures show N_f = 32. */
static bool has_32_points(const RpinnReproducedRun *run) {
  return !strcmp(run->paper_case->num_points, "32");
}

const RpinnReproduceKind rpinn_curve_figures = {
    .is_figure = true, .plan = plan, .shows = has_32_points, .take = take, .finish = finish};
