#include "adam_rule.h"

#include <math.h>

void rpinn_adam_apply(const RpinnAdamRule *rule, RpinnAdamState *state, const double *gradient, size_t N) {
  double t = (double)state->t;
  double rate = rule->learning_rate * pow(rule->decay_rate, t / rule->decay_steps);
  double correct_m = 1 - pow(rule->beta1, t + 1), correct_v = 1 - pow(rule->beta2, t + 1);
  for (size_t j = 0; j < N; j++) {
    double g = gradient[j];
    state->m[j] = rule->beta1 * state->m[j] + (1 - rule->beta1) * g;
    state->v[j] = rule->beta2 * state->v[j] + (1 - rule->beta2) * g * g;
    state->theta[j] -= rate * (state->m[j] / correct_m) / (sqrt(state->v[j] / correct_v) + rule->epsilon);
  }
  state->t++;
}
