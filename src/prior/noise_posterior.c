#include "noise_posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dense_algebra.h"

static const double reach = 5; /* of u on each side */

static double node(size_t i) {
  return reach * (2 * (double)i / (RPINN_NOISE_NODES - 1) - 1);
}

static double fine(size_t i) {
  return reach * (2 * (double)i / (RPINN_NOISE_FINE - 1) - 1);
}

RpinnStatus rpinn_noise_posterior_make_room(RpinnContext *context, RpinnArena *arena, size_t count,
                                            RpinnNoisePosterior *posterior) {
  double *memory =
      RPINN_ARENA_NEW(arena, double, count *(1 + 2 * count + RPINN_NOISE_NODES + RPINN_NOISE_FINE) + 1);
  if (!memory) return rpinn_fail_memory(context);
  *posterior = (RpinnNoisePosterior){.count = count, .mode = memory};
  posterior->axes = posterior->mode + count;
  posterior->inverse = posterior->axes + count * count;
  posterior->departure = posterior->inverse + count * count;
  posterior->density = posterior->departure + count * RPINN_NOISE_NODES;
  return RPINN_OK;
}

/* ---- making it ---- */

/* Cubic through the four nodes around u (Lagrange). */
static double interpolate(const double *values, double u) {
  double place = (u + reach) / (2 * reach) * (RPINN_NOISE_NODES - 1), sum = 0;
  size_t first = place < 1 ? 0 : (size_t)place - 1;
  if (first > RPINN_NOISE_NODES - 4) first = RPINN_NOISE_NODES - 4;
  for (size_t i = 0; i < 4; i++) {
    double weight = 1;
    for (size_t j = 0; j < 4; j++)
      if (j != i) weight *= (place - (double)(first + j)) / ((double)i - (double)j);
    sum += weight * values[first + i];
  }
  return sum;
}

static void fill_density(const double *departure, double *density) {
  double highest = -(double)INFINITY, total = 0, step = 2 * reach / (RPINN_NOISE_FINE - 1);
  for (size_t i = 0; i < RPINN_NOISE_FINE; i++) {
    density[i] = interpolate(departure, fine(i)) - 0.5 * fine(i) * fine(i);
    highest = fmax(highest, density[i]);
  }
  for (size_t i = 0; i < RPINN_NOISE_FINE; i++) density[i] = exp(density[i] - highest);
  for (size_t i = 0; i + 1 < RPINN_NOISE_FINE; i++) total += 0.5 * step * (density[i] + density[i + 1]);
  for (size_t i = 0; i < RPINN_NOISE_FINE; i++) density[i] /= total;
}

/* Axes are the columns of L^-T, an upper triangle; its inverse is L^T. */
void rpinn_noise_posterior_complete(RpinnNoisePosterior *posterior) {
  size_t K = posterior->count;
  const double *axes = posterior->axes;
  double *inverse = posterior->inverse;
  memset(inverse, 0, K * K * sizeof *inverse);
  for (size_t column = 0; column < K; column++)
    for (size_t row = column + 1; row-- > 0;) {
      double sum = row == column;
      for (size_t j = row + 1; j <= column; j++) sum -= axes[row * K + j] * inverse[j * K + column];
      inverse[row * K + column] = sum / axes[row * K + row];
    }
  for (size_t k = 0; k < K; k++)
    fill_density(posterior->departure + k * RPINN_NOISE_NODES, posterior->density + k * RPINN_NOISE_FINE);
}

/* The columns of L^-T, one after the other. */
static RpinnStatus find_axes(double *curvature, RpinnNoisePosterior *posterior) {
  size_t K = posterior->count;
  double *column = malloc((K + 1) * sizeof *column);
  if (!column) return RPINN_ERROR_MEMORY;
  bool good = rpinn_dense_factor(K, curvature);
  for (size_t k = 0; good && k < K; k++) {
    for (size_t j = 0; j < K; j++) column[j] = j == k;
    rpinn_dense_solve_transposed(K, curvature, column);
    for (size_t j = 0; j < K; j++) posterior->axes[j * K + k] = column[j];
    good = isfinite(column[k]);
  }
  free(column);
  return good ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

/* Where the evidence cannot be had, far out, it counts as that of a normal density. */
static RpinnStatus find_departures(const RpinnNoisePoints *points, RpinnNoisePosterior *posterior) {
  size_t K = posterior->count;
  double *eta = malloc((K + 1) * sizeof *eta), top;
  if (!eta) return RPINN_ERROR_MEMORY;
  RpinnStatus status = rpinn_noise_evidence(points, posterior->mode, &top, NULL);
  for (size_t k = 0; k < K && status == RPINN_OK; k++)
    for (size_t i = 0; i < RPINN_NOISE_NODES && status != RPINN_ERROR_MEMORY; i++) {
      double value, *departure = &posterior->departure[k * RPINN_NOISE_NODES + i];
      for (size_t j = 0; j < K; j++) eta[j] = posterior->mode[j] + node(i) * posterior->axes[j * K + k];
      status = rpinn_noise_evidence(points, eta, &value, NULL);
      *departure = status == RPINN_OK ? value - top + 0.5 * node(i) * node(i) : 0;
    }
  free(eta);
  return status == RPINN_ERROR_MEMORY ? status : RPINN_OK;
}

RpinnStatus rpinn_noise_posterior_make(RpinnContext *context, const RpinnNoisePoints *points,
                                       const double *eta, RpinnNoisePosterior *posterior) {
  size_t K = points->noise->count;
  double *curvature = malloc((K * K + 1) * sizeof *curvature);
  if (!curvature) return rpinn_fail_memory(context);
  memcpy(posterior->mode, eta, K * sizeof *eta);
  RpinnStatus status = rpinn_noise_curvature(points, eta, curvature);
  if (status == RPINN_OK) status = find_axes(curvature, posterior);
  if (status == RPINN_OK) status = find_departures(points, posterior);
  free(curvature);
  if (status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  if (status == RPINN_OK) rpinn_noise_posterior_complete(posterior);
  return status;
}

/* ---- using it ---- */

/* u with the share `below` of a density that is linear between its points. */
static double quantile(const double *density, double below) {
  double step = 2 * reach / (RPINN_NOISE_FINE - 1), sum = 0;
  for (size_t i = 0; i + 1 < RPINN_NOISE_FINE; i++) {
    double a = density[i], b = density[i + 1], piece = 0.5 * step * (a + b);
    if (sum + piece < below) {
      sum += piece;
      continue;
    }
    /* a x + (b - a) x^2 / (2 step) = rest, in the form that does not cancel */
    double rest = below - sum, slope = (b - a) / step, root = sqrt(fmax(0, a * a + 2 * slope * rest));
    return fine(i) + (a + root > 0 ? fmin(step, 2 * rest / (a + root)) : 0);
  }
  return reach;
}

void rpinn_noise_posterior_draw(const RpinnNoisePosterior *posterior, RpinnStream *stream, double *eta) {
  size_t K = posterior->count;
  memcpy(eta, posterior->mode, K * sizeof *eta);
  for (size_t k = 0; k < K; k++) {
    double u = quantile(posterior->density + k * RPINN_NOISE_FINE, rpinn_stream_uniform(stream));
    for (size_t j = 0; j < K; j++) eta[j] += u * posterior->axes[j * K + k];
  }
}

double rpinn_noise_posterior_log_density(const RpinnNoisePosterior *posterior, const double *eta) {
  size_t K = posterior->count;
  double sum = 0;
  for (size_t k = 0; k < K; k++) {
    const double *density = posterior->density + k * RPINN_NOISE_FINE;
    double u = 0;
    for (size_t j = 0; j < K; j++) u += posterior->inverse[k * K + j] * (eta[j] - posterior->mode[j]);
    double place = (u + reach) / (2 * reach) * (RPINN_NOISE_FINE - 1);
    if (!(place >= 0 && place <= RPINN_NOISE_FINE - 1)) return -(double)INFINITY;
    size_t i = (size_t)place < RPINN_NOISE_FINE - 1 ? (size_t)place : RPINN_NOISE_FINE - 2;
    sum += log(density[i] + (place - (double)i) * (density[i + 1] - density[i])) +
           log(fabs(posterior->inverse[k * K + k])); /* the determinant of a triangle */
  }
  return sum;
}
