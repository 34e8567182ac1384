#include "calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void score_point(size_t count, const double *sorted, double truth, RpinnStream *stream,
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
  size_t bin = (size_t)(RPINN_CALIBRATION_BINS * random_rank(count, sorted, truth, stream));
  score->pit[bin < RPINN_CALIBRATION_BINS ? bin : RPINN_CALIBRATION_BINS - 1] += 1;
}

RpinnStatus rpinn_calibration_score(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                                    const double *truth, RpinnStream *stream, RpinnCalibrationScore *score) {
  size_t count = rpinn_kept_draws_count(kept);
  double *sorted = malloc((count + 1) * sizeof *sorted), points = (double)num_values;
  if (!sorted) return RPINN_ERROR_MEMORY;
  memset(score, 0, sizeof *score);
  for (size_t i = 0; i < num_values; i++) {
    rpinn_kept_draws_sort(kept, first_value + i, 1, sorted);
    score_point(count, sorted, truth[i], stream, score);
  }
  free(sorted);
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) {
    score->coverage[l] /= points;
    score->width[l] /= points;
  }
  score->error = sqrt(score->error / points);
  return rpinn_metric_crps(kept, first_value, num_values, truth, NULL, &score->crps);
}

/* ---- many ---- */

/* Of count numbers, each `stride` after the one before. */
static RpinnCalibrationMean mean_of(size_t count, const double *values, size_t stride) {
  double n = (double)count, sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) sum += values[i * stride];
  double mean = sum / n;
  for (size_t i = 0; i < count; i++) {
    double difference = values[i * stride] - mean;
    squares += difference * difference;
  }
  return (RpinnCalibrationMean){mean, count > 1 ? sqrt(squares / (n - 1) / n) : (double)NAN};
}

void rpinn_calibration_summarise(size_t count, const RpinnCalibrationScore *scores,
                                 RpinnCalibrationSummary *summary) {
  const size_t stride = sizeof *scores / sizeof(double); /* a score holds nothing but doubles */
  *summary = (RpinnCalibrationSummary){.num_data_sets = count,
                                       .crps = mean_of(count, &scores->crps, stride),
                                       .error = mean_of(count, &scores->error, stride)};
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) {
    double level = rpinn_calibration_levels[l], least = sqrt(level * (1 - level) / (double)count);
    summary->coverage[l] = mean_of(count, &scores->coverage[l], stride);
    summary->coverage[l].error = fmax(summary->coverage[l].error, least); /* fmax passes NaN over */
    summary->width[l] = mean_of(count, &scores->width[l], stride);
  }
  double total = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++) {
      summary->pit[b] += scores[i].pit[b];
      total += scores[i].pit[b];
    }
  for (size_t b = 0; b < RPINN_CALIBRATION_BINS; b++) summary->pit[b] /= total;
}
