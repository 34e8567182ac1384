/* The linear model at a point, and the damping D that goes with it.
 *
 * For N < M it follows the squared column norms, D_j = max(|J_j|^2 + P_j^2, 0.9 D_j of the last point): the steps do not depend
 * on the units of the parameters, which may differ by many orders of magnitude in curve fits. Moré (1978) keeps the largest norm
 * of all points, so that a parameter cannot run away where the rows cease to depend on it; but then one wild point holds it still
 * for ever (MGH10 of NIST). Forgetting slowly does both. In data space columns are many and need not be known; the prior tells
 * the units instead:
 *
 *   D_j = unit * B_j,  B_j = P_j^2,  or the mean of the P^2 > 0 where P_j = 0,  or 1 without any prior
 *
 * with unit = trace(J B^-1 J^T) / M at the start, so that lambda is relative to the size of the problem in either case; with
 * conjugate gradients, which serve all shapes with this D, the trace is |B^-1/2 J^T w|^2 for signs w = +-1, whose mean it is. It
 * is positive with and without prior. */
#include <math.h>

#include "dense_algebra.h"
#include "marquardt.h"
#include "random_stream.h"

static const double scale_memory = 0.9;

void rpinn_marquardt_follow_scale(RpinnMarquardt *self) {
  size_t N = self->squares.num_parameters;
  for (size_t j = 0; j < N; j++)
    self->scale[j] = fmax(scale_memory * self->scale[j], self->gram[j * N + j] + self->prior_square[j]);
}

/* ---- phases ---- */

bool rpinn_marquardt_look(RpinnMarquardt *self) {
  self->phase = RPINN_MARQUARDT_MEASURE;
  return rpinn_marquardt_ask_rows(self, &self->here);
}

bool rpinn_marquardt_measure(RpinnMarquardt *self) {
  rpinn_marquardt_find_energy(self, &self->here);
  self->phase = RPINN_MARQUARDT_LINEARISE;
  return false;
}

/* From here on r and p are known. */
bool rpinn_marquardt_linearise(RpinnMarquardt *self) {
  self->phase = RPINN_MARQUARDT_SLOPE;
  return rpinn_marquardt_ask_jacobian(self);
}

bool rpinn_marquardt_slope(RpinnMarquardt *self) {
  self->phase = RPINN_MARQUARDT_CURVE;
  return rpinn_marquardt_ask_transposed(self, self->here.rows, self->gradient);
}

bool rpinn_marquardt_curve(RpinnMarquardt *self) {
  size_t M = self->squares.num_rows, N = self->squares.num_parameters;
  self->gradient_square = rpinn_marquardt_add_pull(self);
  self->is_linearised = true;
  self->phase = self->after_linearisation;
  if (self->form == RPINN_MARQUARDT_NORMAL) rpinn_dense_normal(M, N, self->jacobian, self->gram);
  if (self->form != RPINN_MARQUARDT_IN_DATA) return false;
  if (self->has_partial_prior) return false; /* it is different for every damping */
  return rpinn_marquardt_ask_gram(self, self->prior_root ? self->base_inverse : NULL);
}

bool rpinn_marquardt_unit(RpinnMarquardt *self) {
  size_t M = self->squares.num_rows;
  self->phase = RPINN_MARQUARDT_SCALE;
  if (self->form == RPINN_MARQUARDT_IN_DATA)
    return self->has_partial_prior && rpinn_marquardt_ask_gram(self, self->base_inverse);
  if (self->form == RPINN_MARQUARDT_BY_TARGET)
    return rpinn_marquardt_ask_step(self, self->base_inverse, NULL);
  RpinnStream stream = rpinn_stream(0, RPINN_PURPOSE_SIGNS, 0, 0);
  rpinn_stream_normals(&stream, M, self->remaining);
  for (size_t i = 0; i < M; i++) self->remaining[i] = self->remaining[i] < 0 ? -1 : 1;
  return rpinn_marquardt_ask_transposed(self, self->remaining, self->product);
}

/* trace(J B^-1 J^T), exactly or as drawn */
static double find_trace(const RpinnMarquardt *self) {
  size_t M = self->squares.num_rows, N = self->squares.num_parameters;
  double trace = 0;
  if (self->form == RPINN_MARQUARDT_BY_TARGET) return self->own_step.trace;
  if (self->form == RPINN_MARQUARDT_IN_DATA)
    for (size_t i = 0; i < M; i++) trace += self->gram[i * M + i];
  else
    for (size_t j = 0; j < N; j++) trace += self->product[j] * self->base_inverse[j] * self->product[j];
  return trace;
}

bool rpinn_marquardt_scale(RpinnMarquardt *self) {
  double trace = find_trace(self);
  self->unit = trace > 0 && isfinite(trace) ? trace / (double)self->squares.num_rows : 1;
  for (size_t j = 0; j < self->squares.num_parameters; j++)
    self->scale[j] = self->unit / self->base_inverse[j];
  self->phase = RPINN_MARQUARDT_NOTE;
  return false;
}
