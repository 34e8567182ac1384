/* The check of a user's derivatives: right ones agree, and each kind of wrong one is found and named. */
#include "check.h"

#include "rpinn/derivatives.h"

enum { N = 3, M = 2 };

static const char *const names[N] = {"rate", "scale", "offset"};
static const double theta[N] = {0.7, -1.3, 240};

/* log p = -cosh(rate) + scale^3 sin(rate) - (offset - 200)^2 / 800; faults: [j] multiplies a derivative */
typedef struct Faulty {
  double factor[N];
  double more; /* value where a gradient is asked for */
} Faulty;

static RpinnStatus density(void *data, const double *t, double *log_density, double *gradient) {
  const Faulty *faulty = data;
  *log_density = -cosh(t[0]) + pow(t[1], 3) * sin(t[0]) - pow(t[2] - 200, 2) / 800;
  if (!gradient) return RPINN_OK;
  *log_density += faulty->more;
  gradient[0] = faulty->factor[0] * (-sinh(t[0]) + pow(t[1], 3) * cos(t[0]));
  gradient[1] = faulty->factor[1] * 3 * t[1] * t[1] * sin(t[0]);
  gradient[2] = faulty->factor[2] * -(t[2] - 200) / 400;
  return RPINN_OK;
}

static void gradients_are_judged(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Faulty faulty = {.factor = {1, 1, 1}};
  RpinnLogDensity target = {.num_parameters = N, .data = &faulty, .evaluate = density};
  RpinnDerivativeCheck check;
  assert_int_equal(rpinn_check_log_density(context, &target, theta, names, 1e-6, &check), RPINN_OK);
  print_message("%s\n", check.text);
  assert_true(check.agrees);
  assert_int_equal(check.num_tested, N + 1);
  assert_int_equal(check.num_unsure, 0);
  for (size_t j = 0; j < N; j++) {
    faulty.factor[j] = 1.0001;
    assert_int_equal(rpinn_check_log_density(context, &target, theta, names, 1e-6, &check), RPINN_OK);
    print_message("%s\n", check.text);
    assert_false(check.agrees);
    assert_int_equal(check.num_wrong, 1);
    assert_int_equal(check.parameter, j);
    assert_string_equal(check.name, names[j]);
    assert_string_equal(check.function, "evaluate");
    check_relative(check.given / check.difference, 1.0001, 1e-8);
    assert_non_null(strstr(check.text, names[j]));
    faulty.factor[j] = 1;
  }
  faulty.factor[1] = NAN;
  assert_int_equal(rpinn_check_log_density(context, &target, theta, NULL, 1e-6, &check), RPINN_OK);
  assert_false(check.agrees);
  assert_string_equal(check.name, "theta[1]");
  faulty.factor[1] = 1;
  faulty.more = 0.1;
  assert_int_equal(rpinn_check_log_density(context, &target, theta, names, 1e-6, &check), RPINN_OK);
  assert_false(check.agrees);
  assert_string_equal(check.function, "value");
  assert_string_equal(check.name, "");
  rpinn_context_destroy(context);
}

/* A sign is wrong in one term alone, and the objective of it. */
static RpinnStatus rosenbrock(void *data, const double *t, double *value, double *gradient) {
  double sign = *(double *)data;
  *value = pow(1 - t[0], 2) + 100 * pow(t[1] - t[0] * t[0], 2);
  if (!gradient) return RPINN_OK;
  gradient[0] = -2 * (1 - t[0]) + sign * -400 * t[0] * (t[1] - t[0] * t[0]);
  gradient[1] = 200 * (t[1] - t[0] * t[0]);
  return RPINN_OK;
}

static void objectives_are_judged(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  double sign = 1;
  RpinnObjective objective = {.num_parameters = 2, .data = &sign, .evaluate = rosenbrock};
  RpinnDerivativeCheck check;
  assert_int_equal(rpinn_check_objective(context, &objective, theta, NULL, 1e-6, &check), RPINN_OK);
  assert_true(check.agrees);
  sign = -1;
  assert_int_equal(rpinn_check_objective(context, &objective, theta, NULL, 1e-6, &check), RPINN_OK);
  assert_false(check.agrees);
  assert_int_equal(check.parameter, 0);
  /* a minimum, where the gradient is zero */
  const double minimum[] = {1, 1};
  sign = 1;
  assert_int_equal(rpinn_check_objective(context, &objective, minimum, NULL, 1e-6, &check), RPINN_OK);
  assert_true(check.agrees);
  rpinn_context_destroy(context);
}

/* The scale of a parameter is 1e-4: steps of 0.1 lead to where the density is not finite. */
static RpinnStatus narrow(void *data, const double *t, double *log_density, double *gradient) {
  (void)data;
  *log_density = log(1e-4 - t[0]) + log(1e-4 + t[0]);
  if (gradient) gradient[0] = -1 / (1e-4 - t[0]) + 1 / (1e-4 + t[0]);
  return RPINN_OK;
}

/* A kink at the point itself: the derivative is whatever one says. */
static RpinnStatus kinked(void *data, const double *t, double *log_density, double *gradient) {
  *log_density = -fabs(t[0]) - (t[0] > 0 ? t[0] : 0);
  if (gradient) gradient[0] = *(double *)data;
  return RPINN_OK;
}

static void steps_shrink_where_they_must(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = 1, .evaluate = narrow};
  RpinnDerivativeCheck check;
  const double inside = 3e-5;
  assert_int_equal(rpinn_check_log_density(context, &target, &inside, NULL, 1e-6, &check), RPINN_OK);
  print_message("%s\n", check.text);
  assert_true(check.agrees);
  assert_int_equal(check.num_unsure, 0);
  const double outside = 1;
  assert_int_equal(rpinn_check_log_density(context, &target, &outside, NULL, 1e-6, &check),
                   RPINN_ERROR_NUMERIC);
  double zero = 0, slope = -7;
  target = (RpinnLogDensity){.num_parameters = 1, .data = &slope, .evaluate = kinked};
  assert_int_equal(rpinn_check_log_density(context, &target, &zero, NULL, 1e-6, &check), RPINN_OK);
  assert_false(check.agrees); /* the mean of both sides is -0.5 */
  check_close(check.difference, -0.5, 1e-9);
  rpinn_context_destroy(context);
}

/* r = (exp(a) b, a - c^2 / 1e4); a fault in one function at a time */
typedef struct Rows {
  int jacobian, times, transposed, gram, rows; /* 1: wrong */
} Rows;

static void fill_jacobian(const double *t, double *jacobian) {
  const double J[M * N] = {exp(t[0]) * t[1], exp(t[0]), 0, 1, 0, -2 * t[2] / 1e4};
  memcpy(jacobian, J, sizeof J);
}

static RpinnStatus residuals(void *data, const double *t, double *rows) {
  (void)data;
  rows[0] = exp(t[0]) * t[1];
  rows[1] = t[0] - t[2] * t[2] / 1e4;
  return RPINN_OK;
}

static RpinnStatus jacobian(void *data, const double *t, double *rows, double *J) {
  const Rows *faults = data;
  residuals(NULL, t, rows);
  fill_jacobian(t, J);
  if (faults->jacobian) J[1 * N + 2] *= -1;
  if (faults->rows) rows[1] += 1e-3;
  return RPINN_OK;
}

static RpinnStatus jacobian_times(void *data, const double *t, const double *direction, double *product) {
  const Rows *faults = data;
  double J[M * N];
  fill_jacobian(t, J);
  for (size_t i = 0; i < M; i++) {
    product[i] = 0;
    for (size_t j = faults->times; j < N; j++) product[i] += J[i * N + j] * direction[j];
  }
  return RPINN_OK;
}

static RpinnStatus transposed_times(void *data, const double *t, const double *weights, double *product) {
  const Rows *faults = data;
  double J[M * N];
  fill_jacobian(t, J);
  for (size_t j = 0; j < N; j++) {
    product[j] = 0;
    for (size_t i = faults->transposed; i < M; i++) product[j] += J[i * N + j] * weights[i];
  }
  return RPINN_OK;
}

static RpinnStatus gram(void *data, const double *t, const double *scale, double *rows, double *product) {
  const Rows *faults = data;
  double J[M * N];
  residuals(NULL, t, rows);
  fill_jacobian(t, J);
  for (size_t a = 0; a < M; a++)
    for (size_t b = 0; b < M; b++) {
      product[a * M + b] = 0;
      for (size_t j = 0; j < N; j++)
        product[a * M + b] += J[a * N + j] * J[b * N + j] * (scale ? scale[j] : 1);
    }
  if (faults->gram) product[3] += 1e-3;
  return RPINN_OK;
}

static void least_squares_are_judged(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Rows faults = {0};
  RpinnLeastSquares problem = {.num_parameters = N,
                               .num_rows = M,
                               .data = &faults,
                               .residuals = residuals,
                               .jacobian = jacobian,
                               .jacobian_times = jacobian_times,
                               .transposed_times = transposed_times,
                               .gram = gram};
  RpinnDerivativeCheck check;
  assert_int_equal(rpinn_check_least_squares(context, &problem, theta, names, 1e-6, &check), RPINN_OK);
  print_message("%s\n", check.text);
  assert_true(check.agrees);
  assert_int_equal(check.num_tested, M * N + M + M + N + M * M);
  const struct {
    Rows faults;
    const char *function, *name;
    size_t row;
  } cases[] = {{{.jacobian = 1}, "jacobian", "offset", 1},
               {{.times = 1}, "jacobian_times", "", 1},
               {{.transposed = 1}, "transposed_times", "", 1},
               {{.gram = 1}, "gram", "", 3},
               {{.rows = 1}, "rows", "", 1}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    faults = cases[k].faults;
    assert_int_equal(rpinn_check_least_squares(context, &problem, theta, names, 1e-6, &check), RPINN_OK);
    print_message("%s\n", check.text);
    assert_false(check.agrees);
    assert_string_equal(check.function, cases[k].function);
    assert_string_equal(check.name, cases[k].name);
    assert_int_equal(check.row, cases[k].row);
  }
  rpinn_context_destroy(context);
}

static RpinnStatus fails(void *data, const double *t, double *log_density, double *gradient) {
  (void)data, (void)t, (void)log_density, (void)gradient;
  return RPINN_ERROR_IO;
}

static void failures_are_told(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = N, .evaluate = fails};
  RpinnDerivativeCheck check;
  assert_int_equal(rpinn_check_log_density(context, &target, theta, names, 1e-6, &check), RPINN_ERROR_IO);
  assert_non_null(strstr(rpinn_context_error(context)->message, "the target's function 'evaluate' failed"));
  assert_int_equal(rpinn_check_log_density(context, &target, theta, names, 0, &check), RPINN_ERROR_INPUT);
  const char *const twice[N] = {"a", "b", "a"};
  assert_int_equal(rpinn_check_log_density(context, &target, theta, twice, 1, &check), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "parameters 0 and 2 are both called 'a'; expected names that differ");
  target.evaluate = NULL;
  assert_int_equal(rpinn_check_log_density(context, &target, theta, names, 1, &check), RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_judged), cmocka_unit_test(objectives_are_judged),
      cmocka_unit_test(steps_shrink_where_they_must), cmocka_unit_test(least_squares_are_judged),
      cmocka_unit_test(failures_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
