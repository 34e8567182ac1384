/* Many data sets of one problem, a run for each, and their scores. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate_state.h"
#include "task_pool.h"

/* Data set k of seed s has the seed 10000 s + k + 1, and seeds end where doubles stop to count. */
static RpinnStatus check_seed(RpinnContext *context, const RpinnProblem *base) {
  const double most = 900719925473;
  if (base->settings.values[RPINN_SETTING_SEED].number <= most) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--seed"},
                       "found %s; expected at most %.0f to calibrate with",
                       base->settings.values[RPINN_SETTING_SEED].text, most);
}

/* ---- one run ---- */

static RpinnStatus make_run(RpinnContext *context, RpinnCalibration *calibration, const RpinnProblem *problem,
                            const RpinnSimulation *simulation, size_t method, size_t data_set) {
  char name[96], path[RPINN_PATH_SIZE];
  double started = rpinn_task_pool_now();
  RpinnRun *run;
  snprintf(name, sizeof name, "%.80s-%04zu", calibration->methods[method].name, data_set + 1);
  RPINN_TRY(rpinn_calibration_run(context, calibration, problem, name, path, &run));
  calibration->interrupted = rpinn_run_interrupted(run);
  RpinnCalibrationRow *row = &calibration->methods[method].rows[data_set];
  RpinnStatus status = RPINN_OK;
  if (!calibration->interrupted)
    status = rpinn_calibration_score_run(context, calibration, run, simulation, data_set, row);
  row->seconds = fmax(row->seconds, rpinn_task_pool_now() - started); /* results and verdict take time too */
  if (!calibration->interrupted && status == RPINN_OK)
    status = rpinn_calibration_write_row(context, calibration, method, data_set);
  rpinn_run_destroy(run);
  if (status == RPINN_OK && !calibration->interrupted) rpinn_calibration_remove_run(calibration, path);
  return status;
}

static RpinnStatus make_row(RpinnContext *context, RpinnCalibration *calibration, size_t method,
                            size_t data_set) {
  RpinnProblem *problem;
  RpinnSimulation simulation;
  RPINN_TRY(rpinn_calibration_load_data_set(context, calibration, calibration->methods[method].name, data_set,
                                            &problem));
  RpinnStatus status = RPINN_OK;
  if (calibration->source == RPINN_FROM_PRIOR)
    status = rpinn_calibration_simulate(context, problem, &simulation);
  if (calibration->source == RPINN_FROM_DATA)
    status = rpinn_calibration_leave_fold(context, calibration, data_set, problem);
  if (status == RPINN_OK) status = make_run(context, calibration, problem, &simulation, method, data_set);
  rpinn_problem_destroy(problem);
  return status;
}

/* ---- all of them ---- */

typedef struct Pace {
  double started;
  size_t done, made; /* runs; of these, in this session */
} Pace;

static RpinnStatus tell(RpinnContext *context, const RpinnCalibration *calibration, size_t method,
                        const Pace *pace) {
  const RpinnCalibrateOptions *options = calibration->options;
  size_t total = calibration->num_methods * calibration->num_data_sets;
  RpinnText line = {0};
  if (!options->scored) return RPINN_OK;
  rpinn_calibration_write_line(calibration, method, &line);
  if (line.failed) {
    rpinn_text_free(&line);
    return rpinn_fail_memory(context);
  }
  double each = (rpinn_task_pool_now() - pace->started) / (double)pace->made;
  RpinnCalibrateProgress progress = {.done = pace->done,
                                     .total = total,
                                     .seconds_left =
                                         pace->made ? each * (double)(total - pace->done) : (double)NAN,
                                     .line = line.bytes};
  options->scored(options->user, &progress);
  rpinn_text_free(&line);
  return RPINN_OK;
}

/* Data set by data set, so that all methods have seen the same ones whenever it ends. */
static RpinnStatus make_rows(RpinnContext *context, RpinnCalibration *calibration) {
  Pace pace = {.started = rpinn_task_pool_now()};
  for (size_t d = 0; d < calibration->num_data_sets; d++) {
    bool is_new = false;
    for (size_t m = 0; m < calibration->num_methods; m++) {
      bool found;
      RPINN_TRY(rpinn_calibration_read_row(context, calibration, m, d, &found));
      if (!found) RPINN_TRY(make_row(context, calibration, m, d));
      if (calibration->interrupted) return RPINN_OK;
      calibration->methods[m].num_made++;
      pace.done++;
      pace.made += !found;
      is_new |= !found;
      if (!found) RPINN_TRY(tell(context, calibration, m, &pace));
    }
    if (is_new || d + 1 == calibration->num_data_sets)
      RPINN_TRY(rpinn_calibration_write_tables(context, calibration));
  }
  return RPINN_OK;
}

static RpinnStatus allocate_rows(RpinnContext *context, RpinnCalibration *calibration) {
  for (size_t m = 0; m < calibration->num_methods; m++) {
    calibration->methods[m].rows =
        RPINN_ARENA_NEW(calibration->arena, RpinnCalibrationRow, calibration->num_data_sets);
    if (!calibration->methods[m].rows) return rpinn_fail_memory(context);
    for (size_t d = 0; d < calibration->num_data_sets; d++) {
      RpinnCalibrationRow *row = &calibration->methods[m].rows[d];
      row->scores = RPINN_ARENA_NEW(calibration->arena, RpinnCalibrationScore, calibration->num_subjects);
      if (!row->scores) return rpinn_fail_memory(context);
    }
  }
  return RPINN_OK;
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
  RPINN_TRY(allocate_rows(context, calibration));
  RPINN_TRY(rpinn_calibration_claim_folder(context, calibration));
  if (calibration->source == RPINN_FROM_DATA)
    RPINN_TRY(rpinn_calibration_leave_each_out(context, calibration));
  return calibration->interrupted ? RPINN_OK : make_rows(context, calibration);
}

static RpinnStatus begin(RpinnContext *context, RpinnCalibration *calibration) {
  RpinnProblem *base = NULL;
  RpinnRunOptions usual = {
      0}; /* of a run that is never begun: it knows whether there is memory for its like */
  RPINN_TRY(rpinn_calibration_read_options(context, calibration));
  RpinnStatus status = rpinn_calibration_load(context, calibration, NULL, &base);
  if (status == RPINN_OK) status = check_seed(context, base);
  if (status == RPINN_OK) status = rpinn_run_prepare(context, base, &usual, &calibration->base);
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
  if (status == RPINN_ERROR_INTERRUPTED) { /* while a scale was chosen */
    rpinn_context_clear_error(context);
    (*calibration)->interrupted = true;
    status = RPINN_OK;
  }
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
