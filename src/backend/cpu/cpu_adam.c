/* Many iterations of Adam at once: theta, m and v stay in this precision from the first to the last. */
#include <math.h>

#include "cpu_engine.h"
#include "denormals.h"

static RpinnAdamStep step_of(const RpinnAdamRule *rule, size_t t) {
  double steps = (double)(t + 1);
  double rate = rule->learning_rate * pow(rule->decay_rate, (double)t / rule->decay_steps);
  return (RpinnAdamStep){.beta1 = (Real)rule->beta1,
                         .beta2 = (Real)rule->beta2,
                         .rate = (Real)(rate / (1 - pow(rule->beta1, steps))),
                         .root_scale = (Real)(1 / sqrt(1 - pow(rule->beta2, steps))),
                         .epsilon = (Real)rule->epsilon};
}

/* The gradient of the prior is prior_scale theta - prior_shift. */
static void set_prior(RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  const double *offsets = engine->member.offsets;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = engine->member.prior_root[j], xi = offsets && root > 0 ? offsets[model->num_rows + j] : 0;
    engine->prior_scale[j] = (Real)(root * root);
    engine->prior_shift[j] = (Real)(root * (root * model->prior_mean[j] + xi));
  }
}

/* Of the member at hand, whose theta is that of the state. Returns the energy where the last gradient was taken. */
static double advance(RpinnCpuEngine *engine, const RpinnAdamRule *rule, RpinnAdamState *state,
                      size_t num_steps) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters;
  double energy = 0;
  engine->kernels->to_real(N, state->m, engine->m);
  engine->kernels->to_real(N, state->v, engine->v);
  set_prior(engine);
  for (size_t step = 0; step < num_steps; step++) {
    bool is_last = step + 1 == num_steps;
    if (is_last) engine->kernels->to_double(N, engine->theta, state->theta);
    energy = RPINN_REAL_NAME(rpinn_cpu_data_energy)(engine, engine->gradient);
    if (is_last) energy += RPINN_REAL_NAME(rpinn_cpu_prior_energy)(engine, NULL);
    RpinnAdamStep now = step_of(rule, state->t++);
    engine->kernels->adam_update(N, &now, engine->gradient, engine->prior_scale, engine->prior_shift,
                                 engine->theta, engine->m, engine->v);
  }
  engine->kernels->to_double(N, engine->theta, state->theta);
  engine->kernels->to_double(N, engine->m, state->m);
  engine->kernels->to_double(N, engine->v, state->v);
  return energy;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_adam_advance)(RpinnContext *context, RpinnBackend *backend,
                                                    const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                                                    RpinnAdamState *const *states, size_t num_steps,
                                                    double *energies) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  DenormalMode mode = denormals_off();
  (void)context;
  for (size_t k = 0; k < batch->num_members; k++) {
    RpinnBatchMember member = batch->members[k];
    member.theta = states[k]->theta;
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, &(RpinnMemberBatch){1, &member}, 0);
    energies[k] = advance(engine, rule, states[k], num_steps);
  }
  denormals_restore(mode);
  return RPINN_OK;
}
