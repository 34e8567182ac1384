/* Finished runs, by their folders. */
#include "native.h"

/* summary(folder, json) -> text */
static PyObject *summary(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *folder;
  int json;
  Call call;
  if (!PyArg_ParseTuple(arguments, "sp", &folder, &json) || !call_begin(&call, NULL)) return NULL;
  call_release(&call);
  char *text = rpinn_run_summary(call.context, folder, json != 0);
  call_retake(&call);
  return call_end_text(&call, text);
}

/* report(folders, out or None, shape, json) -> text */
static PyObject *report(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *list;
  const char *folder;
  int shape, json;
  size_t count;
  Call call;
  if (!PyArg_ParseTuple(arguments, "Ozpp", &list, &folder, &shape, &json)) return NULL;
  const char **folders = texts_read(list, &count);
  if (!folders || !call_begin(&call, NULL)) {
    free(folders);
    return NULL;
  }
  const RpinnReportOptions options = {.folder = folder, .shape = shape != 0, .json = json != 0};
  call_release(&call);
  char *text = rpinn_report(call.context, count, folders, &options);
  call_retake(&call);
  free(folders);
  return call_end_text(&call, text);
}

/* compare(folders, json) -> text */
static PyObject *compare(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *list;
  int json;
  size_t count;
  Call call;
  if (!PyArg_ParseTuple(arguments, "Op", &list, &json)) return NULL;
  const char **folders = texts_read(list, &count);
  if (!folders || !call_begin(&call, NULL)) {
    free(folders);
    return NULL;
  }
  call_release(&call);
  char *text = rpinn_compare(call.context, count, folders, json != 0);
  call_retake(&call);
  free(folders);
  return call_end_text(&call, text);
}

/* ---- predictions ---- */

static PyObject *prediction_names(const RpinnPrediction *prediction) {
  size_t count = rpinn_prediction_num_quantities(prediction);
  PyObject *names = PyTuple_New((Py_ssize_t)count);
  for (size_t q = 0; names && q < count; q++) {
    PyObject *name = PyUnicode_FromString(rpinn_prediction_name(prediction, q));
    if (!name) Py_CLEAR(names);
    if (name) PyTuple_SetItem(names, (Py_ssize_t)q, name);
  }
  return names;
}

/* (names, num_chains, num_draws, statistics [5][quantities][points], draws [draws][quantities][points] or None) */
static PyObject *prediction_tuple(const RpinnPrediction *prediction, size_t num_points) {
  size_t num_values = rpinn_prediction_num_quantities(prediction) * num_points;
  size_t num_draws = rpinn_prediction_num_draws(prediction);
  const double *draws = rpinn_prediction_draws(prediction);
  PyObject *names = prediction_names(prediction);
  PyObject *statistics = names
                             ? bytes_of_doubles(rpinn_prediction_statistic(prediction, RPINN_PREDICTED_MEAN),
                                                RPINN_NUM_PREDICTED_STATISTICS * num_values)
                             : NULL;
  PyObject *values = draws ? bytes_of_doubles(draws, num_draws * num_values) : Py_NewRef(Py_None);
  if (names && statistics && values)
    return Py_BuildValue("NnnNN", names, (Py_ssize_t)rpinn_prediction_num_chains(prediction),
                         (Py_ssize_t)num_draws, statistics, values);
  Py_XDECREF(names);
  Py_XDECREF(statistics);
  Py_XDECREF(values);
  return NULL;
}

/* predict(folder, points [num_points][coordinates], num_points, num_coordinates, quantities or None, extrapolate, keep_draws) */
static PyObject *predict(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *folder, *quantities;
  PyObject *array;
  Py_ssize_t num_points, num_coordinates;
  int extrapolate, keep_draws;
  Doubles points;
  Call call;
  if (!PyArg_ParseTuple(arguments, "sOnnzpp", &folder, &array, &num_points, &num_coordinates, &quantities,
                        &extrapolate, &keep_draws) ||
      !doubles_read(array, num_points * num_coordinates, false, "points", &points))
    return NULL;
  if (!call_begin(&call, NULL)) {
    doubles_release(&points);
    return NULL;
  }
  const RpinnPointOptions options = {.num_points = (size_t)num_points,
                                     .points = points.values,
                                     .quantities = quantities,
                                     .extrapolate = extrapolate != 0,
                                     .keep_draws = keep_draws != 0};
  RpinnPrediction *prediction = NULL;
  call_release(&call);
  RpinnStatus status = rpinn_run_predict_at(call.context, folder, &options, &prediction);
  call_retake(&call);
  doubles_release(&points);
  PyObject *result = call_end(&call, status) ? prediction_tuple(prediction, (size_t)num_points) : NULL;
  rpinn_prediction_destroy(prediction);
  return result;
}

/* ---- judgements ---- */

static PyObject *judgement(Call *call, char *text, bool healthy) {
  PyObject *report_text = call_end_text(call, text);
  return report_text ? Py_BuildValue("NO", report_text, healthy ? Py_True : Py_False) : NULL;
}

/* diagnose_run(folder, json, all, strict) -> (text, healthy) */
static PyObject *diagnose_run(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *folder;
  int json, all, strict;
  Call call;
  bool healthy = false;
  if (!PyArg_ParseTuple(arguments, "sppp", &folder, &json, &all, &strict) || !call_begin(&call, NULL))
    return NULL;
  const RpinnDiagnoseOptions options = {.json = json != 0, .all = all != 0, .strict = strict != 0};
  call_release(&call);
  char *text = rpinn_diagnose_run(call.context, folder, &options, &healthy);
  call_retake(&call);
  return judgement(&call, text, healthy);
}

/* diagnose_csv(files, json, all) -> (text, healthy) */
static PyObject *diagnose_csv(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *list;
  int json, all;
  size_t count;
  Call call;
  bool healthy = false;
  if (!PyArg_ParseTuple(arguments, "Opp", &list, &json, &all)) return NULL;
  const char **files = texts_read(list, &count);
  if (!files || !call_begin(&call, NULL)) {
    free(files);
    return NULL;
  }
  const RpinnDiagnoseOptions options = {.json = json != 0, .all = all != 0};
  call_release(&call);
  char *text = rpinn_diagnose_csv(call.context, count, files, &options, &healthy);
  call_retake(&call);
  free(files);
  return judgement(&call, text, healthy);
}

/* diagnose_draws(values [chains][draws][parameters], chains, draws, parameters, names or None, json, all) -> (text, healthy) */
static PyObject *diagnose_draws(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *array, *list;
  Py_ssize_t num_chains, num_draws, num_parameters;
  int json, all;
  Doubles values = {0};
  size_t num_names = 0;
  const char **names = NULL;
  Call call;
  if (!PyArg_ParseTuple(arguments, "OnnnOpp", &array, &num_chains, &num_draws, &num_parameters, &list, &json,
                        &all) ||
      !doubles_read(array, num_chains * num_draws * num_parameters, false, "draws", &values))
    return NULL;
  if (list != Py_None) names = texts_read(list, &num_names);
  if (names && num_names != (size_t)num_parameters)
    PyErr_Format(PyExc_ValueError, "%zu names of %zd parameters; expected one each", num_names,
                 num_parameters);
  if (PyErr_Occurred() || !call_begin(&call, NULL)) {
    doubles_release(&values);
    free(names);
    return NULL;
  }
  const RpinnDiagnoseOptions options = {.json = json != 0, .all = all != 0};
  RpinnDraws *draws = NULL;
  char *text = NULL;
  bool healthy = false;
  call_release(&call);
  RpinnStatus status = rpinn_draws_of_values(call.context, (size_t)num_chains, (size_t)num_draws,
                                             (size_t)num_parameters, names, values.values, &draws);
  if (status == RPINN_OK) text = rpinn_diagnose_draws(call.context, draws, &options, &healthy);
  rpinn_draws_destroy(draws);
  call_retake(&call);
  doubles_release(&values);
  free(names);
  return judgement(&call, text, healthy);
}

static PyMethodDef functions[] = {
    {"summary", summary, METH_VARARGS, NULL},
    {"report", report, METH_VARARGS, NULL},
    {"compare", compare, METH_VARARGS, NULL},
    {"predict", predict, METH_VARARGS, NULL},
    {"diagnose_run", diagnose_run, METH_VARARGS, NULL},
    {"diagnose_csv", diagnose_csv, METH_VARARGS, NULL},
    {"diagnose_draws", diagnose_draws, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_runs(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
