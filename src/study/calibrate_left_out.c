/* Every measured row left out on its own: the posterior linearised at its most probable point says what the other rows make of
 * it, at the cost of one run of laplace with all of the data, whose scale is chosen from them as the settings have it. */
#include <math.h>
#include <stdlib.h>

#include "calibrate_state.h"
#include "double_target.h"
#include "importance.h"
#include "linearisation.h"

static void add_row(RpinnLeftOutRows *rows, double z) {
  rows->num_rows += 1;
  rows->mean += z;
  rows->deviation += z * z;
  rows->inside += fabs(z) <= 1.96;
}

static void finish_rows(RpinnLeftOutRows *rows) {
  rows->mean /= rows->num_rows;
  rows->deviation = sqrt(fmax(0, rows->deviation / rows->num_rows - rows->mean * rows->mean));
  rows->inside /= rows->num_rows;
}

static void score_rows(const RpinnCalibration *calibration, const RpinnPosterior *posterior,
                       const RpinnLinearisation *linearisation, RpinnLeftOutRows *rows) {
  for (size_t t = 0, row = 0; t < posterior->model.num_terms; row += posterior->terms[t++].num_rows)
    for (size_t s = 0; s < calibration->num_subjects; s++) {
      if (calibration->subjects[s].index != posterior->fitted[t]) continue;
      for (size_t i = 0; i < posterior->terms[t].num_rows; i++)
        add_row(&rows[s], rpinn_linearisation_leave_out(linearisation, row + i).z);
      finish_rows(&rows[s]);
    }
}

static RpinnStatus score_run(RpinnContext *context, const RpinnCalibration *calibration, const RpinnRun *run,
                             RpinnLeftOutRows *rows) {
  RpinnDoubleTarget target;
  RpinnLinearisation *linearisation = NULL;
  RpinnStatus status = rpinn_double_target_open(context, run->posteriors[0], &target);
  if (status == RPINN_OK)
    status = rpinn_linearisation_create(&target.squares, run->laplace.at, &linearisation);
  if (status == RPINN_OK) score_rows(calibration, run->posteriors[0], linearisation, rows);
  if (status == RPINN_ERROR_NUMERIC)
    status = rpinn_fail(context, status, "the rows are not finite at the most probable point");
  rpinn_linearisation_destroy(linearisation);
  rpinn_double_target_close(&target);
  return status;
}

static RpinnStatus make(RpinnContext *context, RpinnCalibration *calibration, RpinnLeftOutRows *rows) {
  char path[RPINN_PATH_SIZE];
  RpinnProblem *problem;
  RpinnRun *run = NULL;
  RPINN_TRY(rpinn_calibration_load(context, calibration, "laplace", &problem));
  RpinnStatus status = rpinn_calibration_run(context, calibration, problem, "left-out", path, &run);
  if (status == RPINN_OK) calibration->interrupted = rpinn_run_interrupted(run);
  if (status == RPINN_OK && !calibration->interrupted) status = score_run(context, calibration, run, rows);
  rpinn_run_destroy(run);
  rpinn_problem_destroy(problem);
  if (status != RPINN_OK || calibration->interrupted) return status;
  rpinn_calibration_remove_run(calibration, path);
  return rpinn_calibration_write_left_out(context, calibration, rows);
}

RpinnStatus rpinn_calibration_leave_each_out(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnEnergyModel *model = &calibration->base->posteriors[0]->model;
  RpinnLeftOutRows *rows = RPINN_ARENA_NEW(calibration->arena, RpinnLeftOutRows, calibration->num_subjects);
  bool found;
  if (!rows) return rpinn_fail_memory(context);
  if (!rpinn_importance_available(model->num_parameters, model->prior_root)) return RPINN_OK;
  RPINN_TRY(rpinn_calibration_read_left_out(context, calibration, rows, &found));
  if (!found) RPINN_TRY(make(context, calibration, rows));
  if (!calibration->interrupted) calibration->left_out = rows;
  return RPINN_OK;
}
