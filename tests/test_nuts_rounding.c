/* Chains on a target that computes in float, where its rounding is as large as what a leapfrog may lose. */
#include <float.h>

#include "check.h"

#include "rpinn/nuts.h"

enum { N = 10, ROWS = 2000, WARMUP = 300, DRAWS = 200 };

/* E = 1/2 sum_i r_i^2 in float, r_i = x_j +- misfit with j = i mod N and either sign as often: whatever x is, the misfit adds
 * ROWS misfit^2 / 2, and x is N(0, N/ROWS). */
static RpinnStatus float_rows(void *data, const double *x, double *log_density, double *gradient) {
  const float *misfit = data;
  float sum = 0, parts[N] = {0}, slopes[N] = {0};
  for (size_t i = 0; i < ROWS; i++) {
    float row = (float)x[i % N] + (i / N % 2 ? *misfit : -*misfit);
    parts[i % N] += 0.5f * row * row;
    slopes[i % N] += row;
  }
  for (size_t j = 0; j < N; j++) sum += parts[j];
  *log_density = (double)-sum;
  for (size_t j = 0; gradient && j < N; j++) gradient[j] = (double)-slopes[j];
  return RPINN_OK;
}

typedef struct Outcome {
  double energy, step; /* at the end */
  double deviation;    /* of all draws and parameters */
  double last[N];
} Outcome;

/* A chain of a target that states this epsilon. */
static Outcome sample(float misfit, double epsilon, double first_step) {
  RpinnLogDensity target = {.num_parameters = N, .data = &misfit, .evaluate = float_rows, .epsilon = epsilon};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnContext *context = rpinn_context_create();
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  double squares = 0;
  options.num_warmup = WARMUP;
  options.num_draws = DRAWS;
  options.metric = RPINN_METRIC_UNIT;
  options.first_step = first_step;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, (const double[N]){0.1, -0.1}), RPINN_OK);
  while (!rpinn_nuts_finished(nuts)) {
    assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    for (size_t j = 0; draw.is_kept && j < N; j++) squares += draw.parameters[j] * draw.parameters[j];
  }
  Outcome outcome = {-draw.log_density, draw.step_size, sqrt(squares / (N * DRAWS)), {0}};
  memcpy(outcome.last, draw.parameters, sizeof outcome.last);
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
  return outcome;
}

/* E = 1.3e6, where the rounding of float is 0.15. Taken for an error of the step it makes steps ever smaller; the chain whose target
 * says that it computes in float keeps a step of the size of the deviations, and has their law. */
static void step_at_large_energies(void **state) {
  (void)state;
  const double deviation = sqrt((double)N / ROWS);
  Outcome unaware = sample(36, 0, 0), aware = sample(36, (double)FLT_EPSILON, 0);
  check_relative(aware.energy, 1.3e6, 0.01);
  check_true(unaware.step < 1e-3 * deviation, "as of a target in double: step %g", unaware.step);
  check_true(aware.step > 0.3 * deviation && aware.step < 3 * deviation, "step %g", aware.step);
  check_relative(aware.deviation, deviation, 0.1);
}

/* A step that was given is not made smaller without end, either. */
static void given_step_at_large_energies(void **state) {
  (void)state;
  Outcome unaware = sample(36, 0, 0.1), aware = sample(36, (double)FLT_EPSILON, 0.1);
  check_true(unaware.step < 0.1 / 64 && aware.step > 0.1 / 64, "steps %g and %g", unaware.step, aware.step);
}

/* E = 9000, where it is 0.001: not a bit differs. */
static void moderate_energies(void **state) {
  (void)state;
  Outcome unaware = sample(3, 0, 0), aware = sample(3, (double)FLT_EPSILON, 0);
  assert_true(aware.step == unaware.step && aware.energy == unaware.energy);
  assert_memory_equal(aware.last, unaware.last, sizeof aware.last);
}

/* The epsilon of a target goes with it through all that wrap it. */
static void epsilon_of_wrapped_targets(void **state) {
  (void)state;
  RpinnObjective objective = {.num_parameters = N, .epsilon = 0.25};
  RpinnLogDensity density = rpinn_log_density_of_objective(&objective);
  RpinnBatchObjective batch = rpinn_objective_as_batch(&objective);
  assert_true(density.epsilon == 0.25);
  assert_true(rpinn_log_density_as_batch(&density).epsilon == 0.25);
  assert_true(rpinn_log_density_of_batch(&batch).epsilon == 0.25);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(step_at_large_energies), cmocka_unit_test(given_step_at_large_energies),
      cmocka_unit_test(moderate_energies), cmocka_unit_test(epsilon_of_wrapped_targets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
