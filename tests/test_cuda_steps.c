/* Steps of Levenberg–Marquardt that the backend `cuda` takes by itself, on the emulated device and on a GPU where there is one: they are
 * what dense algebra makes of the Jacobian of `plain`, and have the same bits alone, in a batch and in reverse; whole minimisations end
 * where those of `cpu` do, with and without a library of products, and with little memory. */
#include "problem_folder.h"

#include "backend_bench.h"
#include "cuda_engine.h"
#include "dense_algebra.h"
#include "rpinn/optimize.h"

enum { MEMBERS = EMULATED_GROUP, ITERATIONS = 12 };

/* ---- subjects ---- */

/* Sizes on both sides of those of panels (32), strips (64) and blocks of products (256), rows that mix points, unknowns. */
static const struct {
  const char *problem, *setting, *value;
} cases[] = {{"poisson-linear", NULL, NULL},
             {"poisson-linear", "Nf", "300"},
             {"poisson-nonlinear", "Nf", "63"},
             {"tests/problems/gaussian-term.yaml", NULL, NULL},
             {"tests/problems/reaction.yaml", NULL, NULL},
             {"tests/problems/all-in-one.yaml", NULL, NULL}};
enum { NUM_CASES = sizeof cases / sizeof cases[0] };

static Subject open_case(size_t index) {
  Subject subject = {.context = rpinn_context_create()};
  char path[PATH_SIZE];
  bool is_file = strchr(cases[index].problem, '/') != NULL;
  RpinnOverride overrides[] = {{"backend", "plain", "test", true},
                               {cases[index].setting, cases[index].value, "test", false}};
  RpinnProblemOptions options = {.num_overrides = cases[index].setting ? 2 : 1, .overrides = overrides};
  snprintf(path, sizeof path, "%s%s%s", is_file ? source_folder() : "", is_file ? "/" : "",
           cases[index].problem);
  require(&subject, rpinn_problem_load(subject.context, path, &options, &subject.problem));
  require(&subject, rpinn_posterior_create(subject.context, subject.problem, false, &subject.oracle));
  subject.model = &subject.oracle->model;
  subject.M = subject.model->num_rows;
  subject.N = subject.model->num_parameters;
  return subject;
}

/* Those that take such steps. */
static size_t step_candidates(Candidate candidates[MAX_CANDIDATES]) {
  size_t count = 0;
  if (has_gpu()) add_candidates("cuda", &rpinn_cuda_backend, false, candidates, &count);
  add_candidates("emulated cuda", &emulated_cuda_backend, false, candidates, &count);
  return count;
}

/* ---- steps ---- */

typedef struct Steps {
  RpinnBatchMember members[MEMBERS];
  RpinnDampedStep all[MEMBERS];
  double *theta[MEMBERS], *row_scale[MEMBERS], *inverse[MEMBERS], *rows[MEMBERS], *pull[MEMBERS];
} Steps;

/* All differ; the second has no pull, the third wants the trace alone, the last has the model's scales. */
static Steps *make_steps(const Subject *subject) {
  Steps *steps = calloc(1, sizeof *steps);
  size_t M = subject->M, N = subject->N;
  assert_non_null(steps);
  for (size_t k = 0; k < MEMBERS; k++) {
    RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_CHECK, k, 0);
    steps->theta[k] = numbers(N);
    steps->row_scale[k] = numbers(M);
    steps->inverse[k] = numbers(N);
    steps->rows[k] = numbers(M);
    steps->pull[k] = numbers(N);
    rpinn_posterior_start_glorot(subject->oracle, k, steps->theta[k]);
    round_numbers(steps->theta[k], N);
    rpinn_stream_normals(&stream, M, steps->rows[k]);
    rpinn_stream_normals(&stream, N, steps->pull[k]);
    for (size_t i = 0; i < M; i++)
      steps->row_scale[k][i] = subject->model->row_scale[i] * exp(0.5 * rpinn_stream_normal(&stream));
    for (size_t j = 0; j < N; j++) steps->inverse[k][j] = 0.01 * exp(rpinn_stream_normal(&stream));
    steps->members[k] = (RpinnBatchMember){.theta = steps->theta[k], .row_scale = steps->row_scale[k]};
    steps->all[k] = (RpinnDampedStep){.inverse = steps->inverse[k],
                                      .rows = steps->rows[k],
                                      .pull = k == 1 ? NULL : steps->pull[k],
                                      .step = k == 2 ? NULL : numbers(N)};
  }
  steps->members[MEMBERS - 1].row_scale = NULL;
  return steps;
}

static void free_steps(Steps *steps) {
  for (size_t k = 0; k < MEMBERS; k++) {
    double *parts[] = {steps->theta[k], steps->row_scale[k], steps->inverse[k],
                       steps->rows[k],  steps->pull[k],      steps->all[k].step};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  }
  free(steps);
}

/* Members [first, first + count) in one call, the last one first where `backwards`. */
static void take_steps(Subject *subject, Steps *steps, size_t first, size_t count, bool backwards) {
  RpinnBatchMember members[MEMBERS];
  RpinnDampedStep *all[MEMBERS];
  for (size_t k = 0; k < count; k++) {
    size_t own = first + (backwards ? count - 1 - k : k);
    members[k] = steps->members[own];
    all[k] = &steps->all[own];
  }
  require(subject, subject->backend->operations->damped_steps(subject->context, subject->backend,
                                                              &(RpinnMemberBatch){count, members}, all));
}

/* The step of one member from the Jacobian of `plain`; returns the trace. */
static double expect_step(Subject *subject, const Steps *steps, size_t k, double *expected) {
  size_t M = subject->M, N = subject->N;
  const RpinnDampedStep *step = &steps->all[k];
  double *J = numbers(M * N), *rows = numbers(M), *matrix = numbers(M * M), *y = copy_of(step->rows, M),
         trace = 0;
  require(subject, rpinn_backend_residuals(subject->context, subject->oracle->backend,
                                           &(RpinnMemberBatch){1, &steps->members[k]}, &rows, &J));
  for (size_t i = 0; i < M; i++) {
    for (size_t l = 0; l <= i; l++)
      for (size_t j = 0; j < N; j++) matrix[i * M + l] += J[i * N + j] * step->inverse[j] * J[l * N + j];
    trace += matrix[i * M + i];
    matrix[i * M + i] += 1;
    for (size_t j = 0; step->pull && j < N; j++) y[i] -= J[i * N + j] * step->inverse[j] * step->pull[j];
  }
  assert_true(rpinn_dense_solve(M, matrix, y));
  rpinn_dense_transposed_times(M, N, J, y, expected);
  for (size_t j = 0; j < N; j++)
    expected[j] = -step->inverse[j] * (expected[j] + (step->pull ? step->pull[j] : 0));
  free(J);
  free(rows);
  free(matrix);
  free(y);
  return trace;
}

static void steps_are_those_of_dense_algebra(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  size_t count = step_candidates(candidates);
  for (size_t i = 0; i < NUM_CASES; i++) {
    Subject subject = open_case(i);
    double *expected = numbers(subject.N), worst;
    for (size_t c = 0; c < count; c++) {
      bool is_double = candidates[c].precision == RPINN_PRECISION_DOUBLE;
      Steps *steps = make_steps(&subject);
      take_candidate(&subject, &candidates[c]);
      take_steps(&subject, steps, 0, MEMBERS, false);
      worst = 0;
      for (size_t k = 0; k < 4; k++) {
        double trace = expect_step(&subject, steps, k, expected);
        check_relative(steps->all[k].trace, trace, is_double ? 1e-11 : 1e-5);
        assert_int_equal(steps->all[k].solved, k != 2);
        if (k == 2) continue;
        double error = distance(steps->all[k].step, expected, subject.N) / norm(expected, subject.N);
        worst = error > worst || error != error ? error : worst;
      }
      print_message("%s, M = %zu: %.1e\n", title_of(&subject), subject.M, worst);
      check_true(worst < (is_double ? 1e-9 : 2e-3), "%s: error %g", title_of(&subject), worst);
      free_steps(steps);
    }
    free(expected);
    close_subject(&subject);
  }
}

static void members_have_the_same_bits_in_any_batch(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  size_t count = step_candidates(candidates);
  for (size_t i = 0; i < NUM_CASES; i++)
    for (size_t c = 0; c < count; c++) {
      Subject subject = open_case(i);
      Steps *together = make_steps(&subject), *reversed = make_steps(&subject), *alone = make_steps(&subject);
      take_candidate(&subject, &candidates[c]);
      take_steps(&subject, together, 0, MEMBERS, false);
      take_steps(&subject, reversed, 0, MEMBERS, true);
      for (size_t k = 0; k < MEMBERS; k++) {
        const RpinnDampedStep *own = &together->all[k], *other = &reversed->all[k], *single = &alone->all[k];
        take_steps(&subject, alone, k, 1, false);
        check_true(own->trace == other->trace && own->trace == single->trace, "%s: trace of member %zu",
                   title_of(&subject), k);
        if (!own->step) continue;
        check_true(!memcmp(own->step, other->step, subject.N * sizeof(double)),
                   "%s: member %zu differs in reverse", title_of(&subject), k);
        check_true(!memcmp(own->step, single->step, subject.N * sizeof(double)),
                   "%s: member %zu differs alone", title_of(&subject), k);
      }
      free_steps(together);
      free_steps(reversed);
      free_steps(alone);
      close_subject(&subject);
    }
}

/* A matrix that is not finite is not solved, and its neighbours are. */
static void what_cannot_be_solved_is_said(void **state) {
  (void)state;
  Subject subject = open_case(0);
  Candidate candidates[MAX_CANDIDATES];
  size_t count = step_candidates(candidates);
  for (size_t c = 0; c < count; c++) {
    Steps *steps = make_steps(&subject);
    steps->inverse[4][subject.N / 2] = NAN;
    take_candidate(&subject, &candidates[c]);
    take_steps(&subject, steps, 0, MEMBERS, false);
    for (size_t k = 0; k < MEMBERS; k++) assert_int_equal(steps->all[k].solved, k != 4 && k != 2);
    free_steps(steps);
  }
  close_subject(&subject);
}

/* ---- minimisations ---- */

typedef struct Log {
  size_t num_lines;
  char last[512];
} Log;

static void note_line(void *user, RpinnLogLevel level, const char *message) {
  Log *log = user;
  (void)level;
  log->num_lines++;
  snprintf(log->last, sizeof log->last, "%s", message);
}

/* Loss after some iterations from the start of member 3, on a backend in double. theta [N]: the end. */
static double minimise(Subject *subject, const RpinnBackendOperations *operations, double *theta) {
  const RpinnBackendOperations *own = &rpinn_cpu_backend;
  RpinnOverride overrides[] = {{"backend", "cpu", "test", true}, {"precision", "double", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnOptimizer *optimizer;
  char path[PATH_SIZE];
  rpinn_backend_replace(own, operations == own ? NULL : operations);
  snprintf(path, sizeof path, "%s", rpinn_problem_name(subject->problem));
  require(subject, rpinn_problem_load(subject->context, path, &options, &problem));
  require(subject, rpinn_posterior_create(subject->context, problem, false, &posterior));
  rpinn_backend_replace(own, NULL);
  double *offsets = numbers(subject->M + subject->N);
  RpinnPosteriorMember member = {.posterior = posterior, .context = subject->context, .offsets = offsets};
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  rpinn_posterior_draw_offsets(posterior, 3, offsets);
  rpinn_posterior_start_glorot(posterior, 3, theta);
  lm.stop.max_iterations = ITERATIONS;
  require(subject, rpinn_levenberg_marquardt_create(subject->context, &squares, offsets, &lm, &optimizer));
  require(subject, rpinn_optimizer_start(subject->context, optimizer, theta));
  require(subject, rpinn_optimizer_advance(subject->context, optimizer, ITERATIONS));
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  memcpy(theta, optimum.theta, subject->N * sizeof *theta);
  double loss = optimum.loss;
  rpinn_optimizer_destroy(optimizer);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  free(offsets);
  return loss;
}

static void minimisations_end_where_those_of_cpu_do(void **state) {
  (void)state;
  static const char *const names[] = {"poisson-linear", "poisson-nonlinear"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    Subject subject = open_subject(names[i]);
    Log log = {0};
    double *theta = numbers(subject.N), *own = numbers(subject.N), *other = numbers(subject.N);
    double start, right = minimise(&subject, &rpinn_cpu_backend, theta),
                  *offsets = numbers(subject.M + subject.N);
    rpinn_posterior_start_glorot(subject.oracle, 3, own);
    rpinn_posterior_draw_offsets(subject.oracle, 3, offsets);
    require(&subject,
            rpinn_posterior_energy(subject.context, subject.oracle, own, offsets, &start, NULL, NULL));
    print_message("%s: from %.9g to %.9g\n", names[i], start, right);
    assert_true(right < 0.5 * start); /* something was done */
    check_relative(minimise(&subject, &emulated_cuda_backend, own), right, 1e-6);
    assert_true(distance(own, theta, subject.N) < 1e-3 * norm(theta, subject.N));
    emulated_device_lack_products(true);
    rpinn_context_set_log(subject.context, note_line, &log);
    check_relative(minimise(&subject, &emulated_cuda_backend, other), right, 1e-6);
    emulated_device_lack_products(false);
    assert_non_null(strstr(log.last, "there is no cuBLAS"));
    assert_true(memcmp(own, other, subject.N * sizeof *own) != 0); /* they went another way */
    if (has_gpu()) check_relative(minimise(&subject, &rpinn_cuda_backend, other), right, 1e-6);
    free(theta);
    free(own);
    free(other);
    free(offsets);
    close_subject(&subject);
  }
}

/* ---- memory ---- */

/* A device that has room for two members at a time says so, and gives the same bits; one without room for one fails. */
static void little_memory_cuts_batches(void **state) {
  (void)state;
  Subject subject = open_case(0);
  Candidate candidate = {"emulated cuda", &emulated_cuda_backend, RPINN_PRECISION_FLOAT, 1e-5, false};
  Steps *ample = make_steps(&subject), *scarce = make_steps(&subject);
  Log log = {0};
  size_t M = subject.M, N = subject.N, of_member = M * N * sizeof(float),
         of_chunk = 16 * (M + 1) * (N + 3) / 4 * 4 * sizeof(double);
  rpinn_context_set_log(subject.context, note_line, &log);
  take_candidate(&subject, &candidate);
  take_steps(&subject, ample, 0, MEMBERS, false);
  assert_int_equal(log.num_lines, 0);
  take_candidate(&subject, &candidate);
  emulated_device_have_memory(of_chunk + 6 * of_member);
  take_steps(&subject, scarce, 0, MEMBERS, false);
  assert_int_equal(((const RpinnCudaEngine *)subject.backend)->most_members > 0, 1);
  assert_non_null(strstr(log.last, "the GPU has no memory for"));
  for (size_t k = 0; k < MEMBERS; k++)
    assert_true(!ample->all[k].step || !memcmp(ample->all[k].step, scarce->all[k].step, N * sizeof(double)));
  take_candidate(&subject, &candidate);
  emulated_device_have_memory(of_chunk);
  RpinnDampedStep *one = &scarce->all[0];
  assert_int_equal(subject.backend->operations->damped_steps(subject.context, subject.backend,
                                                             &(RpinnMemberBatch){1, scarce->members}, &one),
                   RPINN_ERROR_DEVICE);
  assert_string_equal(rpinn_context_error(subject.context)->message, "the emulated device is out of memory");
  emulated_device_have_memory(SIZE_MAX);
  free_steps(ample);
  free_steps(scarce);
  close_subject(&subject);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_those_of_dense_algebra),
                                     cmocka_unit_test(members_have_the_same_bits_in_any_batch),
                                     cmocka_unit_test(what_cannot_be_solved_is_said),
                                     cmocka_unit_test(minimisations_end_where_those_of_cpu_do),
                                     cmocka_unit_test(little_memory_cuts_batches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
