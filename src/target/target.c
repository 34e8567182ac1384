/* Adapters between the three targets, and the products that a least-squares target may leave out. */
#include "rpinn/target.h"

#include <stdlib.h>

/* ---- products by way of the dense Jacobian ---- */

/* rows [M] and J [M][N] in one block owned by the caller; rows come first. */
static RpinnStatus dense_jacobian(const RpinnLeastSquares *problem, const double *theta, double **block) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  *block = NULL;
  if (!problem->jacobian) return RPINN_ERROR_INPUT;
  *block = malloc((M + M * N + 1) * sizeof(double));
  if (!*block) return RPINN_ERROR_MEMORY;
  RpinnStatus status = problem->jacobian(problem->data, theta, *block, *block + M);
  if (status != RPINN_OK) {
    free(*block);
    *block = NULL;
  }
  return status;
}

RpinnStatus rpinn_least_squares_jacobian_times(const RpinnLeastSquares *problem, const double *theta,
                                               const double *direction, double *product) {
  if (problem->jacobian_times) return problem->jacobian_times(problem->data, theta, direction, product);
  size_t M = problem->num_rows, N = problem->num_parameters;
  double *block;
  RpinnStatus status = dense_jacobian(problem, theta, &block);
  if (status != RPINN_OK) return status;
  const double *J = block + M;
  for (size_t i = 0; i < M; i++) {
    double sum = 0;
    for (size_t j = 0; j < N; j++) sum += J[i * N + j] * direction[j];
    product[i] = sum;
  }
  free(block);
  return RPINN_OK;
}

RpinnStatus rpinn_least_squares_transposed_times(const RpinnLeastSquares *problem, const double *theta,
                                                 const double *weights, double *product) {
  if (problem->transposed_times) return problem->transposed_times(problem->data, theta, weights, product);
  size_t M = problem->num_rows, N = problem->num_parameters;
  double *block;
  RpinnStatus status = dense_jacobian(problem, theta, &block);
  if (status != RPINN_OK) return status;
  const double *J = block + M;
  for (size_t j = 0; j < N; j++) product[j] = 0;
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) product[j] += J[i * N + j] * weights[i];
  free(block);
  return RPINN_OK;
}

RpinnStatus rpinn_least_squares_gram(const RpinnLeastSquares *problem, const double *theta,
                                     const double *scale, double *rows, double *gram) {
  if (problem->gram) return problem->gram(problem->data, theta, scale, rows, gram);
  size_t M = problem->num_rows, N = problem->num_parameters;
  double *block;
  RpinnStatus status = dense_jacobian(problem, theta, &block);
  if (status != RPINN_OK) return status;
  const double *J = block + M;
  for (size_t i = 0; i < M; i++) {
    rows[i] = block[i];
    for (size_t k = 0; k <= i; k++) {
      double sum = 0;
      for (size_t j = 0; j < N; j++) sum += J[i * N + j] * (scale ? scale[j] : 1.0) * J[k * N + j];
      gram[i * M + k] = gram[k * M + i] = sum;
    }
  }
  free(block);
  return RPINN_OK;
}

/* ---- least squares as an objective ---- */

struct RpinnEnergyObjective {
  const RpinnLeastSquares *problem;
  const double *offsets; /* [M+N] or NULL */
  double *rows;          /* [M] */
};

RpinnEnergyObjective *rpinn_energy_objective_create(const RpinnLeastSquares *problem, const double *offsets) {
  RpinnEnergyObjective *energy = calloc(1, sizeof *energy);
  double *rows = energy ? malloc((problem->num_rows + 1) * sizeof(double)) : NULL;
  if (!rows) {
    free(energy);
    return NULL;
  }
  *energy = (RpinnEnergyObjective){problem, offsets, rows};
  return energy;
}

void rpinn_energy_objective_destroy(RpinnEnergyObjective *energy) {
  if (!energy) return;
  free(energy->rows);
  free(energy);
}

/* E = 1/2 |r - xi_r|^2 + 1/2 |P (theta - mu) - xi_p|^2 and its gradient J^T (r - xi_r) + P (P (theta - mu) -
 * xi_p). */
static RpinnStatus energy_evaluate(void *data, const double *theta, double *value, double *gradient) {
  RpinnEnergyObjective *energy = data;
  const RpinnLeastSquares *problem = energy->problem;
  size_t M = problem->num_rows, N = problem->num_parameters;
  double *rows = energy->rows, sum = 0;
  if (!problem->residuals) return RPINN_ERROR_INPUT;
  RpinnStatus status = problem->residuals(problem->data, theta, rows);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < M; i++) {
    if (energy->offsets) rows[i] -= energy->offsets[i];
    sum += rows[i] * rows[i];
  }
  if (gradient) {
    status = rpinn_least_squares_transposed_times(problem, theta, rows, gradient);
    if (status != RPINN_OK) return status;
  }
  if (problem->prior_root)
    for (size_t j = 0; j < N; j++) {
      double root = problem->prior_root[j];
      if (root == 0) continue; /* no prior on this parameter, so no row and no offset */
      double row = root * (theta[j] - (problem->prior_mean ? problem->prior_mean[j] : 0.0));
      if (energy->offsets) row -= energy->offsets[M + j];
      sum += row * row;
      if (gradient) gradient[j] += root * row;
    }
  *value = 0.5 * sum;
  return RPINN_OK;
}

RpinnObjective rpinn_energy_objective(RpinnEnergyObjective *energy) {
  return (RpinnObjective){
      .num_parameters = energy->problem->num_parameters, .data = energy, .evaluate = energy_evaluate};
}

/* ---- an objective as a log density ---- */

static RpinnStatus negated_evaluate(void *data, const double *theta, double *log_density, double *gradient) {
  const RpinnObjective *objective = data;
  RpinnStatus status = objective->evaluate(objective->data, theta, log_density, gradient);
  if (status != RPINN_OK) return status;
  *log_density = -*log_density;
  if (gradient)
    for (size_t j = 0; j < objective->num_parameters; j++) gradient[j] = -gradient[j];
  return RPINN_OK;
}

RpinnLogDensity rpinn_log_density_of_objective(RpinnObjective *objective) {
  return (RpinnLogDensity){.num_parameters = objective->num_parameters,
                           .data = objective,
                           .evaluate = objective->evaluate ? negated_evaluate : NULL,
                           .epsilon = objective->epsilon};
}
