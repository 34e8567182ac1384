/* Levenberg–Marquardt: known minima in each of its forms (normal equations, data space, conjugate gradients; with a prior,
 * with half of one, without), and steps that cannot be taken. */
#include "optimizer_bench.h"
#include "optimizer_targets.h"

/* ---- known minima ---- */

/* N = 2 has as many rows as parameters: data space; N = 20 has more: normal equations. */
static void rosenbrock_by_levenberg_marquardt(void **state) {
  (void)state;
  for (size_t N = 2; N <= 20; N += 18) {
    Chain chain = {.num_parameters = N};
    RpinnLeastSquares problem = chain_least_squares(&chain);
    RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
    options.stop.gradient_tolerance = 1e-10;
    RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
    double x[20];
    chain_start(N, x);
    RpinnOptimum optimum = run(optimizer, x);
    say(N == 2 ? "Rosenbrock 2-D, LM" : "Rosenbrock 20-D, LM", distance_to_ones(N, optimum.theta), &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_true(distance_to_ones(N, optimum.theta) < 1e-9, "%zu parameters", N);
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    for (size_t i = 1; i < optimum.num_trace; i++)
      assert_true(optimum.trace[i].loss <= optimum.trace[i - 1].loss);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* Along its valley: the same minimum in fewer linearisations. */
static void momentum_follows_a_valley(void **state) {
  (void)state;
  size_t iterations[2];
  for (int momentum = 0; momentum < 2; momentum++) {
    Chain chain = {.num_parameters = 20};
    RpinnLeastSquares problem = chain_least_squares(&chain);
    RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
    options.stop.gradient_tolerance = 1e-10;
    options.momentum = momentum;
    options.initial_damping = 1;
    RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
    double x[20];
    chain_start(20, x);
    RpinnOptimum optimum = run(optimizer, x);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_true(distance_to_ones(20, optimum.theta) < 1e-9, "momentum %d", momentum);
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    iterations[momentum] = optimum.num_iterations;
    rpinn_optimizer_destroy(optimizer);
  }
  check_true(iterations[1] < iterations[0], "%zu iterations with momentum, %zu without", iterations[1],
             iterations[0]);
}

/* One parameter x, one row or the same two times: x + c x^2 - 1. From 0, and next to no damping, d = 1, w = c and a = -c. */
typedef struct Parabola {
  double bend; /* c */
  size_t num_rows;
} Parabola;

static RpinnStatus parabola_residuals(void *data, const double *x, double *rows) {
  const Parabola *parabola = data;
  for (size_t i = 0; i < parabola->num_rows; i++) rows[i] = *x + parabola->bend * *x * *x - 1;
  return RPINN_OK;
}

static RpinnStatus parabola_jacobian(void *data, const double *x, double *rows, double *J) {
  const Parabola *parabola = data;
  for (size_t i = 0; i < parabola->num_rows; i++) J[i] = 1 + 2 * parabola->bend * *x;
  return parabola_residuals(data, x, rows);
}

static double after_one_iteration(double bend, size_t num_rows, bool acceleration) {
  Parabola parabola = {bend, num_rows};
  RpinnLeastSquares problem = {.num_parameters = 1,
                               .num_rows = num_rows,
                               .data = &parabola,
                               .residuals = parabola_residuals,
                               .jacobian = parabola_jacobian};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 1};
  options.initial_damping = 1e-12;
  options.acceleration = acceleration;
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  double start = 0;
  RpinnOptimum optimum = run(optimizer, &start);
  double x = optimum.theta[0];
  check_true(optimum.num_evaluations == (acceleration && fabs(bend) < 0.3 ? 3 : 2), "%zu evaluations",
             optimum.num_evaluations);
  rpinn_optimizer_destroy(optimizer);
  return x;
}

static void acceleration_bends_a_step(void **state) {
  (void)state;
  for (size_t num_rows = 1; num_rows <= 2; num_rows++) { /* data space; normal equations */
    check_relative(after_one_iteration(0.2, num_rows, false), 1, 1e-9);
    check_relative(after_one_iteration(0.2, num_rows, true), 0.8, 1e-9);
    check_relative(after_one_iteration(-0.2, num_rows, true), 1.2, 1e-9);
    check_relative(after_one_iteration(0.5, num_rows, false), 1, 1e-9); /* E falls from 1/2 to 1/8 … */
    assert_true(after_one_iteration(0.5, num_rows, true) == 0);         /* … but 2 |a| = |d| */
  }
}

/* As least squares the condition is the square root: a few steps do. */
static void quadratics_by_levenberg_marquardt(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    Quadratic quadratic = quadratics[i];
    RpinnLeastSquares problem = {.num_parameters = quadratic.num_parameters,
                                 .num_rows = quadratic.num_parameters,
                                 .data = &quadratic,
                                 .residuals = quadratic_residuals,
                                 .jacobian = quadratic_jacobian};
    RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
    options.stop = (RpinnStopRule){.max_iterations = 200, .gradient_tolerance = 1e-8};
    RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
    double x[MOST_PARAMETERS] = {0};
    RpinnOptimum optimum = run(optimizer, x);
    say(i == 0 ? "quadratic 1e6 in 50-D, LM" : "quadratic 1e8 in 10-D, LM",
        quadratic_error(&quadratic, optimum.theta), &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    assert_true(quadratic_error(&quadratic, optimum.theta) < 2e-8);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- linear rows, with a prior and without ---- */

static void linear_by_levenberg_marquardt(void **state) {
  (void)state;
  static Linear linear;
  double expected[COLUMNS], start[COLUMNS] = {0};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 100};
  for (int prior = PRIOR_ON_ALL; prior <= PRIOR_ON_SOME; prior++) {
    linear_fill(&linear, prior);
    linear_closed_form(&linear, expected);
    for (int products = 0; products < 3; products++) { /* dense, gram, conjugate gradients */
      RpinnLeastSquares problem = linear_least_squares(&linear, products > 0);
      options.max_dense_rows = products == 2 ? ROWS - 1 : ROWS;
      assert_int_equal(rpinn_levenberg_marquardt_is_matrix_free(&problem, &options), products == 2);
      RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, linear.offsets, &options);
      RpinnOptimum optimum = run(optimizer, start);
      double error = farthest(COLUMNS, optimum.theta, expected);
      say(prior == PRIOR_ON_ALL ? "linear, prior on all, LM" : "linear, prior on some, LM", error, &optimum);
      /* Where there is no prior, errors like these change the loss by less than its rounding. */
      double bound = prior == PRIOR_ON_SOME ? 2e-7 : products == 2 ? 1e-8 : 1e-9;
      check_true(error < bound, "prior %d, products %d: error %g", prior, products, error);
      rpinn_optimizer_destroy(optimizer);
    }
  }
}

/* Where the model promises less than 0.01 nats three times, a member is done; without a prior on all, a window must tell. */
static void stops_where_nothing_is_promised(void **state) {
  (void)state;
  static Linear linear;
  double expected[COLUMNS], start[COLUMNS] = {0};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 100, .progress_window = 20, .progress_amount = 0.1};
  options.initial_damping = 10;
  for (int prior = PRIOR_ON_ALL; prior <= PRIOR_ON_SOME; prior++) {
    linear_fill(&linear, prior);
    linear_closed_form(&linear, expected);
    for (int products = 0; products < 3; products++) {
      RpinnLeastSquares problem = linear_least_squares(&linear, products > 0);
      options.max_dense_rows = products == 2 ? ROWS - 1 : ROWS;
      RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, linear.offsets, &options);
      RpinnOptimum optimum = run(optimizer, start);
      RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, linear.offsets);
      RpinnObjective objective = rpinn_energy_objective(energy);
      double least;
      assert_int_equal(objective.evaluate(objective.data, expected, &least, NULL), RPINN_OK);
      say("linear, stop by promise, LM", optimum.loss - least, &optimum);
      check_true(optimum.loss - least <= 0.01, "%g nats are left", optimum.loss - least);
      check_stop(&optimum, prior == PRIOR_ON_ALL ? RPINN_STOP_DECREASE_SMALL : RPINN_STOP_NO_PROGRESS);
      check_true((optimum.num_iterations < 15) == (prior == PRIOR_ON_ALL), "%zu iterations",
                 optimum.num_iterations);
      rpinn_energy_objective_destroy(energy);
      rpinn_optimizer_destroy(optimizer);
    }
  }
}

/* Rows s_i theta_i - 1000 / s_i, s_i^2 from 1e9 to 1e11, of all parameters but the last, of which the prior alone knows. The slope is steep along
 * the rows, with next to nothing to gain there, so that for some iterations conjugate gradients do not see the last parameter. */
enum { STEEP = 29 };

static double steep_scale(size_t i) {
  return sqrt(1e9 * pow(100, (double)i / (STEEP - 1)));
}

static RpinnStatus steep_times(void *data, const double *theta, const double *direction, double *product) {
  (void)data, (void)theta;
  for (size_t i = 0; i < STEEP; i++) product[i] = steep_scale(i) * direction[i];
  return RPINN_OK;
}

static RpinnStatus steep_transposed_times(void *data, const double *theta, const double *weights,
                                          double *product) {
  (void)data, (void)theta;
  for (size_t i = 0; i < STEEP; i++) product[i] = steep_scale(i) * weights[i];
  product[STEEP] = 0;
  return RPINN_OK;
}

static RpinnStatus steep_residuals(void *data, const double *theta, double *rows) {
  steep_times(data, theta, theta, rows);
  for (size_t i = 0; i < STEEP; i++) rows[i] -= 1000 / steep_scale(i);
  return RPINN_OK;
}

static RpinnStatus steep_jacobian(void *data, const double *theta, double *rows, double *J) {
  for (size_t i = 0; i < STEEP; i++)
    for (size_t j = 0; j <= STEEP; j++) J[i * (STEEP + 1) + j] = i == j ? steep_scale(i) : 0;
  return steep_residuals(data, theta, rows);
}

static void promises_count_what_gradients_leave_over(void **state) {
  (void)state;
  double root[STEEP + 1], mean[STEEP + 1] = {0}, start[STEEP + 1] = {0};
  for (size_t j = 0; j <= STEEP; j++) root[j] = 1;
  mean[STEEP] = 0.5; /* 1/8 of a nat away */
  RpinnLeastSquares problem = {.num_parameters = STEEP + 1,
                               .num_rows = STEEP,
                               .prior_root = root,
                               .prior_mean = mean,
                               .residuals = steep_residuals,
                               .jacobian = steep_jacobian,
                               .jacobian_times = steep_times,
                               .transposed_times = steep_transposed_times};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 100, .progress_window = 20, .progress_amount = 0.1};
  options.initial_damping = 1e-15;
  options.max_dense_rows = 1;
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  RpinnOptimum optimum = run(optimizer, start);
  say("steep rows, stop by promise, LM", optimum.loss, &optimum);
  check_stop(&optimum, RPINN_STOP_DECREASE_SMALL);
  check_true(optimum.loss <= 0.01, "%g nats are left", optimum.loss);
  rpinn_optimizer_destroy(optimizer);
}

/* Without a prior the solution is not unique; the rows can all be met. */
static void linear_without_prior(void **state) {
  (void)state;
  static Linear linear;
  double start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_NONE);
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop.gradient_tolerance = 1e-9;
  for (int form = 0; form < 2; form++) { /* roots that are zero, and no roots at all */
    RpinnLeastSquares problem = linear_least_squares(&linear, false);
    if (form == 1) problem.prior_root = NULL;
    RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, linear.offsets, &options);
    RpinnOptimum optimum = run(optimizer, start);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    assert_true(optimum.loss < 1e-20);
    rpinn_optimizer_destroy(optimizer);
  }
}

static RpinnStatus no_rows(void *data, const double *theta, double *rows) {
  (void)data, (void)theta, (void)rows;
  return RPINN_OK;
}

static RpinnStatus no_jacobian(void *data, const double *theta, double *rows, double *J) {
  (void)data, (void)theta, (void)rows, (void)J;
  return RPINN_OK;
}

/* With no rows at all the prior and its offsets decide: theta = mu + xi / P. */
static void prior_alone(void **state) {
  (void)state;
  static Linear linear;
  double start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_ALL);
  RpinnLeastSquares problem = linear_least_squares(&linear, false);
  problem.num_rows = 0;
  problem.residuals = no_rows;
  problem.jacobian = no_jacobian;
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop.gradient_tolerance = 1e-12;
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, linear.offsets + ROWS, &options);
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
  for (size_t j = 0; j < COLUMNS; j++)
    check_relative(optimum.theta[j], linear.mean[j] + linear.offsets[ROWS + j] / linear.root[j], 1e-12);
  rpinn_optimizer_destroy(optimizer);
}

/* ---- the same with rows tanh((A theta)_i) - y_i: nonlinear, in data space ---- */

static RpinnStatus bent_residuals(void *data, const double *theta, double *rows) {
  const Linear *linear = data;
  linear_times(data, theta, theta, rows);
  for (size_t i = 0; i < ROWS; i++) rows[i] = tanh(rows[i]) - linear->y[i];
  return RPINN_OK;
}

static RpinnStatus bent_jacobian(void *data, const double *theta, double *rows, double *J) {
  const Linear *linear = data;
  bent_residuals(data, theta, rows);
  for (size_t i = 0; i < ROWS; i++) {
    double a = rows[i] + linear->y[i];
    for (size_t j = 0; j < COLUMNS; j++) J[i * COLUMNS + j] = (1 - a * a) * linear->A[i][j];
  }
  return RPINN_OK;
}

/* The gradient of the energy, computed by src/target, vanishes where Levenberg–Marquardt says that it does.
 */
static void nonlinear_in_data_space(void **state) {
  (void)state;
  static Linear linear;
  for (int prior = PRIOR_ON_ALL; prior <= PRIOR_ON_NONE; prior++) {
    linear_fill(&linear, prior);
    for (size_t i = 0; i < ROWS; i++) { /* within reach of tanh */
      linear.y[i] *= 0.2;
      linear.offsets[i] *= 0.2;
    }
    RpinnLeastSquares problem = linear_least_squares(&linear, false);
    problem.residuals = bent_residuals;
    problem.jacobian = bent_jacobian;
    const double *offsets = prior == PRIOR_ON_NONE ? NULL : linear.offsets;
    RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
    options.stop.gradient_tolerance =
        1e-5; /* with a prior on some, rounding of the loss hides 1e-6 on some machines */
    RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, offsets, &options);
    double start[COLUMNS] = {0.01}, value, gradient[COLUMNS], norm = 0;
    RpinnOptimum optimum = run(optimizer, start);
    RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, offsets);
    RpinnObjective objective = rpinn_energy_objective(energy);
    assert_int_equal(objective.evaluate(objective.data, optimum.theta, &value, gradient), RPINN_OK);
    for (size_t j = 0; j < COLUMNS; j++) norm += gradient[j] * gradient[j];
    say("tanh rows, LM", sqrt(norm), &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_relative(optimum.loss, value, 1e-13);
    assert_true(sqrt(norm) < 1.1e-5);
    rpinn_energy_objective_destroy(energy);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- steps that cannot be taken ---- */

static void levenberg_marquardt_steps_back(void **state) {
  (void)state;
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop.gradient_tolerance = 1e-12;
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&log_problem, NULL, &options);
  double start = 100;
  RpinnOptimum optimum = run(optimizer, &start);
  check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
  check_relative(optimum.theta[0], 1, 1e-11);
  rpinn_optimizer_destroy(optimizer);
}

/* Two equal columns make J^T J singular, here exactly; with next to no damping its factorisation fails. */
static RpinnStatus twin_residuals(void *data, const double *x, double *rows) {
  (void)data;
  for (size_t i = 0; i < 4; i++) rows[i] = x[0] + x[1] - (double)i;
  return RPINN_OK;
}

static RpinnStatus twin_jacobian(void *data, const double *x, double *rows, double *J) {
  for (size_t i = 0; i < 8; i++) J[i] = 1;
  return twin_residuals(data, x, rows);
}

static void levenberg_marquardt_survives_a_failed_factorisation(void **state) {
  (void)state;
  RpinnLeastSquares problem = {
      .num_parameters = 2, .num_rows = 4, .residuals = twin_residuals, .jacobian = twin_jacobian};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.initial_damping = 1e-16;
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  double start[] = {5, -2};
  RpinnOptimum optimum = run(optimizer, start);
  assert_true(optimum.num_evaluations < optimum.num_iterations + 1); /* some had no step to try */
  check_relative(optimum.theta[0] + optimum.theta[1], 1.5, 1e-7);
  rpinn_optimizer_destroy(optimizer);
}

/* Nothing ends it but what the model promises. */
static RpinnLevenbergMarquardtOptions stop_by_promise(void) {
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop.gradient_tolerance = 0;
  options.stop.progress_tolerance = 0;
  options.stop.progress_amount = 0.1;
  return options;
}

/* r = (1e10, 10 (x - 3)) under a prior: rounding of the loss hides that a step would gain 45 nats, where 0.1 count. */
static RpinnStatus hidden_residuals(void *data, const double *x, double *rows) {
  rows[0] = *(const double *)data;
  rows[1] = 10 * (x[0] - 3);
  return RPINN_OK;
}

static RpinnStatus hidden_jacobian(void *data, const double *x, double *rows, double *J) {
  for (size_t k = 0; k < 4; k++) J[k] = 0;
  J[2] = 10; /* the second row by the first parameter */
  return hidden_residuals(data, x, rows);
}

static void a_loss_that_hides_much_has_not_converged(void **state) {
  (void)state;
  static const double root[] = {1, 1};
  static const RpinnStop stops[] = {RPINN_STOP_DECREASE_SMALL, RPINN_STOP_DAMPING_LIMIT};
  for (size_t k = 0; k < 2; k++) {
    double constant = k == 0 ? 1 : 1e10, start[] = {2, 0};
    RpinnLeastSquares problem = {.num_parameters = 2,
                                 .num_rows = 2,
                                 .data = &constant,
                                 .prior_root = root,
                                 .residuals = hidden_residuals,
                                 .jacobian = hidden_jacobian};
    RpinnLevenbergMarquardtOptions options = stop_by_promise();
    RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
    RpinnOptimum optimum = run(optimizer, start);
    check_stop(&optimum, stops[k]);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* A cliff of slope 1e30 and, at its foot, 1000 (x - 1/2): what was little damping on the cliff holds everything still there. */
static RpinnStatus cliff_residuals(void *data, const double *x, double *rows) {
  (void)data;
  rows[0] = x[0] > 1.5 ? 1e30 * (x[0] - 1.4) : 1e3 * (x[0] - 0.5);
  return RPINN_OK;
}

static RpinnStatus cliff_jacobian(void *data, const double *x, double *rows, double *J) {
  J[0] = x[0] > 1.5 ? 1e30 : 1e3;
  J[1] = 0;
  return cliff_residuals(data, x, rows);
}

static void damping_of_a_steep_start_is_left_behind(void **state) {
  (void)state;
  static const double root[] = {1, 1};
  double start[] = {2, 0};
  RpinnLeastSquares problem = {.num_parameters = 2,
                               .num_rows = 1,
                               .prior_root = root,
                               .residuals = cliff_residuals,
                               .jacobian = cliff_jacobian};
  RpinnLevenbergMarquardtOptions options = stop_by_promise();
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  RpinnOptimum optimum = run(optimizer, start);
  say("cliff, LM", fabs(optimum.theta[0] - 0.5e6 / (1e6 + 1)), &optimum);
  check_stop(&optimum, RPINN_STOP_DECREASE_SMALL);
  check_close(optimum.theta[0], 0.5e6 / (1e6 + 1), 1e-6);
  assert_true(optimum.num_iterations < 60);
  rpinn_optimizer_destroy(optimizer);
}

/* Finite at x = 2 only. */
static RpinnStatus island_residuals(void *data, const double *x, double *rows) {
  (void)data;
  rows[0] = x[0] == 2 ? 1 : (double)NAN;
  return RPINN_OK;
}

static RpinnStatus island_jacobian(void *data, const double *x, double *rows, double *J) {
  J[0] = 1;
  return island_residuals(data, x, rows);
}

static void levenberg_marquardt_stops_at_its_damping_limit(void **state) {
  (void)state;
  RpinnLeastSquares problem = {
      .num_parameters = 1, .num_rows = 1, .residuals = island_residuals, .jacobian = island_jacobian};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  double start = 2;
  RpinnOptimum optimum = run(optimizer, &start);
  check_stop(&optimum, RPINN_STOP_DAMPING_LIMIT);
  assert_true(optimum.theta[0] == 2 && optimum.loss == 0.5);
  rpinn_optimizer_destroy(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rosenbrock_by_levenberg_marquardt),
                                     cmocka_unit_test(momentum_follows_a_valley),
                                     cmocka_unit_test(a_loss_that_hides_much_has_not_converged),
                                     cmocka_unit_test(damping_of_a_steep_start_is_left_behind),
                                     cmocka_unit_test(acceleration_bends_a_step),
                                     cmocka_unit_test(quadratics_by_levenberg_marquardt),
                                     cmocka_unit_test(linear_by_levenberg_marquardt),
                                     cmocka_unit_test(stops_where_nothing_is_promised),
                                     cmocka_unit_test(promises_count_what_gradients_leave_over),
                                     cmocka_unit_test(linear_without_prior),
                                     cmocka_unit_test(prior_alone),
                                     cmocka_unit_test(nonlinear_in_data_space),
                                     cmocka_unit_test(levenberg_marquardt_steps_back),
                                     cmocka_unit_test(levenberg_marquardt_survives_a_failed_factorisation),
                                     cmocka_unit_test(levenberg_marquardt_stops_at_its_damping_limit)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
