/* Products use Ridders' method on the gradient along a line: six central differences at halved steps, the first of
 * which moves the largest entry by 1/20, and for each entry of the product that extrapolation which is surest. The
 * differences keep 13 digits of the gradient at that step, and extrapolation removes what truncation leaves.
 *
 * Gauss-Newton through the smaller matrix: with P^2 = p I the eigenvalues of J^T J + p I are p (N - M times) and p
 * plus those of J J^T. */
#include "hessian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dense_algebra.h"
#include "derivative_check.h"

struct RpinnHessian {
  const RpinnObjective *objective;
  const double *theta, *direction;
  double *moved; /* [N] */
};

RpinnObjective rpinn_hessian_of_log_density(const RpinnLogDensity *density) {
  return (RpinnObjective){
      .num_parameters = density->num_parameters, .data = density->data, .evaluate = density->evaluate};
}

RpinnHessian *rpinn_hessian_create(const RpinnObjective *objective, const double *theta) {
  RpinnHessian *hessian = calloc(1, sizeof *hessian);
  double *moved = calloc(objective->num_parameters + 1, sizeof *moved);
  if (!hessian || !moved) {
    free(hessian);
    free(moved);
    return NULL;
  }
  *hessian = (RpinnHessian){.objective = objective, .theta = theta, .moved = moved};
  return hessian;
}

void rpinn_hessian_destroy(RpinnHessian *hessian) {
  if (!hessian) return;
  free(hessian->moved);
  free(hessian);
}

static RpinnStatus gradient_along(void *user, double t, double *gradient) {
  RpinnHessian *hessian = user;
  double value;
  for (size_t j = 0; j < hessian->objective->num_parameters; j++)
    hessian->moved[j] = hessian->theta[j] + t * hessian->direction[j];
  return hessian->objective->evaluate(hessian->objective->data, hessian->moved, &value, gradient);
}

RpinnStatus rpinn_hessian_times(void *user, const double *direction, double *product) {
  const double largest_move = 0.05; /* well inside the radius in which networks are analytic */
  RpinnHessian *hessian = user;
  size_t N = hessian->objective->num_parameters;
  double largest = 0;
  for (size_t j = 0; j < N; j++) largest = fmax(largest, fabs(direction[j]));
  if (largest == 0) {
    memset(product, 0, N * sizeof *product);
    return RPINN_OK;
  }
  hessian->direction = direction;
  return rpinn_ridders_derivative(gradient_along, hessian, N, largest_move / largest, product);
}

/* ---- the full spectrum ---- */

static RpinnStatus refuse_large(RpinnContext *context, size_t N) {
  if (N <= RPINN_DENSE_SPECTRUM_LIMIT) return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_UNSUPPORTED,
      "a full spectrum of %zu parameters is asked for; expected at most %d, or the leading part alone", N,
      (int)RPINN_DENSE_SPECTRUM_LIMIT);
}

/* A failed evaluation leaves no message of its own. */
static RpinnStatus name_failure(RpinnContext *context, RpinnStatus status) {
  if (status == RPINN_OK || rpinn_context_error(context)->status != RPINN_OK) return status;
  if (status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  return rpinn_fail(context, status, "the target could not be evaluated: %s", rpinn_status_meaning(status));
}

/* Row j of matrix [N][N] = H e_j. */
static RpinnStatus fill_matrix(const RpinnObjective *objective, const double *theta, double *matrix) {
  size_t N = objective->num_parameters;
  RpinnHessian *hessian = rpinn_hessian_create(objective, theta);
  double *unit = calloc(N + 1, sizeof *unit);
  RpinnStatus status = hessian && unit ? RPINN_OK : RPINN_ERROR_MEMORY;
  for (size_t j = 0; j < N && status == RPINN_OK; j++) {
    unit[j] = 1;
    status = rpinn_hessian_times(hessian, unit, matrix + j * N);
    unit[j] = 0;
  }
  rpinn_hessian_destroy(hessian);
  free(unit);
  return status;
}

static double symmetrise(size_t N, double *matrix) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j <= i; j++) {
      double *lower = &matrix[i * N + j], *upper = &matrix[j * N + i];
      largest = fmax(largest, fmax(fabs(*lower), fabs(*upper)));
      difference = fmax(difference, fabs(*lower - *upper));
      *lower = *upper = 0.5 * (*lower + *upper);
    }
  return largest > 0 ? difference / largest : 0;
}

RpinnStatus rpinn_hessian_spectrum(RpinnContext *context, const RpinnObjective *objective,
                                   const double *theta, double *eigenvalues, double *eigenvectors,
                                   double *asymmetry) {
  size_t N = objective->num_parameters;
  RPINN_TRY(refuse_large(context, N));
  double *matrix = eigenvectors ? eigenvectors : malloc((N * N + 1) * sizeof *matrix);
  if (!matrix) return rpinn_fail_memory(context);
  RpinnStatus status = name_failure(context, fill_matrix(objective, theta, matrix));
  if (status == RPINN_OK) {
    *asymmetry = symmetrise(N, matrix);
    status = rpinn_symmetric_spectrum(context, N, matrix, eigenvectors != NULL, eigenvalues);
  }
  if (!eigenvectors) free(matrix);
  return status;
}

RpinnStatus rpinn_hessian_leading(RpinnContext *context, const RpinnObjective *objective, const double *theta,
                                  size_t count, double *eigenvalues, double *eigenvectors) {
  RpinnHessian *hessian = rpinn_hessian_create(objective, theta);
  if (!hessian) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_leading_spectrum(context, objective->num_parameters, rpinn_hessian_times,
                                              hessian, count, eigenvalues, eigenvectors);
  rpinn_hessian_destroy(hessian);
  return name_failure(context, status);
}

/* ---- Gauss-Newton ---- */

/* P^2 of every parameter when they are all the same; false otherwise. */
static bool one_prior(const RpinnLeastSquares *problem, double *precision) {
  const double *root = problem->prior_root;
  *precision = root && problem->num_parameters ? root[0] * root[0] : 0;
  for (size_t j = 0; root && j < problem->num_parameters; j++)
    if (root[j] != root[0]) return false;
  return true;
}

static RpinnStatus spectrum_by_rows(RpinnContext *context, const RpinnLeastSquares *problem,
                                    const double *theta, double precision, double *eigenvalues) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  double *rows = malloc((M + M * M + 1) * sizeof *rows);
  if (!rows) return rpinn_fail_memory(context);
  RpinnStatus status = name_failure(context, rpinn_least_squares_gram(problem, theta, NULL, rows, rows + M));
  if (status == RPINN_OK)
    status = rpinn_symmetric_spectrum(context, M, rows + M, false, eigenvalues + (N - M));
  for (size_t i = 0; i < N && status == RPINN_OK; i++)
    eigenvalues[i] = precision + (i < N - M ? 0 : fmax(eigenvalues[i], 0)); /* not below zero by rounding */
  free(rows);
  return status;
}

static RpinnStatus spectrum_by_parameters(RpinnContext *context, const RpinnLeastSquares *problem,
                                          const double *theta, double *eigenvalues) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  RPINN_TRY(refuse_large(context, N));
  double *rows = malloc((M + M * N + N * N + 1) * sizeof *rows);
  if (!rows) return rpinn_fail_memory(context);
  double *jacobian = rows + M, *matrix = jacobian + M * N;
  RpinnStatus status = name_failure(context, problem->jacobian(problem->data, theta, rows, jacobian));
  if (status == RPINN_OK) {
    rpinn_dense_normal(M, N, jacobian, matrix);
    for (size_t j = 0; problem->prior_root && j < N; j++)
      matrix[j * N + j] += problem->prior_root[j] * problem->prior_root[j];
    status = rpinn_symmetric_spectrum(context, N, matrix, false, eigenvalues);
  }
  free(rows);
  return status;
}

RpinnStatus rpinn_gauss_newton_spectrum(RpinnContext *context, const RpinnLeastSquares *problem,
                                        const double *theta, double *eigenvalues) {
  double precision;
  if (one_prior(problem, &precision) && problem->num_rows < problem->num_parameters)
    return spectrum_by_rows(context, problem, theta, precision, eigenvalues);
  return spectrum_by_parameters(context, problem, theta, eigenvalues);
}
