/* Members of a batch bring a point, offsets, row scales and prior roots of their own. Each gets what `plain` finds for it alone,
 * and the same bits alone, in a batch, and in a batch in reverse order, on every problem file whose Jacobian is small. */
#include "problem_folder.h"

#include "backend_bench.h"

enum { MEMBERS = MOCK_GROUP, STEPS = 4, MOST_ENTRIES = 100000 };

/* ---- members ---- */

typedef struct Members {
  RpinnBatchMember all[MEMBERS];
  double *theta[MEMBERS], *offsets[MEMBERS], *row_scale[MEMBERS], *prior_root[MEMBERS];
  double *direction[MEMBERS], *weights[MEMBERS], *scale[MEMBERS]; /* of the products: [N], [M], [N] */
} Members;

/* All differ in all they have; but the second has the point of the first, with other scales, the last but one no offsets and the
 * last what the model has. */
static Members *make_members(const Subject *subject) {
  Members *members = calloc(1, sizeof *members);
  size_t M = subject->M, N = subject->N;
  assert_non_null(members);
  for (size_t k = 0; k < MEMBERS; k++) {
    RpinnStream stream = rpinn_stream(7, RPINN_PURPOSE_CHECK, k, 0);
    members->theta[k] = numbers(N);
    members->offsets[k] = numbers(M + N);
    members->row_scale[k] = numbers(M);
    members->prior_root[k] = numbers(N);
    members->direction[k] = numbers(N);
    members->weights[k] = numbers(M);
    members->scale[k] = numbers(N);
    rpinn_posterior_start_glorot(subject->oracle, k == 1 ? 0 : k, members->theta[k]);
    round_numbers(members->theta[k], N);
    rpinn_posterior_draw_offsets(subject->oracle, k, members->offsets[k]);
    rpinn_stream_normals(&stream, N, members->direction[k]);
    rpinn_stream_normals(&stream, M, members->weights[k]);
    for (size_t i = 0; i < M; i++)
      members->row_scale[k][i] = subject->model->row_scale[i] * exp(0.5 * rpinn_stream_normal(&stream));
    for (size_t j = 0; j < N; j++) {
      members->prior_root[k][j] = subject->model->prior_root[j] * exp(0.5 * rpinn_stream_normal(&stream));
      members->scale[k][j] = 0.5 + rpinn_stream_uniform(&stream);
    }
    members->all[k] = (RpinnBatchMember){members->theta[k], members->offsets[k], members->row_scale[k],
                                         members->prior_root[k]};
  }
  members->all[MEMBERS - 2].offsets = NULL;
  members->all[MEMBERS - 1] = (RpinnBatchMember){.theta = members->theta[MEMBERS - 1]};
  return members;
}

static void free_members(Members *members) {
  for (size_t k = 0; k < MEMBERS; k++) {
    double *parts[] = {members->theta[k],      members->offsets[k],   members->row_scale[k],
                       members->prior_root[k], members->direction[k], members->weights[k],
                       members->scale[k]};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  }
  free(members);
}

/* ---- all that a backend computes of a member, in one array ---- */

typedef enum Part {
  ENERGY,
  GRADIENT,
  TERM_ENERGIES,
  ROWS,
  ROWS_WITH_J,
  JACOBIAN,
  TIMES,
  TRANSPOSED,
  GRAM_ROWS,
  GRAM,
  PREDICTIONS,
  PLANNED,
  ADAM_ENERGY,
  ADAM_THETA,
  ADAM_M,
  ADAM_V,
  NUM_PARTS
} Part;

static const char *const part_names[] = {"energy",
                                         "gradient",
                                         "energies of terms",
                                         "rows",
                                         "rows with J",
                                         "J",
                                         "J v",
                                         "J^T w",
                                         "rows of J D J^T",
                                         "J D J^T",
                                         "predictions",
                                         "planned predictions",
                                         "energy of Adam",
                                         "theta of Adam",
                                         "m of Adam",
                                         "v of Adam"};

typedef struct Layout {
  RpinnEvaluation evaluation;
  size_t start[NUM_PARTS + 1]; /* part p is start[p] … start[p + 1] */
} Layout;

static Layout lay_out(const Subject *subject) {
  const RpinnPosterior *oracle = subject->oracle;
  size_t M = subject->M, N = subject->N, most = 50,
         count = oracle->data->predict.count < most ? oracle->data->predict.count : most;
  Layout layout = {.evaluation = {.num_points = count,
                                  .points = oracle->data->predict.x,
                                  .num_programs = oracle->problem->num_predicted,
                                  .programs = oracle->predictions}};
  size_t num_values = count * oracle->problem->num_predicted;
  const size_t sizes[NUM_PARTS] = {[ENERGY] = 1,
                                   [GRADIENT] = N,
                                   [TERM_ENERGIES] = subject->model->num_terms + 1,
                                   [ROWS] = M,
                                   [ROWS_WITH_J] = M,
                                   [JACOBIAN] = M * N,
                                   [TIMES] = M,
                                   [TRANSPOSED] = N,
                                   [GRAM_ROWS] = M,
                                   [GRAM] = M * M,
                                   [PREDICTIONS] = num_values,
                                   [PLANNED] = num_values,
                                   [ADAM_ENERGY] = 1,
                                   [ADAM_THETA] = N,
                                   [ADAM_M] = N,
                                   [ADAM_V] = N};
  for (size_t p = 0; p < NUM_PARTS; p++) layout.start[p + 1] = layout.start[p] + sizes[p];
  return layout;
}

/* The members order[0], … of one call to a backend, and where their results go. */
typedef struct Call {
  Subject *subject;
  RpinnBackend *backend;
  const Layout *layout;
  RpinnMemberBatch batch;
  RpinnBatchMember members[MEMBERS];
  const double *directions[MEMBERS], *weights[MEMBERS], *scales[MEMBERS];
  size_t iteration[MEMBERS]; /* where Adam begins */
  double *results[MEMBERS];
} Call;

/* One part of all results of the call. */
static double *const *part_of(const Call *call, Part part, double *own[MEMBERS]) {
  for (size_t k = 0; k < call->batch.num_members; k++) own[k] = call->results[k] + call->layout->start[part];
  return own;
}

static void compute_energies(const Call *call) {
  double *gradients[MEMBERS], *parts[MEMBERS], energies[MEMBERS];
  require(call->subject,
          rpinn_backend_energies(call->subject->context, call->backend, &call->batch, energies,
                                 part_of(call, GRADIENT, gradients), part_of(call, TERM_ENERGIES, parts)));
  for (size_t k = 0; k < call->batch.num_members; k++)
    call->results[k][call->layout->start[ENERGY]] = energies[k];
}

/* The Gram matrix comes first: it may leave a Jacobian to be used again. */
static void compute_products(const Call *call) {
  RpinnContext *context = call->subject->context;
  double *rows[MEMBERS], *own[MEMBERS];
  require(call->subject, rpinn_backend_gram(context, call->backend, &call->batch, call->scales,
                                            part_of(call, GRAM_ROWS, rows), part_of(call, GRAM, own)));
  require(call->subject, rpinn_backend_jacobian_times(context, call->backend, &call->batch, call->directions,
                                                      part_of(call, TIMES, own)));
  require(call->subject, rpinn_backend_transposed_times(context, call->backend, &call->batch, call->weights,
                                                        part_of(call, TRANSPOSED, own)));
  require(call->subject,
          rpinn_backend_residuals(context, call->backend, &call->batch, part_of(call, ROWS, rows), NULL));
  require(call->subject,
          rpinn_backend_residuals(context, call->backend, &call->batch, part_of(call, ROWS_WITH_J, rows),
                                  part_of(call, JACOBIAN, own)));
}

static void compute_predictions(const Call *call) {
  RpinnContext *context = call->subject->context;
  RpinnPlannedEvaluation planned;
  double *own[MEMBERS];
  require(call->subject, rpinn_backend_evaluate(context, call->backend, &call->batch,
                                                &call->layout->evaluation, part_of(call, PREDICTIONS, own)));
  require(call->subject, rpinn_evaluation_plan(context, call->backend, &call->layout->evaluation, &planned));
  require(call->subject, rpinn_evaluation_run(context, &planned, &call->batch, part_of(call, PLANNED, own)));
  rpinn_evaluation_release(&planned);
}

static void compute_adam(const Call *call) {
  RpinnAdamRule rule = {2e-3, 0.8, 7, 0.85, 0.99, 1e-7};
  RpinnAdamState states[MEMBERS], *own[MEMBERS];
  double energies[MEMBERS];
  for (size_t k = 0; k < call->batch.num_members; k++) {
    double *result = call->results[k];
    const size_t *start = call->layout->start;
    states[k] = (RpinnAdamState){result + start[ADAM_THETA], result + start[ADAM_M], result + start[ADAM_V],
                                 call->iteration[k]};
    memcpy(states[k].theta, call->members[k].theta, call->subject->N * sizeof(double));
    memset(states[k].m, 0, call->subject->N * sizeof(double));
    memset(states[k].v, 0, call->subject->N * sizeof(double));
    own[k] = &states[k];
  }
  require(call->subject, rpinn_backend_adam_advance(call->subject->context, call->backend, &call->batch,
                                                    &rule, own, STEPS, energies));
  for (size_t k = 0; k < call->batch.num_members; k++)
    call->results[k][call->layout->start[ADAM_ENERGY]] = energies[k];
}

/* results[member] of all members of order [count], in one call each of every function. */
static void compute(Subject *subject, RpinnBackend *backend, const Layout *layout, const Members *members,
                    size_t count, const size_t *order, double *const *results) {
  Call call = {.subject = subject, .backend = backend, .layout = layout};
  call.batch = (RpinnMemberBatch){count, call.members};
  for (size_t k = 0; k < count; k++) {
    call.members[k] = members->all[order[k]];
    call.directions[k] = members->direction[order[k]];
    call.weights[k] = members->weights[order[k]];
    call.scales[k] = members->scale[order[k]];
    call.iteration[k] = 2 * order[k];
    call.results[k] = results[order[k]];
  }
  compute_energies(&call);
  compute_products(&call);
  if (layout->evaluation.num_points) compute_predictions(&call);
  compute_adam(&call);
}

static void make_results(const Layout *layout, double *results[MEMBERS]) {
  for (size_t k = 0; k < MEMBERS; k++) results[k] = numbers(layout->start[NUM_PARTS]);
}

static void free_results(double *results[MEMBERS]) {
  for (size_t k = 0; k < MEMBERS; k++) free(results[k]);
}

/* ---- comparisons ---- */

static void compare_with_plain(const Subject *subject, const Layout *layout, double *const *expected,
                               double *const *found) {
  for (size_t k = 0; k < MEMBERS; k++)
    for (size_t p = 0; p < NUM_PARTS; p++) {
      size_t start = layout->start[p], count = layout->start[p + 1] - start;
      double size = norm(expected[k] + start, count),
             off = distance(expected[k] + start, found[k] + start, count);
      check_true(off <= 300 * subject->candidate.tolerance * size, "%s, member %zu: %s %g off, of size %g",
                 title_of(subject), k, part_names[p], off, size);
    }
}

static void compare_bits(const Subject *subject, const Layout *layout, const char *how, double *const *batch,
                         double *const *other) {
  for (size_t k = 0; k < MEMBERS; k++)
    for (size_t p = 0; p < NUM_PARTS; p++) {
      size_t start = layout->start[p], count = layout->start[p + 1] - start;
      check_true(!memcmp(batch[k] + start, other[k] + start, count * sizeof(double)),
                 "%s, member %zu: %s %s has other bits than in a batch", title_of(subject), k, part_names[p],
                 how);
    }
}

static const size_t in_order[MEMBERS] = {0, 1, 2, 3, 4, 5, 6}, reversed[MEMBERS] = {6, 5, 4, 3, 2, 1, 0};

static void compare_candidate(Subject *subject, const Layout *layout, const Members *members,
                              double *const *expected) {
  double *batch[MEMBERS], *other[MEMBERS];
  make_results(layout, batch);
  make_results(layout, other);
  compute(subject, subject->backend, layout, members, MEMBERS, in_order, batch);
  compare_with_plain(subject, layout, expected, batch);
  compute(subject, subject->backend, layout, members, MEMBERS, reversed, other);
  compare_bits(subject, layout, "in reverse order", batch, other);
  for (size_t k = 0; k < MEMBERS; k++)
    compute(subject, subject->backend, layout, members, 1, &in_order[k], other);
  compare_bits(subject, layout, "alone", batch, other);
  free_results(batch);
  free_results(other);
}

static void compare_file(const char *path, const Candidate *candidates, size_t count) {
  Subject subject = open_subject(path);
  if (subject.M * subject.N <= MOST_ENTRIES) {
    Layout layout = lay_out(&subject);
    Members *members = make_members(&subject);
    double *expected[MEMBERS];
    make_results(&layout, expected);
    for (size_t k = 0; k < MEMBERS; k++)
      compute(&subject, subject.oracle->backend, &layout, members, 1, &in_order[k], expected);
    for (size_t c = 0; c < count; c++) {
      take_candidate(&subject, &candidates[c]);
      compare_candidate(&subject, &layout, members, expected);
    }
    free_results(expected);
    free_members(members);
  }
  close_subject(&subject);
}

static void members_are_their_own(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  ProblemList *list = list_problems();
  size_t count = all_candidates(candidates);
  for (size_t i = 0; i < list->count; i++) compare_file(list->names[i], candidates, count);
  free(list);
}

/* ---- the oracle: what its words mean ---- */

/* E = 1/2 |r - xi|^2 + 1/2 |P (theta - mean) - xi_p|^2 with rows and roots of the member, summed by hand. */
static double energy_of_rows(const Subject *subject, const RpinnBatchMember *member, const double *rows) {
  const RpinnEnergyModel *model = subject->model;
  double sum = 0;
  for (size_t i = 0; i < subject->M; i++) sum += pow(rows[i] - member->offsets[i], 2);
  for (size_t j = 0; j < subject->N; j++)
    if (member->prior_root[j] > 0)
      sum += pow(member->prior_root[j] * (member->theta[j] - model->prior_mean[j]) -
                     member->offsets[subject->M + j],
                 2);
  return 0.5 * sum;
}

/* A row has the scale that is stated for it, also where it mixes points, and so has its slope. */
static void compare_scales(Subject *subject, const Members *members) {
  size_t M = subject->M, N = subject->N;
  double *rows[2] = {numbers(M), numbers(M)}, *J[2] = {numbers(M * N), numbers(M * N)}, energy;
  RpinnBatchMember both[] = {{.theta = members->theta[0]}, members->all[0]};
  RpinnBackend *plain = subject->oracle->backend;
  require(subject, rpinn_backend_residuals(subject->context, plain, &(RpinnMemberBatch){2, both}, rows, J));
  for (size_t i = 0; i < M; i++) {
    double ratio = members->row_scale[0][i] / subject->model->row_scale[i];
    check_close(rows[1][i], ratio * rows[0][i], 1e-12 * (fabs(rows[1][i]) + norm(rows[1], M)));
    for (size_t j = 0; j < N; j++)
      check_close(J[1][i * N + j], ratio * J[0][i * N + j], 1e-12 * norm(J[1] + i * N, N));
  }
  require(subject, rpinn_backend_energies(subject->context, plain, &(RpinnMemberBatch){1, &both[1]}, &energy,
                                          NULL, NULL));
  check_relative(energy, energy_of_rows(subject, &both[1], rows[1]), 1e-12);
  for (int k = 0; k < 2; k++) {
    free(rows[k]);
    free(J[k]);
  }
}

static void scales_offsets_and_roots_mean_what_they_say(void **state) {
  (void)state;
  ProblemList *list = list_problems();
  bool has_mixed = false;
  for (size_t i = 0; i < list->count; i++) {
    Subject subject = open_subject(list->names[i]);
    if (subject.M * subject.N <= MOST_ENTRIES) {
      Members *members = make_members(&subject);
      compare_scales(&subject, members);
      free_members(members);
      for (size_t t = 0; t < subject.model->num_terms; t++)
        has_mixed = has_mixed || subject.model->terms[t].mix;
    }
    close_subject(&subject);
  }
  assert_true(has_mixed);
  free(list);
}

/* ---- the mock itself ---- */

static void groups_of_seven_are_counted_and_more_refused(void **state) {
  (void)state;
  Subject subject = open_subject("poisson-linear");
  RpinnBatchMember members[MOCK_GROUP + 1];
  double *theta = numbers(subject.N), energies[MOCK_GROUP + 1];
  for (size_t k = 0; k <= MOCK_GROUP; k++) members[k] = (RpinnBatchMember){.theta = theta};
  mock_backend_use(&mock_backend);
  assert_ptr_equal(rpinn_backend_in_place_of(&rpinn_cpu_backend), &mock_backend);
  assert_ptr_equal(rpinn_backend_at(0), &mock_backend); /* `cpu` is the first of the list */
  take_candidate(&subject, &(Candidate){"mock", rpinn_backend_at(0), RPINN_PRECISION_FLOAT, 0, true});
  assert_int_equal(subject.backend->group, MOCK_GROUP);
  for (size_t count = 3; count <= MOCK_GROUP; count += 4)
    require(&subject, rpinn_backend_energies(subject.context, subject.backend,
                                             &(RpinnMemberBatch){count, members}, energies, NULL, NULL));
  assert_int_equal(rpinn_backend_energies(subject.context, subject.backend,
                                          &(RpinnMemberBatch){MOCK_GROUP + 1, members}, energies, NULL, NULL),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(subject.context)->message, "a call for 8 members, expected 1 to 7");
  MockCounts counts = mock_backend_counts();
  assert_true(counts.num_calls == 2 && counts.num_full == 1 && counts.num_lanes == 10);
  mock_backend_stop();
  assert_ptr_equal(rpinn_backend_at(0), &rpinn_cpu_backend);
  free(theta);
  close_subject(&subject);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(groups_of_seven_are_counted_and_more_refused),
                                     cmocka_unit_test(scales_offsets_and_roots_mean_what_they_say),
                                     cmocka_unit_test(members_are_their_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
