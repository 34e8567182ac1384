/* The gradients at the particles of SVGD: groups of particles, each one task of whichever thread takes it.
 *
 * Groups depend on the number of particles and on the target alone, so that what a target is asked does not depend on the
 * threads. Particle i is member i of the target. */
#ifndef RPINN_SAMPLE_SVGD_GRADIENTS_H
#define RPINN_SAMPLE_SVGD_GRADIENTS_H

#include <stdint.h>

#include "rpinn/target.h"
#include "svgd_failures.h"
#include "svgd_kernel.h"

/* What one thread works with. */
typedef struct RpinnSvgdCaller {
  RpinnBatchLogDensity target;
  RpinnLogDensity single; /* the target for one, where it was given as such */
  size_t *members;        /* [group] of the call: the particles */
  const double **thetas;  /* [group] */
  double **gradients;     /* [group] of them, among those of all particles */
} RpinnSvgdCaller;

typedef struct RpinnSvgdGradients {
  size_t n, N, group;
  RpinnSvgdCaller *callers; /* one a thread */
  RpinnSvgdFailures failures;
  double *values; /* [n][N] */
} RpinnSvgdGradients;

/* One target for each thread. From the arena; false when out of memory. */
bool rpinn_svgd_gradients_create(RpinnArena *arena, size_t n, size_t num_targets,
                                 const RpinnBatchLogDensity *targets, RpinnSvgdGradients *gradients);

/* For all particles [n][N]: `begin`, then every group once, by any thread, then `report`. Of particles whose gradients another process has evaluated,
 * `take` in the place of the group. */
void rpinn_svgd_gradients_begin(RpinnSvgdGradients *gradients);
size_t rpinn_svgd_gradients_num_groups(const RpinnSvgdGradients *gradients);
/* Sets log_densities [n], values and the kernel's gradients, each for the particles of the group. */
void rpinn_svgd_gradients_evaluate(RpinnSvgdGradients *gradients, size_t thread, size_t group,
                                   const double *particles, double *log_densities, RpinnSvgdKernel *kernel);
void rpinn_svgd_gradients_take(RpinnSvgdGradients *gradients, size_t particle, const double *log_densities,
                               RpinnSvgdKernel *kernel);
/* Where a target has set log densities and values by itself: are they finite at this particle? `report` says so. */
void rpinn_svgd_gradients_check(RpinnSvgdGradients *gradients, size_t particle, const double *log_densities);
/* Has a target failed that only this process can tell of? */
bool rpinn_svgd_gradients_have_failed(const RpinnSvgdGradients *gradients);
/* The first particle whose target failed, or where log density or gradient are not finite. */
RpinnStatus rpinn_svgd_gradients_report(RpinnContext *context, const RpinnSvgdGradients *gradients,
                                        const double *log_densities, uint64_t num_iterations);

#endif
