/* What an iteration of SVGD moves particles by: the numbers that the optimiser's rule has at iteration t, counted from 0.
 *
 *   Adam      m = beta1 m + (1 - beta1) phi;  v = beta2 v + (1 - beta2) phi^2;  x += rate m / (sqrt(v unbias_v) + epsilon)
 *   AdaGrad   v = 0.9 v + share phi^2;  x += rate phi / (1e-6 + sqrt(v)) */
#ifndef RPINN_TARGET_PARTICLE_STEP_H
#define RPINN_TARGET_PARTICLE_STEP_H

#include "rpinn/target.h"

typedef struct RpinnParticleStep {
  double rate;     /* Adam: with m's correction in it */
  double unbias_v; /* Adam: 1 / (1 - beta2^(t+1)) */
  double share;    /* AdaGrad: all of phi^2 at first, where v = 0 */
} RpinnParticleStep;

RpinnParticleStep rpinn_particle_step(const RpinnAdamRule *rule, bool is_adagrad, uint64_t t);

#endif
