#include "gaussian_rows.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "blas_threads.h"

/* mean [P] and covariance [P][P], symmetric */
static RpinnStatus fill_moments(RpinnContext *context, const RpinnFieldModel *model,
                                const RpinnKriging *given, size_t num_points, const double *points,
                                double *mean, double *covariance) {
  if (given) {
    RPINN_TRY(rpinn_kriging_predict(context, given, num_points, points, mean, NULL));
    return rpinn_kriging_covariance(context, given, num_points, points, covariance);
  }
  for (size_t p = 0; p < num_points; p++) {
    mean[p] = model->mean;
    for (size_t q = 0; q < num_points; q++)
      covariance[p * num_points + q] =
          rpinn_field_covariance(model, points + p * model->num_axes, points + q * model->num_axes);
  }
  return RPINN_OK;
}

/* vectors [P][P]: eigenvector k in row k, eigenvalues rising. */
static RpinnStatus keep_rows(RpinnContext *context, RpinnArena *arena, const double *vectors,
                             const double *eigenvalues, RpinnGaussianRows *rows) {
  size_t num_points = rows->num_points;
  double largest = eigenvalues[num_points - 1];
  if (!(largest > 0))
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the covariance of a field at %zu points is %g; expected one above 0", num_points,
                      largest);
  while (rows->num_rows < num_points &&
         eigenvalues[num_points - 1 - rows->num_rows] > RPINN_LEAST_EIGENVALUE * largest)
    rows->num_rows++;
  rows->mix = RPINN_ARENA_NEW(arena, double, rows->num_rows *num_points);
  if (!rows->mix) return rpinn_fail_memory(context);
  for (size_t j = 0; j < rows->num_rows; j++) {
    size_t k = num_points - 1 - j;
    double root = sqrt(eigenvalues[k]);
    for (size_t p = 0; p < num_points; p++)
      rows->mix[j * num_points + p] = vectors[k * num_points + p] / root;
  }
  return RPINN_OK;
}

static RpinnStatus decompose(RpinnContext *context, RpinnArena *arena, double *covariance,
                             double *eigenvalues, RpinnGaussianRows *rows) {
  int order = (int)rows->num_points;
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', order, covariance, order, eigenvalues) != 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the eigenvalues of a covariance matrix of order %zu were not found", rows->num_points);
  return keep_rows(context, arena, covariance, eigenvalues, rows);
}

RpinnStatus rpinn_gaussian_rows_create(RpinnContext *context, RpinnArena *arena, const RpinnFieldModel *model,
                                       const RpinnKriging *given, size_t num_points, const double *points,
                                       RpinnGaussianRows *rows) {
  *rows = (RpinnGaussianRows){.num_points = num_points, .mean = RPINN_ARENA_NEW(arena, double, num_points)};
  RPINN_TRY(rpinn_field_model_check(context, model));
  if (!num_points || num_points > RPINN_GAUSSIAN_MAX_POINTS)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a Gaussian prior at %zu points; expected 1 to %d",
                      num_points, RPINN_GAUSSIAN_MAX_POINTS);
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  double *covariance = malloc(num_points * num_points * sizeof *covariance),
         *eigenvalues = malloc(num_points * sizeof *eigenvalues);
  RpinnStatus status = rows->mean && covariance && eigenvalues ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK)
    status = fill_moments(context, model, given, num_points, points, rows->mean, covariance);
  if (status == RPINN_OK) status = decompose(context, arena, covariance, eigenvalues, rows);
  free(covariance);
  free(eigenvalues);
  return status;
}
