/* Log densities for chains, and the metrics that chains are tried with. */
#ifndef RPINN_TESTS_NUTS_TARGETS_H
#define RPINN_TESTS_NUTS_TARGETS_H

#include "check.h"

#include "rpinn/nuts.h"

/* A Gaussian with the precision matrix P [N][N] and zero mean. */
typedef struct Gaussian {
  size_t N;
  const double *precision;
} Gaussian;

static inline RpinnStatus gaussian(void *data, const double *x, double *log_density, double *gradient) {
  const Gaussian *g = data;
  *log_density = 0;
  for (size_t i = 0; i < g->N; i++) {
    double sum = 0;
    for (size_t j = 0; j < g->N; j++) sum += g->precision[i * g->N + j] * x[j];
    *log_density -= 0.5 * x[i] * sum;
    if (gradient) gradient[i] = -sum;
  }
  return RPINN_OK;
}

/* Correlation 0.75, deviations 1 and 2: covariance [[1, 1.5], [1.5, 4]], determinant 1.75. */
static const double pair_precision[] = {4 / 1.75, -1.5 / 1.75, -1.5 / 1.75, 1 / 1.75};
static Gaussian pair = {2, pair_precision};

enum { LADDER = 60 };
/* From 0.1 to 10. */
static inline double ladder_sd(size_t j) {
  return 0.1 * pow(100, (double)j / (LADDER - 1));
}

static inline RpinnStatus ladder(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (size_t j = 0; j < LADDER; j++) {
    double z = x[j] / ladder_sd(j);
    *log_density -= 0.5 * z * z;
    if (gradient) gradient[j] = -z / ladder_sd(j);
  }
  return RPINN_OK;
}

/* A density with walls: as high everywhere in (0, 1), and outside of it 0, or NaN where there are data. */
static inline RpinnStatus walls(void *data, const double *x, double *log_density, double *gradient) {
  *log_density = x[0] > 0 && x[0] < 1 ? 0 : data ? NAN : -INFINITY;
  if (gradient) gradient[0] = 0;
  return RPINN_OK;
}

static const RpinnMetric metrics[] = {RPINN_METRIC_UNIT, RPINN_METRIC_DIAGONAL, RPINN_METRIC_DENSE};

#endif
