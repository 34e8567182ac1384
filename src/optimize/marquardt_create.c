/* Levenberg–Marquardt is made: its options, the form that its steps have, its memory, and the prior of its member. */
#include <math.h>

#include "blas_threads.h"
#include "dense_algebra.h"
#include "marquardt.h"
#include "target_check.h"

/* The next linearisation makes good what conjugate gradients leave of a step. */
static const double step_tolerance = 0.1;
enum { MAX_STEP_ITERATIONS = 100 };

RpinnLevenbergMarquardtOptions rpinn_levenberg_marquardt_default_options(void) {
  return (RpinnLevenbergMarquardtOptions){.stop = {.max_iterations = 200,
                                                   .gradient_tolerance = 1e-6,
                                                   .progress_window = 20,
                                                   .progress_tolerance = 1e-8},
                                          .initial_damping = 1e-3,
                                          .max_dense_rows = RPINN_MAX_DENSE_ROWS};
}

static RpinnStatus check_options(RpinnContext *context, const RpinnLevenbergMarquardtOptions *options) {
  if (options->initial_damping > 0 && options->initial_damping < rpinn_marquardt_most_damping)
    return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "initial_damping is %g, expected a number between 0 and %g",
                    options->initial_damping, rpinn_marquardt_most_damping);
}

/* ---- the form of its steps ---- */

static bool is_matrix_free(size_t num_rows, bool has_products,
                           const RpinnLevenbergMarquardtOptions *options) {
  size_t limit = options->max_dense_rows ? options->max_dense_rows : RPINN_MAX_DENSE_ROWS;
  return num_rows > limit && has_products;
}

bool rpinn_levenberg_marquardt_is_matrix_free(const RpinnLeastSquares *problem,
                                              const RpinnLevenbergMarquardtOptions *options) {
  return is_matrix_free(problem->num_rows, problem->jacobian_times && problem->transposed_times, options);
}

static RpinnMarquardtForm form_of(const RpinnBatchLeastSquares *squares,
                                  const RpinnLevenbergMarquardtOptions *options) {
  bool has_products = squares->jacobian_times && squares->transposed_times;
  if (is_matrix_free(squares->num_rows, has_products, options)) return RPINN_MARQUARDT_NO_MATRIX;
  if (squares->num_rows > squares->num_parameters) return RPINN_MARQUARDT_NORMAL;
  return squares->damped_steps && squares->transposed_times ? RPINN_MARQUARDT_BY_TARGET
                                                            : RPINN_MARQUARDT_IN_DATA;
}

/* ---- memory ---- */

static RpinnMarquardtPoint allocate_point(RpinnMarquardt *self, double *theta, bool *failed) {
  size_t M = self->squares.num_rows, N = self->squares.num_parameters;
  return (RpinnMarquardtPoint){.theta = theta ? theta : rpinn_optimizer_numbers(&self->base, N, failed),
                               .rows = rpinn_optimizer_numbers(&self->base, M, failed),
                               .prior_rows = rpinn_optimizer_numbers(&self->base, N, failed)};
}

static void allocate_equations(RpinnMarquardt *self, bool *failed) {
  size_t N = self->squares.num_parameters;
  self->equations = (RpinnNormalEquations){.request = &self->base.request,
                                           .num_parameters = N,
                                           .theta = self->base.theta,
                                           .inverse = self->inverse,
                                           .tolerance = step_tolerance,
                                           .max_iterations = MAX_STEP_ITERATIONS,
                                           .residual = rpinn_optimizer_numbers(&self->base, N, failed),
                                           .direction = rpinn_optimizer_numbers(&self->base, N, failed),
                                           .product = self->product,
                                           .rows = self->remaining};
}

static void allocate_matrices(RpinnMarquardt *self, bool *failed) {
  const RpinnBatchLeastSquares *squares = &self->squares;
  size_t M = squares->num_rows, N = squares->num_parameters, n = M < N ? M : N;
  bool by_products = self->form == RPINN_MARQUARDT_IN_DATA && squares->gram && squares->jacobian_times &&
                     squares->transposed_times;
  if (M > 0 && N > SIZE_MAX / sizeof(double) / M) *failed = true;
  if (*failed) return;
  self->gram = rpinn_optimizer_numbers(&self->base, n * n, failed);
  self->factor = rpinn_optimizer_numbers(&self->base, n * n, failed);
  if (by_products) return;
  self->jacobian = rpinn_optimizer_numbers(&self->base, M * N, failed);
  self->block = rpinn_optimizer_numbers(&self->base, M * RPINN_DENSE_BLOCK, failed);
}

static bool allocate(RpinnMarquardt *self) {
  size_t M = self->squares.num_rows, N = self->squares.num_parameters;
  bool failed = false;
  double **const of_parameters[] = {&self->prior_square, &self->base_inverse, &self->scale,  &self->gradient,
                                    &self->inverse,      &self->step,         &self->product};
  for (size_t i = 0; i < sizeof of_parameters / sizeof of_parameters[0]; i++)
    *of_parameters[i] = rpinn_optimizer_numbers(&self->base, N, &failed);
  self->remaining = rpinn_optimizer_numbers(&self->base, M, &failed);
  self->here = allocate_point(self, self->base.theta, &failed);
  self->trial = allocate_point(self, NULL, &failed);
  if (self->has_momentum) self->way = rpinn_optimizer_numbers(&self->base, N, &failed);
  if (self->has_momentum || self->has_acceleration) self->far = allocate_point(self, NULL, &failed);
  if (self->form == RPINN_MARQUARDT_NO_MATRIX)
    allocate_equations(self, &failed);
  else if (self->form != RPINN_MARQUARDT_BY_TARGET)
    allocate_matrices(self, &failed);
  return !failed;
}

/* ---- the prior ---- */

/* P^2 and 1/B, which stay the same; false when a prior root is not a number >= 0. */
static bool prepare_prior(RpinnMarquardt *self) {
  const double *root = self->prior_root;
  size_t N = self->squares.num_parameters, num_prior = 0;
  double sum = 0;
  for (size_t j = 0; root && j < N; j++) {
    if (!(root[j] >= 0 && isfinite(root[j]))) return false;
    self->prior_square[j] = root[j] * root[j];
    sum += self->prior_square[j];
    num_prior += self->prior_square[j] > 0;
  }
  if (num_prior == 0) self->prior_root = NULL;
  self->has_partial_prior = num_prior > 0 && num_prior < N;
  double mean = num_prior > 0 ? sum / (double)num_prior : 1;
  for (size_t j = 0; j < N; j++)
    self->base_inverse[j] = 1 / (self->prior_square[j] > 0 ? self->prior_square[j] : mean);
  return true;
}

/* ---- creation ---- */

static void fill(RpinnMarquardt *self, const RpinnBatchLeastSquares *squares, size_t member,
                 const double *offsets, const RpinnLevenbergMarquardtOptions *options) {
  RpinnOptimizer *base = &self->base;
  self->squares = *squares;
  self->prior_root = squares->prior_root ? squares->prior_root(squares->data, member) : NULL;
  self->offsets = offsets;
  self->initial_damping = options->initial_damping;
  self->has_momentum = options->momentum;
  self->form = form_of(squares, options);
  self->has_acceleration = options->acceleration && rpinn_marquardt_has_factor(self->form);
  base->request = (RpinnRequest){.target = {.squares = &self->squares}, .member = member};
  base->shape[0] = squares->num_rows;
  base->shape[1] = (uint64_t)options->momentum + 2 * (uint64_t)self->has_acceleration;
}

RpinnStatus rpinn_levenberg_marquardt_create_member(RpinnContext *context,
                                                    const RpinnBatchLeastSquares *squares, size_t member,
                                                    const double *offsets,
                                                    const RpinnLevenbergMarquardtOptions *options,
                                                    RpinnOptimizer **optimizer) {
  *optimizer = NULL;
  RPINN_TRY(rpinn_batch_least_squares_check(context, squares));
  RPINN_TRY(check_options(context, options));
  if (squares->num_rows > INT32_MAX)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu rows are too many", squares->num_rows);
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  RpinnOptimizer *base;
  RPINN_TRY(rpinn_optimizer_create(context, &rpinn_marquardt_method, sizeof(RpinnMarquardt), &options->stop,
                                   squares->num_parameters, false, &base));
  RpinnMarquardt *self = (RpinnMarquardt *)base;
  RpinnStatus status = RPINN_OK;
  fill(self, squares, member, offsets, options);
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

RpinnStatus rpinn_levenberg_marquardt_create(RpinnContext *context, const RpinnLeastSquares *problem,
                                             const double *offsets,
                                             const RpinnLevenbergMarquardtOptions *options,
                                             RpinnOptimizer **optimizer) {
  RpinnBatchLeastSquares batch = rpinn_least_squares_as_batch(problem);
  RPINN_TRY(rpinn_levenberg_marquardt_create_member(context, &batch, 0, offsets, options, optimizer));
  RpinnMarquardt *self = (RpinnMarquardt *)*optimizer;
  self->single = *problem;
  self->squares.data = &self->single;
  return RPINN_OK;
}
