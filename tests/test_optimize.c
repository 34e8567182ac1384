/* The optimisers on problems with known answers, their stops, their saved states, and their manners: no
 * allocation while they advance, no way up, no fear of regions where the loss is not finite. */
#include <float.h>

#include "check.h"

#include "random_stream.h"
#include "rpinn/optimize.h"
#include "saved_state.h"

/* ---- allocations, counted through the linker's --wrap ---- */

static size_t num_allocations, fails_at; /* the allocation of this number finds no memory; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_aligned_alloc(alignment, size);
}

/* ---- Rosenbrock's chain: f = sum_k 100 (x_{k+1} - x_k^2)^2 + (1 - x_k)^2, minimum 0 at (1, …, 1) ---- */

enum { MOST_PARAMETERS = 64 };

typedef struct Chain {
  size_t num_parameters, num_calls;
} Chain;

static RpinnStatus chain_evaluate(void *data, const double *x, double *value, double *gradient) {
  Chain *chain = data;
  size_t N = chain->num_parameters;
  chain->num_calls++;
  *value = 0;
  for (size_t j = 0; gradient && j < N; j++) gradient[j] = 0;
  for (size_t k = 0; k + 1 < N; k++) {
    double bend = x[k + 1] - x[k] * x[k], off = 1 - x[k];
    *value += 100 * bend * bend + off * off;
    if (!gradient) continue;
    gradient[k] += -400 * bend * x[k] - 2 * off;
    gradient[k + 1] += 200 * bend;
  }
  return RPINN_OK;
}

static RpinnObjective chain_objective(Chain *chain) {
  return (RpinnObjective){.num_parameters = chain->num_parameters, .data = chain, .evaluate = chain_evaluate};
}

/* The same as 1/2 |r|^2 with two rows per link. */
static RpinnStatus chain_residuals(void *data, const double *x, double *rows) {
  Chain *chain = data;
  chain->num_calls++;
  for (size_t k = 0; k + 1 < chain->num_parameters; k++) {
    rows[2 * k] = sqrt(2) * 10 * (x[k + 1] - x[k] * x[k]);
    rows[2 * k + 1] = sqrt(2) * (1 - x[k]);
  }
  return RPINN_OK;
}

static RpinnStatus chain_jacobian(void *data, const double *x, double *rows, double *J) {
  Chain *chain = data;
  size_t N = chain->num_parameters;
  chain_residuals(data, x, rows);
  chain->num_calls--;
  memset(J, 0, 2 * (N - 1) * N * sizeof *J);
  for (size_t k = 0; k + 1 < N; k++) {
    J[2 * k * N + k] = -sqrt(2) * 20 * x[k];
    J[2 * k * N + k + 1] = sqrt(2) * 10;
    J[(2 * k + 1) * N + k] = -sqrt(2);
  }
  return RPINN_OK;
}

static RpinnLeastSquares chain_least_squares(Chain *chain) {
  return (RpinnLeastSquares){.num_parameters = chain->num_parameters,
                             .num_rows = 2 * (chain->num_parameters - 1),
                             .data = chain,
                             .residuals = chain_residuals,
                             .jacobian = chain_jacobian};
}

static void chain_start(size_t N, double *x) {
  for (size_t j = 0; j < N; j++) x[j] = j % 2 == 0 ? -1.2 : 1;
}

/* ---- a rotated quadratic: f = 1/2 sum_j c_j (H x - a)_j^2, H a reflection, c from 1 to condition ---- */

typedef struct Quadratic {
  size_t num_parameters;
  double condition;
} Quadratic;

static double quadratic_curvature(const Quadratic *quadratic, size_t j) {
  return pow(quadratic->condition, (double)j / (double)(quadratic->num_parameters - 1));
}

static double quadratic_center(size_t j) {
  return sin(1.0 + (double)j);
}

/* y = H x, H = I - 2 v v^T / v.v with v_j = 1 + j mod 3; H is its own inverse */
static void reflect(size_t N, const double *x, double *y) {
  double along = 0, square = 0;
  for (size_t j = 0; j < N; j++) {
    double v = 1 + (double)(j % 3);
    along += v * x[j];
    square += v * v;
  }
  for (size_t j = 0; j < N; j++) y[j] = x[j] - 2 * (1 + (double)(j % 3)) * along / square;
}

static RpinnStatus quadratic_evaluate(void *data, const double *x, double *value, double *gradient) {
  const Quadratic *quadratic = data;
  size_t N = quadratic->num_parameters;
  double y[MOST_PARAMETERS];
  reflect(N, x, y);
  *value = 0;
  for (size_t j = 0; j < N; j++) {
    double c = quadratic_curvature(quadratic, j), off = y[j] - quadratic_center(j);
    *value += 0.5 * c * off * off;
    y[j] = c * off;
  }
  if (gradient) reflect(N, y, gradient);
  return RPINN_OK;
}

static RpinnObjective quadratic_objective(Quadratic *quadratic) {
  return (RpinnObjective){
      .num_parameters = quadratic->num_parameters, .data = quadratic, .evaluate = quadratic_evaluate};
}

/* The same as rows sqrt(c_j) (H x - a)_j. */
static RpinnStatus quadratic_residuals(void *data, const double *x, double *rows) {
  const Quadratic *quadratic = data;
  reflect(quadratic->num_parameters, x, rows);
  for (size_t j = 0; j < quadratic->num_parameters; j++)
    rows[j] = sqrt(quadratic_curvature(quadratic, j)) * (rows[j] - quadratic_center(j));
  return RPINN_OK;
}

static RpinnStatus quadratic_jacobian(void *data, const double *x, double *rows, double *J) {
  const Quadratic *quadratic = data;
  size_t N = quadratic->num_parameters;
  for (size_t i = 0; i < N; i++) {
    double unit[MOST_PARAMETERS] = {0};
    unit[i] = sqrt(quadratic_curvature(quadratic, i));
    reflect(N, unit, J + i * N);
  }
  return quadratic_residuals(data, x, rows);
}

static double quadratic_error(const Quadratic *quadratic, const double *x) {
  double y[MOST_PARAMETERS], worst = 0;
  reflect(quadratic->num_parameters, x, y);
  for (size_t j = 0; j < quadratic->num_parameters; j++)
    worst = fmax(worst, fabs(y[j] - quadratic_center(j)));
  return worst;
}

/* ---- running ---- */

static RpinnContext *context;

static RpinnOptimizer *make_adam(const RpinnObjective *objective, const RpinnAdamOptions *options) {
  RpinnOptimizer *optimizer;
  assert_int_equal(rpinn_adam_create(context, objective, options, &optimizer), RPINN_OK);
  return optimizer;
}

static RpinnOptimizer *make_lbfgs(const RpinnObjective *objective, const RpinnLbfgsOptions *options) {
  RpinnOptimizer *optimizer;
  assert_int_equal(rpinn_lbfgs_create(context, objective, options, &optimizer), RPINN_OK);
  return optimizer;
}

static RpinnOptimizer *make_levenberg_marquardt(const RpinnLeastSquares *problem, const double *offsets,
                                                const RpinnLevenbergMarquardtOptions *options) {
  RpinnOptimizer *optimizer;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, problem, offsets, options, &optimizer),
                   RPINN_OK);
  return optimizer;
}

static RpinnOptimum run(RpinnOptimizer *optimizer, const double *theta) {
  assert_int_equal(rpinn_optimizer_start(context, optimizer, theta), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
  return rpinn_optimizer_optimum(optimizer);
}

static void say(const char *what, double error, const RpinnOptimum *optimum) {
  print_message("  %-32s error %.1e, gradient %.1e, %zu iterations, %zu evaluations, %s\n", what, error,
                optimum->gradient_norm, optimum->num_iterations, optimum->num_evaluations,
                rpinn_stop_name(optimum->stop));
}

static double distance_to_ones(size_t N, const double *x) {
  double worst = 0;
  for (size_t j = 0; j < N; j++) worst = fmax(worst, fabs(x[j] - 1));
  return worst;
}

static void check_stop(const RpinnOptimum *optimum, RpinnStop expected) {
  check_true(optimum->stop == expected, "stopped for %s, expected %s", rpinn_stop_name(optimum->stop),
             rpinn_stop_name(expected));
}

/* ---- Rosenbrock ---- */

static void rosenbrock_by_lbfgs(void **state) {
  (void)state;
  for (size_t N = 2; N <= 20; N += 18) {
    Chain chain = {.num_parameters = N};
    RpinnObjective objective = chain_objective(&chain);
    RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
    options.stop.gradient_tolerance = 1e-10;
    RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
    double x[20];
    chain_start(N, x);
    RpinnOptimum optimum = run(optimizer, x);
    say(N == 2 ? "Rosenbrock 2-D, L-BFGS" : "Rosenbrock 20-D, L-BFGS", distance_to_ones(N, optimum.theta),
        &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_true(distance_to_ones(N, optimum.best_theta) < 1e-9, "%zu parameters", N);
    assert_true(optimum.best_theta == optimum.theta && optimum.best_loss == optimum.loss);
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    rpinn_optimizer_destroy(optimizer);
  }
}

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

/* progress_amount: over the first window that gains no more, and no earlier. */
static void small_gains_end_a_search(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 20};
  RpinnLeastSquares problem = chain_least_squares(&chain);
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  options.stop = (RpinnStopRule){.max_iterations = 200, .progress_window = 2, .progress_amount = 1};
  RpinnOptimizer *optimizer = make_levenberg_marquardt(&problem, NULL, &options);
  double x[20];
  chain_start(20, x);
  RpinnOptimum optimum = run(optimizer, x);
  check_stop(&optimum, RPINN_STOP_NO_PROGRESS);
  size_t last = optimum.num_trace - 1;
  assert_true(last >= 4 && last % 2 == 0);
  for (size_t i = 2; i <= last; i += 2)
    assert_int_equal(optimum.trace[i - 2].loss - optimum.trace[i].loss <= 1, i == last);
  rpinn_optimizer_destroy(optimizer);
}

static void rosenbrock_by_adam(void **state) {
  (void)state;
  for (size_t N = 2; N <= 20; N += 18) {
    Chain chain = {.num_parameters = N};
    RpinnObjective objective = chain_objective(&chain);
    RpinnAdamOptions options = rpinn_adam_default_options();
    options.stop.max_iterations = 40000;
    options.stop.gradient_tolerance = 1e-6;
    options.rule.learning_rate = 1e-2;
    options.rule.decay_rate = 0.5;
    RpinnOptimizer *optimizer = make_adam(&objective, &options);
    double x[20];
    chain_start(N, x);
    RpinnOptimum optimum = run(optimizer, x);
    say(N == 2 ? "Rosenbrock 2-D, Adam" : "Rosenbrock 20-D, Adam", distance_to_ones(N, optimum.theta),
        &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    check_true(distance_to_ones(N, optimum.best_theta) < 1e-5, "%zu parameters", N);
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- quadratics ---- */

static const Quadratic quadratics[] = {{50, 1e6}, {10, 1e8}};

/* The error is largest in the flattest direction, where a gradient of 1e-8 leaves an error of 1e-8. */
static void quadratics_by_lbfgs(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    Quadratic quadratic = quadratics[i];
    RpinnObjective objective = quadratic_objective(&quadratic);
    RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
    options.stop = (RpinnStopRule){.max_iterations = 20000, .gradient_tolerance = 1e-8};
    RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
    double x[MOST_PARAMETERS] = {0};
    RpinnOptimum optimum = run(optimizer, x);
    say(i == 0 ? "quadratic 1e6 in 50-D, L-BFGS" : "quadratic 1e8 in 10-D, L-BFGS",
        quadratic_error(&quadratic, optimum.theta), &optimum);
    check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
    assert_true(quadratic_error(&quadratic, optimum.theta) < 2e-8);
    rpinn_optimizer_destroy(optimizer);
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

/* Adam's steps are scaled by coordinate, and here no coordinate is an eigenvector: a condition of 1e5 is what
 * it can do in 20000 iterations, to 1e-6. */
static void quadratic_by_adam(void **state) {
  (void)state;
  Quadratic quadratic = {.num_parameters = 20, .condition = 1e5};
  RpinnObjective objective = quadratic_objective(&quadratic);
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 20000;
  options.rule.learning_rate = 1e-2;
  options.rule.decay_rate = 0.5;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  double x[MOST_PARAMETERS] = {0};
  RpinnOptimum optimum = run(optimizer, x);
  say("quadratic 1e5 in 20-D, Adam", quadratic_error(&quadratic, optimum.best_theta), &optimum);
  check_stop(&optimum, RPINN_STOP_BUDGET);
  assert_true(quadratic_error(&quadratic, optimum.best_theta) < 1e-6);
  rpinn_optimizer_destroy(optimizer);
}

/* ---- linear least squares with M << N, prior and offsets, against the closed form ---- */

enum { ROWS = 12, COLUMNS = 60 };

typedef struct Linear { /* r = A theta - y */
  double A[ROWS][COLUMNS], y[ROWS];
  double root[COLUMNS], mean[COLUMNS], offsets[ROWS + COLUMNS];
} Linear;

static RpinnStatus linear_residuals(void *data, const double *theta, double *rows) {
  const Linear *linear = data;
  for (size_t i = 0; i < ROWS; i++) {
    rows[i] = -linear->y[i];
    for (size_t j = 0; j < COLUMNS; j++) rows[i] += linear->A[i][j] * theta[j];
  }
  return RPINN_OK;
}

static RpinnStatus linear_jacobian(void *data, const double *theta, double *rows, double *J) {
  const Linear *linear = data;
  memcpy(J, linear->A, sizeof linear->A);
  return linear_residuals(data, theta, rows);
}

static RpinnStatus linear_times(void *data, const double *theta, const double *direction, double *product) {
  const Linear *linear = data;
  (void)theta;
  for (size_t i = 0; i < ROWS; i++) {
    product[i] = 0;
    for (size_t j = 0; j < COLUMNS; j++) product[i] += linear->A[i][j] * direction[j];
  }
  return RPINN_OK;
}

static RpinnStatus linear_transposed_times(void *data, const double *theta, const double *weights,
                                           double *product) {
  const Linear *linear = data;
  (void)theta;
  for (size_t j = 0; j < COLUMNS; j++) {
    product[j] = 0;
    for (size_t i = 0; i < ROWS; i++) product[j] += linear->A[i][j] * weights[i];
  }
  return RPINN_OK;
}

static RpinnStatus linear_gram(void *data, const double *theta, const double *scale, double *rows,
                               double *gram) {
  const Linear *linear = data;
  for (size_t i = 0; i < ROWS; i++)
    for (size_t k = 0; k < ROWS; k++) {
      gram[i * ROWS + k] = 0;
      for (size_t j = 0; j < COLUMNS; j++)
        gram[i * ROWS + k] += linear->A[i][j] * (scale ? scale[j] : 1) * linear->A[k][j];
    }
  return linear_residuals(data, theta, rows);
}

typedef enum LinearPrior { PRIOR_ON_ALL, PRIOR_ON_SOME, PRIOR_ON_NONE } LinearPrior;

static void linear_fill(Linear *linear, LinearPrior prior) {
  RpinnStream stream = rpinn_stream(7, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, ROWS * COLUMNS, linear->A[0]);
  rpinn_stream_normals(&stream, ROWS, linear->y);
  rpinn_stream_normals(&stream, COLUMNS, linear->mean);
  rpinn_stream_normals(&stream, ROWS + COLUMNS, linear->offsets);
  for (size_t j = 0; j < COLUMNS; j++) {
    bool without =
        prior == PRIOR_ON_NONE || (prior == PRIOR_ON_SOME && j % 10 == 3); /* 6 of 60, fewer than rows */
    linear->root[j] = without ? 0 : 0.5 + rpinn_stream_uniform(&stream);
  }
}

static RpinnLeastSquares linear_least_squares(Linear *linear, bool products) {
  RpinnLeastSquares problem = {.num_parameters = COLUMNS,
                               .num_rows = ROWS,
                               .prior_root = linear->root,
                               .prior_mean = linear->mean,
                               .data = linear,
                               .residuals = linear_residuals,
                               .jacobian = linear_jacobian};
  if (products) {
    problem.jacobian_times = linear_times;
    problem.transposed_times = linear_transposed_times;
    problem.gram = linear_gram;
  }
  return problem;
}

/* (A^T A + P^2) theta = A^T (y + xi_r) + P (P mu + xi_p), by elimination in long double. */
static void linear_closed_form(const Linear *linear, double *theta) {
  static long double H[COLUMNS][COLUMNS + 1], A[ROWS][COLUMNS];
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < COLUMNS; j++) A[i][j] = (long double)linear->A[i][j];
  for (size_t j = 0; j < COLUMNS; j++) {
    long double root = (long double)linear->root[j], mean = (long double)linear->mean[j];
    for (size_t k = 0; k < COLUMNS; k++) H[j][k] = j == k ? root * root : 0;
    H[j][COLUMNS] = root * (root * mean + (long double)linear->offsets[ROWS + j]);
    for (size_t i = 0; i < ROWS; i++) {
      for (size_t k = 0; k < COLUMNS; k++) H[j][k] += A[i][j] * A[i][k];
      H[j][COLUMNS] += A[i][j] * ((long double)linear->y[i] + (long double)linear->offsets[i]);
    }
  }
  for (size_t p = 0; p < COLUMNS; p++)
    for (size_t j = 0; j < COLUMNS; j++) {
      long double factor = H[j][p] / H[p][p];
      for (size_t k = p; j != p && k <= COLUMNS; k++) H[j][k] -= factor * H[p][k];
    }
  for (size_t j = 0; j < COLUMNS; j++) theta[j] = (double)(H[j][COLUMNS] / H[j][j]);
}

static double farthest(size_t N, const double *a, const double *b) {
  double worst = 0;
  for (size_t j = 0; j < N; j++) worst = fmax(worst, fabs(a[j] - b[j]));
  return worst;
}

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
      check_true(error < (products == 2 ? 1e-8 : 1e-9), "prior %d, products %d: error %g", prior, products,
                 error);
      rpinn_optimizer_destroy(optimizer);
    }
  }
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

static void linear_by_lbfgs_and_adam(void **state) {
  (void)state;
  static Linear linear;
  double expected[COLUMNS], start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_ALL);
  linear_closed_form(&linear, expected);
  RpinnLeastSquares problem = linear_least_squares(&linear, true);
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, linear.offsets);
  RpinnObjective objective = rpinn_energy_objective(energy);

  RpinnLbfgsOptions lbfgs_options = rpinn_lbfgs_default_options();
  lbfgs_options.stop = (RpinnStopRule){.max_iterations = 2000, .gradient_tolerance = 1e-11};
  RpinnOptimizer *lbfgs = make_lbfgs(&objective, &lbfgs_options);
  RpinnOptimum optimum = run(lbfgs, start);
  say("linear, prior on all, L-BFGS", farthest(COLUMNS, optimum.theta, expected), &optimum);
  assert_true(farthest(COLUMNS, optimum.theta, expected) < 1e-9);
  rpinn_optimizer_destroy(lbfgs);

  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  adam_options.stop.max_iterations = 20000;
  adam_options.rule.learning_rate = 1e-2;
  adam_options.rule.decay_rate = 0.5;
  adam_options.rule.decay_steps = 1000;
  RpinnOptimizer *adam = make_adam(&objective, &adam_options);
  optimum = run(adam, start);
  say("linear, prior on all, Adam", farthest(COLUMNS, optimum.best_theta, expected), &optimum);
  assert_true(farthest(COLUMNS, optimum.best_theta, expected) < 1e-4);
  rpinn_optimizer_destroy(adam);
  rpinn_energy_objective_destroy(energy);
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
    assert_true(sqrt(norm) < 1.1e-6);
    rpinn_energy_objective_destroy(energy);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- Adam's rule ---- */

static RpinnStatus slope_evaluate(void *data, const double *theta, double *value, double *gradient) {
  (void)data;
  *value = 3 * theta[0];
  if (gradient) gradient[0] = 3;
  return RPINN_OK;
}

/* A constant gradient makes both means exact, and what is left of a step is the schedule. */
static void adam_follows_its_schedule(void **state) {
  (void)state;
  RpinnObjective objective = {.num_parameters = 1, .evaluate = slope_evaluate};
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.rule.learning_rate = 0.1;
  options.rule.decay_rate = 0.5;
  options.rule.decay_steps = 10;
  options.stop.max_iterations = 57;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  double theta = 2, expected = 2;
  RpinnOptimum optimum = run(optimizer, &theta);
  for (int t = 0; t < 57; t++) expected -= 0.1 * pow(0.5, t / 10.0) * 3 / (3 + 1e-8);
  check_relative(optimum.theta[0], expected, 1e-13);
  assert_int_equal(optimum.num_iterations, 57);
  rpinn_optimizer_destroy(optimizer);
}

/* A target's own adam_advance, written a little differently, as a backend would. */
static RpinnStatus chain_adam_advance(void *data, const RpinnAdamRule *rule, RpinnAdamState *adam,
                                      size_t num_steps, double *value) {
  Chain *chain = data;
  double gradient[MOST_PARAMETERS];
  for (size_t i = 0; i < num_steps; i++, adam->t++) {
    chain_evaluate(data, adam->theta, value, gradient);
    double rate = rule->learning_rate * exp(log(rule->decay_rate) * (double)adam->t / rule->decay_steps);
    double bias1 = 1 - pow(rule->beta1, (double)(adam->t + 1)),
           bias2 = 1 - pow(rule->beta2, (double)(adam->t + 1));
    for (size_t j = 0; j < chain->num_parameters; j++) {
      adam->m[j] += (1 - rule->beta1) * (gradient[j] - adam->m[j]);
      adam->v[j] += (1 - rule->beta2) * (gradient[j] * gradient[j] - adam->v[j]);
      adam->theta[j] -= rate * adam->m[j] / bias1 / (sqrt(adam->v[j] / bias2) + rule->epsilon);
    }
  }
  return RPINN_OK;
}

static void adam_uses_the_targets_own(void **state) {
  (void)state;
  double theta[2][4], start[] = {-1.2, 1, 0.3, 0.5};
  for (int own = 0; own < 2; own++) {
    Chain chain = {.num_parameters = 4};
    RpinnObjective objective = chain_objective(&chain);
    if (own) objective.adam_advance = chain_adam_advance;
    RpinnAdamOptions options = rpinn_adam_default_options();
    options.stop.max_iterations = 730;
    RpinnOptimizer *optimizer = make_adam(&objective, &options);
    RpinnOptimum optimum = run(optimizer, start);
    memcpy(theta[own], optimum.theta, sizeof theta[own]);
    assert_int_equal(optimum.num_evaluations, 730 + 1 + 8); /* the start, 7 full chunks, the end */
    assert_int_equal(optimum.num_evaluations, chain.num_calls);
    rpinn_optimizer_destroy(optimizer);
  }
  assert_true(farthest(4, theta[0], theta[1]) < 1e-11);
}

/* Far too large a learning rate: the last point is worse than the best one, and the best one is what it says.
 */
static void adam_keeps_its_best_point(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain);
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 30;
  options.chunk_iterations = 1;
  options.rule.learning_rate = 3;
  RpinnOptimizer *optimizer = make_adam(&objective, &options);
  double start[] = {-1.2, 1}, value;
  RpinnOptimum optimum = run(optimizer, start);
  chain_evaluate(&chain, optimum.best_theta, &value, NULL);
  assert_true(optimum.best_loss == value && optimum.best_loss < optimum.loss);
  for (size_t i = 0; i < optimum.num_trace; i++) assert_true(optimum.trace[i].loss >= optimum.best_loss);
  rpinn_optimizer_destroy(optimizer);
}

static void trace_is_thinned_evenly(void **state) {
  (void)state;
  RpinnObjective objective = {.num_parameters = 1, .evaluate = slope_evaluate};
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.chunk_iterations = 1;
  const size_t lengths[] = {100, 254, 255, 256, 257, 1000, 5000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    options.stop.max_iterations = lengths[i];
    RpinnOptimizer *optimizer = make_adam(&objective, &options);
    double theta = 1;
    RpinnOptimum optimum = run(optimizer, &theta);
    size_t stride = optimum.trace[1].iteration;
    check_true(optimum.num_trace <= RPINN_TRACE_CAPACITY, "%zu entries", optimum.num_trace);
    check_true(optimum.num_trace == lengths[i] / stride + 1, "%zu iterations, stride %zu", lengths[i],
               stride);
    for (size_t k = 0; k < optimum.num_trace; k++) assert_int_equal(optimum.trace[k].iteration, k * stride);
    assert_true(optimum.trace[0].loss == 3);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* ---- regions where the loss is not finite ---- */

/* f = sum x - log x, minimum at 1; not a number for x < 0. */
static RpinnStatus barrier_evaluate(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  *value = 0;
  for (size_t j = 0; j < 3; j++) {
    *value += x[j] - log(x[j]);
    if (gradient) gradient[j] = 1 - 1 / x[j];
  }
  return RPINN_OK;
}

static const RpinnObjective barrier = {.num_parameters = 3, .evaluate = barrier_evaluate};

static void lbfgs_steps_back(void **state) {
  (void)state;
  RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
  options.stop.gradient_tolerance = 1e-12;
  RpinnOptimizer *optimizer = make_lbfgs(&barrier, &options);
  double start[] = {1e-3, 40, 0.2};
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_GRADIENT_SMALL);
  assert_true(distance_to_ones(3, optimum.theta) < 1e-11);
  for (size_t i = 0; i < optimum.num_trace; i++) assert_true(isfinite(optimum.trace[i].loss));
  rpinn_optimizer_destroy(optimizer);
}

/* r = log x: from x = 100 the full step goes to -360. */
static RpinnStatus log_residuals(void *data, const double *x, double *rows) {
  (void)data;
  rows[0] = log(x[0]);
  return RPINN_OK;
}

static RpinnStatus log_jacobian(void *data, const double *x, double *rows, double *J) {
  J[0] = 1 / x[0];
  return log_residuals(data, x, rows);
}

static const RpinnLeastSquares log_problem = {
    .num_parameters = 1, .num_rows = 1, .residuals = log_residuals, .jacobian = log_jacobian};

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

/* ---- every reason to stop ---- */

static void stop_names(void **state) {
  (void)state;
  assert_string_equal(rpinn_stop_name(RPINN_STOP_GRADIENT_SMALL), "gradient_small");
  assert_string_equal(rpinn_stop_name(RPINN_STOP_DAMPING_LIMIT), "damping_limit");
  assert_string_equal(rpinn_stop_name((RpinnStop)99), "unknown");
  assert_true(strlen(rpinn_stop_meaning(RPINN_STOP_NO_PROGRESS)) > 10);
  assert_non_null(rpinn_stop_meaning((RpinnStop)99));
}

static void stops_when_the_start_is_not_finite(void **state) {
  (void)state;
  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs_options = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions lm_options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizers[] = {make_adam(&barrier, &adam_options), make_lbfgs(&barrier, &lbfgs_options),
                                  make_levenberg_marquardt(&log_problem, NULL, &lm_options)};
  double start[] = {-1, 1, 1};
  for (size_t i = 0; i < 3; i++) {
    RpinnOptimum optimum = run(optimizers[i], start);
    check_stop(&optimum, RPINN_STOP_NOT_FINITE);
    assert_int_equal(optimum.num_iterations, 0);
    assert_true(optimum.best_theta[0] == -1 && isinf(optimum.best_loss));
    rpinn_optimizer_destroy(optimizers[i]);
  }
}

/* The first step leaves the domain; the best point is still good. */
static void adam_stops_when_not_finite(void **state) {
  (void)state;
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.rule.learning_rate = 10;
  options.chunk_iterations = 1;
  RpinnOptimizer *optimizer = make_adam(&barrier, &options);
  double start[] = {2, 2, 2};
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_NOT_FINITE);
  assert_true(!isfinite(optimum.loss));
  assert_true(isfinite(optimum.best_loss) && optimum.best_theta[0] == 2);
  rpinn_optimizer_destroy(optimizer);
}

static void stops_without_progress(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain);
  RpinnLeastSquares problem = chain_least_squares(&chain);
  RpinnStopRule rule = {.max_iterations = 100000, .progress_window = 30, .progress_tolerance = 0.5};
  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  adam_options.stop = rule;
  adam_options.stop.progress_window = 300;
  RpinnLbfgsOptions lbfgs_options = {.stop = rule, .memory = 5};
  lbfgs_options.stop.progress_window = 2;
  RpinnLevenbergMarquardtOptions lm_options = {.stop = rule, .initial_damping = 1e6};
  lm_options.stop.progress_window = 2;
  RpinnOptimizer *optimizers[] = {make_adam(&objective, &adam_options),
                                  make_lbfgs(&objective, &lbfgs_options),
                                  make_levenberg_marquardt(&problem, NULL, &lm_options)};
  double start[] = {-1.2, 1};
  for (size_t i = 0; i < 3; i++) {
    RpinnOptimum optimum = run(optimizers[i], start);
    check_stop(&optimum, RPINN_STOP_NO_PROGRESS);
    assert_true(optimum.loss > 1e-3 && optimum.num_iterations < 10000);
    rpinn_optimizer_destroy(optimizers[i]);
  }
}

/* Without a window and without tolerances they end where rounding ends, and say so. */
static void stops_at_rounding(void **state) {
  (void)state;
  static Linear linear;
  double start[COLUMNS] = {0};
  linear_fill(&linear, PRIOR_ON_ALL);
  RpinnLeastSquares problem = linear_least_squares(&linear, true);
  RpinnEnergyObjective *energy = rpinn_energy_objective_create(&problem, linear.offsets);
  RpinnObjective objective = rpinn_energy_objective(energy);
  RpinnLbfgsOptions lbfgs_options = {.stop = {.max_iterations = 5000}, .memory = 20};
  RpinnLevenbergMarquardtOptions lm_options = {.stop = {.max_iterations = 5000}, .initial_damping = 1e-3};
  RpinnOptimizer *optimizers[] = {make_lbfgs(&objective, &lbfgs_options),
                                  make_levenberg_marquardt(&problem, linear.offsets, &lm_options)};
  for (size_t i = 0; i < 2; i++) {
    RpinnOptimum optimum = run(optimizers[i], start);
    check_stop(&optimum, RPINN_STOP_NO_PROGRESS);
    assert_true(optimum.gradient_norm < 1e-6);
    rpinn_optimizer_destroy(optimizers[i]);
  }
  rpinn_energy_objective_destroy(energy);
}

/* The quadratic plus 100, summed in float: the value is off by some units of rounding, 1e-5 each, up or
 * down from one theta to the next, while the gradient keeps its digits. */
static RpinnStatus coarse_evaluate(void *data, const double *x, double *value, double *gradient) {
  const Quadratic *quadratic = data;
  double rounded[20], y[20];
  float sum = 0;
  for (size_t j = 0; j < 20; j++) rounded[j] = (double)(float)x[j];
  RpinnStatus status = quadratic_evaluate(data, rounded, value, gradient);
  reflect(20, rounded, y);
  for (size_t j = 0; j < 20; j++) {
    float off = (float)(y[j] - quadratic_center(j));
    sum += 5 * (1 + off) + (0.5f * (float)quadratic_curvature(quadratic, j) * off * off - 5 * off);
  }
  *value = (double)sum;
  return status;
}

/* L-BFGS that knows of it goes on by slopes, and stops when there is no more to win; one that takes the values
 * for double precision gives up before. */
static void lbfgs_minimises_in_float(void **state) {
  (void)state;
  RpinnStop stops[2];
  double gradients[2];
  for (size_t told = 0; told < 2; told++) {
    Quadratic quadratic = {.num_parameters = 20, .condition = 1e5};
    RpinnObjective objective = {.num_parameters = 20,
                                .data = &quadratic,
                                .evaluate = coarse_evaluate,
                                .epsilon = told ? (double)FLT_EPSILON : 0};
    RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
    RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
    double x[20] = {0};
    RpinnOptimum optimum = run(optimizer, x);
    say(told ? "quadratic in float" : "quadratic in float, not told", optimum.loss - 100, &optimum);
    stops[told] = optimum.stop;
    gradients[told] = optimum.gradient_norm;
    rpinn_optimizer_destroy(optimizer);
  }
  assert_int_equal(stops[0], RPINN_STOP_LINE_SEARCH_FAILED);
  assert_int_equal(stops[1], RPINN_STOP_NO_PROGRESS);
  double limit = 1e5 * (double)FLT_EPSILON / 2; /* what rounding theta to float does to the gradient */
  check_true(gradients[1] < limit && limit < gradients[0], "gradients of %g and %g", gradients[1],
             gradients[0]);
}

static RpinnStatus uphill_evaluate(void *data, const double *x, double *value, double *gradient) {
  RpinnStatus status = chain_evaluate(data, x, value, gradient);
  for (size_t j = 0; gradient && j < 2; j++) gradient[j] = -gradient[j];
  return status;
}

static void lbfgs_stops_when_its_search_fails(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain);
  objective.evaluate = uphill_evaluate;
  RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
  RpinnOptimizer *optimizer = make_lbfgs(&objective, &options);
  double start[] = {-1.2, 1};
  RpinnOptimum optimum = run(optimizer, start);
  check_stop(&optimum, RPINN_STOP_LINE_SEARCH_FAILED);
  assert_true(optimum.theta[0] == -1.2 && optimum.theta[1] == 1);
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

/* ---- saved states ---- */

/* One of each kind of optimiser, on problems that live as long as the test. */
typedef struct Zoo {
  Chain chain;
  Linear linear[2];
  RpinnObjective composed, own;
  RpinnLeastSquares normal, dense, products, partial;
  bool (*interrupted)(void *user);
  void *interrupted_user;
} Zoo;

enum { NUM_ANIMALS = 9 };
static const char *const animal_names[NUM_ANIMALS] = {
    "Adam, composed",    "Adam of the target", "L-BFGS",
    "LM, normal",        "LM, dense",          "LM, products",
    "LM, partial prior", "LM with momentum",   "LM by conjugate gradients"};

static void zoo_open(Zoo *zoo) {
  *zoo = (Zoo){.chain.num_parameters = 4};
  linear_fill(&zoo->linear[0], PRIOR_ON_ALL);
  linear_fill(&zoo->linear[1], PRIOR_ON_SOME);
  zoo->composed = zoo->own = chain_objective(&zoo->chain);
  zoo->own.adam_advance = chain_adam_advance;
  zoo->normal = chain_least_squares(&zoo->chain);
  zoo->dense = linear_least_squares(&zoo->linear[0], false);
  zoo->products = linear_least_squares(&zoo->linear[0], true);
  zoo->partial = linear_least_squares(&zoo->linear[1], true);
}

static RpinnOptimizer *zoo_create(Zoo *zoo, int animal) {
  RpinnAdamOptions adam = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  adam.stop.max_iterations = 330;
  adam.chunk_iterations = 25;
  lbfgs.memory = 5;
  lbfgs.stop = (RpinnStopRule){.max_iterations = 300, .gradient_tolerance = 1e-12, .progress_window = 10};
  lm.stop = (RpinnStopRule){.max_iterations = 200};
  if (animal >= 4 && animal != 7) lm.initial_damping = 1e3; /* so that the linear ones have some way to go */
  lm.momentum = animal == 7;
  if (animal == 8) lm.max_dense_rows = 1; /* conjugate gradients */
  adam.stop.interrupted = lbfgs.stop.interrupted = lm.stop.interrupted = zoo->interrupted;
  adam.stop.interrupted_user = lbfgs.stop.interrupted_user = lm.stop.interrupted_user = zoo->interrupted_user;
  switch (animal) {
  case 0: return make_adam(&zoo->composed, &adam);
  case 1: return make_adam(&zoo->own, &adam);
  case 2: return make_lbfgs(&zoo->composed, &lbfgs);
  case 3: return make_levenberg_marquardt(&zoo->normal, NULL, &lm);
  case 4: return make_levenberg_marquardt(&zoo->dense, zoo->linear[0].offsets, &lm);
  case 5: return make_levenberg_marquardt(&zoo->products, zoo->linear[0].offsets, &lm);
  case 6: return make_levenberg_marquardt(&zoo->partial, zoo->linear[1].offsets, &lm);
  case 7: return make_levenberg_marquardt(&zoo->normal, NULL, &lm);
  default: return make_levenberg_marquardt(&zoo->products, zoo->linear[0].offsets, &lm);
  }
}

static const double *zoo_start(void) {
  static double start[COLUMNS];
  chain_start(COLUMNS, start);
  return start;
}

typedef struct Saved {
  unsigned char *bytes;
  size_t size;
} Saved;

static Saved save(const RpinnOptimizer *optimizer) {
  Saved saved = {.size = rpinn_optimizer_state_size(optimizer)};
  saved.bytes = malloc(saved.size);
  rpinn_optimizer_save(optimizer, saved.bytes);
  return saved;
}

/* Another optimiser in the same state; the first one goes. */
static RpinnOptimizer *reincarnate(Zoo *zoo, int animal, RpinnOptimizer *optimizer) {
  Saved saved = save(optimizer);
  rpinn_optimizer_destroy(optimizer);
  optimizer = zoo_create(zoo, animal);
  assert_int_equal(rpinn_optimizer_restore(context, optimizer, saved.bytes, saved.size), RPINN_OK);
  free(saved.bytes);
  return optimizer;
}

static void check_same(const RpinnOptimizer *optimizer, const Saved *expected, int animal, size_t piece) {
  Saved found = save(optimizer);
  assert_int_equal(found.size, expected->size);
  check_true(memcmp(found.bytes, expected->bytes, found.size) == 0, "%s in pieces of %zu: other bits",
             animal_names[animal], piece);
  free(found.bytes);
}

/* The saved state holds every field of a run, so equal bytes are an equal run. */
static void resumes_bit_for_bit(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    RpinnOptimizer *whole = zoo_create(&zoo, animal);
    RpinnOptimum optimum = run(whole, zoo_start());
    print_message("  %-18s %zu iterations, %s\n", animal_names[animal], optimum.num_iterations,
                  rpinn_stop_name(optimum.stop));
    assert_true(optimum.num_iterations > 5);
    Saved expected = save(whole);
    rpinn_optimizer_destroy(whole);
    for (size_t piece = 1; piece <= 60; piece++) {
      RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
      assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
      while (rpinn_optimizer_optimum(optimizer).stop == RPINN_STOP_RUNNING) {
        assert_int_equal(rpinn_optimizer_advance(context, optimizer, piece), RPINN_OK);
        optimizer = reincarnate(&zoo, animal, optimizer);
      }
      check_same(optimizer, &expected, animal, piece);
      rpinn_optimizer_destroy(optimizer);
    }
    free(expected.bytes);
  }
}

static bool every_third_time(void *user) {
  int *count = user;
  return ++*count % 3 == 0;
}

static void interruptions_leave_no_mark(void **state) {
  (void)state;
  static Zoo zoo;
  int count = 0;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    zoo.interrupted = NULL;
    RpinnOptimizer *whole = zoo_create(&zoo, animal);
    run(whole, zoo_start());
    Saved expected = save(whole);
    rpinn_optimizer_destroy(whole);

    size_t num_interruptions = 0;
    zoo.interrupted = every_third_time;
    zoo.interrupted_user = &count;
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    for (RpinnOptimum optimum = run(optimizer, zoo_start()); optimum.stop == RPINN_STOP_INTERRUPTED;
         optimum = rpinn_optimizer_optimum(optimizer)) {
      num_interruptions++;
      if (num_interruptions % 2) optimizer = reincarnate(&zoo, animal, optimizer);
      assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
    }
    assert_true(num_interruptions > 0);
    check_same(optimizer, &expected, animal, 0);
    free(expected.bytes);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* A spent budget can be extended: the path goes on as if it had been the larger one. */
static void larger_budget_goes_on(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 4};
  RpinnObjective objective = chain_objective(&chain);
  RpinnAdamOptions options = rpinn_adam_default_options();
  options.stop.max_iterations = 130;
  RpinnOptimizer *first = make_adam(&objective, &options);
  RpinnOptimum optimum = run(first, zoo_start());
  check_stop(&optimum, RPINN_STOP_BUDGET);
  assert_int_equal(rpinn_optimizer_advance(context, first, SIZE_MAX), RPINN_OK);
  assert_int_equal(rpinn_optimizer_optimum(first).num_iterations, 130);
  Saved saved = save(first);
  options.stop.max_iterations = 400;
  RpinnOptimizer *second = make_adam(&objective, &options), *whole = make_adam(&objective, &options);
  assert_int_equal(rpinn_optimizer_restore(context, second, saved.bytes, saved.size), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, second, SIZE_MAX), RPINN_OK);
  optimum = run(whole, zoo_start());
  assert_int_equal(rpinn_optimizer_optimum(second).num_iterations, 400);
  assert_memory_equal(rpinn_optimizer_optimum(second).theta, optimum.theta, 4 * sizeof(double));
  free(saved.bytes);
  rpinn_optimizer_destroy(first);
  rpinn_optimizer_destroy(second);
  rpinn_optimizer_destroy(whole);
}

static void refused(RpinnOptimizer *optimizer, const void *bytes, size_t size) {
  rpinn_context_clear_error(context);
  assert_int_equal(rpinn_optimizer_restore(context, optimizer, bytes, size), RPINN_ERROR_INPUT);
  assert_true(strlen(rpinn_context_error(context)->message) > 0);
}

static void damaged_states_are_refused(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal <= 3; animal++) {
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
    assert_int_equal(rpinn_optimizer_advance(context, optimizer, 20), RPINN_OK);
    Saved saved = save(optimizer);
    for (size_t i = 0; i < saved.size; i++) {
      unsigned char kept = saved.bytes[i];
      saved.bytes[i] = (unsigned char)(kept ^ (1u << i % 8));
      refused(optimizer, saved.bytes, saved.size);
      saved.bytes[i] = kept;
    }
    for (size_t size = 0; size < saved.size; size += 7) {
      unsigned char *cut = malloc(size + 1); /* of its own, so that a sanitizer sees a read beyond it */
      memcpy(cut, saved.bytes, size);
      refused(optimizer, cut, size);
      free(cut);
    }
    for (int other = 0; other < NUM_ANIMALS; other++) {
      RpinnOptimizer *stranger = zoo_create(&zoo, other);
      bool kin = other == animal || (other < 2 && animal < 2); /* both Adams have the same state */
      if (!kin) refused(stranger, saved.bytes, saved.size);
      rpinn_optimizer_destroy(stranger);
    }
    check_same(optimizer, &saved, animal, 0); /* the optimiser is as it was */
    free(saved.bytes);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* A forger who knows the checksum still cannot make the optimiser read out of bounds. */
static void counts_out_of_range_are_refused(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  RpinnOptimizer *optimizer = zoo_create(&zoo, 2);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
  Saved saved = save(optimizer);
  size_t num_refused = 0;
  for (size_t at = 7 * sizeof(uint64_t); at + 2 * sizeof(uint64_t) <= saved.size; at += sizeof(uint64_t)) {
    uint64_t kept, huge = (uint64_t)1 << 60;
    memcpy(&kept, saved.bytes + at, sizeof kept);
    memcpy(saved.bytes + at, &huge, sizeof huge);
    rpinn_state_end(&(RpinnStateCursor){
        .use = RPINN_STATE_SAVE, .target = saved.bytes, .position = saved.size - sizeof(uint64_t)});
    RpinnStatus status = rpinn_optimizer_restore(context, optimizer, saved.bytes, saved.size);
    if (status == RPINN_OK)
      assert_int_equal(rpinn_optimizer_advance(context, optimizer, 3), RPINN_OK);
    else {
      num_refused++;
      assert_int_equal(rpinn_optimizer_advance(context, optimizer, 3), RPINN_ERROR_INPUT);
    }
    memcpy(saved.bytes + at, &kept, sizeof kept);
  }
  assert_true(num_refused >= 5); /* stop, window, trace, pairs, newest */
  free(saved.bytes);
  rpinn_optimizer_destroy(optimizer);
}

/* ---- manners ---- */

static void no_allocation_while_advancing(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    size_t before = num_allocations;
    assert_true(before > 0);
    assert_int_equal(rpinn_optimizer_start(context, optimizer, zoo_start()), RPINN_OK);
    assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
    check_true(num_allocations == before, "%s: %zu allocations", animal_names[animal],
               num_allocations - before);
    rpinn_optimizer_destroy(optimizer);
  }
}

/* Starting again is the same as starting. */
static void starts_again(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int animal = 0; animal < NUM_ANIMALS; animal++) {
    double elsewhere[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++) elsewhere[j] = 0.1 * (double)j;
    RpinnOptimizer *optimizer = zoo_create(&zoo, animal);
    run(optimizer, zoo_start());
    RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
    double loss = optimum.loss, gradient_norm = optimum.gradient_norm, theta = optimum.theta[1];
    size_t num_evaluations = optimum.num_evaluations;
    run(optimizer, elsewhere);
    optimum = run(optimizer, zoo_start());
    assert_true(optimum.loss == loss && optimum.gradient_norm == gradient_norm && optimum.theta[1] == theta);
    assert_int_equal(optimum.num_evaluations, num_evaluations);
    rpinn_optimizer_destroy(optimizer);
  }
}

static RpinnStatus try_create(Zoo *zoo, int method, RpinnOptimizer **optimizer) {
  RpinnAdamOptions adam = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  lbfgs.memory = 1000; /* more than the first block of memory holds */
  switch (method) {
  case 0: return rpinn_adam_create(context, &zoo->composed, &adam, optimizer);
  case 1: return rpinn_lbfgs_create(context, &zoo->composed, &lbfgs, optimizer);
  default: return rpinn_levenberg_marquardt_create(context, &zoo->dense, NULL, &lm, optimizer);
  }
}

/* Whichever allocation fails, create says so and leaves nothing behind (which the leak check of a sanitizer
 * sees). */
static void lack_of_memory_is_reported(void **state) {
  (void)state;
  static Zoo zoo;
  zoo_open(&zoo);
  for (int method = 0; method < 3; method++) {
    RpinnOptimizer *optimizer = NULL;
    size_t num_failures = 0;
    while (!optimizer) {
      fails_at = num_allocations + num_failures + 1;
      RpinnStatus status = try_create(&zoo, method, &optimizer);
      if (optimizer) break;
      assert_int_equal(status, RPINN_ERROR_MEMORY);
      num_failures++;
    }
    fails_at = 0;
    assert_true(num_failures >= 3);
    rpinn_optimizer_destroy(optimizer);
  }
}

static RpinnStatus failing_evaluate(void *data, const double *x, double *value, double *gradient) {
  int *calls_left = data;
  if (*calls_left == 0) return RPINN_ERROR_NUMERIC;
  --*calls_left;
  return slope_evaluate(NULL, x, value, gradient);
}

static void failures_of_the_target_come_back(void **state) {
  (void)state;
  int calls_left = 0;
  double start = 1;
  RpinnObjective objective = {.num_parameters = 1, .data = &calls_left, .evaluate = failing_evaluate};
  RpinnAdamOptions adam_options = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs_options = rpinn_lbfgs_default_options();
  RpinnOptimizer *optimizers[] = {make_adam(&objective, &adam_options),
                                  make_lbfgs(&objective, &lbfgs_options)};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(rpinn_optimizer_advance(context, optimizers[i], 1), RPINN_ERROR_INPUT); /* not started */
    calls_left = 0;
    assert_int_equal(rpinn_optimizer_start(context, optimizers[i], &start), RPINN_ERROR_NUMERIC);
    calls_left = 5;
    assert_int_equal(rpinn_optimizer_start(context, optimizers[i], &start), RPINN_OK);
    assert_int_equal(rpinn_optimizer_advance(context, optimizers[i], 100), RPINN_ERROR_NUMERIC);
    assert_int_equal(rpinn_optimizer_advance(context, optimizers[i], 1), RPINN_ERROR_INPUT);
    rpinn_optimizer_destroy(optimizers[i]);
  }
  rpinn_optimizer_destroy(NULL);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  Chain chain = {.num_parameters = 2};
  RpinnObjective objective = chain_objective(&chain), empty = {.evaluate = chain_evaluate};
  RpinnLeastSquares problem = chain_least_squares(&chain);
  RpinnAdamOptions adam[9];
  for (size_t i = 0; i < 9; i++) adam[i] = rpinn_adam_default_options();
  adam[0].rule.learning_rate = 0;
  adam[1].rule.decay_rate = -1;
  adam[2].rule.decay_steps = 0;
  adam[3].rule.beta1 = 1;
  adam[4].rule.beta2 = -0.1;
  adam[5].rule.epsilon = (double)NAN;
  adam[6].chunk_iterations = 0;
  adam[7].stop.max_iterations = 0;
  adam[8].stop.gradient_tolerance = -1;
  RpinnOptimizer *optimizer;
  for (size_t i = 0; i < 9; i++) {
    assert_int_equal(rpinn_adam_create(context, &objective, &adam[i], &optimizer), RPINN_ERROR_INPUT);
    assert_null(optimizer);
  }
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  assert_int_equal(rpinn_lbfgs_create(context, &empty, &lbfgs, &optimizer), RPINN_ERROR_INPUT);
  lbfgs.stop.progress_tolerance = (double)NAN;
  assert_int_equal(rpinn_lbfgs_create(context, &objective, &lbfgs, &optimizer), RPINN_ERROR_INPUT);
  lbfgs = rpinn_lbfgs_default_options();
  lbfgs.memory = 0;
  assert_int_equal(rpinn_lbfgs_create(context, &objective, &lbfgs, &optimizer), RPINN_ERROR_INPUT);
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  double root[] = {1, -1};
  problem.prior_root = root;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, &problem, NULL, &lm, &optimizer),
                   RPINN_ERROR_INPUT);
  problem.prior_root = NULL;
  lm.initial_damping = 0;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, &problem, NULL, &lm, &optimizer),
                   RPINN_ERROR_INPUT);
  assert_null(optimizer);
}

static int open_context(void **state) {
  (void)state;
  context = rpinn_context_create();
  return context ? 0 : 1;
}

static int close_context(void **state) {
  (void)state;
  rpinn_context_destroy(context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rosenbrock_by_lbfgs),
                                     cmocka_unit_test(rosenbrock_by_levenberg_marquardt),
                                     cmocka_unit_test(momentum_follows_a_valley),
                                     cmocka_unit_test(small_gains_end_a_search),
                                     cmocka_unit_test(rosenbrock_by_adam),
                                     cmocka_unit_test(quadratics_by_lbfgs),
                                     cmocka_unit_test(quadratics_by_levenberg_marquardt),
                                     cmocka_unit_test(quadratic_by_adam),
                                     cmocka_unit_test(linear_by_levenberg_marquardt),
                                     cmocka_unit_test(linear_without_prior),
                                     cmocka_unit_test(prior_alone),
                                     cmocka_unit_test(linear_by_lbfgs_and_adam),
                                     cmocka_unit_test(nonlinear_in_data_space),
                                     cmocka_unit_test(adam_follows_its_schedule),
                                     cmocka_unit_test(adam_uses_the_targets_own),
                                     cmocka_unit_test(adam_keeps_its_best_point),
                                     cmocka_unit_test(trace_is_thinned_evenly),
                                     cmocka_unit_test(lbfgs_steps_back),
                                     cmocka_unit_test(levenberg_marquardt_steps_back),
                                     cmocka_unit_test(levenberg_marquardt_survives_a_failed_factorisation),
                                     cmocka_unit_test(stop_names),
                                     cmocka_unit_test(stops_when_the_start_is_not_finite),
                                     cmocka_unit_test(adam_stops_when_not_finite),
                                     cmocka_unit_test(stops_without_progress),
                                     cmocka_unit_test(stops_at_rounding),
                                     cmocka_unit_test(lbfgs_minimises_in_float),
                                     cmocka_unit_test(lbfgs_stops_when_its_search_fails),
                                     cmocka_unit_test(levenberg_marquardt_stops_at_its_damping_limit),
                                     cmocka_unit_test(resumes_bit_for_bit),
                                     cmocka_unit_test(interruptions_leave_no_mark),
                                     cmocka_unit_test(larger_budget_goes_on),
                                     cmocka_unit_test(damaged_states_are_refused),
                                     cmocka_unit_test(counts_out_of_range_are_refused),
                                     cmocka_unit_test(no_allocation_while_advancing),
                                     cmocka_unit_test(starts_again),
                                     cmocka_unit_test(lack_of_memory_is_reported),
                                     cmocka_unit_test(failures_of_the_target_come_back),
                                     cmocka_unit_test(bad_options_are_refused)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
