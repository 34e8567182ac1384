/* Every backend gives what `plain` gives, on every problem file of the tree, at the start and after a long
 * Adam run.
 *
 * A gradient is a sum of many terms that cancel near a minimum, so its error is measured against what it
 * could be without cancellation: | g - g_plain | / | |J|^T |r| + |prior rows| |. A row that mixes points is such a sum
 * itself, and its |J| is |mix| |J of the points|. */
#include "problem_folder.h"

#include "posterior.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { LONG_RUN = SANITIZED ? 40 : 2000 };

typedef struct Subject {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *oracle; /* plain */
  RpinnBackend *backend;
  size_t M, N;
  double *theta, *offsets, *scale;
  double tolerance; /* of gradients */
} Subject;

static const double gradient_tolerance[] = {1e-5, 1e-12}; /* float, double */

static double *numbers(size_t count) {
  double *memory = calloc(count + 1, sizeof(double));
  assert_non_null(memory);
  return memory;
}

static void require(const Subject *subject, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s: %s", subject->problem ? rpinn_problem_name(subject->problem) : "?",
             rpinn_context_error(subject->context)->message);
}

static Subject open_subject(const char *path, RpinnPrecision precision) {
  Subject subject = {.context = rpinn_context_create(), .tolerance = gradient_tolerance[precision]};
  RpinnOverride overrides[] = {{"backend", "plain", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
  require(&subject, rpinn_problem_load(subject.context, path, &options, &subject.problem));
  require(&subject, rpinn_posterior_create(subject.context, subject.problem, false, &subject.oracle));
  require(&subject,
          rpinn_cpu_backend.create(subject.context, &subject.oracle->model, precision, &subject.backend));
  subject.M = subject.oracle->model.num_rows;
  subject.N = subject.oracle->model.num_parameters;
  subject.theta = numbers(subject.N);
  subject.offsets = numbers(subject.M + subject.N);
  subject.scale = numbers(subject.N);
  rpinn_posterior_start_glorot(subject.oracle, 0, subject.theta);
  rpinn_posterior_draw_offsets(subject.oracle, 0, subject.offsets);
  return subject;
}

static void close_subject(Subject *subject) {
  free(subject->theta);
  free(subject->offsets);
  free(subject->scale);
  rpinn_backend_destroy(subject->backend);
  rpinn_posterior_destroy(subject->oracle);
  rpinn_problem_destroy(subject->problem);
  rpinn_context_destroy(subject->context);
}

static double norm(const double *x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

static double distance(const double *x, const double *y, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}

/* theta as the backend sees it: float backends round it, and the comparison is not about that. */
static void round_theta(Subject *subject) {
  if (subject->tolerance > 1e-8)
    for (size_t j = 0; j < subject->N; j++) subject->theta[j] = (double)(float)subject->theta[j];
}

/* J [points of all terms][N] without mixing, at theta. */
static double *point_jacobian(Subject *subject) {
  RpinnEnergyModel model = subject->oracle->model;
  RpinnTermModel *terms = calloc(model.num_terms, sizeof *terms);
  RpinnBackend *backend;
  assert_non_null(terms);
  double *scales = NULL;
  model.terms = terms;
  model.num_rows = 0;
  for (size_t t = 0; t < model.num_terms; t++) {
    terms[t] = subject->oracle->model.terms[t];
    terms[t].mix = NULL;
    terms[t].first_row = model.num_rows;
    model.num_rows += terms[t].num_rows = terms[t].num_points;
  }
  model.row_scale = scales = numbers(model.num_rows);
  for (size_t t = 0; t < model.num_terms; t++)
    for (size_t p = 0; p < terms[t].num_points; p++)
      scales[terms[t].first_row + p] =
          subject->oracle->model.row_scale[subject->oracle->model.terms[t].first_row];
  double *J = numbers(model.num_rows * model.num_parameters), *rows = numbers(model.num_rows);
  require(subject, rpinn_plain_backend.create(subject->context, &model, RPINN_PRECISION_DOUBLE, &backend));
  RpinnBatchMember member = {.theta = subject->theta};
  require(subject,
          rpinn_backend_residuals(subject->context, backend, &(RpinnMemberBatch){1, &member}, &rows, &J));
  rpinn_backend_destroy(backend);
  free(scales);
  free(terms);
  free(rows);
  return J;
}

/* |J| [M][N] as it is without cancellation within its rows. */
static double *uncancelled_jacobian(Subject *subject, const double *J) {
  const RpinnEnergyModel *model = &subject->oracle->model;
  size_t N = subject->N, row = 0, point = 0;
  double *size = numbers(subject->M * N), *points = NULL;
  for (size_t t = 0; t < model->num_terms; t++) {
    const RpinnTermModel *term = &model->terms[t];
    if (term->mix && !points) points = point_jacobian(subject);
    for (size_t i = 0; i < term->num_rows; i++, row++)
      for (size_t p = 0; p < (term->mix ? term->num_points : 1); p++) {
        double factor = term->mix ? fabs(term->mix[i * term->num_points + p]) : 1;
        const double *from = term->mix ? points + (point + p) * N : J + row * N;
        for (size_t j = 0; j < N; j++) size[row * N + j] += factor * fabs(from[j]);
      }
    point += term->num_points;
  }
  free(points);
  return size;
}

/* Gradient and energy with and without offsets; returns the worst gradient error. J_size: |J| without cancellation. */
static double compare_gradients(Subject *subject, const double *J_size, const double *rows) {
  const RpinnEnergyModel *model = &subject->oracle->model;
  size_t M = subject->M, N = subject->N;
  double *expected = numbers(N), *found = numbers(N), *size = numbers(N), worst = 0;
  double *term_expected = numbers(model->num_terms + 1), *term_found = numbers(model->num_terms + 1);
  for (int with_offsets = 0; with_offsets < 2; with_offsets++) {
    const double *offsets = with_offsets ? subject->offsets : NULL;
    RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = subject->theta, .offsets = offsets}};
    double energy_expected, energy_found;
    require(subject, rpinn_posterior_energy(subject->context, subject->oracle, subject->theta, offsets,
                                            &energy_expected, expected, term_expected));
    require(subject, rpinn_backend_energies(subject->context, subject->backend, &batch, &energy_found, &found,
                                            &term_found));
    for (size_t j = 0; j < N; j++) {
      double root = model->prior_root[j];
      size[j] =
          fabs(root * (root * (subject->theta[j] - model->prior_mean[j]) - (offsets ? offsets[M + j] : 0)));
      for (size_t i = 0; i < M; i++)
        size[j] += J_size[i * N + j] * fabs(rows[i] - (offsets ? offsets[i] : 0));
    }
    double error = distance(found, expected, N) / norm(size, N);
    if (!(error <= worst)) worst = error;
    check_relative(energy_found, energy_expected, subject->tolerance);
    for (size_t t = 0; t <= model->num_terms;
         t++) /* a term's size is that of the whole: its own may cancel */
      check_true(fabs(term_found[t] - term_expected[t]) <= 100 * subject->tolerance * (1 + energy_expected),
                 "term %zu: %.17g instead of %.17g", t, term_found[t], term_expected[t]);
  }
  free(expected);
  free(found);
  free(size);
  free(term_expected);
  free(term_found);
  return worst;
}

/* Rows, dense J, J v, J^T w and J D J^T against the oracle's J. */
static double compare_jacobians(Subject *subject, const double *J, const double *J_size, const double *rows) {
  size_t M = subject->M, N = subject->N;
  double *found_rows = numbers(M), *found = numbers(M * N), *v = numbers(N + M), *product = numbers(N + M),
         *expected = numbers(N + M), *gram = numbers(M * M);
  double bound = 100 * subject->tolerance;
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, N + M, v);
  for (size_t j = 0; j < N; j++) subject->scale[j] = 0.5 + rpinn_stream_uniform(&stream);
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = subject->theta}};
  const double *direction = v, *weights = v + N, *scale = subject->scale;
  require(subject, rpinn_backend_residuals(subject->context, subject->backend, &batch, &found_rows, NULL));
  check_true(distance(found_rows, rows, M) <= bound * (1 + norm(rows, M)), "rows without J");
  require(subject, rpinn_backend_residuals(subject->context, subject->backend, &batch, &found_rows, &found));
  check_true(distance(found_rows, rows, M) <= bound * (1 + norm(rows, M)), "rows with J");
  double error = distance(found, J, M * N) / norm(J, M * N);
  check_true(error < bound, "%s: J is %g off", rpinn_problem_name(subject->problem), error);
  require(subject,
          rpinn_backend_jacobian_times(subject->context, subject->backend, &batch, &direction, &product));
  for (size_t i = 0; i < M; i++) {
    expected[i] = 0;
    for (size_t j = 0; j < N; j++) expected[i] += J[i * N + j] * v[j];
  }
  check_true(distance(product, expected, M) <= bound * norm(J, M * N) * norm(v, N), "J v");
  require(subject,
          rpinn_backend_transposed_times(subject->context, subject->backend, &batch, &weights, &product));
  for (size_t j = 0; j < N; j++) {
    expected[j] = 0;
    for (size_t i = 0; i < M; i++) expected[j] += J[i * N + j] * v[N + i];
  }
  check_true(distance(product, expected, N) <= bound * norm(J, M * N) * norm(v + N, M), "J^T w");
  require(subject,
          rpinn_backend_gram(subject->context, subject->backend, &batch, &scale, &found_rows, &gram));
  size_t rows_checked = M < 40 ? M : 40;
  for (size_t a = 0; a < rows_checked; a++)
    for (size_t b = 0; b < rows_checked; b++) {
      double sum = 0, size = 0;
      for (size_t j = 0; j < N; j++) {
        sum += J[a * N + j] * subject->scale[j] * J[b * N + j];
        size += J_size[a * N + j] * subject->scale[j] * J_size[b * N + j];
      }
      check_true(fabs(gram[a * M + b] - sum) <= bound * size + 1e-300,
                 "J D J^T at %zu, %zu: %g instead of %g", a, b, gram[a * M + b], sum);
    }
  free(found_rows);
  free(found);
  free(v);
  free(product);
  free(expected);
  free(gram);
  return error;
}

static void compare_predictions(Subject *subject) {
  const RpinnPosterior *oracle = subject->oracle;
  size_t count = oracle->problem->num_predicted * oracle->data->predict.count;
  if (!count || count > 100000) return;
  double *expected = numbers(count), *found = numbers(count);
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = subject->theta}};
  RpinnEvaluation evaluation = {.num_points = oracle->data->predict.count,
                                .points = oracle->data->predict.x,
                                .num_programs = oracle->problem->num_predicted,
                                .programs = oracle->predictions};
  for (int again = 0; again < 2; again++) { /* the second time the plan is there already */
    require(subject, rpinn_posterior_predict(subject->context, subject->oracle, subject->theta, expected));
    require(subject, rpinn_backend_evaluate(subject->context, subject->backend, &batch, &evaluation, &found));
    check_true(distance(found, expected, count) <= 10 * subject->tolerance * (1 + norm(expected, count)),
               "predictions");
  }
  free(expected);
  free(found);
}

static void compare_all(Subject *subject, const char *when, const char *precision) {
  size_t M = subject->M, N = subject->N;
  double *J = numbers(M * N), *rows = numbers(M);
  round_theta(subject);
  require(subject, rpinn_posterior_residuals(subject->context, subject->oracle, subject->theta, rows, J));
  double *J_size = uncancelled_jacobian(subject, J);
  double gradient = compare_gradients(subject, J_size, rows),
         jacobian = compare_jacobians(subject, J, J_size, rows);
  compare_predictions(subject);
  print_message("%-24s %-6s %-9s gradient %.1e, J %.1e\n", rpinn_problem_name(subject->problem), precision,
                when, gradient, jacobian);
  check_true(gradient < subject->tolerance, "%s: gradient error %g", rpinn_problem_name(subject->problem),
             gradient);
  check_true(jacobian < 10 * subject->tolerance, "%s: Jacobian error %g",
             rpinn_problem_name(subject->problem), jacobian);
  free(J);
  free(J_size);
  free(rows);
}

static void train(Subject *subject) {
  double *m = numbers(subject->N), *v = numbers(subject->N), energy;
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.offsets = subject->offsets}};
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  RpinnAdamState state = {subject->theta, m, v, 0}, *states = &state;
  require(subject, rpinn_backend_adam_advance(subject->context, subject->backend, &batch, &rule, &states,
                                              LONG_RUN, &energy));
  assert_int_equal(state.t, LONG_RUN);
  assert_true(isfinite(energy));
  free(m);
  free(v);
}

static void compare_file(const char *path, RpinnPrecision precision) {
  const char *name = precision == RPINN_PRECISION_FLOAT ? "float" : "double";
  Subject subject = open_subject(path, precision);
  compare_all(&subject, "start", name);
  train(&subject);
  compare_all(&subject, "trained", name);
  close_subject(&subject);
}

static void compare_every_file(RpinnPrecision precision) {
  ProblemList *list = list_problems();
  assert_true(list->count > 15);
  for (size_t i = 0; i < list->count; i++) compare_file(list->names[i], precision);
  free(list);
}

static void cpu_float_conforms(void **state) {
  (void)state;
  compare_every_file(RPINN_PRECISION_FLOAT);
}

static void cpu_double_conforms(void **state) {
  (void)state;
  compare_every_file(RPINN_PRECISION_DOUBLE);
}

/* A member's bits do not depend on its batch, on what the backend did before, or on how Adam's steps are cut.
 */
static void members_are_independent(void **state) {
  (void)state;
  for (RpinnPrecision precision = RPINN_PRECISION_FLOAT; precision <= RPINN_PRECISION_DOUBLE; precision++) {
    Subject subject = open_subject("poisson-nonlinear", precision);
    enum { MEMBERS = 5, STEPS = 60 };
    size_t N = subject.N, row = subject.M + N;
    double *theta = numbers(MEMBERS * N), *m = numbers(MEMBERS * N), *v = numbers(MEMBERS * N),
           *offsets = numbers(MEMBERS * row);
    double *alone = numbers(N), *alone_m = numbers(N), *alone_v = numbers(N), energies[MEMBERS], energy;
    size_t order[] = {3, 0, 4, 1, 2};
    RpinnBatchMember members[MEMBERS] = {0};
    RpinnAdamState all[MEMBERS], *states[MEMBERS];
    for (size_t k = 0; k < MEMBERS; k++) {
      rpinn_posterior_start_glorot(subject.oracle, k, theta + k * N);
      rpinn_posterior_draw_offsets(subject.oracle, k, offsets + k * row);
    }
    for (size_t k = 0; k < MEMBERS; k++) {
      size_t at = order[k] * N;
      members[k].offsets = offsets + order[k] * row;
      all[k] = (RpinnAdamState){theta + at, m + at, v + at, 0};
      states[k] = &all[k];
    }
    RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
    require(&subject, rpinn_backend_adam_advance(subject.context, subject.backend,
                                                 &(RpinnMemberBatch){MEMBERS, members}, &rule, states, STEPS,
                                                 energies));
    for (size_t k = 0; k < MEMBERS; k++) {
      size_t member = order[k];
      memset(alone_m, 0, N * sizeof(double));
      memset(alone_v, 0, N * sizeof(double));
      rpinn_posterior_start_glorot(subject.oracle, member, alone);
      RpinnAdamState own = {alone, alone_m, alone_v, 0}, *state_of = &own;
      for (size_t piece = 0; piece < STEPS; piece += 12)
        require(&subject, rpinn_backend_adam_advance(subject.context, subject.backend,
                                                     &(RpinnMemberBatch){1, &members[k]}, &rule, &state_of,
                                                     12, &energy));
      assert_memory_equal(alone, theta + member * N, N * sizeof(double));
      assert_memory_equal(alone_m, m + member * N, N * sizeof(double));
      assert_memory_equal(alone_v, v + member * N, N * sizeof(double));
      assert_true(energy == energies[k]);
    }
    double *rest[] = {theta, m, v, offsets, alone, alone_m, alone_v};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) free(rest[i]);
    close_subject(&subject);
  }
}

/* Adam in the backend is Adam of the rule: against the composed form on the oracle, in double. */
static void adam_follows_its_rule(void **state) {
  (void)state;
  Subject subject = open_subject("poisson-linear", RPINN_PRECISION_DOUBLE);
  size_t N = subject.N;
  double *theta = numbers(N), *m = numbers(N), *v = numbers(N), *gradient = numbers(N), *m0 = numbers(N),
         *v0 = numbers(N);
  double energy, expected_energy = 0;
  RpinnAdamRule rule = {2e-3, 0.8, 7, 0.85, 0.99, 1e-7};
  memcpy(theta, subject.theta, N * sizeof(double));
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.offsets = subject.offsets}};
  RpinnAdamState own = {theta, m, v, 0}, *states = &own;
  require(&subject,
          rpinn_backend_adam_advance(subject.context, subject.backend, &batch, &rule, &states, 20, &energy));
  for (int step = 0; step < 20; step++) {
    require(&subject, rpinn_posterior_energy(subject.context, subject.oracle, subject.theta, subject.offsets,
                                             &expected_energy, gradient, NULL));
    double rate = rule.learning_rate * pow(rule.decay_rate, step / rule.decay_steps);
    for (size_t j = 0; j < N; j++) {
      m0[j] = rule.beta1 * m0[j] + (1 - rule.beta1) * gradient[j];
      v0[j] = rule.beta2 * v0[j] + (1 - rule.beta2) * gradient[j] * gradient[j];
      double corrected_m = m0[j] / (1 - pow(rule.beta1, step + 1)),
             corrected_v = v0[j] / (1 - pow(rule.beta2, step + 1));
      subject.theta[j] -= rate * corrected_m / (sqrt(corrected_v) + rule.epsilon);
    }
  }
  check_relative(energy, expected_energy, 1e-10);
  check_true(distance(theta, subject.theta, N) < 1e-10 * norm(subject.theta, N),
             "theta after 20 steps: %g apart", distance(theta, subject.theta, N));
  double *rest[] = {theta, m, v, gradient, m0, v0};
  for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) free(rest[i]);
  close_subject(&subject);
}

/* ---- no allocation inside iteration loops: calls from our own objects are counted by the linker's --wrap
 * ---- */

static size_t num_allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  num_allocations++;
  return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  num_allocations++;
  return __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
  num_allocations++;
  return __real_realloc(memory, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  num_allocations++;
  return __real_aligned_alloc(alignment, size);
}

static void iterations_do_not_allocate(void **state) {
  (void)state;
  for (RpinnPrecision precision = RPINN_PRECISION_FLOAT; precision <= RPINN_PRECISION_DOUBLE; precision++) {
    Subject subject = open_subject("poisson-linear", precision);
    double *rows = numbers(subject.M), *gram = numbers(subject.M * subject.M), *gradient = numbers(subject.N),
           energy;
    double *m = numbers(subject.N), *v = numbers(subject.N);
    const double *direction = m, *weights = subject.offsets;
    RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = subject.theta, .offsets = subject.offsets}};
    RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
    RpinnAdamState own = {subject.theta, m, v, 0}, *states = &own;
    RpinnContext *context = subject.context;
    RpinnBackend *backend = subject.backend;
    for (int again = 0; again < 2; again++) { /* the first time may make what is needed */
      num_allocations = 0;
      require(&subject, rpinn_backend_adam_advance(context, backend, &batch, &rule, &states, 20, &energy));
      require(&subject, rpinn_backend_energies(context, backend, &batch, &energy, &gradient, NULL));
      require(&subject, rpinn_backend_transposed_times(context, backend, &batch, &weights, &gradient));
      require(&subject, rpinn_backend_jacobian_times(context, backend, &batch, &direction, &rows));
      require(&subject, rpinn_backend_gram(context, backend, &batch, NULL, &rows, &gram));
    }
    assert_int_equal(num_allocations, 0);
    free(rows);
    free(gram);
    free(gradient);
    free(m);
    free(v);
    close_subject(&subject);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adam_follows_its_rule), cmocka_unit_test(members_are_independent),
      cmocka_unit_test(iterations_do_not_allocate), cmocka_unit_test(cpu_float_conforms),
      cmocka_unit_test(cpu_double_conforms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
