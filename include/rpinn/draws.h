/* Draws in memory: whole chains, as rpinn_nuts_sample makes them, with the names of their parameters. */
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
RPINN_API size_t rpinn_draws_num_chains(const RpinnDraws *draws);
/* Draws of a chain: all have as many, but for those that were interrupted. */
RPINN_API size_t rpinn_draws_length(const RpinnDraws *draws, size_t chain);
RPINN_API size_t rpinn_draws_num_parameters(const RpinnDraws *draws);
/* Draw number i, 0 <= i < count: chain by chain, each in its order. */
RPINN_API RpinnDraw rpinn_draws_get(const RpinnDraws *draws, size_t i);

/* The name of a parameter: as it was given, or theta[0], theta[1], … */
RPINN_API const char *rpinn_draws_name(const RpinnDraws *draws, size_t parameter);
/* Its number by its name, or -1. */
RPINN_API int rpinn_draws_parameter(const RpinnDraws *draws, const char *name);

RPINN_API size_t rpinn_draws_num_statistics(const RpinnDraws *draws);
RPINN_API const char *rpinn_draws_statistic_name(const RpinnDraws *draws, size_t statistic);
/* Position of a named statistic in RpinnDraw.statistics, or -1. */
RPINN_API int rpinn_draws_statistic(const RpinnDraws *draws, const char *name);

/* Draws of one's own: values [num_chains][num_draws][num_parameters], which are copied, as are the names [num_parameters] (NULL:
 * theta[0], …). They have no statistics. No chains, draws or parameters at all, and names that are empty or not distinct, are
 * RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_draws_of_values(RpinnContext *context, size_t num_chains, size_t num_draws,
                                            size_t num_parameters, const char *const *names,
                                            const double *values, RpinnDraws **draws);

/* One parameter of all chains, for rpinn_convergence and its kin: values [num_chains][num_draws], the first num_draws of each,
 * which is no more than any chain has. */
RPINN_API void rpinn_draws_gather(const RpinnDraws *draws, size_t parameter, size_t num_draws,
                                  double *values);

#ifdef __cplusplus
}
#endif
#endif
