#include "report_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "report_table.h"

/* ---- labels ---- */

static const char *last_part(const char *path, size_t *length) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  *length = end - start;
  return path + start;
}

static void label_run(const RpinnRun *run, int kind, RpinnRunLabel *label) {
  size_t length;
  const char *name = last_part(run->folder, &length);
  if (kind == 0)
    snprintf(label->text, sizeof label->text, "%.200s", rpinn_report_setting(run, RPINN_SETTING_METHOD));
  else if (kind == 1)
    snprintf(label->text, sizeof label->text, "%.*s", (int)(length < 200 ? length : 200), name);
  else
    snprintf(label->text, sizeof label->text, "%.250s", run->folder);
}

/* Methods, or names of directories, or whole paths: the first that tells the runs apart. */
static void make_labels(const RpinnComparison *comparison) {
  for (int kind = 0; kind < 3; kind++) {
    bool distinct = true;
    for (size_t i = 0; i < comparison->num_runs; i++)
      label_run(comparison->runs[i], kind, &comparison->labels[i]);
    for (size_t i = 0; i < comparison->num_runs; i++)
      for (size_t k = 0; k < i; k++)
        distinct &= strcmp(comparison->labels[i].text, comparison->labels[k].text) != 0;
    if (distinct) return;
  }
}

/* ---- sections ---- */

static void write_head(const RpinnReport *report, const RpinnComparison *comparison) {
  static const char *const columns[] = {"run", "@directory", "@method", "draws", "seed", "wall time"};
  RpinnText *page = report->page;
  rpinn_text_append(page, "<header>\n<h1>");
  rpinn_markup_text(page, comparison->runs[0]->problem->name);
  rpinn_text_append(page, " <span>%zu runs</span></h1>\n", comparison->num_runs);
  rpinn_table_open(page, 6, columns);
  for (size_t i = 0; i < comparison->num_runs; i++) {
    const RpinnRun *run = comparison->runs[i];
    rpinn_table_open_row(page, comparison->labels[i].text);
    rpinn_table_code(page, run->folder);
    rpinn_table_code(page, rpinn_report_setting(run, RPINN_SETTING_METHOD));
    rpinn_table_number(page, (double)rpinn_report_num_draws(run), 8);
    rpinn_table_number(page, (double)run->posteriors[0]->seed, 8);
    rpinn_text_append(page, "<td>");
    rpinn_markup_duration(page, run->seconds);
    rpinn_text_append(page, "</td></tr>\n");
  }
  rpinn_table_close(page);
  rpinn_text_append(page, "</header>\n");
}

static void write_verdicts(const RpinnReport *report, const RpinnComparison *comparison) {
  for (size_t i = 0; i < comparison->num_runs; i++)
    rpinn_report_verdict_box(report->page, comparison->labels[i].text, &comparison->runs[i]->verdict);
}

static void write_scores(const RpinnReport *report, const RpinnComparison *comparison) {
  RpinnText *page = report->page;
  const RpinnRun *first = comparison->runs[0];
  rpinn_text_append(page, "<section>\n<h2>Scores</h2>\n");
  for (size_t k = 0; k < first->outputs.num_quantities + first->outputs.num_tests; k++) {
    rpinn_text_append(page, "<h3><code>");
    rpinn_markup_text(page, first->results.scores[k].name);
    rpinn_text_append(page, "</code>%s</h3>\n", k < first->outputs.num_quantities ? "" : ", held out");
    rpinn_report_open_scores(page);
    for (size_t i = 0; i < comparison->num_runs; i++) {
      rpinn_table_open_row(page, comparison->labels[i].text);
      rpinn_report_score_cells(page, &comparison->runs[i]->results.scores[k]);
      rpinn_text_append(page, "</tr>\n");
    }
    rpinn_table_close(page);
  }
  rpinn_report_score_note(page);
  rpinn_text_append(page, "</section>\n");
}

static RpinnStatus write_page(const RpinnReport *report, const RpinnComparison *comparison) {
  RpinnText *page = report->page;
  rpinn_report_open_page(comparison->runs[0]->problem->name, "runs side by side", page);
  write_head(report, comparison);
  write_verdicts(report, comparison);
  rpinn_text_append(page, "<section>\n<h2>Predictions</h2>\n");
  RPINN_TRY(rpinn_comparison_columns(report, comparison));
  rpinn_text_append(page, "</section>\n");
  write_scores(report, comparison);
  RPINN_TRY(rpinn_comparison_differences(report, comparison));
  rpinn_report_close_page(report);
  return page->failed ? rpinn_fail_memory(report->context) : RPINN_OK;
}

RpinnStatus rpinn_report_comparison(RpinnReport *report, size_t num_runs, RpinnRun *const *runs) {
  RpinnComparison comparison = {
      .num_runs = num_runs, .runs = runs, .labels = calloc(num_runs, sizeof(RpinnRunLabel))};
  if (!comparison.labels) return rpinn_fail_memory(report->context);
  make_labels(&comparison);
  RpinnStatus status = rpinn_comparison_match(report->context, &comparison);
  if (status == RPINN_OK) status = write_page(report, &comparison);
  free(comparison.labels);
  return status;
}
