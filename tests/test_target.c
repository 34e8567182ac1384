/* The abstract targets, on a least-squares problem with a known answer. */
#include "check.h"

#include "rpinn/target.h"

/* r = (a b - 2, a + 3 b), J = [[b, a], [1, 3]] */
static RpinnStatus residuals(void *data, const double *theta, double *rows) {
  (void)data;
  rows[0] = theta[0] * theta[1] - 2;
  rows[1] = theta[0] + 3 * theta[1];
  return RPINN_OK;
}

static RpinnStatus jacobian(void *data, const double *theta, double *rows, double *J) {
  residuals(data, theta, rows);
  J[0] = theta[1];
  J[1] = theta[0];
  J[2] = 1;
  J[3] = 3;
  return RPINN_OK;
}

static void energy_of_least_squares(void **state) {
  (void)state;
  double root[] = {2, 0}, mean[] = {0.5, 9}, theta[] = {1.5, -0.5};
  RpinnLeastSquares problem = {.num_parameters = 2,
                               .num_rows = 2,
                               .prior_root = root,
                               .prior_mean = mean,
                               .residuals = residuals,
                               .jacobian = jacobian};
  double offsets[] = {0.1, -0.2, 0.3, 100};
  double r0 = 1.5 * -0.5 - 2 - 0.1, r1 = 1.5 - 1.5 + 0.2, p0 = 2 * (1.5 - 0.5) - 0.3;
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, offsets);
  RpinnObjective objective = rpinn_energy_objective(energy);
  double value, gradient[2];
  assert_int_equal(objective.evaluate(objective.data, theta, &value, gradient), RPINN_OK);
  check_relative(value, 0.5 * (r0 * r0 + r1 * r1 + p0 * p0), 1e-14);
  check_relative(gradient[0], -0.5 * r0 + r1 + 2 * p0, 1e-14);
  check_relative(gradient[1], 1.5 * r0 + 3 * r1,
                 1e-14); /* root 0: no prior row, its offset counts for nothing */
  RpinnLogDensity density = rpinn_log_density_of_objective(&objective);
  double log_density;
  density.evaluate(density.data, theta, &log_density, NULL);
  assert_true(log_density == -value);
  rpinn_energy_objective_destroy(energy);
}

static void composed_products(void **state) {
  (void)state;
  RpinnLeastSquares problem = {
      .num_parameters = 2, .num_rows = 2, .residuals = residuals, .jacobian = jacobian};
  double theta[] = {1.5, -0.5}, v[] = {2, 5}, product[2], rows[2], gram[4], scale[] = {3, 7};
  rpinn_least_squares_jacobian_times(&problem, theta, v, product);
  check_relative(product[0], -0.5 * 2 + 1.5 * 5, 1e-15);
  check_relative(product[1], 2 + 15, 1e-15);
  rpinn_least_squares_transposed_times(&problem, theta, v, product);
  check_relative(product[0], -0.5 * 2 + 5, 1e-15);
  check_relative(product[1], 1.5 * 2 + 15, 1e-15);
  rpinn_least_squares_gram(&problem, theta, scale, rows, gram);
  check_relative(gram[0], 3 * 0.25 + 7 * 2.25, 1e-15);
  check_relative(gram[1], 3 * -0.5 + 7 * 4.5, 1e-15);
  check_close(gram[2], gram[1], 0);
  check_relative(gram[3], 3 + 63, 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(energy_of_least_squares),
                                     cmocka_unit_test(composed_products)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
