/* Whose folder is it? */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate_state.h"
#include "part_file.h"
#include "run_identity.h"
#include "whole_file.h"

/* A folder that was not calibrated in must hold nothing that would be replaced, and no run. */
static RpinnStatus check_folder(RpinnContext *context, const char *folder) {
  static const char *const names[] = {"calibration.md", "calibration.csv", "calibration.json",
                                      "report.html",    "scores",          "runs",
                                      "run.yaml",       "checkpoint.db"};
  char path[RPINN_PATH_SIZE];
  struct stat info;
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    snprintf(path, sizeof path, "%.3900s/%s", folder, names[k]);
    if (lstat(path, &info) == 0)
      return rpinn_fail_at(
          context, (RpinnPlace){.file = folder},
          "there is no calibration here, but %s; move it away, or choose another folder with "
          "--out",
          names[k]);
  }
  return RPINN_OK;
}

/* The file says what the scores are of: it is written once, and says the same for ever. */
static RpinnStatus claim(RpinnContext *context, const char *path, const RpinnText *identity) {
  RpinnText found = {0};
  if (identity->failed) return rpinn_fail_memory(context);
  if (access(path, F_OK) != 0) return rpinn_part_file_write(context, path, identity);
  RpinnStatus status = rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &found);
  if (status == RPINN_OK && strcmp(found.bytes ? found.bytes : "", identity->bytes) != 0)
    status = rpinn_fail_at(
        context, (RpinnPlace){.file = path},
        "the scores in this folder are of another problem, other settings or other data sets; expected "
        "another --out");
  rpinn_text_free(&found);
  return status;
}

/* All settings of the method but threads: its own values may stand in the problem file, and what a single run may change when
 * it goes on makes other scores too. */
static RpinnStatus claim_method(RpinnContext *context, const RpinnCalibration *calibration,
                                const char *method) {
  char path[RPINN_PATH_SIZE];
  RpinnText settings = {0};
  RpinnProblem *problem;
  RPINN_TRY(rpinn_calibration_load(context, calibration, method, &problem));
  snprintf(path, sizeof path, "%.3900s/calibrated-%s.yaml", calibration->options->folder, method);
  for (size_t k = 0; k < RPINN_NUM_SETTINGS; k++)
    if (k != RPINN_SETTING_THREADS)
      rpinn_text_append(&settings, "%s: %s\n", rpinn_setting_definition((RpinnSetting)k)->name,
                        problem->settings.values[k].text);
  RpinnStatus status = claim(context, path, &settings);
  rpinn_text_free(&settings);
  rpinn_problem_destroy(problem);
  return status;
}

/* What the data sets are: the first line of calibrated.yaml. */
static void describe(const RpinnCalibration *calibration, RpinnText *identity) {
  rpinn_text_append(identity, "# calibrated ");
  if (calibration->source == RPINN_FROM_DATA)
    rpinn_text_append(identity, "in %zu folds of the data%s", calibration->num_data_sets,
                      calibration->options->blocks ? ", which are regions," : "");
  else if (calibration->source == RPINN_FROM_PRIOR)
    rpinn_text_append(identity, "with truths from the prior");
  else
    rpinn_text_append(identity, "with fresh %s", calibration->redraw);
  rpinn_text_append(identity, " and %s members; rpinn calibrate asks for the same again\n",
                    calibration->members);
}

RpinnStatus rpinn_calibration_claim_folder(RpinnContext *context, const RpinnCalibration *calibration) {
  const char *folder = calibration->options->folder;
  char path[RPINN_PATH_SIZE], scores[RPINN_PATH_SIZE];
  RpinnText identity = {0};
  snprintf(path, sizeof path, "%.3900s/calibrated.yaml", folder);
  snprintf(scores, sizeof scores, "%.3900s/scores", folder);
  if (access(path, F_OK) != 0) RPINN_TRY(check_folder(context, folder));
  RPINN_TRY(rpinn_make_folders(context, folder));
  describe(calibration, &identity);
  RpinnStatus status = rpinn_run_identity(context, calibration->base->posteriors[0], &identity);
  if (status == RPINN_OK) status = claim(context, path, &identity);
  rpinn_text_free(&identity);
  for (size_t m = 0; m < calibration->num_methods && status == RPINN_OK; m++)
    status = claim_method(context, calibration, calibration->methods[m].name);
  return status == RPINN_OK ? rpinn_make_folders(context, scores) : status;
}
