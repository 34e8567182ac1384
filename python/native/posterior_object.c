/* _native.Posterior: energies, gradients, rows and Jacobians.
 *
 * A posterior of the library is used by one thread at a time. Here any number of threads may call: each takes a desk, a posterior with
 * a context of its own, that is idle, or has a further one made that shares all but work space. The GIL guards the list of idle desks. */
#include "native.h"

typedef struct Desk {
  RpinnContext *context;
  RpinnPosterior *posterior;
} Desk;

typedef struct PosteriorObject {
  PyObject_HEAD PyObject *problem; /* outlives the posteriors */
  RpinnPosterior *first;
  size_t num_desks, num_idle;
  Desk *desks;  /* [num_desks] all of them, the first one's posterior is `first` */
  size_t *idle; /* [num_idle] numbers of those that nobody has */
} PosteriorObject;

/* ---- desks ---- */

/* Room for one more, with the GIL; false with an exception. */
static bool make_room(PosteriorObject *self) {
  size_t wanted = self->num_desks + 1;
  Desk *desks = realloc(self->desks, wanted * sizeof *desks);
  if (desks) self->desks = desks;
  size_t *idle = realloc(self->idle, wanted * sizeof *idle);
  if (idle) self->idle = idle;
  if (!desks || !idle) PyErr_NoMemory();
  return desks && idle;
}

/* Takes the failure of a call on a context over into one on an exception. */
static PyObject *raise_from(RpinnContext *context, RpinnStatus status) {
  Call call = {.context = context};
  call_end(&call, status);
  return NULL;
}

static bool add_desk(PosteriorObject *self, Desk desk) {
  if (!make_room(self)) {
    if (desk.posterior != self->first) rpinn_posterior_destroy(desk.posterior);
    rpinn_context_destroy(desk.context);
    return false;
  }
  self->idle[self->num_idle++] = self->num_desks;
  self->desks[self->num_desks++] = desk;
  return true;
}

static bool make_desk(PosteriorObject *self) {
  Desk desk = {.context = rpinn_context_create()};
  if (!desk.context) return PyErr_NoMemory() != NULL;
  RpinnStatus status;
  Py_BEGIN_ALLOW_THREADS status = rpinn_posterior_share(desk.context, self->first, &desk.posterior);
  Py_END_ALLOW_THREADS return status == RPINN_OK ? add_desk(self, desk)
                                                 : raise_from(desk.context, status) != NULL;
}

/* A desk that the caller has for itself; false with an exception. While one is made, others may take it. */
static bool take_desk(PosteriorObject *self, size_t *number) {
  while (!self->num_idle)
    if (!make_desk(self)) return false;
  *number = self->idle[--self->num_idle];
  return true;
}

/* Gives it back. true: nothing failed; else the exception is set. */
static bool return_desk(PosteriorObject *self, size_t number, RpinnStatus status) {
  RpinnContext *context = self->desks[number].context;
  self->idle[self->num_idle++] = number;
  if (status == RPINN_OK) return true;
  self->desks[number].context = rpinn_context_create(); /* the other one goes with its message */
  if (!self->desks[number].context) self->num_idle--;   /* nobody gets this desk again */
  raise_from(context, status);
  return false;
}

/* ---- made and destroyed ---- */

static PyObject *posterior_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *problem;
  Call call;
  RpinnContext *context = NULL;
  if (keywords && PyDict_Size(keywords)) return PyErr_Format(PyExc_TypeError, "no keywords are expected");
  if (!PyArg_ParseTuple(arguments, "O!", problem_type, &problem)) return NULL;
  PosteriorObject *self = (PosteriorObject *)type->tp_alloc(type, 0);
  if (!self || !call_begin(&call, NULL)) {
    Py_XDECREF(self);
    return NULL;
  }
  self->problem = Py_NewRef(problem);
  call_release(&call);
  RpinnStatus status =
      rpinn_posterior_create(call.context, ((ProblemObject *)problem)->problem, true, &self->first);
  if (status == RPINN_OK) status = rpinn_posterior_require_known(call.context, self->first);
  context = rpinn_context_create();
  call_retake(&call);
  bool is_known = call_end(&call, status);
  if (!is_known) rpinn_context_destroy(context);
  if (is_known && !context) PyErr_NoMemory();
  if (is_known && context && add_desk(self, (Desk){.context = context, .posterior = self->first}))
    return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void posterior_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PosteriorObject *self = (PosteriorObject *)object;
  for (size_t k = 0; k < self->num_desks; k++) {
    if (self->desks[k].posterior != self->first) rpinn_posterior_destroy(self->desks[k].posterior);
    rpinn_context_destroy(self->desks[k].context);
  }
  rpinn_posterior_destroy(self->first);
  free(self->desks);
  free(self->idle);
  Py_XDECREF(self->problem);
  type->tp_free(object);
  Py_DECREF(type);
}

/* ---- values ---- */

static Py_ssize_t num_parameters(const PosteriorObject *self) {
  return (Py_ssize_t)rpinn_posterior_num_parameters(self->first);
}
static Py_ssize_t num_rows(const PosteriorObject *self) {
  return (Py_ssize_t)rpinn_posterior_num_rows(self->first);
}
static Py_ssize_t num_terms(const PosteriorObject *self) {
  return (Py_ssize_t)rpinn_posterior_num_terms(self->first);
}

/* count vectors of `width` numbers each: how many numbers; -1 with an exception where that cannot be. */
static Py_ssize_t times(Py_ssize_t count, Py_ssize_t width) {
  if (count >= 0 && (!width || count <= PY_SSIZE_T_MAX / 8 / width)) return count * width;
  PyErr_SetString(PyExc_ValueError, "no such number of parameter vectors");
  return -1;
}

/* energy(theta [N]) -> float: the short way */
static PyObject *posterior_energy(PyObject *object, PyObject *argument) {
  PosteriorObject *self = (PosteriorObject *)object;
  Doubles theta;
  size_t number;
  double energy;
  if (!doubles_read(argument, num_parameters(self), false, "theta", &theta)) return NULL;
  if (!take_desk(self, &number)) {
    doubles_release(&theta);
    return NULL;
  }
  const Desk desk = self->desks[number];
  RpinnStatus status;
  Py_BEGIN_ALLOW_THREADS status =
      rpinn_posterior_energy(desk.context, desk.posterior, theta.values, NULL, &energy, NULL, NULL);
  Py_END_ALLOW_THREADS doubles_release(&theta);
  return return_desk(self, number, status) ? PyFloat_FromDouble(energy) : NULL;
}

/* energies(count, thetas [count][N], offsets [count][M+N] or None, energies [count], gradients [count][N] or None,
 * term_energies [count][T+1] or None) */
static PyObject *posterior_energies(PyObject *object, PyObject *const *arguments, Py_ssize_t num_arguments) {
  PosteriorObject *self = (PosteriorObject *)object;
  Doubles theta = {0}, offsets = {0}, energies = {0}, gradients = {0}, parts = {0};
  size_t number;
  PyObject *result = NULL;
  if (num_arguments != 6) return PyErr_Format(PyExc_TypeError, "energies takes 6 arguments");
  Py_ssize_t count = PyLong_AsSsize_t(arguments[0]);
  if ((count == -1 && PyErr_Occurred()) || times(count, num_rows(self) + num_parameters(self)) < 0)
    return NULL;
  if (doubles_read(arguments[1], count * num_parameters(self), false, "theta", &theta) &&
      doubles_read(arguments[2], count * (num_rows(self) + num_parameters(self)), true, "offsets",
                   &offsets) &&
      doubles_write(arguments[3], count, false, "energies", &energies) &&
      doubles_write(arguments[4], count * num_parameters(self), true, "gradients", &gradients) &&
      doubles_write(arguments[5], count * (num_terms(self) + 1), true, "energies of terms", &parts) &&
      take_desk(self, &number)) {
    const Desk desk = self->desks[number];
    RpinnStatus status;
    Py_BEGIN_ALLOW_THREADS status =
        rpinn_posterior_energy_batch(desk.context, desk.posterior, (size_t)count, theta.values,
                                     offsets.values, energies.values, gradients.values, parts.values);
    Py_END_ALLOW_THREADS if (return_desk(self, number, status)) result = Py_NewRef(Py_None);
  }
  doubles_release(&theta);
  doubles_release(&offsets);
  doubles_release(&energies);
  doubles_release(&gradients);
  doubles_release(&parts);
  return result;
}

/* residuals(count, thetas [count][N], rows [count][M], jacobians [count][M][N] or None) */
static PyObject *posterior_residuals(PyObject *object, PyObject *const *arguments, Py_ssize_t num_arguments) {
  PosteriorObject *self = (PosteriorObject *)object;
  Doubles theta = {0}, rows = {0}, jacobians = {0};
  size_t number;
  PyObject *result = NULL;
  if (num_arguments != 4) return PyErr_Format(PyExc_TypeError, "residuals takes 4 arguments");
  Py_ssize_t count = PyLong_AsSsize_t(arguments[0]);
  if ((count == -1 && PyErr_Occurred()) || times(count, num_rows(self) * num_parameters(self)) < 0)
    return NULL;
  if (doubles_read(arguments[1], count * num_parameters(self), false, "theta", &theta) &&
      doubles_write(arguments[2], count * num_rows(self), false, "rows", &rows) &&
      doubles_write(arguments[3], count * num_rows(self) * num_parameters(self), true, "jacobian",
                    &jacobians) &&
      take_desk(self, &number)) {
    const Desk desk = self->desks[number];
    RpinnStatus status;
    Py_BEGIN_ALLOW_THREADS status = rpinn_posterior_residual_batch(
        desk.context, desk.posterior, (size_t)count, theta.values, rows.values, jacobians.values);
    Py_END_ALLOW_THREADS if (return_desk(self, number, status)) result = Py_NewRef(Py_None);
  }
  doubles_release(&theta);
  doubles_release(&rows);
  doubles_release(&jacobians);
  return result;
}

/* ---- starts ---- */

typedef void Start(const RpinnPosterior *posterior, uint64_t member, double *theta);

static PyObject *start_at(PyObject *object, PyObject *arguments, Start *start) {
  PosteriorObject *self = (PosteriorObject *)object;
  unsigned long long member;
  PyObject *array;
  Doubles theta;
  if (!PyArg_ParseTuple(arguments, "KO", &member, &array) ||
      !doubles_write(array, num_parameters(self), false, "theta", &theta))
    return NULL;
  start(self->first, member, theta.values);
  doubles_release(&theta);
  Py_RETURN_NONE;
}

static void start_zero(const RpinnPosterior *posterior, uint64_t member, double *theta) {
  (void)member;
  rpinn_posterior_start_zero(posterior, theta);
}

/* start_KIND(member, theta [N]) */
static PyObject *posterior_start_glorot(PyObject *self, PyObject *arguments) {
  return start_at(self, arguments, rpinn_posterior_start_glorot);
}
static PyObject *posterior_start_normal(PyObject *self, PyObject *arguments) {
  return start_at(self, arguments, rpinn_posterior_start_normal);
}
static PyObject *posterior_start_zero(PyObject *self, PyObject *arguments) {
  return start_at(self, arguments, start_zero);
}

/* start_prior(offsets [M+N], theta [N]), theta as it is where there is no prior */
static PyObject *posterior_start_prior(PyObject *object, PyObject *arguments) {
  PosteriorObject *self = (PosteriorObject *)object;
  PyObject *shifts, *array;
  Doubles offsets = {0}, theta = {0};
  PyObject *result = NULL;
  if (PyArg_ParseTuple(arguments, "OO", &shifts, &array) &&
      doubles_read(shifts, num_rows(self) + num_parameters(self), false, "offsets", &offsets) &&
      doubles_write(array, num_parameters(self), false, "theta", &theta)) {
    rpinn_posterior_start_prior(self->first, offsets.values, theta.values);
    result = Py_NewRef(Py_None);
  }
  doubles_release(&offsets);
  doubles_release(&theta);
  return result;
}

/* draw_offsets(member, offsets [M+N]) */
static PyObject *posterior_draw_offsets(PyObject *object, PyObject *arguments) {
  PosteriorObject *self = (PosteriorObject *)object;
  unsigned long long member;
  PyObject *array;
  Doubles offsets;
  if (!PyArg_ParseTuple(arguments, "KO", &member, &array) ||
      !doubles_write(array, num_rows(self) + num_parameters(self), false, "offsets", &offsets))
    return NULL;
  rpinn_posterior_draw_offsets(self->first, member, offsets.values);
  doubles_release(&offsets);
  Py_RETURN_NONE;
}

/* ---- what it holds ---- */

static PyObject *get_num_parameters(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSsize_t(num_parameters((PosteriorObject *)self));
}
static PyObject *get_num_rows(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSsize_t(num_rows((PosteriorObject *)self));
}
static PyObject *get_prior_sigma(PyObject *self, void *unused) {
  (void)unused;
  return PyFloat_FromDouble(rpinn_posterior_prior_sigma(((PosteriorObject *)self)->first));
}
static PyObject *get_num_desks(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((PosteriorObject *)self)->num_desks);
}

/* {term: sigma} in the order of the terms. */
static PyObject *get_sigmas(PyObject *object, void *unused) {
  (void)unused;
  const RpinnPosterior *posterior = ((PosteriorObject *)object)->first;
  PyObject *sigmas = PyDict_New();
  for (size_t t = 0; sigmas && t < rpinn_posterior_num_terms(posterior); t++) {
    PyObject *sigma = PyFloat_FromDouble(rpinn_posterior_term_sigma(posterior, t));
    if (!sigma || PyDict_SetItemString(sigmas, rpinn_posterior_term_name(posterior, t), sigma) != 0)
      Py_CLEAR(sigmas);
    Py_XDECREF(sigma);
  }
  return sigmas;
}

static PyMethodDef methods[] = {
    {"energy", posterior_energy, METH_O, NULL},
    {"energies", (PyCFunction)(void (*)(void))posterior_energies, METH_FASTCALL, NULL},
    {"residuals", (PyCFunction)(void (*)(void))posterior_residuals, METH_FASTCALL, NULL},
    {"start_glorot", posterior_start_glorot, METH_VARARGS, NULL},
    {"start_normal", posterior_start_normal, METH_VARARGS, NULL},
    {"start_zero", posterior_start_zero, METH_VARARGS, NULL},
    {"start_prior", posterior_start_prior, METH_VARARGS, NULL},
    {"draw_offsets", posterior_draw_offsets, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef attributes[] = {
    {"num_parameters", get_num_parameters, NULL, NULL, NULL},
    {"num_rows", get_num_rows, NULL, NULL, NULL},
    {"sigmas", get_sigmas, NULL, NULL, NULL},
    {"prior_sigma", get_prior_sigma, NULL, NULL, NULL},
    {"num_desks", get_num_desks, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, posterior_new},
    {Py_tp_dealloc, posterior_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};
static PyType_Spec spec = {.name = "rpinn._native.Posterior",
                           .basicsize = sizeof(PosteriorObject),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

int add_posterior(PyObject *module) {
  PyObject *type = PyType_FromSpec(&spec);
  int status = type ? PyModule_AddObjectRef(module, "Posterior", type) : -1;
  Py_XDECREF(type);
  return status;
}
