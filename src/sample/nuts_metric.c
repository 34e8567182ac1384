/* Welford: with the n-th draw x,
 *   d = x - mean,  mean += d/n,  S += (x - mean) d^T,   covariance S/(n - 1)
 *
 * The inverse metric is n/(n+5) S/(n-1) + 1e-3 * 5/(n+5) I: few draws must not make a direction look flat.
 * One draw has no covariance; as in Stan, the inverse metric so far stands for S/(n-1) then.
 *
 * Momenta with z ~ N(0, I): p_i = z_i/sqrt(M^-1_ii), or L^T p = z with M^-1 = L L^T, whose covariance is
 * L^-T L^-1 = M. */
#include "nuts_metric.h"

#include <math.h>
#include <string.h>

#include "dense_algebra.h"
#include "phase_vectors.h"

static const double shrink_to = 1e-3, shrink_weight = 5;

bool rpinn_nuts_metric_create(RpinnArena *arena, RpinnMetric kind, size_t num_parameters,
                              RpinnNutsMetric *metric) {
  size_t N = num_parameters, padded = rpinn_phase_length(N);
  *metric = (RpinnNutsMetric){.kind = kind, .num_parameters = N};
  if (kind == RPINN_METRIC_UNIT) return true;
  if (kind == RPINN_METRIC_DENSE && N > SIZE_MAX / (N * sizeof(double))) return false;
  size_t size = kind == RPINN_METRIC_DENSE ? N * N : padded;
  metric->inverse = RPINN_ARENA_NEW(arena, double, size);
  metric->root = RPINN_ARENA_NEW(arena, double, size);
  metric->squares = RPINN_ARENA_NEW(arena, double, size);
  metric->mean = RPINN_ARENA_NEW(arena, double, padded);
  metric->offset = RPINN_ARENA_NEW(arena, double, padded);
  if (!metric->inverse || !metric->root || !metric->squares || !metric->mean || !metric->offset) return false;
  rpinn_nuts_metric_reset(metric);
  return true;
}

/* Entry (i, i) stands at i * stride. */
static size_t diagonal_stride(const RpinnNutsMetric *metric) {
  return metric->kind == RPINN_METRIC_DENSE ? metric->num_parameters + 1 : 1;
}

static void forget_draws(RpinnNutsMetric *metric) {
  size_t N = metric->num_parameters, size = metric->kind == RPINN_METRIC_DENSE ? N * N : N;
  metric->num_draws = 0;
  memset(metric->mean, 0, N * sizeof(double));
  memset(metric->squares, 0, size * sizeof(double));
}

void rpinn_nuts_metric_reset(RpinnNutsMetric *metric) {
  if (metric->kind == RPINN_METRIC_UNIT) return;
  size_t N = metric->num_parameters, stride = diagonal_stride(metric);
  if (metric->kind == RPINN_METRIC_DENSE) {
    memset(metric->inverse, 0, N * N * sizeof(double));
    memset(metric->root, 0, N * N * sizeof(double));
  }
  for (size_t i = 0; i < N; i++) metric->inverse[i * stride] = metric->root[i * stride] = 1;
  metric->version++;
  forget_draws(metric);
}

void rpinn_nuts_metric_draw(const RpinnNutsMetric *metric, RpinnStream *stream, double *p) {
  size_t N = metric->num_parameters;
  rpinn_stream_normals(stream, N, p);
  if (metric->kind == RPINN_METRIC_DIAGONAL)
    for (size_t i = 0; i < N; i++) p[i] /= metric->root[i];
  if (metric->kind == RPINN_METRIC_DENSE) rpinn_dense_solve_transposed(N, metric->root, p);
}

void rpinn_nuts_metric_learn(RpinnNutsMetric *metric, const double *theta) {
  if (metric->kind == RPINN_METRIC_UNIT) return;
  size_t N = metric->num_parameters;
  double n = (double)++metric->num_draws, *mean = metric->mean, *d = metric->offset;
  for (size_t i = 0; i < N; i++) {
    d[i] = theta[i] - mean[i];
    mean[i] += d[i] / n;
  }
  if (metric->kind == RPINN_METRIC_DIAGONAL)
    for (size_t i = 0; i < N; i++) metric->squares[i] += (theta[i] - mean[i]) * d[i];
  else
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j <= i; j++) metric->squares[i * N + j] += (theta[i] - mean[i]) * d[j];
}

bool rpinn_nuts_metric_refresh(RpinnNutsMetric *metric) {
  size_t N = metric->num_parameters;
  metric->version++;
  if (metric->kind == RPINN_METRIC_DIAGONAL)
    for (size_t i = 0; i < N; i++) {
      if (!(metric->inverse[i] > 0 && isfinite(metric->inverse[i]))) return false;
      metric->root[i] = sqrt(metric->inverse[i]);
    }
  if (metric->kind == RPINN_METRIC_DENSE) {
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j <= i; j++) {
        if (!isfinite(metric->inverse[i * N + j])) return false;
        metric->root[i * N + j] = metric->inverse[i * N + j];
      }
    return rpinn_dense_factor(N, metric->root);
  }
  return true;
}

bool rpinn_nuts_metric_take(RpinnNutsMetric *metric, const double *inverse) {
  size_t N = metric->num_parameters;
  if (metric->kind == RPINN_METRIC_UNIT) return true;
  memcpy(metric->inverse, inverse, (metric->kind == RPINN_METRIC_DENSE ? N * N : N) * sizeof *inverse);
  return rpinn_nuts_metric_refresh(metric);
}

RpinnStatus rpinn_nuts_metric_update(RpinnContext *context, RpinnNutsMetric *metric) {
  if (metric->kind == RPINN_METRIC_UNIT) return RPINN_OK;
  size_t N = metric->num_parameters, stride = diagonal_stride(metric), num_draws = metric->num_draws;
  bool spread = num_draws > 1;
  double n = (double)num_draws, weight = n / (n + shrink_weight) / (spread ? n - 1 : 1);
  const double *squares = spread ? metric->squares : metric->inverse;
  if (metric->kind == RPINN_METRIC_DIAGONAL)
    for (size_t i = 0; i < N; i++) metric->inverse[i] = weight * squares[i];
  else
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j <= i; j++)
        metric->inverse[i * N + j] = metric->inverse[j * N + i] = weight * squares[i * N + j];
  for (size_t i = 0; i < N; i++)
    metric->inverse[i * stride] += shrink_to * shrink_weight / (n + shrink_weight);
  forget_draws(metric);
  if (rpinn_nuts_metric_refresh(metric)) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                    "the covariance of %zu warmup draws is not finite or not positive definite", num_draws);
}
