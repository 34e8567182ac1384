/* Targets that lack a function or fail: every method refuses the first when it is created, and says which
 * function it was that failed. What an earlier call left on the context is not taken for the reason. */
#include "check.h"

#include <stdint.h>

#include "rpinn/rpinn.h"

enum { N = 4, M = 2 };

/* A target all of whose functions work until one of them is told to fail. */
typedef struct Fragile {
  const char *broken; /* the name of the function that fails; NULL: none */
  int calls_left;     /* of it, before it fails */
} Fragile;

static RpinnStatus call(Fragile *fragile, const char *function) {
  if (!fragile->broken || strcmp(fragile->broken, function) != 0 || fragile->calls_left-- > 0)
    return RPINN_OK;
  return RPINN_ERROR_NUMERIC;
}

/* f = 1/2 |theta|^2 */
static RpinnStatus evaluate(void *data, const double *theta, double *value, double *gradient) {
  *value = 0;
  for (size_t j = 0; j < N; j++) {
    *value += 0.5 * theta[j] * theta[j];
    if (gradient) gradient[j] = theta[j];
  }
  return call(data, "evaluate");
}

static RpinnStatus evaluate_density(void *data, const double *theta, double *log_density, double *gradient) {
  RpinnStatus status = evaluate(data, theta, log_density, gradient);
  *log_density = -*log_density;
  for (size_t j = 0; gradient && j < N; j++) gradient[j] = -gradient[j];
  return status;
}

static RpinnStatus adam_advance(void *data, const RpinnAdamRule *rule, RpinnAdamState *state,
                                size_t num_steps, double *value) {
  (void)rule;
  (void)value;
  state->t += num_steps;
  return call(data, "adam_advance");
}

/* r_i = theta_i^2 - 1 + theta_{i+2} */
static RpinnStatus residuals(void *data, const double *theta, double *rows) {
  for (size_t i = 0; i < M; i++) rows[i] = theta[i] * theta[i] - 1 + theta[i + M];
  return call(data, "residuals");
}

static void fill_jacobian(const double *theta, double J[M * N]) {
  for (size_t k = 0; k < M * N; k++) J[k] = 0;
  for (size_t i = 0; i < M; i++) {
    J[i * N + i] = 2 * theta[i];
    J[i * N + i + M] = 1;
  }
}

static RpinnStatus jacobian(void *data, const double *theta, double *rows, double *J) {
  fill_jacobian(theta, J);
  for (size_t i = 0; i < M; i++) rows[i] = theta[i] * theta[i] - 1 + theta[i + M];
  return call(data, "jacobian");
}

static RpinnStatus jacobian_times(void *data, const double *theta, const double *direction, double *product) {
  double J[M * N];
  fill_jacobian(theta, J);
  for (size_t i = 0; i < M; i++) {
    product[i] = 0;
    for (size_t j = 0; j < N; j++) product[i] += J[i * N + j] * direction[j];
  }
  return call(data, "jacobian_times");
}

static RpinnStatus transposed_times(void *data, const double *theta, const double *weights, double *product) {
  double J[M * N];
  fill_jacobian(theta, J);
  for (size_t j = 0; j < N; j++) {
    product[j] = 0;
    for (size_t i = 0; i < M; i++) product[j] += J[i * N + j] * weights[i];
  }
  return call(data, "transposed_times");
}

static RpinnStatus gram(void *data, const double *theta, const double *scale, double *rows, double *G) {
  double J[M * N];
  fill_jacobian(theta, J);
  for (size_t i = 0; i < M; i++) {
    rows[i] = theta[i] * theta[i] - 1 + theta[i + M];
    for (size_t k = 0; k < M; k++) {
      G[i * M + k] = 0;
      for (size_t j = 0; j < N; j++) G[i * M + k] += J[i * N + j] * (scale ? scale[j] : 1) * J[k * N + j];
    }
  }
  return call(data, "gram");
}

static const double start[N] = {0.5, 0.7, -0.4, 0.2}, prior_root[N] = {1, 1, 1, 1};

static RpinnObjective objective_of(Fragile *fragile) {
  return (RpinnObjective){.num_parameters = N, .data = fragile, .evaluate = evaluate};
}

static RpinnLogDensity density_of(Fragile *fragile) {
  return (RpinnLogDensity){.num_parameters = N, .data = fragile, .evaluate = evaluate_density};
}

static RpinnLeastSquares squares_of(Fragile *fragile) {
  return (RpinnLeastSquares){.num_parameters = N,
                             .num_rows = M,
                             .prior_root = prior_root,
                             .data = fragile,
                             .residuals = residuals,
                             .jacobian = jacobian};
}

static RpinnContext *context;

static void check_failure(RpinnStatus status, RpinnStatus expected, const char *message) {
  assert_int_equal(status, expected);
  assert_int_equal(rpinn_context_error(context)->status, expected);
  assert_string_equal(rpinn_context_error(context)->message, message);
}

/* Something that failed before, and has nothing to do with what comes. */
static void fail_with_something_else(void) {
  RpinnProblem *problem;
  assert_int_equal(rpinn_problem_load(context, "no-such-problem", NULL, &problem), RPINN_ERROR_INPUT);
}

static const char missing_evaluate[] =
    "the target has no function 'evaluate'; expected one, for it is required";

static void missing_functions_are_refused(void **state) {
  (void)state;
  Fragile fragile = {.broken = NULL};
  RpinnOptimizer *optimizer;
  RpinnNuts *nuts;
  RpinnSvgd *svgd;
  RpinnObjective objective = objective_of(&fragile);
  RpinnLeastSquares squares = squares_of(&fragile);
  RpinnAdamOptions adam = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions marquardt = rpinn_levenberg_marquardt_default_options();
  RpinnNutsOptions nuts_options = rpinn_nuts_default_options();
  RpinnSvgdOptions svgd_options = rpinn_svgd_default_options();
  svgd_options.num_particles = 3;
  objective.evaluate = NULL;
  RpinnLogDensity densities[] = {density_of(&fragile), rpinn_log_density_of_objective(&objective)};
  check_failure(rpinn_adam_create(context, &objective, &adam, &optimizer), RPINN_ERROR_INPUT,
                missing_evaluate);
  assert_null(optimizer);
  check_failure(rpinn_lbfgs_create(context, &objective, &lbfgs, &optimizer), RPINN_ERROR_INPUT,
                missing_evaluate);
  check_failure(rpinn_nuts_create(context, &densities[1], &nuts_options, &nuts), RPINN_ERROR_INPUT,
                missing_evaluate);
  assert_null(nuts);
  check_failure(rpinn_svgd_create(context, 2, densities, &svgd_options, &svgd), RPINN_ERROR_INPUT,
                missing_evaluate);
  assert_null(svgd);
  squares.residuals = NULL;
  check_failure(rpinn_levenberg_marquardt_create(context, &squares, NULL, &marquardt, &optimizer),
                RPINN_ERROR_INPUT,
                "the target has no function 'residuals'; expected one, for it is required");
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&squares, NULL);
  RpinnObjective of_energy = rpinn_energy_objective(energy);
  double value, product[N];
  assert_int_equal(of_energy.evaluate(of_energy.data, start, &value, NULL), RPINN_ERROR_INPUT);
  rpinn_energy_objective_destroy(energy);
  squares = squares_of(&fragile);
  squares.jacobian = NULL;
  check_failure(rpinn_levenberg_marquardt_create(context, &squares, NULL, &marquardt, &optimizer),
                RPINN_ERROR_INPUT, "the target has no function 'jacobian'; expected one, for it is required");
  assert_int_equal(rpinn_least_squares_jacobian_times(&squares, start, start, product), RPINN_ERROR_INPUT);
}

/* An optimiser is gone through until the function fails, at the start or later. */
static void check_optimizer(RpinnOptimizer *optimizer, const char *function) {
  char expected[160];
  fail_with_something_else();
  RpinnStatus status = rpinn_optimizer_start(context, optimizer, start);
  if (status == RPINN_OK) {
    fail_with_something_else();
    status = rpinn_optimizer_advance(context, optimizer, 100);
  }
  snprintf(expected, sizeof expected,
           "the target's function '%s' failed: a result is not finite where it must be", function);
  check_failure(status, RPINN_ERROR_NUMERIC, expected);
  check_failure(rpinn_optimizer_advance(context, optimizer, 1), RPINN_ERROR_INPUT,
                "the optimiser was not started, or has failed before");
  rpinn_optimizer_destroy(optimizer);
}

static void optimisers_name_what_failed(void **state) {
  (void)state;
  static const char *const of_squares[] = {"residuals", "jacobian", "transposed_times", "gram",
                                           "jacobian_times"};
  for (int calls = 0; calls < 3; calls++) {
    Fragile fragile = {.broken = "evaluate", .calls_left = calls};
    RpinnObjective objective = objective_of(&fragile);
    RpinnOptimizer *optimizer;
    RpinnAdamOptions adam = rpinn_adam_default_options();
    RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
    RpinnLevenbergMarquardtOptions marquardt = rpinn_levenberg_marquardt_default_options();
    assert_int_equal(rpinn_adam_create(context, &objective, &adam, &optimizer), RPINN_OK);
    check_optimizer(optimizer, "evaluate");
    fragile.calls_left = calls > 1 ? 1 : calls; /* a quadratic needs few */
    assert_int_equal(rpinn_lbfgs_create(context, &objective, &lbfgs, &optimizer), RPINN_OK);
    check_optimizer(optimizer, "evaluate");
    fragile = (Fragile){.broken = "adam_advance"};
    objective.adam_advance = adam_advance;
    assert_int_equal(rpinn_adam_create(context, &objective, &adam, &optimizer), RPINN_OK);
    check_optimizer(optimizer, "adam_advance");
    for (size_t k = 0; k < 5; k++) {
      RpinnLeastSquares squares = squares_of(&fragile);
      fragile = (Fragile){.broken = of_squares[k], .calls_left = calls ? 1 : 0};
      if (k >= 2) {
        squares.jacobian_times = jacobian_times;
        squares.transposed_times = transposed_times;
        squares.gram = gram;
      }
      assert_int_equal(rpinn_levenberg_marquardt_create(context, &squares, NULL, &marquardt, &optimizer),
                       RPINN_OK);
      check_optimizer(optimizer, of_squares[k]);
    }
  }
}

static void samplers_name_what_failed(void **state) {
  (void)state;
  static const char failed[] =
      "the target's function 'evaluate' failed: a result is not finite where it must be";
  Fragile fragile = {.broken = "evaluate"};
  RpinnLogDensity density = density_of(&fragile);
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  options.num_warmup = options.num_draws = 5;
  assert_int_equal(rpinn_nuts_create(context, &density, &options, &nuts), RPINN_OK);
  fail_with_something_else();
  check_failure(rpinn_nuts_start(context, nuts, 1, 0, start), RPINN_ERROR_NUMERIC, failed);
  fragile.calls_left = 3;
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, start), RPINN_OK);
  fail_with_something_else();
  check_failure(rpinn_nuts_advance(context, nuts, &draw), RPINN_ERROR_NUMERIC, failed);
  rpinn_nuts_destroy(nuts);
  RpinnDraws *draws;
  fragile.calls_left = 30;
  fail_with_something_else();
  check_failure(rpinn_nuts_sample(context, &density, &options, 1, 2, NULL, &draws), RPINN_ERROR_NUMERIC,
                failed);
  assert_null(draws);
}

static RpinnStatus out_of_memory(void *data, const double *theta, double *log_density, double *gradient) {
  (void)data;
  (void)theta;
  (void)log_density;
  (void)gradient;
  return RPINN_ERROR_MEMORY;
}

static void particles_name_what_failed(void **state) {
  (void)state;
  RpinnLogDensity density = {.num_parameters = N, .evaluate = out_of_memory};
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  RpinnSvgd *svgd;
  options.num_particles = 1;
  assert_int_equal(rpinn_svgd_create(context, 1, &density, &options, &svgd), RPINN_OK);
  assert_int_equal(rpinn_svgd_start(context, svgd, start), RPINN_OK);
  check_failure(rpinn_svgd_advance(context, svgd, 1), RPINN_ERROR_MEMORY,
                "the target's function 'evaluate' failed at particle 0 after 0 iterations: out of memory");
  rpinn_svgd_destroy(svgd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_functions_are_refused), cmocka_unit_test(optimisers_name_what_failed),
      cmocka_unit_test(samplers_name_what_failed), cmocka_unit_test(particles_name_what_failed)};
  context = rpinn_context_create();
  int code = cmocka_run_group_tests(tests, NULL, NULL);
  rpinn_context_destroy(context);
  return code;
}
