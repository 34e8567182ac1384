/* Covariances of Gaussian random fields, one factor per axis:
 *
 *   cov[y(a), y(b)] = variance * prod_i rho(|a_i - b_i| / length_i)
 *
 * with the correlation rho(r), r >= 0,
 *
 *   squared_exponential   exp(-r^2)          no 1/2 in the exponent: the convention of the paper
 *   exponential           exp(-r)
 *   matern32              (1 + sqrt(3) r) exp(-sqrt(3) r)
 *   matern52              (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r)
 *
 * The squared exponential of a product is isotropic when the lengths are equal; the others are not, for their
 * distance is not Euclidean. */
#ifndef RPINN_TRUTH_COVARIANCE_H
#define RPINN_TRUTH_COVARIANCE_H

#include "context.h"

enum { RPINN_FIELD_MAX_AXES = 2 };

typedef enum RpinnCorrelation {
  RPINN_SQUARED_EXPONENTIAL,
  RPINN_EXPONENTIAL,
  RPINN_MATERN32,
  RPINN_MATERN52,
  RPINN_NUM_CORRELATIONS
} RpinnCorrelation;
extern const char *const rpinn_correlation_names[RPINN_NUM_CORRELATIONS];

typedef struct RpinnFieldModel {
  size_t num_axes; /* 1 or 2 */
  RpinnCorrelation correlation;
  double length[RPINN_FIELD_MAX_AXES]; /* above 0 */
  double mean;
  double variance; /* above 0 */
} RpinnFieldModel;

/* rho(distance / length) */
double rpinn_correlation(RpinnCorrelation correlation, double distance, double length);
/* Of the field at two points [num_axes]. */
double rpinn_field_covariance(const RpinnFieldModel *model, const double *a, const double *b);
/* Lengths and variance above 0, all numbers finite. */
RpinnStatus rpinn_field_model_check(RpinnContext *context, const RpinnFieldModel *model);

#endif
