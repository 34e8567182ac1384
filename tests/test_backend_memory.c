/* Backends and memory: none is asked for inside of iteration loops, and a call that finds none says so, leaves nothing behind
 * and gives the same bits when it is made again. */
#include "counted_allocations.h"

#include "backend_bench.h"

/* Everything that can be asked of a backend, for one member. */
typedef struct Work {
  Subject subject;
  RpinnBatchMember member;
  RpinnMemberBatch batch;
  RpinnEvaluation evaluation;
  RpinnAdamState state;
  const double *direction, *weights;
  double *theta, *offsets, *rows, *jacobian, *gradient, *gram, *values;
  double energy;
} Work;

static Work *open_work(const Candidate *candidate, const char *problem) {
  Work *work = calloc(1, sizeof *work);
  assert_non_null(work);
  work->subject = open_subject(problem);
  take_candidate(&work->subject, candidate);
  const RpinnPosterior *oracle = work->subject.oracle;
  size_t M = work->subject.M, N = work->subject.N;
  work->theta = numbers(N);
  work->offsets = numbers(M + N);
  work->rows = numbers(M);
  work->jacobian = numbers(M * N);
  work->gradient = numbers(N);
  work->gram = numbers(M * M);
  work->state = (RpinnAdamState){numbers(N), numbers(N), numbers(N), 0};
  work->evaluation = (RpinnEvaluation){.num_points = oracle->data->predict.count,
                                       .points = oracle->data->predict.x,
                                       .num_programs = oracle->problem->num_predicted,
                                       .programs = oracle->predictions};
  work->values = numbers(work->evaluation.num_points * work->evaluation.num_programs);
  rpinn_posterior_start_glorot(oracle, 0, work->theta);
  rpinn_posterior_draw_offsets(oracle, 0, work->offsets);
  work->member = (RpinnBatchMember){.theta = work->theta, .offsets = work->offsets};
  work->batch = (RpinnMemberBatch){1, &work->member};
  work->direction = work->theta;
  work->weights = work->offsets;
  return work;
}

static void close_work(Work *work) {
  double *parts[] = {work->theta, work->offsets,     work->rows,    work->jacobian, work->gradient,
                     work->gram,  work->state.theta, work->state.m, work->state.v,  work->values};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  close_subject(&work->subject);
  free(work);
}

/* ---- calls: each fills some of the work's numbers ---- */

typedef RpinnStatus WorkCall(RpinnContext *context, RpinnBackend *backend, Work *work);

static RpinnStatus call_energies(RpinnContext *context, RpinnBackend *backend, Work *work) {
  return rpinn_backend_energies(context, backend, &work->batch, &work->energy, &work->gradient, NULL);
}

static RpinnStatus call_residuals(RpinnContext *context, RpinnBackend *backend, Work *work) {
  return rpinn_backend_residuals(context, backend, &work->batch, &work->rows, &work->jacobian);
}

static RpinnStatus call_times(RpinnContext *context, RpinnBackend *backend, Work *work) {
  return rpinn_backend_jacobian_times(context, backend, &work->batch, &work->direction, &work->rows);
}

static RpinnStatus call_transposed(RpinnContext *context, RpinnBackend *backend, Work *work) {
  return rpinn_backend_transposed_times(context, backend, &work->batch, &work->weights, &work->gradient);
}

static RpinnStatus call_gram(RpinnContext *context, RpinnBackend *backend, Work *work) {
  return rpinn_backend_gram(context, backend, &work->batch, NULL, &work->rows, &work->gram);
}

static RpinnStatus call_adam(RpinnContext *context, RpinnBackend *backend, Work *work) {
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  RpinnAdamState *states = &work->state;
  memcpy(work->state.theta, work->theta, work->subject.N * sizeof(double));
  memset(work->state.m, 0, work->subject.N * sizeof(double));
  memset(work->state.v, 0, work->subject.N * sizeof(double));
  work->state.t = 0;
  return rpinn_backend_adam_advance(context, backend, &work->batch, &rule, &states, 3, &work->energy);
}

static RpinnStatus call_evaluate(RpinnContext *context, RpinnBackend *backend, Work *work) {
  return rpinn_backend_evaluate(context, backend, &work->batch, &work->evaluation, &work->values);
}

static RpinnStatus call_planned(RpinnContext *context, RpinnBackend *backend, Work *work) {
  RpinnPlannedEvaluation planned;
  RPINN_TRY(rpinn_evaluation_plan(context, backend, &work->evaluation, &planned));
  RpinnStatus status = rpinn_evaluation_run(context, &planned, &work->batch, &work->values);
  rpinn_evaluation_release(&planned);
  return status;
}

static const struct {
  const char *name;
  WorkCall *call;
} calls[] = {{"energies", call_energies},
             {"residuals", call_residuals},
             {"jacobian_times", call_times},
             {"transposed_times", call_transposed},
             {"gram", call_gram},
             {"adam_advance", call_adam},
             {"evaluate", call_evaluate},
             {"evaluate_prepared", call_planned}};
enum { NUM_CALLS = sizeof calls / sizeof calls[0] };

/* ---- tests ---- */

static void iterations_do_not_allocate(void **state) {
  (void)state;
  static WorkCall *const inner[] = {call_adam, call_energies, call_transposed, call_times, call_gram};
  for (unsigned precision = RPINN_PRECISION_FLOAT; precision <= RPINN_PRECISION_DOUBLE; precision++) {
    Work *work = open_work(&(Candidate){"cpu", &rpinn_cpu_backend, precision, 0, false}, "poisson-linear");
    for (int again = 0; again < 2; again++) { /* the first time may make what is needed */
      num_allocations = 0;
      for (size_t k = 0; k < sizeof inner / sizeof inner[0]; k++)
        require(&work->subject, inner[k](work->subject.context, work->subject.backend, work));
    }
    assert_int_equal(num_allocations, 0);
    close_work(work);
  }
}

/* All results of a work, for comparison. */
static size_t num_results(const Work *work) {
  size_t M = work->subject.M, N = work->subject.N;
  return M + M * N + M * M + 3 * N + work->evaluation.num_points * work->evaluation.num_programs + 1;
}

static double *results_of(const Work *work) {
  size_t M = work->subject.M, N = work->subject.N,
         num_values = work->evaluation.num_points * work->evaluation.num_programs, at = 0;
  const struct {
    const double *from;
    size_t count;
  } parts[] = {
      {work->rows, M},        {work->jacobian, M * N}, {work->gradient, N},        {work->gram, M * M},
      {work->state.theta, N}, {work->state.m, N},      {work->values, num_values}, {&work->energy, 1}};
  double *all = numbers(num_results(work));
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    memcpy(all + at, parts[i].from, parts[i].count * sizeof(double));
    at += parts[i].count;
  }
  return all;
}

/* The call on a fresh backend with every allocation of it failing in turn; returns how many there were. */
static size_t fail_in_turn(const Candidate *candidate, size_t number) {
  Work *work = open_work(candidate, "poisson-linear");
  RpinnContext *context = work->subject.context;
  size_t num_failures = 0;
  RpinnStatus status;
  do {
    take_candidate(&work->subject, candidate);
    rpinn_context_clear_error(context);
    num_allocations = 0;
    fails_at = num_failures + 1;
    status = calls[number].call(context, work->subject.backend, work);
    fails_at = 0;
    if (status == RPINN_OK) break;
    check_true(status == RPINN_ERROR_MEMORY &&
                   !strcmp(rpinn_context_error(context)->message, "out of memory"),
               "%s, %s: status %d with the message '%s'", title_of(&work->subject), calls[number].name,
               status, rpinn_context_error(context)->message);
    require(&work->subject, calls[number].call(context, work->subject.backend, work));
    double *after = results_of(work);
    take_candidate(&work->subject, candidate);
    require(&work->subject, calls[number].call(context, work->subject.backend, work));
    double *fresh = results_of(work);
    assert_memory_equal(after, fresh, num_results(work) * sizeof(double));
    free(after);
    free(fresh);
  } while (++num_failures < 1000);
  assert_int_equal(status, RPINN_OK);
  close_work(work);
  return num_failures;
}

static void calls_say_when_memory_runs_out(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  size_t count = built_candidates(candidates), num_failures = 0;
  for (size_t c = 0; c < count; c++)
    for (size_t k = 0; k < NUM_CALLS; k++) num_failures += fail_in_turn(&candidates[c], k);
  print_message("%zu allocations failed in turn\n", num_failures);
  check_true(num_failures > 50, "%zu failures", num_failures);
}

/* A target made of a posterior tells its caller. */
static void targets_tell_their_context(void **state) {
  (void)state;
  Subject subject = open_subject("poisson-linear");
  RpinnPosteriorMember member = {.posterior = subject.oracle, .context = subject.context};
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  double *theta = numbers(subject.N), *rows = numbers(subject.M), *values;
  rpinn_context_clear_error(subject.context);
  num_allocations = 0;
  fails_at = 1;
  assert_int_equal(squares.residuals(squares.data, theta, rows), RPINN_ERROR_MEMORY);
  fails_at = 0;
  assert_string_equal(rpinn_context_error(subject.context)->message, "out of memory");
  values = numbers(rpinn_posterior_num_predictions(subject.oracle) * subject.problem->num_predicted);
  member.context = NULL; /* nobody to tell */
  assert_int_equal(squares.residuals(squares.data, theta, rows), RPINN_OK);
  assert_int_equal(rpinn_posterior_predict(NULL, subject.oracle, theta, values), RPINN_OK);
  free(theta);
  free(rows);
  free(values);
  close_subject(&subject);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(iterations_do_not_allocate),
                                     cmocka_unit_test(calls_say_when_memory_runs_out),
                                     cmocka_unit_test(targets_tell_their_context)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
