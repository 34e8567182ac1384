/* Arguments of Python as the library takes them: arrays of doubles without copies, and lists of texts. */
#include "native.h"

static bool read_buffer(PyObject *object, int flags, Py_ssize_t count, bool optional, const char *what,
                        Doubles *doubles) {
  *doubles = (Doubles){0};
  if (optional && object == Py_None) return true;
  if (PyObject_GetBuffer(object, &doubles->buffer, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0)
    return false;
  const char *format = doubles->buffer.format;
  Py_ssize_t found = doubles->buffer.len / (Py_ssize_t)sizeof(double);
  bool is_double = format && !strcmp(format, "d");
  if (is_double && (count < 0 || found == count)) {
    doubles->values = doubles->buffer.buf;
    doubles->count = (size_t)found;
    return true;
  }
  if (is_double)
    PyErr_Format(PyExc_ValueError, "%s has %zd numbers; expected %zd", what, found, count);
  else
    PyErr_Format(PyExc_TypeError, "%s has numbers of kind '%s'; expected double", what,
                 format ? format : "B");
  doubles_release(doubles);
  return false;
}

bool doubles_read(PyObject *object, Py_ssize_t count, bool optional, const char *what, Doubles *doubles) {
  return read_buffer(object, 0, count, optional, what, doubles);
}

bool doubles_write(PyObject *object, Py_ssize_t count, bool optional, const char *what, Doubles *doubles) {
  return read_buffer(object, PyBUF_WRITABLE, count, optional, what, doubles);
}

void doubles_release(Doubles *doubles) {
  if (doubles->buffer.obj) PyBuffer_Release(&doubles->buffer);
}

const char **texts_read(PyObject *sequence, size_t *count) {
  Py_ssize_t length = PySequence_Size(sequence);
  if (length < 0) return NULL;
  const char **texts = calloc((size_t)length + 1, sizeof *texts);
  if (!texts) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < length; i++) {
    PyObject *item = PySequence_GetItem(sequence, i);
    texts[i] = item ? PyUnicode_AsUTF8(item) : NULL;
    Py_XDECREF(item); /* the sequence keeps it */
    if (texts[i]) continue;
    free(texts);
    return NULL;
  }
  *count = (size_t)length;
  return texts;
}

PyObject *bytes_of_doubles(const double *values, size_t count) {
  return PyByteArray_FromStringAndSize((const char *)values, (Py_ssize_t)(count * sizeof *values));
}
