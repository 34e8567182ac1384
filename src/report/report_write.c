/* From runs to report.html and the files of its figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_writer.h"
#include "report_compare.h"
#include "report_page.h"
#include "rpinn/report.h"

RpinnStatus rpinn_report_write(RpinnContext *context, const RpinnRun *run) {
  RpinnText page = {0};
  if (!run->results.scores)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "an interrupted run has no results to report");
  RpinnReport report = {.context = context, .page = &page, .run = run};
  RpinnStatus status = rpinn_report_page(&report);
  if (status == RPINN_OK) status = rpinn_folder_write(context, run->folder, "report.html", &page);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context);
  rpinn_text_free(&page);
  return status;
}

/* ---- what was written ---- */

typedef struct Outcome {
  const char *folder;
  const RpinnFigureSet *figures;
  size_t num_drawn;
  RpinnDrawing drawing;
} Outcome;

static const char *const pictures[] = {"svg", "pdf", "png"};

static void list_for_people(const Outcome *outcome, RpinnText *text) {
  size_t count = outcome->figures->count;
  rpinn_text_append(text, "%s/report.html\n", outcome->folder);
  if (count)
    rpinn_text_append(text, "%s/figures: %zu figure%s, each as .gp%s\n", outcome->folder, count,
                      count == 1 ? "" : "s", outcome->num_drawn == count ? ", .svg, .pdf and .png" : "");
  if (outcome->drawing == RPINN_NO_GNUPLOT)
    rpinn_text_append(text, "there is no gnuplot here, which draws the .gp files as .svg, .pdf and .png\n");
  if (outcome->drawing == RPINN_DRAWING_FAILED)
    rpinn_text_append(text, "gnuplot could not draw %zu of the .gp files\n", count - outcome->num_drawn);
}

static void list_for_programs(const Outcome *outcome, RpinnText *text) {
  RpinnJson json = {.text = text};
  char path[2 * RPINN_PATH_SIZE];
  rpinn_json_open(&json, NULL, '{');
  snprintf(path, sizeof path, "%s/report.html", outcome->folder);
  rpinn_json_text(&json, "report", path);
  rpinn_json_open(&json, "figures", '[');
  for (size_t i = 0; i < outcome->figures->count; i++) {
    const char *name = outcome->figures->items[i]->name;
    snprintf(path, sizeof path, "%s/figures/%s.gp", outcome->folder, name);
    rpinn_json_text(&json, NULL, path);
    for (size_t k = 0; k < 3 && outcome->num_drawn == outcome->figures->count; k++) {
      snprintf(path, sizeof path, "%s/figures/%s.%s", outcome->folder, name, pictures[k]);
      rpinn_json_text(&json, NULL, path);
    }
  }
  rpinn_json_close(&json, ']');
  rpinn_json_boolean(&json, "drawn", outcome->num_drawn == outcome->figures->count);
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

/* A page that stands outside of runs must be one of ours to be replaced, and none is replaced where a link leads. */
static RpinnStatus check_place(RpinnContext *context, const char *folder, const char *name) {
  char path[RPINN_PATH_SIZE + 64], head[1024];
  struct stat info;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
    return rpinn_fail_at(
        context, (RpinnPlace){.file = path},
        "this is a link, and a report would replace what it leads to; move it away, or choose "
        "another folder with --out");
  snprintf(path, sizeof path, "%s/checkpoint.db", folder);
  if (access(path, F_OK) == 0) return RPINN_OK;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return RPINN_OK;
  head[fread(head, 1, sizeof head - 1, file)] = '\0';
  fclose(file);
  if (strstr(head, RPINN_REPORT_MARK)) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = path},
                       "this is no report of rpinn, and would be replaced by one; move it away, or choose "
                       "another folder with --out");
}

RpinnStatus rpinn_report_save_page(RpinnContext *context, const char *folder, const char *name,
                                   const RpinnText *page, const RpinnFigureSet *figures, size_t *num_drawn,
                                   RpinnDrawing *drawing) {
  char figure_folder[RPINN_PATH_SIZE];
  if (!*folder || strlen(folder) >= RPINN_FOLDER_SIZE)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "--out needs a name of 1 to %d characters",
                      RPINN_FOLDER_SIZE - 1);
  RPINN_TRY(check_place(context, folder, name));
  snprintf(figure_folder, sizeof figure_folder, "%s/figures", folder);
  RPINN_TRY(rpinn_make_folders(context, figures->count ? figure_folder : folder));
  RPINN_TRY(rpinn_folder_write(context, folder, name, page));
  return rpinn_figure_set_save(context, figures, figure_folder, num_drawn, drawing);
}

static RpinnStatus save(RpinnContext *context, const RpinnText *page, const RpinnReportOptions *options,
                        Outcome *outcome, RpinnText *text) {
  RPINN_TRY(rpinn_report_save_page(context, outcome->folder, "report.html", page, outcome->figures,
                                   &outcome->num_drawn, &outcome->drawing));
  if (options->json)
    list_for_programs(outcome, text);
  else
    list_for_people(outcome, text);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

/* ---- pages ---- */

static RpinnStatus make_single(RpinnReport *report, const char *folder, bool with_shape) {
  RpinnRun *run = NULL;
  RpinnPosteriorShape *shape = NULL;
  RpinnStatus status = rpinn_run_reopen(report->context, folder, &run);
  if (status == RPINN_OK && with_shape)
    status = rpinn_posterior_shape_create(report->context, folder, &shape);
  report->run = run;
  report->shape = shape;
  if (status == RPINN_OK) status = rpinn_report_page(report);
  rpinn_posterior_shape_destroy(shape);
  rpinn_run_destroy(run);
  return status;
}

static RpinnStatus make_comparison(RpinnReport *report, size_t num_runs, const char *const *folders) {
  RpinnRun **runs = calloc(num_runs, sizeof *runs);
  RpinnStatus status = runs ? RPINN_OK : rpinn_fail_memory(report->context);
  for (size_t i = 0; i < num_runs && status == RPINN_OK; i++)
    status = rpinn_run_reopen(report->context, folders[i], &runs[i]);
  if (status == RPINN_OK) status = rpinn_report_comparison(report, num_runs, runs);
  for (size_t i = 0; runs && i < num_runs; i++) rpinn_run_destroy(runs[i]);
  free(runs);
  return status;
}

char *rpinn_report(RpinnContext *context, size_t num_runs, const char *const *folders,
                   const RpinnReportOptions *options) {
  static const RpinnReportOptions usual = {0};
  RpinnText page = {0}, text = {0};
  RpinnFigureSet figures = {0};
  if (!options) options = &usual;
  if (!num_runs || (num_runs > 1 && options->shape)) {
    rpinn_fail(context, RPINN_ERROR_INPUT, num_runs ? "--shape is for one run" : "no run to report");
    return NULL;
  }
  RpinnReport report = {.context = context, .page = &page, .figures = &figures};
  RpinnStatus status = num_runs == 1 ? make_single(&report, folders[0], options->shape)
                                     : make_comparison(&report, num_runs, folders);
  Outcome outcome = {.folder = options->folder ? options->folder
                               : num_runs == 1 ? folders[0]
                                               : "report",
                     .figures = &figures};
  if (status == RPINN_OK) status = save(context, &page, options, &outcome, &text);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context);
  rpinn_figure_set_free(&figures);
  rpinn_text_free(&page);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
