/* What a calibration found, for people and for programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate_state.h"
#include "json_writer.h"
#include "part_file.h"
#include "run_folder.h"

static void summarise_subject(const RpinnCalibration *calibration, size_t method, size_t subject,
                              RpinnCalibrationSummary *summary) {
  const RpinnCalibratedMethod *rows = &calibration->methods[method];
  RpinnCalibrationScore *scores = malloc((rows->num_made + 1) * sizeof *scores);
  *summary = (RpinnCalibrationSummary){0};
  if (!scores || !rows->num_made) {
    free(scores);
    return;
  }
  for (size_t d = 0; d < rows->num_made; d++) scores[d] = rows->rows[d].scores[subject];
  rpinn_calibration_summarise(rows->num_made, scores, summary);
  free(scores);
}

void rpinn_calibration_write_line(const RpinnCalibration *calibration, size_t method, RpinnText *line) {
  rpinn_text_append(line, "%s:", calibration->methods[method].name);
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    RpinnCalibrationSummary summary;
    summarise_subject(calibration, method, s, &summary);
    const RpinnCalibrationMean *coverage = &summary.coverage[RPINN_CALIBRATION_LEVELS - 1];
    rpinn_text_append(line, "%s %s %.1f +- %.1f %%", s ? "," : "", calibration->subjects[s].name,
                      100 * coverage->mean, 100 * coverage->error);
  }
}

/* ---- the table for people ---- */

static double mean_seconds(const RpinnCalibratedMethod *method) {
  double sum = 0;
  for (size_t d = 0; d < method->num_made; d++) sum += method->rows[d].seconds;
  return sum / (double)method->num_made;
}

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The least, the median and the largest of the scales that were used; NaN where they are not known. */
static void find_scales(const RpinnCalibratedMethod *method, double scales[3]) {
  double *sorted = malloc((method->num_made + 1) * sizeof *sorted);
  scales[0] = scales[1] = scales[2] = (double)NAN;
  for (size_t d = 0; sorted && d < method->num_made; d++) sorted[d] = method->rows[d].prior_scale;
  if (sorted && method->num_made) {
    qsort(sorted, method->num_made, sizeof *sorted, compare_numbers);
    scales[0] = sorted[0];
    scales[1] = sorted[method->num_made / 2];
    scales[2] = sorted[method->num_made - 1];
  }
  free(sorted);
}

static void write_method(const RpinnCalibration *calibration, size_t m, RpinnText *text) {
  const RpinnCalibratedMethod *method = &calibration->methods[m];
  double scales[3];
  find_scales(method, scales);
  rpinn_text_append(text, "## %s\n\n%zu of %zu data sets, %.1f s each; prior scale %.3g (%.3g to %.3g)\n\n",
                    method->name, method->num_made, calibration->num_data_sets, mean_seconds(method),
                    scales[1], scales[0], scales[2]);
  rpinn_text_append(
      text, "| | 50 %% | 80 %% | 95 %% | CRPS | width of 95 %% | error |\n|---|---|---|---|---|---|---|\n");
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    RpinnCalibrationSummary summary;
    summarise_subject(calibration, m, s, &summary);
    rpinn_text_append(text, "| %s |", calibration->subjects[s].name);
    for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++)
      rpinn_text_append(text, " %.1f ± %.1f |", 100 * summary.coverage[l].mean,
                        100 * summary.coverage[l].error);
    rpinn_text_append(text, " %.3g", summary.crps.mean);
    if (!isnan(summary.crps.error))
      rpinn_text_append(text, " ± %.1g", summary.crps.error); /* one data set has none */
    rpinn_text_append(text, " | %.3g | %.3g |\n", summary.width[RPINN_CALIBRATION_LEVELS - 1].mean,
                      summary.error.mean);
  }
  rpinn_text_append(text, "\n");
}

static void write_text(RpinnCalibration *calibration) {
  RpinnText *text = &calibration->text;
  rpinn_text_append(text, "# Calibration of %s\n\n", calibration->problem);
  rpinn_text_append(text,
                    "How often the truth lies within intervals of 50, 80 and 95 %%, in %% of the points, "
                    "over data sets with "
                    "fresh %s; ± is a standard error over data sets. CRPS: lower is better, in the unit of "
                    "the quantity; error: root "
                    "mean square of the mean.\n\n",
                    calibration->redraw);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) write_method(calibration, m, text);
}

/* ---- for programs ---- */

static void write_csv(RpinnCalibration *calibration) {
  RpinnText *csv = &calibration->csv;
  rpinn_text_append(
      csv, "method,data_set,name,coverage50,coverage80,coverage95,width50,width80,width95,crps,error,"
           "prior_scale,seconds\n");
  for (size_t m = 0; m < calibration->num_methods; m++)
    for (size_t d = 0; d < calibration->methods[m].num_made; d++)
      for (size_t s = 0; s < calibration->num_subjects; s++) {
        const RpinnCalibrationRow *row = &calibration->methods[m].rows[d];
        const RpinnCalibrationScore *score = &row->scores[s];
        rpinn_text_append(csv, "%s,%zu,%s", calibration->methods[m].name, d + 1,
                          calibration->subjects[s].name);
        for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++)
          rpinn_text_append(csv, ",%.6g", score->coverage[l]);
        for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++)
          rpinn_text_append(csv, ",%.6g", score->width[l]);
        rpinn_text_append(csv, ",%.6g,%.6g,%.6g,%.3f\n", score->crps, score->error, row->prior_scale,
                          row->seconds);
      }
}

static void json_mean(RpinnJson *json, const char *key, RpinnCalibrationMean mean) {
  rpinn_json_open(json, key, '{');
  rpinn_json_number(json, "mean", mean.mean);
  rpinn_json_number(json, "error", mean.error);
  rpinn_json_close(json, '}');
}

static void json_subject(const RpinnCalibration *calibration, size_t m, size_t s, RpinnJson *json) {
  static const char *const levels[RPINN_CALIBRATION_LEVELS] = {"50", "80", "95"};
  RpinnCalibrationSummary summary;
  summarise_subject(calibration, m, s, &summary);
  rpinn_json_open(json, calibration->subjects[s].name, '{');
  rpinn_json_open(json, "coverage", '{');
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) json_mean(json, levels[l], summary.coverage[l]);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "width", '{');
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) json_mean(json, levels[l], summary.width[l]);
  rpinn_json_close(json, '}');
  json_mean(json, "crps", summary.crps);
  json_mean(json, "error", summary.error);
  rpinn_json_open(json, "pit", '[');
  for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++) rpinn_json_number(json, NULL, summary.pit[b]);
  rpinn_json_close(json, ']');
  rpinn_json_close(json, '}');
}

static void write_json(RpinnCalibration *calibration) {
  RpinnJson json = {.text = &calibration->json};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", calibration->problem);
  rpinn_json_text(&json, "redraw", calibration->redraw);
  rpinn_json_number(&json, "data_sets_asked", (double)calibration->num_data_sets);
  rpinn_json_open(&json, "methods", '{');
  for (size_t m = 0; m < calibration->num_methods; m++) {
    const RpinnCalibratedMethod *method = &calibration->methods[m];
    if (!method->num_made) continue;
    rpinn_json_open(&json, method->name, '{');
    rpinn_json_number(&json, "data_sets", (double)method->num_made);
    rpinn_json_number(&json, "seconds", mean_seconds(method));
    rpinn_json_open(&json, "quantities", '{');
    for (size_t s = 0; s < calibration->num_subjects; s++) json_subject(calibration, m, s, &json);
    rpinn_json_close(&json, '}');
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, '}');
  rpinn_json_close(&json, '}');
  rpinn_text_append(&calibration->json, "\n");
}

static RpinnStatus write_file(RpinnContext *context, const RpinnCalibration *calibration, const char *name,
                              const RpinnText *text) {
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s", calibration->options->folder, name);
  return rpinn_part_file_write(context, path, text);
}

RpinnStatus rpinn_calibration_write_tables(RpinnContext *context, RpinnCalibration *calibration) {
  rpinn_text_free(&calibration->text);
  rpinn_text_free(&calibration->csv);
  rpinn_text_free(&calibration->json);
  write_text(calibration);
  write_csv(calibration);
  write_json(calibration);
  RPINN_TRY(write_file(context, calibration, "calibration.md", &calibration->text));
  RPINN_TRY(write_file(context, calibration, "calibration.csv", &calibration->csv));
  return write_file(context, calibration, "calibration.json", &calibration->json);
}
