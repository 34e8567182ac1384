/* Saved chains of NUTS: stopped and continued bit for bit, and states that are refused. */
#include "nuts_targets.h"

#include "random_stream.h"

enum { SAVED_DRAWS = 60, SAVED_WARMUP = 120 };

/* All that a draw says, for comparison bit for bit. */
typedef struct Record {
  double theta[LADDER], numbers[6];
  size_t counts[5];
} Record;

static Record record_of(const RpinnNutsDraw *draw) {
  Record record;
  memset(&record, 0, sizeof record);
  memcpy(record.theta, draw->parameters, sizeof record.theta);
  const double numbers[] = {draw->log_density,      draw->energy,          draw->energy_error,
                            draw->max_energy_error, draw->acceptance_rate, draw->step_size};
  const size_t counts[] = {draw->index, draw->num_steps, draw->tree_depth, draw->is_kept, draw->is_warmup};
  memcpy(record.numbers, numbers, sizeof numbers);
  memcpy(record.counts, counts, sizeof counts);
  return record;
}

static RpinnNutsOptions saved_options(RpinnMetric metric) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.metric = metric;
  options.num_warmup = SAVED_WARMUP;
  options.num_draws = SAVED_DRAWS;
  options.max_depth = 6;
  return options;
}

/* The chain is taken down and put up again at random iterations, with the pool in another state each time. */
static void restored_chains_give_the_same_bits(void **state) {
  (void)state;
  static Record records[SAVED_WARMUP + SAVED_DRAWS];
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder};
  for (int m = 0; m < 3; m++) {
    RpinnNutsOptions options = saved_options(metrics[m]);
    RpinnNuts *nuts;
    RpinnNutsDraw draw;
    double theta[LADDER] = {0.3};
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
    assert_int_equal(rpinn_nuts_start(context, nuts, 31, 2, theta), RPINN_OK);
    size_t size = rpinn_nuts_state_size(nuts), leapfrogs;
    for (size_t i = 0; !rpinn_nuts_finished(nuts); i++) {
      assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
      records[i] = record_of(&draw);
    }
    leapfrogs = rpinn_nuts_num_leapfrogs(nuts);
    assert_int_equal(rpinn_nuts_start(context, nuts, 31, 2, theta), RPINN_OK);
    RpinnStream stream = rpinn_stream(32, RPINN_PURPOSE_CHECK, 0, (uint32_t)m);
    unsigned char *buffer = malloc(size);
    for (size_t i = 0; !rpinn_nuts_finished(nuts); i++) {
      if (i == 0 || rpinn_stream_below(&stream, 5) == 0) {
        assert_int_equal(rpinn_nuts_state_size(nuts), size);
        rpinn_nuts_save(nuts, buffer);
        rpinn_nuts_destroy(nuts);
        assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
        assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, size), RPINN_OK);
        assert_int_equal(rpinn_nuts_num_iterations(nuts), i);
      }
      assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
      Record record = record_of(&draw);
      check_true(memcmp(&record, &records[i], sizeof record) == 0, "metric %d, iteration %zu", m, i);
    }
    assert_int_equal(rpinn_nuts_num_leapfrogs(nuts), leapfrogs);
    free(buffer);
    rpinn_nuts_destroy(nuts);
  }
  rpinn_context_destroy(context);
}

/* A finished chain of 20 draws, told to make 60: the bits of a chain that was to make 60 from the start. */
static void more_draws_continue_a_finished_chain(void **state) {
  (void)state;
  static Record records[SAVED_WARMUP + SAVED_DRAWS];
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder};
  RpinnNutsOptions options = saved_options(RPINN_METRIC_DIAGONAL), fewer = options;
  fewer.num_draws = 20;
  RpinnNuts *whole, *first;
  RpinnNutsDraw draw;
  double theta[LADDER] = {0.3};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &whole), RPINN_OK);
  assert_int_equal(rpinn_nuts_create(context, &target, &fewer, &first), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, whole, 31, 2, theta), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, first, 31, 2, theta), RPINN_OK);
  for (size_t i = 0; !rpinn_nuts_finished(whole); i++) {
    assert_int_equal(rpinn_nuts_advance(context, whole, &draw), RPINN_OK);
    records[i] = record_of(&draw);
  }
  while (!rpinn_nuts_finished(first)) assert_int_equal(rpinn_nuts_advance(context, first, &draw), RPINN_OK);
  size_t size = rpinn_nuts_state_size(first);
  void *buffer = malloc(size);
  rpinn_nuts_save(first, buffer);
  assert_int_equal(rpinn_nuts_restore(context, whole, buffer, size), RPINN_OK);
  assert_false(rpinn_nuts_finished(whole));
  for (size_t i = SAVED_WARMUP + 20; !rpinn_nuts_finished(whole); i++) {
    assert_int_equal(rpinn_nuts_advance(context, whole, &draw), RPINN_OK);
    Record record = record_of(&draw);
    check_true(memcmp(&record, &records[i], sizeof record) == 0, "iteration %zu", i);
  }
  rpinn_nuts_save(whole, buffer); /* but not the other way round */
  assert_int_equal(rpinn_nuts_restore(context, first, buffer, size), RPINN_ERROR_INPUT);
  free(buffer);
  rpinn_nuts_destroy(whole);
  rpinn_nuts_destroy(first);
  rpinn_context_destroy(context);
}

static void damaged_states_are_refused(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder},
                  smaller = {.num_parameters = 2, .data = &pair, .evaluate = gaussian};
  RpinnNutsOptions options = saved_options(RPINN_METRIC_DENSE), other = options;
  other.target_acceptance = 0.9;
  RpinnNuts *nuts, *others, *small;
  double theta[LADDER] = {0};
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_create(context, &target, &other, &others), RPINN_OK);
  assert_int_equal(rpinn_nuts_create(context, &smaller, &options, &small), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 31, 2, theta), RPINN_OK);
  size_t size = rpinn_nuts_state_size(nuts);
  unsigned char *buffer = malloc(size);
  rpinn_nuts_save(nuts, buffer);
  assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, size), RPINN_OK);
  assert_int_equal(rpinn_nuts_restore(context, others, buffer, size), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "other options"));
  assert_int_equal(rpinn_nuts_restore(context, small, buffer, size), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, size - 8), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_nuts_restore(context, nuts, buffer, 10), RPINN_ERROR_INPUT);
  for (size_t i = 0; i < size; i += 7) {
    buffer[i] ^= 16;
    check_true(rpinn_nuts_restore(context, nuts, buffer, size) == RPINN_ERROR_INPUT, "byte %zu", i);
    buffer[i] ^= 16;
  }
  free(buffer);
  rpinn_nuts_destroy(nuts);
  rpinn_nuts_destroy(others);
  rpinn_nuts_destroy(small);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(restored_chains_give_the_same_bits),
                                     cmocka_unit_test(more_draws_continue_a_finished_chain),
                                     cmocka_unit_test(damaged_states_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
