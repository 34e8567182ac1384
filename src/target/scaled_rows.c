#include "scaled_rows.h"

#include <stdlib.h>

static void scale_rows(const RpinnScaledRows *scaled, double *rows) {
  for (size_t i = 0; i < scaled->base->num_rows; i++) rows[i] *= scaled->factors[i];
}

static RpinnStatus residuals(void *data, const double *theta, double *rows) {
  const RpinnScaledRows *scaled = data;
  RpinnStatus status = scaled->base->residuals(scaled->base->data, theta, rows);
  if (status == RPINN_OK) scale_rows(scaled, rows);
  return status;
}

static RpinnStatus jacobian(void *data, const double *theta, double *rows, double *matrix) {
  const RpinnScaledRows *scaled = data;
  size_t N = scaled->base->num_parameters;
  RpinnStatus status = scaled->base->jacobian(scaled->base->data, theta, rows, matrix);
  if (status != RPINN_OK) return status;
  scale_rows(scaled, rows);
  for (size_t i = 0; matrix && i < scaled->base->num_rows; i++)
    for (size_t j = 0; j < N; j++) matrix[i * N + j] *= scaled->factors[i];
  return RPINN_OK;
}

static RpinnStatus times(void *data, const double *theta, const double *direction, double *product) {
  const RpinnScaledRows *scaled = data;
  RpinnStatus status = rpinn_least_squares_jacobian_times(scaled->base, theta, direction, product);
  if (status == RPINN_OK) scale_rows(scaled, product);
  return status;
}

static RpinnStatus transposed_times(void *data, const double *theta, const double *weights, double *product) {
  const RpinnScaledRows *scaled = data;
  for (size_t i = 0; i < scaled->base->num_rows; i++) scaled->weights[i] = weights[i] * scaled->factors[i];
  return rpinn_least_squares_transposed_times(scaled->base, theta, scaled->weights, product);
}

static RpinnStatus gram(void *data, const double *theta, const double *scale, double *rows, double *product) {
  const RpinnScaledRows *scaled = data;
  size_t M = scaled->base->num_rows;
  RpinnStatus status = rpinn_least_squares_gram(scaled->base, theta, scale, rows, product);
  if (status != RPINN_OK) return status;
  scale_rows(scaled, rows);
  for (size_t i = 0; i < M; i++)
    for (size_t k = 0; k < M; k++) product[i * M + k] *= scaled->factors[i] * scaled->factors[k];
  return RPINN_OK;
}

RpinnStatus rpinn_scaled_rows_open(const RpinnLeastSquares *base, RpinnScaledRows *scaled) {
  size_t M = base->num_rows;
  *scaled = (RpinnScaledRows){
      .base = base, .factors = malloc((M + 1) * sizeof(double)), .weights = malloc((M + 1) * sizeof(double))};
  if (!scaled->factors || !scaled->weights) return RPINN_ERROR_MEMORY;
  for (size_t i = 0; i < M; i++) scaled->factors[i] = 1;
  scaled->squares = (RpinnLeastSquares){.num_parameters = base->num_parameters,
                                        .num_rows = M,
                                        .prior_root = base->prior_root,
                                        .prior_mean = base->prior_mean,
                                        .data = scaled,
                                        .residuals = residuals,
                                        .jacobian = jacobian,
                                        .jacobian_times = times,
                                        .transposed_times = transposed_times,
                                        .gram = gram};
  return RPINN_OK;
}

void rpinn_scaled_rows_close(RpinnScaledRows *scaled) {
  free(scaled->factors);
  free(scaled->weights);
  scaled->factors = scaled->weights = NULL;
}
