/* Nested R-hat (rpinn/convergence.h) of superchains of few chains, of which only the means and variances are left. */
#ifndef RPINN_ASSESS_NESTED_RHAT_H
#define RPINN_ASSESS_NESTED_RHAT_H

#include "rpinn/convergence.h"

/* Nested R-hat as it would be if every superchain had many chains. The mean of m of them varies by S/m, S the variance of the means of
 * the chains of a superchain, even if all of them have forgotten where they began; B is too large by that:
 *
 *   sqrt(1 + max(0, B - S/m) / W)
 *
 * which is 1 within chance once the start is forgotten, however few and short chains are. Superchains of two chains at least; means,
 * variances [num_chains] of the draws of each chain, the variance of a single draw being 0. */
double rpinn_nested_rhat_of_many(size_t num_chains, const double *means, const double *variances,
                                 size_t num_superchains, const size_t *superchains);

#endif
