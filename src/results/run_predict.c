/* A finished run, looked at again: its table, and its members at points of the user's choice. */
#include <math.h>
#include <sys/stat.h>

#include "finished_run.h"
#include "part_file.h"
#include "point_prediction.h"
#include "run_files.h"
#include "shard_record.h"

/* How far it is: a shard has no results. */
static char *summarise_shard(RpinnContext *context, const char *folder, bool as_json) {
  RpinnText table = {0}, json = {0};
  bool is_told = rpinn_shard_summary(context, folder, &table, &json) == RPINN_OK;
  rpinn_text_free(as_json ? &table : &json);
  if (!is_told) rpinn_text_free(as_json ? &json : &table);
  return as_json ? json.bytes : table.bytes;
}

char *rpinn_run_summary(RpinnContext *context, const char *folder, bool json) {
  RpinnFinishedRun run;
  RpinnText text = {0};
  RpinnShard shard;
  if (rpinn_folder_holds_shard(folder, &shard)) return summarise_shard(context, folder, json);
  RpinnStatus status = rpinn_finished_run_open(context, folder, &run);
  if (status == RPINN_OK && json) rpinn_text_append_bytes(&text, run.text.bytes, run.text.length);
  if (status == RPINN_OK && !json) rpinn_summary_table(run.summary, &text);
  if (status == RPINN_OK && text.failed) status = rpinn_fail_memory(context);
  rpinn_finished_run_close(&run);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}

/* ---- predictions as CSV ---- */

static void append_number(RpinnText *csv, const char *before, double value) {
  char number[RPINN_NUMBER_TEXT] = "";
  if (!isnan(value)) rpinn_number_format(value, number);
  rpinn_text_append(csv, "%s%s", before, number);
}

static void write_csv(const RpinnPointPrediction *prediction, RpinnText *csv) {
  const RpinnProblem *problem = prediction->problem;
  size_t num_points = prediction->points.count, count = num_points * prediction->num_quantities;
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(csv, "%s%s", i ? "," : "", problem->coordinates[i].name);
  for (size_t q = 0; q < prediction->num_quantities; q++) {
    const char *name = prediction->names[q];
    rpinn_text_append(csv, ",%s_mean,%s_std,%s_q025,%s_median,%s_q975", name, name, name, name, name);
  }
  rpinn_text_append(csv, "\n");
  for (size_t p = 0; p < num_points; p++) {
    for (size_t i = 0; i < problem->num_coordinates; i++)
      append_number(csv, i ? "," : "", prediction->points.x[p * problem->num_coordinates + i]);
    for (size_t q = 0; q < prediction->num_quantities; q++) {
      size_t at = q * num_points + p;
      append_number(csv, ",", prediction->mean[at]);
      append_number(csv, ",", prediction->deviation[at]);
      for (size_t k = 0; k < 3; k++) append_number(csv, ",", prediction->low[k * count + at]);
    }
    rpinn_text_append(csv, "\n");
  }
}

/* By whatever name: a link, another spelling. */
static RpinnStatus check_out_file(RpinnContext *context, const RpinnPredictOptions *options) {
  struct stat out, points;
  if (!options->out_file || stat(options->out_file, &out) != 0 || stat(options->points_file, &points) != 0 ||
      !S_ISREG(out.st_mode) || out.st_dev != points.st_dev || out.st_ino != points.st_ino)
    return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = options->out_file},
                       "the predictions would replace the points they are made at; choose another file");
}

static RpinnStatus check_not_of_run(RpinnContext *context, const RpinnProblem *problem, const char *folder,
                                    const char *out_file) {
  if (!out_file || !rpinn_run_owns_file(folder, problem, out_file)) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = out_file},
                       "the predictions would replace a file of the run; choose another file");
}

static RpinnStatus predict(RpinnPointPrediction *prediction, const char *folder,
                           const RpinnPredictOptions *options, RpinnText *csv) {
  RpinnContext *context = prediction->context;
  RPINN_TRY(check_out_file(context, options));
  RPINN_TRY(rpinn_point_prediction_open(prediction, folder));
  RPINN_TRY(check_not_of_run(context, prediction->problem, folder, options->out_file));
  RPINN_TRY(rpinn_point_prediction_choose(prediction, options->quantities));
  RPINN_TRY(rpinn_point_set_read(context, prediction->posterior->arena, prediction->problem,
                                 options->points_file, options->extrapolate, &prediction->points));
  RPINN_TRY(rpinn_point_prediction_make(prediction));
  write_csv(prediction, csv);
  if (csv->failed) return rpinn_fail_memory(context);
  return options->out_file ? rpinn_part_file_write(context, options->out_file, csv) : RPINN_OK;
}

char *rpinn_run_predict(RpinnContext *context, const char *folder, const RpinnPredictOptions *options) {
  RpinnPointPrediction prediction = {.context = context};
  RpinnText csv = {0};
  RpinnStatus status = predict(&prediction, folder, options, &csv);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  rpinn_point_prediction_close(&prediction);
  if (status == RPINN_OK) return csv.bytes;
  rpinn_text_free(&csv);
  return NULL;
}
