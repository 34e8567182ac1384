/* run.yaml: the complete resolved problem, with the files that it read beside it. */
#include "gaussian_term.h"
#include "part_file.h"
#include "posterior.h"
#include "whole_file.h"

/* What stands there already, from an earlier session of the run, is not touched. */
static RpinnStatus write_file(RpinnContext *context, const RpinnSavedNames *names, const char *name,
                              const RpinnText *text) {
  RpinnText path = {0};
  rpinn_text_append(&path, "%s/%s", names->folder, name);
  RpinnStatus status =
      path.failed ? rpinn_fail_memory(context) : rpinn_part_file_update(context, path.bytes, text);
  rpinn_text_free(&path);
  return status;
}

/* Did any fitted or held-out term take its points or values from a file? */
static bool reads_data(const RpinnPosterior *posterior) {
  const RpinnProblem *problem = posterior->problem;
  bool reads = problem->data_file != NULL;
  for (size_t t = 0; t < problem->num_terms; t++)
    reads |= posterior->data->terms[t].from_file ||
             (problem->terms[t].at.sampling == RPINN_POINTS_CSV && !posterior->data->terms[t].mix);
  return reads;
}

/* A copy of the table, or the cells with what was drawn and solved on them. */
static RpinnStatus save_truth(RpinnContext *context, const RpinnPosterior *posterior,
                              const RpinnProblemFiles *files, const RpinnSavedNames *names) {
  RpinnText text = {0};
  RpinnStatus status = RPINN_OK;
  if (files->truth_is_made) {
    rpinn_truth_write(&posterior->data->truth, &text);
  } else {
    const char *path = rpinn_problem_path(posterior->problem, posterior->problem->truth.file);
    if (!path) return rpinn_fail_memory(context);
    const RpinnFileInMemory *file = rpinn_problem_file_in_memory(posterior->problem, path);
    if (file)
      rpinn_text_append_bytes(&text, file->bytes, file->length);
    else
      status = rpinn_file_read(context, path, RPINN_CSV_MAX_MEBIBYTES, &text);
  }
  if (status == RPINN_OK) status = write_file(context, names, files->truth, &text);
  rpinn_text_free(&text);
  return status;
}

/* As <term>_<kind>.csv, the name that run.yaml has for it; the text is freed. */
static RpinnStatus save_prior_file(RpinnContext *context, const RpinnSavedNames *names, const char *term,
                                   const char *kind, RpinnText *text) {
  RpinnText name = {0};
  rpinn_text_append(&name, "%s%s_%s.csv", names->prefix, term, kind);
  RpinnStatus status =
      name.failed ? rpinn_fail_memory(context) : write_file(context, names, name.bytes, text);
  rpinn_text_free(&name);
  rpinn_text_free(text);
  return status;
}

/* What the terms with `gaussian` read: measurements that are given, and points. */
static RpinnStatus save_priors(RpinnContext *context, const RpinnPosterior *posterior,
                               const RpinnSavedNames *names) {
  const RpinnProblem *problem = posterior->problem;
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTermData *data = &posterior->data->terms[t];
    RpinnText text = {0};
    if (data->given.count) {
      rpinn_gaussian_term_write_given(problem, data, &text);
      RPINN_TRY(save_prior_file(context, names, problem->terms[t].name, "given", &text));
    }
    if (data->mix && problem->terms[t].at.sampling == RPINN_POINTS_CSV) {
      rpinn_point_set_write(problem, &data->points, &text);
      RPINN_TRY(save_prior_file(context, names, problem->terms[t].name, "points", &text));
    }
  }
  return RPINN_OK;
}

bool rpinn_posterior_saves_made_truth(const RpinnPosterior *posterior) {
  return reads_data(posterior) && rpinn_truth_is_drawn(&posterior->data->truth);
}

/* The name with the prefix; "" where there is no such file. */
static void name_file(const RpinnSavedNames *names, bool is_there, const char *name, RpinnText *text) {
  rpinn_text_append(text, "%s%s", is_there ? names->prefix : "", is_there ? name : "");
}

/* What is beside the problem's file. */
static RpinnStatus save_beside(RpinnContext *context, const RpinnPosterior *posterior,
                               const RpinnProblemFiles *files, const RpinnSavedNames *names) {
  RpinnText text = {0};
  RpinnStatus status = RPINN_OK;
  if (files->data) {
    rpinn_data_set_write(posterior->data, &text);
    status = write_file(context, names, files->data, &text);
    rpinn_text_free(&text);
  }
  if (status == RPINN_OK && files->predict) {
    rpinn_point_set_write(posterior->problem, &posterior->data->predict, &text);
    status = write_file(context, names, files->predict, &text);
    rpinn_text_free(&text);
  }
  if (status == RPINN_OK) status = save_priors(context, posterior, names);
  if (status == RPINN_OK && files->truth) status = save_truth(context, posterior, files, names);
  return status;
}

RpinnStatus rpinn_posterior_save_as(RpinnContext *context, const RpinnPosterior *posterior,
                                    const RpinnSavedNames *names) {
  const RpinnProblem *problem = posterior->problem;
  bool has_data = reads_data(posterior), truth_is_made = rpinn_posterior_saves_made_truth(posterior);
  bool has_points = problem->has_predict && problem->predict_at.sampling == RPINN_POINTS_CSV;
  bool has_truth = problem->truth.file || truth_is_made;
  RpinnText data = {0}, predict = {0}, truth = {0}, text = {0};
  name_file(names, has_data, "data.csv", &data);
  name_file(names, has_points, "predict.csv", &predict);
  name_file(names, has_truth, "truth.csv", &truth);
  RpinnProblemFiles files = {.has_priors = true,
                             .prefix = names->prefix,
                             .data = has_data ? data.bytes : NULL,
                             .predict = has_points ? predict.bytes : NULL,
                             .truth = has_truth ? truth.bytes : NULL,
                             .truth_is_made = truth_is_made};
  bool failed = data.failed || predict.failed || truth.failed;
  RpinnStatus status = failed ? rpinn_fail_memory(context) : save_beside(context, posterior, &files, names);
  rpinn_text_append(&text, "%s", names->head);
  if (status == RPINN_OK) status = rpinn_problem_write(context, problem, &files, &text);
  if (status == RPINN_OK) status = write_file(context, names, names->file, &text);
  rpinn_text_free(&text);
  rpinn_text_free(&data);
  rpinn_text_free(&predict);
  rpinn_text_free(&truth);
  return status;
}

RpinnStatus rpinn_posterior_save(RpinnContext *context, const RpinnPosterior *posterior, const char *folder) {
  return rpinn_posterior_save_as(
      context, posterior, &(RpinnSavedNames){.folder = folder, .file = "run.yaml", .prefix = "", .head = ""});
}
