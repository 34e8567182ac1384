/* The maps of the two-dimensional problem: panels as CSV files, and a script by which gnuplot draws them.
 *
 *   fig-darcy-y, fig-darcy-h   a row for every sigma: mean, error of the mean, standard deviation, coverage by two
 *   fig-reference              the reference y and h, with the measured points */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv_table.h"
#include "reproduce_figures.h"
#include "reproduce_run.h"

static bool is_reference(const RpinnReproduction *reproduction) {
  return reproduction->entry->kind == &rpinn_reference_maps;
}

static const char *quantity_of(const RpinnReproduction *reproduction) {
  return strrchr(reproduction->entry->name, '-') + 1; /* fig-darcy-y */
}

/* ---- panels ---- */

enum { X1, X2, MEAN, STD, TRUTH, NUM_COLUMNS };

static RpinnStatus append_panels(RpinnContext *context, const RpinnCsvTable *table, const char *quantity,
                                 RpinnText *csv) {
  static const char *const suffixes[NUM_COLUMNS] = {"", "", "_mean", "_std", "_truth"};
  int columns[NUM_COLUMNS];
  for (size_t k = 0; k < NUM_COLUMNS; k++) {
    char name[32];
    snprintf(name, sizeof name, "%s%s", k == X1 ? "x1" : k == X2 ? "x2" : quantity, suffixes[k]);
    columns[k] = rpinn_csv_column(table, name);
    if (columns[k] < 0) return rpinn_fail_at(context, table->header, "no column '%s'", name);
  }
  rpinn_text_append(csv, "x1,x2,mean,error,std,covered\n");
  for (size_t row = 0; row < table->num_rows; row++) {
    double cells[NUM_COLUMNS];
    for (size_t k = 0; k < NUM_COLUMNS; k++)
      RPINN_TRY(rpinn_csv_number(context, table, row, (size_t)columns[k], &cells[k]));
    double error = cells[MEAN] - cells[TRUTH];
    rpinn_text_append(csv, "%.9g,%.9g,%.9g,%.9g,%.9g,%d\n", cells[X1], cells[X2], cells[MEAN], error,
                      cells[STD], fabs(error) < 2 * cells[STD]);
  }
  return RPINN_OK;
}

/* NAME_sigma0.1.csv */
static RpinnStatus write_panels(RpinnContext *context, const RpinnReproduction *reproduction,
                                const RpinnReproducedRun *run, const char *folder) {
  char path[RPINN_PATH_SIZE], suffix[64];
  RpinnCsvTable *table;
  RpinnText csv = {0};
  snprintf(path, sizeof path, "%s/predictions.csv", folder);
  RpinnArena *arena = rpinn_arena_create();
  if (!arena) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_csv_read_file(context, arena, path, &table);
  if (status == RPINN_OK) status = append_panels(context, table, quantity_of(reproduction), &csv);
  snprintf(suffix, sizeof suffix, "_sigma%s.csv", run->paper_case->sigma);
  if (status == RPINN_OK) status = rpinn_reproduction_write_file(context, reproduction, suffix, &csv);
  rpinn_text_free(&csv);
  rpinn_arena_destroy(arena);
  return status;
}

/* ---- reference ---- */

static RpinnStatus write_measured(RpinnContext *context, const RpinnReproduction *reproduction,
                                  const RpinnPosterior *posterior) {
  RpinnText csv = {0};
  for (size_t t = 0; t < posterior->problem->num_terms; t++)
    if (!strcmp(posterior->problem->terms[t].name, "y"))
      rpinn_point_set_write(posterior->problem, &posterior->data->terms[t].points, &csv);
  RpinnStatus status = rpinn_reproduction_write_file(context, reproduction, "_measured.csv", &csv);
  rpinn_text_free(&csv);
  return status;
}

/* NAME.csv */
static RpinnStatus write_reference(RpinnContext *context, const RpinnReproduction *reproduction,
                                   const RpinnReproducedRun *run, const RpinnPosterior *posterior) {
  const RpinnDataSet *data = posterior->data;
  const RpinnProblem *problem = posterior->problem;
  const double *truth[RPINN_PAPER_QUANTITIES] = {0};
  RpinnText csv = {0};
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    for (size_t k = 0; k < problem->num_predicted; k++)
      if (!strcmp(problem->predicted[k].name, run->paper_case->quantities[q]))
        truth[q] = data->predicted_truth[k];
  if (!truth[0] || !truth[1]) return rpinn_fail(context, RPINN_ERROR_INPUT, "the problem has no truth");
  rpinn_text_append(&csv, "x1,x2,%s,%s\n", run->paper_case->quantities[0], run->paper_case->quantities[1]);
  for (size_t p = 0; p < data->predict.count; p++)
    rpinn_text_append(&csv, "%.9g,%.9g,%.9g,%.9g\n", data->predict.x[2 * p], data->predict.x[2 * p + 1],
                      truth[0][p], truth[1][p]);
  RpinnStatus status = rpinn_reproduction_write_file(context, reproduction, ".csv", &csv);
  rpinn_text_free(&csv);
  return status;
}

/* ---- script and page ---- */

static void append_panel(RpinnText *script, const char *name, const char *file, int column,
                         const char *title) {
  rpinn_text_append(
      script,
      "  set title \"%s\"\n"
      "  plot '%s%s' using 1:2:%d skip 1 with image notitle, '%s_measured.csv' using 1:2 skip 1 "
      "with points pointtype 6 pointsize 0.6 linecolor rgb 'black' notitle\n",
      title, name, file, column, name);
}

static void append_script(const RpinnReproduction *reproduction, RpinnText *script) {
  static const char *const titles[] = {"mean", "error of the mean", "standard deviation",
                                       "inside two standard deviations"};
  const char *name = reproduction->entry->name;
  bool reference = is_reference(reproduction);
  int height = reference ? 400 : 660;
  rpinn_text_append(
      script,
      "# gnuplot %s.gp, in this folder\n"
      "set datafile separator ','\nset palette defined (0 '#30123b', 1 '#3a6ea5', 2 '#3fa796', 3 '#b6d35a', "
      "4 '#fde725')\nset xrange [0:1]\nset yrange [0:0.5]\n"
      "set size ratio -1\nset xtics 0.5\nset ytics 0.25\n"
      "do for [kind in \"svg png\"] {\n"
      "  if (kind eq 'svg') { set terminal svg size 1600,%d } else { set terminal png size 1600,%d }\n"
      "  set output '%s.'.kind\n  set multiplot layout %s\n",
      name, height, height, name, reference ? "1,2" : "3,4");
  for (int k = 0; reference && k < RPINN_PAPER_QUANTITIES; k++)
    append_panel(script, name, ".csv", 3 + k, reproduction->runs[0].paper_case->quantities[k]);
  for (size_t r = 0; !reference && r < reproduction->num_runs; r++)
    for (int k = 0; k < 4 && !reproduction->runs[r].reason; k++) {
      const char *sigma = reproduction->runs[r].paper_case->sigma;
      char file[64], title[128];
      snprintf(file, sizeof file, "_sigma%s.csv", sigma);
      snprintf(title, sizeof title, "%s, sigma = %s: %s", quantity_of(reproduction), sigma, titles[k]);
      append_panel(script, name, file, 3 + k, title);
    }
  rpinn_text_append(script, "  unset multiplot\n}\n");
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  RpinnText script = {0}, *text = &reproduction->text;
  const char *name = reproduction->entry->name;
  append_script(reproduction, &script);
  RpinnStatus status = rpinn_reproduction_write_file(context, reproduction, ".gp", &script);
  rpinn_text_free(&script);
  RPINN_TRY(status);
  rpinn_text_append(text, "# rpinn reproduce %s, scale %s, %s\n\n", name,
                    rpinn_paper_scales[reproduction->scale],
                    reproduction->has_data ? "published data sets" : "synthetic data");
  rpinn_text_append(text, "- %s.gp draws %s.svg and %s.png from the CSV files beside it.\n", name, name,
                    name);
  for (size_t r = 0; !is_reference(reproduction) && r < reproduction->num_runs; r++) {
    const RpinnReproducedRun *run = &reproduction->runs[r];
    if (run->reason) continue;
    rpinn_text_append(text, "- sigma = %s: rPINN, %s.%s%s.\n", run->paper_case->sigma, run->settings,
                      run->departures[0] ? " Departs from the paper: " : " As in the paper", run->departures);
  }
  rpinn_text_append(&reproduction->json, "{\"name\": \"%s\", \"scale\": \"%s\", \"data\": \"%s\"}\n", name,
                    rpinn_paper_scales[reproduction->scale],
                    reproduction->has_data ? "published" : "synthetic");
  return RPINN_OK;
}

/* ---- kinds ---- */

static RpinnStatus take_panels(RpinnMadeRun *made) {
  RPINN_TRY(write_measured(made->context, made->reproduction, made->posterior));
  return write_panels(made->context, made->reproduction, made->run, made->folder);
}

static RpinnStatus take_reference(RpinnMadeRun *made) {
  RPINN_TRY(write_measured(made->context, made->reproduction, made->posterior));
  return write_reference(made->context, made->reproduction, made->run, made->posterior);
}

static bool is_rpinn(const RpinnReproducedRun *run) {
  return run->method == RPINN_PAPER_RPINN;
}

/* The reference is the same for every noise. */
static bool is_first_rpinn(const RpinnReproducedRun *run) {
  return is_rpinn(run) && !strcmp(run->paper_case->sigma, "1");
}

const RpinnReproduceKind rpinn_darcy_maps = {.is_figure = true,
                                             .plan = rpinn_reproduction_plan,
                                             .shows = is_rpinn,
                                             .take = take_panels,
                                             .finish = finish};
const RpinnReproduceKind rpinn_reference_maps = {.is_figure = true,
                                                 .needs_no_run = true,
                                                 .plan = rpinn_reproduction_plan,
                                                 .shows = is_first_rpinn,
                                                 .take = take_reference,
                                                 .finish = finish};
