/* The ways of members on the backend `cuda`, on the emulated device: by the fast kernel, by the general one, and where a block has too
 * little shared memory for arrays or for parameters. All agree with `plain`. A device that fails says so, whenever it does, and one with
 * little memory takes few members at a time. */
#include "problem_folder.h"

#include "backend_bench.h"
#include "cuda_engine.h"

enum { KIB = 1024 };

/* Gradients of three members with offsets, and how far they are from those of `plain`, in relation to their size. */
static double gradient_error(Subject *subject) {
  double worst = 0, *theta = numbers(subject->N), *offsets = numbers(subject->M + subject->N),
         *found = numbers(subject->N), *expected = numbers(subject->N), energy, right;
  for (size_t k = 0; k < 3; k++) {
    RpinnBatchMember member = {.theta = theta, .offsets = offsets};
    RpinnMemberBatch batch = {1, &member};
    rpinn_posterior_start_glorot(subject->oracle, k, theta);
    round_numbers(theta, subject->N);
    rpinn_posterior_draw_offsets(subject->oracle, k, offsets);
    require(subject,
            rpinn_backend_energies(subject->context, subject->backend, &batch, &energy, &found, NULL));
    require(subject, rpinn_backend_energies(subject->context, subject->oracle->backend, &batch, &right,
                                            &expected, NULL));
    check_relative(energy, right, subject->candidate.tolerance);
    double error = distance(found, expected, subject->N) / norm(expected, subject->N);
    if (!(error <= worst)) worst = error;
  }
  free(theta);
  free(offsets);
  free(found);
  free(expected);
  return worst;
}

static void members_take_the_way_that_fits(void **state) {
  (void)state;
  static const struct {
    const char *problem;
    size_t shared;
    bool is_fast;
    RpinnDevicePlacement placement;
  } cases[] = {{"poisson-nonlinear", 0, true, RPINN_PLACE_ALL_SHARED},
               {"poisson-nonlinear", 16 * KIB, false, RPINN_PLACE_ARRAYS_SHARED},
               {"poisson-nonlinear", 4 * KIB, false, RPINN_PLACE_ALL_GLOBAL},
               {"tests/problems/wave-3d.yaml", 0, false, RPINN_PLACE_ALL_SHARED},
               {"tests/problems/gaussian-term.yaml", 4 * KIB, false, RPINN_PLACE_ALL_GLOBAL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[1024];
    bool is_file = strchr(cases[i].problem, '/') != NULL;
    snprintf(path, sizeof path, "%s%s%s", is_file ? getenv("RPINN_SOURCE_DIR") : "", is_file ? "/" : "",
             cases[i].problem);
    Subject subject = open_subject(path);
    emulated_device_limit(cases[i].shared);
    take_candidate(&subject,
                   &(Candidate){"emulated cuda", &emulated_cuda_backend, RPINN_PRECISION_FLOAT, 1e-5, false});
    emulated_device_limit(0);
    const RpinnWorkTables *terms = ((const RpinnCudaEngine *)subject.backend)->terms;
    check_true(terms->placement == cases[i].placement && terms->is_fast == cases[i].is_fast,
               "%s with %zu bytes: placement %d, %s", cases[i].problem, cases[i].shared, terms->placement,
               terms->is_fast ? "fast" : "general");
    double error = gradient_error(&subject);
    check_true(error < 1e-5, "%s with %zu bytes: gradient error %g", cases[i].problem, cases[i].shared,
               error);
    close_subject(&subject);
  }
}

/* The fused kernels: which one takes a problem, or that none does, and gradients and Adam as `plain` has them. */
static void fused_kernels_take_what_they_can(void **state) {
  (void)state;
  static const struct {
    const char *problem;
    RpinnPrecision precision;
    int kernel; /* -1: none */
    double tolerance;
  } cases[] = {{"poisson-linear", RPINN_PRECISION_FLOAT, RPINN_FUSED_LINE_50, 1e-5},
               {"poisson-linear", RPINN_PRECISION_TF32, RPINN_FUSED_LINE_50_TF32, 2e-3},
               {"darcy", RPINN_PRECISION_FLOAT, RPINN_FUSED_PLANE_60, 1e-5},
               {"darcy", RPINN_PRECISION_TF32, RPINN_FUSED_PLANE_60_TF32, 2e-3},
               {"tests/problems/two-nets.yaml", RPINN_PRECISION_FLOAT, RPINN_FUSED_PLANE, 1e-5},
               {"tests/problems/two-nets.yaml", RPINN_PRECISION_TF32, RPINN_FUSED_PLANE_TF32, 1e-2},
               {"tests/problems/broad-line.yaml", RPINN_PRECISION_TF32, RPINN_FUSED_LINE_TF32, 1e-2},
               {"tests/problems/burgers.yaml", RPINN_PRECISION_FLOAT, RPINN_FUSED_PLANE, 1e-5},
               {"tests/problems/burgers.yaml", RPINN_PRECISION_TF32, RPINN_FUSED_PLANE, 1e-5},
               {"tests/problems/obstacle.yaml", RPINN_PRECISION_FLOAT, RPINN_FUSED_LINE, 1e-5},
               {"tests/problems/wide-layers.yaml", RPINN_PRECISION_FLOAT, RPINN_FUSED_WIDE, 1e-5},
               {"tests/problems/wide-layers.yaml", RPINN_PRECISION_TF32, -1, 1e-5},
               {"tests/problems/gaussian-term.yaml", RPINN_PRECISION_FLOAT, -1, 1e-5},
               {"tests/problems/eikonal.yaml", RPINN_PRECISION_FLOAT, -1, 1e-5}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[1024];
    bool is_file = strchr(cases[i].problem, '/') != NULL;
    snprintf(path, sizeof path, "%s%s%s", is_file ? getenv("RPINN_SOURCE_DIR") : "", is_file ? "/" : "",
             cases[i].problem);
    Subject subject = open_subject(path);
    take_candidate(&subject, &(Candidate){"emulated cuda", &emulated_cuda_backend, cases[i].precision,
                                          cases[i].tolerance, false});
    const RpinnWorkTables *fused = ((const RpinnCudaEngine *)subject.backend)->fused;
    check_true((fused ? fused->fused.kernel : -1) == cases[i].kernel, "%s: kernel %d", cases[i].problem,
               fused ? fused->fused.kernel : -1);
    double error = gradient_error(&subject);
    check_true(error < cases[i].tolerance, "%s: gradient error %g", cases[i].problem, error);
    print_message("%s: gradient error %.1e\n", cases[i].problem, error);
    close_subject(&subject);
  }
}

static Subject open_candidate(const char *problem, RpinnPrecision precision) {
  Subject subject = open_subject(problem);
  take_candidate(&subject, &(Candidate){"emulated cuda", &emulated_cuda_backend, precision, 1e-5, false});
  return subject;
}

/* Rows and J^T w, in FP32 at any rate: by the fused kernel, unless that has products in TF32. */
static void rows_go_the_way_of_members(void **state) {
  (void)state;
  static const struct {
    RpinnPrecision precision;
    bool is_fused;
  } cases[] = {{RPINN_PRECISION_FLOAT, true}, {RPINN_PRECISION_TF32, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Subject subject = open_candidate("poisson-linear", cases[i].precision);
    double *theta = numbers(subject.N), *rows = numbers(subject.M), *right_rows = numbers(subject.M),
           *product = numbers(subject.N), *right_product = numbers(subject.N);
    RpinnBatchMember member = {.theta = theta};
    RpinnMemberBatch batch = {1, &member};
    rpinn_posterior_start_glorot(subject.oracle, 0, theta);
    round_numbers(theta, subject.N);
    size_t blocks = emulated_device_num_blocks(), fused = emulated_device_num_fused_blocks();
    require(&subject, rpinn_backend_residuals(subject.context, subject.backend, &batch, &rows, NULL));
    require(&subject, rpinn_backend_transposed_times(subject.context, subject.backend, &batch,
                                                     (const double *const *)&rows, &product));
    assert_int_equal(emulated_device_num_fused_blocks() - fused, cases[i].is_fused ? 2 : 0);
    assert_int_equal(emulated_device_num_blocks() - blocks, cases[i].is_fused ? 0 : 2);
    RpinnBackend *oracle = subject.oracle->backend;
    require(&subject, rpinn_backend_residuals(subject.context, oracle, &batch, &right_rows, NULL));
    require(&subject, rpinn_backend_transposed_times(subject.context, oracle, &batch,
                                                     (const double *const *)&rows, &right_product));
    check_true(distance(rows, right_rows, subject.M) < 1e-5 * norm(right_rows, subject.M), "rows");
    check_true(distance(product, right_product, subject.N) < 1e-5 * norm(right_product, subject.N), "J^T w");
    free(theta);
    free(rows);
    free(right_rows);
    free(product);
    free(right_product);
    close_subject(&subject);
  }
}

/* J of one member where its tiles are shared by several blocks, and where a single one makes them all: the same bits. */
static void blocks_share_the_points_of_few_members(void **state) {
  (void)state;
  double *jacobians[2];
  size_t blocks[2], size = 0;
  for (size_t i = 0; i < 2; i++) {
    emulated_device_have_multiprocessors(i ? 132 : 0);
    Subject subject = open_candidate("poisson-linear", RPINN_PRECISION_FLOAT);
    emulated_device_have_multiprocessors(132);
    size = subject.M * subject.N;
    double *theta = numbers(subject.N), *rows = numbers(subject.M);
    RpinnBatchMember member = {.theta = theta};
    RpinnMemberBatch batch = {1, &member};
    jacobians[i] = numbers(size);
    rpinn_posterior_start_glorot(subject.oracle, 0, theta);
    size_t before = emulated_device_num_blocks();
    require(&subject,
            rpinn_backend_residuals(subject.context, subject.backend, &batch, &rows, &jacobians[i]));
    blocks[i] = emulated_device_num_blocks() - before;
    free(theta);
    free(rows);
    close_subject(&subject);
  }
  assert_int_equal(blocks[0], 1);
  assert_int_equal(blocks[1], 2); /* as many as there are tiles */
  assert_memory_equal(jacobians[0], jacobians[1], size * sizeof(double));
  check_true(norm(jacobians[0], size) > 0, "J is zero");
  free(jacobians[0]);
  free(jacobians[1]);
}

/* What is asked of a device from its opening to a gradient, J and an iteration of Adam. */
static RpinnStatus do_all(Subject *subject, double *theta, double *gradient, double *rows, double *J) {
  RpinnBatchMember member = {.theta = theta};
  RpinnMemberBatch batch = {1, &member};
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  double *m = numbers(subject->N), *v = numbers(subject->N), energy;
  RpinnAdamState own = {theta, m, v, 0}, *states = &own;
  RpinnBackend *backend;
  RpinnStatus status =
      emulated_cuda_backend.create(subject->context, subject->model, RPINN_PRECISION_FLOAT, &backend);
  if (status == RPINN_OK)
    status = rpinn_backend_energies(subject->context, backend, &batch, &energy, &gradient, NULL);
  if (status == RPINN_OK) status = rpinn_backend_residuals(subject->context, backend, &batch, &rows, &J);
  if (status == RPINN_OK)
    status = rpinn_backend_adam_advance(subject->context, backend, &batch, &rule, &states, 1, &energy);
  rpinn_backend_destroy(backend);
  free(m);
  free(v);
  return status;
}

static void a_device_that_fails_says_so(void **state) {
  (void)state;
  Subject subject = open_subject("poisson-linear");
  double *theta = numbers(subject.N), *gradient = numbers(subject.N), *rows = numbers(subject.M),
         *J = numbers(subject.M * subject.N);
  size_t call = 0;
  for (;; call++) {
    rpinn_posterior_start_glorot(subject.oracle, 0, theta);
    rpinn_context_clear_error(subject.context);
    emulated_device_fail_at(call);
    RpinnStatus status = do_all(&subject, theta, gradient, rows, J);
    if (status == RPINN_OK) break;
    assert_int_equal(status, RPINN_ERROR_DEVICE);
    assert_string_equal(rpinn_context_error(subject.context)->message, "the emulated device is lost");
    assert_int_equal(rpinn_status_exit_code(status), 1);
  }
  emulated_device_fail_at(SIZE_MAX);
  print_message("%zu calls of the device failed in turn\n", call);
  assert_true(call > 40);
  free(theta);
  free(gradient);
  free(rows);
  free(J);
  close_subject(&subject);
}

/* ---- memory ---- */

enum { MEMBERS = EMULATED_GROUP, STEPS = 3, NUM_CALLS = 3 };

/* Energies and gradients; iterations of Adam; the first term's program at its points. results [MEMBERS][size]. */
static size_t call_size(const Subject *subject) {
  return 1 + subject->N + subject->model->terms[0].num_points;
}

static void make_call(Subject *subject, size_t call, void *prepared, size_t count, double *results) {
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  size_t N = subject->N, size = call_size(subject);
  RpinnBatchMember members[MEMBERS] = {0};
  RpinnAdamState all[MEMBERS], *states[MEMBERS];
  double energies[MEMBERS] = {0}, *outputs[MEMBERS], *thetas = numbers(MEMBERS * N),
         *moments = numbers(2 * MEMBERS * N);
  for (size_t k = 0; k < MEMBERS; k++) {
    double *theta = call == 1 ? results + k * size + 1 : thetas + k * N;
    rpinn_posterior_start_glorot(subject->oracle, k, theta);
    members[k].theta = call == 1 ? NULL : theta;
    all[k] = (RpinnAdamState){theta, moments + 2 * k * N, moments + (2 * k + 1) * N, 0};
    states[k] = &all[k];
    outputs[k] = results + k * size + 1;
  }
  RpinnMemberBatch batch = {count, members};
  if (call == 0)
    require(subject,
            rpinn_backend_energies(subject->context, subject->backend, &batch, energies, outputs, NULL));
  else if (call == 1)
    require(subject, rpinn_backend_adam_advance(subject->context, subject->backend, &batch, &rule, states,
                                                STEPS, energies));
  else
    require(subject, subject->backend->operations->evaluate_prepared(subject->context, subject->backend,
                                                                     &batch, prepared, outputs));
  for (size_t k = 0; k < MEMBERS; k++) results[k * size] = energies[k];
  free(thetas);
  free(moments);
}

/* Where there is room for three members at a time, seven are cut, with the same bits. */
static void little_memory_cuts_batches(void **state) {
  (void)state;
  Subject subject = open_subject("poisson-linear");
  Candidate candidate = {"emulated cuda", &emulated_cuda_backend, RPINN_PRECISION_FLOAT, 1e-5, false};
  const RpinnTermModel *term = &subject.model->terms[0];
  RpinnEvaluation evaluation = {term->num_points, term->points, 1, &term->program};
  size_t count = MEMBERS * call_size(&subject);
  double *ample = numbers(count), *scarce = numbers(count);
  for (size_t call = 0; call < NUM_CALLS; call++) {
    void *prepared;
    take_candidate(&subject, &candidate);
    const RpinnCudaEngine *engine = (const RpinnCudaEngine *)subject.backend;
    require(&subject,
            engine->base.operations->prepare(subject.context, subject.backend, &evaluation, &prepared));
    emulated_device_have_memory(SIZE_MAX);
    size_t before = emulated_device_most_held();
    make_call(&subject, call, prepared, 1, scarce);
    emulated_device_have_memory(before + 3 * (emulated_device_most_held() - before));
    make_call(&subject, call, prepared, MEMBERS, scarce);
    check_true(engine->most_members > 0 && engine->most_members <= 3, "call %zu: %zu members at a time", call,
               engine->most_members);
    emulated_device_have_memory(SIZE_MAX);
    engine->base.operations->release(subject.backend, prepared);
    take_candidate(&subject, &candidate);
    require(&subject,
            subject.backend->operations->prepare(subject.context, subject.backend, &evaluation, &prepared));
    make_call(&subject, call, prepared, MEMBERS, ample);
    check_true(!memcmp(ample, scarce, count * sizeof *ample), "call %zu: other bits with little memory",
               call);
    subject.backend->operations->release(subject.backend, prepared);
  }
  free(ample);
  free(scarce);
  close_subject(&subject);
}

/* ---- shares ---- */

/* Iterations of Adam of the members from `first` on; thetas [count][N] are theirs at the end. */
static void run_adam(Subject *subject, size_t first, size_t count, size_t num_steps, double *thetas) {
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  size_t N = subject->N;
  RpinnBatchMember *members = calloc(count, sizeof *members);
  RpinnAdamState *all = calloc(count, sizeof *all), **states = calloc(count, sizeof *states);
  double *energies = numbers(count), *moments = numbers(2 * count * N);
  assert_true(members && all && states);
  for (size_t k = 0; k < count; k++) {
    rpinn_posterior_start_glorot(subject->oracle, first + k, thetas + k * N);
    all[k] = (RpinnAdamState){thetas + k * N, moments + 2 * k * N, moments + (2 * k + 1) * N, 0};
    states[k] = &all[k];
  }
  require(subject,
          rpinn_backend_adam_advance(subject->context, subject->backend, &(RpinnMemberBatch){count, members},
                                     &rule, states, num_steps, energies));
  free(members);
  free(all);
  free(states);
  free(energies);
  free(moments);
}

/* More members than blocks at a time have the bits that each has alone, whichever blocks their iterations fall to. */
static void check_shares(Subject *subject, size_t count, size_t step, size_t num_steps) {
  size_t N = subject->N;
  double *together = numbers(count * N), *alone = numbers(N);
  size_t before = emulated_device_num_fused_blocks();
  run_adam(subject, 0, count, num_steps, together);
  size_t blocks = emulated_device_num_fused_blocks() - before;
  if (subject->candidate.operations == &emulated_cuda_backend)
    check_true(blocks > 8 * count, "%s: %zu blocks for %zu members", title_of(subject), blocks, count);
  for (size_t k = 0; k < count; k += step) {
    run_adam(subject, k, 1, num_steps, alone);
    check_true(!memcmp(alone, together + k * N, N * sizeof *alone), "%s: member %zu has other bits alone",
               title_of(subject), k);
  }
  free(together);
  free(alone);
}

static void shares_leave_no_mark(void **state) {
  (void)state;
  static const char *const problems[] = {"poisson-linear", "tests/problems/two-nets.yaml"};
  static const RpinnPrecision precisions[] = {RPINN_PRECISION_FLOAT, RPINN_PRECISION_TF32};
  emulated_device_have_multiprocessors(1);
  for (size_t i = 0; i < 4; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s%s%s", i / 2 ? getenv("RPINN_SOURCE_DIR") : "", i / 2 ? "/" : "",
             problems[i / 2]);
    Subject subject = open_subject(path);
    take_candidate(&subject,
                   &(Candidate){"emulated cuda", &emulated_cuda_backend, precisions[i % 2], 1e-5, false});
    check_shares(&subject, 9, 4, 80);
    if (has_gpu()) {
      take_candidate(&subject, &(Candidate){"cuda", &rpinn_cuda_backend, precisions[i % 2], 1e-5, false});
      check_shares(&subject, 1500, 370, 400);
    }
    close_subject(&subject);
  }
  emulated_device_have_multiprocessors(132);
}

/* A machine without a GPU, or a build without CUDA. */
static void nobody_gets_numbers_without_a_gpu(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  char line[256];
  RpinnStatus status = rpinn_backend_describe(context, "cuda", line, sizeof line);
  if (status == RPINN_OK) {
    print_message("skipped: there is a GPU, %s\n", line);
  } else {
    assert_true(status == RPINN_ERROR_DEVICE || status == RPINN_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rpinn_context_error(context)->message, "backend cuda: "));
  }
  assert_int_equal(rpinn_backend_describe(context, "cpu", line, sizeof line), RPINN_OK);
  assert_string_equal(line, "on every machine");
  assert_int_equal(rpinn_backend_describe(context, "gpu", line, sizeof line), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "there is no backend 'gpu', expected cpu|plain|cuda|auto");
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(members_take_the_way_that_fits),
                                     cmocka_unit_test(fused_kernels_take_what_they_can),
                                     cmocka_unit_test(a_device_that_fails_says_so),
                                     cmocka_unit_test(little_memory_cuts_batches),
                                     cmocka_unit_test(shares_leave_no_mark),
                                     cmocka_unit_test(nobody_gets_numbers_without_a_gpu),
                                     cmocka_unit_test(rows_go_the_way_of_members),
                                     cmocka_unit_test(blocks_share_the_points_of_few_members)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
