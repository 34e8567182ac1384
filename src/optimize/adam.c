/* Adam with an exponential schedule (the rule of rpinn/target.h), in chunks.
 *
 * A chunk ends at the next multiple of chunk_iterations, counted from the start of the run, or at the budget;
 * only there are the loss and the gradient looked at. Because the ends do not depend on where the caller
 * paused, a run in pieces looks at the same points as one in a single piece. */
#include <math.h>

#include "dense_algebra.h"
#include "optimizer.h"
#include "target_check.h"

typedef struct Adam {
  RpinnOptimizer base;
  RpinnObjective objective;
  RpinnAdamRule rule;
  size_t chunk_iterations;
  double *m, *v;    /* [N] */
  double *gradient; /* [N] */
} Adam;

/* One iteration from the gradient at theta, written as the rule is. */
static void apply_rule(const RpinnAdamRule *rule, RpinnAdamState *state, const double *gradient, size_t N) {
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

static RpinnStatus advance_composed(Adam *adam, RpinnAdamState *state, size_t num_steps) {
  double value;
  for (size_t i = 0; i < num_steps; i++) {
    RPINN_TRY(adam->objective.evaluate(adam->objective.data, state->theta, &value, adam->gradient));
    apply_rule(&adam->rule, state, adam->gradient, adam->base.num_parameters);
  }
  return RPINN_OK;
}

static RpinnStatus advance_steps(Adam *adam, size_t num_steps) {
  RpinnOptimizer *base = &adam->base;
  RpinnAdamState state = {.theta = base->theta, .m = adam->m, .v = adam->v, .t = base->num_iterations};
  double value;
  base->called = adam->objective.adam_advance ? "adam_advance" : "evaluate";
  if (adam->objective.adam_advance)
    RPINN_TRY(adam->objective.adam_advance(adam->objective.data, &adam->rule, &state, num_steps, &value));
  else
    RPINN_TRY(advance_composed(adam, &state, num_steps));
  base->num_iterations += num_steps;
  base->num_evaluations += num_steps;
  return RPINN_OK;
}

static RpinnStatus look(Adam *adam) {
  RpinnOptimizer *base = &adam->base;
  double loss;
  base->called = "evaluate";
  RPINN_TRY(adam->objective.evaluate(adam->objective.data, base->theta, &loss, adam->gradient));
  base->num_evaluations++;
  rpinn_optimizer_note(base, loss, rpinn_dense_norm(base->num_parameters, adam->gradient));
  return RPINN_OK;
}

static RpinnStatus begin(RpinnOptimizer *optimizer) {
  Adam *adam = (Adam *)optimizer;
  for (size_t j = 0; j < optimizer->num_parameters; j++) adam->m[j] = adam->v[j] = 0;
  return look(adam);
}

static RpinnStatus iterate(RpinnOptimizer *optimizer, size_t most) {
  Adam *adam = (Adam *)optimizer;
  size_t done = optimizer->num_iterations, chunk = adam->chunk_iterations;
  size_t left_of_chunk = chunk - done % chunk, left_of_budget = optimizer->rule.max_iterations - done;
  size_t to_next_look = left_of_chunk < left_of_budget ? left_of_chunk : left_of_budget;
  size_t num_steps = to_next_look < most ? to_next_look : most;
  RPINN_TRY(advance_steps(adam, num_steps));
  return num_steps == to_next_look ? look(adam) : RPINN_OK;
}

static void transfer(RpinnOptimizer *optimizer, RpinnStateCursor *cursor) {
  Adam *adam = (Adam *)optimizer;
  rpinn_state_numbers(cursor, adam->m, optimizer->num_parameters);
  rpinn_state_numbers(cursor, adam->v, optimizer->num_parameters);
}

static bool restored(RpinnOptimizer *optimizer) {
  (void)optimizer;
  return true;
}

static const RpinnOptimizerMethod adam_method = {1, begin, iterate, transfer, restored};

RpinnAdamOptions rpinn_adam_default_options(void) {
  return (RpinnAdamOptions){.stop = {.max_iterations = 2000},
                            .rule = {.learning_rate = 1e-3,
                                     .decay_rate = 0.9,
                                     .decay_steps = 5000,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .epsilon = 1e-8},
                            .chunk_iterations = 100};
}

static RpinnStatus check_options(RpinnContext *context, const RpinnAdamOptions *options) {
  const RpinnAdamRule *rule = &options->rule;
  const struct {
    const char *name;
    double value;
  } positive[] = {{"learning_rate", rule->learning_rate},
                  {"decay_rate", rule->decay_rate},
                  {"decay_steps", rule->decay_steps},
                  {"epsilon", rule->epsilon}};
  for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
    if (!(positive[i].value > 0 && isfinite(positive[i].value)))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "%s is %g, expected a positive number", positive[i].name,
                        positive[i].value);
  if (!(rule->beta1 >= 0 && rule->beta1 < 1 && rule->beta2 >= 0 && rule->beta2 < 1))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "beta1 and beta2 are %g and %g, expected 0 <= beta < 1",
                      rule->beta1, rule->beta2);
  if (options->chunk_iterations == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "chunk_iterations is 0, expected at least 1");
  return RPINN_OK;
}

RpinnStatus rpinn_adam_create(RpinnContext *context, const RpinnObjective *objective,
                              const RpinnAdamOptions *options, RpinnOptimizer **optimizer) {
  *optimizer = NULL;
  RPINN_TRY(check_options(context, options));
  RPINN_TRY(rpinn_objective_check(context, objective));
  RpinnOptimizer *base;
  RPINN_TRY(rpinn_optimizer_create(context, &adam_method, sizeof(Adam), &options->stop,
                                   objective->num_parameters, true, &base));
  Adam *adam = (Adam *)base;
  size_t N = objective->num_parameters;
  bool failed = false;
  adam->objective = *objective;
  adam->rule = options->rule;
  adam->chunk_iterations = options->chunk_iterations;
  adam->m = rpinn_optimizer_numbers(base, N, &failed);
  adam->v = rpinn_optimizer_numbers(base, N, &failed);
  adam->gradient = rpinn_optimizer_numbers(base, N, &failed);
  if (failed) {
    rpinn_optimizer_destroy(base);
    return rpinn_fail_memory(context);
  }
  *optimizer = base;
  return RPINN_OK;
}
