/* The runs of a calibration as tasks: a method on a data set each, whose yield is a row of scores. */
#include <math.h>
#include <stdio.h>

#include "calibrate_state.h"

RpinnStatus rpinn_calibration_make_runs(RpinnContext *context, RpinnCalibration *calibration,
                                        const RpinnTaskShard *shard, RpinnManyRuns *runs) {
  const RpinnCalibrateOptions *options = calibration->options;
  RpinnManyOptions many = {.num_jobs = options->num_jobs,
                           .interrupted = options->interrupted,
                           .progress = options->progress,
                           .user = options->user,
                           .study = options->folder,
                           .shard = shard};
  char folder[RPINN_PATH_SIZE];
  snprintf(folder, sizeof folder, "%.3900s/runs", options->folder);
  runs->folder = folder;
  runs->keep_folders = options->keep_runs;
  return rpinn_many_runs_make(context, runs, &many, &calibration->interrupted);
}

/* ---- one run ---- */

/* Data set by data set, so that all methods have seen the same ones whenever it ends. */
static size_t data_set_of(const RpinnCalibration *calibration, size_t task) {
  return task / calibration->num_methods;
}
static size_t method_of(const RpinnCalibration *calibration, size_t task) {
  return task % calibration->num_methods;
}

static void name_run(const void *user, size_t task, char name[RPINN_TASK_NAME_SIZE]) {
  const RpinnCalibration *calibration = user;
  rpinn_calibration_run_name(calibration, method_of(calibration, task), data_set_of(calibration, task), name);
}

static RpinnStatus recall_row(void *user, RpinnContext *context, size_t task, void *yield, bool *is_known) {
  const RpinnCalibration *calibration = user;
  return rpinn_calibration_read_row(context, calibration, method_of(calibration, task),
                                    data_set_of(calibration, task), yield, is_known);
}

/* The problem of its data set; beside it, in the problem's arena, the truth that was drawn for it. */
static RpinnStatus open_run(const void *user, RpinnContext *context, size_t task, RpinnProblem **problem,
                            const void **beside) {
  const RpinnCalibration *calibration = user;
  const RpinnCalibratedMethod *method = &calibration->methods[method_of(calibration, task)];
  size_t data_set = data_set_of(calibration, task);
  RPINN_TRY(rpinn_calibration_load_data_set(context, calibration, method, data_set, problem));
  RpinnStatus status = RPINN_OK;
  if (calibration->source == RPINN_FROM_PRIOR) {
    RpinnSimulation *simulation = RPINN_ARENA_NEW((*problem)->arena, RpinnSimulation, 1);
    status =
        simulation ? rpinn_calibration_simulate(context, *problem, simulation) : rpinn_fail_memory(context);
    *beside = simulation;
  }
  if (calibration->source == RPINN_FROM_DATA)
    status = rpinn_calibration_leave_fold(context, calibration, data_set, *problem);
  if (status != RPINN_OK) rpinn_problem_destroy(*problem);
  return status;
}

static RpinnStatus score_run(const void *user, RpinnContext *context, const RpinnTaskRun *made, void *yield) {
  const RpinnCalibration *calibration = user;
  size_t method = method_of(calibration, made->task), data_set = data_set_of(calibration, made->task);
  RpinnCalibrationRow *row = yield;
  RPINN_TRY(rpinn_calibration_score_run(context, calibration, made->run, made->beside, data_set, row));
  row->seconds = fmax(row->seconds, made->seconds); /* results and verdict take time too */
  return rpinn_calibration_write_row(context, calibration, method, data_set, row);
}

/* ---- what they come to ---- */

static RpinnStatus tell(RpinnContext *context, const RpinnCalibration *calibration, size_t method,
                        const RpinnManyProgress *progress) {
  const RpinnCalibrateOptions *options = calibration->options;
  RpinnText line = {0};
  if (!options->scored) return RPINN_OK;
  rpinn_calibration_write_line(calibration, method, &line);
  if (!line.failed)
    options->scored(options->user, &(RpinnCalibrateProgress){.done = progress->done,
                                                             .total = progress->total,
                                                             .seconds_left = progress->seconds_left,
                                                             .line = line.bytes});
  bool has_failed = line.failed;
  rpinn_text_free(&line);
  return has_failed ? rpinn_fail_memory(context) : RPINN_OK;
}

static RpinnStatus deliver_row(void *user, RpinnContext *context, size_t task, const void *yield,
                               const RpinnManyProgress *progress) {
  RpinnCalibration *calibration = user;
  size_t m = method_of(calibration, task);
  RpinnCalibratedMethod *method = &calibration->methods[m];
  method->rows[method->num_made++] = yield;
  calibration->has_new_rows |= progress->is_new;
  if (progress->is_new) RPINN_TRY(tell(context, calibration, m, progress));
  bool is_last = progress->done == progress->total;
  if (m + 1 < calibration->num_methods || !(calibration->has_new_rows || is_last)) return RPINN_OK;
  calibration->has_new_rows = false;
  return rpinn_calibration_write_tables(context, calibration);
}

RpinnStatus rpinn_calibration_make_rows(RpinnContext *context, RpinnCalibration *calibration) {
  RpinnArena *arena = calibration->arena;
  RpinnManyRuns runs = {.num_tasks = calibration->num_data_sets * calibration->num_methods,
                        .yield_size = sizeof(RpinnCalibrationRow) +
                                      calibration->num_subjects * sizeof(RpinnCalibrationScore),
                        .user = calibration,
                        .name = name_run,
                        .recall = recall_row,
                        .deliver = deliver_row,
                        .open = open_run,
                        .take = score_run};
  runs.yields = rpinn_arena_allocate(arena, runs.num_tasks, runs.yield_size);
  if (!runs.yields) return rpinn_fail_memory(context);
  for (size_t m = 0; m < calibration->num_methods; m++) {
    calibration->methods[m].rows =
        RPINN_ARENA_NEW(arena, const RpinnCalibrationRow *, calibration->num_data_sets);
    if (!calibration->methods[m].rows) return rpinn_fail_memory(context);
  }
  return rpinn_calibration_make_runs(context, calibration, &calibration->options->shard, &runs);
}
