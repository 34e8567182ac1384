/* Do intervals hold what they promise? Scores of one data set, whose truth is known, and their summary over many. The intervals
 * are those of rank_interval.h: an exchangeable truth lies in one of level p with probability p exactly. */
#ifndef RPINN_ASSESS_CALIBRATION_H
#define RPINN_ASSESS_CALIBRATION_H

#include <stdbool.h>

#include "random_stream.h"
#include "rank_interval.h"

enum { RPINN_CALIBRATION_LEVELS = 3, RPINN_CALIBRATION_BINS = 20 };
extern const double rpinn_calibration_levels[RPINN_CALIBRATION_LEVELS]; /* 0.5, 0.8, 0.95 */

/* Of these many points, evenly chosen among those of a quantity, ranks are kept one by one. */
enum { RPINN_RANKED_POINTS = 5 };

/* One quantity of one data set: means over its points. Nothing but doubles. */
typedef struct RpinnCalibrationScore {
  double num_points;
  double coverage[RPINN_CALIBRATION_LEVELS]; /* share of the points whose truth the interval holds */
  double width[RPINN_CALIBRATION_LEVELS];    /* of the intervals: sharpness */
  double crps;                               /* the fair form, see rpinn_metric_crps */
  double error;                              /* root mean square of mean - truth */
  /* Of z = (truth - mean) / standard deviation: mean, mean square, and the share within 1.96. */
  double z_mean, z_square, z_inside;
  /* Points by the rank of the truth among the draws, (rank + u)/(n + 1) with u uniform and equal values in random order:
   * uniform on (0, 1) where draws and truth are exchangeable. */
  double pit[RPINN_CALIBRATION_BINS];
  double
      ranks[RPINN_RANKED_POINTS]; /* the same at single points; NaN behind the last where there are fewer */
} RpinnCalibrationScore;

/* Which of num_points points is the k-th that is ranked, k < RPINN_RANKED_POINTS; num_points: there are fewer. */
size_t rpinn_ranked_point(size_t num_points, size_t k);

/* What the truth has and the draws have not, such as the noise of measurements: its standard deviations. */
typedef struct RpinnTruthNoise {
  const double *deviations; /* [num_values]; NULL: every draw has its own … */
  size_t drawn;             /* … as this one of its values */
} RpinnTruthNoise;

/* The kept draws of values first_value … first_value + num_values - 1 against truth [num_values]; noise is NULL for none. The
 * stream gives the random parts of ranks, and that noise to the draws. A score of no values has num_points 0 and NaN
 * elsewhere. */
RpinnStatus rpinn_calibration_score(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                                    const double *truth, const RpinnTruthNoise *noise, RpinnStream *stream,
                                    RpinnCalibrationScore *score);

/* A mean over data sets and its standard error. */
typedef struct RpinnCalibrationMean {
  double mean, error;
} RpinnCalibrationMean;

typedef struct RpinnCalibrationSummary {
  size_t num_data_sets; /* with points */
  double num_points;    /* in all of them */
  RpinnCalibrationMean coverage[RPINN_CALIBRATION_LEVELS];
  RpinnCalibrationMean width[RPINN_CALIBRATION_LEVELS], crps, error;
  double z_mean, z_deviation, z_inside; /* over all points */
  double pit[RPINN_CALIBRATION_BINS];   /* shares, of sum 1 */
} RpinnCalibrationSummary;

/* Of count > 0 data sets, each by its points; those without points are left out. The errors of one data set alone are NaN, but
 * for coverage: that of level p is at least sqrt(p (1 - p) / n), what chance does even where all were covered alike. Points of
 * one data set stand and fall together, so that n is the number of data sets; unless points_are_alone, as measurements that
 * err on their own: then it is the number of points. */
void rpinn_calibration_summarise(size_t count, const RpinnCalibrationScore *scores, bool points_are_alone,
                                 RpinnCalibrationSummary *summary);

#endif
