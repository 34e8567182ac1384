/* run.yaml: the complete resolved problem, with the files that it read beside it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "posterior.h"
#include "whole_file.h"

static RpinnStatus write_file(RpinnContext *context, const char *folder, const char *name,
                              const RpinnText *text) {
  char path[4096];
  if (text->failed) return rpinn_fail_memory(context);
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the path of the folder has more than 4000 characters");
  FILE *file = fopen(path, "wb");
  if (!file) return rpinn_fail_file(context, RPINN_ERROR_IO, "create", path);
  bool written = fwrite(text->bytes, 1, text->length, file) == text->length;
  int reason = errno;
  bool closed = fclose(file) == 0;
  if (!written) errno = reason;
  return written && closed ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
}

/* Did any fitted or held-out term take its points or values from a file? */
static bool reads_data(const RpinnPosterior *posterior) {
  const RpinnProblem *problem = posterior->problem;
  bool reads = problem->data_file != NULL;
  for (size_t t = 0; t < problem->num_terms; t++)
    reads |= posterior->data->terms[t].from_file || problem->terms[t].at.sampling == RPINN_POINTS_CSV;
  return reads;
}

/* A copy of the table, or the cells with what was drawn and solved on them. */
static RpinnStatus save_truth(RpinnContext *context, const RpinnPosterior *posterior,
                              const RpinnProblemFiles *files, const char *folder) {
  RpinnText text = {0};
  RpinnStatus status = RPINN_OK;
  if (files->truth_is_made) {
    rpinn_truth_write(&posterior->data->truth, &text);
  } else {
    const char *path = rpinn_problem_path(posterior->problem, posterior->problem->truth.file);
    if (!path) return rpinn_fail_memory(context);
    status = rpinn_file_read(context, path, RPINN_CSV_MAX_MEBIBYTES, &text);
  }
  if (status == RPINN_OK) status = write_file(context, folder, files->truth, &text);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_posterior_save(RpinnContext *context, const RpinnPosterior *posterior, const char *folder) {
  const RpinnProblem *problem = posterior->problem;
  RpinnProblemFiles files = {
      .data = reads_data(posterior) ? "data.csv" : NULL,
      .predict =
          problem->has_predict && problem->predict_at.sampling == RPINN_POINTS_CSV ? "predict.csv" : NULL};
  /* With data from a file the next reader draws no field: it needs the one of these data as a table. */
  files.truth_is_made = files.data && rpinn_truth_is_drawn(&posterior->data->truth);
  files.truth = problem->truth.file || files.truth_is_made ? "truth.csv" : NULL;
  RpinnText text = {0};
  RpinnStatus status = RPINN_OK;
  if (files.data) {
    rpinn_data_set_write(posterior->data, &text);
    status = write_file(context, folder, files.data, &text);
    rpinn_text_free(&text);
  }
  if (status == RPINN_OK && files.predict) {
    rpinn_point_set_write(problem, &posterior->data->predict, &text);
    status = write_file(context, folder, files.predict, &text);
    rpinn_text_free(&text);
  }
  if (status == RPINN_OK && files.truth) status = save_truth(context, posterior, &files, folder);
  if (status == RPINN_OK) status = rpinn_problem_write(context, problem, &files, &text);
  if (status == RPINN_OK) status = write_file(context, folder, "run.yaml", &text);
  rpinn_text_free(&text);
  return status;
}
