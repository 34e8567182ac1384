/* Symbols: S draws, of which e S count; tail of ceil(min(S / 5, 3 sqrt(S / e))) weights; cutoff the largest weight below the tail;
 * x_1 <= … <= x_n the tail's exceedances over the cutoff.
 *
 * Fit (Zhang and Stephens, Technometrics 51, 2009), in the parameter b = -k / sigma:
 *   k(b) = 1/n sum_i log(1 - b x_i)                 profile over k, here with the sign that is positive for
 *                                                   heavy tails
 *   l(b) = n ( log(-b / k(b)) - k(b) - 1 )          profile log likelihood
 *   b_j  = 1 / x_n + (1 - sqrt(m / (j - 1/2))) / (3 x_q),   j = 1 … m = 30 + floor(sqrt n),
 * with x_q the first quartile: quantiles of a prior for b. The estimate is the posterior mean over these b_j,
 * b = sum_j b_j exp(l_j) / sum_j exp(l_j), then k = k(b), sigma = -k / b: no iteration, and no failure to
 * converge. Last, k is drawn to 1/2 as if by 10 further draws: k <- (n k + 5) / (n + 10).
 *
 * The i-th smallest tail weight becomes cutoff + the quantile at (i - 1/2) / n of the fit, at most the
 * largest raw weight. */
#include "pareto_smoothing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { LEAST_TAIL = 5, LEAST_GRID = 30 };

/* Log weights that differ by less are equal: what is left of a constant after some rounding. */
static const double rounding = 1e-10;

static double log1p_mean(size_t n, const double *x, double b) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += log1p(-b * x[i]);
  return sum / (double)n;
}

static double profile_log_likelihood(size_t n, const double *x, double b, double mean) {
  double k = log1p_mean(n, x, b);
  double ratio = b == 0 || k == 0 ? 1 / mean : -b / k; /* its limit */
  return (double)n * (log(ratio) - k - 1);
}

bool rpinn_pareto_fit(size_t count, const double *exceedances, double *k, double *sigma) {
  const double *x = exceedances;
  double n = (double)count, largest = x[count - 1], mean = 0;
  double quartile = x[(size_t)(n / 4 + 0.5) - 1];
  for (size_t i = 0; i < count; i++) mean += x[i] / n;
  if (!(x[0] >= 0 && quartile > 0 && isfinite(1 / quartile) && isfinite(mean))) return false;
  size_t m = LEAST_GRID + (size_t)sqrt(n);
  /* The weights of the grid, relative to the best so far: one pass. */
  double best = -(double)INFINITY, total = 0, weighted = 0;
  for (size_t j = 0; j < m; j++) {
    double b = 1 / largest + (1 - sqrt((double)m / ((double)j + 0.5))) / (3 * quartile);
    double l = profile_log_likelihood(count, x, b, mean);
    if (isnan(l)) return false;
    if (l > best) {
      double shrink = exp(best - l);
      best = l, total *= shrink, weighted *= shrink;
    }
    total += exp(l - best);
    weighted += exp(l - best) * b;
  }
  double b = weighted / total, shape = log1p_mean(count, x, b);
  *sigma = b == 0 || shape == 0 ? mean : -shape / b;
  *k = (n * shape + 5) / (n + 10);
  return isfinite(*k) && *sigma > 0 && isfinite(*sigma);
}

/* sigma ((1 - p)^-k - 1) / k */
static double pareto_quantile(double p, double k, double sigma) {
  double exponential = -log1p(-p);
  return fabs(k) < DBL_EPSILON ? sigma * exponential : sigma * expm1(k * exponential) / k;
}

typedef struct Weight {
  double log_weight; /* relative to the largest */
  size_t draw;
} Weight;

/* By weight, then by draw, so that ties have one order. */
static int compare_weights(const void *left, const void *right) {
  const Weight *a = left, *b = right;
  if (a->log_weight != b->log_weight) return a->log_weight < b->log_weight ? -1 : 1;
  return (a->draw > b->draw) - (a->draw < b->draw);
}

/* sorted [count]; smoothed [count] by draw; workspace [count]. */
static void smooth_tail(size_t count, double efficiency, const Weight *sorted, double *smoothed,
                        double *workspace, RpinnParetoSmoothing *result) {
  size_t tail = (size_t)ceil(fmin((double)count / 5, 3 * sqrt((double)count / efficiency)));
  if (tail < LEAST_TAIL) return;
  double cutoff = fmax(sorted[count - tail - 1].log_weight, log(DBL_MIN));
  size_t first = count - tail;
  while (first < count && sorted[first].log_weight <= cutoff) first++;
  size_t n = count - first;
  if (n < LEAST_TAIL || sorted[count - 1].log_weight - sorted[first].log_weight <= rounding) return;
  double k, sigma;
  for (size_t i = 0; i < n; i++) workspace[i] = exp(sorted[first + i].log_weight) - exp(cutoff);
  if (!rpinn_pareto_fit(n, workspace, &k, &sigma)) return;
  for (size_t i = 0; i < n; i++) {
    double quantile = pareto_quantile(((double)i + 0.5) / (double)n, k, sigma);
    smoothed[sorted[first + i].draw] = fmin(0, log(quantile + exp(cutoff)));
  }
  result->k = k;
  result->tail_size = n;
}

static void normalise(size_t count, double *log_weights, double *effective_size) {
  double largest = -(double)INFINITY, sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, log_weights[i]);
  for (size_t i = 0; i < count; i++) sum += exp(log_weights[i] - largest);
  for (size_t i = 0; i < count; i++) {
    log_weights[i] -= largest + log(sum);
    squares += exp(2 * log_weights[i]);
  }
  *effective_size = 1 / squares;
}

/* The largest and the smallest; false when they cannot be weights. */
static bool find_range(size_t count, const double *log_weights, double *least, double *largest) {
  *least = (double)INFINITY, *largest = -(double)INFINITY;
  for (size_t i = 0; i < count; i++) {
    if (isnan(log_weights[i])) return false;
    *least = fmin(*least, log_weights[i]);
    *largest = fmax(*largest, log_weights[i]);
  }
  return isfinite(*largest);
}

RpinnStatus rpinn_pareto_smooth(size_t count, const double *log_weights, double *smoothed,
                                RpinnParetoSmoothing *result) {
  return rpinn_pareto_smooth_chains(count, 1, log_weights, smoothed, result);
}

RpinnStatus rpinn_pareto_smooth_chains(size_t count, double efficiency, const double *log_weights,
                                       double *smoothed, RpinnParetoSmoothing *result) {
  double least, largest;
  *result = (RpinnParetoSmoothing){.k = (double)NAN, .effective_size = (double)NAN};
  result->usable = find_range(count, log_weights, &least, &largest);
  if (!result->usable) {
    for (size_t i = 0; i < count; i++) smoothed[i] = (double)NAN;
    return RPINN_OK;
  }
  for (size_t i = 0; i < count; i++) smoothed[i] = log_weights[i] - largest;
  result->constant = largest - least <= rounding;
  if (!result->constant) {
    Weight *sorted = malloc(count * sizeof *sorted);
    double *workspace = malloc(count * sizeof *workspace);
    if (sorted && workspace) {
      for (size_t i = 0; i < count; i++) sorted[i] = (Weight){smoothed[i], i};
      qsort(sorted, count, sizeof *sorted, compare_weights);
      smooth_tail(count, efficiency, sorted, smoothed, workspace, result);
    }
    bool enough = sorted && workspace;
    free(sorted);
    free(workspace);
    if (!enough) return RPINN_ERROR_MEMORY;
  }
  normalise(count, smoothed, &result->effective_size);
  return RPINN_OK;
}
