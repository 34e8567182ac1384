/* Backends to compare with `plain`: every one of the build in every precision that it has, and the mock ones. */
#ifndef RPINN_TESTS_BACKEND_BENCH_H
#define RPINN_TESTS_BACKEND_BENCH_H

#include "check.h"

#include "device.h"

#include "mock_backend.h"
#include "posterior.h"
#if defined(RPINN_TESTS_HAVE_EMULATED_DEVICE)
#include "emulated_device.h"
#endif

/* ---- numbers ---- */

static inline double *numbers(size_t count) {
  double *memory = calloc(count + 1, sizeof(double));
  assert_non_null(memory);
  return memory;
}

static inline double *copy_of(const double *from, size_t count) {
  double *memory = numbers(count);
  memcpy(memory, from, count * sizeof(double));
  return memory;
}

static inline double norm(const double *x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

static inline double distance(const double *x, const double *y, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}

/* ---- candidates ---- */

/* A backend in one precision. */
typedef struct Candidate {
  const char *name;
  const RpinnBackendOperations *operations;
  RpinnPrecision precision;
  double tolerance; /* of gradients, in relation to what they are without cancellation */
  bool is_mock;     /* seven times the work */
} Candidate;

enum { MAX_CANDIDATES = 32 };

static inline const char *precision_name(RpinnPrecision precision) {
#define PRECISION_NAME(value, word)                                                                          \
  if (precision == (value)) return word;
  RPINN_PRECISION_LIST(PRECISION_NAME)
#undef PRECISION_NAME
  return "?";
}

static inline void add_candidates(const char *name, const RpinnBackendOperations *operations, bool is_mock,
                                  Candidate *candidates, size_t *count) {
  static const double tolerances[] = {
      [RPINN_PRECISION_FLOAT] = 1e-5, [RPINN_PRECISION_DOUBLE] = 1e-12, [RPINN_PRECISION_TF32] = 1e-2};
  const char *only = getenv("RPINN_TEST_BACKEND"); /* the name of the one to try */
  if (only && strcmp(only, name)) return;
  for (unsigned precision = 0; precision < sizeof tolerances / sizeof tolerances[0]; precision++) {
    if (!(operations->precisions >> precision & 1)) continue;
    assert_true(*count < MAX_CANDIDATES);
    candidates[(*count)++] = (Candidate){name, operations, precision, tolerances[precision], is_mock};
  }
}

/* Is there one? Says so where there is none. */
static inline bool has_gpu(void) {
  RpinnContext *context = rpinn_context_create();
  assert_non_null(context);
  RpinnStatus status = rpinn_cuda_device_find(context, NULL, NULL);
  if (status != RPINN_OK) print_message("skipped: %s\n", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return status == RPINN_OK;
}

/* Those of the build that this machine can run, in the order of the list. */
static inline size_t built_candidates(Candidate candidates[MAX_CANDIDATES]) {
  static const char *const names[] = {
#define BACKEND_NAME(operations, name) name,
      RPINN_BACKEND_LIST(BACKEND_NAME)
#undef BACKEND_NAME
  };
  size_t count = 0;
  for (size_t i = 0; rpinn_backend_at(i); i++)
    if (rpinn_backend_at(i) != &rpinn_cuda_backend || has_gpu())
      add_candidates(names[i], rpinn_backend_at(i), false, candidates, &count);
  return count;
}

/* … and the mock ones. */
static inline size_t all_candidates(Candidate candidates[MAX_CANDIDATES]) {
  size_t count = built_candidates(candidates);
#if defined(RPINN_TESTS_HAVE_EMULATED_DEVICE)
  add_candidates("emulated cuda", &emulated_cuda_backend, false, candidates, &count);
#endif
  add_candidates("mock", &mock_backend, true, candidates, &count);
  add_candidates("bare mock", &mock_bare_backend, true, candidates, &count);
  add_candidates("mock of plain", &mock_plain_backend, true, candidates, &count);
  return count;
}

/* ---- problems ---- */

/* A problem with its posterior on `plain`, and one candidate at a time. */
typedef struct Subject {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *oracle;
  const RpinnEnergyModel *model; /* of the oracle */
  size_t M, N;
  Candidate candidate;
  RpinnBackend *backend; /* of the candidate */
} Subject;

static inline void require(const Subject *subject, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s on %s: %s",
             subject->problem ? rpinn_problem_name(subject->problem) : "?",
             subject->candidate.name ? subject->candidate.name : "plain",
             rpinn_context_error(subject->context)->message);
}

static inline Subject open_subject(const char *path) {
  Subject subject = {.context = rpinn_context_create()};
  RpinnOverride overrides[] = {{"backend", "plain", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
  require(&subject, rpinn_problem_load(subject.context, path, &options, &subject.problem));
  require(&subject, rpinn_posterior_create(subject.context, subject.problem, false, &subject.oracle));
  subject.model = &subject.oracle->model;
  subject.M = subject.model->num_rows;
  subject.N = subject.model->num_parameters;
  return subject;
}

static inline void close_subject(Subject *subject) {
  rpinn_backend_destroy(subject->backend);
  rpinn_posterior_destroy(subject->oracle);
  rpinn_problem_destroy(subject->problem);
  rpinn_context_destroy(subject->context);
}

/* Compare this one from now on. */
static inline void take_candidate(Subject *subject, const Candidate *candidate) {
  rpinn_backend_destroy(subject->backend);
  subject->candidate = *candidate;
  require(subject, candidate->operations->create(subject->context, subject->model, candidate->precision,
                                                 &subject->backend));
}

/* "problem, backend, precision" */
static inline const char *title_of(const Subject *subject) {
  static char title[256];
  snprintf(title, sizeof title, "%s, %s, %s", rpinn_problem_name(subject->problem), subject->candidate.name,
           precision_name(subject->candidate.precision));
  return title;
}

/* theta as every backend sees it: those in float round it, and the comparison is not about that. */
static inline void round_numbers(double *theta, size_t count) {
  for (size_t j = 0; j < count; j++) theta[j] = (double)(float)theta[j];
}

/* The required functions alone, so that the rest is composed; the backend's own table comes back with take_candidate or
 * by hand. bare must outlive that. */
static inline void strip(RpinnBackend *backend, RpinnBackendOperations *bare) {
  *bare = (RpinnBackendOperations){.destroy = backend->operations->destroy,
                                   .energies = backend->operations->energies,
                                   .evaluate = backend->operations->evaluate,
                                   .residuals = backend->operations->residuals};
  backend->operations = bare;
}

#endif
