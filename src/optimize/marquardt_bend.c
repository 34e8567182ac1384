/* A step that follows the bend of its valley (Transtrum and Sethna 2012: geodesic acceleration).
 *
 *   w = r(theta + d) - (r + J d) [M]      what J has not foreseen: 1/2 of the second derivative of r along d, and the rest
 *   a:  (J^T J + A) a = -J^T w            in data space (I + J A^-1 J^T) z = w,  a = -A^-1 J^T z
 *   2 |a| <= alpha |d|, in the norm of D: theta + d + a is tried as well, and the lower of both is the trial
 *   otherwise:                            the linear model is not to be trusted that far: the trial is rejected, even if E falls
 *
 * The rows at theta + d are known from the trial, where their second derivative takes an evaluation of its own; y of the step is
 * r + J d, and the factor is that of the step. So a takes one product with J^T and one evaluation more. Members that leave a bent
 * valley for a lower E at once come to rest in worse places: with rejections they need fewer iterations and end lower. */
#include <math.h>

#include "dense_algebra.h"
#include "marquardt.h"

static const double most_bend = 0.75; /* alpha */

bool rpinn_marquardt_bend(RpinnMarquardt *self) {
  size_t M = self->squares.num_rows, N = self->squares.num_parameters;
  bool is_normal = self->form == RPINN_MARQUARDT_NORMAL;
  self->phase = RPINN_MARQUARDT_BEND_STEP;
  if (is_normal) {
    rpinn_dense_times(M, N, self->jacobian, self->step, self->remaining);
    rpinn_dense_add(M, 1, self->here.rows, self->remaining);
  }
  for (size_t i = 0; i < M; i++) self->remaining[i] = self->trial.rows[i] - self->remaining[i];
  if (!is_normal) rpinn_dense_solve_factored(M, self->factor, self->remaining);
  return rpinn_marquardt_ask_transposed(self, self->remaining, self->product);
}

bool rpinn_marquardt_bend_step(RpinnMarquardt *self) {
  if (self->form == RPINN_MARQUARDT_NORMAL)
    rpinn_dense_solve_factored(self->squares.num_parameters, self->factor, self->product);
  double bend = rpinn_marquardt_measure_bend(self);
  if (!(4 * bend <= most_bend * most_bend * self->step_square)) {
    self->trial.loss = HUGE_VAL;
    self->phase = RPINN_MARQUARDT_DECIDE;
    return false;
  }
  self->base.num_evaluations++;
  self->phase = RPINN_MARQUARDT_BEND_JUDGE;
  return rpinn_marquardt_ask_rows(self, &self->far);
}

bool rpinn_marquardt_bend_judge(RpinnMarquardt *self) {
  rpinn_marquardt_find_energy(self, &self->far);
  self->phase = RPINN_MARQUARDT_DECIDE;
  if (!(self->far.loss < self->trial.loss)) return false;
  RpinnMarquardtPoint lower = self->far;
  self->far = self->trial;
  self->trial = lower;
  rpinn_dense_add(self->squares.num_parameters, -1, self->product, self->step);
  return false;
}
