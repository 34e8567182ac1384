/* The C library to Python: what the files of this folder share. The module rpinn._native has no conveniences: shapes, defaults and
 * texts for people are the business of the Python files beside it. */
#ifndef RPINN_PYTHON_NATIVE_H
#define RPINN_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "rpinn/rpinn.h"

/* ---- call.c: a call into the library ---- */

/* The GIL is released between call_release and call_retake. Callbacks take it for themselves, in whichever thread they come; an
 * exception in one of them, KeyboardInterrupt included, ends the work and is raised by the call. */
typedef struct Call {
  RpinnContext *context;
  PyObject *told; /* a function that is told how far the work is, or NULL; borrowed */
  PyThreadState *thread;
  bool has_exception;
  PyObject *exception;  /* of a callback */
  double next_question; /* when Python is asked for signals again, in steady seconds */
} Call;

/* false: out of memory, with the exception set, and nothing to end. told: may be NULL or None. */
bool call_begin(Call *call, PyObject *told);
void call_release(Call *call);
void call_retake(Call *call);
/* Ends the call. true: nothing failed; else the exception is set. */
bool call_end(Call *call, RpinnStatus status);
/* The same where NULL is what tells a failure; takes the text over. */
PyObject *call_end_text(Call *call, char *text);

/* For what asks whether an end is wanted; user is the call. */
bool call_is_interrupted(void *user);
/* For what tells how far it is: calls told(unit, done, total, failed, divergences, iterations, loss_low, loss_median, loss_high,
 * seconds, seconds_left, last). */
void call_tell_progress(void *user, const RpinnProgress *progress);
void call_tell_watched(void *user, const RpinnWatchedProgress *progress);
/* A callback of Python's failed, the GIL held: keep its exception. */
void call_keep_exception(Call *call);

/* rpinn._errors and rpinn._log, whose classes and functions are used; false with an exception. */
bool call_import(void);

/* ---- arguments.c ---- */

/* An array of doubles, contiguous in C order. buffer.obj is NULL where the argument was None. */
typedef struct Doubles {
  Py_buffer buffer;
  double *values; /* NULL where the argument was None */
  size_t count;
} Doubles;

/* count numbers, or any number where count is -1; None where it is optional. false with an exception. */
bool doubles_read(PyObject *object, Py_ssize_t count, bool optional, const char *what, Doubles *doubles);
/* The same for results: it must be writable. */
bool doubles_write(PyObject *object, Py_ssize_t count, bool optional, const char *what, Doubles *doubles);
void doubles_release(Doubles *doubles); /* accepts one that was not read */

/* Texts of a sequence of str, borrowed from it. NULL with an exception; the caller frees the array, of *count + 1 texts with NULL last. */
const char **texts_read(PyObject *sequence, size_t *count);

/* A bytearray with a copy of numbers. */
PyObject *bytes_of_doubles(const double *values, size_t count);

/* ---- problem_object.c ---- */

typedef struct ProblemObject {
  PyObject_HEAD RpinnProblem *problem;
} ProblemObject;

extern PyTypeObject *problem_type;

/* What a problem is loaded from, as Python has it: (name, files, preset, overrides, data_file, truth). */
typedef struct Loading {
  const char *name;
  RpinnProblemOptions options;
  RpinnFileInMemory *files;
  RpinnOverride *overrides;
} Loading;
bool loading_read(PyObject *source, Loading *loading);
void loading_free(Loading *loading);

/* ---- the parts of the module: each adds itself, -1 with an exception ---- */
int add_problem(PyObject *module);
int add_posterior(PyObject *module);
int add_runs(PyObject *module);
int add_studies(PyObject *module);
int add_samplers(PyObject *module);
int add_tables(PyObject *module);

#endif
