/* Small statistics for tests of samplers: means with Monte Carlo standard errors by batch means, and the
 * distance of a sample from its distribution. */
#ifndef RPINN_TESTS_CHAIN_STATISTICS_H
#define RPINN_TESTS_CHAIN_STATISTICS_H

#include "check.h"

typedef struct Estimate {
  double mean, mcse;
} Estimate;

/* Values of draws in order. Batches of sqrt(n) draws are long beside the correlation of NUTS, so their means
 * are nearly independent. */
static inline Estimate estimate_mean(size_t count, const double *values) {
  size_t num_batches = (size_t)sqrt((double)count), size = count / num_batches;
  double mean = 0, square = 0;
  for (size_t b = 0; b < num_batches; b++) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) sum += values[b * size + i];
    mean += sum / (double)size / (double)num_batches;
  }
  for (size_t b = 0; b < num_batches; b++) {
    double sum = 0;
    for (size_t i = 0; i < size; i++) sum += values[b * size + i];
    square += pow(sum / (double)size - mean, 2);
  }
  return (Estimate){mean, sqrt(square / (double)(num_batches - 1) / (double)num_batches)};
}

/* |mean - expected| in MCSE */
static inline double estimate_score(size_t count, const double *values, double expected) {
  Estimate estimate = estimate_mean(count, values);
  return fabs(estimate.mean - expected) / estimate.mcse;
}

static inline int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The largest distance between the empirical distribution of values, which are sorted here, and that of
 * N(0, sd^2). By Dvoretzky, Kiefer, Wolfowitz and Massart it exceeds sqrt(log(2/a)/(2 n)) with probability at
 * most a, for any n. */
static inline double normal_distance(size_t count, double *values, double sd) {
  double worst = 0;
  qsort(values, count, sizeof *values, compare_numbers);
  for (size_t i = 0; i < count; i++) {
    double below = 0.5 * erfc(-values[i] / sd / sqrt(2));
    worst = fmax(worst, fmax(below - (double)i / (double)count, (double)(i + 1) / (double)count - below));
  }
  return worst;
}

static inline double distance_bound(size_t count, double level) {
  return sqrt(log(2 / level) / (2 * (double)count));
}

/* Above this, a chi-square variable with so many degrees of freedom lies with probability 1e-4 (Wilson and
 * Hilferty's cube; 3.719 is the normal quantile). */
static inline double chi_square_bound(double degrees) {
  double spread = 2 / (9 * degrees);
  return degrees * pow(1 - spread + 3.719 * sqrt(spread), 3);
}

#endif
