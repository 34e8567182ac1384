/* Symbols: draws x_1 … x_n of one value, c their mean, w_i how often draw i was taken (sum w_i = n).
 *
 *   d_i = x_i - c,  a = sum w_i d_i,  b = sum w_i d_i^2
 *   mean = c + a / n,  deviation^2 = (b - a^2 / n) / (n - 1)
 *
 * Weights instead of copies: the draws are read once per resample and in order. The shift by c keeps b -
 * a^2/n from cancelling. */
#include "bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "moments.h"
#include "random_stream.h"

void rpinn_table_metrics(size_t num_points, const double *mean, const double *deviation,
                         const double *reference, double metrics[RPINN_NUM_FIGURES]) {
  metrics[RPINN_TABLE_RL2] = rpinn_metric_relative_l2(num_points, mean, reference);
  metrics[RPINN_TABLE_LINF] = rpinn_metric_largest_error(num_points, mean, reference);
  metrics[RPINN_TABLE_MEAN_STD] = rpinn_metric_mean_std(num_points, deviation);
  metrics[RPINN_TABLE_LPP_TABLE] = rpinn_metric_lpp_table(num_points, mean, deviation, reference);
  metrics[RPINN_FIGURE_LPP] = rpinn_metric_lpp(num_points, mean, deviation, reference);
  metrics[RPINN_TABLE_COVERAGE] = rpinn_metric_coverage(num_points, mean, deviation, reference);
}

typedef struct Bootstrap {
  const RpinnKeptDraws *kept;
  size_t first, num_values, num_draws;
  const double *reference;
  uint64_t seed;
  double *centre, *mean, *deviation; /* [num_values] */
  uint32_t *weights;                 /* [num_draws] */
  RpinnMoments *draws;               /* over draws, for the centre */
  RpinnMoments *figures;             /* over resamples */
} Bootstrap;

static void find_centre(Bootstrap *bootstrap) {
  for (size_t i = 0; i < bootstrap->num_draws; i++)
    rpinn_moments_add(bootstrap->draws, rpinn_kept_draws_get(bootstrap->kept, i) + bootstrap->first);
  rpinn_moments_get(bootstrap->draws, bootstrap->centre, NULL);
}

static void resample(Bootstrap *bootstrap, size_t number) {
  RpinnStream stream = rpinn_stream(bootstrap->seed, RPINN_PURPOSE_BOOTSTRAP, number, 0);
  size_t num_values = bootstrap->num_values;
  double n = (double)bootstrap->num_draws, metrics[RPINN_NUM_FIGURES];
  double *sum = bootstrap->mean, *squares = bootstrap->deviation;
  memset(bootstrap->weights, 0, bootstrap->num_draws * sizeof *bootstrap->weights);
  for (size_t i = 0; i < bootstrap->num_draws; i++)
    bootstrap->weights[rpinn_stream_below(&stream, bootstrap->num_draws)]++;
  memset(sum, 0, num_values * sizeof *sum);
  memset(squares, 0, num_values * sizeof *squares);
  for (size_t i = 0; i < bootstrap->num_draws; i++) {
    const double *values = rpinn_kept_draws_get(bootstrap->kept, i) + bootstrap->first;
    double weight = bootstrap->weights[i];
    for (size_t p = 0; weight > 0 && p < num_values; p++) {
      double difference = values[p] - bootstrap->centre[p];
      sum[p] += weight * difference;
      squares[p] += weight * difference * difference;
    }
  }
  for (size_t p = 0; p < num_values; p++) {
    double variance = (squares[p] - sum[p] * sum[p] / n) / (n - 1);
    bootstrap->mean[p] = bootstrap->centre[p] + sum[p] / n;
    bootstrap->deviation[p] = variance > 0 ? sqrt(variance) : 0;
  }
  rpinn_table_metrics(num_values, bootstrap->mean, bootstrap->deviation, bootstrap->reference, metrics);
  rpinn_moments_add(bootstrap->figures, metrics);
}

RpinnStatus rpinn_bootstrap_errors(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                                   const double *reference, uint64_t seed, size_t num_resamples,
                                   double errors[RPINN_NUM_FIGURES]) {
  for (size_t k = 0; k < RPINN_NUM_FIGURES; k++) errors[k] = (double)NAN;
  Bootstrap bootstrap = {.kept = kept,
                         .first = first_value,
                         .num_values = num_values,
                         .num_draws = rpinn_kept_draws_count(kept),
                         .reference = reference,
                         .seed = seed};
  if (bootstrap.num_draws < 2) return RPINN_OK;
  bootstrap.centre = malloc((3 * num_values + 1) * sizeof(double));
  bootstrap.weights = malloc(bootstrap.num_draws * sizeof *bootstrap.weights);
  bootstrap.draws = rpinn_moments_create(num_values);
  bootstrap.figures = rpinn_moments_create(RPINN_NUM_FIGURES);
  bool ready = bootstrap.centre && bootstrap.weights && bootstrap.draws && bootstrap.figures;
  if (ready) {
    bootstrap.mean = bootstrap.centre + num_values;
    bootstrap.deviation = bootstrap.mean + num_values;
    find_centre(&bootstrap);
    for (size_t k = 0; k < num_resamples; k++) resample(&bootstrap, k);
    rpinn_moments_get(bootstrap.figures, NULL, errors);
  }
  rpinn_moments_destroy(bootstrap.draws);
  rpinn_moments_destroy(bootstrap.figures);
  free(bootstrap.centre);
  free(bootstrap.weights);
  return ready ? RPINN_OK : RPINN_ERROR_MEMORY;
}

double rpinn_bootstrap_factor(double num_kept, double num_draws, double effective_size) {
  return sqrt(num_kept / (effective_size < num_draws ? effective_size : num_draws));
}
