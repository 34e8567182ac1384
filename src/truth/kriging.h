/* Kriging: a Gaussian field with a known mean, given measurements v_i = y(x_i) + e_i, e_i ~ N(0, n_i).
 *
 * With K_ij = cov[y(x_i), y(x_j)], N = diag(n) and k(x)_i = cov[y(x), y(x_i)],
 *
 *   mean(x)     = mean + k(x)^T (K + N)^-1 (v - mean)
 *   cov(x, x')  = cov[y(x), y(x')] - k(x)^T (K + N)^-1 k(x'),     variance(x) = cov(x, x)
 *
 * and a draw of the field given the measurements is a draw of the field corrected by what it misses (draws with
 * a tilde, e~ a draw of the errors):
 *
 *   y(x) = y~(x) + k(x)^T (K + N)^-1 (v - y~(x_i) - e~_i) */
#ifndef RPINN_TRUTH_KRIGING_H
#define RPINN_TRUTH_KRIGING_H

#include "random_field.h"

/* A nugget is at least this share of the variance: without any, K of a smooth field is singular to rounding as
 * soon as measurements are close to one another. */
#define RPINN_KRIGING_LEAST_NUGGET 1e-10

typedef struct RpinnKriging RpinnKriging;

/* places [count][num_axes], values [count], nuggets [count] variances of the errors or NULL for none. All is
 * copied. */
RpinnStatus rpinn_kriging_create(RpinnContext *context, const RpinnFieldModel *model, size_t count,
                                 const double *places, const double *values, const double *nuggets,
                                 RpinnKriging **kriging);
void rpinn_kriging_destroy(RpinnKriging *kriging);

/* At points [num_points][num_axes]; mean and variance [num_points], each may be NULL. */
RpinnStatus rpinn_kriging_predict(RpinnContext *context, const RpinnKriging *kriging, size_t num_points,
                                  const double *points, double *mean, double *variance);
/* Between points: covariance [num_points][num_points], symmetric. */
RpinnStatus rpinn_kriging_covariance(RpinnContext *context, const RpinnKriging *kriging, size_t num_points,
                                     const double *points, double *covariance);
/* One draw of the field given the measurements, on the grid of rpinn_random_field_create: [n2][n1]. */
RpinnStatus rpinn_kriging_simulate(RpinnContext *context, const RpinnKriging *kriging, const size_t *counts,
                                   const double *const *places, RpinnStream *stream, double *values);

#endif
