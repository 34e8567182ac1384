/* Normal quantile: a guess of three digits (Abramowitz and Stegun 26.2.23), then Halley's steps on Phi(x) = p,
 *
 *   u = (Phi(x) - p) / phi(x),   x <- x - u / (1 + x u / 2),
 *
 * whose error is cubed each time. In the tail Phi comes from erfc, near the median Phi - 1/2 from erf: either
 * way without cancellation, so that x is as good as the functions of the C library.
 *
 * Incomplete beta: the continued fraction of DLMF 8.17.22,
 *
 *   I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * 1/(1 + d_1/(1 + d_2/(1 + …)))
 *   d_2m = m (b-m) x / ((a+2m-1)(a+2m)),   d_2m+1 = -(a+m)(a+b+m) x / ((a+2m)(a+2m+1)),
 *
 * by the method of Lentz, for x below (a+1)/(a+b+2), where it converges fast, and through
 * I_x(a, b) = 1 - I_1-x(b, a) above. Its quantile: Newton's steps on the density, kept in a bracket. */
#define _DEFAULT_SOURCE /* for lgamma_r */
#include "distributions.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

static const double root_half = 0.70710678118654752440, root_two_pi = 2.50662827463100050242;

/* p in (0, 1/2]; the answer is not positive. */
static double lower_normal_quantile(double p) {
  double t = sqrt(-2 * log(p));
  double x =
      (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int step = 0; step < 3; step++) {
    double excess = p > 0.25 ? 0.5 * erf(x * root_half) + (0.5 - p) : 0.5 * erfc(-x * root_half) - p;
    double u = excess * root_two_pi * exp(0.5 * x * x);
    x -= u / (1 + 0.5 * x * u);
  }
  return x;
}

double rpinn_normal_quantile(double probability) {
  if (!(probability >= 0 && probability <= 1)) return (double)NAN;
  if (probability == 0) return -(double)INFINITY;
  if (probability == 0.5) return 0;
  if (probability == 1) return (double)INFINITY;
  return probability <= 0.5 ? lower_normal_quantile(probability) : -lower_normal_quantile(1 - probability);
}

static double keep_from_zero(double value) {
  return fabs(value) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : value;
}

/* 1/(1 + d_1/(1 + d_2/(1 + …))): with the denominators D and the numerators C of its convergents. */
static double beta_fraction(double x, double a, double b) {
  enum { MOST_TERMS = 100000 };
  double C = 1, D = 1 / keep_from_zero(1 - (a + b) * x / (a + 1)), value = D;
  for (size_t term = 1; term < MOST_TERMS; term++) {
    double m = (double)term;
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    D = 1 / keep_from_zero(1 + even * D);
    C = keep_from_zero(1 + even / C);
    value *= C * D;
    D = 1 / keep_from_zero(1 + odd * D);
    C = keep_from_zero(1 + odd / C);
    value *= C * D;
    if (fabs(C * D - 1) < DBL_EPSILON) break;
  }
  return value;
}

static double log_beta(double a, double b) {
  int sign; /* of gamma, which is positive here; lgamma keeps it in a global variable, which threads share */
  return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

double rpinn_beta_cdf(double x, double a, double b) {
  if (!(a > 0 && b > 0 && isfinite(a) && isfinite(b) && x >= 0 && x <= 1)) return (double)NAN;
  if (x == 0 || x == 1) return x;
  double front = exp(a * log(x) + b * log1p(-x) - log_beta(a, b));
  if (x <= (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double rpinn_beta_quantile(double probability, double a, double b) {
  if (!(a > 0 && b > 0 && isfinite(a) && isfinite(b) && probability >= 0 && probability <= 1))
    return (double)NAN;
  if (probability == 0 || probability == 1) return probability;
  double low = 0, high = 1, x = a / (a + b), log_scale = log_beta(a, b);
  for (int step = 0; step < 200 && high - low > DBL_EPSILON * high; step++) {
    double excess = rpinn_beta_cdf(x, a, b) - probability;
    if (excess == 0) break;
    if (excess > 0)
      high = x;
    else
      low = x;
    double density = exp((a - 1) * log(x) + (b - 1) * log1p(-x) - log_scale);
    double next = x - excess / density;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (fabs(next - x) <= DBL_EPSILON * x) break;
    x = next;
  }
  return x;
}
