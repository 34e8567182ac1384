/* Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry: JMLR 25, 2024): the largest
 * weights are replaced by the quantiles of a generalised Pareto distribution fitted to them. Its shape k
 * tells how far weighted means can be trusted: below 0.5 well, up to 0.7 usable, above not. */
#ifndef RPINN_ASSESS_PARETO_SMOOTHING_H
#define RPINN_ASSESS_PARETO_SMOOTHING_H

#include <stdbool.h>
#include <stddef.h>

#include "rpinn/status.h"

typedef struct RpinnParetoSmoothing {
  bool usable;   /* false: a log weight is NaN or +infinity, or none is above -infinity; the rest of
                    the results is then NaN and 0 */
  bool constant; /* all weights are equal to rounding: there is nothing to smooth and nothing to fear */
  double k;      /* shape of the tail; NaN where it cannot be estimated: constant weights, or fewer than
                    5 distinct ones in the tail (always with 20 draws or fewer) */
  double effective_size; /* 1 / sum w^2 of the smoothed, normalised weights, from 1 to count */
  size_t tail_size;      /* weights that were smoothed, 0 without an estimate of k */
} RpinnParetoSmoothing;

/* smoothed [count] becomes the smoothed log weights, normalised: sum exp(smoothed) = 1; it may be log_weights
 * itself. -infinity is a weight of zero and stays one. Draws are taken to be independent. */
RpinnStatus rpinn_pareto_smooth(size_t count, const double *log_weights, double *smoothed,
                                RpinnParetoSmoothing *result);

/* Fit the generalised Pareto distribution with density 1/sigma (1 + k x / sigma)^(-1/k - 1) to sorted
 * exceedances x [count] > 0 in rising order, count >= 5. k has the weak prior that counts as 10 draws of 1/2;
 * sigma belongs to the fit without it. False when there is no fit: the sample is not positive and finite. */
bool rpinn_pareto_fit(size_t count, const double *exceedances, double *k, double *sigma);

#endif
