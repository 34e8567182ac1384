/* The step d of (J^T J + A) d = -g, A = P^2 + lambda D, in three forms.
 *
 * N < M: the normal equations [N][N] as they stand.
 * M <= N: the same step in data space. With y = r + J d, the rows that the linear model leaves,
 *
 *   (I + J A^-1 J^T) y = r - J A^-1 P p  [M][M],    d = -A^-1 (P p + J^T y).
 *
 * Unlike Woodbury's formula applied to g, it subtracts no large terms that nearly cancel where A is small. When all parameters
 * have a prior, or none has, A is a multiple of B: J A^-1 J^T is one matrix divided by a number, and a rejected step costs a
 * factorisation but no new product. A target that has damped_steps does the same by itself, from theta on for every damping, so
 * that neither J nor a matrix comes here.
 *
 * Many rows: neither matrix is made. Above max_dense_rows, where the target offers both products, the step is that of conjugate
 * gradients (normal_equations.h), as far as they went: J, J^T J and J J^T are never formed, and memory is O(M + N). */
#include <string.h>

#include "dense_algebra.h"
#include "marquardt.h"

static bool solve_normal(RpinnMarquardt *self) {
  size_t N = self->squares.num_parameters;
  memcpy(self->factor, self->gram, N * N * sizeof(double));
  for (size_t j = 0; j < N; j++) {
    self->factor[j * N + j] += self->prior_square[j] + self->damping * rpinn_marquardt_damping_scale(self, j);
    self->step[j] = -self->gradient[j];
  }
  return rpinn_dense_solve(N, self->factor, self->step);
}

/* A = divisor * B, unless only some parameters have a prior. */
static double divisor_of(const RpinnMarquardt *self) {
  return (self->prior_root ? 1 : 0) + self->damping * self->unit;
}

static void invert_damping(RpinnMarquardt *self) {
  const size_t N = self->squares.num_parameters;
  const double factor = 1 / divisor_of(self), *base_inverse = self->base_inverse;
  double *inverse = self->inverse;
  if (self->has_partial_prior)
    for (size_t j = 0; j < N; j++)
      inverse[j] = 1 / (self->prior_square[j] + self->damping * rpinn_marquardt_damping_scale(self, j));
  else
    for (size_t j = 0; j < N; j++) inverse[j] = factor * base_inverse[j];
}

/* ---- conjugate gradients ---- */

static bool follow_gradients(RpinnMarquardt *self, bool asks) {
  self->is_solved = self->equations.solved;
  self->phase = asks ? RPINN_MARQUARDT_CONJUGATE : RPINN_MARQUARDT_TRY;
  return asks;
}

static bool begin_gradients(RpinnMarquardt *self) {
  double *downhill = self->trial.theta; /* which is not in use yet */
  for (size_t j = 0; j < self->squares.num_parameters; j++) downhill[j] = -self->gradient[j];
  return follow_gradients(self, rpinn_normal_equations_begin(&self->equations, downhill, self->step));
}

bool rpinn_marquardt_conjugate(RpinnMarquardt *self) {
  return follow_gradients(self, rpinn_normal_equations_answered(&self->equations));
}

/* ---- any form ---- */

bool rpinn_marquardt_solve(RpinnMarquardt *self) {
  if (self->form == RPINN_MARQUARDT_NORMAL) {
    self->is_solved = solve_normal(self);
    self->phase = RPINN_MARQUARDT_TRY;
    return false;
  }
  invert_damping(self);
  if (self->form == RPINN_MARQUARDT_NO_MATRIX) return begin_gradients(self);
  if (self->form == RPINN_MARQUARDT_BY_TARGET) {
    self->phase = RPINN_MARQUARDT_OWN_STEP;
    return rpinn_marquardt_ask_step(self, self->inverse, self->step);
  }
  self->phase = RPINN_MARQUARDT_DATA_MATRIX;
  return self->has_partial_prior && rpinn_marquardt_ask_gram(self, self->inverse);
}

bool rpinn_marquardt_own_step(RpinnMarquardt *self) {
  self->is_solved = self->own_step.solved;
  self->phase = RPINN_MARQUARDT_TRY;
  return false;
}

/* ---- data space ---- */

/* factor = I + J A^-1 J^T, from the matrix for this A or from that for B with A = divisor * B */
static void fill_factor(RpinnMarquardt *self) {
  size_t M = self->squares.num_rows;
  double divisor = self->has_partial_prior ? 1 : divisor_of(self);
  for (size_t i = 0; i < M * M; i++) self->factor[i] = self->gram[i] / divisor;
  for (size_t i = 0; i < M; i++) self->factor[i * M + i] += 1;
}

bool rpinn_marquardt_data_matrix(RpinnMarquardt *self) {
  fill_factor(self);
  self->phase = RPINN_MARQUARDT_DATA_ROWS;
  if (!self->prior_root) return false;
  rpinn_marquardt_scale_pull(self);
  return rpinn_marquardt_ask_times(self, self->step, self->trial.rows);
}

bool rpinn_marquardt_data_rows(RpinnMarquardt *self) {
  size_t M = self->squares.num_rows;
  memcpy(self->remaining, self->here.rows, M * sizeof(double));
  for (size_t i = 0; self->prior_root && i < M; i++) self->remaining[i] -= self->trial.rows[i];
  self->is_solved = rpinn_dense_solve(M, self->factor, self->remaining);
  self->phase = self->is_solved ? RPINN_MARQUARDT_DATA_STEP : RPINN_MARQUARDT_TRY;
  return self->is_solved && rpinn_marquardt_ask_transposed(self, self->remaining, self->product);
}

bool rpinn_marquardt_data_step(RpinnMarquardt *self) {
  rpinn_marquardt_step_from_rows(self);
  self->phase = RPINN_MARQUARDT_TRY;
  return false;
}
