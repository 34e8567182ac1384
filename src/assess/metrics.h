/* Errors of a prediction against a reference, and scores of its stated uncertainty.
 *
 * mean, std, low, high, reference: [count], one number per point. A mean over no points is NaN; NaN in an
 * input makes the result NaN, except in shares, where such a point counts as not covered. */
#ifndef RPINN_ASSESS_METRICS_H
#define RPINN_ASSESS_METRICS_H

#include <stddef.h>

#include "kept_draws.h"

/* |prediction - reference|_2 / |reference|_2 */
double rpinn_metric_relative_l2(size_t count, const double *prediction, const double *reference);
/* max |prediction - reference| */
double rpinn_metric_largest_error(size_t count, const double *prediction, const double *reference);

/* The standard deviation averaged over the points. */
double rpinn_metric_mean_std(size_t count, const double *std);
/* Log predictive probability of the reference under independent normals N(mean, std^2), summed over points.
 * A point with std 0 gives its limit: infinity where the mean is the reference, else -infinity. */
double rpinn_metric_lpp(size_t count, const double *mean, const double *std, const double *reference);
/* What the tables of the rPINN paper print as LPP: log std is counted twice. Only to compare with them. */
double rpinn_metric_lpp_table(size_t count, const double *mean, const double *std, const double *reference);

/* Share of the points, in [0, 1], with |mean - reference| < 2 std: the paper's coverage. */
double rpinn_metric_coverage(size_t count, const double *mean, const double *std, const double *reference);
/* Share of the points, in [0, 1], with low <= reference <= high. */
double rpinn_metric_interval_coverage(size_t count, const double *low, const double *high,
                                      const double *reference);

/* Continuous ranked probability score, averaged over the points; lower is better, in the unit of the values:
 *
 *   crps = E|X - y| - 1/2 E|X - X'|
 *
 * with X, X' drawn from the kept draws of a value and y its reference [num_values]; values first_value …
 * first_value + num_values - 1 are scored. *crps takes the empirical distribution at its word (pairs over
 * n^2). Seen as an estimate of the score of the distribution behind the draws it is too high by
 * 1/2 E|X - X'| / n;
 * *unbiased ("fair", pairs over n (n - 1)) is not, and is the one to compare samples of different sizes with.
 * It is NaN for one draw; both are NaN without draws. Either may be NULL. Takes memory for a few values'
 * draws while it runs. */
RpinnStatus rpinn_metric_crps(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                              const double *reference, double *crps, double *unbiased);
/* The same in parts. Of the draws of a value in order, x_1 <= … <= x_n: sum_i |x_i - y|, and sum_{i<j} (x_j - x_i). */
void rpinn_metric_crps_sums(size_t count, const double *sorted, double reference, double *distance,
                            double *pairs);
/* From those of num_values values with `count` draws each. */
void rpinn_metric_crps_of_sums(size_t count, size_t num_values, const double *distances, const double *pairs,
                               double *crps, double *unbiased);

#endif
