/* What the library knows by itself: shipped problems, methods, settings, backends. */
#include "native.h"

static bool append_taken(PyObject *list, PyObject *row) {
  bool is_done = row && PyList_Append(list, row) == 0;
  Py_XDECREF(row);
  return is_done;
}

/* [(name, text)] */
static PyObject *shipped_problems(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < rpinn_shipped_count(); i++)
    if (!append_taken(list, Py_BuildValue("ss", rpinn_shipped_name(i), rpinn_shipped_text(i))))
      Py_CLEAR(list);
  return list;
}

/* [(name, summary)] */
static PyObject *method_list(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && rpinn_method_name(i); i++)
    if (!append_taken(list, Py_BuildValue("ss", rpinn_method_name(i), rpinn_method_description(i)->summary)))
      Py_CLEAR(list);
  return list;
}

/* [(name, choices, default, help)] */
static PyObject *setting_list(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (int k = 0; list && k < RPINN_NUM_SETTINGS; k++) {
    const RpinnSettingDefinition *definition = rpinn_setting_definition((RpinnSetting)k);
    if (!append_taken(list, Py_BuildValue("ssss", definition->name, definition->choices, definition->initial,
                                          definition->help)))
      Py_CLEAR(list);
  }
  return list;
}

/* describe_backend(name) -> what this machine has for it; raises where it has nothing */
static PyObject *describe_backend(PyObject *module, PyObject *argument) {
  (void)module;
  const char *name = PyUnicode_AsUTF8(argument);
  char text[512] = "";
  Call call;
  if (!name || !call_begin(&call, NULL)) return NULL;
  RpinnStatus status = rpinn_backend_describe(call.context, name, text, sizeof text);
  return call_end(&call, status) ? PyUnicode_FromString(text) : NULL;
}

static PyMethodDef functions[] = {
    {"shipped_problems", shipped_problems, METH_NOARGS, NULL},
    {"method_list", method_list, METH_NOARGS, NULL},
    {"setting_list", setting_list, METH_NOARGS, NULL},
    {"describe_backend", describe_backend, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int add_tables(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
