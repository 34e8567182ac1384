/* _native.Problem: a problem in memory, what it holds by name, its check, and its runs. */
#include "native.h"

PyTypeObject *problem_type;

/* ---- what it is loaded from ---- */

static bool read_files(PyObject *files, Loading *loading) {
  Py_ssize_t count = PyTuple_Size(files);
  if (count < 0) return false;
  loading->files = calloc((size_t)count + 1, sizeof *loading->files);
  if (!loading->files) return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    RpinnFileInMemory *file = &loading->files[i];
    Py_ssize_t length;
    if (!PyArg_ParseTuple(PyTuple_GetItem(files, i), "sy#", &file->name, &file->bytes, &length)) return false;
    file->length = (size_t)length;
  }
  loading->options.num_files = (size_t)count;
  loading->options.files = loading->files;
  return true;
}

static bool read_overrides(PyObject *overrides, Loading *loading) {
  Py_ssize_t count = PyTuple_Size(overrides);
  if (count < 0) return false;
  loading->overrides = calloc((size_t)count + 1, sizeof *loading->overrides);
  if (!loading->overrides) return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    RpinnOverride *override = &loading->overrides[i];
    int setting_only;
    if (!PyArg_ParseTuple(PyTuple_GetItem(overrides, i), "sssp", &override->name, &override->value,
                          &override->origin, &setting_only))
      return false;
    override->setting_only = setting_only != 0;
  }
  loading->options.num_overrides = (size_t)count;
  loading->options.overrides = loading->overrides;
  return true;
}

bool loading_read(PyObject *source, Loading *loading) {
  PyObject *files, *overrides;
  *loading = (Loading){0};
  bool is_read =
      PyArg_ParseTuple(source, "sO!zO!zz", &loading->name, &PyTuple_Type, &files, &loading->options.preset,
                       &PyTuple_Type, &overrides, &loading->options.data_file, &loading->options.truth) &&
      read_files(files, loading) && read_overrides(overrides, loading);
  if (!is_read) loading_free(loading);
  return is_read;
}

void loading_free(Loading *loading) {
  free(loading->files);
  free(loading->overrides);
}

static PyObject *problem_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *source;
  Loading loading;
  Call call;
  if (keywords && PyDict_Size(keywords)) return PyErr_Format(PyExc_TypeError, "no keywords are expected");
  if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &source) || !loading_read(source, &loading))
    return NULL;
  ProblemObject *self = (ProblemObject *)type->tp_alloc(type, 0);
  if (!self || !call_begin(&call, NULL)) {
    Py_XDECREF(self);
    loading_free(&loading);
    return NULL;
  }
  call_release(&call);
  RpinnStatus status = rpinn_problem_load(call.context, loading.name, &loading.options, &self->problem);
  call_retake(&call);
  loading_free(&loading);
  if (call_end(&call, status)) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void problem_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  rpinn_problem_destroy(((ProblemObject *)object)->problem);
  type->tp_free(object);
  Py_DECREF(type);
}

/* ---- what it holds ---- */

typedef const char *NameOf(const RpinnProblem *problem, size_t index);

static PyObject *names(const RpinnProblem *problem, size_t count, NameOf *name_of) {
  PyObject *tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; tuple && i < count; i++) {
    PyObject *name = PyUnicode_FromString(name_of(problem, i));
    if (!name) Py_CLEAR(tuple);
    if (name) PyTuple_SetItem(tuple, (Py_ssize_t)i, name);
  }
  return tuple;
}

static const RpinnProblem *problem_of(PyObject *self) {
  return ((ProblemObject *)self)->problem;
}

static PyObject *get_name(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(rpinn_problem_name(problem_of(self)));
}
static PyObject *get_terms(PyObject *self, void *unused) {
  (void)unused;
  return names(problem_of(self), rpinn_problem_num_terms(problem_of(self)), rpinn_problem_term_name);
}
static PyObject *get_presets(PyObject *self, void *unused) {
  (void)unused;
  return names(problem_of(self), rpinn_problem_num_presets(problem_of(self)), rpinn_problem_preset_name);
}
static PyObject *get_predictable(PyObject *self, void *unused) {
  (void)unused;
  return names(problem_of(self), rpinn_problem_num_predictable(problem_of(self)),
               rpinn_problem_predictable_name);
}

/* ((name, low, high), ...) */
static PyObject *get_coordinates(PyObject *self, void *unused) {
  (void)unused;
  const RpinnProblem *problem = problem_of(self);
  size_t count = rpinn_problem_num_coordinates(problem);
  PyObject *tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; tuple && i < count; i++) {
    double low, high;
    rpinn_problem_coordinate_range(problem, i, &low, &high);
    PyObject *row = Py_BuildValue("sdd", rpinn_problem_coordinate_name(problem, i), low, high);
    if (!row) Py_CLEAR(tuple);
    if (row) PyTuple_SetItem(tuple, (Py_ssize_t)i, row);
  }
  return tuple;
}

/* {name: text} of all settings, as they are resolved. */
static PyObject *get_settings(PyObject *self, void *unused) {
  (void)unused;
  PyObject *settings = PyDict_New();
  for (int k = 0; settings && k < RPINN_NUM_SETTINGS; k++) {
    PyObject *text = PyUnicode_FromString(rpinn_problem_setting_text(problem_of(self), (RpinnSetting)k));
    if (!text || PyDict_SetItemString(settings, rpinn_setting_definition((RpinnSetting)k)->name, text) != 0)
      Py_CLEAR(settings);
    Py_XDECREF(text);
  }
  return settings;
}

/* ---- what is done with it ---- */

/* check(json) -> (text, passed) */
static PyObject *problem_check(PyObject *self, PyObject *argument) {
  int json = PyObject_IsTrue(argument);
  Call call;
  RpinnCheck *check = NULL;
  char *text = NULL;
  if (json < 0 || !call_begin(&call, NULL)) return NULL;
  rpinn_context_set_log(call.context, NULL, NULL); /* the page lists the warnings itself */
  call_release(&call);
  RpinnStatus status = rpinn_check_create(call.context, problem_of(self), &check);
  bool passed = check && rpinn_check_passed(check);
  if (status == RPINN_OK) text = json ? rpinn_check_json(check) : rpinn_check_text(check);
  if (status == RPINN_OK && !text) status = RPINN_ERROR_MEMORY;
  rpinn_check_destroy(check);
  call_retake(&call);
  PyObject *result = call_end(&call, status) ? Py_BuildValue("sO", text, passed ? Py_True : Py_False) : NULL;
  free(text);
  return result;
}

/* check_prior(json, folder or None, told) -> text */
static PyObject *problem_check_prior(PyObject *self, PyObject *arguments) {
  int json;
  const char *folder;
  PyObject *told;
  Call call;
  if (!PyArg_ParseTuple(arguments, "pzO", &json, &folder, &told) || !call_begin(&call, told)) return NULL;
  const RpinnPriorCheckOptions options = {
      .json = json != 0, .folder = folder, .progress = call_tell_progress, .user = &call};
  call_release(&call);
  char *text = rpinn_check_prior(call.context, problem_of(self), &options);
  call_retake(&call);
  return call_end_text(&call, text);
}

/* plan() -> text */
static PyObject *problem_plan(PyObject *self, PyObject *unused) {
  (void)unused;
  Call call;
  if (!call_begin(&call, NULL)) return NULL;
  call_release(&call);
  char *text = rpinn_run_plan(call.context, problem_of(self), (RpinnShard){0});
  call_retake(&call);
  return call_end_text(&call, text);
}

/* run(folder, resume, told) -> finished. The page of a finished run is written too, as by the command. Where a signal ends the run,
 * its exception is raised: what was made is saved. */
static PyObject *problem_run(PyObject *self, PyObject *arguments) {
  const char *folder;
  int resume;
  PyObject *told;
  Call call;
  RpinnRun *run = NULL;
  if (!PyArg_ParseTuple(arguments, "spO", &folder, &resume, &told) || !call_begin(&call, told)) return NULL;
  const RpinnRunOptions options = {.folder = folder,
                                   .resume = resume != 0,
                                   .interrupted = call_is_interrupted,
                                   .progress = call_tell_progress,
                                   .user = &call};
  call_release(&call);
  RpinnStatus status = rpinn_run(call.context, problem_of(self), &options, &run);
  bool finished = status == RPINN_OK && !rpinn_run_interrupted(run);
  if (finished) status = rpinn_report_write(call.context, run);
  rpinn_run_destroy(run);
  call_retake(&call);
  return call_end(&call, status) ? PyBool_FromLong(finished) : NULL;
}

static PyMethodDef methods[] = {
    {"check", problem_check, METH_O, NULL},
    {"check_prior", problem_check_prior, METH_VARARGS, NULL},
    {"plan", problem_plan, METH_NOARGS, NULL},
    {"run", problem_run, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef attributes[] = {
    {"name", get_name, NULL, NULL, NULL},
    {"terms", get_terms, NULL, NULL, NULL},
    {"presets", get_presets, NULL, NULL, NULL},
    {"predictable", get_predictable, NULL, NULL, NULL},
    {"coordinates", get_coordinates, NULL, NULL, NULL},
    {"settings", get_settings, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, problem_new},
    {Py_tp_dealloc, problem_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};
static PyType_Spec spec = {.name = "rpinn._native.Problem",
                           .basicsize = sizeof(ProblemObject),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

int add_problem(PyObject *module) {
  problem_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return problem_type ? PyModule_AddObjectRef(module, "Problem", (PyObject *)problem_type) : -1;
}
