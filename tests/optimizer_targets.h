/* Functions to minimise whose minima are known. */
#ifndef RPINN_TESTS_OPTIMIZER_TARGETS_H
#define RPINN_TESTS_OPTIMIZER_TARGETS_H

#include "check.h"

#include "random_stream.h"
#include "rpinn/target.h"

/* ---- Rosenbrock's chain: f = sum_k 100 (x_{k+1} - x_k^2)^2 + (1 - x_k)^2, minimum 0 at (1, …, 1) ---- */

enum { MOST_PARAMETERS = 64 };

typedef struct Chain {
  size_t num_parameters, num_calls;
} Chain;

static inline RpinnStatus chain_evaluate(void *data, const double *x, double *value, double *gradient) {
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

static inline RpinnObjective chain_objective(Chain *chain) {
  return (RpinnObjective){.num_parameters = chain->num_parameters, .data = chain, .evaluate = chain_evaluate};
}

/* The same as 1/2 |r|^2 with two rows per link. */
static inline RpinnStatus chain_residuals(void *data, const double *x, double *rows) {
  Chain *chain = data;
  chain->num_calls++;
  for (size_t k = 0; k + 1 < chain->num_parameters; k++) {
    rows[2 * k] = sqrt(2) * 10 * (x[k + 1] - x[k] * x[k]);
    rows[2 * k + 1] = sqrt(2) * (1 - x[k]);
  }
  return RPINN_OK;
}

static inline RpinnStatus chain_jacobian(void *data, const double *x, double *rows, double *J) {
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

static inline RpinnLeastSquares chain_least_squares(Chain *chain) {
  return (RpinnLeastSquares){.num_parameters = chain->num_parameters,
                             .num_rows = 2 * (chain->num_parameters - 1),
                             .data = chain,
                             .residuals = chain_residuals,
                             .jacobian = chain_jacobian};
}

static inline void chain_start(size_t N, double *x) {
  for (size_t j = 0; j < N; j++) x[j] = j % 2 == 0 ? -1.2 : 1;
}

/* A target's own adam_advance, written a little differently, as a backend would. */
static inline RpinnStatus chain_adam_advance(void *data, const RpinnAdamRule *rule, RpinnAdamState *adam,
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

static inline double distance_to_ones(size_t N, const double *x) {
  double worst = 0;
  for (size_t j = 0; j < N; j++) worst = fmax(worst, fabs(x[j] - 1));
  return worst;
}

/* ---- a rotated quadratic: f = 1/2 sum_j c_j (H x - a)_j^2, H a reflection, c from 1 to condition ---- */

typedef struct Quadratic {
  size_t num_parameters;
  double condition;
} Quadratic;

static inline double quadratic_curvature(const Quadratic *quadratic, size_t j) {
  return pow(quadratic->condition, (double)j / (double)(quadratic->num_parameters - 1));
}

static inline double quadratic_center(size_t j) {
  return sin(1.0 + (double)j);
}

/* y = H x, H = I - 2 v v^T / v.v with v_j = 1 + j mod 3; H is its own inverse */
static inline void reflect(size_t N, const double *x, double *y) {
  double along = 0, square = 0;
  for (size_t j = 0; j < N; j++) {
    double v = 1 + (double)(j % 3);
    along += v * x[j];
    square += v * v;
  }
  for (size_t j = 0; j < N; j++) y[j] = x[j] - 2 * (1 + (double)(j % 3)) * along / square;
}

static inline RpinnStatus quadratic_evaluate(void *data, const double *x, double *value, double *gradient) {
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

static inline RpinnObjective quadratic_objective(Quadratic *quadratic) {
  return (RpinnObjective){
      .num_parameters = quadratic->num_parameters, .data = quadratic, .evaluate = quadratic_evaluate};
}

/* The same as rows sqrt(c_j) (H x - a)_j. */
static inline RpinnStatus quadratic_residuals(void *data, const double *x, double *rows) {
  const Quadratic *quadratic = data;
  reflect(quadratic->num_parameters, x, rows);
  for (size_t j = 0; j < quadratic->num_parameters; j++)
    rows[j] = sqrt(quadratic_curvature(quadratic, j)) * (rows[j] - quadratic_center(j));
  return RPINN_OK;
}

static inline RpinnStatus quadratic_jacobian(void *data, const double *x, double *rows, double *J) {
  const Quadratic *quadratic = data;
  size_t N = quadratic->num_parameters;
  for (size_t i = 0; i < N; i++) {
    double unit[MOST_PARAMETERS] = {0};
    unit[i] = sqrt(quadratic_curvature(quadratic, i));
    reflect(N, unit, J + i * N);
  }
  return quadratic_residuals(data, x, rows);
}

static inline double quadratic_error(const Quadratic *quadratic, const double *x) {
  double y[MOST_PARAMETERS], worst = 0;
  reflect(quadratic->num_parameters, x, y);
  for (size_t j = 0; j < quadratic->num_parameters; j++)
    worst = fmax(worst, fabs(y[j] - quadratic_center(j)));
  return worst;
}

static const Quadratic quadratics[] = {{50, 1e6}, {10, 1e8}};

/* ---- linear least squares with M << N, prior and offsets, and the closed form ---- */

enum { ROWS = 12, COLUMNS = 60 };

typedef struct Linear { /* r = A theta - y */
  double A[ROWS][COLUMNS], y[ROWS];
  double root[COLUMNS], mean[COLUMNS], offsets[ROWS + COLUMNS];
} Linear;

static inline RpinnStatus linear_residuals(void *data, const double *theta, double *rows) {
  const Linear *linear = data;
  for (size_t i = 0; i < ROWS; i++) {
    rows[i] = -linear->y[i];
    for (size_t j = 0; j < COLUMNS; j++) rows[i] += linear->A[i][j] * theta[j];
  }
  return RPINN_OK;
}

static inline RpinnStatus linear_jacobian(void *data, const double *theta, double *rows, double *J) {
  const Linear *linear = data;
  memcpy(J, linear->A, sizeof linear->A);
  return linear_residuals(data, theta, rows);
}

static inline RpinnStatus linear_times(void *data, const double *theta, const double *direction,
                                       double *product) {
  const Linear *linear = data;
  (void)theta;
  for (size_t i = 0; i < ROWS; i++) {
    product[i] = 0;
    for (size_t j = 0; j < COLUMNS; j++) product[i] += linear->A[i][j] * direction[j];
  }
  return RPINN_OK;
}

static inline RpinnStatus linear_transposed_times(void *data, const double *theta, const double *weights,
                                                  double *product) {
  const Linear *linear = data;
  (void)theta;
  for (size_t j = 0; j < COLUMNS; j++) {
    product[j] = 0;
    for (size_t i = 0; i < ROWS; i++) product[j] += linear->A[i][j] * weights[i];
  }
  return RPINN_OK;
}

static inline RpinnStatus linear_gram(void *data, const double *theta, const double *scale, double *rows,
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

static inline void linear_fill(Linear *linear, LinearPrior prior) {
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

static inline RpinnLeastSquares linear_least_squares(Linear *linear, bool products) {
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
static inline void linear_closed_form(const Linear *linear, double *theta) {
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

/* ---- where the loss is not finite everywhere ---- */

/* f = sum x - log x, minimum at 1; not a number for x < 0. */
static inline RpinnStatus barrier_evaluate(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  *value = 0;
  for (size_t j = 0; j < 3; j++) {
    *value += x[j] - log(x[j]);
    if (gradient) gradient[j] = 1 - 1 / x[j];
  }
  return RPINN_OK;
}

static const RpinnObjective barrier = {.num_parameters = 3, .evaluate = barrier_evaluate};

/* r = log x: from x = 100 the full step goes to -360. */
static inline RpinnStatus log_residuals(void *data, const double *x, double *rows) {
  (void)data;
  rows[0] = log(x[0]);
  return RPINN_OK;
}

static inline RpinnStatus log_jacobian(void *data, const double *x, double *rows, double *J) {
  J[0] = 1 / x[0];
  return log_residuals(data, x, rows);
}

static const RpinnLeastSquares log_problem = {
    .num_parameters = 1, .num_rows = 1, .residuals = log_residuals, .jacobian = log_jacobian};

/* ---- a slope: f = 3 x ---- */

static inline RpinnStatus slope_evaluate(void *data, const double *theta, double *value, double *gradient) {
  (void)data;
  *value = 3 * theta[0];
  if (gradient) gradient[0] = 3;
  return RPINN_OK;
}

#endif
