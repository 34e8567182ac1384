/* The module rpinn._native. */
#include "native.h"

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "rpinn._native",
                                 .m_doc = "The C library rpinn.", .m_size = -1};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (call_import() && add_problem(module) == 0 && add_posterior(module) == 0 && add_runs(module) == 0 &&
      add_studies(module) == 0 && add_samplers(module) == 0 && add_tables(module) == 0 &&
      PyModule_AddStringConstant(module, "version", rpinn_version()) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
