/* SVGD on targets for groups: particles have the same bits whatever the group and the number of threads, and failures have
 * the words of the target. */
#include "check.h"

#include <stdatomic.h>

#include "context.h"
#include "rpinn/svgd.h"

enum { N = 4, PARTICLES = 10, ITERATIONS = 25, MOST_THREADS = 2, MOST_GROUP = 64 };

/* Normal, with the mean of member m at shift * m: a mix-up of members shows. */
typedef struct Crowd {
  double shift;
  size_t broken[2];    /* members that fail; PARTICLES: none */
  const char *message; /* of the failure, with the first member of the call; NULL: it says nothing */
  size_t lost;         /* the member whose density is not finite; PARTICLES: none */
  atomic_size_t num_calls, num_members, largest;
} Crowd;

static const Crowd sound = {.broken = {PARTICLES, PARTICLES}, .lost = PARTICLES};

static void weigh(double mean, const double *x, double *value, double *gradient) {
  *value = 0;
  for (size_t j = 0; j < N; j++) {
    double s = 1 + 0.5 * (double)j, z = (x[j] - mean) / s;
    *value -= 0.5 * z * z;
    gradient[j] = -z / s;
  }
}

static RpinnStatus weigh_one(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  weigh(0, x, value, gradient);
  return RPINN_OK;
}

/* From the last to the first. */
static RpinnStatus weigh_crowd(RpinnContext *context, void *data, size_t count, const size_t *members,
                               const double *const *thetas, double *values, double *const *gradients) {
  Crowd *crowd = data;
  atomic_fetch_add(&crowd->num_calls, 1);
  atomic_fetch_add(&crowd->num_members, count);
  for (size_t largest = crowd->largest; count > largest;)
    if (atomic_compare_exchange_weak(&crowd->largest, &largest, count)) break;
  for (size_t k = count; k-- > 0;) {
    weigh(crowd->shift * (double)members[k], thetas[k], &values[k], gradients[k]);
    if (members[k] == crowd->lost) values[k] = -INFINITY;
    for (int b = 0; b < 2; b++)
      if (members[k] == crowd->broken[b])
        return crowd->message ? rpinn_fail(context, RPINN_ERROR_IO, crowd->message, members[0])
                              : RPINN_ERROR_MEMORY;
  }
  return RPINN_OK;
}

static RpinnContext *context;

static RpinnSvgdOptions options_of(RpinnSvgdOptimizer optimizer, bool single_precision) {
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = PARTICLES;
  options.optimizer = optimizer;
  options.rule.learning_rate = 0.05;
  options.single_precision = single_precision;
  return options;
}

static void start(RpinnSvgd *svgd) {
  double particles[PARTICLES][N];
  for (size_t i = 0; i < PARTICLES; i++)
    for (size_t j = 0; j < N; j++) particles[i][j] = sin((double)(1 + i * N + 3 * j));
  assert_int_equal(rpinn_svgd_start(context, svgd, particles[0]), RPINN_OK);
}

static RpinnSvgd *create(Crowd *crowd, size_t group, size_t num_threads, const RpinnSvgdOptions *options) {
  RpinnBatchLogDensity targets[MOST_THREADS];
  RpinnSvgd *svgd;
  for (size_t k = 0; k < num_threads; k++)
    targets[k] =
        (RpinnBatchLogDensity){.num_parameters = N, .group = group, .data = crowd, .evaluate = weigh_crowd};
  assert_int_equal(rpinn_svgd_create_batch(context, num_threads, targets, options, &svgd), RPINN_OK);
  start(svgd);
  return svgd;
}

/* The state says all: particles, moments, log densities, bandwidth, norm. */
static unsigned char *state_after(RpinnSvgd *svgd, size_t *size) {
  *size = rpinn_svgd_state_size(svgd);
  unsigned char *state = malloc(*size);
  assert_int_equal(rpinn_svgd_advance(context, svgd, ITERATIONS), RPINN_OK);
  rpinn_svgd_save(svgd, state);
  rpinn_svgd_destroy(svgd);
  return state;
}

static void groups_leave_no_mark(void **state) {
  (void)state;
  const size_t groups[] = {1, 3, 7, PARTICLES, MOST_GROUP};
  for (int form = 0; form < 4; form++) {
    RpinnSvgdOptions options = options_of(form % 2 ? RPINN_SVGD_ADAGRAD : RPINN_SVGD_ADAM, form / 2 != 0);
    Crowd alone = sound;
    size_t size, other_size;
    alone.shift = 0.3;
    unsigned char *expected = state_after(create(&alone, 1, 1, &options), &size);
    assert_int_equal(alone.num_calls, PARTICLES * ITERATIONS);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
      for (size_t threads = 1; threads <= MOST_THREADS; threads++) {
        Crowd crowd = sound;
        size_t group = groups[g] < PARTICLES ? groups[g] : PARTICLES;
        crowd.shift = 0.3;
        unsigned char *found = state_after(create(&crowd, groups[g], threads, &options), &other_size);
        assert_int_equal(other_size, size);
        check_true(memcmp(found, expected, size) == 0, "groups of %zu on %zu threads", groups[g], threads);
        assert_int_equal(crowd.largest, group);
        assert_int_equal(crowd.num_members, PARTICLES * ITERATIONS);
        assert_int_equal(crowd.num_calls, (PARTICLES + group - 1) / group * ITERATIONS);
        free(found);
      }
    free(expected);
  }
}

static void a_target_for_one_is_a_target_for_groups_of_one(void **state) {
  (void)state;
  RpinnSvgdOptions options = options_of(RPINN_SVGD_ADAM, false);
  RpinnLogDensity targets[MOST_THREADS] = {{.num_parameters = N, .evaluate = weigh_one},
                                           {.num_parameters = N, .evaluate = weigh_one}};
  RpinnSvgd *svgd;
  Crowd crowd = sound;
  size_t size;
  assert_int_equal(rpinn_svgd_create(context, MOST_THREADS, targets, &options, &svgd), RPINN_OK);
  memset(targets, 0, sizeof targets); /* it has its own */
  start(svgd);
  unsigned char *found = state_after(svgd, &size),
                *expected = state_after(create(&crowd, 3, 1, &options), &size);
  assert_memory_equal(found, expected, size);
  free(found);
  free(expected);
}

/* Of the first group that fails, whichever thread had it, whichever other failed as well. */
static void failures_have_the_words_of_the_target(void **state) {
  (void)state;
  RpinnSvgdOptions options = options_of(RPINN_SVGD_ADAM, false);
  for (size_t threads = 1; threads <= MOST_THREADS; threads++)
    for (int repeat = 0; repeat < 20; repeat++) {
      Crowd crowd = sound;
      crowd.broken[0] = 4, crowd.broken[1] = 7;
      crowd.message = "no power from member %zu on";
      RpinnSvgd *svgd = create(&crowd, 3, threads, &options);
      assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_ERROR_IO);
      assert_string_equal(rpinn_context_error(context)->message, "no power from member 3 on");
      crowd.broken[0] = PARTICLES;
      assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_ERROR_IO);
      assert_string_equal(rpinn_context_error(context)->message, "no power from member 6 on");
      crowd.broken[1] = PARTICLES;
      assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_OK);
      rpinn_svgd_destroy(svgd);
    }
}

static void failures_without_words_are_explained(void **state) {
  (void)state;
  RpinnSvgdOptions options = options_of(RPINN_SVGD_ADAM, false);
  Crowd crowd = sound;
  RpinnSvgd *svgd = create(&crowd, 3, 1, &options);
  crowd.broken[0] = 7;
  assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_ERROR_MEMORY);
  assert_string_equal(
      rpinn_context_error(context)->message,
      "the target's function 'evaluate' failed at particle 6 after 0 iterations: out of memory");
  crowd.broken[0] = PARTICLES;
  crowd.lost = 7;
  assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_ERROR_NUMERIC);
  assert_string_equal(rpinn_context_error(context)->message,
                      "the log density of particle 7 is -inf after 0 iterations, expected a finite number");
  rpinn_svgd_destroy(svgd);
}

static void targets_have_groups_of_one_size(void **state) {
  (void)state;
  RpinnSvgdOptions options = options_of(RPINN_SVGD_ADAM, false);
  Crowd crowd = sound;
  RpinnBatchLogDensity targets[] = {
      {.num_parameters = N, .group = 3, .data = &crowd, .evaluate = weigh_crowd},
      {.num_parameters = N, .group = 2, .data = &crowd, .evaluate = weigh_crowd}};
  RpinnSvgd *svgd;
  assert_int_equal(rpinn_svgd_create_batch(context, 2, targets, &options, &svgd), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "target 1 has groups of 2 members, expected 3 as in the first");
  assert_null(svgd);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(groups_leave_no_mark),
                                     cmocka_unit_test(a_target_for_one_is_a_target_for_groups_of_one),
                                     cmocka_unit_test(failures_have_the_words_of_the_target),
                                     cmocka_unit_test(failures_without_words_are_explained),
                                     cmocka_unit_test(targets_have_groups_of_one_size)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
