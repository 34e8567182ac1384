/* Many short chains: too short to be judged one by one, but several share a start.
 *
 * Chains that were started from K members of an earlier run begin at them in turn, so that chain c belongs to superchain c mod K. They are
 * judged by nested R-hat where every start has at least two chains and chains have less draws than RPINN_ESS_PER_CHAIN: the effective
 * size that is asked of a chain by itself is then out of reach. */
#ifndef RPINN_RESULTS_SUPERCHAINS_H
#define RPINN_RESULTS_SUPERCHAINS_H

#include "rpinn/run.h"

/* The number of starts that the chains of a run shared, in the texts of its store. */
#define RPINN_NUM_STARTS_KEY "num_starts"

/* *superchains [num_chains], which the caller frees, and their number; NULL and 0: chains are judged one by one. */
RpinnStatus rpinn_superchains_find(RpinnContext *context, const RpinnRun *run, size_t *num_superchains,
                                   size_t **superchains);

#endif
