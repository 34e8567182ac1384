/* What the particles of SVGD are compared by where that is not the particles themselves: features f(x), with the Jacobian J.
 *
 * An iteration takes the features of all particles, and, once the kernel has its weights, the Jacobians of a bunch of particles at
 * a time, by which these push all others (svgd_kernel.h). */
#ifndef RPINN_SAMPLE_SVGD_FEATURES_H
#define RPINN_SAMPLE_SVGD_FEATURES_H

#include <stdint.h>

#include "rpinn/target.h"
#include "svgd_failures.h"
#include "svgd_kernel.h"
#include "svgd_parts.h"

/* What one thread works with. */
typedef struct RpinnSvgdMap {
  RpinnBatchLeastSquares map;
  size_t *members;                 /* [group] of the call: the particles */
  const double **thetas;           /* [group] */
  double **rows, **jacobians;      /* [group] */
  double *own_rows, *own_jacobian; /* [group][F] and [group][F][N], room of a call for Jacobians */
  void *differences, *product;     /* room of RpinnSvgdProducts.push */
} RpinnSvgdMap;

typedef struct RpinnSvgdFeatures {
  size_t n, N, num_features, group;
  RpinnSvgdMap *maps; /* one a thread */
  RpinnSvgdFailures failures;
  double *values; /* [n][num_features] */
  const RpinnSvgdParts *parts;
  size_t *first; /* [num_parts + 1] particles whose features each part makes; NULL where there is one */
} RpinnSvgdFeatures;

/* One map for each thread, for this kernel. From the arena; false when out of memory. */
bool rpinn_svgd_features_create(RpinnArena *arena, const RpinnSvgdKernel *kernel, size_t num_maps,
                                const RpinnBatchLeastSquares *maps, RpinnSvgdFeatures *features);
/* In parts from here on; false when out of memory. */
bool rpinn_svgd_features_deal(RpinnArena *arena, const RpinnSvgdParts *parts, RpinnSvgdFeatures *features);
/* values, at particles [n][N]. The first particle whose map failed, or where a feature is not finite, is an error. */
RpinnStatus rpinn_svgd_features_evaluate(RpinnContext *context, RpinnSvgdFeatures *features, RpinnTeam *team,
                                         const double *particles, uint64_t num_iterations);
/* The kernel's pushes in the tiles of phi that are this part's, once it has its weights. Fails as above. */
RpinnStatus rpinn_svgd_features_push(RpinnContext *context, RpinnSvgdFeatures *features, RpinnTeam *team,
                                     RpinnSvgdKernel *kernel, const double *particles,
                                     uint64_t num_iterations);

#endif
