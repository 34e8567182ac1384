/* Factor K + N = L L^T once; then (K + N)^-1 (v - mean) are weights that serve every point, and the variance is
 * variance - |L^-1 k(x)|^2, a form that cannot grow by rounding.
 *
 * Draws need the field at the measurements together with the field on the grid. Both lie on one larger grid,
 * whose axes have the coordinates of the measurements behind those of the grid: still exact, still one
 * decomposition per axis. */
#include "kriging.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas_threads.h"

struct RpinnKriging {
  RpinnFieldModel model;
  size_t count;
  double *places;  /* [count][num_axes] */
  double *values;  /* [count] */
  double *nuggets; /* [count] */
  double *factor;  /* L, [count][count], row-major in the lower triangle */
  double *weights; /* (K + N)^-1 (v - mean), [count] */
};

enum { POINTS_AT_ONCE = 64 };

void rpinn_kriging_destroy(RpinnKriging *kriging) {
  if (!kriging) return;
  free(kriging->places);
  free(kriging->values);
  free(kriging->nuggets);
  free(kriging->factor);
  free(kriging->weights);
  free(kriging);
}

/* x = (K + N)^-1 x. The lower triangle in rows is the upper one in columns, which LAPACK wants. */
static void solve(const RpinnKriging *kriging, double *x) {
  int count = (int)kriging->count;
  LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'U', count, 1, kriging->factor, count, x, count);
}

static RpinnStatus factorize(RpinnContext *context, RpinnKriging *kriging) {
  size_t count = kriging->count, num_axes = kriging->model.num_axes;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j <= i; j++)
      kriging->factor[i * count + j] = rpinn_field_covariance(&kriging->model, kriging->places + i * num_axes,
                                                              kriging->places + j * num_axes);
    kriging->factor[i * count + i] += kriging->nuggets[i];
    kriging->weights[i] = kriging->values[i] - kriging->model.mean;
  }
  if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', (int)count, kriging->factor, (int)count) != 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the covariance of %zu measurements is singular to rounding; expected measurements "
                      "farther apart or with larger errors",
                      count);
  solve(kriging, kriging->weights);
  return RPINN_OK;
}

static RpinnStatus fill(RpinnContext *context, const double *places, const double *values,
                        const double *nuggets, RpinnKriging *kriging) {
  size_t count = kriging->count, num_axes = kriging->model.num_axes;
  if (!count || count > RPINN_FIELD_MAX_PLACES)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu measurements of a random field; expected 1 to %d",
                      count, RPINN_FIELD_MAX_PLACES);
  kriging->places = malloc(count * num_axes * sizeof(double));
  kriging->values = malloc(count * sizeof(double));
  kriging->nuggets = malloc(count * sizeof(double));
  kriging->factor = malloc(count * count * sizeof(double));
  kriging->weights = malloc(count * sizeof(double));
  if (!kriging->places || !kriging->values || !kriging->nuggets || !kriging->factor || !kriging->weights)
    return rpinn_fail_memory(context);
  memcpy(kriging->places, places, count * num_axes * sizeof(double));
  memcpy(kriging->values, values, count * sizeof(double));
  for (size_t i = 0; i < count; i++) {
    double nugget = nuggets ? nuggets[i] : 0;
    if (!(nugget >= 0) || !isfinite(nugget))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "the error variance of a measurement is %g; expected 0 or more", nugget);
    kriging->nuggets[i] = fmax(nugget, RPINN_KRIGING_LEAST_NUGGET * kriging->model.variance);
  }
  return factorize(context, kriging);
}

RpinnStatus rpinn_kriging_create(RpinnContext *context, const RpinnFieldModel *model, size_t count,
                                 const double *places, const double *values, const double *nuggets,
                                 RpinnKriging **kriging) {
  *kriging = NULL;
  RPINN_TRY(rpinn_field_model_check(context, model));
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  RpinnKriging *made = calloc(1, sizeof *made);
  if (!made) return rpinn_fail_memory(context);
  made->model = *model;
  made->count = count;
  RpinnStatus status = fill(context, places, values, nuggets, made);
  if (status == RPINN_OK)
    *kriging = made;
  else
    rpinn_kriging_destroy(made);
  return status;
}

/* covariances [num_points][count] between points and measurements */
static void fill_covariances(const RpinnKriging *kriging, size_t num_points, const double *points,
                             double *covariances) {
  size_t num_axes = kriging->model.num_axes;
  for (size_t p = 0; p < num_points; p++)
    for (size_t i = 0; i < kriging->count; i++)
      covariances[p * kriging->count + i] =
          rpinn_field_covariance(&kriging->model, points + p * num_axes, kriging->places + i * num_axes);
}

/* variance - |L^-1 k|^2 for the rows k of covariances, which are overwritten */
static void fill_variances(const RpinnKriging *kriging, size_t num_points, double *covariances,
                           double *variance) {
  int count = (int)kriging->count;
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)num_points, count, 1,
              kriging->factor, count, covariances, count);
  for (size_t p = 0; p < num_points; p++) {
    const double *row = covariances + p * kriging->count;
    double left = kriging->model.variance - cblas_ddot(count, row, 1, row, 1);
    variance[p] = left > 0 ? left : 0; /* at a measurement without error it is 0 to rounding */
  }
}

RpinnStatus rpinn_kriging_predict(RpinnContext *context, const RpinnKriging *kriging, size_t num_points,
                                  const double *points, double *mean, double *variance) {
  double *covariances = malloc(POINTS_AT_ONCE * kriging->count * sizeof *covariances);
  if (!covariances) return rpinn_fail_memory(context);
  for (size_t first = 0; first < num_points; first += POINTS_AT_ONCE) {
    size_t num_here = num_points - first < POINTS_AT_ONCE ? num_points - first : POINTS_AT_ONCE;
    fill_covariances(kriging, num_here, points + first * kriging->model.num_axes, covariances);
    for (size_t p = 0; mean && p < num_here; p++)
      mean[first + p] =
          kriging->model.mean +
          cblas_ddot((int)kriging->count, covariances + p * kriging->count, 1, kriging->weights, 1);
    if (variance) fill_variances(kriging, num_here, covariances, variance + first);
  }
  free(covariances);
  return RPINN_OK;
}

RpinnStatus rpinn_kriging_covariance(RpinnContext *context, const RpinnKriging *kriging, size_t num_points,
                                     const double *points, double *covariance) {
  size_t num_axes = kriging->model.num_axes;
  int count = (int)kriging->count, order = (int)num_points;
  double *reduced = malloc(num_points * kriging->count * sizeof *reduced); /* rows L^-1 k(x) */
  if (!reduced) return rpinn_fail_memory(context);
  fill_covariances(kriging, num_points, points, reduced);
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, order, count, 1,
              kriging->factor, count, reduced, count);
  for (size_t p = 0; p < num_points; p++)
    for (size_t q = 0; q <= p; q++)
      covariance[p * num_points + q] =
          rpinn_field_covariance(&kriging->model, points + p * num_axes, points + q * num_axes);
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, order, count, -1, reduced, count, 1, covariance,
              order);
  for (size_t p = 0; p < num_points; p++)
    for (size_t q = 0; q < p; q++) covariance[q * num_points + p] = covariance[p * num_points + q];
  free(reduced);
  return RPINN_OK;
}

/* ---- draws ---- */

/* A draw on the grid whose axes go on with the coordinates of the measurements; *wide belongs to the caller. */
static RpinnStatus draw_wide(RpinnContext *context, const RpinnKriging *kriging, const size_t *counts,
                             const double *const *places, RpinnStream *stream, size_t *wide_counts,
                             double **wide) {
  size_t num_axes = kriging->model.num_axes, size = 1;
  double *axes[RPINN_FIELD_MAX_AXES] = {NULL, NULL};
  RpinnRandomField *field = NULL;
  RpinnStatus status = RPINN_OK;
  for (size_t i = 0; i < num_axes; i++) {
    wide_counts[i] = counts[i] + kriging->count;
    size *= wide_counts[i];
    axes[i] = malloc(wide_counts[i] * sizeof(double));
    if (!axes[i]) {
      status = rpinn_fail_memory(context);
      continue;
    }
    memcpy(axes[i], places[i], counts[i] * sizeof(double));
    for (size_t k = 0; k < kriging->count; k++) axes[i][counts[i] + k] = kriging->places[k * num_axes + i];
  }
  if (status == RPINN_OK)
    status =
        rpinn_random_field_create(context, &kriging->model, wide_counts, (const double *const *)axes, &field);
  *wide = status == RPINN_OK ? malloc(size * sizeof **wide) : NULL;
  if (status == RPINN_OK && !*wide) status = rpinn_fail_memory(context);
  if (status == RPINN_OK) rpinn_random_field_draw(field, stream, *wide);
  rpinn_random_field_destroy(field);
  for (size_t i = 0; i < num_axes; i++) free(axes[i]);
  return status;
}

/* values = the draw on the grid + k^T missed */
static void correct(const RpinnKriging *kriging, const size_t *counts, const double *const *places,
                    const double *wide, size_t wide_stride, const double *missed, double *covariances,
                    double *values) {
  size_t num_axes = kriging->model.num_axes, num_rows = num_axes > 1 ? counts[1] : 1;
  for (size_t row = 0; row < num_rows; row++)
    for (size_t i = 0; i < counts[0]; i++) {
      double point[RPINN_FIELD_MAX_AXES] = {places[0][i], num_axes > 1 ? places[1][row] : 0};
      fill_covariances(kriging, 1, point, covariances);
      values[row * counts[0] + i] =
          wide[row * wide_stride + i] + cblas_ddot((int)kriging->count, covariances, 1, missed, 1);
    }
}

RpinnStatus rpinn_kriging_simulate(RpinnContext *context, const RpinnKriging *kriging, const size_t *counts,
                                   const double *const *places, RpinnStream *stream, double *values) {
  size_t wide_counts[RPINN_FIELD_MAX_AXES] = {1, 1}, count = kriging->count;
  double *wide = NULL;
  RPINN_TRY(draw_wide(context, kriging, counts, places, stream, wide_counts, &wide));
  double *missed = malloc(count * sizeof *missed), *covariances = malloc(count * sizeof *covariances);
  RpinnStatus status = missed && covariances ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK) {
    for (size_t k = 0; k < count; k++) {
      size_t row = kriging->model.num_axes > 1 ? counts[1] + k : 0;
      missed[k] = kriging->values[k] - wide[row * wide_counts[0] + counts[0] + k] -
                  sqrt(kriging->nuggets[k]) * rpinn_stream_normal(stream);
    }
    solve(kriging, missed);
    correct(kriging, counts, places, wide, wide_counts[0], missed, covariances, values);
  }
  free(missed);
  free(covariances);
  free(wide);
  return status;
}
