/* Many data sets of one problem, a run for each, and their scores: the whole. */
#include <string.h>

#include "calibrate_state.h"
#include "driver.h"
#include "task_shard.h"

/* Data set k of seed s has the seed 10000 s + k + 1, and seeds end where doubles stop to count. */
static RpinnStatus check_seed(RpinnContext *context, const RpinnProblem *base) {
  const double most = 900719925473;
  if (base->settings.values[RPINN_SETTING_SEED].number <= most) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--seed"},
                       "found %s; expected at most %.0f to calibrate with",
                       base->settings.values[RPINN_SETTING_SEED].text, most);
}

static RpinnStatus calibrate(RpinnContext *context, RpinnCalibration *calibration) {
  const char *name = calibration->base->problem->name;
  calibration->problem = rpinn_arena_copy_text(calibration->arena, name, strlen(name));
  if (!calibration->problem) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_calibration_choose_source(context, calibration));
  RPINN_TRY(rpinn_calibration_read_methods(context, calibration));
  if (calibration->source == RPINN_FROM_PRIOR) RPINN_TRY(rpinn_calibration_check_prior(context, calibration));
  if (calibration->source == RPINN_FROM_DATA) RPINN_TRY(rpinn_calibration_make_folds(context, calibration));
  RPINN_TRY(rpinn_calibration_list_subjects(context, calibration));
  if (!rpinn_task_shard_follows(&calibration->options->shard))
    RPINN_TRY(rpinn_calibration_claim_folder(context, calibration));
  bool is_part =
      rpinn_task_shard_is_part(&calibration->options->shard); /* the whole has it when it is made */
  if (calibration->source == RPINN_FROM_DATA && !is_part)
    RPINN_TRY(rpinn_calibration_leave_each_out(context, calibration));
  return calibration->interrupted ? RPINN_OK : rpinn_calibration_make_rows(context, calibration);
}

static RpinnStatus begin(RpinnContext *context, RpinnCalibration *calibration) {
  RpinnProblem *base = NULL;
  RpinnRunOptions usual = {0};
  RpinnDriver never_begun = {0}; /* knows whether there is memory for runs like its own */
  RPINN_TRY(rpinn_calibration_read_options(context, calibration));
  RpinnStatus status = rpinn_calibration_load(context, calibration, NULL, &base);
  if (status == RPINN_OK) status = check_seed(context, base);
  if (status == RPINN_OK) status = rpinn_driver_prepare(context, base, &usual, &never_begun);
  calibration->base = never_begun.run;
  if (status == RPINN_OK) status = calibrate(context, calibration);
  rpinn_run_destroy(calibration->base);
  calibration->base = NULL;
  rpinn_problem_destroy(base);
  return status;
}

RpinnStatus rpinn_calibrate(RpinnContext *context, const RpinnCalibrateOptions *options,
                            RpinnCalibration **calibration) {
  RpinnArena *arena = rpinn_arena_create();
  *calibration = arena ? RPINN_ARENA_NEW(arena, RpinnCalibration, 1) : NULL;
  if (!*calibration) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  **calibration = (RpinnCalibration){.options = options, .arena = arena};
  RpinnStatus status = begin(context, *calibration);
  (*calibration)->options = NULL;
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_calibration_destroy(*calibration);
  *calibration = NULL;
  return status;
}

void rpinn_calibration_destroy(RpinnCalibration *calibration) {
  if (!calibration) return;
  rpinn_text_free(&calibration->text);
  rpinn_text_free(&calibration->csv);
  rpinn_text_free(&calibration->json);
  rpinn_text_free(&calibration->page);
  rpinn_arena_destroy(calibration->arena); /* it lives there itself */
}

bool rpinn_calibration_interrupted(const RpinnCalibration *calibration) {
  return calibration->interrupted;
}
const char *rpinn_calibration_text(const RpinnCalibration *calibration) {
  return calibration->text.bytes;
}
const char *rpinn_calibration_json(const RpinnCalibration *calibration) {
  return calibration->json.bytes;
}
