/* What Levenberg–Marquardt wants to know of its target: rows and the energy at a point, J and its products at theta. With a dense
 * Jacobian the target is asked for that alone, and the products are made here. */
#include "dense_algebra.h"
#include "marquardt.h"

static bool ask(RpinnMarquardt *self, RpinnQuestion question, const double *theta, const double *input,
                double *rows, double *output) {
  RpinnRequest *request = &self->base.request;
  request->question = question;
  request->theta = theta;
  request->input = input;
  request->rows = rows;
  request->output = output;
  return true;
}

bool rpinn_marquardt_ask_rows(RpinnMarquardt *self, const RpinnMarquardtPoint *point) {
  return ask(self, RPINN_QUESTION_RESIDUALS, point->theta, NULL, point->rows, NULL);
}

void rpinn_marquardt_find_energy(const RpinnMarquardt *self, RpinnMarquardtPoint *point) {
  size_t M = self->squares.num_rows;
  for (size_t i = 0; self->offsets && i < M; i++) point->rows[i] -= self->offsets[i];
  double sum = rpinn_dense_dot(M, point->rows, point->rows);
  if (self->prior_root) sum += rpinn_marquardt_find_prior_rows(self, point);
  point->loss = 0.5 * sum;
}

/* The rows are known: here and in a Gram matrix they go to y, which is not in use yet. */
bool rpinn_marquardt_ask_jacobian(RpinnMarquardt *self) {
  if (!self->jacobian) return false;
  return ask(self, RPINN_QUESTION_JACOBIAN, self->here.theta, NULL, self->remaining, self->jacobian);
}

bool rpinn_marquardt_ask_times(RpinnMarquardt *self, const double *direction, double *product) {
  const RpinnBatchLeastSquares *squares = &self->squares;
  if (!self->jacobian)
    return ask(self, RPINN_QUESTION_JACOBIAN_TIMES, self->here.theta, direction, NULL, product);
  rpinn_dense_times(squares->num_rows, squares->num_parameters, self->jacobian, direction, product);
  return false;
}

bool rpinn_marquardt_ask_transposed(RpinnMarquardt *self, const double *weights, double *product) {
  const RpinnBatchLeastSquares *squares = &self->squares;
  if (!self->jacobian)
    return ask(self, RPINN_QUESTION_TRANSPOSED_TIMES, self->here.theta, weights, NULL, product);
  rpinn_dense_transposed_times(squares->num_rows, squares->num_parameters, self->jacobian, weights, product);
  return false;
}

bool rpinn_marquardt_ask_gram(RpinnMarquardt *self, const double *inverse) {
  const RpinnBatchLeastSquares *squares = &self->squares;
  if (!self->jacobian)
    return ask(self, RPINN_QUESTION_GRAM, self->here.theta, inverse, self->remaining, self->gram);
  rpinn_dense_gram(squares->num_rows, squares->num_parameters, self->jacobian, inverse, self->block,
                   self->gram);
  return false;
}

bool rpinn_marquardt_ask_step(RpinnMarquardt *self, const double *inverse, double *step) {
  double *pull = self->prior_root ? self->product : NULL; /* which is not in use yet */
  for (size_t j = 0; pull && j < self->squares.num_parameters; j++)
    pull[j] = rpinn_marquardt_prior_pull(self, j);
  self->own_step = (RpinnDampedStep){.inverse = inverse, .rows = self->here.rows, .pull = pull, .step = step};
  self->base.request.step = &self->own_step;
  return ask(self, RPINN_QUESTION_DAMPED_STEPS, self->here.theta, NULL, NULL, NULL);
}
