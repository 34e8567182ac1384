/* What a calibration found, for people and for programs. */
#include <math.h>
#include <stdio.h>

#include "calibrate_state.h"
#include "json_writer.h"
#include "part_file.h"
#include "rpinn/verdict.h"

/* ---- the table for people ---- */

static void write_introduction(const RpinnCalibration *calibration, RpinnText *text) {
  static const char common[] =
      "CRPS: lower is better, in the unit of the quantity; error: root mean square of the mean.";
  rpinn_text_append(text, "# Calibration of %s\n\n", calibration->problem);
  if (calibration->source == RPINN_FROM_TRUTH)
    rpinn_text_append(text,
                      "How often the truth lies within intervals of 50, 80 and 95 %%, in %% of the points, "
                      "over data sets with fresh %s; ± is a standard error over data sets. %s\n\n",
                      calibration->redraw, common);
  else if (calibration->source == RPINN_FROM_PRIOR)
    rpinn_text_append(
        text,
        "Truths drawn from the prior, and data of them in every row: how often they lie within intervals of "
        "50, 80 and 95 %%, in %% of the points, which must be 50, 80 and 95; ± is a standard error over data "
        "sets. p: how often ranks of a correct posterior look less uniform, at the worst of up to %d points, "
        "times their number; below 0.01 something is wrong. %s\n\n",
        RPINN_RANKED_POINTS, common);
  else
    rpinn_text_append(
        text,
        "Measured rows that are left out and foretold, noise and all: how often they lie within "
        "intervals of 50, 80 and 95 %%; ± is a standard error. z: (row − foretold) / standard "
        "deviation, which should have mean 0, spread 1 and 95 %% within ±1.96. %s\n\n",
        common);
}

static void write_left_out(const RpinnCalibration *calibration, RpinnText *text) {
  if (!calibration->left_out) return;
  rpinn_text_append(text,
                    "## Each row left out on its own\n\nBy the posterior linearised at its most probable "
                    "point; optimistic where the scale of the prior was chosen by it.\n\n"
                    "| term | rows | mean z | spread of z | within ±1.96 |\n|---|---|---|---|---|\n");
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    const RpinnLeftOutRows *rows = &calibration->left_out[s];
    rpinn_text_append(text, "| %s | %.0f | %.2f | %.2f | %.1f %% |\n", calibration->subjects[s].name,
                      rows->num_rows, rows->mean, rows->deviation, 100 * rows->inside);
  }
  rpinn_text_append(text, "\n");
}

static void write_verdicts(const RpinnCalibratedMethod *method, RpinnText *text) {
  size_t counts[3];
  rpinn_calibration_verdicts(method, counts);
  if (counts[0] + counts[1] + counts[2])
    rpinn_text_append(text, "; verdicts: %zu good, %zu fair, %zu bad", counts[0], counts[1], counts[2]);
}

static void write_head(const RpinnCalibration *calibration, const RpinnCalibratedMethod *method,
                       RpinnText *text) {
  double scales[3];
  rpinn_calibration_scales(method, scales);
  rpinn_text_append(text, "## %s\n\n%zu of %zu %s, %.1f s each; prior scale %.3g (%.3g to %.3g)",
                    method->name, method->num_made, calibration->num_data_sets,
                    calibration->source == RPINN_FROM_DATA ? "folds" : "data sets",
                    rpinn_calibration_seconds(method), scales[1], scales[0], scales[2]);
  write_verdicts(method, text);
  rpinn_text_append(text, "\n\n| | 50 %% | 80 %% | 95 %% | CRPS | width of 95 %% | error |");
  if (calibration->source == RPINN_FROM_PRIOR) rpinn_text_append(text, " p |");
  if (calibration->source == RPINN_FROM_DATA)
    rpinn_text_append(text, " rows | mean z | spread of z | within ±1.96 |");
  rpinn_text_append(text, "\n|---|---|---|---|---|---|---|%s\n",
                    calibration->source == RPINN_FROM_PRIOR  ? "---|"
                    : calibration->source == RPINN_FROM_DATA ? "---|---|---|---|"
                                                             : "");
}

static void write_method(const RpinnCalibration *calibration, size_t m, RpinnText *text) {
  write_head(calibration, &calibration->methods[m], text);
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    RpinnCalibrationSummary summary;
    rpinn_calibration_summary(calibration, m, s, &summary);
    if (!(summary.num_points > 0)) continue; /* a term that no fold has left out yet */
    rpinn_text_append(text, "| %s |", calibration->subjects[s].name);
    for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++)
      rpinn_text_append(text, " %.1f ± %.1f |", 100 * summary.coverage[l].mean,
                        100 * summary.coverage[l].error);
    rpinn_text_append(text, " %.3g", summary.crps.mean);
    if (!isnan(summary.crps.error))
      rpinn_text_append(text, " ± %.1g", summary.crps.error); /* one data set has none */
    rpinn_text_append(text, " | %.3g | %.3g |", summary.width[RPINN_CALIBRATION_LEVELS - 1].mean,
                      summary.error.mean);
    if (calibration->source == RPINN_FROM_PRIOR)
      rpinn_text_append(text, " %.2g |", rpinn_calibration_uniformity(calibration, m, s));
    if (calibration->source == RPINN_FROM_DATA)
      rpinn_text_append(text, " %.0f | %.2f | %.2f | %.1f %% |", summary.num_points, summary.z_mean,
                        summary.z_deviation, 100 * summary.z_inside);
    rpinn_text_append(text, "\n");
  }
  rpinn_text_append(text, "\n");
}

static void write_text(RpinnCalibration *calibration) {
  write_introduction(calibration, &calibration->text);
  write_left_out(calibration, &calibration->text);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) write_method(calibration, m, &calibration->text);
}

/* ---- for programs ---- */

static void write_csv_row(const RpinnCalibration *calibration, size_t m, size_t d, size_t s, RpinnText *csv) {
  const RpinnCalibrationRow *row = calibration->methods[m].rows[d];
  const RpinnCalibrationScore *score = &row->scores[s];
  if (!(score->num_points > 0)) return; /* a fold without rows of the term */
  rpinn_text_append(csv, "%s,%zu,%s", calibration->methods[m].name, d + 1, calibration->subjects[s].name);
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) rpinn_text_append(csv, ",%.6g", score->coverage[l]);
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) rpinn_text_append(csv, ",%.6g", score->width[l]);
  rpinn_text_append(csv, ",%.6g,%.6g,%.6g,%.3f,%s,%.0f,%.0f,%.6g,%.6g,%.6g\n", score->crps, score->error,
                    row->prior_scale, row->seconds,
                    isnan(row->verdict) ? "" : rpinn_verdict_word_name((RpinnVerdictWord)row->verdict),
                    row->num_draws, score->num_points, score->z_mean, score->z_square, score->z_inside);
}

static void write_csv(RpinnCalibration *calibration) {
  rpinn_text_append(
      &calibration->csv,
      "method,data_set,name,coverage50,coverage80,coverage95,width50,width80,width95,crps,error,"
      "prior_scale,seconds,verdict,draws,points,z_mean,z_square,z_inside\n");
  for (size_t m = 0; m < calibration->num_methods; m++)
    for (size_t d = 0; d < calibration->methods[m].num_made; d++)
      for (size_t s = 0; s < calibration->num_subjects; s++)
        write_csv_row(calibration, m, d, s, &calibration->csv);
}

static void json_mean(RpinnJson *json, const char *key, RpinnCalibrationMean mean) {
  rpinn_json_open(json, key, '{');
  rpinn_json_number(json, "mean", mean.mean);
  rpinn_json_number(json, "error", mean.error);
  rpinn_json_close(json, '}');
}

static void json_z(RpinnJson *json, double mean, double deviation, double inside) {
  rpinn_json_open(json, "z", '{');
  rpinn_json_number(json, "mean", mean);
  rpinn_json_number(json, "deviation", deviation);
  rpinn_json_number(json, "inside", inside);
  rpinn_json_close(json, '}');
}

static void json_ranks(const RpinnCalibration *calibration, size_t m, size_t s, RpinnJson *json) {
  const RpinnCalibratedMethod *method = &calibration->methods[m];
  rpinn_json_number(json, "p_value", rpinn_calibration_uniformity(calibration, m, s));
  rpinn_json_open(json, "ranks", '[');
  for (size_t k = 0; k < RPINN_RANKED_POINTS; k++) {
    if (isnan(method->rows[0]->scores[s].ranks[k])) break;
    rpinn_json_open(json, NULL, '[');
    for (size_t d = 0; d < method->num_made; d++)
      rpinn_json_number(json, NULL, method->rows[d]->scores[s].ranks[k]);
    rpinn_json_close(json, ']');
  }
  rpinn_json_close(json, ']');
}

static void json_subject(const RpinnCalibration *calibration, size_t m, size_t s, RpinnJson *json) {
  static const char *const levels[RPINN_CALIBRATION_LEVELS] = {"50", "80", "95"};
  RpinnCalibrationSummary summary;
  rpinn_calibration_summary(calibration, m, s, &summary);
  rpinn_json_open(json, calibration->subjects[s].name, '{');
  rpinn_json_open(json, "coverage", '{');
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) json_mean(json, levels[l], summary.coverage[l]);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "width", '{');
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) json_mean(json, levels[l], summary.width[l]);
  rpinn_json_close(json, '}');
  json_mean(json, "crps", summary.crps);
  json_mean(json, "error", summary.error);
  json_z(json, summary.z_mean, summary.z_deviation, summary.z_inside);
  rpinn_json_number(json, "points", summary.num_points);
  rpinn_json_open(json, "pit", '[');
  for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++) rpinn_json_number(json, NULL, summary.pit[b]);
  rpinn_json_close(json, ']');
  if (calibration->source == RPINN_FROM_PRIOR) json_ranks(calibration, m, s, json);
  rpinn_json_close(json, '}');
}

static void json_method(const RpinnCalibration *calibration, size_t m, RpinnJson *json) {
  const RpinnCalibratedMethod *method = &calibration->methods[m];
  size_t counts[3];
  rpinn_calibration_verdicts(method, counts);
  rpinn_json_open(json, method->name, '{');
  rpinn_json_number(json, "data_sets", (double)method->num_made);
  rpinn_json_number(json, "seconds", rpinn_calibration_seconds(method));
  rpinn_json_open(json, "verdicts", '{');
  for (int k = RPINN_VERDICT_GOOD; k <= RPINN_VERDICT_BAD; k++)
    rpinn_json_number(json, rpinn_verdict_word_name((RpinnVerdictWord)k), (double)counts[k]);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "prior_scales", '[');
  for (size_t d = 0; d < method->num_made; d++) rpinn_json_number(json, NULL, method->rows[d]->prior_scale);
  rpinn_json_close(json, ']');
  rpinn_json_open(json, "quantities", '{');
  for (size_t s = 0; s < calibration->num_subjects; s++) json_subject(calibration, m, s, json);
  rpinn_json_close(json, '}');
  rpinn_json_close(json, '}');
}

static void json_left_out(const RpinnCalibration *calibration, RpinnJson *json) {
  if (!calibration->left_out) return;
  rpinn_json_open(json, "left_out", '{');
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    const RpinnLeftOutRows *rows = &calibration->left_out[s];
    rpinn_json_open(json, calibration->subjects[s].name, '{');
    rpinn_json_number(json, "rows", rows->num_rows);
    json_z(json, rows->mean, rows->deviation, rows->inside);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

static void write_json(RpinnCalibration *calibration) {
  RpinnJson json = {.text = &calibration->json};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", calibration->problem);
  rpinn_json_text(&json, "from", rpinn_calibration_sources[calibration->source]);
  if (calibration->source == RPINN_FROM_TRUTH) rpinn_json_text(&json, "redraw", calibration->redraw);
  if (calibration->source == RPINN_FROM_DATA)
    rpinn_json_boolean(&json, "blocks", calibration->options->blocks);
  rpinn_json_number(&json, "data_sets_asked", (double)calibration->num_data_sets);
  json_left_out(calibration, &json);
  rpinn_json_open(&json, "methods", '{');
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) json_method(calibration, m, &json);
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
  rpinn_text_free(&calibration->page);
  write_text(calibration);
  write_csv(calibration);
  write_json(calibration);
  RPINN_TRY(rpinn_calibration_write_page(context, calibration, &calibration->page));
  RPINN_TRY(write_file(context, calibration, "calibration.md", &calibration->text));
  RPINN_TRY(write_file(context, calibration, "calibration.csv", &calibration->csv));
  RPINN_TRY(write_file(context, calibration, "report.html", &calibration->page));
  return write_file(context, calibration, "calibration.json", &calibration->json);
}
