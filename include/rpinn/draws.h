/* Draws in memory: whole chains, as rpinn_nuts_sample makes them. */
#ifndef RPINN_DRAWS_H
#define RPINN_DRAWS_H

#include <stdint.h>

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One draw. Its pointers are valid until the draws are destroyed. */
typedef struct RpinnDraw {
  uint64_t chain;
  uint64_t index;           /* within the chain */
  const double *parameters; /* [num_parameters] */
  const double *statistics; /* as rpinn_draws_statistic finds them */
} RpinnDraw;

typedef struct RpinnDraws RpinnDraws;
/* Accepts NULL. */
RPINN_API void rpinn_draws_destroy(RpinnDraws *draws);
/* Of all chains together. */
RPINN_API size_t rpinn_draws_count(const RpinnDraws *draws);
RPINN_API size_t rpinn_draws_num_parameters(const RpinnDraws *draws);
/* Draw number i, 0 <= i < count: chain by chain, each in its order. */
RPINN_API RpinnDraw rpinn_draws_get(const RpinnDraws *draws, size_t i);
/* Position of a named statistic in RpinnDraw.statistics, or -1. */
RPINN_API int rpinn_draws_statistic(const RpinnDraws *draws, const char *name);

#ifdef __cplusplus
}
#endif
#endif
