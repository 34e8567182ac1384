/* scores/METHOD-0001.json: what a run of a calibration came to. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrate_state.h"
#include "folders.h"
#include "json_reader.h"
#include "json_writer.h"
#include "part_file.h"
#include "rpinn/verdict.h"
#include "whole_file.h"

void rpinn_calibration_run_name(const RpinnCalibration *calibration, size_t method, size_t data_set,
                                char name[RPINN_TASK_NAME_SIZE]) {
  snprintf(name, RPINN_TASK_NAME_SIZE, "%.160s-%04zu", calibration->methods[method].file_name, data_set + 1);
}

static void score_path(const RpinnCalibration *calibration, size_t method, size_t data_set,
                       char path[RPINN_PATH_SIZE]) {
  char name[RPINN_TASK_NAME_SIZE];
  rpinn_calibration_run_name(calibration, method, data_set, name);
  snprintf(path, RPINN_PATH_SIZE, "%s/scores/%s.json", calibration->options->folder, name);
}

/* A score as a list of its numbers: it holds nothing but doubles. */
enum { NUM_NUMBERS = sizeof(RpinnCalibrationScore) / sizeof(double) };

/* ---- reading ---- */

static RpinnStatus read_score(RpinnContext *context, const RpinnJsonValue *list,
                              RpinnCalibrationScore *score) {
  double *numbers = (double *)score;
  const RpinnJsonValue *item = list->first;
  if (list->count != NUM_NUMBERS)
    return rpinn_fail_at(context, list->place, "a score of %zu numbers; expected %d", list->count,
                         NUM_NUMBERS);
  for (size_t k = 0; k < NUM_NUMBERS; k++, item = item->next) {
    numbers[k] = (double)NAN;
    if (item->kind != RPINN_JSON_NULL && !rpinn_json_as_number(item, &numbers[k]))
      return rpinn_fail_at(context, item->place, "found something else in a score; expected a number");
  }
  return RPINN_OK;
}

static RpinnStatus read_row(RpinnContext *context, const RpinnCalibration *calibration,
                            const RpinnJsonValue *value, RpinnCalibrationRow *row) {
  const RpinnJsonValue *scores;
  RPINN_TRY(rpinn_json_require(context, value, "scores", RPINN_JSON_OBJECT, &scores));
  rpinn_json_as_number(rpinn_json_find(value, "seconds"), &row->seconds);
  rpinn_json_as_number(rpinn_json_find(value, "prior_scale"), &row->prior_scale);
  rpinn_json_as_number(rpinn_json_find(value, "draws"), &row->num_draws);
  row->verdict = (double)NAN;
  const RpinnJsonValue *word = rpinn_json_find(value, "verdict");
  for (int k = RPINN_VERDICT_GOOD; k <= RPINN_VERDICT_BAD; k++)
    if (word && word->kind == RPINN_JSON_TEXT &&
        !strcmp(word->text, rpinn_verdict_word_name((RpinnVerdictWord)k)))
      row->verdict = k;
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    const RpinnJsonValue *list;
    RPINN_TRY(rpinn_json_require(context, scores, calibration->subjects[s].name, RPINN_JSON_ARRAY, &list));
    RPINN_TRY(read_score(context, list, &row->scores[s]));
  }
  return RPINN_OK;
}

/* The file at path as JSON; *value is NULL where there is none. */
static RpinnStatus read_file(RpinnContext *context, const RpinnCalibration *calibration, const char *path,
                             const RpinnJsonValue **value) {
  RpinnText text = {0};
  *value = NULL;
  if (access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &text));
  RpinnStatus status = rpinn_json_parse(context, calibration->arena, path, text.bytes, text.length, value);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_calibration_read_row(RpinnContext *context, const RpinnCalibration *calibration,
                                       size_t method, size_t data_set, RpinnCalibrationRow *row,
                                       bool *found) {
  char path[RPINN_PATH_SIZE];
  const RpinnJsonValue *value;
  score_path(calibration, method, data_set, path);
  RPINN_TRY(read_file(context, calibration, path, &value));
  *found = value != NULL;
  return *found ? read_row(context, calibration, value, row) : RPINN_OK;
}

/* ---- rows left out one by one ---- */

static void left_out_path(const RpinnCalibration *calibration, char path[RPINN_PATH_SIZE]) {
  snprintf(path, RPINN_PATH_SIZE, "%s/scores/left-out.json", calibration->options->folder);
}

RpinnStatus rpinn_calibration_read_left_out(RpinnContext *context, const RpinnCalibration *calibration,
                                            RpinnLeftOutRows *rows, bool *found) {
  char path[RPINN_PATH_SIZE];
  const RpinnJsonValue *value;
  left_out_path(calibration, path);
  RPINN_TRY(read_file(context, calibration, path, &value));
  *found = value != NULL;
  for (size_t s = 0; *found && s < calibration->num_subjects; s++) {
    const RpinnJsonValue *term;
    RPINN_TRY(rpinn_json_require(context, value, calibration->subjects[s].name, RPINN_JSON_OBJECT, &term));
    rpinn_json_as_number(rpinn_json_find(term, "rows"), &rows[s].num_rows);
    rpinn_json_as_number(rpinn_json_find(term, "mean"), &rows[s].mean);
    rpinn_json_as_number(rpinn_json_find(term, "deviation"), &rows[s].deviation);
    rpinn_json_as_number(rpinn_json_find(term, "inside"), &rows[s].inside);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_write_left_out(RpinnContext *context, const RpinnCalibration *calibration,
                                             const RpinnLeftOutRows *rows) {
  char path[RPINN_PATH_SIZE];
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    rpinn_json_open(&json, calibration->subjects[s].name, '{');
    rpinn_json_number(&json, "rows", rows[s].num_rows);
    rpinn_json_number(&json, "mean", rows[s].mean);
    rpinn_json_number(&json, "deviation", rows[s].deviation);
    rpinn_json_number(&json, "inside", rows[s].inside);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  left_out_path(calibration, path);
  RpinnStatus status = rpinn_part_file_write(context, path, &text);
  rpinn_text_free(&text);
  return status;
}

/* ---- writing ---- */

RpinnStatus rpinn_calibration_write_row(RpinnContext *context, const RpinnCalibration *calibration,
                                        size_t method, size_t data_set, const RpinnCalibrationRow *row) {
  char path[RPINN_PATH_SIZE];
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_number(&json, "seconds", row->seconds);
  rpinn_json_number(&json, "prior_scale", row->prior_scale);
  rpinn_json_number(&json, "draws", row->num_draws);
  if (!isnan(row->verdict))
    rpinn_json_text(&json, "verdict", rpinn_verdict_word_name((RpinnVerdictWord)row->verdict));
  rpinn_json_open(&json, "scores", '{');
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    rpinn_json_open(&json, calibration->subjects[s].name, '[');
    for (size_t k = 0; k < NUM_NUMBERS; k++)
      rpinn_json_number(&json, NULL, ((const double *)&row->scores[s])[k]);
    rpinn_json_close(&json, ']');
  }
  rpinn_json_close(&json, '}');
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  score_path(calibration, method, data_set, path);
  RpinnStatus status = rpinn_part_file_write(context, path, &text);
  rpinn_text_free(&text);
  return status;
}
