/* Chains side by side: their bits do not depend on threads, they are watched, and an interruption leaves what was made. Names of
 * parameters come with the draws and are those of the diagnosis. */
#include <pthread.h>
#include <time.h>

#include "check.h"

#include "draws.h"

#include "rpinn/constraint.h"
#include "rpinn/convergence.h"
#include "rpinn/diagnose.h"
#include "rpinn/nuts.h"

enum { LADDER = 3, CHAINS = 5, DRAWS = 60, MOST_TARGETS = 3 };

/* Independent normals with the deviations 1, 2 and 3. */
static RpinnStatus ladder(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (size_t j = 0; j < LADDER; j++) {
    double variance = (double)((j + 1) * (j + 1));
    *log_density -= 0.5 * x[j] * x[j] / variance;
    if (gradient) gradient[j] = -x[j] / variance;
  }
  return RPINN_OK;
}

static const char *const names[LADDER] = {"first", "second", "third"};

static RpinnNutsOptions short_chains(void) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 150;
  options.num_draws = DRAWS;
  return options;
}

static RpinnDraws *sample(RpinnContext *context, size_t num_targets, const RpinnNutsChains *chains,
                          RpinnStatus expected) {
  RpinnLogDensity targets[MOST_TARGETS];
  RpinnNutsOptions options = short_chains();
  RpinnDraws *draws;
  for (size_t i = 0; i < num_targets; i++)
    targets[i] = (RpinnLogDensity){.num_parameters = LADDER, .evaluate = ladder};
  assert_int_equal(rpinn_nuts_sample_chains(context, num_targets, targets, &options, chains, &draws),
                   expected);
  return draws;
}

static void same_draw(const RpinnDraws *a, size_t i, const RpinnDraws *b, size_t k) {
  RpinnDraw left = rpinn_draws_get(a, i), right = rpinn_draws_get(b, k);
  assert_int_equal(left.chain, right.chain);
  assert_int_equal(left.index, right.index);
  assert_memory_equal(left.parameters, right.parameters, LADDER * sizeof(double));
  assert_memory_equal(left.statistics, right.statistics, rpinn_draws_num_statistics(a) * sizeof(double));
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsChains chains = {.seed = 3, .num_chains = CHAINS};
  RpinnLogDensity target = {.num_parameters = LADDER, .evaluate = ladder};
  RpinnNutsOptions options = short_chains();
  RpinnDraws *alone;
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 3, CHAINS, NULL, &alone), RPINN_OK);
  assert_int_equal(rpinn_draws_count(alone), CHAINS * DRAWS);
  for (size_t num_targets = 1; num_targets <= MOST_TARGETS; num_targets++) {
    RpinnDraws *draws = sample(context, num_targets, &chains, RPINN_OK);
    assert_int_equal(rpinn_draws_count(draws), CHAINS * DRAWS);
    for (size_t i = 0; i < CHAINS * DRAWS; i++) same_draw(alone, i, draws, i);
    rpinn_draws_destroy(draws);
  }
  rpinn_draws_destroy(alone);
  rpinn_context_destroy(context);
}

/* ---- watching ---- */

typedef struct Watcher {
  pthread_t thread;
  size_t num_reports, num_last;
  RpinnWatchedProgress latest;
  uint64_t end_after; /* iterations; 0: never */
} Watcher;

static void take_progress(void *user, const RpinnWatchedProgress *progress) {
  Watcher *watcher = user;
  assert_true(pthread_equal(watcher->thread, pthread_self()));
  assert_true(progress->done >= watcher->latest.done && progress->done <= progress->total);
  assert_int_equal(watcher->num_last, 0); /* nothing follows the last */
  watcher->latest = *progress;
  watcher->num_reports++;
  watcher->num_last += progress->last;
}

static bool wants_end(void *user) {
  const Watcher *watcher = user;
  return watcher->end_after && watcher->latest.done >= watcher->end_after;
}

/* Slow enough that a report falls into every chain. */
static RpinnStatus slow_ladder(void *data, const double *x, double *log_density, double *gradient) {
  struct timespec pause = {.tv_nsec = 200000};
  nanosleep(&pause, NULL);
  return ladder(data, x, log_density, gradient);
}

static RpinnStatus sample_watched(RpinnContext *context, size_t num_targets, Watcher *watcher,
                                  RpinnDraws **draws) {
  RpinnLogDensity targets[MOST_TARGETS];
  RpinnNutsOptions options = short_chains();
  RpinnNutsChains chains = {.seed = 3,
                            .num_chains = CHAINS,
                            .names = names,
                            .watch = {.progress = take_progress, .interrupted = wants_end, .user = watcher}};
  watcher->thread = pthread_self();
  for (size_t i = 0; i < num_targets; i++)
    targets[i] = (RpinnLogDensity){.num_parameters = LADDER, .evaluate = slow_ladder};
  return rpinn_nuts_sample_chains(context, num_targets, targets, &options, &chains, draws);
}

static void progress_is_told(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  for (size_t num_targets = 1; num_targets <= 2; num_targets++) {
    Watcher watcher = {0};
    RpinnDraws *draws;
    assert_int_equal(sample_watched(context, num_targets, &watcher, &draws), RPINN_OK);
    check_true(watcher.num_reports > 2, "%zu reports", watcher.num_reports);
    assert_int_equal(watcher.num_last, 1);
    assert_int_equal(watcher.latest.done, CHAINS * (150 + DRAWS));
    assert_int_equal(watcher.latest.total, CHAINS * (150 + DRAWS));
    assert_true(watcher.latest.seconds > 0.1 && watcher.latest.seconds_left == 0);
    size_t divergences = 0;
    int diverging = rpinn_draws_statistic(draws, "diverging");
    for (size_t i = 0; i < rpinn_draws_count(draws); i++)
      divergences += rpinn_draws_get(draws, i).statistics[diverging] > 0;
    assert_int_equal(watcher.latest.divergences, divergences);
    rpinn_draws_destroy(draws);
  }
  rpinn_context_destroy(context);
}

/* The draws that are there are the first ones of whole chains, and the diagnosis and the transforms take them as they are. */
static void an_interruption_leaves_what_was_made(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsChains chains = {.seed = 3, .num_chains = CHAINS};
  RpinnDraws *whole = sample(context, 1, &chains, RPINN_OK);
  for (size_t num_targets = 1; num_targets <= 2; num_targets++) {
    Watcher watcher = {.end_after = (150 + DRAWS) * 5 / 2};
    RpinnDraws *draws;
    size_t count = 0, num_whole = 0;
    bool healthy;
    assert_int_equal(sample_watched(context, num_targets, &watcher, &draws), RPINN_ERROR_INTERRUPTED);
    assert_non_null(draws);
    assert_int_equal(rpinn_draws_num_chains(draws), CHAINS);
    for (size_t chain = 0; chain < CHAINS; chain++) {
      size_t length = rpinn_draws_length(draws, chain);
      print_message("chain %zu: %zu draws\n", chain, length);
      for (size_t i = 0; i < length; i++) same_draw(whole, chain * DRAWS + i, draws, count + i);
      num_whole += length == DRAWS;
      count += length;
    }
    assert_int_equal(rpinn_draws_count(draws), count);
    assert_true(num_whole >= 1 && num_whole < CHAINS);
    assert_int_equal(rpinn_draws_length(draws, CHAINS - 1), 0);
    char *text = rpinn_diagnose_draws(context, draws, NULL, &healthy);
    assert_non_null(text);
    assert_non_null(strstr(text, "second"));
    free(text);
    const RpinnConstraint positive = {.kind = RPINN_ABOVE, .count = LADDER};
    RpinnConstraints *constraints;
    RpinnDraws *constrained;
    assert_int_equal(rpinn_constraints_create(context, 1, &positive, &constraints), RPINN_OK);
    assert_int_equal(rpinn_draws_constrain(context, draws, constraints, NULL, &constrained), RPINN_OK);
    assert_int_equal(rpinn_draws_count(constrained), count);
    RpinnDraw last = rpinn_draws_get(constrained, count - 1);
    check_relative(last.parameters[1], exp(rpinn_draws_get(draws, count - 1).parameters[1]), 1e-15);
    rpinn_draws_destroy(constrained);
    rpinn_constraints_destroy(constraints);
    rpinn_draws_destroy(draws);
  }
  rpinn_draws_destroy(whole);
  rpinn_context_destroy(context);
}

/* Chains of 60, 60 and 4 draws are two of 60 to judge, of 30, 60 and 29 three of 29. */
static void most_draws_are_judged(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const struct {
    size_t lengths[3];
    const char *text;
  } cases[] = {{{60, 60, 4}, "2 chains of 60 draws"}, {{30, 60, 29}, "3 chains of 29 draws"}};
  for (size_t k = 0; k < 2; k++) {
    RpinnDrawsShape shape = {.num_chains = 3, .num_draws = 60, .num_parameters = 1};
    RpinnDraws *draws;
    bool healthy;
    assert_int_equal(rpinn_draws_create(context, &shape, &draws), RPINN_OK);
    for (size_t chain = 0; chain < 3; chain++) {
      for (size_t i = 0; i < 60; i++)
        *rpinn_draws_row(draws, chain, i) = sin((double)(60 * chain + 7 * i * i));
      rpinn_draws_cut(draws, chain, cases[k].lengths[chain]);
    }
    char *text = rpinn_diagnose_draws(context, draws, NULL, &healthy);
    assert_non_null(text);
    assert_non_null(strstr(text, cases[k].text));
    free(text);
    rpinn_draws_destroy(draws);
  }
  rpinn_context_destroy(context);
}

static bool at_once(void *user) {
  (void)user;
  return true;
}

static void the_context_may_want_an_end(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsChains chains = {.seed = 3, .num_chains = CHAINS};
  bool healthy;
  rpinn_context_set_interrupted(context, at_once, NULL);
  RpinnDraws *draws = sample(context, 1, &chains, RPINN_ERROR_INTERRUPTED);
  assert_int_equal(rpinn_draws_count(draws), 0);
  rpinn_context_set_interrupted(context, NULL, NULL);
  assert_null(rpinn_diagnose_draws(context, draws, NULL, &healthy));
  assert_int_equal(rpinn_context_error(context)->status, RPINN_ERROR_INPUT);
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
}

/* ---- names ---- */

static void names_come_with_the_draws(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsChains chains = {.seed = 3, .num_chains = CHAINS, .names = names};
  RpinnDraws *draws = sample(context, 2, &chains, RPINN_OK);
  assert_string_equal(rpinn_draws_name(draws, 2), "third");
  assert_int_equal(rpinn_draws_parameter(draws, "second"), 1);
  assert_int_equal(rpinn_draws_parameter(draws, "nothing"), -1);
  bool healthy;
  char *text = rpinn_diagnose_draws(context, draws, &(RpinnDiagnoseOptions){.json = true}, &healthy);
  assert_non_null(text);
  const char *const parts[] = {"\"lp\"", "\"first\"", "\"second\"", "\"third\""};
  for (size_t k = 0; k < 4; k++) assert_non_null(strstr(text, parts[k]));
  free(text);
  /* the number in the table is that of the function */
  double values[CHAINS * DRAWS];
  RpinnConvergenceWork *work = rpinn_convergence_work_create(CHAINS, DRAWS);
  rpinn_draws_gather(draws, 1, DRAWS, values);
  assert_true(values[2 * DRAWS + 7] == rpinn_draws_get(draws, 2 * DRAWS + 7).parameters[1]);
  char row[64];
  snprintf(row, sizeof row, "%.4g", rpinn_convergence(work, values).mean);
  text = rpinn_diagnose_draws(context, draws, &(RpinnDiagnoseOptions){.all = true}, &healthy);
  char *line = strstr(text, "second");
  assert_non_null(line);
  line[strcspn(line, "\n")] = '\0';
  assert_non_null(strstr(line, row));
  free(text);
  rpinn_convergence_work_destroy(work);
  rpinn_draws_destroy(draws);
  const char *const empty[LADDER] = {"a", "", "c"};
  chains.names = empty;
  assert_null(sample(context, 1, &chains, RPINN_ERROR_INPUT));
  assert_string_equal(rpinn_context_error(context)->message,
                      "parameter 1 has no name; expected one for each");
  rpinn_context_destroy(context);
}

/* ---- turning back ---- */

enum { WIDE = 100 };

/* Deviations from 1 down to 1/6. */
static double root_of(size_t j) {
  return 1 + 5.0 * (double)j / (WIDE - 1);
}

static RpinnStatus wide(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (size_t j = 0; j < WIDE; j++) {
    double z = root_of(j) * x[j];
    *log_density -= 0.5 * z * z;
    if (gradient) gradient[j] = -root_of(j) * z;
  }
  return RPINN_OK;
}

/* Directions that oscillate fast hold a trajectory up by the sum, and not by the path. The draws are the same normals by both. */
static void the_path_ends_no_later_than_the_sum(void **state) {
  (void)state;
  enum { MANY = 1500 };
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = WIDE, .evaluate = wide};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  const RpinnTurnRule rules[] = {RPINN_TURN_SUM, RPINN_TURN_PATH};
  double leapfrogs[2] = {0}, start[WIDE] = {0};
  options.num_warmup = 0;
  options.num_draws = MANY;
  options.metric = RPINN_METRIC_UNIT;
  options.first_step = 0.2;
  for (size_t k = 0; k < 2; k++) {
    RpinnDraws *draws;
    double square = 0, sum = 0;
    options.turn = rules[k];
    assert_int_equal(rpinn_nuts_sample(context, &target, &options, 9, 1, start, &draws), RPINN_OK);
    int position = rpinn_draws_statistic(draws, "n_steps");
    for (size_t i = 0; i < MANY; i++) {
      RpinnDraw draw = rpinn_draws_get(draws, i);
      leapfrogs[k] += draw.statistics[position] / MANY;
      for (size_t j = 0; i >= 10 && j < WIDE; j++) {
        double z = root_of(j) * draw.parameters[j];
        sum += z / (WIDE * (MANY - 10));
        square += z * z / (WIDE * (MANY - 10));
      }
    }
    print_message("rule %zu: %.1f leapfrogs per draw, mean %.4f, mean square %.4f\n", k, leapfrogs[k], sum,
                  square);
    check_close(sum, 0, 0.015);
    check_close(square, 1, 0.03);
    rpinn_draws_destroy(draws);
  }
  check_true(leapfrogs[1] < 0.9 * leapfrogs[0], "%g against %g", leapfrogs[1], leapfrogs[0]);
  options.turn = (RpinnTurnRule)2;
  RpinnDraws *none;
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 9, 1, start, &none), RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
}

/* ---- failures ---- */

static RpinnStatus failing(void *data, const double *x, double *log_density, double *gradient) {
  return x[0] > 0.5 ? RPINN_ERROR_IO : ladder(data, x, log_density, gradient);
}

static void a_failure_ends_all(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsOptions options = short_chains();
  RpinnNutsChains chains = {.seed = 3, .num_chains = CHAINS};
  RpinnLogDensity targets[2];
  RpinnDraws *draws;
  for (size_t i = 0; i < 2; i++)
    targets[i] = (RpinnLogDensity){.num_parameters = LADDER, .evaluate = failing};
  assert_int_equal(rpinn_nuts_sample_chains(context, 2, targets, &options, &chains, &draws), RPINN_ERROR_IO);
  assert_null(draws);
  assert_int_equal(rpinn_nuts_sample_chains(context, 0, targets, &options, &chains, &draws),
                   RPINN_ERROR_INPUT);
  targets[1].num_parameters = 7;
  assert_int_equal(rpinn_nuts_sample_chains(context, 2, targets, &options, &chains, &draws),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "target 1 has 7 parameters; expected those of target 0, which has 3");
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_do_not_depend_on_threads),        cmocka_unit_test(progress_is_told),
      cmocka_unit_test(an_interruption_leaves_what_was_made), cmocka_unit_test(most_draws_are_judged),
      cmocka_unit_test(the_context_may_want_an_end),          cmocka_unit_test(names_come_with_the_draws),
      cmocka_unit_test(the_path_ends_no_later_than_the_sum),  cmocka_unit_test(a_failure_ends_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
