/* `rpinn check --prior`: the choice of the scale, and what the prior alone says beside the data; for people, for programs, and
 * as a page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "finished_run.h"
#include "json_writer.h"
#include "markup.h"
#include "prior_draws.h"
#include "report_curves.h"
#include "report_page.h"
#include "report_table.h"
#include "rpinn/check.h"
#include "run_prior.h"

/* Quantiles over all draws and all points of a quantity, or over all draws of an unknown, and the range of its data. */
typedef struct Band {
  const char *name;
  double low, median, high;
  double data_low, data_high; /* NaN without data */
} Band;

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* values first … first + count - 1 of all draws. */
static RpinnStatus find_band(RpinnContext *context, const RpinnRun *run, size_t first, size_t count,
                             Band *band) {
  size_t num_draws = rpinn_kept_draws_count(run->results.kept), total = num_draws * count;
  double *all = malloc((total + 1) * sizeof *all);
  if (!all) return rpinn_fail_memory(context);
  for (size_t k = 0; k < num_draws; k++)
    for (size_t i = 0; i < count; i++)
      all[k * count + i] = rpinn_kept_draws_get(run->results.kept, k)[first + i];
  qsort(all, total, sizeof *all, compare_numbers);
  band->low = rpinn_sorted_quantile(total, all, 0.025);
  band->median = rpinn_sorted_quantile(total, all, 0.5);
  band->high = rpinn_sorted_quantile(total, all, 0.975);
  free(all);
  return RPINN_OK;
}

static void find_data(const RpinnRun *run, size_t quantity, Band *band) {
  for (size_t t = 0; t < run->problem->num_terms; t++) {
    const RpinnTermData *data = &run->posteriors[0]->data->terms[t];
    if (!rpinn_is_data_of(run, t, quantity) || run->problem->terms[t].is_test) continue;
    for (size_t i = 0; i < data->points.count; i++) {
      band->data_low = fmin(band->data_low, data->values[i]); /* the number where the other is NaN */
      band->data_high = fmax(band->data_high, data->values[i]);
    }
  }
}

/* bands [num_quantities + num_unknowns] */
static RpinnStatus find_bands(RpinnContext *context, const RpinnRun *run, Band *bands) {
  const RpinnDrawOutputs *outputs = &run->outputs;
  for (size_t q = 0; q < outputs->num_quantities; q++) {
    bands[q] =
        (Band){.name = run->problem->predicted[q].name, .data_low = (double)NAN, .data_high = (double)NAN};
    RPINN_TRY(find_band(context, run, q * outputs->num_points, outputs->num_points, &bands[q]));
    find_data(run, q, &bands[q]);
  }
  for (size_t k = 0; k < run->problem->num_unknowns; k++) {
    Band *band = &bands[outputs->num_quantities + k];
    *band = (Band){.name = run->problem->unknowns[k].name, .data_low = (double)NAN, .data_high = (double)NAN};
    RPINN_TRY(find_band(context, run, outputs->unknown_start + k, 1, band));
  }
  return RPINN_OK;
}

/* ---- JSON, and the text that is made of it ---- */

static void write_json(const RpinnRun *run, size_t num_bands, const Band *bands, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", run->problem->name);
  rpinn_json_number(&json, "parameters", (double)run->posteriors[0]->model.num_parameters);
  rpinn_json_number(&json, "rows", (double)run->posteriors[0]->model.num_rows);
  rpinn_prior_json(run->posteriors[0], &run->prior, &json);
  rpinn_json_number(&json, "draws", (double)run->results.num_draws);
  rpinn_json_open(&json, "bands", '{');
  for (size_t k = 0; k < num_bands; k++) {
    rpinn_json_open(&json, bands[k].name, '{');
    rpinn_json_number(&json, "q025", bands[k].low);
    rpinn_json_number(&json, "median", bands[k].median);
    rpinn_json_number(&json, "q975", bands[k].high);
    rpinn_json_number(&json, "data_low", bands[k].data_low);
    rpinn_json_number(&json, "data_high", bands[k].data_high);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, '}');
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

static void append_cell(RpinnText *text, double value) {
  if (isnan(value))
    rpinn_text_append(text, " %11s", "-");
  else
    rpinn_text_append(text, " %11.4g", value);
}

static void write_text(const RpinnRun *run, const RpinnJsonValue *found, RpinnText *text) {
  const RpinnJsonValue *prior = rpinn_json_find(found, "prior"), *bands = rpinn_json_find(found, "bands");
  rpinn_text_append(text, "%s: the prior of %zu parameters, beside %zu rows\n", run->problem->name,
                    run->posteriors[0]->model.num_parameters, run->posteriors[0]->model.num_rows);
  if (run->prior.num_trials)
    rpinn_prior_lines(prior, true, text);
  else
    rpinn_text_append(text, "\n  the scale is given: %.4g\n", rpinn_summary_number(prior, "scale"));
  if (!bands->first) return; /* nothing is predicted */
  rpinn_text_append(text, "\n  the prior alone, %d draws %8s %11s %11s %11s %11s\n", RPINN_NUM_PRIOR_DRAWS,
                    "2.5 %", "median", "97.5 %", "data from", "to");
  static const char *const keys[] = {"q025", "median", "q975", "data_low", "data_high"};
  for (const RpinnJsonValue *band = bands->first; band; band = band->next) {
    rpinn_text_append(text, "  %-24s", band->key);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
      append_cell(text, rpinn_summary_number(band, keys[k]));
    rpinn_text_append(text, "\n");
  }
}

static RpinnStatus make_text(RpinnContext *context, const RpinnRun *run, const RpinnText *json,
                             RpinnText *text) {
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *found;
  if (!arena || json->failed) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  RpinnStatus status = rpinn_json_parse(context, arena, "check", json->bytes, json->length, &found);
  if (status == RPINN_OK) write_text(run, found, text);
  rpinn_arena_destroy(arena);
  return status;
}

/* ---- the page ---- */

static void write_bands(size_t num_bands, const Band *bands, RpinnText *page) {
  static const char *const columns[] = {"", "2.5&#8201;%", "median", "97.5&#8201;%", "data from", "to"};
  rpinn_table_open(page, 6, columns);
  for (size_t k = 0; k < num_bands; k++) {
    rpinn_table_open_row(page, bands[k].name);
    const double cells[] = {bands[k].low, bands[k].median, bands[k].high, bands[k].data_low,
                            bands[k].data_high};
    for (size_t i = 0; i < 5; i++) rpinn_table_number(page, cells[i], 4);
    rpinn_text_append(page, "</tr>\n");
  }
  rpinn_table_close(page);
}

static RpinnStatus make_page(const RpinnReport *report, size_t num_bands, const Band *bands) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  rpinn_report_open_page(run->problem->name, "prior", page);
  rpinn_text_append(page, "<header>\n<h1>");
  rpinn_markup_text(page, run->problem->name);
  rpinn_text_append(page,
                    " <span>prior</span></h1>\n<p class=\"lead\">What the prior alone says, before the "
                    "data are looked at%s.</p>\n</header>\n",
                    run->prior.num_trials ? " but for the choice of its scale" : "");
  rpinn_report_prior(report);
  rpinn_text_append(page, "<section>\n<h2>Draws of the prior</h2>\n");
  write_bands(num_bands, bands, page);
  rpinn_text_append(page,
                    "<p class=\"note\">Quantiles over %d draws and all points. A prior whose band does not "
                    "reach the data is too narrow; one that is many times wider leaves all to the "
                    "data.</p>\n",
                    RPINN_NUM_PRIOR_DRAWS);
  RPINN_TRY(rpinn_report_predictions(report));
  rpinn_text_append(page, "</section>\n");
  RpinnReport end = *report;
  end.run = NULL; /* there is no run that took its time */
  rpinn_report_close_page(&end);
  return page->failed ? rpinn_fail_memory(report->context) : RPINN_OK;
}

static RpinnStatus save_page(RpinnContext *context, RpinnRun *run, size_t num_bands, const Band *bands,
                             const char *folder) {
  RpinnText page = {0};
  RpinnFigureSet figures = {0};
  RpinnMethod prior_of = *run->method;
  const RpinnMethod *method = run->method;
  size_t num_drawn;
  RpinnDrawing drawing;
  prior_of.legend = "draw";
  run->method = &prior_of;
  RpinnReport report = {.context = context, .page = &page, .figures = &figures, .run = run};
  RpinnStatus status = make_page(&report, num_bands, bands);
  run->method = method;
  if (status == RPINN_OK)
    status = rpinn_report_save_page(context, folder, "prior.html", &page, &figures, &num_drawn, &drawing);
  rpinn_figure_set_free(&figures);
  rpinn_text_free(&page);
  return status;
}

/* ---- the whole ---- */

static RpinnStatus look(RpinnContext *context, RpinnRun *run, const RpinnPriorCheckOptions *options,
                        RpinnText *result) {
  size_t num_bands = run->outputs.num_quantities + run->problem->num_unknowns;
  Band *bands = calloc(num_bands + 1, sizeof *bands);
  RpinnText json = {0};
  RpinnStatus status = bands ? find_bands(context, run, bands) : rpinn_fail_memory(context);
  if (status == RPINN_OK) {
    write_json(run, num_bands, bands, &json);
    if (options->json)
      rpinn_text_append_bytes(result, json.bytes ? json.bytes : "", json.length);
    else
      status = make_text(context, run, &json, result);
  }
  if (status == RPINN_OK && options->folder) {
    status = save_page(context, run, num_bands, bands, options->folder);
    if (!options->json) rpinn_text_append(result, "\n%s/prior.html\n", options->folder);
  }
  if (status == RPINN_OK && (json.failed || result->failed)) status = rpinn_fail_memory(context);
  rpinn_text_free(&json);
  free(bands);
  return status;
}

char *rpinn_check_prior(RpinnContext *context, const RpinnProblem *problem,
                        const RpinnPriorCheckOptions *options) {
  static const RpinnPriorCheckOptions usual = {0};
  RpinnRun *run = NULL;
  RpinnText result = {0};
  if (!options) options = &usual;
  RpinnStatus status = rpinn_run_draw_prior(context, problem, options->progress, options->user, &run);
  if (status == RPINN_OK) status = look(context, run, options, &result);
  rpinn_run_destroy(run);
  if (status == RPINN_OK) return result.bytes;
  rpinn_text_free(&result);
  return NULL;
}
