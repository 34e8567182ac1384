#include "rank_interval.h"

#include <math.h>
#include <stdlib.h>

double rpinn_rank_quantile(size_t count, const double *sorted, double probability) {
  double rank = probability * (double)(count + 1), nearest = round(rank);
  if (fabs(rank - nearest) < 1e-9 * rank) rank = nearest; /* 0.025 * 80 is rank 2, whatever the rounding */
  if (!(rank >= 1 && rank <= (double)count) || isnan(sorted[count - 1])) return (double)NAN;
  size_t below = (size_t)rank;
  double share = rank - (double)below, low = sorted[below - 1];
  if (share == 0 || sorted[below] == low) return low; /* infinity - infinity is not a number */
  return low + share * (sorted[below] - low);
}

RpinnStatus rpinn_rank_quantiles(const RpinnKeptDraws *kept, size_t num_probabilities,
                                 const double *probabilities, double *quantiles) {
  enum { AT_ONCE = 8 };
  size_t count = rpinn_kept_draws_count(kept), num_values = rpinn_kept_draws_num_values(kept);
  double *sorted = malloc(((AT_ONCE + 1) * count + 1) * sizeof *sorted);
  if (!sorted) return RPINN_ERROR_MEMORY;
  for (size_t first = 0; first < num_values; first += AT_ONCE) {
    size_t num = num_values - first < AT_ONCE ? num_values - first : AT_ONCE;
    rpinn_kept_draws_sort(kept, first, num, sorted);
    for (size_t k = 0; k < num_probabilities; k++)
      for (size_t i = 0; i < num; i++)
        quantiles[k * num_values + first + i] =
            rpinn_rank_quantile(count, sorted + i * count, probabilities[k]);
  }
  free(sorted);
  return RPINN_OK;
}
