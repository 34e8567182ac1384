/* Intervals from the ranks of draws.
 *
 * Of n draws, x_(1) <= … <= x_(n), the quantile p lies at rank p (n + 1), between order statistics in proportion, and the
 * interval of level p reaches from rank n' (1 - p)/2 to rank n' (1 + p)/2 with n' = n + 1. A truth that is exchangeable with
 * the draws falls between two neighbours with probability 1/(n + 1) wherever they are, so that such an interval holds it with
 * probability p exactly; quantiles of the sample itself are narrower (of 95 % they hold 90 % with 40 draws, 92 % with 64).
 *
 * A rank that is not among 1 … n does not exist: the quantile is NaN, and not silently the least or the largest draw. 39 draws
 * are the fewest with an interval of 95 %; 79 and 199 have whole ranks at 50, 80 and 95 %. Draws of a chain that are alike tell
 * less than their number says, so that their intervals err like those of fewer draws; between n and n + 1 that is small. */
#ifndef RPINN_ASSESS_RANK_INTERVAL_H
#define RPINN_ASSESS_RANK_INTERVAL_H

#include "kept_draws.h"

/* The fewest draws with an interval of 95 %. */
enum { RPINN_INTERVAL_MIN_DRAWS = 39 };

/* Of sorted [count] with NaN last; NaN where that rank is below 1 or above count, or where a draw is NaN. */
double rpinn_rank_quantile(size_t count, const double *sorted, double probability);

/* quantiles [num_probabilities][num_values] of the kept draws. Takes memory for a few values' draws while it runs. */
RpinnStatus rpinn_rank_quantiles(const RpinnKeptDraws *kept, size_t num_probabilities,
                                 const double *probabilities, double *quantiles);

#endif
