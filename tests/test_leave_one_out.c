/* Leave-one-out against the numbers of ArviZ 0.23 (az.psislw and az.loo on the same matrix), and against the closed form of a normal
 * mean. */
#include "check.h"

#include "rpinn/pareto.h"

enum { CHAINS = 4, DRAWS = 250, DATA = 6, ALL = CHAINS * DRAWS };

static const double y[DATA] = {-0.3, 0.2, 1.1, -2.4, 3.2, 0.7};

/* N(0.3, 0.4) by Box and Muller from two sequences of Kronecker: the same in any language. */
static double mean_of(size_t s) {
  double u = fmod((double)(s + 1) * 0.618033988749895, 1), v = fmod((double)(s + 1) * 0.7548776662466927, 1);
  return 0.3 + 0.4 * sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static void fill(double log_likelihood[ALL][DATA]) {
  for (size_t s = 0; s < ALL; s++)
    for (size_t i = 0; i < DATA; i++) {
      double z = (y[i] - mean_of(s)) / 0.8;
      log_likelihood[s][i] = -0.5 * z * z - log(0.8) - 0.5 * log(2 * acos(-1));
    }
}

typedef struct Expected {
  double efficiency, elpd, error, freedom;
  double k[DATA], each[DATA];
} Expected;

static void numbers_are_those_of_arviz(void **state) {
  (void)state;
  static const Expected expected[] = {
      {1,
       -22.205570962364828,
       8.919100662444903,
       6.808432119124042,
       {0.333929706127, 0.353997514822, 0.438092982134, 0.75955094171, 0.847721085238, 0.381154271923},
       {-1.20717563651, -0.849032646369, -1.50944396693, -8.17627870393, -9.45554003648, -1.00809997214}},
      {0.3,
       -22.263398022080086,
       8.95491262586534,
       6.8662591788393,
       {0.330102675607, 0.326945021008, 0.406329928127, 0.818264840013, 0.89865153263, 0.353084604746},
       {-1.20717787915, -0.849101352532, -1.50908736123, -8.18920928576, -9.50081302134, -1.00800912207}}};
  RpinnContext *context = rpinn_context_create();
  static double log_likelihood[ALL][DATA];
  fill(log_likelihood);
  for (size_t e = 0; e < 2; e++) {
    RpinnDatumLeftOut each[DATA];
    RpinnLeaveOneOut whole;
    assert_int_equal(rpinn_pareto_leave_one_out(context, CHAINS, DRAWS, DATA, log_likelihood[0],
                                                expected[e].efficiency, each, &whole),
                     RPINN_OK);
    for (size_t i = 0; i < DATA; i++) {
      check_relative(each[i].k, expected[e].k[i], 1e-9);
      check_relative(each[i].elpd, expected[e].each[i], 1e-9);
      assert_true(each[i].efficiency == expected[e].efficiency);
    }
    check_relative(whole.elpd, expected[e].elpd, 1e-10);
    check_relative(whole.error, expected[e].error, 1e-10);
    check_relative(whole.freedom, expected[e].freedom, 1e-9);
    check_relative(whole.k_limit, 2.0 / 3, 1e-12); /* 1 - 1 / log10(1000) */
    assert_int_equal(whole.num_above_limit, 2);
    check_relative(whole.largest_k, expected[e].k[4], 1e-9);
  }
  rpinn_context_destroy(context);
}

/* y_i ~ N(mu, 1), flat prior: mu ~ N(mean, 1/n), and datum i without itself ~ N(mean of the others, 1 + 1/(n-1)). */
static void a_normal_mean_is_the_closed_form(void **state) {
  (void)state;
  enum { MANY = 40000, N = 8 };
  const double data[N] = {0.1, -0.6, 0.9, 1.4, -1.1, 0.3, -0.2, 0.5};
  double sum = 0, expected = 0, *log_likelihood = malloc(MANY * N * sizeof(double));
  RpinnContext *context = rpinn_context_create();
  RpinnLeaveOneOut whole;
  for (size_t i = 0; i < N; i++) sum += data[i];
  for (size_t s = 0; s < MANY; s++) {
    double mu = sum / N + (mean_of(s) - 0.3) / 0.4 / sqrt(N);
    for (size_t i = 0; i < N; i++)
      log_likelihood[s * N + i] = -0.5 * pow(data[i] - mu, 2) - 0.5 * log(2 * acos(-1));
  }
  for (size_t i = 0; i < N; i++) {
    double variance = 1 + 1.0 / (N - 1), off = data[i] - (sum - data[i]) / (N - 1);
    expected += -0.5 * off * off / variance - 0.5 * log(2 * acos(-1) * variance);
  }
  assert_int_equal(rpinn_pareto_leave_one_out(context, 1, MANY, N, log_likelihood, 1, NULL, &whole),
                   RPINN_OK);
  print_message("elpd %.5f, closed form %.5f\n", whole.elpd, expected);
  check_close(whole.elpd, expected, 5e-3);
  assert_int_equal(whole.num_above_limit, 0);
  free(log_likelihood);
  rpinn_context_destroy(context);
}

/* Every draw five times over has a fifth of its worth. */
static void efficiency_is_found(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  static double log_likelihood[ALL][DATA];
  RpinnDatumLeftOut each[DATA];
  RpinnLeaveOneOut whole;
  fill(log_likelihood);
  for (size_t s = ALL; s-- > 0;) memcpy(log_likelihood[s], log_likelihood[s / 5], sizeof log_likelihood[s]);
  assert_int_equal(
      rpinn_pareto_leave_one_out(context, CHAINS, DRAWS, DATA, log_likelihood[0], 0, each, &whole), RPINN_OK);
  for (size_t i = 0; i < DATA; i++) {
    print_message("efficiency %.3f\n", each[i].efficiency);
    check_true(each[i].efficiency > 0.1 && each[i].efficiency < 0.5, "datum %zu", i);
  }
  rpinn_context_destroy(context);
}

static void bad_numbers_are_named(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  static double log_likelihood[ALL][DATA];
  RpinnLeaveOneOut whole;
  fill(log_likelihood);
  log_likelihood[2 * DRAWS + 17][3] = -INFINITY;
  assert_int_equal(
      rpinn_pareto_leave_one_out(context, CHAINS, DRAWS, DATA, log_likelihood[0], 1, NULL, &whole),
      RPINN_ERROR_INPUT);
  assert_string_equal(
      rpinn_context_error(context)->message,
      "the log likelihood of datum 3 is -inf in draw 17 of chain 2; expected a finite number");
  assert_int_equal(
      rpinn_pareto_leave_one_out(context, CHAINS, DRAWS, DATA, log_likelihood[0], -1, NULL, &whole),
      RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_pareto_leave_one_out(context, 0, DRAWS, DATA, NULL, 1, NULL, &whole),
                   RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_those_of_arviz), cmocka_unit_test(a_normal_mean_is_the_closed_form),
      cmocka_unit_test(efficiency_is_found), cmocka_unit_test(bad_numbers_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
