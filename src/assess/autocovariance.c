/* Symbols: m chains of n draws x, S = m n; zero padding to P >= 2 n, a power of two.
 *
 * Wiener-Khinchin: the inverse transform of |DFT(x)|^2 is the autocorrelation of x. Two chains travel as the real
 * and the imaginary part of one z: the real part of the autocorrelation of z = x + i y is that of x plus that of
 * y. Powers are added over all pairs and transformed back once. The forward transform leaves its result in
 * bit-reversed order (decimation in frequency), the backward one starts from it (decimation in time), and nothing
 * is ever sorted.
 *
 * Effective size (Geyer 1992; Vehtari et al. 2021, as R's posterior has it), with the mean autocovariance c_t and
 * W = c_0 n/(n-1):
 *   var+  = c_0 + variance of the chain means (if m > 1),   rho_t = 1 - (W - c_t) / var+
 *   pairs rho_2k + rho_2k+1 are taken while they are positive, and made to decrease; T is the even lag at which
 *   this stops
 *   tau   = -1 + 2 sum_{t<T} rho_t + max(rho_T, 0), at least 1 / log10 S;   S / tau. */
#include "autocovariance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct RpinnAutocovariance {
  size_t padded;         /* P for the longest chains */
  double *cosine, *sine; /* [P]: cos and -sin of pi j / half at half + j, j < half = 1, 2, 4 … P/2 */
  double *real, *imaginary, *power; /* [P] */
  double *rho;                      /* [P] */
};

/* ---- views ---- */

size_t rpinn_chains_count(const RpinnChains *chains) {
  return chains->split ? 2 * chains->num_chains : chains->num_chains;
}

size_t rpinn_chains_length(const RpinnChains *chains) {
  return chains->split ? chains->num_draws / 2 : chains->num_draws;
}

const double *rpinn_chain(const RpinnChains *chains, size_t index) {
  if (!chains->split) return chains->values + index * chains->num_draws;
  size_t second_half = chains->num_draws - chains->num_draws / 2;
  return chains->values + index / 2 * chains->num_draws + index % 2 * second_half;
}

bool rpinn_chains_constant(const RpinnChains *chains) {
  size_t count = rpinn_chains_count(chains), length = rpinn_chains_length(chains);
  for (size_t c = 0; c < count; c++) {
    const double *chain = rpinn_chain(chains, c);
    for (size_t i = 0; i < length; i++)
      if (chain[i] != chains->values[0]) return false;
  }
  return true;
}

double rpinn_mean(size_t count, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i] - values[0];
  return values[0] + sum / (double)count;
}

double rpinn_variance(size_t count, const double *values, double mean) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (values[i] - mean) * (values[i] - mean);
  return count > 1 ? sum / (double)(count - 1) : (double)NAN;
}

double rpinn_chains_between(const RpinnChains *chains) {
  size_t count = rpinn_chains_count(chains), length = rpinn_chains_length(chains);
  double mean = 0, squares = 0; /* Welford's */
  for (size_t c = 0; c < count; c++) {
    double value = rpinn_mean(length, rpinn_chain(chains, c)), step = value - mean;
    mean += step / (double)(c + 1);
    squares += step * (value - mean);
  }
  return count > 1 ? squares / (double)(count - 1) : (double)NAN;
}

/* ---- transforms ---- */

static size_t padded_length(size_t num_draws) {
  size_t padded = 2;
  while (padded < 2 * num_draws) padded *= 2;
  return padded;
}

RpinnAutocovariance *rpinn_autocovariance_create(size_t most_draws) {
  const double pi = 3.14159265358979323846;
  RpinnAutocovariance *work = calloc(1, sizeof *work);
  if (!work) return NULL;
  size_t padded = padded_length(most_draws);
  work->padded = padded;
  work->cosine = calloc(6 * padded, sizeof(double));
  if (!work->cosine) {
    free(work);
    return NULL;
  }
  work->sine = work->cosine + padded;
  work->real = work->sine + padded;
  work->imaginary = work->real + padded;
  work->power = work->imaginary + padded;
  work->rho = work->power + padded;
  for (size_t half = 1; half < padded; half *= 2)
    for (size_t j = 0; j < half; j++) {
      work->cosine[half + j] = cos(pi * (double)j / (double)half);
      work->sine[half + j] = -sin(pi * (double)j / (double)half);
    }
  return work;
}

void rpinn_autocovariance_destroy(RpinnAutocovariance *work) {
  if (!work) return;
  free(work->cosine);
  free(work);
}

/* One stage on one block: (a, b) to (a + b, (a - b) w). */
static void forward_block(size_t half, const double *restrict c, const double *restrict s,
                          double *restrict ar, double *restrict ai, double *restrict br,
                          double *restrict bi) {
  for (size_t j = 0; j < half; j++) {
    double real = ar[j] - br[j], imaginary = ai[j] - bi[j];
    ar[j] += br[j];
    ai[j] += bi[j];
    br[j] = real * c[j] - imaginary * s[j];
    bi[j] = real * s[j] + imaginary * c[j];
  }
}

/* (a, b) to (a + b conj(w), a - b conj(w)). */
static void backward_block(size_t half, const double *restrict c, const double *restrict s,
                           double *restrict ar, double *restrict ai, double *restrict br,
                           double *restrict bi) {
  for (size_t j = 0; j < half; j++) {
    double real = br[j] * c[j] + bi[j] * s[j], imaginary = bi[j] * c[j] - br[j] * s[j];
    br[j] = ar[j] - real;
    bi[j] = ai[j] - imaginary;
    ar[j] += real;
    ai[j] += imaginary;
  }
}

static void transform(const RpinnAutocovariance *work, size_t padded, bool forward, double *real,
                      double *imaginary) {
  for (size_t step = 1; step < padded; step *= 2) {
    size_t half = forward ? padded / 2 / step : step;
    const double *c = work->cosine + half, *s = work->sine + half;
    for (size_t first = 0; first < padded; first += 2 * half)
      (forward ? forward_block : backward_block)(half, c, s, real + first, imaginary + first,
                                                 real + first + half, imaginary + first + half);
  }
}

/* A chain without its mean, then zeros; zeros alone for no chain. */
static void centre(size_t length, const double *chain, size_t padded, double *centred) {
  double mean = chain ? rpinn_mean(length, chain) : 0;
  memset(centred, 0, padded * sizeof *centred);
  for (size_t i = 0; chain && i < length; i++) centred[i] = chain[i] - mean;
}

const double *rpinn_autocovariance(RpinnAutocovariance *work, const RpinnChains *chains) {
  size_t count = rpinn_chains_count(chains), length = rpinn_chains_length(chains),
         padded = padded_length(length);
  memset(work->power, 0, padded * sizeof *work->power);
  for (size_t c = 0; c < count; c += 2) {
    centre(length, rpinn_chain(chains, c), padded, work->real);
    centre(length, c + 1 < count ? rpinn_chain(chains, c + 1) : NULL, padded, work->imaginary);
    transform(work, padded, true, work->real, work->imaginary);
    for (size_t k = 0; k < padded; k++)
      work->power[k] += work->real[k] * work->real[k] + work->imaginary[k] * work->imaginary[k];
  }
  memset(work->imaginary, 0, padded * sizeof *work->imaginary);
  transform(work, padded, false, work->power, work->imaginary);
  double scale = 1 / ((double)padded * (double)length * (double)count);
  for (size_t t = 0; t < length; t++) work->power[t] *= scale;
  return work->power;
}

/* ---- effective size ---- */

/* Fills rho with the taken pairs and the last even lag T, which it returns. */
static size_t positive_pairs(size_t length, const double *covariance, double within, double total,
                             double *rho) {
  size_t t = 0;
  double even = 1, odd = 1 - (within - covariance[1]) / total;
  memset(rho, 0, (length + 1) * sizeof *rho);
  rho[0] = even, rho[1] = odd;
  while (t + 5 < length && even + odd > 0) {
    t += 2;
    even = 1 - (within - covariance[t]) / total;
    odd = 1 - (within - covariance[t + 1]) / total;
    if (even + odd >= 0) rho[t] = even, rho[t + 1] = odd;
  }
  if (even > 0) rho[t] = even;
  return t;
}

static void make_pairs_decrease(size_t last, double *rho) {
  for (size_t t = 2; t + 2 <= last; t += 2)
    if (rho[t] + rho[t + 1] > rho[t - 2] + rho[t - 1]) rho[t] = rho[t + 1] = 0.5 * (rho[t - 2] + rho[t - 1]);
}

double rpinn_effective_size(RpinnAutocovariance *work, const RpinnChains *chains) {
  size_t m = rpinn_chains_count(chains), n = rpinn_chains_length(chains);
  if (n < 3 || m < 1 || rpinn_chains_constant(chains)) return (double)NAN;
  const double *covariance = rpinn_autocovariance(work, chains);
  double within = covariance[0] * (double)n / (double)(n - 1), total = covariance[0];
  if (m > 1) total += rpinn_chains_between(chains);
  if (!(total > 0 && isfinite(total))) return (double)NAN;
  size_t last = positive_pairs(n, covariance, within, total, work->rho);
  make_pairs_decrease(last, work->rho);
  double sum = work->rho[0], size = (double)(m * n); /* lag 0 counts even where there is no pair after it */
  for (size_t t = 1; t < last; t++) sum += work->rho[t];
  return size / fmax(-1 + 2 * sum + work->rho[last], 1 / log10(size));
}
