/* Do intervals hold what they promise? Scores of one data set, whose truth is known, and their summary over many. The intervals
 * are those of rank_interval.h: an exchangeable truth lies in one of level p with probability p exactly. */
#ifndef RPINN_ASSESS_CALIBRATION_H
#define RPINN_ASSESS_CALIBRATION_H

#include "random_stream.h"
#include "rank_interval.h"

enum { RPINN_CALIBRATION_LEVELS = 3, RPINN_CALIBRATION_BINS = 20 };
extern const double rpinn_calibration_levels[RPINN_CALIBRATION_LEVELS]; /* 0.5, 0.8, 0.95 */

/* One quantity of one data set: means over its points. */
typedef struct RpinnCalibrationScore {
  double coverage[RPINN_CALIBRATION_LEVELS]; /* share of the points whose truth the interval holds */
  double width[RPINN_CALIBRATION_LEVELS];    /* of the intervals: sharpness */
  double crps;                               /* the fair form, see rpinn_metric_crps */
  double error;                              /* root mean square of mean - truth */
  /* Points by the rank of the truth among the draws, (rank + u)/(n + 1) with u uniform and equal values in random order:
   * uniform on (0, 1) where draws and truth are exchangeable. */
  double pit[RPINN_CALIBRATION_BINS];
} RpinnCalibrationScore;

/* The kept draws of values first_value … first_value + num_values - 1 against truth [num_values]. The stream gives the random
 * parts of ranks. */
RpinnStatus rpinn_calibration_score(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                                    const double *truth, RpinnStream *stream, RpinnCalibrationScore *score);

/* A mean over data sets and its standard error. */
typedef struct RpinnCalibrationMean {
  double mean, error;
} RpinnCalibrationMean;

typedef struct RpinnCalibrationSummary {
  size_t num_data_sets;
  /* Points of one data set stand and fall together, so that errors are those over data sets, and at least
   * sqrt(p (1 - p) / data sets): what chance does to coverage even where all were covered alike. */
  RpinnCalibrationMean coverage[RPINN_CALIBRATION_LEVELS];
  RpinnCalibrationMean width[RPINN_CALIBRATION_LEVELS], crps, error;
  double pit[RPINN_CALIBRATION_BINS]; /* shares, of sum 1 */
} RpinnCalibrationSummary;

/* Of count > 0 data sets. The errors of one data set alone are NaN, but for coverage. */
void rpinn_calibration_summarise(size_t count, const RpinnCalibrationScore *scores,
                                 RpinnCalibrationSummary *summary);

#endif
