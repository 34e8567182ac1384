/* A chain of NUTS from the inside, for the files that make it. */
#ifndef RPINN_SAMPLE_NUTS_CHAIN_H
#define RPINN_SAMPLE_NUTS_CHAIN_H

#include "dual_averaging.h"
#include "nuts_trajectory.h"
#include "rpinn/nuts.h"
#include "warmup_windows.h"

struct RpinnNuts {
  RpinnArena *arena; /* holds the chain itself and all its vectors */
  RpinnNutsOptions options;
  RpinnWarmupWindows windows;
  size_t num_step_iterations; /* of the warmup, over which the step size adapts */
  /* ---- what a saved state holds ---- */
  bool started;
  size_t num_iterations;
  double step;
  RpinnStream stream;
  RpinnDualAveraging averaging;
  RpinnNutsMetric metric;
  RpinnTrajectory trajectory; /* of which its current point, without the momentum, and num_leapfrogs */
};

#endif
