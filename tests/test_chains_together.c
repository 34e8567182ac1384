/* Chains of NUTS that are advanced together: each has the bits that it has alone, whatever its company. */
#include "check.h"

#include "context.h"
#include "rpinn/nuts.h"

enum { N = 6, GROUP = 3, CHAINS = 5, WARMUP = 90, DRAWS = 30, ITERATIONS = WARMUP + DRAWS, SEED = 71 };

/* ---- targets ---- */

/* Of member m, -2 log p = (x_1 - b x_0^2)^2 + x_0^2 + sum_(j>1) (x_j/s_j)^2 with b = m/5, s_j = 1 + m j: trajectories
 * differ in length. */
static void weigh(size_t m, const double *x, double *value, double *gradient) {
  double b = (double)m / 5, across = x[1] - b * x[0] * x[0];
  *value = -0.5 * (across * across + x[0] * x[0]);
  gradient[0] = 2 * b * x[0] * across - x[0];
  gradient[1] = -across;
  for (size_t j = 2; j < N; j++) {
    double s = 1 + (double)(m * j), z = x[j] / s;
    *value -= 0.5 * z * z;
    gradient[j] = -z / s;
  }
}

static RpinnStatus weigh_one(void *data, const double *x, double *value, double *gradient) {
  weigh(*(const size_t *)data, x, value, gradient);
  return RPINN_OK;
}

/* A target for groups: what its calls are to be like, and what they were. */
typedef struct Crowd {
  size_t expected; /* members of every call; 0: any number */
  size_t num_calls, num_members;
  size_t fails_at;     /* a number of a call; 0: none */
  const char *message; /* of the failure; NULL: it says nothing */
} Crowd;

/* From the last to the first. */
static RpinnStatus weigh_crowd(RpinnContext *context, void *data, size_t count, const size_t *members,
                               const double *const *thetas, double *values, double *const *gradients) {
  Crowd *crowd = data;
  assert_in_range(count, 1, GROUP);
  if (crowd->expected) assert_int_equal(count, crowd->expected);
  crowd->num_calls++;
  crowd->num_members += count;
  if (crowd->num_calls == crowd->fails_at)
    return crowd->message ? rpinn_fail(context, RPINN_ERROR_IO, "%s", crowd->message) : RPINN_ERROR_NUMERIC;
  for (size_t k = count; k-- > 0;) weigh(members[k], thetas[k], &values[k], gradients[k]);
  return RPINN_OK;
}

static RpinnBatchLogDensity target_of(Crowd *crowd) {
  return (RpinnBatchLogDensity){.num_parameters = N, .group = GROUP, .data = crowd, .evaluate = weigh_crowd};
}

static const RpinnMetric metrics[] = {RPINN_METRIC_UNIT, RPINN_METRIC_DIAGONAL, RPINN_METRIC_DENSE};
static const double starts[CHAINS][N] = {{0.3}, {-0.2, 1}, {0, 0, 2}, {1, 1, 1, 1}, {0, -1, 0, 1, 0, -1}};

static RpinnNutsOptions options_of(RpinnMetric metric) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.metric = metric;
  options.num_warmup = WARMUP;
  options.num_draws = DRAWS;
  return options;
}

/* ---- chains alone ---- */

typedef struct Alone {
  RpinnNutsDraw draws[ITERATIONS];
  double thetas[ITERATIONS][N];
  size_t leapfrogs[ITERATIONS];
  size_t state_size;
  unsigned char *states; /* [ITERATIONS][state_size] */
} Alone;

static RpinnContext *context;
static Alone alone[CHAINS];

/* The rest of a chain that is advanced alone is noted, or compared with what was. */
static void go_alone(RpinnNuts *nuts, Alone *record, bool is_first) {
  for (size_t i = rpinn_nuts_num_iterations(nuts); !rpinn_nuts_finished(nuts); i++) {
    RpinnNutsDraw draw;
    assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    if (is_first) {
      record->draws[i] = draw;
      memcpy(record->thetas[i], draw.parameters, sizeof record->thetas[i]);
      record->leapfrogs[i] = rpinn_nuts_num_leapfrogs(nuts);
      rpinn_nuts_save(nuts, record->states + i * record->state_size);
    }
    assert_memory_equal(draw.parameters, record->thetas[i], sizeof record->thetas[i]);
  }
}

static void run_alone(RpinnMetric metric) {
  RpinnNutsOptions options = options_of(metric);
  for (size_t c = 0; c < CHAINS; c++) {
    RpinnLogDensity target = {.num_parameters = N, .data = &c, .evaluate = weigh_one};
    RpinnNuts *nuts;
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
    assert_int_equal(rpinn_nuts_start(context, nuts, SEED, c, starts[c]), RPINN_OK);
    alone[c].state_size = rpinn_nuts_state_size(nuts);
    alone[c].states = malloc(ITERATIONS * alone[c].state_size);
    go_alone(nuts, &alone[c], true);
    rpinn_nuts_destroy(nuts);
  }
}

static void forget_alone(void) {
  for (size_t c = 0; c < CHAINS; c++) free(alone[c].states);
}

/* ---- together ---- */

static void create_chains(Crowd *crowd, RpinnMetric metric, RpinnNuts *chains[CHAINS]) {
  RpinnBatchLogDensity target = target_of(crowd);
  RpinnNutsOptions options = options_of(metric);
  for (size_t c = 0; c < CHAINS; c++)
    assert_int_equal(rpinn_nuts_create_member(context, &target, c, &options, &chains[c]), RPINN_OK);
}

static RpinnStatus start_chains(size_t first, size_t count, RpinnNuts *chains[CHAINS]) {
  uint64_t numbers[CHAINS];
  const double *thetas[CHAINS];
  for (size_t k = 0; k < count; k++) {
    numbers[k] = first + k;
    thetas[k] = starts[first + k];
  }
  return rpinn_nuts_start_together(context, count, chains + first, SEED, numbers, thetas);
}

static void destroy_chains(RpinnNuts *chains[CHAINS]) {
  for (size_t c = 0; c < CHAINS; c++) rpinn_nuts_destroy(chains[c]);
}

static void check_draw(const RpinnNuts *nuts, size_t c, const RpinnNutsDraw *draw) {
  size_t i = rpinn_nuts_num_iterations(nuts) - 1;
  const RpinnNutsDraw *expected = &alone[c].draws[i];
  check_true(memcmp(draw->parameters, alone[c].thetas[i], sizeof alone[c].thetas[i]) == 0,
             "chain %zu, iteration %zu", c, i);
  assert_true(draw->is_warmup == expected->is_warmup && draw->is_kept == expected->is_kept &&
              draw->index == expected->index && draw->log_density == expected->log_density &&
              draw->energy == expected->energy && draw->energy_error == expected->energy_error &&
              draw->max_energy_error == expected->max_energy_error &&
              draw->acceptance_rate == expected->acceptance_rate && draw->step_size == expected->step_size &&
              draw->tree_depth == expected->tree_depth && draw->num_steps == expected->num_steps &&
              draw->diverging == expected->diverging &&
              draw->reached_max_depth == expected->reached_max_depth);
  assert_int_equal(rpinn_nuts_num_leapfrogs(nuts), alone[c].leapfrogs[i]);
  unsigned char *state = malloc(alone[c].state_size);
  assert_int_equal(rpinn_nuts_state_size(nuts), alone[c].state_size);
  rpinn_nuts_save(nuts, state);
  assert_memory_equal(state, alone[c].states + i * alone[c].state_size, alone[c].state_size);
  free(state);
}

/* All that are made in one call are as they are alone; returns how many. */
static size_t advance(size_t count, RpinnNuts *const *chains, const size_t *numbers) {
  RpinnNutsDraw draws[CHAINS];
  bool made[CHAINS];
  size_t num_made = 0;
  assert_int_equal(rpinn_nuts_advance_together(context, count, chains, draws, made), RPINN_OK);
  for (size_t k = 0; k < count; k++)
    if (made[k]) {
      check_draw(chains[k], numbers[k], &draws[k]);
      num_made++;
    }
  return num_made;
}

/* Three at a time: the next one takes the place of one that is finished, in the middle of what the others are at. Every call
 * is for all that are at work. */
static void chains_have_their_own_bits(void **state) {
  (void)state;
  for (int m = 0; m < 3; m++) {
    Crowd crowd = {.expected = GROUP};
    RpinnNuts *chains[CHAINS], *at_work[GROUP];
    size_t numbers[GROUP] = {0, 1, 2}, num_begun = GROUP, num_made = 0;
    run_alone(metrics[m]);
    create_chains(&crowd, metrics[m], chains);
    assert_int_equal(start_chains(0, GROUP, chains), RPINN_OK);
    memcpy(at_work, chains, sizeof at_work);
    while (num_made < CHAINS * ITERATIONS) {
      size_t now = advance(GROUP, at_work, numbers);
      assert_true(now > 0);
      num_made += now;
      for (size_t k = 0; k < GROUP; k++) {
        if (!rpinn_nuts_finished(at_work[k]) || num_begun == CHAINS) continue;
        crowd.expected = 1;
        assert_int_equal(start_chains(num_begun, 1, chains), RPINN_OK);
        at_work[k] = chains[numbers[k] = num_begun++];
      }
      crowd.expected = 0;
      for (size_t k = 0; k < GROUP; k++) crowd.expected += !rpinn_nuts_finished(at_work[k]);
    }
    assert_int_equal(advance(GROUP, at_work, numbers), 0); /* all are finished */
    size_t leapfrogs = 0;
    for (size_t c = 0; c < CHAINS; c++) {
      leapfrogs += rpinn_nuts_num_leapfrogs(chains[c]);
      for (size_t other = 0; other < c; other++)
        assert_true(rpinn_nuts_num_leapfrogs(chains[c]) != rpinn_nuts_num_leapfrogs(chains[other]));
    }
    assert_int_equal(crowd.num_members, CHAINS + leapfrogs);
    destroy_chains(chains);
    forget_alone();
  }
}

/* Five at once are two calls: of three and of two. */
static void more_chains_than_a_group_takes(void **state) {
  (void)state;
  Crowd crowd = {0};
  RpinnNuts *chains[CHAINS];
  const size_t numbers[CHAINS] = {0, 1, 2, 3, 4};
  run_alone(RPINN_METRIC_DIAGONAL);
  create_chains(&crowd, RPINN_METRIC_DIAGONAL, chains);
  assert_int_equal(start_chains(0, CHAINS, chains), RPINN_OK);
  assert_int_equal(crowd.num_calls, 2);
  for (size_t num_made = 0; num_made < CHAINS * ITERATIONS;) {
    size_t calls = crowd.num_calls, members = crowd.num_members, num_busy = 0;
    for (size_t c = 0; c < CHAINS; c++) num_busy += !rpinn_nuts_finished(chains[c]);
    num_made += advance(CHAINS, chains, numbers);
    size_t rounds = (crowd.num_members - members) / num_busy;
    assert_int_equal(crowd.num_calls - calls, rounds * (num_busy > GROUP ? 2 : 1));
  }
  destroy_chains(chains);
  forget_alone();
}

/* Saved where it has made an iteration and others have not, a chain goes on alone; and so does one that is in the middle. */
static void chains_leave_their_company(void **state) {
  (void)state;
  for (int m = 0; m < 3; m++) {
    Crowd crowd = {0};
    RpinnNuts *chains[CHAINS], *restored;
    RpinnNutsOptions options = options_of(metrics[m]);
    const size_t numbers[CHAINS] = {0, 1, 2, 3, 4};
    size_t saved = 1;
    RpinnLogDensity target = {.num_parameters = N, .data = &saved, .evaluate = weigh_one};
    run_alone(metrics[m]);
    create_chains(&crowd, metrics[m], chains);
    assert_int_equal(start_chains(0, CHAINS, chains), RPINN_OK);
    while (rpinn_nuts_num_iterations(chains[saved]) < WARMUP / 2) advance(CHAINS, chains, numbers);
    unsigned char *buffer = malloc(alone[saved].state_size);
    rpinn_nuts_save(chains[saved], buffer);
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &restored), RPINN_OK);
    assert_int_equal(rpinn_nuts_restore(context, restored, buffer, alone[saved].state_size), RPINN_OK);
    go_alone(restored, &alone[saved], false);
    for (size_t c = 0; c < CHAINS; c++) go_alone(chains[c], &alone[c], false);
    assert_int_equal(rpinn_nuts_restore(context, chains[saved], buffer, alone[saved].state_size), RPINN_OK);
    while (!rpinn_nuts_finished(chains[saved])) advance(CHAINS, chains, numbers);
    free(buffer);
    rpinn_nuts_destroy(restored);
    destroy_chains(chains);
    forget_alone();
  }
}

/* Nothing goes on from the middle of an iteration. */
static void the_middle_is_not_saved(void **state) {
  (void)state;
  Crowd crowd = {0};
  RpinnNuts *chains[CHAINS];
  RpinnNutsDraw draws[CHAINS];
  bool made[CHAINS] = {true, true, true, true, true};
  create_chains(&crowd, RPINN_METRIC_UNIT, chains);
  assert_int_equal(start_chains(0, CHAINS, chains), RPINN_OK);
  size_t middle = 0, size = rpinn_nuts_state_size(chains[0]);
  while (made[middle]) {
    assert_int_equal(rpinn_nuts_advance_together(context, CHAINS, chains, draws, made), RPINN_OK);
    for (middle = 0; middle < CHAINS - 1 && made[middle];) middle++;
  }
  unsigned char *buffer = malloc(size);
  rpinn_nuts_save(chains[middle], buffer);
  assert_int_equal(rpinn_nuts_restore(context, chains[middle], buffer, size), RPINN_OK);
  assert_int_equal(rpinn_nuts_advance(context, chains[middle], draws), RPINN_ERROR_INPUT);
  free(buffer);
  destroy_chains(chains);
}

static void check_failure(RpinnStatus status, RpinnStatus expected, const char *message) {
  assert_int_equal(status, expected);
  assert_string_equal(rpinn_context_error(context)->message, message);
}

/* At the start and later: the target's own words where it has any; and then all have to be started again. */
static void failures_have_messages(void **state) {
  (void)state;
  static const char silent[] =
      "the target's function 'evaluate' failed: a result is not finite where it must be";
  static const char own[] = "lane 2 has no power";
  for (size_t fails_at = 1; fails_at < 60; fails_at += 7) {
    for (int speaks = 0; speaks < 2; speaks++) {
      Crowd crowd = {.fails_at = fails_at, .message = speaks ? own : NULL};
      RpinnNuts *chains[CHAINS];
      RpinnNutsDraw draws[CHAINS];
      bool made[CHAINS];
      create_chains(&crowd, RPINN_METRIC_DIAGONAL, chains);
      RpinnStatus status = start_chains(0, CHAINS, chains);
      while (status == RPINN_OK) status = rpinn_nuts_advance_together(context, CHAINS, chains, draws, made);
      check_failure(status, speaks ? RPINN_ERROR_IO : RPINN_ERROR_NUMERIC, speaks ? own : silent);
      for (size_t c = 0; c < CHAINS; c++)
        check_failure(rpinn_nuts_advance_together(context, 1, &chains[c], draws, made), RPINN_ERROR_INPUT,
                      "the chain was not started, or has failed before");
      destroy_chains(chains);
    }
  }
}

static void starts_that_are_not_finite_are_named(void **state) {
  (void)state;
  Crowd crowd = {0};
  RpinnNuts *chains[CHAINS];
  RpinnNutsDraw draw;
  double nowhere[N] = {NAN};
  create_chains(&crowd, RPINN_METRIC_UNIT, chains);
  check_failure(rpinn_nuts_start_together(context, 2, chains, SEED, (uint64_t[]){8, 9},
                                          (const double *[]){starts[0], nowhere}),
                RPINN_ERROR_NUMERIC, "the log density is nan at the start of chain 9");
  assert_int_equal(rpinn_nuts_advance(context, chains[0], &draw), RPINN_ERROR_INPUT);
  destroy_chains(chains);
}

/* Five chains on three seats. */
static void whole_chains_are_those_of_chains_alone(void **state) {
  (void)state;
  Crowd crowd = {0};
  RpinnBatchLogDensity target = target_of(&crowd);
  RpinnNutsOptions options = options_of(RPINN_METRIC_DIAGONAL);
  RpinnDraws *draws;
  run_alone(RPINN_METRIC_DIAGONAL);
  assert_int_equal(rpinn_nuts_sample_members(context, &target, &options, SEED, CHAINS, starts[0], &draws),
                   RPINN_OK);
  assert_int_equal(rpinn_draws_count(draws), CHAINS * DRAWS);
  for (size_t c = 0; c < CHAINS; c++)
    for (size_t i = 0; i < DRAWS; i++)
      assert_memory_equal(rpinn_draws_get(draws, c * DRAWS + i).parameters, alone[c].thetas[WARMUP + i],
                          N * sizeof(double));
  assert_true(crowd.num_members > 2 * crowd.num_calls);
  rpinn_draws_destroy(draws);
  target.group = 0;
  assert_int_equal(rpinn_nuts_sample_members(context, &target, &options, SEED, 0, starts[0], &draws),
                   RPINN_ERROR_INPUT);
  assert_null(draws);
  forget_alone();
}

static int open_context(void **state) {
  (void)state;
  context = rpinn_context_create();
  return context ? 0 : -1;
}

static int close_context(void **state) {
  (void)state;
  rpinn_context_destroy(context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chains_have_their_own_bits),
                                     cmocka_unit_test(more_chains_than_a_group_takes),
                                     cmocka_unit_test(chains_leave_their_company),
                                     cmocka_unit_test(the_middle_is_not_saved),
                                     cmocka_unit_test(failures_have_messages),
                                     cmocka_unit_test(starts_that_are_not_finite_are_named),
                                     cmocka_unit_test(whole_chains_are_those_of_chains_alone)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
