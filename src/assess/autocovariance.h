/* Autocovariances of chains, averaged over the chains, and the effective sample size that follows from them. */
#ifndef RPINN_ASSESS_AUTOCOVARIANCE_H
#define RPINN_ASSESS_AUTOCOVARIANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Chains of one length inside an array values [num_chains][num_draws]: whole, or split into their first and last
 * floor(num_draws / 2) draws, where the middle one of an odd number is left out. */
typedef struct RpinnChains {
  const double *values;
  size_t num_chains, num_draws; /* of the array */
  bool split;
} RpinnChains;

/* How many chains the view has, how long each is, and the chain with this index. */
size_t rpinn_chains_count(const RpinnChains *chains);
size_t rpinn_chains_length(const RpinnChains *chains);
const double *rpinn_chain(const RpinnChains *chains, size_t index);
/* All of its values equal? */
bool rpinn_chains_constant(const RpinnChains *chains);
/* The unbiased variance of the means of the chains; NaN for one chain. */
double rpinn_chains_between(const RpinnChains *chains);
/* The mean, with little rounding even far from zero and exact for a constant. count > 0. */
double rpinn_mean(size_t count, const double *values);
/* The unbiased variance of values around their mean; NaN for one value. */
double rpinn_variance(size_t count, const double *values, double mean);

/* Workspace for chains of at most this length. NULL when out of memory. */
typedef struct RpinnAutocovariance RpinnAutocovariance;
RpinnAutocovariance *rpinn_autocovariance_create(size_t most_draws);
void rpinn_autocovariance_destroy(RpinnAutocovariance *work);

/* covariance [length]: 1/n sum_i (x_i - mean) (x_i+t - mean) for t = 0 … n-1, averaged over the chains, each with
 * its own mean. It belongs to the workspace and stays until the next call. */
const double *rpinn_autocovariance(RpinnAutocovariance *work, const RpinnChains *chains);

/* Effective number of independent draws for the mean; NaN for constant chains or less than 3 draws in each. */
double rpinn_effective_size(RpinnAutocovariance *work, const RpinnChains *chains);

#endif
