/* NUTS and SVGD on log densities that are Python functions. */
#include "native.h"

/* A log density: theta is laid into an array of Python's, the function is called without arguments, leaves the gradient in another
 * array, and returns the value. */
typedef struct Density {
  Call *call;
  PyObject *function;
  double *theta, *gradient; /* [count] */
  size_t count;
} Density;

static RpinnStatus evaluate(void *data, const double *theta, double *log_density, double *gradient) {
  Density *density = data;
  if (density->call->has_exception) return RPINN_ERROR_INTERRUPTED;
  PyGILState_STATE state = PyGILState_Ensure();
  memcpy(density->theta, theta, density->count * sizeof *theta);
  PyObject *answer = PyObject_CallNoArgs(density->function);
  *log_density = answer ? PyFloat_AsDouble(answer) : 0;
  Py_XDECREF(answer);
  bool has_failed = PyErr_Occurred() != NULL;
  if (has_failed) call_keep_exception(density->call);
  if (!has_failed && gradient) memcpy(gradient, density->gradient, density->count * sizeof *gradient);
  PyGILState_Release(state);
  return has_failed ? RPINN_ERROR_INTERRUPTED : RPINN_OK;
}

/* ---- NUTS ---- */

/* ---- draws that the library keeps, for its own judgement ---- */

static const char capsule_name[] = "rpinn.draws";

static void free_draws(PyObject *capsule) {
  rpinn_draws_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

/* diagnose_kept(draws, json, all) -> (text, healthy) */
static PyObject *diagnose_kept(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *capsule;
  int json, all;
  bool healthy = false;
  Call call;
  if (!PyArg_ParseTuple(arguments, "Opp", &capsule, &json, &all)) return NULL;
  const RpinnDraws *draws = PyCapsule_GetPointer(capsule, capsule_name);
  if (!draws || !call_begin(&call, NULL)) return NULL;
  const RpinnDiagnoseOptions options = {.json = json != 0, .all = all != 0};
  call_release(&call);
  char *text = rpinn_diagnose_draws(call.context, draws, &options, &healthy);
  call_retake(&call);
  PyObject *report = call_end_text(&call, text);
  return report ? Py_BuildValue("NO", report, healthy ? Py_True : Py_False) : NULL;
}

/* (parameters [chains][draws][N], {statistic: [chains][draws]}, the draws) of whole chains. Takes the draws over. */
static PyObject *draws_tuple(RpinnDraws *draws) {
  size_t count = rpinn_draws_count(draws), width = rpinn_draws_num_parameters(draws);
  PyObject *statistics = PyDict_New();
  PyObject *values = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * width * sizeof(double)));
  for (size_t i = 0; values && i < count; i++)
    memcpy(PyByteArray_AsString(values) + i * width * sizeof(double), rpinn_draws_get(draws, i).parameters,
           width * sizeof(double));
  for (size_t k = 0; statistics && values && k < rpinn_draws_num_statistics(draws); k++) {
    PyObject *column = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(double)));
    for (size_t i = 0; column && i < count; i++)
      memcpy(PyByteArray_AsString(column) + i * sizeof(double), &rpinn_draws_get(draws, i).statistics[k],
             sizeof(double));
    if (!column || PyDict_SetItemString(statistics, rpinn_draws_statistic_name(draws, k), column) != 0)
      Py_CLEAR(values);
    Py_XDECREF(column);
  }
  PyObject *capsule = statistics && values ? PyCapsule_New(draws, capsule_name, free_draws) : NULL;
  if (capsule) return Py_BuildValue("NNN", values, statistics, capsule);
  rpinn_draws_destroy(draws);
  Py_XDECREF(statistics);
  Py_XDECREF(values);
  return NULL;
}

static bool has_names(const char **names, size_t num_names, size_t num_parameters) {
  if (!names || num_names == num_parameters) return true;
  PyErr_Format(PyExc_ValueError, "%zu names of %zu parameters; expected one each", num_names, num_parameters);
  return false;
}

/* nuts(function, theta [N], gradient [N], warmup, draws, thin, metric, max_depth, first_step, target_acceptance, seed, chains,
 * starts [chains][N] or None, names or None, told) -> (parameters, statistics, draws). metric: a position among unit, diagonal, dense. */
static PyObject *nuts(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *function, *theta_array, *gradient_array, *starts_array, *list, *told, *result = NULL;
  const char **names = NULL;
  size_t num_names = 0;
  Py_ssize_t num_warmup, num_draws, thin, num_chains;
  int metric;
  unsigned max_depth;
  double first_step, target_acceptance;
  unsigned long long seed;
  Doubles theta = {0}, gradient = {0}, starts = {0};
  Call call;
  if (!PyArg_ParseTuple(arguments, "OOOnnniIddKnOOO", &function, &theta_array, &gradient_array, &num_warmup,
                        &num_draws, &thin, &metric, &max_depth, &first_step, &target_acceptance, &seed,
                        &num_chains, &starts_array, &list, &told) ||
      (list != Py_None && !(names = texts_read(list, &num_names))))
    return NULL;
  if (doubles_write(theta_array, -1, false, "theta", &theta) &&
      doubles_write(gradient_array, (Py_ssize_t)theta.count, false, "gradient", &gradient) &&
      doubles_read(starts_array, num_chains * (Py_ssize_t)theta.count, true, "starts", &starts) &&
      has_names(names, num_names, theta.count) && call_begin(&call, told)) {
    Density density = {&call, function, theta.values, gradient.values, theta.count};
    const RpinnLogDensity target = {.num_parameters = theta.count, .data = &density, .evaluate = evaluate};
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.num_warmup = (size_t)num_warmup;
    options.num_draws = (size_t)num_draws;
    options.thin = (size_t)thin;
    options.metric = (RpinnMetric)metric;
    options.max_depth = max_depth;
    options.first_step = first_step;
    options.target_acceptance = target_acceptance;
    const RpinnNutsChains chains = {
        .seed = seed,
        .num_chains = (size_t)num_chains,
        .starts = starts.values,
        .names = names,
        .watch = {.progress = call_tell_watched, .interrupted = call_is_interrupted, .user = &call}};
    RpinnDraws *draws = NULL;
    call_release(&call);
    RpinnStatus status = rpinn_nuts_sample_chains(call.context, 1, &target, &options, &chains, &draws);
    call_retake(&call);
    if (call_end(&call, status))
      result = draws_tuple(draws);
    else
      rpinn_draws_destroy(draws);
  }
  doubles_release(&theta);
  doubles_release(&gradient);
  doubles_release(&starts);
  free(names);
  return result;
}

/* ---- SVGD ---- */

/* All iterations, between which Python is asked for signals and told of progress. */
static RpinnStatus move_particles(Call *call, RpinnSvgd *svgd, const double *particles,
                                  size_t num_iterations) {
  RpinnStatus status = rpinn_svgd_start(call->context, svgd, particles);
  for (size_t i = 0; i < num_iterations && status == RPINN_OK; i++) {
    if (call_is_interrupted(call)) return RPINN_ERROR_INTERRUPTED;
    status = rpinn_svgd_advance(call->context, svgd, 1);
    call_tell_watched(call, &(RpinnWatchedProgress){.done = i + 1,
                                                    .total = num_iterations,
                                                    .seconds_left = Py_NAN,
                                                    .last = i + 1 == num_iterations});
  }
  return status;
}

/* svgd(function, theta [N], gradient [N], particles [n][N], iterations, adagrad, learning_rate, decay_rate, decay_steps, told)
 * -> (particles, log densities of the last iteration, bandwidth) */
static PyObject *svgd(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *function, *theta_array, *gradient_array, *particle_array, *told, *result = NULL;
  Py_ssize_t num_iterations;
  int adagrad;
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  Doubles theta = {0}, gradient = {0}, particles = {0};
  Call call;
  if (!PyArg_ParseTuple(arguments, "OOOOnpdddO", &function, &theta_array, &gradient_array, &particle_array,
                        &num_iterations, &adagrad, &options.rule.learning_rate, &options.rule.decay_rate,
                        &options.rule.decay_steps, &told))
    return NULL;
  if (doubles_write(theta_array, -1, false, "theta", &theta) &&
      doubles_write(gradient_array, (Py_ssize_t)theta.count, false, "gradient", &gradient) &&
      doubles_read(particle_array, -1, false, "particles", &particles) && call_begin(&call, told)) {
    Density density = {&call, function, theta.values, gradient.values, theta.count};
    const RpinnLogDensity target = {.num_parameters = theta.count, .data = &density, .evaluate = evaluate};
    RpinnSvgd *moved = NULL;
    options.num_particles = theta.count ? particles.count / theta.count : 0;
    options.optimizer = adagrad ? RPINN_SVGD_ADAGRAD : RPINN_SVGD_ADAM;
    call_release(&call);
    RpinnStatus status = rpinn_svgd_create(call.context, 1, &target, &options, &moved);
    if (status == RPINN_OK) status = move_particles(&call, moved, particles.values, (size_t)num_iterations);
    call_retake(&call);
    if (call_end(&call, status))
      result = Py_BuildValue("NNd", bytes_of_doubles(rpinn_svgd_particles(moved), particles.count),
                             bytes_of_doubles(rpinn_svgd_log_densities(moved), options.num_particles),
                             rpinn_svgd_bandwidth(moved));
    rpinn_svgd_destroy(moved);
  }
  doubles_release(&theta);
  doubles_release(&gradient);
  doubles_release(&particles);
  return result;
}

static PyMethodDef functions[] = {
    {"diagnose_kept", diagnose_kept, METH_VARARGS, NULL},
    {"nuts", nuts, METH_VARARGS, NULL},
    {"svgd", svgd, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_samplers(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
