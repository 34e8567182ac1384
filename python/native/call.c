/* A call into the library: its context, the GIL, signals, progress, and failures as exceptions. */
#include <time.h>

#include "native.h"

static PyObject *raise_failure; /* rpinn._errors.raise_failure(status, message, file, line, column) */
static PyObject *tell_line;     /* rpinn._log.tell(level, line) */

static PyObject *import_function(const char *module_name, const char *name) {
  PyObject *module = PyImport_ImportModule(module_name);
  PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
  Py_XDECREF(module);
  return function;
}

bool call_import(void) {
  raise_failure = import_function("rpinn._errors", "raise_failure");
  tell_line = raise_failure ? import_function("rpinn._log", "tell") : NULL;
  return tell_line != NULL;
}

/* ---- callbacks: the GIL is not held when they come ---- */

/* The exception that is set, with its traceback; from Python 3.12 on there are functions for it. */
static PyObject *take_exception(void) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

static void set_exception(PyObject *exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception);
#else
  PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_DECREF(exception);
#endif
}

void call_keep_exception(Call *call) {
  if (call->has_exception) {
    PyErr_Clear(); /* the first one tells the cause */
    return;
  }
  call->exception = take_exception();
  call->has_exception = true;
}

static double steady_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The library asks often; Python is asked some twenty times a second. */
bool call_is_interrupted(void *user) {
  static const double interval = 0.05;
  Call *call = user;
  if (call->has_exception) return true;
  double now = steady_seconds();
  if (now < call->next_question) return false;
  call->next_question = now + interval;
  PyGILState_STATE state = PyGILState_Ensure();
  if (PyErr_CheckSignals() != 0) call_keep_exception(call);
  PyGILState_Release(state);
  return call->has_exception;
}

static void tell_log(void *user, RpinnLogLevel level, const char *line) {
  Call *call = user;
  if (call->has_exception) return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer = PyObject_CallFunction(tell_line, "is", (int)level, line);
  if (!answer) call_keep_exception(call);
  Py_XDECREF(answer);
  PyGILState_Release(state);
}

void call_tell_progress(void *user, const RpinnProgress *progress) {
  Call *call = user;
  if (!call->told || call->has_exception) return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer = PyObject_CallFunction(
      call->told, "sKKKKKdddddO", progress->unit, (unsigned long long)progress->done,
      (unsigned long long)progress->total, (unsigned long long)progress->failed,
      (unsigned long long)progress->divergences, (unsigned long long)progress->iterations, progress->loss_low,
      progress->loss_median, progress->loss_high, progress->seconds, progress->seconds_left,
      progress->last ? Py_True : Py_False);
  if (!answer) call_keep_exception(call);
  Py_XDECREF(answer);
  PyGILState_Release(state);
}

void call_tell_watched(void *user, const RpinnWatchedProgress *progress) {
  call_tell_progress(user, &(RpinnProgress){.unit = "iterations",
                                            .done = progress->done,
                                            .total = progress->total,
                                            .failed = progress->failed,
                                            .divergences = progress->divergences,
                                            .iterations = progress->done,
                                            .loss_low = Py_NAN,
                                            .loss_median = Py_NAN,
                                            .loss_high = Py_NAN,
                                            .seconds = progress->seconds,
                                            .seconds_left = progress->seconds_left,
                                            .last = progress->last});
}

/* ---- begin and end ---- */

bool call_begin(Call *call, PyObject *told) {
  *call = (Call){.context = rpinn_context_create(), .told = told == Py_None ? NULL : told};
  if (!call->context) {
    PyErr_NoMemory();
    return false;
  }
  rpinn_context_set_log(call->context, tell_log, call);
  rpinn_context_set_interrupted(call->context, call_is_interrupted, call);
  return true;
}

void call_release(Call *call) {
  call->thread = PyEval_SaveThread();
}

void call_retake(Call *call) {
  PyEval_RestoreThread(call->thread);
}

static void raise_error(const RpinnError *error, RpinnStatus status) {
  PyObject *answer = PyObject_CallFunction(
      raise_failure, "sssnn", rpinn_status_name(status),
      error->status == RPINN_OK || !error->message[0] ? rpinn_status_meaning(status) : error->message,
      error->file, (Py_ssize_t)error->line, (Py_ssize_t)error->column);
  Py_XDECREF(answer); /* it raises, always */
}

bool call_end(Call *call, RpinnStatus status) {
  if (call->has_exception)
    set_exception(call->exception);
  else if (status != RPINN_OK)
    raise_error(rpinn_context_error(call->context), status);
  rpinn_context_destroy(call->context);
  return !call->has_exception && status == RPINN_OK;
}

PyObject *call_end_text(Call *call, char *text) {
  RpinnStatus status = text ? RPINN_OK : rpinn_context_error(call->context)->status;
  if (!text && status == RPINN_OK) status = RPINN_ERROR_MEMORY;
  PyObject *result =
      call_end(call, status) ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : NULL;
  free(text);
  return result;
}
