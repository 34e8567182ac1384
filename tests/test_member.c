/* One member from begin to end on a target of its own: fresh attempts have fresh offsets and starts, and one that failed
 * has not converged, whatever its optimiser says. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(attempts_are_fresh),
                                     cmocka_unit_test(failed_members_have_not_converged),
                                     cmocka_unit_test(states_know_their_attempt)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
