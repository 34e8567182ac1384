/* Draws, and the sink that samplers write them to.
 *
 * A sampler knows nothing of files, threads or ranks: it hands each draw to an RpinnDrawSink. The driver
 * decides what stands behind it: memory (below), a crash-safe store, a NetCDF file. */
#ifndef RPINN_DRAWS_H
#define RPINN_DRAWS_H

#include <stdint.h>

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One draw. Pointers are borrowed for the call. */
typedef struct RpinnDraw {
  uint64_t chain;           /* 0 for methods without chains */
  uint64_t index;           /* member number, or draw number within the chain */
  const double *parameters; /* [num_parameters] */
  const double *statistics; /* [num_statistics], in the order of the names given to begin */
} RpinnDraw;

/* What is about to come. The names are borrowed for the call. */
typedef struct RpinnDrawLayout {
  size_t num_parameters;
  size_t num_statistics;
  const char *const *statistic_names;
} RpinnDrawLayout;

typedef struct RpinnDrawSink {
  void *data;
  /* Once, before the first draw. */
  RpinnStatus (*begin)(void *data, const RpinnDrawLayout *layout);
  /* Any order of (chain, index); each pair at most once. A failure tells the sampler to stop and return it.
   */
  RpinnStatus (*write)(void *data, const RpinnDraw *draw);
  /* Once, after the last draw; may be NULL. Not called after a failure. */
  RpinnStatus (*finish)(void *data);
} RpinnDrawSink;

/* Draws kept in memory, sorted by (chain, index) once finished. */
typedef struct RpinnDraws RpinnDraws;
RPINN_API RpinnDraws *rpinn_draws_create(void); /* NULL when out of memory */
RPINN_API void rpinn_draws_destroy(RpinnDraws *draws);
RPINN_API RpinnDrawSink rpinn_draws_sink(RpinnDraws *draws);
RPINN_API size_t rpinn_draws_count(const RpinnDraws *draws);
RPINN_API size_t rpinn_draws_num_parameters(const RpinnDraws *draws);
/* Draw number i, 0 <= i < count. Valid until the next write or destroy. */
RPINN_API RpinnDraw rpinn_draws_get(const RpinnDraws *draws, size_t i);
/* Position of a named statistic in RpinnDraw.statistics, or -1. */
RPINN_API int rpinn_draws_statistic(const RpinnDraws *draws, const char *name);

#ifdef __cplusplus
}
#endif
#endif
