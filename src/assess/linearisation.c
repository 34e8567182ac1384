#include "linearisation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dense_algebra.h"
#include "importance.h"

static const double half_log_two_pi = 0.91893853320467274178;

struct RpinnLinearisation {
  const RpinnLeastSquares *problem;
  size_t M, N;
  double log_determinant; /* of C */
  double *theta;          /* [N] */
  double *deviation;      /* [N] S^1/2 */
  double *direction;      /* [N] of one product */
  double *y, *alpha;      /* [M] */
  double *product;        /* [M] of one product */
  double *inverse;        /* [M] the diagonal of C^-1 */
  double *covariance;     /* [M][M] C, lower triangle */
  double *factor;         /* [M][M] L with C = L L^T, lower triangle */
};

static double prior_mean(const RpinnLeastSquares *problem, size_t j) {
  return problem->prior_mean ? problem->prior_mean[j] : 0;
}

static RpinnLinearisation *allocate(const RpinnLeastSquares *problem) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  RpinnLinearisation *self = calloc(1, sizeof *self);
  double *memory = self ? calloc(3 * N + 4 * M + 2 * M * M + 1, sizeof(double)) : NULL;
  if (!memory) {
    free(self);
    return NULL;
  }
  *self = (RpinnLinearisation){.problem = problem, .M = M, .N = N, .theta = memory};
  self->deviation = self->theta + N;
  self->direction = self->deviation + N;
  self->y = self->direction + N;
  self->alpha = self->y + M;
  self->product = self->alpha + M;
  self->inverse = self->product + M;
  self->covariance = self->inverse + M;
  self->factor = self->covariance + M * M;
  return self;
}

static bool all_finite(size_t count, const double *values) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

/* C and y. */
static RpinnStatus linearise(RpinnLinearisation *self) {
  const RpinnLeastSquares *problem = self->problem;
  size_t M = self->M, N = self->N;
  double *rows = self->product, *variance = self->direction; /* S */
  for (size_t j = 0; j < N; j++) variance[j] = self->deviation[j] * self->deviation[j];
  RpinnStatus status = rpinn_least_squares_gram(problem, self->theta, variance, rows, self->covariance);
  if (status != RPINN_OK) return status;
  for (size_t j = 0; j < N; j++) self->direction[j] = self->theta[j] - prior_mean(problem, j);
  status = rpinn_least_squares_jacobian_times(problem, self->theta, self->direction, self->y);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < M; i++) {
    self->covariance[i * M + i] += 1;
    self->y[i] -= rows[i];
  }
  return all_finite(M, self->y) ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

/* C^-1, lower triangle; the caller frees it. */
static RpinnStatus make_inverse(const RpinnLinearisation *self, double **inverse) {
  size_t M = self->M;
  *inverse = malloc((M * M + 1) * sizeof **inverse);
  if (!*inverse) return RPINN_ERROR_MEMORY;
  memcpy(*inverse, self->factor, M * M * sizeof **inverse);
  if (rpinn_dense_invert_factored(M, *inverse)) return RPINN_OK;
  free(*inverse);
  *inverse = NULL;
  return RPINN_ERROR_NUMERIC;
}

/* The diagonal of C^-1. */
static RpinnStatus invert(RpinnLinearisation *self) {
  double *inverse;
  RpinnStatus status = make_inverse(self, &inverse);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < self->M; i++) self->inverse[i] = inverse[i * self->M + i];
  free(inverse);
  return all_finite(self->M, self->inverse) ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

static double log_determinant(size_t order, const double *factor) {
  double sum = 0;
  for (size_t i = 0; i < order; i++) sum += 2 * log(factor[i * order + i]);
  return sum;
}

static RpinnStatus factorise(RpinnLinearisation *self) {
  size_t M = self->M;
  memcpy(self->factor, self->covariance, M * M * sizeof(double));
  memcpy(self->alpha, self->y, M * sizeof(double));
  if (!rpinn_dense_solve(M, self->factor, self->alpha)) return RPINN_ERROR_NUMERIC;
  self->log_determinant = log_determinant(M, self->factor);
  if (!isfinite(self->log_determinant) || !all_finite(M, self->alpha)) return RPINN_ERROR_NUMERIC;
  return invert(self);
}

RpinnStatus rpinn_linearisation_create(const RpinnLeastSquares *problem, const double *theta,
                                       RpinnLinearisation **linearisation) {
  assert(rpinn_importance_available(problem->num_parameters, problem->prior_root));
  RpinnLinearisation *self = allocate(problem);
  *linearisation = NULL;
  if (!self) return RPINN_ERROR_MEMORY;
  for (size_t j = 0; j < self->N; j++) {
    self->theta[j] = theta[j];
    self->deviation[j] = 1 / problem->prior_root[j];
  }
  RpinnStatus status = linearise(self);
  if (status == RPINN_OK) status = factorise(self);
  if (status == RPINN_OK)
    *linearisation = self;
  else
    rpinn_linearisation_destroy(self);
  return status;
}

void rpinn_linearisation_destroy(RpinnLinearisation *linearisation) {
  if (!linearisation) return;
  free(linearisation->theta);
  free(linearisation);
}

/* ---- what the rows say ---- */

double rpinn_linearisation_energy(const RpinnLinearisation *linearisation) {
  return 0.5 * rpinn_dense_dot(linearisation->M, linearisation->y, linearisation->alpha);
}

double rpinn_linearisation_log_evidence(const RpinnLinearisation *linearisation) {
  return -rpinn_linearisation_energy(linearisation) - 0.5 * linearisation->log_determinant -
         (double)linearisation->M * half_log_two_pi;
}

double rpinn_linearisation_log_evidence_of(const RpinnLinearisation *linearisation, const bool *chosen) {
  size_t M = linearisation->M, count = 0, order = 0;
  for (size_t i = 0; i < M; i++) count += chosen[i];
  double *matrix = malloc((count * count + 2 * count + 1) * sizeof *matrix), result = (double)NAN;
  if (!matrix) return result;
  double *y = matrix + count * count, *solution = y + count;
  for (size_t i = 0; i < M; i++) {
    if (!chosen[i]) continue;
    size_t column = 0;
    for (size_t k = 0; k <= i; k++)
      if (chosen[k]) matrix[order * count + column++] = linearisation->covariance[i * M + k];
    y[order] = solution[order] = linearisation->y[i];
    order++;
  }
  if (rpinn_dense_solve(count, matrix, solution))
    result = -0.5 * rpinn_dense_dot(count, y, solution) - 0.5 * log_determinant(count, matrix) -
             (double)count * half_log_two_pi;
  free(matrix);
  return result;
}

RpinnLeftOut rpinn_linearisation_leave_out(const RpinnLinearisation *linearisation, size_t row) {
  double z = linearisation->alpha[row] / sqrt(linearisation->inverse[row]);
  return (RpinnLeftOut){
      .z = z, .log_density = 0.5 * log(linearisation->inverse[row]) - 0.5 * z * z - half_log_two_pi};
}

double rpinn_linearisation_alpha(const RpinnLinearisation *linearisation, size_t row) {
  return linearisation->alpha[row];
}

double rpinn_linearisation_inverse_diagonal(const RpinnLinearisation *linearisation, size_t row) {
  return linearisation->inverse[row];
}

/* Rows first … first + count - 1, with the lower triangle of c = C^-1. */
static RpinnRowGroup sum_group(const RpinnLinearisation *self, const double *c, size_t first, size_t count) {
  RpinnRowGroup group = {.num_rows = (double)count};
  double squares = 0, correlations = 0, correlation_squares = 0, n = (double)count;
  for (size_t i = first; i < first + count; i++) {
    double z = self->alpha[i] / sqrt(self->inverse[i]);
    group.squares += self->alpha[i] * self->alpha[i];
    group.expected += self->inverse[i];
    group.z_mean += z / n;
    group.z_square += z * z / n;
    for (size_t k = first; k <= i; k++) {
      double entry = c[i * self->M + k], correlation = entry / sqrt(self->inverse[i] * self->inverse[k]),
             times = k < i ? 2 : 1;
      squares += times * entry * entry;
      correlations += times * correlation;
      correlation_squares += times * correlation * correlation;
    }
  }
  group.freedom = group.expected * group.expected / squares;
  group.z_error = sqrt(fmax(correlations, 0)) / n;
  group.z_freedom = n * n / correlation_squares;
  return group;
}

RpinnStatus rpinn_linearisation_groups(const RpinnLinearisation *linearisation, size_t num_groups,
                                       const size_t *sizes, RpinnRowGroup *groups) {
  double *inverse;
  RpinnStatus status = make_inverse(linearisation, &inverse);
  if (status != RPINN_OK) return status;
  for (size_t g = 0, first = 0; g < num_groups; first += sizes[g++])
    groups[g] = sum_group(linearisation, inverse, first, sizes[g]);
  free(inverse);
  return RPINN_OK;
}

/* ---- what the parameters are ---- */

/* result = m + S^1/2 (epsilon - J^T weights); epsilon NULL: zero. */
static RpinnStatus move(RpinnLinearisation *self, const double *epsilon, const double *weights,
                        double *result) {
  RpinnStatus status =
      rpinn_least_squares_transposed_times(self->problem, self->theta, weights, self->direction);
  if (status != RPINN_OK) return status;
  for (size_t j = 0; j < self->N; j++) {
    double deviation = self->deviation[j]; /* A^T weights is S^-1/2 J^T weights */
    result[j] = prior_mean(self->problem, j) +
                deviation * ((epsilon ? epsilon[j] : 0) - deviation * self->direction[j]);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_linearisation_mean(RpinnLinearisation *linearisation, double *mean) {
  for (size_t i = 0; i < linearisation->M; i++) linearisation->product[i] = -linearisation->alpha[i];
  return move(linearisation, NULL, linearisation->product, mean);
}

RpinnStatus rpinn_linearisation_draw(RpinnLinearisation *linearisation, const double *noise, double *draw) {
  size_t M = linearisation->M, N = linearisation->N;
  const double *eta = noise, *epsilon = noise + M;
  double *weights = linearisation->product;
  for (size_t j = 0; j < N; j++) linearisation->direction[j] = linearisation->deviation[j] * epsilon[j];
  RpinnStatus status = rpinn_least_squares_jacobian_times(linearisation->problem, linearisation->theta,
                                                          linearisation->direction, weights);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < M; i++) weights[i] += -eta[i] - linearisation->y[i];
  rpinn_dense_solve_factored(M, linearisation->factor, weights);
  return move(linearisation, epsilon, weights, draw);
}
