/* Adam with an exponential schedule (the rule of rpinn/target.h), in chunks.
 *
 * A chunk ends at the next multiple of chunk_iterations, counted from the start of the run, or at the budget;
 * only there are the loss and the gradient looked at. Because the ends do not depend on where the caller
 * paused, a run in pieces looks at the same points as one in a single piece. */
#include <math.h>

#include "adam_rule.h"
#include "dense_algebra.h"
#include "optimizer.h"
#include "target_check.h"

typedef struct Adam {
  RpinnOptimizer base;
  RpinnObjective single;         /* the target for one, where it was given as such */
  RpinnBatchObjective objective; /* the target */
  RpinnAdamRule rule;
  size_t chunk_iterations;
  double *m, *v;    /* [N] */
  double *gradient; /* [N] */
  /* ---- of the chunk under way ---- */
  RpinnAdamState state; /* of an advance by the target itself */
  size_t num_steps;     /* iterations to make */
  size_t steps_left;    /* of these, where they are made one by one */
  bool looks_then;      /* the chunk ends with them */
  bool is_looking;      /* at the loss: nothing comes after it */
} Adam;

static bool ask_gradient(Adam *adam) {
  RpinnRequest *request = &adam->base.request;
  request->question = RPINN_QUESTION_EVALUATE;
  request->theta = adam->base.theta;
  request->gradient = adam->gradient;
  return true;
}

static bool ask_steps(Adam *adam) {
  RpinnRequest *request = &adam->base.request;
  adam->state =
      (RpinnAdamState){.theta = adam->base.theta, .m = adam->m, .v = adam->v, .t = adam->base.num_iterations};
  adam->steps_left = adam->objective.adam_advance ? 0 : adam->num_steps;
  if (!adam->objective.adam_advance) return ask_gradient(adam);
  request->question = RPINN_QUESTION_ADAM_ADVANCE;
  request->rule = &adam->rule;
  request->state = &adam->state;
  request->num_steps = adam->num_steps;
  return true;
}

static bool look(Adam *adam) {
  adam->is_looking = true;
  return ask_gradient(adam);
}

static bool begin(RpinnOptimizer *optimizer) {
  Adam *adam = (Adam *)optimizer;
  for (size_t j = 0; j < optimizer->num_parameters; j++) adam->m[j] = adam->v[j] = 0;
  return look(adam);
}

static bool iterate(RpinnOptimizer *optimizer, size_t most) {
  Adam *adam = (Adam *)optimizer;
  size_t done = optimizer->num_iterations, chunk = adam->chunk_iterations;
  size_t left_of_chunk = chunk - done % chunk, left_of_budget = optimizer->rule.max_iterations - done;
  size_t to_next_look = left_of_chunk < left_of_budget ? left_of_chunk : left_of_budget;
  adam->num_steps = to_next_look < most ? to_next_look : most;
  adam->looks_then = adam->num_steps == to_next_look;
  adam->is_looking = false;
  return ask_steps(adam);
}

static void take_look(Adam *adam) {
  RpinnOptimizer *base = &adam->base;
  base->num_evaluations++;
  rpinn_optimizer_note(base, base->request.value, rpinn_dense_norm(base->num_parameters, adam->gradient));
}

static bool answered(RpinnOptimizer *optimizer) {
  Adam *adam = (Adam *)optimizer;
  if (adam->is_looking) {
    take_look(adam);
    return false;
  }
  if (adam->steps_left) {
    rpinn_adam_apply(&adam->rule, &adam->state, adam->gradient, optimizer->num_parameters);
    if (--adam->steps_left) return ask_gradient(adam);
  }
  optimizer->num_iterations += adam->num_steps;
  optimizer->num_evaluations += adam->num_steps;
  return adam->looks_then && look(adam);
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

static const RpinnOptimizerMethod adam_method = {.code = 1,
                                                 .begin = begin,
                                                 .iterate = iterate,
                                                 .answered = answered,
                                                 .transfer = transfer,
                                                 .restored = restored};

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

RpinnStatus rpinn_adam_create_member(RpinnContext *context, const RpinnBatchObjective *objective,
                                     size_t member, const RpinnAdamOptions *options,
                                     RpinnOptimizer **optimizer) {
  *optimizer = NULL;
  RPINN_TRY(check_options(context, options));
  RPINN_TRY(rpinn_batch_objective_check(context, objective));
  RpinnOptimizer *base;
  RPINN_TRY(rpinn_optimizer_create(context, &adam_method, sizeof(Adam), &options->stop,
                                   objective->num_parameters, true, &base));
  Adam *adam = (Adam *)base;
  size_t N = objective->num_parameters;
  bool failed = false;
  adam->objective = *objective;
  base->request = (RpinnRequest){.target = {.objective = &adam->objective}, .member = member};
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

RpinnStatus rpinn_adam_create(RpinnContext *context, const RpinnObjective *objective,
                              const RpinnAdamOptions *options, RpinnOptimizer **optimizer) {
  RpinnBatchObjective batch = rpinn_objective_as_batch(objective);
  RPINN_TRY(rpinn_adam_create_member(context, &batch, 0, options, optimizer));
  Adam *adam = (Adam *)*optimizer;
  adam->single = *objective;
  adam->objective.data = &adam->single;
  return RPINN_OK;
}
