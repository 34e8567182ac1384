#include "calibration.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "metrics.h"

const double rpinn_calibration_levels[RPINN_CALIBRATION_LEVELS] = {0.5, 0.8, 0.95};

/* ---- one data set ---- */

static double random_rank(size_t count, const double *sorted, double truth, RpinnStream *stream) {
  size_t below = 0, equal = 0;
  while (below < count && sorted[below] < truth) below++;
  while (below + equal < count && sorted[below + equal] == truth) equal++;
  size_t rank = below + (size_t)rpinn_stream_below(stream, equal + 1);
  return ((double)rank + rpinn_stream_uniform(stream)) / (double)(count + 1);
}

static void score_point(size_t count, const double *sorted, double truth, double rank,
                        RpinnCalibrationScore *score) {
  double sum = 0;
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) {
    double level = rpinn_calibration_levels[l], low = rpinn_rank_quantile(count, sorted, (1 - level) / 2),
           high = rpinn_rank_quantile(count, sorted, (1 + level) / 2);
    score->coverage[l] += low <= truth && truth <= high;
    score->width[l] += high - low;
  }
  for (size_t i = 0; i < count; i++) sum += sorted[i] - truth;
  score->error += sum / (double)count * (sum / (double)count);
  size_t bin = (size_t)(RPINN_CALIBRATION_BINS * rank);
  score->pit[bin < RPINN_CALIBRATION_BINS ? bin : RPINN_CALIBRATION_BINS - 1] += 1;
}

/* noise: its variance. */
static void add_z(size_t count, const double *values, double truth, double noise,
                  RpinnCalibrationScore *score) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < count; i++) mean += values[i] / (double)count;
  for (size_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  double z = (truth - mean) / sqrt(squares / (double)(count - 1) + noise);
  score->z_mean += z;
  score->z_square += z * z;
  score->z_inside += fabs(z) <= 1.96;
}

size_t rpinn_ranked_point(size_t num_points, size_t k) {
  size_t many = num_points < RPINN_RANKED_POINTS ? num_points : RPINN_RANKED_POINTS;
  return k < many ? (2 * k + 1) * num_points / (2 * many) : num_points;
}

/* Of value i; of draws that have their own, the mean. */
static double noise_variance(const RpinnKeptDraws *kept, const RpinnTruthNoise *noise, size_t i) {
  size_t count = rpinn_kept_draws_count(kept);
  double sum = 0;
  if (!noise) return 0;
  if (noise->deviations) return noise->deviations[i] * noise->deviations[i];
  for (size_t k = 0; k < count; k++) {
    double deviation = rpinn_kept_draws_get(kept, k)[noise->drawn];
    sum += deviation * deviation / (double)count;
  }
  return sum;
}

/* Sums over the points; noisy [num_values] are the draws that the truth is compared with. */
static RpinnStatus sum_points(const RpinnKeptDraws *kept, size_t first_value, const RpinnKeptDraws *noisy,
                              size_t first_noisy, size_t num_values, const double *truth,
                              const RpinnTruthNoise *noise, RpinnStream *stream,
                              RpinnCalibrationScore *score) {
  size_t count = rpinn_kept_draws_count(kept), ranked = 0;
  double *sorted = malloc((2 * count + 1) * sizeof *sorted);
  if (!sorted) return RPINN_ERROR_MEMORY;
  for (size_t i = 0; i < num_values; i++) {
    rpinn_kept_draws_sort(kept, first_value + i, 1, sorted);
    add_z(count, sorted, truth[i], noise_variance(kept, noise, i), score);
    if (noisy != kept) rpinn_kept_draws_sort(noisy, first_noisy + i, 1, sorted);
    double rank = random_rank(count, sorted, truth[i], stream);
    score_point(count, sorted, truth[i], rank, score);
    if (i == rpinn_ranked_point(num_values, ranked)) score->ranks[ranked++] = rank;
  }
  free(sorted);
  return rpinn_metric_crps(noisy, first_noisy, num_values, truth, NULL, &score->crps);
}

/* The draws with noise of their own. */
static RpinnStatus add_noise(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                             const RpinnTruthNoise *noise, RpinnStream *stream, RpinnKeptDraws **noisy) {
  double *values = malloc((num_values + 1) * sizeof *values);
  *noisy = rpinn_kept_draws_create(num_values, 1);
  RpinnStatus status = values && *noisy ? RPINN_OK : RPINN_ERROR_MEMORY;
  for (size_t k = 0; k < rpinn_kept_draws_count(kept) && status == RPINN_OK; k++) {
    const double *draw = rpinn_kept_draws_get(kept, k);
    for (size_t i = 0; i < num_values; i++)
      values[i] = draw[first_value + i] + (noise->deviations ? noise->deviations[i] : draw[noise->drawn]) *
                                              rpinn_stream_normal(stream);
    status = rpinn_kept_draws_add(*noisy, k, values);
  }
  free(values);
  return status;
}

RpinnStatus rpinn_calibration_score(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                                    const double *truth, const RpinnTruthNoise *noise, RpinnStream *stream,
                                    RpinnCalibrationScore *score) {
  RpinnKeptDraws *noisy = NULL;
  double points = (double)num_values;
  RpinnStatus status = RPINN_OK;
  *score = (RpinnCalibrationScore){.num_points = points};
  for (size_t k = 0; k < RPINN_RANKED_POINTS; k++) score->ranks[k] = (double)NAN;
  if (noise) status = add_noise(kept, first_value, num_values, noise, stream, &noisy);
  if (status == RPINN_OK)
    status = sum_points(kept, first_value, noisy ? noisy : kept, noisy ? 0 : first_value, num_values, truth,
                        noise, stream, score);
  rpinn_kept_draws_destroy(noisy);
  RPINN_TRY(status);
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) {
    score->coverage[l] /= points;
    score->width[l] /= points;
  }
  score->error = sqrt(score->error / points);
  score->z_mean /= points;
  score->z_square /= points;
  score->z_inside /= points;
  return RPINN_OK;
}

/* ---- many ---- */

/* Of one number of each score, by the shares w of all points: m = sum w x, and n/(n - 1) sum w^2 (x - m)^2 the square of its
 * error, which for equal shares is the usual one. field: where the number stands in a score, in bytes. */
static RpinnCalibrationMean mean_of(size_t count, const RpinnCalibrationScore *scores, double num_points,
                                    size_t field) {
  double mean = 0, squares = 0, n = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < count; i++) {
      double share = scores[i].num_points / num_points, x;
      if (!(share > 0)) continue;
      memcpy(&x, (const char *)&scores[i] + field, sizeof x);
      if (pass == 0) {
        mean += share * x;
        n += 1;
      } else {
        squares += share * (x - mean) * share * (x - mean);
      }
    }
  return (RpinnCalibrationMean){n > 0 ? mean : (double)NAN,
                                n > 1 ? sqrt(n / (n - 1) * squares) : (double)NAN};
}

static void summarise_z(size_t count, const RpinnCalibrationScore *scores, RpinnCalibrationSummary *summary) {
  double square = 0;
  for (size_t i = 0; i < count; i++) {
    double share = scores[i].num_points / summary->num_points;
    if (!(share > 0)) continue;
    summary->z_mean += share * scores[i].z_mean;
    summary->z_inside += share * scores[i].z_inside;
    square += share * scores[i].z_square;
  }
  summary->z_deviation = sqrt(fmax(0, square - summary->z_mean * summary->z_mean));
}

static void summarise_pit(size_t count, const RpinnCalibrationScore *scores,
                          RpinnCalibrationSummary *summary) {
  for (size_t i = 0; i < count; i++)
    for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++)
      summary->pit[b] += scores[i].pit[b] / summary->num_points;
}

void rpinn_calibration_summarise(size_t count, const RpinnCalibrationScore *scores, bool points_are_alone,
                                 RpinnCalibrationSummary *summary) {
  *summary = (RpinnCalibrationSummary){0};
  for (size_t i = 0; i < count; i++) {
    summary->num_points += scores[i].num_points;
    summary->num_data_sets += scores[i].num_points > 0;
  }
  double points = summary->num_points, alone = points_are_alone ? points : (double)summary->num_data_sets;
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) {
    double level = rpinn_calibration_levels[l], least = sqrt(level * (1 - level) / alone);
    summary->coverage[l] =
        mean_of(count, scores, points, offsetof(RpinnCalibrationScore, coverage) + l * sizeof(double));
    if (points > 0) /* fmax passes NaN over */
      summary->coverage[l].error = fmax(summary->coverage[l].error, least);
    summary->width[l] =
        mean_of(count, scores, points, offsetof(RpinnCalibrationScore, width) + l * sizeof(double));
  }
  summary->crps = mean_of(count, scores, points, offsetof(RpinnCalibrationScore, crps));
  summary->error = mean_of(count, scores, points, offsetof(RpinnCalibrationScore, error));
  summarise_z(count, scores, summary);
  summarise_pit(count, scores, summary);
}
