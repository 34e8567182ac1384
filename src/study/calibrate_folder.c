/* Whose folder is it? */
#include <stdio.h>
#include <unistd.h>

#include "calibrate_state.h"
#include "run_identity.h"
#include "study_folder.h"

static const RpinnStudyFiles files = {
    "calibration",
    "the scores in this folder are of another problem, other settings or other data sets; expected another "
    "--out",
    {"calibration.md", "calibration.csv", "calibration.json", "report.html", "scores", "runs"}};

/* All settings of the method but threads: its own values may stand in the problem file, and what a single run may change when
 * it goes on makes other scores too. */
static RpinnStatus claim_method(RpinnContext *context, const RpinnCalibration *calibration,
                                const RpinnCalibratedMethod *method) {
  char path[RPINN_PATH_SIZE];
  RpinnText settings = {0};
  RpinnProblem *problem;
  RPINN_TRY(rpinn_calibration_load(context, calibration, method, &problem));
  snprintf(path, sizeof path, "%.3900s/calibrated-%s.yaml", calibration->options->folder, method->file_name);
  rpinn_study_list_settings(&problem->settings, &settings);
  RpinnStatus status = rpinn_study_claim(context, &files, path, &settings);
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
  if (access(path, F_OK) != 0) RPINN_TRY(rpinn_study_check_folder(context, &files, folder));
  RPINN_TRY(rpinn_make_folders(context, folder));
  describe(calibration, &identity);
  RpinnStatus status = rpinn_run_identity(context, calibration->base->posteriors[0], &identity);
  if (status == RPINN_OK) status = rpinn_study_claim(context, &files, path, &identity);
  rpinn_text_free(&identity);
  for (size_t m = 0; m < calibration->num_methods && status == RPINN_OK; m++)
    status = claim_method(context, calibration, &calibration->methods[m]);
  return status == RPINN_OK ? rpinn_make_folders(context, scores) : status;
}
