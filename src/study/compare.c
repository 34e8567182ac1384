/* Finished runs side by side. */
#include <stdlib.h>
#include <string.h>

#include "finished_run.h"
#include "json_writer.h"
#include "rpinn/study.h"

typedef struct Comparison {
  size_t num_runs;
  RpinnFinishedRun *runs;
  int width; /* of the longest name of a run */
} Comparison;

static const RpinnJsonValue *scores_of(const Comparison *comparison, size_t run, const char *section) {
  return rpinn_json_find(comparison->runs[run].summary, section);
}

static bool has_names(const Comparison *comparison, size_t run, const char *section) {
  const RpinnJsonValue *scores = scores_of(comparison, run, section);
  return scores && scores->first;
}

/* Was this name in the section of an earlier run? */
static bool seen_before(const Comparison *comparison, size_t run, const char *section, const char *name) {
  for (size_t i = 0; i < run; i++)
    if (rpinn_json_find(scores_of(comparison, i, section), name)) return true;
  return false;
}

/* Call visit for every name in a section of any run, once, in the order in which they are met. */
static void visit_names(const Comparison *comparison, const char *section,
                        void (*visit)(const Comparison *comparison, const char *section, const char *name,
                                      void *user),
                        void *user) {
  for (size_t i = 0; i < comparison->num_runs; i++) {
    const RpinnJsonValue *scores = scores_of(comparison, i, section);
    for (const RpinnJsonValue *item = scores ? scores->first : NULL; item; item = item->next)
      if (!seen_before(comparison, i, section, item->key)) visit(comparison, section, item->key, user);
  }
}

/* ---- for people ---- */

static void table_of_name(const Comparison *comparison, const char *section, const char *name, void *user) {
  RpinnText *text = user;
  rpinn_text_append(text, "\n%s%s\n", name, !strcmp(section, "tests") ? " (held out)" : "");
  rpinn_summary_score_header("", comparison->width, text);
  rpinn_text_append(text, "  %-10s %9s %10s\n", "method", "samples", "seconds");
  for (size_t i = 0; i < comparison->num_runs; i++) {
    const RpinnJsonValue *summary = comparison->runs[i].summary,
                         *score = rpinn_json_find(scores_of(comparison, i, section), name);
    rpinn_summary_score_row(comparison->runs[i].folder, comparison->width, score, text);
    rpinn_text_append(text, "  %-10s %9.0f %10.1f\n", rpinn_summary_text(summary, "method"),
                      rpinn_summary_number(summary, "samples"),
                      rpinn_summary_number(summary, "wall_seconds"));
  }
}

static void write_tables(const Comparison *comparison, RpinnText *text) {
  const char *problem = rpinn_summary_text(comparison->runs[0].summary, "problem");
  bool same = true;
  for (size_t i = 1; i < comparison->num_runs; i++)
    same &= !strcmp(problem, rpinn_summary_text(comparison->runs[i].summary, "problem"));
  if (same)
    rpinn_text_append(text, "%s, %zu run%s\n", problem, comparison->num_runs,
                      comparison->num_runs == 1 ? "" : "s");
  else
    rpinn_text_append(text, "note: these runs are of different problems\n");
  for (size_t i = 0; i < comparison->num_runs && !same; i++)
    rpinn_text_append(text, "  %-*s %s\n", comparison->width, comparison->runs[i].folder,
                      rpinn_summary_text(comparison->runs[i].summary, "problem"));
  visit_names(comparison, "quantities", table_of_name, text);
  visit_names(comparison, "tests", table_of_name, text);
  bool has_scores = false;
  for (size_t i = 0; i < comparison->num_runs; i++)
    has_scores |= has_names(comparison, i, "quantities") || has_names(comparison, i, "tests");
  if (!has_scores)
    rpinn_text_append(text, "there is nothing to compare: their problem files have no predict, such as\n"
                            "  predict: {grid: 101, quantities: [NAME]}\n");
}

/* ---- for programs ---- */

static void json_of_name(const Comparison *comparison, const char *section, const char *name, void *user) {
  RpinnJson *json = user;
  rpinn_json_open(json, name, '[');
  for (size_t i = 0; i < comparison->num_runs; i++) {
    const RpinnJsonValue *score = rpinn_json_find(scores_of(comparison, i, section), name);
    if (!score) continue;
    rpinn_json_open(json, NULL, '{');
    rpinn_json_text(json, "run", comparison->runs[i].folder);
    for (const RpinnJsonValue *item = score->first; item; item = item->next)
      rpinn_json_number(json, item->key, rpinn_summary_number(score, item->key));
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
}

static void write_json(const Comparison *comparison, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_open(&json, "runs", '[');
  for (size_t i = 0; i < comparison->num_runs; i++) {
    const RpinnJsonValue *summary = comparison->runs[i].summary;
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "run", comparison->runs[i].folder);
    rpinn_json_text(&json, "problem", rpinn_summary_text(summary, "problem"));
    rpinn_json_text(&json, "method", rpinn_summary_text(summary, "method"));
    rpinn_json_number(&json, "seed", rpinn_summary_number(summary, "seed"));
    rpinn_json_number(&json, "samples", rpinn_summary_number(summary, "samples"));
    rpinn_json_number(&json, "wall_seconds", rpinn_summary_number(summary, "wall_seconds"));
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  static const char *const sections[] = {"quantities", "tests"};
  for (size_t k = 0; k < 2; k++) {
    rpinn_json_open(&json, sections[k], '{');
    visit_names(comparison, sections[k], json_of_name, &json);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

static RpinnStatus compare(RpinnContext *context, Comparison *comparison, const char *const *folders,
                           bool json, RpinnText *text) {
  for (size_t i = 0; i < comparison->num_runs; i++) {
    RPINN_TRY(rpinn_finished_run_open(context, folders[i], &comparison->runs[i]));
    int length = (int)strlen(folders[i]);
    if (length > comparison->width) comparison->width = length;
  }
  if (json)
    write_json(comparison, text);
  else
    write_tables(comparison, text);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

char *rpinn_compare(RpinnContext *context, size_t num_runs, const char *const *folders, bool json) {
  Comparison comparison = {.num_runs = num_runs, .runs = calloc(num_runs + 1, sizeof(RpinnFinishedRun))};
  RpinnText text = {0};
  RpinnStatus status = num_runs == 0     ? rpinn_fail(context, RPINN_ERROR_INPUT, "no runs to compare")
                       : comparison.runs ? compare(context, &comparison, folders, json, &text)
                                         : rpinn_fail_memory(context);
  for (size_t i = 0; comparison.runs && i < num_runs; i++) rpinn_finished_run_close(&comparison.runs[i]);
  free(comparison.runs);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
