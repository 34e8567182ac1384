#include "metrics.h"

#include <math.h>
#include <stdlib.h>

double rpinn_metric_relative_l2(size_t count, const double *prediction, const double *reference) {
  double error = 0, size = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = prediction[i] - reference[i];
    error += difference * difference;
    size += reference[i] * reference[i];
  }
  return sqrt(error / size);
}

double rpinn_metric_largest_error(size_t count, const double *prediction, const double *reference) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = fabs(prediction[i] - reference[i]);
    if (isnan(difference) || difference > largest) largest = difference; /* nothing is above NaN */
  }
  return largest;
}

double rpinn_metric_mean_std(size_t count, const double *std) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += std[i];
  return sum / (double)count;
}

/* sum_i  -1/2 (mu - u)^2 / s^2 - 1/2 log(2 pi) - log_factor log s */
static double log_probability(size_t count, const double *mean, const double *std, const double *reference,
                              double log_factor) {
  const double half_log_two_pi = 0.91893853320467274178;
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = mean[i] - reference[i], z = difference / std[i];
    if (std[i] == 0 && !isnan(difference))
      sum += difference == 0 ? (double)INFINITY : -(double)INFINITY;
    else
      sum += -0.5 * z * z - half_log_two_pi - log_factor * log(std[i]);
  }
  return sum;
}

double rpinn_metric_lpp(size_t count, const double *mean, const double *std, const double *reference) {
  return log_probability(count, mean, std, reference, 1);
}

double rpinn_metric_lpp_table(size_t count, const double *mean, const double *std, const double *reference) {
  return log_probability(count, mean, std, reference, 2);
}

double rpinn_metric_coverage(size_t count, const double *mean, const double *std, const double *reference) {
  size_t covered = 0;
  for (size_t i = 0; i < count; i++) covered += fabs(mean[i] - reference[i]) < 2 * std[i];
  return (double)covered / (double)count;
}

double rpinn_metric_interval_coverage(size_t count, const double *low, const double *high,
                                      const double *reference) {
  size_t covered = 0;
  for (size_t i = 0; i < count; i++) covered += low[i] <= reference[i] && reference[i] <= high[i];
  return (double)covered / (double)count;
}

/*   sum_{i<j} (x_j - x_i) = sum_i (2 i - n - 1) (x_i - y),
 * in n steps where the definition takes n^2. The shift by y changes nothing exactly, and keeps small
 * differences of large values from drowning. */
void rpinn_metric_crps_sums(size_t count, const double *sorted, double reference, double *distance,
                            double *pairs) {
  double n = (double)count;
  *distance = *pairs = 0;
  for (size_t i = 0; i < count; i++) {
    double x = sorted[i] - reference;
    *distance += fabs(x);
    *pairs += (2 * (double)i + 1 - n) * x;
  }
}

void rpinn_metric_crps_of_sums(size_t count, size_t num_values, const double *distances, const double *pairs,
                               double *crps, double *unbiased) {
  double n = (double)count, all_distances = 0, all_pairs = 0, points = (double)num_values;
  for (size_t i = 0; i < num_values; i++) {
    all_distances += distances[i];
    all_pairs += pairs[i];
  }
  if (crps) *crps = (all_distances / n - all_pairs / (n * n)) / points;
  if (unbiased) *unbiased = (all_distances / n - all_pairs / (n * (n - 1))) / points;
}

RpinnStatus rpinn_metric_crps(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                              const double *reference, double *crps, double *unbiased) {
  enum { AT_ONCE = 8 };
  size_t count = rpinn_kept_draws_count(kept);
  double *distances = malloc((2 * num_values + (AT_ONCE + 1) * count + 1) * sizeof *distances);
  if (!distances) return RPINN_ERROR_MEMORY;
  double *pairs = distances + num_values, *sorted = pairs + num_values;
  for (size_t first = 0; first < num_values; first += AT_ONCE) {
    size_t num = num_values - first < AT_ONCE ? num_values - first : AT_ONCE;
    rpinn_kept_draws_sort(kept, first_value + first, num, sorted);
    for (size_t i = 0; i < num; i++)
      rpinn_metric_crps_sums(count, sorted + i * count, reference[first + i], &distances[first + i],
                             &pairs[first + i]);
  }
  rpinn_metric_crps_of_sums(count, num_values, distances, pairs, crps, unbiased);
  free(distances);
  return RPINN_OK;
}
