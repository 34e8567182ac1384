/* One member from begin to end on a target of its own: fresh attempts have fresh offsets and starts, one that failed has not
 * converged, whatever its optimiser says, and one that its precision stops goes on in double. */
#include <math.h>
#include <string.h>

#include "check.h"

#include "member.h"

/* (theta - offset)^2 / 2 in one dimension, with a loss that turns non-finite at the end of the first attempts. */
typedef struct Target {
  uint32_t num_bad; /* attempts */
  uint32_t attempts[16];
  double offsets[16], starts[16];
  size_t num_offsets, num_starts;
  uint32_t attempt; /* under way */
  double offset[2];
  RpinnBatchObjective objective;
} Target;

static const double *take_slot(void *data, size_t slot, uint64_t member, uint32_t attempt,
                               bool with_offsets) {
  Target *target = data;
  assert_true(with_offsets && slot == 0);
  target->attempts[target->num_offsets] = attempt;
  target->offsets[target->num_offsets++] = target->offset[0] = target->offset[1] =
      (double)member + 0.1 * attempt;
  target->attempt = attempt;
  return target->offset;
}

static RpinnStatus draw_start(void *data, size_t slot, uint64_t member, uint32_t attempt, double *theta) {
  Target *target = data;
  assert_int_equal(slot, 0);
  check_close(target->offset[0], (double)member + 0.1 * attempt, 0);
  target->starts[target->num_starts++] = *theta = 50 + attempt;
  return RPINN_OK;
}

static RpinnStatus evaluate(RpinnContext *context, void *data, size_t count, const size_t *members,
                            const double *const *thetas, double *values, double *const *gradients) {
  const Target *target = data;
  double off = thetas[0][0] - target->offset[0];
  (void)context;
  assert_true(count == 1 && members[0] == 0);
  values[0] = 0.5 * off * off;
  if (gradients && gradients[0]) gradients[0][0] = off;
  return RPINN_OK;
}

static RpinnStatus evaluate_parts(RpinnContext *context, void *data, size_t count, const size_t *members,
                                  const double *const *thetas, double *values, double *const *gradients,
                                  double *const *parts) {
  const Target *target = data;
  RPINN_TRY(evaluate(context, data, count, members, thetas, values, gradients));
  parts[0][0] = 7;
  if (target->attempt < target->num_bad) values[0] = (double)NAN;
  return RPINN_OK;
}

static RpinnMemberTarget own_target(Target *target) {
  target->objective = (RpinnBatchObjective){.num_parameters = 1,
                                            .group = 1,
                                            .data = target,
                                            .evaluate = evaluate,
                                            .num_parts = 1,
                                            .evaluate_parts = evaluate_parts};
  return (RpinnMemberTarget){.num_parameters = 1,
                             .num_slots = 1,
                             .has_offsets = true,
                             .data = target,
                             .objective = &target->objective,
                             .take_slot = take_slot,
                             .draw_start = draw_start};
}

static RpinnMemberOutcome run_member(Target *target, uint64_t index, uint32_t max_retries, double *theta) {
  RpinnContext *context = rpinn_context_create();
  RpinnMemberTarget own = own_target(target);
  RpinnMinimizeOptions options = {.minimizer = RPINN_MINIMIZER_LBFGS,
                                  .iterations = 100,
                                  .gradient_tolerance = 1e-8,
                                  .progress_tolerance = (double)NAN};
  RpinnMember *member;
  RpinnMemberOutcome outcome;
  assert_int_equal(rpinn_member_create(context, &own, 0, &options, max_retries, &member), RPINN_OK);
  assert_int_equal(rpinn_member_begin(context, member, index, NULL, 0), RPINN_OK);
  do assert_int_equal(rpinn_member_advance(context, member, 1000, &outcome), RPINN_OK);
  while (!outcome.finished);
  *theta = outcome.theta[0];
  check_close(outcome.parts[0], 7, 0);
  outcome.theta = outcome.parts = NULL;
  outcome.trace = NULL;
  rpinn_member_destroy(member);
  rpinn_context_destroy(context);
  return outcome;
}

static void attempts_are_fresh(void **state) {
  (void)state;
  Target target = {.num_bad = 2};
  double theta;
  RpinnMemberOutcome outcome = run_member(&target, 4, 5, &theta);
  assert_true(outcome.converged && !outcome.failed);
  assert_int_equal(outcome.attempts, 2);
  assert_int_equal(target.num_offsets, 3);
  assert_int_equal(target.num_starts, 3);
  for (uint32_t k = 0; k < 3; k++) {
    assert_int_equal(target.attempts[k], k);
    check_close(target.offsets[k], 4 + 0.1 * k, 0);
    check_close(target.starts[k], 50 + k, 0);
  }
  check_close(theta, 4.2, 1e-7); /* the minimiser of the last attempt */
  check_close(outcome.loss, 0, 1e-12);
  assert_true(outcome.gradient_norm < 1e-8);
}

static void failed_members_have_not_converged(void **state) {
  (void)state;
  for (uint32_t retries = 0; retries < 3; retries++) {
    Target target = {.num_bad = 10};
    double theta;
    RpinnMemberOutcome outcome = run_member(&target, 4, retries, &theta);
    assert_true(outcome.failed);
    assert_int_equal(outcome.stop, RPINN_STOP_GRADIENT_SMALL);
    check_true(!outcome.converged, "a failed member counts as converged");
    assert_int_equal(outcome.attempts, retries);
    assert_int_equal(target.num_offsets, retries + 1);
  }
}

/* A state goes on with the offsets of its own attempt; one that is cut off is refused. */
static void states_know_their_attempt(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Target target = {.num_bad = 1};
  RpinnMemberTarget own = own_target(&target);
  RpinnMinimizeOptions options = {.minimizer = RPINN_MINIMIZER_ADAM,
                                  .iterations = 40,
                                  .adam = {.learning_rate = 0.1,
                                           .beta1 = 0.9,
                                           .beta2 = 0.999,
                                           .epsilon = 1e-8,
                                           .decay_rate = 1,
                                           .decay_steps = 1},
                                  .gradient_tolerance = (double)NAN,
                                  .progress_tolerance = (double)NAN};
  RpinnMember *member;
  RpinnMemberOutcome outcome;
  assert_int_equal(rpinn_member_create(context, &own, 0, &options, 3, &member), RPINN_OK);
  assert_int_equal(rpinn_member_begin(context, member, 6, NULL, 0), RPINN_OK);
  assert_int_equal(rpinn_member_advance(context, member, 40, &outcome),
                   RPINN_OK); /* the first attempt fails */
  assert_false(outcome.finished);
  assert_int_equal(rpinn_member_advance(context, member, 25, &outcome), RPINN_OK);
  assert_false(outcome.finished);
  assert_int_equal(rpinn_member_num_iterations(member), 25);
  size_t size = rpinn_member_state_size(member);
  char *saved = malloc(size);
  rpinn_member_save(member, saved);
  target.num_offsets = target.num_starts = 0;
  assert_int_equal(rpinn_member_begin(context, member, 6, saved, size), RPINN_OK);
  assert_int_equal(rpinn_member_num_iterations(member), 25);
  assert_int_equal(target.num_offsets, 1);
  assert_int_equal(target.attempts[0], 1);
  assert_int_equal(target.num_starts, 0);
  assert_int_equal(rpinn_member_advance(context, member, 1000, &outcome), RPINN_OK);
  assert_true(outcome.finished && !outcome.failed);
  assert_int_equal(outcome.iterations, 40);
  assert_int_equal(outcome.attempts, 1);
  for (size_t cut = 0; cut < size; cut++) {
    target.num_offsets = 0;
    assert_int_equal(rpinn_member_begin(context, member, 6, saved, cut), RPINN_ERROR_INPUT);
  }
  free(saved);
  rpinn_member_destroy(member);
  rpinn_context_destroy(context);
}

/* ---- members that their precision stops ---- */

/* Rosenbrock's rows, 10 (y - x^2) and 1 - x, seen from their usual start, x = a - 1.2 and y = 1 + b. With a bump, which stands for what
 * rounding does far from it, every other point is higher than the start: no step goes down, whatever the Jacobian promises. */
typedef struct Valley {
  double bump;
  bool has_steps; /* rows are in the middle of steps, and within one of them nothing changes */
  size_t num_asked;
  RpinnBatchObjective objective;
  RpinnBatchLeastSquares squares;
} Valley;

typedef struct Pair {
  Valley coarse, exact;
  size_t num_opened, num_starts;
  bool has_no_memory;
  uint32_t num_bad; /* attempts whose end is not finite in double */
  uint32_t attempt;
} Pair;

static void find_rows(Valley *valley, const double *theta, double *rows) {
  double x = theta[0] - 1.2;
  rows[0] = 10 * (1 + theta[1] - x * x);
  rows[1] = 1 - x;
  if (theta[0] != 0 || theta[1] != 0) rows[0] += rows[0] < 0 ? -valley->bump : valley->bump;
  for (size_t k = 0; valley->has_steps && k < 2; k++) rows[k] = 0x1p-6 * (floor(0x1p6 * rows[k]) + 0.5);
  valley->num_asked++;
}

static RpinnStatus valley_rows(RpinnContext *context, void *data, size_t count, const size_t *members,
                               const double *const *thetas, const double *const *inputs, double *const *rows,
                               double *const *outputs) {
  (void)context, (void)members, (void)inputs, (void)outputs;
  for (size_t k = 0; k < count; k++) find_rows(data, thetas[k], rows[k]);
  return RPINN_OK;
}

static RpinnStatus valley_jacobian(RpinnContext *context, void *data, size_t count, const size_t *members,
                                   const double *const *thetas, const double *const *inputs,
                                   double *const *rows, double *const *outputs) {
  RPINN_TRY(valley_rows(context, data, count, members, thetas, inputs, rows, outputs));
  for (size_t k = 0; k < count; k++)
    memcpy(outputs[k], (const double[]){-20 * (thetas[k][0] - 1.2), 10, -1, 0}, 4 * sizeof(double));
  return RPINN_OK;
}

static RpinnStatus valley_parts(RpinnContext *context, void *data, size_t count, const size_t *members,
                                const double *const *thetas, double *values, double *const *gradients,
                                double *const *parts) {
  (void)context, (void)members;
  double rows[2], x = thetas[0][0] - 1.2;
  assert_int_equal(count, 1);
  find_rows(data, thetas[0], rows);
  parts[0][0] = values[0] = 0.5 * (rows[0] * rows[0] + rows[1] * rows[1]);
  gradients[0][0] = -20 * x * rows[0] - rows[1];
  gradients[0][1] = 10 * rows[0];
  return RPINN_OK;
}

/* The last look of the first attempts is not finite. */
static RpinnStatus bad_parts(RpinnContext *context, void *data, size_t count, const size_t *members,
                             const double *const *thetas, double *values, double *const *gradients,
                             double *const *parts) {
  Valley *valley = data;
  const Pair *pair = (const Pair *)((const char *)valley - offsetof(Pair, exact));
  RPINN_TRY(valley_parts(context, data, count, members, thetas, values, gradients, parts));
  if (pair->attempt < pair->num_bad) values[0] = (double)NAN;
  return RPINN_OK;
}

static const double *take_valley(void *data, size_t slot, uint64_t member, uint32_t attempt,
                                 bool with_offsets) {
  (void)slot, (void)member, (void)with_offsets;
  ((Pair *)data)->attempt = attempt;
  return NULL;
}

static RpinnStatus start_in_valley(void *data, size_t slot, uint64_t member, uint32_t attempt,
                                   double *theta) {
  (void)slot, (void)member, (void)attempt;
  ((Pair *)data)->num_starts++;
  theta[0] = theta[1] = 0;
  return RPINN_OK;
}

static RpinnStatus open_exact(RpinnContext *context, void *data, const RpinnBatchObjective **objective,
                              const RpinnBatchLeastSquares **squares) {
  Pair *pair = data;
  pair->num_opened++;
  if (pair->has_no_memory) return rpinn_fail_memory(context);
  *objective = &pair->exact.objective;
  *squares = &pair->exact.squares;
  return RPINN_OK;
}

static void make_valley(Valley *valley, double bump) {
  valley->bump = bump;
  valley->objective = (RpinnBatchObjective){.num_parameters = 2,
                                            .group = 1,
                                            .data = valley,
                                            .num_parts = 1,
                                            .evaluate_parts = bump > 0 ? valley_parts : bad_parts};
  valley->squares = (RpinnBatchLeastSquares){.num_parameters = 2,
                                             .num_rows = 2,
                                             .group = 1,
                                             .data = valley,
                                             .residuals = valley_rows,
                                             .jacobian = valley_jacobian};
}

static RpinnMemberTarget pair_target(Pair *pair) {
  make_valley(&pair->coarse, 10);
  make_valley(&pair->exact, 0);
  return (RpinnMemberTarget){.num_parameters = 2,
                             .num_slots = 1,
                             .data = pair,
                             .objective = &pair->coarse.objective,
                             .squares = &pair->coarse.squares,
                             .take_slot = take_valley,
                             .draw_start = start_in_valley,
                             .open_double = open_exact};
}

static RpinnMinimizeOptions valley_options(size_t iterations) {
  return (RpinnMinimizeOptions){.minimizer = RPINN_MINIMIZER_LM,
                                .iterations = iterations,
                                .gradient_tolerance = 1e-10,
                                .progress_tolerance = 0,
                                .progress_window = 1000};
}

/* What is left of an outcome when its member is gone. */
typedef struct Ended {
  RpinnMemberOutcome outcome;
  double theta[2];
  RpinnTracePoint trace[RPINN_TRACE_CAPACITY];
} Ended;

/* In slices of so many iterations, each by a member of its own from the state of the one before where they are saved. */
static Ended end_of(RpinnMemberTarget target, size_t iterations, uint32_t max_retries, size_t slice,
                    bool saved) {
  RpinnContext *context = rpinn_context_create();
  RpinnMinimizeOptions options = valley_options(iterations);
  RpinnMember *member;
  Ended ended = {0};
  RpinnMemberOutcome *outcome = &ended.outcome;
  assert_int_equal(rpinn_member_create(context, &target, 0, &options, max_retries, &member), RPINN_OK);
  assert_int_equal(rpinn_member_begin(context, member, 3, NULL, 0), RPINN_OK);
  for (size_t done = 0; !outcome->finished; done = outcome->iterations) {
    assert_int_equal(rpinn_member_advance(context, member, slice, outcome), RPINN_OK);
    check_true(outcome->iterations - done <= slice || outcome->iterations < done,
               "%zu iterations in a slice of %zu", outcome->iterations - done, slice);
    if (!saved || outcome->finished) continue;
    size_t size = rpinn_member_state_size(member);
    char *state = malloc(size);
    rpinn_member_save(member, state);
    rpinn_member_destroy(member);
    assert_int_equal(rpinn_member_create(context, &target, 0, &options, max_retries, &member), RPINN_OK);
    assert_int_equal(rpinn_member_begin(context, member, 3, state, size), RPINN_OK);
    free(state);
  }
  memcpy(ended.theta, outcome->theta, sizeof ended.theta);
  memcpy(ended.trace, outcome->trace, outcome->num_trace * sizeof *ended.trace);
  outcome->theta = outcome->parts = NULL;
  outcome->trace = NULL;
  rpinn_member_destroy(member);
  rpinn_context_destroy(context);
  return ended;
}

static void stalled_members_go_on_in_double(void **state) {
  (void)state;
  Pair pair = {0};
  RpinnMemberTarget target = pair_target(&pair), coarse = target;
  coarse.open_double = NULL;
  Ended stalled = end_of(coarse, 1000, 0, 1000, false);
  assert_int_equal(stalled.outcome.stop, RPINN_STOP_DAMPING_LIMIT);
  assert_false(stalled.outcome.in_double || stalled.outcome.converged);
  assert_int_equal(pair.exact.num_asked, 0);
  Ended ended = end_of(target, 1000, 0, 1000, false);
  assert_int_equal(ended.outcome.stop, RPINN_STOP_GRADIENT_SMALL);
  assert_true(ended.outcome.in_double && ended.outcome.converged);
  assert_int_equal(pair.num_opened, 1);
  check_close(ended.theta[0], 2.2, 1e-8);
  check_close(ended.theta[1], 0, 1e-8);
  assert_true(ended.outcome.loss < 1e-16 && ended.outcome.gradient_norm < 1e-9);
  /* The record is that of the whole way: counts go on, and so does the trace. */
  assert_true(ended.outcome.iterations > stalled.outcome.iterations);
  assert_true(ended.outcome.evaluations > stalled.outcome.evaluations);
  assert_true(ended.outcome.num_trace > stalled.outcome.num_trace);
  assert_memory_equal(ended.trace, stalled.trace, stalled.outcome.num_trace * sizeof *stalled.trace);
  assert_int_equal(ended.trace[stalled.outcome.num_trace].iteration, stalled.outcome.iterations);
}

static const double *weak_prior(void *data, size_t member) {
  static const double root[] = {1e-3, 1e-3};
  (void)data, (void)member;
  return root;
}

/* Rows that no short step changes: such a member has converged where the model promises nothing, or is not asked what it promises because
 * the rule has no amount; else it goes on. */
static void short_steps_that_change_nothing(void **state) {
  (void)state;
  static const double minimum[] = {2.2, 0};
  for (int asks = 0; asks < 2; asks++) {
    RpinnContext *context = rpinn_context_create();
    Pair pair = {0};
    RpinnMemberTarget target = pair_target(&pair);
    RpinnMinimizeOptions options = valley_options(1000);
    RpinnMember *member;
    RpinnMemberOutcome outcome;
    pair.coarse.bump = 0;
    pair.coarse.has_steps = true;
    pair.coarse.squares.prior_root = pair.exact.squares.prior_root = weak_prior;
    pair.coarse.squares.prior_mean = pair.exact.squares.prior_mean = minimum;
    options.progress_amount = asks ? 1e-6 : 0;
    assert_int_equal(rpinn_member_create(context, &target, 0, &options, 0, &member), RPINN_OK);
    assert_int_equal(rpinn_member_begin(context, member, 0, NULL, 0), RPINN_OK);
    assert_int_equal(rpinn_member_advance(context, member, SIZE_MAX, &outcome), RPINN_OK);
    assert_true(outcome.converged);
    assert_int_equal(outcome.in_double, asks);
    assert_int_equal(pair.num_opened, asks);
    if (asks)
      assert_true(outcome.loss < 1e-12);
    else
      assert_int_equal(outcome.stop, RPINN_STOP_NO_PROGRESS);
    rpinn_member_destroy(member);
    rpinn_context_destroy(context);
  }
}

static void the_budget_is_one_for_both_precisions(void **state) {
  (void)state;
  Pair pair = {0};
  RpinnMemberTarget target = pair_target(&pair), coarse = target;
  coarse.open_double = NULL;
  size_t stalled = end_of(coarse, 1000, 0, 1000, false).outcome.iterations;
  Ended ended = end_of(target, stalled + 2, 0, 1000, false);
  assert_int_equal(ended.outcome.stop, RPINN_STOP_BUDGET);
  assert_int_equal(ended.outcome.iterations, stalled + 2);
  assert_true(ended.outcome.in_double);
  /* Who is stopped before he stalls needs no other precision. */
  pair.num_opened = 0;
  ended = end_of(target, stalled - 1, 0, 1000, false);
  assert_int_equal(ended.outcome.stop, RPINN_STOP_BUDGET);
  assert_false(ended.outcome.in_double);
  assert_int_equal(pair.num_opened, 0);
}

/* Whatever the slices, and whether a state is saved between them: the same bits. */
static void states_know_their_precision(void **state) {
  (void)state;
  Pair pair = {0};
  RpinnMemberTarget target = pair_target(&pair);
  Ended whole = end_of(target, 1000, 0, 1000, false);
  for (size_t slice = 1; slice <= 7; slice++)
    for (int saved = 0; saved < 2; saved++) {
      Ended ended = end_of(target, 1000, 0, slice, saved);
      assert_memory_equal(ended.theta, whole.theta, sizeof whole.theta);
      assert_true(ended.outcome.in_double);
      assert_int_equal(ended.outcome.iterations, whole.outcome.iterations);
      assert_int_equal(ended.outcome.evaluations, whole.outcome.evaluations);
      assert_int_equal(ended.outcome.num_trace, whole.outcome.num_trace);
      assert_memory_equal(ended.trace, whole.trace, whole.outcome.num_trace * sizeof *whole.trace);
      check_close(ended.outcome.loss, whole.outcome.loss, 0);
    }
}

/* A fresh attempt begins in the precision of the target, at its own start. */
static void attempts_begin_without_double(void **state) {
  (void)state;
  Pair pair = {.num_bad = 1};
  RpinnMemberTarget target = pair_target(&pair);
  Ended ended = end_of(target, 1000, 2, 1000, false);
  assert_int_equal(ended.outcome.attempts, 1);
  assert_int_equal(pair.num_starts, 2);
  assert_int_equal(pair.num_opened, 2);
  Pair once = {0};
  Ended single = end_of(pair_target(&once), 1000, 0, 1000, false);
  assert_int_equal(pair.coarse.num_asked, 2 * once.coarse.num_asked);
  assert_int_equal(ended.outcome.iterations, single.outcome.iterations);
}

/* A member whose other precision cannot be had is a failure, and one that has none cannot go on with such a state. */
static void double_that_cannot_be_had_is_a_status(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Pair pair = {.has_no_memory = true};
  RpinnMemberTarget target = pair_target(&pair);
  RpinnMinimizeOptions options = valley_options(1000);
  RpinnMember *member;
  RpinnMemberOutcome outcome = {0};
  assert_int_equal(rpinn_member_create(context, &target, 0, &options, 0, &member), RPINN_OK);
  assert_int_equal(rpinn_member_begin(context, member, 0, NULL, 0), RPINN_OK);
  assert_int_equal(rpinn_member_advance(context, member, SIZE_MAX, &outcome), RPINN_ERROR_MEMORY);
  pair.has_no_memory = false;
  assert_int_equal(rpinn_member_begin(context, member, 0, NULL, 0), RPINN_OK);
  for (pair.num_opened = 0; !pair.num_opened && !outcome.finished;)
    assert_int_equal(rpinn_member_advance(context, member, 1, &outcome), RPINN_OK);
  size_t size = rpinn_member_state_size(member);
  char *saved = malloc(size);
  rpinn_member_save(member, saved);
  target.open_double = NULL;
  assert_int_equal(rpinn_member_begin(context, member, 0, saved, size), RPINN_ERROR_INPUT);
  free(saved);
  rpinn_member_destroy(member);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(attempts_are_fresh),
                                     cmocka_unit_test(failed_members_have_not_converged),
                                     cmocka_unit_test(states_know_their_attempt),
                                     cmocka_unit_test(stalled_members_go_on_in_double),
                                     cmocka_unit_test(short_steps_that_change_nothing),
                                     cmocka_unit_test(the_budget_is_one_for_both_precisions),
                                     cmocka_unit_test(states_know_their_precision),
                                     cmocka_unit_test(attempts_begin_without_double),
                                     cmocka_unit_test(double_that_cannot_be_had_is_a_status)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
