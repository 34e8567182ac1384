/* Are numbers uniform on (0, 1), as ranks of truths among exchangeable draws are? By their distribution function at z_k = k/K,
 * K = RPINN_UNIFORMITY_STEPS, where n_k of N numbers lie below z_k: n_k ~ Bin(N, z_k), with a p-value of its own,
 *
 *   p_k = min(1, 2 min(P(X <= n_k), P(X >= n_k))),   X ~ Bin(N, z_k),
 *
 * so that the ends, where numbers of too narrow draws gather, count as much as the middle. The smallest p_k is the statistic, and
 * its distribution is exact: n_1, n_2, … is a Markov chain, n_(k+1) - n_k ~ Bin(N - n_k, 1/(K - k)), and the probability that all
 * of them stay within a band is a sum over its paths. (Säilynoja, Bürkner & Vehtari 2022 have the band; N numbers must be
 * independent of each other.) */
#ifndef RPINN_ASSESS_RANK_UNIFORMITY_H
#define RPINN_ASSESS_RANK_UNIFORMITY_H

#include <stddef.h>

#include "rpinn/status.h"

enum { RPINN_UNIFORMITY_STEPS = 20 };

/* The probability that count uniform numbers look less uniform than these; 1 of none. */
RpinnStatus rpinn_uniformity_p_value(size_t count, const double *numbers, double *p_value);

/* low, high [RPINN_UNIFORMITY_STEPS + 1]: between them count uniform numbers have their distribution function, at z_0 … z_K
 * and at all of them together, with at least this probability; a p-value of at most 1 - level leaves the band. */
RpinnStatus rpinn_uniformity_band(size_t count, double level, double *low, double *high);

/* Pointwise: low <= n/count <= high with at least this probability where n ~ Bin(count, share). */
RpinnStatus rpinn_share_band(size_t count, double share, double level, double *low, double *high);

#endif
