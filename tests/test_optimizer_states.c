/* Saved states of optimisers: searches that are stopped and go on, and states that are refused. */
#include "optimizer_zoo.h"

#include "saved_state.h"

typedef struct Saved {
  unsigned char *bytes;
  size_t size;
} Saved;

static Saved save(const RpinnOptimizer *optimizer) {
  Saved saved = {.size = rpinn_optimizer_state_size(optimizer)};
  saved.bytes = malloc(saved.size);
  rpinn_optimizer_save(optimizer, saved.bytes);
  return saved;
}

/* Another optimiser in the same state; the first one goes. */
static RpinnOptimizer *reincarnate(Zoo *zoo, int animal, RpinnOptimizer *optimizer) {
  Saved saved = save(optimizer);
  rpinn_optimizer_destroy(optimizer);
  optimizer = zoo_create(zoo, animal);
  assert_int_equal(rpinn_optimizer_restore(context, optimizer, saved.bytes, saved.size), RPINN_OK);
  free(saved.bytes);
  return optimizer;
}

static void check_same(const RpinnOptimizer *optimizer, const Saved *expected, int animal, size_t piece) {
  Saved found = save(optimizer);
  assert_int_equal(found.size, expected->size);
  check_true(memcmp(found.bytes, expected->bytes, found.size) == 0, "%s in pieces of %zu: other bits",
             animal_names[animal], piece);
  free(found.bytes);
}

/* ---- stopped, and going on ---- */

/* The saved state holds every field of a run, so equal bytes are an equal run. */
static void resumes_bit_for_bit(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    RpinnOptimizer *whole = zoo_create(&zoo, animal);
    RpinnOptimum optimum = run(whole, zoo_start());
    print_message("  %-18s %zu iterations, %s\n", animal_names[animal], optimum.num_iterations,
                  rpinn_stop_name(optimum.stop));
    assert_true(optimum.num_iterations > 5);
    Saved expected = save(whole);
    rpinn_optimizer_destroy(whole);
    for (size_t piece = 1; piece <= 60; piece++) {
      RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
      assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
      while (rpinn_optimizer_optimum(optimizer).stop == RPINN_STOP_RUNNING) {
        assert_int_equal(rpinn_optimizer_advance(context, optimizer, piece), RPINN_OK);
        optimizer = reincarnate(&zoo, animal, optimizer);
      }
      check_same(optimizer, &expected, animal, piece);
      rpinn_optimizer_destroy(optimizer);
    }
    free(expected.bytes);
  }
}

static bool every_third_time(void *user) {
  int *count = user;
  return ++*count % 3 == 0;
}

static void interruptions_leave_no_mark(void **state) {
  (void)state;
  static Zoo zoo;
  int count = 0;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    zoo.interrupted = NULL;
    RpinnOptimizer *whole = zoo_create(&zoo, animal);
    run(whole, zoo_start());
    Saved expected = save(whole);
    rpinn_optimizer_destroy(whole);

    size_t num_interruptions = 0;
    zoo.interrupted = every_third_time;
    zoo.interrupted_user = &count;
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    for (RpinnOptimum optimum = run(optimizer, zoo_start()); optimum.stop == RPINN_STOP_INTERRUPTED;
         optimum = rpinn_optimizer_optimum(optimizer)) {
      num_interruptions++;
      if (num_interruptions % 2) optimizer = reincarnate(&zoo, animal, optimizer);
      assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
    }
    assert_true(num_interruptions > 0);
    check_same(optimizer, &expected, animal, 0);
    free(expected.bytes);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* A spent budget can be extended: the path goes on as if it had been the larger one. */
static void larger_budget_goes_on(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 4};
  RpinnObjective objective = chain_objective(&chain);
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 130;
  RpinnOptimizer *first = make_adam(&objective, &options);
  RpinnOptimum optimum = run(first, zoo_start());
  check_stop(&optimum, RPINN_STOP_BUDGET);
  assert_int_equal(rpinn_optimizer_advance(context, first, SIZE_MAX), RPINN_OK);
  assert_int_equal(rpinn_optimizer_optimum(first).num_iterations, 130);
  Saved saved = save(first);
  options.stop.max_iterations = 400;
  RpinnOptimizer *second = make_adam(&objective, &options), *whole = make_adam(&objective, &options);
  assert_int_equal(rpinn_optimizer_restore(context, second, saved.bytes, saved.size), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, second, SIZE_MAX), RPINN_OK);
  optimum = run(whole, zoo_start());
  assert_int_equal(rpinn_optimizer_optimum(second).num_iterations, 400);
  assert_memory_equal(rpinn_optimizer_optimum(second).theta, optimum.theta, 4 * sizeof(double));
  free(saved.bytes);
  rpinn_optimizer_destroy(first);
  rpinn_optimizer_destroy(second);
  rpinn_optimizer_destroy(whole);
}

/* Starting again is the same as starting. */
static void starts_again(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    double elsewhere[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++) elsewhere[j] = 0.1 * (double)j;
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    run(optimizer, zoo_start());
    RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
    double loss = optimum.loss, gradient_norm = optimum.gradient_norm, theta = optimum.theta[1];
    size_t num_evaluations = optimum.num_evaluations;
    run(optimizer, elsewhere);
    optimum = run(optimizer, zoo_start());
    assert_true(optimum.loss == loss && optimum.gradient_norm == gradient_norm && optimum.theta[1] == theta);
    assert_int_equal(optimum.num_evaluations, num_evaluations);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- states that are refused ---- */

static void refused(RpinnOptimizer *optimizer, const void *bytes, size_t size) {
  rpinn_context_clear_error(context);
  assert_int_equal(rpinn_optimizer_restore(context, optimizer, bytes, size), RPINN_ERROR_INPUT);
  assert_true(strlen(rpinn_context_error(context)->message) > 0);
}

static void damaged_states_are_refused(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal <= 3; animal++) {
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
    assert_int_equal(rpinn_optimizer_advance(context, optimizer, 20), RPINN_OK);
    Saved saved = save(optimizer);
    for (size_t i = 0; i < saved.size; i++) {
      unsigned char kept = saved.bytes[i];
      saved.bytes[i] = (unsigned char)(kept ^ (1u << i % 8));
      refused(optimizer, saved.bytes, saved.size);
      saved.bytes[i] = kept;
    }
    for (size_t size = 0; size < saved.size; size += 7) {
      unsigned char *cut = malloc(size + 1); /* of its own, so that a sanitizer sees a read beyond it */
      memcpy(cut, saved.bytes, size);
      refused(optimizer, cut, size);
      free(cut);
    }
    for (int other = 0; other < NUM_ANIMALS; other++) {
      RpinnOptimizer *stranger = zoo_create(&zoo, other);
      bool kin = other == animal || (other < 2 && animal < 2); /* both Adams have the same state */
      if (!kin) refused(stranger, saved.bytes, saved.size);
      rpinn_optimizer_destroy(stranger);
    }
    check_same(optimizer, &saved, animal, 0); /* the optimiser is as it was */
    free(saved.bytes);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* A forger who knows the checksum still cannot make the optimiser read out of bounds. */
static void counts_out_of_range_are_refused(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  RpinnOptimizer *optimizer = zoo_create(&zoo, 2);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
  Saved saved = save(optimizer);
  size_t num_refused = 0;
  for (size_t at = 7 * sizeof(uint64_t); at + 2 * sizeof(uint64_t) <= saved.size; at += sizeof(uint64_t)) {
    uint64_t kept, huge = (uint64_t)1 << 60;
    memcpy(&kept, saved.bytes + at, sizeof kept);
    memcpy(saved.bytes + at, &huge, sizeof huge);
    rpinn_state_end(&(RpinnStateCursor){
        .use = RPINN_STATE_SAVE, .target = saved.bytes, .position = saved.size - sizeof(uint64_t)});
    RpinnStatus status = rpinn_optimizer_restore(context, optimizer, saved.bytes, saved.size);
    if (status == RPINN_OK)
      assert_int_equal(rpinn_optimizer_advance(context, optimizer, 3), RPINN_OK);
    else {
      num_refused++;
      assert_int_equal(rpinn_optimizer_advance(context, optimizer, 3), RPINN_ERROR_INPUT);
    }
    memcpy(saved.bytes + at, &kept, sizeof kept);
  }
  assert_true(num_refused >= 5); /* stop, window, trace, pairs, newest */
  free(saved.bytes);
  rpinn_optimizer_destroy(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resumes_bit_for_bit),        cmocka_unit_test(interruptions_leave_no_mark),
      cmocka_unit_test(larger_budget_goes_on),      cmocka_unit_test(starts_again),
      cmocka_unit_test(damaged_states_are_refused), cmocka_unit_test(counts_out_of_range_are_refused)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
