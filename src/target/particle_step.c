#include "particle_step.h"

#include <math.h>

RpinnParticleStep rpinn_particle_step(const RpinnAdamRule *rule, bool is_adagrad, uint64_t t) {
  double done = (double)t;
  RpinnParticleStep step = {.rate = rule->learning_rate * pow(rule->decay_rate, done / rule->decay_steps)};
  if (is_adagrad) {
    step.share = t == 0 ? 1 : 0.1;
  } else {
    step.rate /= 1 - pow(rule->beta1, done + 1);
    step.unbias_v = 1 / (1 - pow(rule->beta2, done + 1));
  }
  return step;
}
