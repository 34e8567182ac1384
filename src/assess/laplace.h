/* Laplace's approximation from the inside, for those who draw from it. */
#ifndef RPINN_ASSESS_LAPLACE_H
#define RPINN_ASSESS_LAPLACE_H

#include "rpinn/laplace.h"

size_t rpinn_laplace_num_parameters(const RpinnLaplace *laplace);
/* Draw number `index` [N], and its statistics: lp and log_weight. */
RpinnStatus rpinn_laplace_draw(RpinnContext *context, RpinnLaplace *laplace, uint64_t seed, uint64_t index,
                               double *draw, double statistics[2]);

#endif
