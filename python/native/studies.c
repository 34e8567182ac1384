/* Calibrations: many runs of a problem. */
#include "native.h"

/* What is told after each run goes to a function of its own. */
typedef struct Study {
  Call call;
  PyObject *scored; /* scored(done, total, seconds_left, line), or NULL */
} Study;

static bool study_is_interrupted(void *user) {
  return call_is_interrupted(&((Study *)user)->call);
}

static void study_tell_progress(void *user, const RpinnProgress *progress) {
  call_tell_progress(&((Study *)user)->call, progress);
}

static void study_tell_scored(void *user, const RpinnCalibrateProgress *progress) {
  Study *study = user;
  if (!study->scored || study->call.has_exception) return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer =
      PyObject_CallFunction(study->scored, "nnds", (Py_ssize_t)progress->done, (Py_ssize_t)progress->total,
                            progress->seconds_left, progress->line);
  if (!answer) call_keep_exception(&study->call);
  Py_XDECREF(answer);
  PyGILState_Release(state);
}

static PyObject *result_of(const RpinnCalibration *calibration) {
  const char *text = rpinn_calibration_text(calibration), *json = rpinn_calibration_json(calibration);
  return Py_BuildValue("Ozz", rpinn_calibration_interrupted(calibration) ? Py_False : Py_True, text, json);
}

/* calibrate(source, folder, from, data_sets, folds, blocks, redraw, methods, members, jobs, keep_runs, told, scored)
 * -> (finished, text, json). 0 and None: the default. */
static PyObject *calibrate(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *source, *told, *scored;
  const char *folder, *from, *redraw, *methods, *members;
  Py_ssize_t num_data_sets, num_folds, num_jobs;
  int blocks, keep_runs;
  Loading loading;
  Study study = {0};
  if (!PyArg_ParseTuple(arguments, "O!sznnpzzznpOO", &PyTuple_Type, &source, &folder, &from, &num_data_sets,
                        &num_folds, &blocks, &redraw, &methods, &members, &num_jobs, &keep_runs, &told,
                        &scored) ||
      !loading_read(source, &loading))
    return NULL;
  if (!call_begin(&study.call, told)) {
    loading_free(&loading);
    return NULL;
  }
  study.scored = scored == Py_None ? NULL : scored;
  const RpinnCalibrateOptions options = {.problem = loading.name,
                                         .loading = &loading.options,
                                         .from = from,
                                         .num_data_sets = (size_t)num_data_sets,
                                         .num_folds = (size_t)num_folds,
                                         .blocks = blocks != 0,
                                         .redraw = redraw,
                                         .methods = methods,
                                         .members = members,
                                         .folder = folder,
                                         .num_jobs = (size_t)num_jobs,
                                         .keep_runs = keep_runs != 0,
                                         .interrupted = study_is_interrupted,
                                         .progress = study_tell_progress,
                                         .scored = study_tell_scored,
                                         .user = &study};
  RpinnCalibration *calibration = NULL;
  call_release(&study.call);
  RpinnStatus status = rpinn_calibrate(study.call.context, &options, &calibration);
  call_retake(&study.call);
  loading_free(&loading);
  PyObject *result = call_end(&study.call, status) ? result_of(calibration) : NULL;
  rpinn_calibration_destroy(calibration);
  return result;
}

static PyMethodDef functions[] = {
    {"calibrate", calibrate, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_studies(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
