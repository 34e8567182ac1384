/* What runs have in common, and what not. */
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "report_compare.h"
#include "report_table.h"

/* ---- do they belong together? ---- */

static bool same_numbers(size_t count, const double *a, const double *b) {
  return !count || !memcmp(a, b, count * sizeof *a);
}

static RpinnStatus refuse(RpinnContext *context, const RpinnRun *run, const RpinnRun *first,
                          const char *what) {
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                       "this run does not stand beside '%.400s': %s", first->folder, what);
}

static RpinnStatus match_scores(RpinnContext *context, const RpinnRun *run, const RpinnRun *first) {
  size_t count = run->outputs.num_quantities + run->outputs.num_tests;
  if (run->outputs.num_quantities != first->outputs.num_quantities ||
      run->outputs.num_tests != first->outputs.num_tests)
    return refuse(context, run, first, "it predicts other quantities");
  for (size_t k = 0; k < count; k++)
    if (strcmp(run->results.scores[k].name, first->results.scores[k].name) != 0)
      return refuse(context, run, first, "it predicts other quantities");
  return RPINN_OK;
}

static RpinnStatus match_run(RpinnContext *context, const RpinnRun *run, const RpinnRun *first) {
  const RpinnDataSet *data = run->posteriors[0]->data, *other = first->posteriors[0]->data;
  size_t num_coordinates = run->problem->num_coordinates;
  if (strcmp(run->problem->name, first->problem->name) != 0)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = run->folder},
        "this is a run of problem '%.100s', '%.400s' is one of '%.100s'; expected one problem",
        run->problem->name, first->folder, first->problem->name);
  bool same = num_coordinates == first->problem->num_coordinates;
  for (size_t i = 0; same && i < num_coordinates; i++) {
    const RpinnCoordinate *a = &run->problem->coordinates[i], *b = &first->problem->coordinates[i];
    same = !strcmp(a->name, b->name) && a->low == b->low && a->high == b->high;
  }
  if (!same) return refuse(context, run, first, "its coordinates differ");
  RPINN_TRY(match_scores(context, run, first));
  if (data->predict.count != other->predict.count ||
      !same_numbers(data->predict.count * num_coordinates, data->predict.x, other->predict.x))
    return refuse(context, run, first, "its predictions are at other points");
  for (size_t q = 0; q < run->outputs.num_quantities; q++) {
    const double *a = data->predicted_truth[q], *b = other->predicted_truth[q];
    if (!a != !b || (a && !same_numbers(data->predict.count, a, b)))
      return refuse(context, run, first, "its truth differs");
  }
  return RPINN_OK;
}

RpinnStatus rpinn_comparison_match(RpinnContext *context, const RpinnComparison *comparison) {
  for (size_t i = 1; i < comparison->num_runs; i++)
    RPINN_TRY(match_run(context, comparison->runs[i], comparison->runs[0]));
  return RPINN_OK;
}

/* ---- what differs ---- */

/* One row: a name, then the text of each run. */
static void write_row(RpinnText *page, const char *name, size_t count, const char *const *values) {
  rpinn_table_open_row(page, name);
  for (size_t i = 0; i < count; i++) rpinn_table_code(page, values[i]);
  rpinn_text_append(page, "</tr>\n");
}

static size_t write_settings(const RpinnReport *report, const RpinnComparison *comparison,
                             const char **values) {
  size_t num_rows = 0;
  for (int k = 0; k < RPINN_NUM_SETTINGS; k++) {
    bool same = true;
    for (size_t i = 0; i < comparison->num_runs; i++) {
      values[i] = rpinn_report_setting(comparison->runs[i], (RpinnSetting)k);
      same &= !strcmp(values[i], values[0]);
    }
    if (same) continue;
    write_row(report->page, rpinn_setting_definition((RpinnSetting)k)->name, comparison->num_runs, values);
    num_rows++;
  }
  return num_rows;
}

/* Lines of the problem above its settings, one after the other. */
static RpinnStatus write_problem(const RpinnReport *report, const RpinnComparison *comparison,
                                 RpinnText *problems, const char **rest) {
  RpinnProblemFiles files = {
      .data = "data.csv", .truth = "truth.csv", .predict = "predict.csv", .has_priors = true};
  size_t count = comparison->num_runs;
  for (size_t i = 0; i < count; i++) {
    RPINN_TRY(rpinn_problem_write(report->context, comparison->runs[i]->problem, &files, &problems[i]));
    char *settings = strstr(problems[i].bytes, "\nsettings:\n");
    if (settings) settings[1] = '\0';
    rest[i] = problems[i].bytes;
  }
  for (bool more = true; more;) {
    bool same = true;
    more = false;
    const char **lines = rest + count;
    for (size_t i = 0; i < count; i++) {
      size_t length = strcspn(rest[i], "\n");
      char *end = problems[i].bytes + (rest[i] - problems[i].bytes) + length;
      lines[i] = rest[i];
      rest[i] += length + (*end == '\n');
      *end = '\0';
      same &= !strcmp(lines[i], lines[0]);
      more |= *rest[i] != '\0';
    }
    if (!same) write_row(report->page, "problem", count, lines);
  }
  return RPINN_OK;
}

static RpinnStatus write_differences(const RpinnReport *report, const RpinnComparison *comparison,
                                     RpinnText *problems, const char **texts) {
  RpinnText *page = report->page;
  rpinn_text_append(page,
                    "<section>\n<h2>What differs</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th></th>");
  for (size_t i = 0; i < comparison->num_runs; i++) {
    rpinn_text_append(page, "<th class=\"text\">");
    rpinn_markup_text(page, comparison->labels[i].text);
    rpinn_text_append(page, "</th>");
  }
  rpinn_text_append(page, "</tr></thead>\n<tbody>\n");
  size_t num_settings = write_settings(report, comparison, texts);
  RPINN_TRY(write_problem(report, comparison, problems, texts));
  rpinn_table_close(page);
  if (!num_settings) rpinn_text_append(page, "<p>The settings are the same.</p>\n");
  rpinn_text_append(page,
                    "<p class=\"note\">Settings, and lines of the problem, that are not the same in all "
                    "runs.</p>\n</section>\n");
  return RPINN_OK;
}

RpinnStatus rpinn_comparison_differences(const RpinnReport *report, const RpinnComparison *comparison) {
  size_t count = comparison->num_runs;
  RpinnText *problems = calloc(count, sizeof *problems);
  const char **texts = calloc(2 * count, sizeof *texts);
  RpinnStatus status = problems && texts ? write_differences(report, comparison, problems, texts)
                                         : rpinn_fail_memory(report->context);
  for (size_t i = 0; problems && i < count; i++) rpinn_text_free(&problems[i]);
  free(problems);
  free(texts);
  return status;
}
