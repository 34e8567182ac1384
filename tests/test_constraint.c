/* Constrained parameters: values by hand, Jacobians and gradients by differences, densities that integrate to one, chains on them. */
#include "check.h"

#include "rpinn/constraint.h"
#include "rpinn/convergence.h"
#include "rpinn/derivatives.h"
#include "rpinn/nuts.h"

enum { PARAMETERS = 9, VALUES = 10 };

static const RpinnConstraint all_kinds[] = {{.kind = RPINN_FREE, .count = 1},
                                            {.kind = RPINN_ABOVE, .count = 1, .lower = 2},
                                            {.kind = RPINN_BELOW, .count = 1, .upper = -1},
                                            {.kind = RPINN_BETWEEN, .count = 1, .lower = -1, .upper = 3},
                                            {.kind = RPINN_RISING, .count = 3},
                                            {.kind = RPINN_SIMPLEX, .count = 3}};
static const double point[PARAMETERS] = {0.7, -0.4, 0.3, 0.9, -0.2, 0.5, -1.1, 0.6, -0.3};

static RpinnConstraints *create(RpinnContext *context) {
  RpinnConstraints *constraints;
  assert_int_equal(rpinn_constraints_create(context, 6, all_kinds, &constraints), RPINN_OK);
  assert_int_equal(rpinn_constraints_num_parameters(constraints), PARAMETERS);
  assert_int_equal(rpinn_constraints_num_values(constraints), VALUES);
  return constraints;
}

static void values_are_those_of_the_table(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnConstraints *constraints = create(context);
  double values[VALUES], log_jacobian, s = 1 / (1 + exp(-0.9));
  double z1 = 1 / (1 + 2 * exp(-0.6)), z2 = 1 / (1 + exp(0.3));
  const double expected[VALUES] = {
      0.7, 2 + exp(-0.4), -1 - exp(0.3),      -1 + 4 * s, -0.2, -0.2 + exp(0.5), -0.2 + exp(0.5) + exp(-1.1),
      z1,  (1 - z1) * z2, (1 - z1) * (1 - z2)};
  rpinn_constraints_apply(constraints, point, values, &log_jacobian);
  for (size_t i = 0; i < VALUES; i++) check_relative(values[i], expected[i], 1e-14);
  check_relative(log_jacobian,
                 -0.4 + 0.3 + log(4 * s * (1 - s)) + 0.5 - 1.1 + log(z1 * (1 - z1)) +
                     log((1 - z1) * z2 * (1 - z2)),
                 1e-13);
  /* u = 0 is the middle of a simplex */
  const double zero[PARAMETERS] = {0};
  rpinn_constraints_apply(constraints, zero, values, NULL);
  for (size_t i = 7; i < VALUES; i++) check_relative(values[i], 1.0 / 3, 1e-14);
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
}

static void values_lead_back(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnConstraints *constraints = create(context);
  double values[VALUES], parameters[PARAMETERS];
  rpinn_constraints_apply(constraints, point, values, NULL);
  assert_int_equal(rpinn_constraints_invert(context, constraints, values, parameters), RPINN_OK);
  for (size_t j = 0; j < PARAMETERS; j++) check_close(parameters[j], point[j], 1e-12);
  static const struct {
    size_t value;
    double number;
    const char *message;
  } mistakes[] = {{0, NAN, "value 0 is nan; expected a finite number"},
                  {1, 2, "value 1 is 2; expected a finite number above its bound"},
                  {2, -1, "value 2 is -1; expected a finite number below its bound"},
                  {3, 3.5, "value 3 is 3.5; expected a number between its bounds"},
                  {5, -0.3, "value 5 is -0.3; expected a finite number above the one before it"},
                  {9, 0.1, "value 9 is 0.1; expected positive numbers that add up to one"}};
  for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
    rpinn_constraints_apply(constraints, point, values, NULL);
    values[mistakes[k].value] = mistakes[k].number;
    assert_int_equal(rpinn_constraints_invert(context, constraints, values, parameters), RPINN_ERROR_INPUT);
    assert_string_equal(rpinn_context_error(context)->message, mistakes[k].message);
  }
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
}

/* Some density of all values that ties them together: log p = -1/2 sum_i (i + 1) (x_i - i/10)^2 + x_0 x_1 x_9 */
static RpinnStatus tied(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = x[0] * x[1] * x[9];
  for (size_t i = 0; i < VALUES; i++) *log_density -= 0.5 * (double)(i + 1) * pow(x[i] - (double)i / 10, 2);
  if (!gradient) return RPINN_OK;
  for (size_t i = 0; i < VALUES; i++) gradient[i] = -(double)(i + 1) * (x[i] - (double)i / 10);
  gradient[0] += x[1] * x[9];
  gradient[1] += x[0] * x[9];
  gradient[9] += x[0] * x[1];
  return RPINN_OK;
}

static void gradients_are_those_of_differences(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnConstraints *constraints = create(context);
  RpinnLogDensity density = {.num_parameters = VALUES, .evaluate = tied};
  RpinnFreeDensity *freed;
  assert_int_equal(rpinn_free_density_create(context, constraints, &density, &freed), RPINN_OK);
  RpinnLogDensity target = rpinn_free_density(freed);
  assert_int_equal(target.num_parameters, PARAMETERS);
  RpinnDerivativeCheck check;
  assert_int_equal(rpinn_check_log_density(context, &target, point, NULL, 1e-8, &check), RPINN_OK);
  print_message("%s\n", check.text);
  check_true(check.agrees, "%zu wrong", check.num_wrong);
  double values[VALUES], log_jacobian, alone, whole;
  rpinn_constraints_apply(constraints, point, values, &log_jacobian);
  tied(NULL, values, &alone, NULL);
  target.evaluate(target.data, point, &whole, NULL);
  check_relative(whole, alone + log_jacobian, 1e-14);
  rpinn_free_density_destroy(freed);
  density.num_parameters = 3;
  assert_int_equal(rpinn_free_density_create(context, constraints, &density, &freed), RPINN_ERROR_INPUT);
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
}

/* Where u is so large that exp(u) overflows, the density is not finite, but no NaN either where a limit exists. */
static void far_out_is_a_number(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnConstraint both[] = {{.kind = RPINN_BETWEEN, .count = 2, .lower = 0, .upper = 1},
                            {.kind = RPINN_SIMPLEX, .count = 2}};
  RpinnConstraints *constraints;
  double values[4], log_jacobian, u[] = {800, -800, 800};
  assert_int_equal(rpinn_constraints_create(context, 2, both, &constraints), RPINN_OK);
  rpinn_constraints_apply(constraints, u, values, &log_jacobian);
  check_close(values[0], 1, 0);
  check_close(values[1], 0, 0);
  check_relative(log_jacobian, -2400, 1e-12);
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
}

/* Gamma(3, 1) x Beta(2, 5) x Dirichlet(2, 3, 4), whose moments are known. */
static RpinnStatus known(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  const double power[5] = {2, 0, 1, 2, 3};
  *log_density = -x[0] + log(x[1]) + 4 * log1p(-x[1]);
  for (size_t i = 0; i < 5; i++)
    if (i != 1) *log_density += power[i] * log(x[i]);
  if (!gradient) return RPINN_OK;
  for (size_t i = 0; i < 5; i++) gradient[i] = power[i] / x[i];
  gradient[0] -= 1;
  gradient[1] = 1 / x[1] - 4 / (1 - x[1]);
  return RPINN_OK;
}

static void chains_have_the_moments_of_the_values(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const RpinnConstraint kinds[] = {{.kind = RPINN_ABOVE, .count = 1},
                                   {.kind = RPINN_BETWEEN, .count = 1, .lower = 0, .upper = 1},
                                   {.kind = RPINN_SIMPLEX, .count = 3}};
  const char *const names[] = {"rate", "share", "part[0]", "part[1]", "part[2]"};
  const double means[] = {3, 2.0 / 7, 2.0 / 9, 3.0 / 9, 4.0 / 9};
  const double variances[] = {3, 10.0 / 49 / 8, 14.0 / 81 / 10, 18.0 / 81 / 10, 20.0 / 81 / 10};
  RpinnConstraints *constraints;
  RpinnFreeDensity *freed;
  RpinnDraws *draws, *constrained;
  RpinnLogDensity density = {.num_parameters = 5, .evaluate = known};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_draws = 4000;
  assert_int_equal(rpinn_constraints_create(context, 3, kinds, &constraints), RPINN_OK);
  assert_int_equal(rpinn_free_density_create(context, constraints, &density, &freed), RPINN_OK);
  RpinnLogDensity target = rpinn_free_density(freed);
  assert_int_equal(rpinn_nuts_sample(context, &target, &options, 5, 2, NULL, &draws), RPINN_OK);
  assert_int_equal(rpinn_draws_constrain(context, draws, constraints, names, &constrained), RPINN_OK);
  assert_int_equal(rpinn_draws_count(constrained), 8000);
  assert_int_equal(rpinn_draws_parameter(constrained, "part[1]"), 3);
  assert_string_equal(rpinn_draws_name(constrained, 1), "share");
  assert_int_equal(rpinn_draws_parameter(constrained, "theta[0]"), -1);
  RpinnConvergenceWork *work = rpinn_convergence_work_create(2, 4000);
  double *values = malloc(8000 * sizeof *values);
  for (size_t j = 0; j < 5; j++) {
    rpinn_draws_gather(constrained, j, 4000, values);
    RpinnConvergence found = rpinn_convergence(work, values);
    print_message("%-8s mean %.4f +- %.4f, expected %.4f; sd %.4f, expected %.4f\n",
                  rpinn_draws_name(constrained, j), found.mean, found.mcse_mean, means[j], found.sd,
                  sqrt(variances[j]));
    check_close(found.mean, means[j], 4 * found.mcse_mean);
    check_close(found.sd, sqrt(variances[j]), 4 * found.mcse_sd);
  }
  int lp = rpinn_draws_statistic(constrained, "lp");
  assert_true(rpinn_draws_get(constrained, 4321).statistics[lp] ==
              rpinn_draws_get(draws, 4321).statistics[lp]);
  rpinn_draws_destroy(draws);
  assert_int_equal(rpinn_draws_constrain(context, constrained, constraints, names, &draws),
                   RPINN_ERROR_INPUT);
  assert_null(draws);
  free(values);
  rpinn_convergence_work_destroy(work);
  rpinn_draws_destroy(constrained);
  rpinn_free_density_destroy(freed);
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
}

static void mistakes_are_named(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnConstraints *constraints;
  static const struct {
    RpinnConstraint constraint;
    const char *message;
  } mistakes[] = {
      {{.kind = RPINN_BETWEEN, .count = 1, .lower = 2, .upper = 2},
       "the bounds of constraint 0 are 2 and 2; expected the lower one first"},
      {{.kind = RPINN_ABOVE, .count = 1, .lower = -INFINITY},
       "a bound of constraint 0 is -inf; expected a finite number"},
      {{.kind = RPINN_SIMPLEX, .count = 1}, "constraint 0 is for 1 values; expected at least 2"},
      {{.kind = RPINN_FREE, .count = 0}, "constraint 0 is for 0 values; expected at least 1"},
      {{.kind = (RpinnConstraintKind)17, .count = 1}, "constraint 0 is of kind 17; expected 0 to 5"}};
  for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
    assert_int_equal(rpinn_constraints_create(context, 1, &mistakes[k].constraint, &constraints),
                     RPINN_ERROR_INPUT);
    assert_string_equal(rpinn_context_error(context)->message, mistakes[k].message);
  }
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_the_table),         cmocka_unit_test(values_lead_back),
      cmocka_unit_test(gradients_are_those_of_differences),    cmocka_unit_test(far_out_is_a_number),
      cmocka_unit_test(chains_have_the_moments_of_the_values), cmocka_unit_test(mistakes_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
