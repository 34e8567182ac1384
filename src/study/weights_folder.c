/* Whose folder is it? */
#include <stdio.h>
#include <unistd.h>

#include "run_identity.h"
#include "study_folder.h"
#include "weights_state.h"

static const RpinnStudyFiles files = {
    "search for weights",
    "what is kept in this folder is of another problem, other settings or another grid; expected another "
    "--out",
    {"weights.md", "weights.csv", "weights.json", "chosen.yaml", "report.html", "scores", "runs"}};

/* The grid is a part of it: candidates are known by their numbers. Rules and data sets may come later. */
static void describe(const RpinnWeightSearch *search, RpinnText *identity) {
  rpinn_text_append(identity,
                    "# searched with %s members and %zu folds; rpinn weights asks for the same again\n",
                    search->base->problem->settings.values[RPINN_SETTING_SAMPLES].text, search->num_folds);
  for (size_t a = 0; a < search->num_axes; a++) {
    rpinn_text_append(identity, "# %s:", search->axes[a].name);
    for (size_t k = 0; k < search->axes[a].count; k++) {
      char number[RPINN_NUMBER_TEXT];
      rpinn_number_format(search->axes[a].values[k], number);
      rpinn_text_append(identity, " %s", number);
    }
    rpinn_text_append(identity, "\n");
  }
}

RpinnStatus rpinn_weights_claim_folder(RpinnContext *context, const RpinnWeightSearch *search) {
  const char *folder = search->options->folder;
  char path[RPINN_PATH_SIZE], scores[RPINN_PATH_SIZE];
  RpinnText identity = {0};
  snprintf(path, sizeof path, "%.3900s/searched.yaml", folder);
  snprintf(scores, sizeof scores, "%.3900s/scores", folder);
  if (access(path, F_OK) != 0) RPINN_TRY(rpinn_study_check_folder(context, &files, folder));
  RPINN_TRY(rpinn_make_folders(context, folder));
  describe(search, &identity);
  RpinnStatus status = rpinn_run_identity(context, search->base->posteriors[0], &identity);
  rpinn_study_list_settings(&search->base->problem->settings, &identity);
  if (status == RPINN_OK) status = rpinn_study_claim(context, &files, path, &identity);
  rpinn_text_free(&identity);
  return status == RPINN_OK ? rpinn_make_folders(context, scores) : status;
}
