/* What the scores so far come to. */
#include <math.h>
#include <stdlib.h>

#include "calibrate_state.h"
#include "rank_uniformity.h"

void rpinn_calibration_summary(const RpinnCalibration *calibration, size_t method, size_t subject,
                               RpinnCalibrationSummary *summary) {
  const RpinnCalibratedMethod *rows = &calibration->methods[method];
  RpinnCalibrationScore *scores = malloc((rows->num_made + 1) * sizeof *scores);
  *summary = (RpinnCalibrationSummary){0};
  for (size_t d = 0; scores && d < rows->num_made; d++) scores[d] = rows->rows[d]->scores[subject];
  if (scores && rows->num_made)
    rpinn_calibration_summarise(rows->num_made, scores, calibration->source == RPINN_FROM_DATA, summary);
  free(scores);
}

size_t rpinn_calibration_ranks(const RpinnCalibration *calibration, size_t method, size_t subject,
                               size_t point, double *ranks) {
  const RpinnCalibratedMethod *rows = &calibration->methods[method];
  size_t count = 0;
  for (size_t d = 0; d < rows->num_made; d++) {
    double rank = rows->rows[d]->scores[subject].ranks[point];
    if (!isnan(rank)) ranks[count++] = rank;
  }
  return count;
}

double rpinn_calibration_uniformity(const RpinnCalibration *calibration, size_t method, size_t subject) {
  double *ranks = malloc((calibration->methods[method].num_made + 1) * sizeof *ranks);
  double least = (double)NAN, points = 0;
  for (size_t k = 0; ranks && k < RPINN_RANKED_POINTS; k++) {
    double p_value;
    size_t count = rpinn_calibration_ranks(calibration, method, subject, k, ranks);
    if (!count || rpinn_uniformity_p_value(count, ranks, &p_value) != RPINN_OK) continue;
    least = fmin(least, p_value);
    points += 1;
  }
  free(ranks);
  return isnan(least) ? least : fmin(1, points * least);
}

double rpinn_calibration_seconds(const RpinnCalibratedMethod *method) {
  double sum = 0;
  for (size_t d = 0; d < method->num_made; d++) sum += method->rows[d]->seconds;
  return sum / (double)method->num_made;
}

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

void rpinn_calibration_scales(const RpinnCalibratedMethod *method, double scales[3]) {
  double *sorted = malloc((method->num_made + 1) * sizeof *sorted);
  scales[0] = scales[1] = scales[2] = (double)NAN;
  for (size_t d = 0; sorted && d < method->num_made; d++) sorted[d] = method->rows[d]->prior_scale;
  if (sorted && method->num_made) {
    qsort(sorted, method->num_made, sizeof *sorted, compare_numbers);
    scales[0] = sorted[0];
    scales[1] = sorted[method->num_made / 2];
    scales[2] = sorted[method->num_made - 1];
  }
  free(sorted);
}

void rpinn_calibration_verdicts(const RpinnCalibratedMethod *method, size_t counts[3]) {
  for (size_t k = 0; k < 3; k++) counts[k] = 0;
  for (size_t d = 0; d < method->num_made; d++)
    if (!isnan(method->rows[d]->verdict)) counts[(size_t)method->rows[d]->verdict]++;
}

void rpinn_calibration_write_line(const RpinnCalibration *calibration, size_t method, RpinnText *line) {
  const char *before = "";
  rpinn_text_append(line, "%s:", calibration->methods[method].name);
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    RpinnCalibrationSummary summary;
    rpinn_calibration_summary(calibration, method, s, &summary);
    if (!(summary.num_points > 0)) continue; /* a term that no fold has left out yet */
    const RpinnCalibrationMean *coverage = &summary.coverage[RPINN_CALIBRATION_LEVELS - 1];
    rpinn_text_append(line, "%s %s %.1f +- %.1f %%", before, calibration->subjects[s].name,
                      100 * coverage->mean, 100 * coverage->error);
    before = ",";
  }
}
