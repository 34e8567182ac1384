/* The independence Metropolis step: a sequence of independent draws and their log weights becomes a Markov
 * chain whose law is the weighted one. */
#ifndef RPINN_ASSESS_INDEPENDENCE_METROPOLIS_H
#define RPINN_ASSESS_INDEPENDENCE_METROPOLIS_H

#include <stddef.h>
#include <stdint.h>

/* state [count] becomes, for every position of the chain, the index of the draw that it is at. The chain
 * starts at draw 0; at position i it moves to draw i with probability min(1, w_i / w_state) and otherwise
 * stays. A log weight of -infinity or NaN is a weight of zero: the chain does not go there, and leaves at the
 * first chance if it starts there. More draws lengthen the chain and do not change its beginning. Returns the
 * share of moves that were made, NaN for fewer than two draws. */
double rpinn_independence_metropolis(uint64_t seed, size_t count, const double *log_weights, size_t *state);

#endif
