/* Levenberg–Marquardt for E of rpinn/target.h:
 *
 *   r = rows - xi_r [M],  p = P (theta - mu) - xi_p [N],  E = 1/2 |r|^2 + 1/2 |p|^2,  g = J^T r + P p
 *   step d:      (J^T J + A) d = -g,   A = P^2 + lambda D, diagonal
 *   predicted:   E's quadratic model falls by 1/2 d.(lambda D d - g)
 *   ratio = (E(theta) - E(theta + d)) / predicted
 *   E falls:     take d,  lambda *= max(1/3, 1 - (2 ratio - 1)^3),  nu = 2
 *   otherwise:   stay,    lambda *= nu,  nu *= 2                          (Nielsen 1999)
 *
 * N < M: the normal equations [N][N] as they stand.
 * M <= N: the same step in data space. With y = r + J d, the rows that the linear model leaves,
 *
 *   (I + J A^-1 J^T) y = r - J A^-1 P p  [M][M],    d = -A^-1 (P p + J^T y).
 *
 * Unlike Woodbury's formula applied to g, it subtracts no large terms that nearly cancel where A is small.
 *
 * Momentum, where it is asked for: with w the way of the iteration before, a step d that lowers E is tried as d + beta w, with beta
 * doubling as long as E falls, and beta for the next time is the last that did. In a curved valley the steps are short and much
 * alike; rows are far cheaper than a linearisation.
 *
 * Many rows: neither matrix is made. Above max_dense_rows, where the target offers both products, the step is that of conjugate
 * gradients (normal_equations.h), as far as they went: J, J^T J and J J^T are never formed, and memory is O(M + N).
 *
 * The damping D. For N < M it follows the squared column norms, D_j = max(|J_j|^2 + P_j^2, 0.9 D_j of the
 * last point): the steps do not depend on the units of the parameters, which may differ by many orders of
 * magnitude in curve fits. Moré (1978) keeps the largest norm of all points, so that a parameter cannot run
 * away where the rows cease to depend on it; but then one wild point holds it still for ever (MGH10 of NIST).
 * Forgetting slowly does both. In data space columns are many and need not be known; the prior tells the
 * units instead:
 *
 *   D_j = unit * B_j,  B_j = P_j^2,  or the mean of the P^2 > 0 where P_j = 0,  or 1 without any prior
 *
 * with unit = trace(J B^-1 J^T) / M at the start, so that lambda is relative to the size of the problem in
 * either case; with conjugate gradients, which serve all shapes with this D, the trace is |B^-1/2 J^T w|^2 for signs w = +-1, whose
 * mean it is. It is positive with and without prior. When all parameters have a prior, or none has, A is a
 * multiple of B: J A^-1 J^T is one matrix divided by a number, and a rejected step costs a factorisation but
 * no new product. */
#include <math.h>
#include <string.h>

#include "blas_threads.h"
#include "dense_algebra.h"
#include "normal_equations.h"
#include "optimizer.h"
#include "random_stream.h"
#include "target_check.h"

static const double least_damping = 1e-16, most_damping = 1e16, first_growth = 2;
static const double scale_memory = 0.9;
/* The next linearisation makes good what conjugate gradients leave of a step. */
static const double step_tolerance = 0.1;
enum { MAX_STEP_ITERATIONS = 100, MAX_MOMENTUM_TRIES = 3 };
static const double first_momentum = 0.5, least_momentum = 0.05, most_momentum = 8;

typedef struct LevenbergMarquardt {
  RpinnOptimizer base;
  RpinnLeastSquares problem;
  const double *offsets; /* [M+N] or NULL */
  double initial_damping;
  bool by_gradients;  /* conjugate ones: no matrix at all */
  bool in_data_space; /* M <= N, with matrices */
  bool by_products;   /* no dense Jacobian: the target's own products */
  bool partial_prior; /* a prior on some parameters only */
  bool has_momentum;
  double *prior_square; /* P^2 [N] */
  double *base_inverse; /* 1/B [N] */
  /* ---- saved ---- */
  double damping, growth; /* lambda, nu */
  double unit;
  double *scale;   /* D [N] */
  double momentum; /* beta */
  double *way;     /* w [N]; NULL without momentum */
  /* ---- derived from theta ---- */
  bool linearised;
  double *rows, *prior_rows; /* r [M], p [N] */
  double *jacobian;          /* [M][N], NULL when by_products */
  double *gradient;          /* [N] */
  double *gram;              /* order n = min(M, N): J^T J, or J B^-1 J^T */
  /* ---- of one trial ---- */
  double *factor;         /* [n][n] */
  double *inverse;        /* A^-1 [N] */
  double *remaining;      /* y [M] */
  double *step, *product; /* [N] */
  double *trial_theta, *trial_rows, *trial_prior_rows;
  double *block;                                 /* [M * RPINN_DENSE_BLOCK] */
  double *far_theta, *far_rows, *far_prior_rows; /* with momentum */
  RpinnNormalEquations equations;
} LevenbergMarquardt;

/* ---- the point ---- */

/* r, p and E at theta. */
static RpinnStatus evaluate(LevenbergMarquardt *self, const double *theta, double *rows, double *prior_rows,
                            double *loss) {
  const RpinnLeastSquares *problem = &self->problem;
  size_t M = problem->num_rows, N = problem->num_parameters;
  double sum = 0;
  self->base.called = "residuals";
  RPINN_TRY(problem->residuals(problem->data, theta, rows));
  for (size_t i = 0; i < M; i++) {
    if (self->offsets) rows[i] -= self->offsets[i];
    sum += rows[i] * rows[i];
  }
  for (size_t j = 0; problem->prior_root && j < N; j++) {
    double root = problem->prior_root[j];
    if (root == 0) continue; /* no row, and its offset counts for nothing; prior_rows stays zero */
    prior_rows[j] = root * (theta[j] - (problem->prior_mean ? problem->prior_mean[j] : 0));
    if (self->offsets) prior_rows[j] -= self->offsets[M + j];
    sum += prior_rows[j] * prior_rows[j];
  }
  *loss = 0.5 * sum;
  return RPINN_OK;
}

static double prior_pull(const LevenbergMarquardt *self, size_t j) { /* (P p)_j */
  return self->problem.prior_root ? self->problem.prior_root[j] * self->prior_rows[j] : 0;
}

static RpinnStatus times(LevenbergMarquardt *self, const double *direction, double *product) {
  const RpinnLeastSquares *problem = &self->problem;
  self->base.called = "jacobian_times";
  if (!self->jacobian) return problem->jacobian_times(problem->data, self->base.theta, direction, product);
  rpinn_dense_times(problem->num_rows, problem->num_parameters, self->jacobian, direction, product);
  return RPINN_OK;
}

static RpinnStatus transposed_times(LevenbergMarquardt *self, const double *weights, double *product) {
  const RpinnLeastSquares *problem = &self->problem;
  self->base.called = "transposed_times";
  if (!self->jacobian) return problem->transposed_times(problem->data, self->base.theta, weights, product);
  rpinn_dense_transposed_times(problem->num_rows, problem->num_parameters, self->jacobian, weights, product);
  return RPINN_OK;
}

/* gram = J diag(inverse) J^T, or J J^T when inverse is NULL */
static RpinnStatus data_gram(LevenbergMarquardt *self, const double *inverse) {
  const RpinnLeastSquares *problem = &self->problem;
  self->base.called = "gram";
  if (self->by_products) /* the rows are known; it writes them to y, which is not in use yet */
    return problem->gram(problem->data, self->base.theta, inverse, self->remaining, self->gram);
  rpinn_dense_gram(problem->num_rows, problem->num_parameters, self->jacobian, inverse, self->block,
                   self->gram);
  return RPINN_OK;
}

/* ---- linearisation ---- */

static void follow_scale(LevenbergMarquardt *self) {
  size_t N = self->problem.num_parameters;
  for (size_t j = 0; j < N; j++)
    self->scale[j] = fmax(scale_memory * self->scale[j], self->gram[j * N + j] + self->prior_square[j]);
}

/* J, its products and the gradient at theta, whose r and p are known. */
static RpinnStatus linearise(LevenbergMarquardt *self) {
  const RpinnLeastSquares *problem = &self->problem;
  size_t M = problem->num_rows, N = problem->num_parameters;
  self->base.called = "jacobian";
  if (self->jacobian)
    RPINN_TRY(problem->jacobian(problem->data, self->base.theta, self->remaining, self->jacobian));
  RPINN_TRY(transposed_times(self, self->rows, self->gradient));
  for (size_t j = 0; j < N; j++) self->gradient[j] += prior_pull(self, j);
  self->linearised = true;
  if (self->by_gradients) return RPINN_OK;
  if (!self->in_data_space)
    rpinn_dense_normal(M, N, self->jacobian, self->gram);
  else if (!self->partial_prior) /* otherwise it is different for every damping */
    RPINN_TRY(data_gram(self, problem->prior_root ? self->base_inverse : NULL));
  return RPINN_OK;
}

/* trace(J B^-1 J^T), exactly or as drawn */
static RpinnStatus measure_trace(LevenbergMarquardt *self, double *trace) {
  size_t M = self->problem.num_rows, N = self->problem.num_parameters;
  *trace = 0;
  if (self->by_gradients) {
    RpinnStream stream = rpinn_stream(0, RPINN_PURPOSE_SIGNS, 0, 0);
    rpinn_stream_normals(&stream, M, self->remaining);
    for (size_t i = 0; i < M; i++) self->remaining[i] = self->remaining[i] < 0 ? -1 : 1;
    RPINN_TRY(transposed_times(self, self->remaining, self->product));
    for (size_t j = 0; j < N; j++) *trace += self->product[j] * self->base_inverse[j] * self->product[j];
    return RPINN_OK;
  }
  if (self->partial_prior) RPINN_TRY(data_gram(self, self->base_inverse));
  for (size_t i = 0; i < M; i++) *trace += self->gram[i * M + i];
  return RPINN_OK;
}

static RpinnStatus choose_unit(LevenbergMarquardt *self) {
  size_t M = self->problem.num_rows, N = self->problem.num_parameters;
  double trace;
  RPINN_TRY(measure_trace(self, &trace));
  self->unit = trace > 0 && isfinite(trace) ? trace / (double)M : 1;
  for (size_t j = 0; j < N; j++) self->scale[j] = self->unit / self->base_inverse[j];
  return RPINN_OK;
}

static double gradient_norm(const LevenbergMarquardt *self) {
  return rpinn_dense_norm(self->problem.num_parameters, self->gradient);
}

static RpinnStatus begin(RpinnOptimizer *optimizer) {
  LevenbergMarquardt *self = (LevenbergMarquardt *)optimizer;
  double loss;
  self->damping = self->initial_damping;
  self->growth = first_growth;
  self->unit = 1;
  self->linearised = false;
  self->momentum = first_momentum;
  for (size_t j = 0; j < optimizer->num_parameters; j++) self->scale[j] = 0;
  for (size_t j = 0; self->has_momentum && j < optimizer->num_parameters; j++) self->way[j] = 0;
  RPINN_TRY(evaluate(self, optimizer->theta, self->rows, self->prior_rows, &loss));
  optimizer->num_evaluations++;
  RPINN_TRY(linearise(self));
  if (self->in_data_space || self->by_gradients)
    RPINN_TRY(choose_unit(self));
  else
    follow_scale(self);
  rpinn_optimizer_note(optimizer, loss, gradient_norm(self));
  return RPINN_OK;
}

/* ---- one trial step ---- */

/* D_j; a parameter that no row has depended on so far may have any positive one. */
static double damping_scale(const LevenbergMarquardt *self, size_t j) {
  return self->scale[j] > 0 ? self->scale[j] : 1;
}

static bool solve_normal(LevenbergMarquardt *self) {
  size_t N = self->problem.num_parameters;
  memcpy(self->factor, self->gram, N * N * sizeof(double));
  for (size_t j = 0; j < N; j++) {
    self->factor[j * N + j] += self->prior_square[j] + self->damping * damping_scale(self, j);
    self->step[j] = -self->gradient[j];
  }
  return rpinn_dense_solve(N, self->factor, self->step);
}

/* factor = I + J A^-1 J^T and inverse = A^-1 */
static RpinnStatus data_matrix(LevenbergMarquardt *self) {
  size_t M = self->problem.num_rows, N = self->problem.num_parameters;
  double divisor = 1;
  for (size_t j = 0; j < N; j++)
    self->inverse[j] = 1 / (self->prior_square[j] + self->damping * damping_scale(self, j));
  if (self->partial_prior)
    RPINN_TRY(data_gram(self, self->inverse));
  else
    divisor = (self->problem.prior_root ? 1 : 0) + self->damping * self->unit; /* A = divisor * B */
  for (size_t i = 0; i < M * M; i++) self->factor[i] = self->gram[i] / divisor;
  for (size_t i = 0; i < M; i++) self->factor[i * M + i] += 1;
  return RPINN_OK;
}

static RpinnStatus solve_in_data_space(LevenbergMarquardt *self, bool *solved) {
  size_t M = self->problem.num_rows, N = self->problem.num_parameters;
  RPINN_TRY(data_matrix(self));
  memcpy(self->remaining, self->rows, M * sizeof(double));
  if (self->problem.prior_root) {
    for (size_t j = 0; j < N; j++) self->step[j] = self->inverse[j] * prior_pull(self, j);
    RPINN_TRY(times(self, self->step, self->trial_rows));
    for (size_t i = 0; i < M; i++) self->remaining[i] -= self->trial_rows[i];
  }
  *solved = rpinn_dense_solve(M, self->factor, self->remaining);
  if (!*solved) return RPINN_OK;
  RPINN_TRY(transposed_times(self, self->remaining, self->product));
  for (size_t j = 0; j < N; j++) self->step[j] = -self->inverse[j] * (prior_pull(self, j) + self->product[j]);
  return RPINN_OK;
}

static RpinnStatus solve_by_gradients(LevenbergMarquardt *self, bool *solved) {
  size_t N = self->problem.num_parameters;
  for (size_t j = 0; j < N; j++) {
    self->inverse[j] = 1 / (self->prior_square[j] + self->damping * damping_scale(self, j));
    self->trial_theta[j] = -self->gradient[j];
  }
  self->equations.theta = self->base.theta;
  return rpinn_normal_equations_solve(&self->equations, self->trial_theta, self->step, solved);
}

static double predict_decrease(const LevenbergMarquardt *self) {
  double sum = 0;
  for (size_t j = 0; j < self->problem.num_parameters; j++) {
    double d = self->step[j];
    sum += d * (self->damping * damping_scale(self, j) * d - self->gradient[j]);
  }
  return 0.5 * sum;
}

/* The step and the decrease predicted for it; *solved is false when there is none to be had at this damping.
 */
static RpinnStatus solve(LevenbergMarquardt *self, double *predicted, bool *solved) {
  if (self->by_gradients)
    RPINN_TRY(solve_by_gradients(self, solved));
  else if (self->in_data_space)
    RPINN_TRY(solve_in_data_space(self, solved));
  else
    *solved = solve_normal(self);
  *predicted = *solved ? predict_decrease(self) : 0;
  if (!(*predicted > 0 && isfinite(*predicted))) *solved = false;
  return RPINN_OK;
}

static void swap(double **a, double **b) {
  double *kept = *a;
  *a = *b;
  *b = kept;
}

static RpinnStatus accept(LevenbergMarquardt *self, double loss, double predicted) {
  RpinnOptimizer *base = &self->base;
  double excess = 2 * (base->loss - loss) / predicted - 1;
  self->damping = fmax(least_damping, self->damping * fmax(1.0 / 3, 1 - excess * excess * excess));
  self->growth = first_growth;
  memcpy(base->theta, self->trial_theta, base->num_parameters * sizeof(double));
  swap(&self->rows, &self->trial_rows);
  swap(&self->prior_rows, &self->trial_prior_rows);
  self->linearised = false;
  RPINN_TRY(linearise(self));
  if (!self->in_data_space && !self->by_gradients) follow_scale(self);
  rpinn_optimizer_note(base, loss, gradient_norm(self));
  return RPINN_OK;
}

static void reject(LevenbergMarquardt *self, double trial_loss, double predicted) {
  RpinnOptimizer *base = &self->base;
  double rounding = RPINN_LOSS_ROUNDING * base->loss;
  self->damping *= self->growth;
  self->growth *= 2;
  rpinn_optimizer_note(base, base->loss, base->gradient_norm);
  if (base->stop != RPINN_STOP_RUNNING) return;
  if (predicted <= rounding && fabs(trial_loss - base->loss) <= rounding)
    base->stop = RPINN_STOP_NO_PROGRESS; /* nothing was promised that could be measured, and nothing came */
  else if (self->damping > most_damping)
    base->stop = RPINN_STOP_DAMPING_LIMIT;
}

static RpinnStatus try_step(LevenbergMarquardt *self, double *loss) {
  size_t N = self->problem.num_parameters;
  for (size_t j = 0; j < N; j++) self->trial_theta[j] = self->base.theta[j] + self->step[j];
  self->base.num_evaluations++;
  return evaluate(self, self->trial_theta, self->trial_rows, self->trial_prior_rows, loss);
}

/* The trial that lowers E to *loss, and beyond it. */
static RpinnStatus go_on(LevenbergMarquardt *self, double *loss) {
  size_t N = self->problem.num_parameters, tries = 0;
  for (double beta = self->momentum; tries < MAX_MOMENTUM_TRIES && beta <= most_momentum;
       beta *= 2, tries++) {
    double far;
    for (size_t j = 0; j < N; j++)
      self->far_theta[j] = self->base.theta[j] + self->step[j] + beta * self->way[j];
    self->base.num_evaluations++;
    RPINN_TRY(evaluate(self, self->far_theta, self->far_rows, self->far_prior_rows, &far));
    if (!(far < *loss)) break;
    *loss = far;
    self->momentum = beta;
    swap(&self->far_theta, &self->trial_theta);
    swap(&self->far_rows, &self->trial_rows);
    swap(&self->far_prior_rows, &self->trial_prior_rows);
  }
  if (tries == 0) self->momentum = fmax(least_momentum, 0.5 * self->momentum);
  for (size_t j = 0; j < N; j++) self->way[j] = self->trial_theta[j] - self->base.theta[j];
  return RPINN_OK;
}

/* What a restored state leaves out, from theta. It is not counted: the run that was saved had it. */
static RpinnStatus catch_up(LevenbergMarquardt *self) {
  double loss;
  RPINN_TRY(evaluate(self, self->base.theta, self->rows, self->prior_rows, &loss));
  return linearise(self);
}

static RpinnStatus iterate(RpinnOptimizer *optimizer, size_t most) {
  (void)most;
  LevenbergMarquardt *self = (LevenbergMarquardt *)optimizer;
  double predicted, loss = HUGE_VAL;
  bool solved;
  if (!self->linearised) RPINN_TRY(catch_up(self));
  RPINN_TRY(solve(self, &predicted, &solved));
  if (solved) RPINN_TRY(try_step(self, &loss));
  optimizer->num_iterations++;
  if (self->has_momentum && loss < optimizer->loss) RPINN_TRY(go_on(self, &loss));
  if (loss < optimizer->loss) return accept(self, loss, predicted);
  reject(self, loss, predicted);
  return RPINN_OK;
}

/* ---- state and creation ---- */

static void transfer(RpinnOptimizer *optimizer, RpinnStateCursor *cursor) {
  LevenbergMarquardt *self = (LevenbergMarquardt *)optimizer;
  rpinn_state_numbers(cursor, &self->damping, 1);
  rpinn_state_numbers(cursor, &self->growth, 1);
  rpinn_state_numbers(cursor, &self->unit, 1);
  rpinn_state_numbers(cursor, self->scale, optimizer->num_parameters);
  if (!self->has_momentum) return;
  rpinn_state_numbers(cursor, &self->momentum, 1);
  rpinn_state_numbers(cursor, self->way, optimizer->num_parameters);
}

static bool restored(RpinnOptimizer *optimizer) {
  LevenbergMarquardt *self = (LevenbergMarquardt *)optimizer;
  self->linearised = false;
  return self->damping > 0 && self->growth > 0 && self->unit > 0 &&
         (!self->has_momentum || self->momentum > 0);
}

static const RpinnOptimizerMethod levenberg_marquardt_method = {.code = 3,
                                                                .begin_at_once = begin,
                                                                .iterate_at_once = iterate,
                                                                .transfer = transfer,
                                                                .restored = restored};

RpinnLevenbergMarquardtOptions rpinn_levenberg_marquardt_default_options(void) {
  return (RpinnLevenbergMarquardtOptions){.stop = {.max_iterations = 200,
                                                   .gradient_tolerance = 1e-6,
                                                   .progress_window = 20,
                                                   .progress_tolerance = 1e-8},
                                          .initial_damping = 1e-3,
                                          .max_dense_rows = RPINN_MAX_DENSE_ROWS};
}

static bool allocate(LevenbergMarquardt *self) {
  RpinnOptimizer *base = &self->base;
  size_t M = self->problem.num_rows, N = self->problem.num_parameters, n = M < N ? M : N;
  bool failed = !self->by_gradients && M > 0 && N > SIZE_MAX / sizeof(double) / M;
  if (failed) return false;
  double **const of_parameters[] = {
      &self->prior_square, &self->base_inverse, &self->scale,   &self->prior_rows,  &self->gradient,
      &self->inverse,      &self->step,         &self->product, &self->trial_theta, &self->trial_prior_rows};
  for (size_t i = 0; i < sizeof of_parameters / sizeof of_parameters[0]; i++)
    *of_parameters[i] = rpinn_optimizer_numbers(base, N, &failed);
  self->rows = rpinn_optimizer_numbers(base, M, &failed);
  self->trial_rows = rpinn_optimizer_numbers(base, M, &failed);
  self->remaining = rpinn_optimizer_numbers(base, M, &failed);
  if (self->has_momentum) {
    self->way = rpinn_optimizer_numbers(base, N, &failed);
    self->far_theta = rpinn_optimizer_numbers(base, N, &failed);
    self->far_rows = rpinn_optimizer_numbers(base, M, &failed);
    self->far_prior_rows = rpinn_optimizer_numbers(base, N, &failed);
  }
  if (self->by_gradients) {
    self->equations = (RpinnNormalEquations){.problem = &self->problem,
                                             .inverse = self->inverse,
                                             .tolerance = step_tolerance,
                                             .max_iterations = MAX_STEP_ITERATIONS,
                                             .residual = rpinn_optimizer_numbers(base, N, &failed),
                                             .direction = rpinn_optimizer_numbers(base, N, &failed),
                                             .product = self->product,
                                             .rows = self->remaining,
                                             .called = &base->called};
    return !failed;
  }
  self->gram = rpinn_optimizer_numbers(base, n * n, &failed);
  self->factor = rpinn_optimizer_numbers(base, n * n, &failed);
  if (!self->by_products) {
    self->jacobian = rpinn_optimizer_numbers(base, M * N, &failed);
    self->block = rpinn_optimizer_numbers(base, M * RPINN_DENSE_BLOCK, &failed);
  }
  return !failed;
}

/* P^2 and 1/B, which stay the same; false when a prior root is not a number >= 0. */
static bool prepare_prior(LevenbergMarquardt *self) {
  const double *root = self->problem.prior_root;
  size_t N = self->problem.num_parameters, num_prior = 0;
  double sum = 0;
  for (size_t j = 0; root && j < N; j++) {
    if (!(root[j] >= 0 && isfinite(root[j]))) return false;
    self->prior_square[j] = root[j] * root[j];
    sum += self->prior_square[j];
    num_prior += self->prior_square[j] > 0;
  }
  if (num_prior == 0) self->problem.prior_root = NULL;
  self->partial_prior = num_prior > 0 && num_prior < N;
  double mean = num_prior > 0 ? sum / (double)num_prior : 1;
  for (size_t j = 0; j < N; j++)
    self->base_inverse[j] = 1 / (self->prior_square[j] > 0 ? self->prior_square[j] : mean);
  return true;
}

bool rpinn_levenberg_marquardt_is_matrix_free(const RpinnLeastSquares *problem,
                                              const RpinnLevenbergMarquardtOptions *options) {
  size_t limit = options->max_dense_rows ? options->max_dense_rows : RPINN_MAX_DENSE_ROWS;
  return problem->num_rows > limit && problem->jacobian_times && problem->transposed_times;
}

RpinnStatus rpinn_levenberg_marquardt_create(RpinnContext *context, const RpinnLeastSquares *problem,
                                             const double *offsets,
                                             const RpinnLevenbergMarquardtOptions *options,
                                             RpinnOptimizer **optimizer) {
  *optimizer = NULL;
  RPINN_TRY(rpinn_least_squares_check(context, problem));
  if (!(options->initial_damping > 0 && options->initial_damping < most_damping))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "initial_damping is %g, expected a number between 0 and %g",
                      options->initial_damping, most_damping);
  if (problem->num_rows > INT32_MAX)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu rows are too many", problem->num_rows);
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  RpinnOptimizer *base;
  RPINN_TRY(rpinn_optimizer_create(context, &levenberg_marquardt_method, sizeof(LevenbergMarquardt),
                                   &options->stop, problem->num_parameters, false, &base));
  LevenbergMarquardt *self = (LevenbergMarquardt *)base;
  self->problem = *problem;
  self->offsets = offsets;
  self->initial_damping = options->initial_damping;
  self->has_momentum = options->momentum;
  self->by_gradients = rpinn_levenberg_marquardt_is_matrix_free(problem, options);
  self->in_data_space = !self->by_gradients && problem->num_rows <= problem->num_parameters;
  self->by_products =
      self->in_data_space && problem->gram && problem->jacobian_times && problem->transposed_times;
  base->shape[0] = problem->num_rows;
  base->shape[1] = options->momentum;
  RpinnStatus status = RPINN_OK;
  if (!allocate(self))
    status = rpinn_fail_memory(context);
  else if (!prepare_prior(self))
    status = rpinn_fail(context, RPINN_ERROR_INPUT, "a prior root is negative or not finite");
  if (status == RPINN_OK)
    *optimizer = base;
  else
    rpinn_optimizer_destroy(base);
  return status;
}
