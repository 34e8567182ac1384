/* Draws in memory, as a sampler fills them. All room is asked for before the first chain starts, so that draws that do
 * not fit into memory are refused at once and not after hours. */
#ifndef RPINN_SAMPLE_DRAWS_H
#define RPINN_SAMPLE_DRAWS_H

#include "context.h"
#include "rpinn/draws.h"

typedef struct RpinnDrawsShape {
  size_t num_chains, num_draws; /* of each chain */
  size_t num_parameters, num_statistics;
  const char *const *statistic_names; /* [num_statistics], which stay */
  const char *const *names; /* [num_parameters] of the parameters, which are copied; NULL: theta[0], … */
} RpinnDrawsShape;

/* *draws is NULL after a failure. Names that are empty, or that two parameters share, are RPINN_ERROR_INPUT. */
RpinnStatus rpinn_draws_create(RpinnContext *context, const RpinnDrawsShape *shape, RpinnDraws **draws);
/* Where a draw goes: its parameters and, behind them, its statistics. */
double *rpinn_draws_row(RpinnDraws *draws, size_t chain, size_t index);
/* [num_statistics], which stay. */
const char *const *rpinn_draws_statistic_names(const RpinnDraws *draws);
/* A chain came to no more than its first num_draws. */
void rpinn_draws_cut(RpinnDraws *draws, size_t chain, size_t num_draws);

#endif
