/* Every measured row left out on its own: the posterior linearised at its most probable point says what the other rows make of
 * it, at the cost of one run of laplace with all of the data, whose scale is chosen from them as the settings have it. */
#include <math.h>
#include <stdio.h>

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

/* ---- its run ---- */

static void name_run(const void *user, size_t task, char name[RPINN_TASK_NAME_SIZE]) {
  (void)user, (void)task;
  snprintf(name, RPINN_TASK_NAME_SIZE, "left-out");
}

static RpinnStatus recall_rows(void *user, RpinnContext *context, size_t task, void *yield, bool *is_known) {
  (void)task;
  return rpinn_calibration_read_left_out(context, user, yield, is_known);
}

static RpinnStatus open_run(const void *user, RpinnContext *context, size_t task, RpinnProblem **problem,
                            const void **beside) {
  (void)task, (void)beside;
  static const RpinnCalibratedMethod laplace = {.method = "laplace"};
  return rpinn_calibration_load(context, user, &laplace, problem);
}

static RpinnStatus score_run(const void *user, RpinnContext *context, const RpinnTaskRun *made, void *yield) {
  const RpinnCalibration *calibration = user;
  const RpinnPosterior *posterior = made->run->posteriors[0];
  RpinnDoubleTarget target;
  RpinnLinearisation *linearisation = NULL;
  RpinnStatus status = rpinn_double_target_open(context, posterior, &target);
  if (status == RPINN_OK)
    status = rpinn_linearisation_create(&target.squares, made->run->laplace.at, &linearisation);
  if (status == RPINN_OK) score_rows(calibration, posterior, linearisation, yield);
  if (status == RPINN_ERROR_NUMERIC)
    status = rpinn_fail(context, status, "the rows are not finite at the most probable point");
  rpinn_linearisation_destroy(linearisation);
  rpinn_double_target_close(&target);
  RPINN_TRY(status);
  return rpinn_calibration_write_left_out(context, calibration, yield);
}

static RpinnStatus keep_rows(void *user, RpinnContext *context, size_t task, const void *yield,
                             const RpinnManyProgress *progress) {
  (void)context, (void)task, (void)progress;
  RpinnCalibration *calibration = user;
  calibration->left_out = yield;
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_leave_each_out(RpinnContext *context, RpinnCalibration *calibration) {
  static const RpinnTaskShard whole = {0};
  const RpinnEnergyModel *model = &calibration->base->posteriors[0]->model;
  RpinnManyRuns one = {.num_tasks = 1,
                       .yield_size = calibration->num_subjects * sizeof(RpinnLeftOutRows),
                       .user = calibration,
                       .name = name_run,
                       .recall = recall_rows,
                       .deliver = keep_rows,
                       .open = open_run,
                       .take = score_run};
  if (!rpinn_importance_available(model->num_parameters, model->prior_root)) return RPINN_OK;
  one.yields = rpinn_arena_allocate(calibration->arena, 1, one.yield_size);
  if (!one.yields) return rpinn_fail_memory(context);
  return rpinn_calibration_make_runs(context, calibration, &whole, &one); /* no work for several ranks */
}
