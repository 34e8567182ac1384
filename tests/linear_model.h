/* A model that is linear in its parameters, and its posterior in closed form, solved densely here. */
#ifndef RPINN_TESTS_LINEAR_MODEL_H
#define RPINN_TESTS_LINEAR_MODEL_H

#include "check.h"

#include "posterior.h"

static const char linear_yaml[] =
    "name: linear\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [7], activation: tanh, trainable: output}}\n"
    "truth: {u: sin(2*x)}\n"
    "terms:\n"
    "  level: {expect: u, at: {grid: 4}, data: truth, noise: 0.1}\n"
    "  curve: {expect: \"d(u, x, x) + u\", at: {grid: 3}, data: 0, noise: 0.5}\n"
    "predict: {grid: 5, quantities: [u]}\n"
    "settings: {method: laplace, likelihood: noise, prior_scale: 1.5, scale_fields: no, precision: double, "
    "seed: 4, samples: "
    "400, "
    "threads: 2}\n";
enum { M = 7, N = 8, POINTS = 5 };

/* Rows and predictions of a linear model: r = r_0 + A theta, u = B theta. */
typedef struct Closed {
  double r0[M], A[M][N], B[POINTS][N];
  double mean[N], covariance[N][N];
  double energy, log_evidence;
} Closed;

/* Gauss–Jordan with pivots: the inverse, and the log determinant. */
static inline double invert(double matrix[N][N], double inverse[N][N]) {
  double work[N][2 * N] = {{0}}, log_determinant = 0;
  for (size_t i = 0; i < N; i++) {
    memcpy(work[i], matrix[i], sizeof matrix[i]);
    work[i][N + i] = 1;
  }
  for (size_t k = 0; k < N; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < N; i++)
      if (fabs(work[i][k]) > fabs(work[pivot][k])) pivot = i;
    for (size_t j = 0; j < 2 * N; j++) {
      double swap = work[k][j];
      work[k][j] = work[pivot][j];
      work[pivot][j] = swap;
    }
    log_determinant += log(fabs(work[k][k]));
    for (size_t i = 0; i < N; i++) {
      double factor = i == k ? 0 : work[i][k] / work[k][k];
      for (size_t j = 0; j < 2 * N; j++) work[i][j] -= factor * work[k][j];
    }
  }
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) inverse[i][j] = work[i][N + j] / work[i][i];
  return log_determinant;
}

/* H = A^T A + 1/s_p^2, mean = -H^-1 A^T r_0, log Z = -E(mean) - 1/2 log det H - N log s_p - sum log s_i - M/2 log 2 pi. */
static inline Closed closed_form(RpinnPosterior *posterior) {
  const double prior = 1.5;
  Closed closed = {.energy = 0};
  double theta[N] = {0}, rows[M], H[N][N] = {{0}}, slope[N] = {0}, zero[POINTS], values[POINTS];
  assert_int_equal(posterior->model.num_rows, M);
  assert_int_equal(posterior->model.num_parameters, N);
  assert_int_equal(rpinn_posterior_residuals(NULL, posterior, theta, closed.r0, NULL), RPINN_OK);
  assert_int_equal(rpinn_posterior_predict(NULL, posterior, theta, zero), RPINN_OK);
  for (size_t j = 0; j < N; j++) { /* columns: the model at unit vectors */
    theta[j] = 1;
    assert_int_equal(rpinn_posterior_residuals(NULL, posterior, theta, rows, NULL), RPINN_OK);
    assert_int_equal(rpinn_posterior_predict(NULL, posterior, theta, values), RPINN_OK);
    for (size_t i = 0; i < M; i++) closed.A[i][j] = rows[i] - closed.r0[i];
    for (size_t p = 0; p < POINTS; p++) closed.B[p][j] = values[p] - zero[p];
    theta[j] = 0;
  }
  for (size_t j = 0; j < N; j++) {
    H[j][j] = 1 / (prior * prior);
    for (size_t i = 0; i < M; i++) {
      slope[j] += closed.A[i][j] * closed.r0[i];
      for (size_t k = 0; k < N; k++) H[j][k] += closed.A[i][j] * closed.A[i][k];
    }
  }
  double log_determinant = invert(H, closed.covariance);
  for (size_t j = 0; j < N; j++)
    for (size_t k = 0; k < N; k++) closed.mean[j] -= closed.covariance[j][k] * slope[k];
  for (size_t i = 0; i < M; i++) {
    double row = closed.r0[i];
    for (size_t j = 0; j < N; j++) row += closed.A[i][j] * closed.mean[j];
    closed.energy += 0.5 * row * row;
  }
  for (size_t j = 0; j < N; j++) closed.energy += 0.5 * closed.mean[j] * closed.mean[j] / (prior * prior);
  closed.log_evidence = -closed.energy - 0.5 * log_determinant - N * log(prior) - 4 * log(0.1) -
                        3 * log(0.5) - M * 0.91893853320467274178;
  return closed;
}

#endif
