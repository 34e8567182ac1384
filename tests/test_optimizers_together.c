/* Optimisers of many members together, on targets for groups: each has the bits that it has alone, whatever its company, and
 * calls are as large as they can be. */
#include "herd.h"
#include "optimizer_bench.h"

typedef enum Method { ADAM, LBFGS, MARQUARDT } Method;

typedef struct Kind {
  const char *name;
  Method method;
  size_t num_parameters, num_rows;
  bool offers_all; /* adam_advance, or all products */
  bool is_matrix_free, has_momentum, has_acceleration;
} Kind;

static const Kind kinds[] = {
    {"Adam, composed", ADAM, 5, 8, .offers_all = false},
    {"Adam of the target", ADAM, 5, 8, .offers_all = true},
    {"L-BFGS", LBFGS, 5, 8, .offers_all = false},
    {"LM, normal", MARQUARDT, 5, 8, .offers_all = false},
    {"LM, dense", MARQUARDT, 8, 5, .offers_all = false},
    {"LM, products", MARQUARDT, 8, 5, .offers_all = true},
    {"LM, as many rows as parameters", MARQUARDT, 6, 6, .offers_all = true},
    {"LM by conjugate gradients", MARQUARDT, 8, 5, .offers_all = true, .is_matrix_free = true},
    {"LM, normal, with momentum", MARQUARDT, 5, 8, .has_momentum = true},
    {"LM, products, with momentum", MARQUARDT, 8, 5, .offers_all = true, .has_momentum = true},
    {"LM by conjugate gradients, with momentum", MARQUARDT, 5, 8, .offers_all = true, .is_matrix_free = true,
     .has_momentum = true},
    {"LM, normal, with acceleration", MARQUARDT, 5, 8, .has_acceleration = true},
    {"LM, products, with both", MARQUARDT, 8, 5, .offers_all = true, .has_momentum = true,
     .has_acceleration = true},
};
enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct Options {
  RpinnAdamOptions adam;
  RpinnLbfgsOptions lbfgs;
  RpinnLevenbergMarquardtOptions marquardt;
} Options;

static Options options_of(const Kind *kind) {
  Options options = {rpinn_adam_default_options(), rpinn_lbfgs_default_options(),
                     rpinn_levenberg_marquardt_default_options()};
  options.adam.stop = (RpinnStopRule){.max_iterations = 140, .gradient_tolerance = 1};
  options.adam.rule.learning_rate = 0.02;
  options.adam.chunk_iterations = 5;
  options.lbfgs.memory = 4;
  options.marquardt.stop = (RpinnStopRule){.max_iterations = 60, .gradient_tolerance = 1e-9};
  options.marquardt.max_dense_rows = kind->is_matrix_free ? 1 : 0;
  options.marquardt.momentum = kind->has_momentum;
  options.marquardt.acceleration = kind->has_acceleration;
  options.marquardt.stop.progress_amount = kind->has_acceleration ? 1e-9 : 0;
  return options;
}

static RpinnOptimizer *make_single(Herd *herd, const Kind *kind, size_t member) {
  Options options = options_of(kind);
  RpinnObjective objective = herd_single_objective(&herd->members[member], kind->offers_all);
  RpinnLeastSquares squares = herd_single_squares(&herd->members[member], kind->offers_all);
  switch (kind->method) {
  case ADAM: return make_adam(&objective, &options.adam);
  case LBFGS: return make_lbfgs(&objective, &options.lbfgs);
  default: return make_levenberg_marquardt(&squares, herd->members[member].offsets, &options.marquardt);
  }
}

static RpinnOptimizer *make_member(Herd *herd, const Kind *kind, size_t member) {
  Options options = options_of(kind);
  RpinnBatchObjective objective = herd_objective(herd, kind->offers_all);
  RpinnBatchLeastSquares squares = herd_squares(herd, kind->offers_all);
  RpinnOptimizer *optimizer = NULL;
  RpinnStatus status;
  if (kind->method == ADAM)
    status = rpinn_adam_create_member(context, &objective, member, &options.adam, &optimizer);
  else if (kind->method == LBFGS)
    status = rpinn_lbfgs_create_member(context, &objective, member, &options.lbfgs, &optimizer);
  else
    status = rpinn_levenberg_marquardt_create_member(context, &squares, member, herd->members[member].offsets,
                                                     &options.marquardt, &optimizer);
  assert_int_equal(status, RPINN_OK);
  return optimizer;
}

/* ---- a herd of one kind ---- */

typedef struct Flock {
  Herd herd;
  RpinnOptimizer *single[HERD_MEMBERS], *together[HERD_MEMBERS];
  const double *starts[HERD_MEMBERS];
} Flock;

/* The single ones have come to their end. */
static void flock_open(Flock *flock, const Kind *kind, double bend) {
  herd_fill(&flock->herd, kind->num_parameters, kind->num_rows, bend);
  for (size_t m = 0; m < HERD_MEMBERS; m++) {
    flock->starts[m] = flock->herd.members[m].start;
    flock->single[m] = make_single(&flock->herd, kind, m);
    flock->together[m] = make_member(&flock->herd, kind, m);
    run(flock->single[m], flock->starts[m]);
  }
}

static void flock_close(Flock *flock) {
  for (size_t m = 0; m < HERD_MEMBERS; m++) {
    rpinn_optimizer_destroy(flock->single[m]);
    rpinn_optimizer_destroy(flock->together[m]);
  }
}

static unsigned char *save(const RpinnOptimizer *optimizer) {
  unsigned char *bytes = malloc(rpinn_optimizer_state_size(optimizer));
  rpinn_optimizer_save(optimizer, bytes);
  return bytes;
}

/* The saved state holds every field of a run: optimum, trace, counts, and what the method remembers. */
static void check_same(const RpinnOptimizer *found, const RpinnOptimizer *expected, const char *what,
                       size_t member) {
  size_t size = rpinn_optimizer_state_size(expected);
  RpinnOptimum optimum = rpinn_optimizer_optimum(found), alone = rpinn_optimizer_optimum(expected);
  unsigned char *found_bytes = save(found), *expected_bytes = save(expected);
  assert_int_equal(rpinn_optimizer_state_size(found), size);
  check_true(
      !memcmp(found_bytes, expected_bytes, size),
      "%s, member %zu: loss %.17g after %zu iterations and %zu evaluations (%s); alone %.17g, %zu, %zu "
      "(%s)",
      what, member, optimum.loss, optimum.num_iterations, optimum.num_evaluations,
      rpinn_stop_name(optimum.stop), alone.loss, alone.num_iterations, alone.num_evaluations,
      rpinn_stop_name(alone.stop));
  free(found_bytes);
  free(expected_bytes);
}

static void check_flock(const Flock *flock, const Kind *kind) {
  for (size_t m = 0; m < HERD_MEMBERS; m++) check_same(flock->together[m], flock->single[m], kind->name, m);
}

static void start(Flock *flock, size_t count) {
  assert_int_equal(rpinn_optimizers_start(context, count, flock->together, flock->starts), RPINN_OK);
}

static void advance(Flock *flock, size_t count, size_t num_iterations) {
  assert_int_equal(rpinn_optimizers_advance(context, count, flock->together, num_iterations), RPINN_OK);
}

/* ---- bits ---- */

static void each_is_as_it_is_alone(void **state) {
  (void)state;
  static Flock flock;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    size_t fewest = SIZE_MAX, most = 0;
    flock_open(&flock, &kinds[k], 0.3);
    start(&flock, HERD_MEMBERS);
    advance(&flock, HERD_MEMBERS, SIZE_MAX);
    check_flock(&flock, &kinds[k]);
    for (size_t m = 0; m < HERD_MEMBERS; m++) {
      size_t num_iterations = rpinn_optimizer_optimum(flock.single[m]).num_iterations;
      fewest = num_iterations < fewest ? num_iterations : fewest;
      most = num_iterations > most ? num_iterations : most;
    }
    print_message("  %-42s %zu to %zu iterations, %zu calls\n", kinds[k].name, fewest, most,
                  flock.herd.num_calls);
    assert_true(fewest > 3 && fewest < most); /* they leave at different times */
    flock_close(&flock);
  }
}

/* In pieces, and started once more: what was asked and answered last time leaves no mark. */
static void pieces_and_new_starts_leave_no_mark(void **state) {
  (void)state;
  static Flock flock;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    flock_open(&flock, &kinds[k], 0.3);
    start(&flock, HERD_MEMBERS);
    advance(&flock, HERD_MEMBERS, 3);
    start(&flock, HERD_MEMBERS);
    for (size_t piece = 0; piece < 140; piece += 2) advance(&flock, HERD_MEMBERS, 2);
    check_flock(&flock, &kinds[k]);
    flock_close(&flock);
  }
}

/* Every kind at once, on targets of their own: Adam and L-BFGS ask for values while Levenberg-Marquardt asks for rows. */
static void methods_mix(void **state) {
  (void)state;
  static Flock flocks[NUM_KINDS];
  RpinnOptimizer *all[NUM_KINDS * HERD_MEMBERS];
  const double *starts[NUM_KINDS * HERD_MEMBERS];
  size_t count = 0;
  for (size_t k = 0; k < NUM_KINDS; k++) flock_open(&flocks[k], &kinds[k], 0.3);
  for (size_t m = 0; m < HERD_MEMBERS; m++)
    for (size_t k = 0; k < NUM_KINDS; k++, count++) {
      all[count] = flocks[k].together[m];
      starts[count] = flocks[k].starts[m];
    }
  assert_int_equal(rpinn_optimizers_start(context, count, all, starts), RPINN_OK);
  assert_int_equal(rpinn_optimizers_advance(context, count, all, SIZE_MAX), RPINN_OK);
  for (size_t k = 0; k < NUM_KINDS; k++) {
    check_flock(&flocks[k], &kinds[k]);
    flock_close(&flocks[k]);
  }
}

/* ---- calls ---- */

/* Where there is but one question, who is still at work is in every call: of 7, 7, 7, 5, … as 3, 3, 1, 3, 3, 1, 3, 2, …. */
static void calls_hold_all_that_are_at_work(void **state) {
  (void)state;
  static Flock flock;
  const Kind *const of_values[] = {&kinds[0], &kinds[2]};
  for (size_t k = 0; k < 2; k++) {
    size_t call = 0;
    flock_open(&flock, of_values[k], 0.3);
    start(&flock, HERD_MEMBERS);
    advance(&flock, HERD_MEMBERS, SIZE_MAX);
    for (size_t evaluation = 0, at_work = HERD_MEMBERS; at_work > 0; evaluation++) {
      at_work = 0;
      for (size_t m = 0; m < HERD_MEMBERS; m++)
        at_work += rpinn_optimizer_optimum(flock.single[m]).num_evaluations > evaluation;
      for (size_t left = at_work; left > 0; left -= flock.herd.sizes[call++])
        assert_int_equal(flock.herd.sizes[call], left < HERD_GROUP ? left : HERD_GROUP);
    }
    assert_int_equal(flock.herd.num_calls, call);
    flock_close(&flock);
  }
}

/* Linear rows reject no step: members with the same kind of prior keep in step, and every call is full. Line searches,
 * conjugate gradients, momentum and acceleration do not take the same number of calls everywhere. */
static void calls_are_full_in_step(void **state) {
  (void)state;
  static Flock flock;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    if (kinds[k].method == LBFGS || kinds[k].is_matrix_free || kinds[k].has_momentum ||
        kinds[k].has_acceleration)
      continue;
    flock_open(&flock, &kinds[k], 0);
    for (size_t i = 0; i < HERD_GROUP; i++) { /* members 0, 3 and 6 */
      RpinnOptimizer *chosen = flock.together[3 * i];
      flock.together[3 * i] = flock.together[i];
      flock.together[i] = chosen;
      flock.starts[i] = flock.herd.members[3 * i].start;
    }
    start(&flock, HERD_GROUP);
    advance(&flock, HERD_GROUP, 2);
    assert_true(flock.herd.num_calls >= 2);
    for (size_t call = 0; call < flock.herd.num_calls; call++)
      check_true(flock.herd.sizes[call] == HERD_GROUP, "%s: call %zu is for %zu", kinds[k].name, call,
                 flock.herd.sizes[call]);
    flock_close(&flock);
  }
}

/* Two methods that ask the same of one target share its calls. */
static void methods_share_calls(void **state) {
  (void)state;
  static Flock flock;
  flock_open(&flock, &kinds[0], 0.3);
  for (size_t m = 1; m < HERD_GROUP; m++) {
    rpinn_optimizer_destroy(flock.together[m]);
    flock.together[m] = make_member(&flock.herd, &kinds[2], m);
  }
  start(&flock, HERD_GROUP);
  advance(&flock, HERD_GROUP, 3);
  assert_true(flock.herd.num_calls >= 4);
  for (size_t call = 0; call < 4; call++) assert_int_equal(flock.herd.sizes[call], HERD_GROUP);
  flock_close(&flock);
}

/* ---- states ---- */

static RpinnOptimizer *restore_into(RpinnOptimizer *optimizer, const RpinnOptimizer *saved) {
  unsigned char *bytes = save(saved);
  assert_int_equal(rpinn_optimizer_restore(context, optimizer, bytes, rpinn_optimizer_state_size(saved)),
                   RPINN_OK);
  free(bytes);
  return optimizer;
}

static void saved_in_a_group_and_restored_alone(void **state) {
  (void)state;
  static Flock flock;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    flock_open(&flock, &kinds[k], 0.3);
    start(&flock, HERD_MEMBERS);
    advance(&flock, HERD_MEMBERS, 3);
    for (size_t m = 0; m < HERD_MEMBERS; m++) {
      RpinnOptimizer *alone = make_single(&flock.herd, &kinds[k], m);
      restore_into(alone, flock.together[m]);
      assert_int_equal(rpinn_optimizer_advance(context, alone, SIZE_MAX), RPINN_OK);
      check_same(alone, flock.single[m], kinds[k].name, m);
      rpinn_optimizer_destroy(alone);
    }
    flock_close(&flock);
  }
}

/* Some of a group go on from states of single ones, beside others that are further. */
static void restored_into_a_group(void **state) {
  (void)state;
  static Flock flock;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    flock_open(&flock, &kinds[k], 0.3);
    start(&flock, HERD_MEMBERS);
    advance(&flock, HERD_MEMBERS, 5);
    for (size_t m = 0; m < HERD_MEMBERS; m += 2) {
      RpinnOptimizer *alone = make_single(&flock.herd, &kinds[k], m);
      assert_int_equal(rpinn_optimizer_start(context, alone, flock.starts[m]), RPINN_OK);
      assert_int_equal(rpinn_optimizer_advance(context, alone, 2), RPINN_OK);
      restore_into(flock.together[m], alone);
      rpinn_optimizer_destroy(alone);
    }
    advance(&flock, HERD_MEMBERS, SIZE_MAX);
    check_flock(&flock, &kinds[k]);
    flock_close(&flock);
  }
}

/* ---- failures ---- */

static void check_message(RpinnStatus status, RpinnStatus expected, const char *message) {
  assert_int_equal(status, expected);
  assert_string_equal(rpinn_context_error(context)->message, message);
}

/* Whatever fails, the message is the target's own where it has one, nobody goes on, and all can start again. */
static void a_failure_ends_all_of_them(void **state) {
  (void)state;
  static Flock flock;
  for (size_t k = 0; k < NUM_KINDS; k++) {
    flock_open(&flock, &kinds[k], 0.3);
    start(&flock, HERD_MEMBERS);
    flock.herd.fails_at = flock.herd.num_calls + 7;
    flock.herd.tells_why = true;
    char message[64];
    snprintf(message, sizeof message, "the herd has scattered at call %zu", flock.herd.fails_at);
    check_message(rpinn_optimizers_advance(context, HERD_MEMBERS, flock.together, SIZE_MAX),
                  RPINN_ERROR_NUMERIC, message);
    for (size_t m = 0; m < HERD_MEMBERS; m++)
      check_message(rpinn_optimizer_advance(context, flock.together[m], 1), RPINN_ERROR_INPUT,
                    "the optimiser was not started, or has failed before");
    assert_int_equal(rpinn_optimizers_advance(context, HERD_MEMBERS, flock.together, 1), RPINN_ERROR_INPUT);
    assert_int_equal(flock.herd.num_calls, flock.herd.fails_at);
    start(&flock, HERD_MEMBERS);
    advance(&flock, HERD_MEMBERS, SIZE_MAX);
    check_flock(&flock, &kinds[k]);
    flock_close(&flock);
  }
}

static void a_failure_without_words_names_the_function(void **state) {
  (void)state;
  static Flock flock;
  flock_open(&flock, &kinds[5], 0.3);
  flock.herd.fails_at = 5; /* after the rows of all, in three calls, the first products for g */
  check_message(rpinn_optimizers_start(context, HERD_MEMBERS, flock.together, flock.starts),
                RPINN_ERROR_NUMERIC,
                "the target's function 'transposed_times' failed: a result is not finite where it must be");
  flock_close(&flock);
}

static void wrong_targets_are_refused(void **state) {
  (void)state;
  static Herd herd;
  Options options = options_of(&kinds[0]);
  RpinnOptimizer *optimizer;
  herd_fill(&herd, 5, 8, 0);
  RpinnBatchObjective objective = herd_objective(&herd, false);
  RpinnBatchLeastSquares squares = herd_squares(&herd, false);
  objective.group = squares.group = 0;
  const char nobody[] = "the target has groups of 0 members, expected at least 1";
  check_message(rpinn_adam_create_member(context, &objective, 0, &options.adam, &optimizer),
                RPINN_ERROR_INPUT, nobody);
  check_message(rpinn_lbfgs_create_member(context, &objective, 0, &options.lbfgs, &optimizer),
                RPINN_ERROR_INPUT, nobody);
  check_message(
      rpinn_levenberg_marquardt_create_member(context, &squares, 0, NULL, &options.marquardt, &optimizer),
      RPINN_ERROR_INPUT, nobody);
  squares = herd_squares(&herd, false);
  herd.members[3].root[2] = -1;
  check_message(
      rpinn_levenberg_marquardt_create_member(context, &squares, 3, NULL, &options.marquardt, &optimizer),
      RPINN_ERROR_INPUT, "a prior root is negative or not finite");
  assert_null(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_as_it_is_alone),
                                     cmocka_unit_test(pieces_and_new_starts_leave_no_mark),
                                     cmocka_unit_test(methods_mix),
                                     cmocka_unit_test(calls_hold_all_that_are_at_work),
                                     cmocka_unit_test(calls_are_full_in_step),
                                     cmocka_unit_test(methods_share_calls),
                                     cmocka_unit_test(saved_in_a_group_and_restored_alone),
                                     cmocka_unit_test(restored_into_a_group),
                                     cmocka_unit_test(a_failure_ends_all_of_them),
                                     cmocka_unit_test(a_failure_without_words_names_the_function),
                                     cmocka_unit_test(wrong_targets_are_refused)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
