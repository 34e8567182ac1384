/* Targets for one as targets for groups: one member after the other. */
#include "rpinn/target.h"

typedef RpinnStatus Evaluation(void *data, const double *theta, double *value, double *gradient);

static RpinnStatus evaluate_in_turn(Evaluation *evaluate, void *data, size_t count,
                                    const double *const *thetas, double *values, double *const *gradients) {
  RpinnStatus status = RPINN_OK;
  for (size_t k = 0; k < count && status == RPINN_OK; k++)
    status = evaluate(data, thetas[k], &values[k], gradients ? gradients[k] : NULL);
  return status;
}

/* ---- objectives ---- */

static RpinnStatus evaluate_each(RpinnContext *context, void *data, size_t count, const size_t *members,
                                 const double *const *thetas, double *values, double *const *gradients) {
  const RpinnObjective *one = data;
  (void)context, (void)members;
  return evaluate_in_turn(one->evaluate, one->data, count, thetas, values, gradients);
}

static RpinnStatus advance_each(RpinnContext *context, void *data, size_t count, const size_t *members,
                                const RpinnAdamRule *rule, RpinnAdamState *const *states, size_t num_steps,
                                double *values) {
  const RpinnObjective *one = data;
  RpinnStatus status = RPINN_OK;
  (void)context, (void)members;
  for (size_t k = 0; k < count && status == RPINN_OK; k++)
    status = one->adam_advance(one->data, rule, states[k], num_steps, &values[k]);
  return status;
}

RpinnBatchObjective rpinn_objective_as_batch(const RpinnObjective *objective) {
  return (RpinnBatchObjective){.num_parameters = objective->num_parameters,
                               .group = 1,
                               .data = (void *)objective,
                               .evaluate = objective->evaluate ? evaluate_each : NULL,
                               .adam_advance = objective->adam_advance ? advance_each : NULL,
                               .epsilon = objective->epsilon};
}

/* ---- log densities ---- */

static RpinnStatus weigh_each(RpinnContext *context, void *data, size_t count, const size_t *members,
                              const double *const *thetas, double *values, double *const *gradients) {
  const RpinnLogDensity *one = data;
  (void)context, (void)members;
  return evaluate_in_turn(one->evaluate, one->data, count, thetas, values, gradients);
}

RpinnBatchLogDensity rpinn_log_density_as_batch(const RpinnLogDensity *density) {
  return (RpinnBatchLogDensity){.num_parameters = density->num_parameters,
                                .group = 1,
                                .data = (void *)density,
                                .evaluate = density->evaluate ? weigh_each : NULL,
                                .epsilon = density->epsilon};
}

static RpinnStatus evaluate_negated(RpinnContext *context, void *data, size_t count, const size_t *members,
                                    const double *const *thetas, double *values, double *const *gradients) {
  const RpinnBatchObjective *objective = data;
  RpinnStatus status =
      objective->evaluate(context, objective->data, count, members, thetas, values, gradients);
  if (status != RPINN_OK) return status;
  for (size_t k = 0; k < count; k++) {
    values[k] = -values[k];
    for (size_t j = 0; gradients && gradients[k] && j < objective->num_parameters; j++)
      gradients[k][j] = -gradients[k][j];
  }
  return RPINN_OK;
}

RpinnBatchLogDensity rpinn_log_density_of_batch(const RpinnBatchObjective *objective) {
  return (RpinnBatchLogDensity){.num_parameters = objective->num_parameters,
                                .group = objective->group,
                                .data = (void *)objective,
                                .evaluate = objective->evaluate ? evaluate_negated : NULL,
                                .epsilon = objective->epsilon};
}

/* ---- least squares ---- */

static const double *root_of_all(void *data, size_t member) {
  (void)member;
  return ((const RpinnLeastSquares *)data)->prior_root;
}

#define EACH(name, ...)                                                                                      \
  static RpinnStatus name(RpinnContext *context, void *data, size_t count, const size_t *members,            \
                          const double *const *thetas, const double *const *inputs, double *const *rows,     \
                          double *const *outputs) {                                                          \
    const RpinnLeastSquares *one = data;                                                                     \
    RpinnStatus status = RPINN_OK;                                                                           \
    (void)context, (void)members, (void)inputs, (void)rows, (void)outputs;                                   \
    for (size_t k = 0; k < count && status == RPINN_OK; k++) status = one->__VA_ARGS__;                      \
    return status;                                                                                           \
  }

EACH(residuals_of_each, residuals(one->data, thetas[k], rows[k]))
EACH(jacobian_of_each, jacobian(one->data, thetas[k], rows[k], outputs[k]))
EACH(times_of_each, jacobian_times(one->data, thetas[k], inputs[k], outputs[k]))
EACH(transposed_of_each, transposed_times(one->data, thetas[k], inputs[k], outputs[k]))
EACH(gram_of_each, gram(one->data, thetas[k], inputs ? inputs[k] : NULL, rows[k], outputs[k]))
#undef EACH

static RpinnStatus steps_of_each(RpinnContext *context, void *data, size_t count, const size_t *members,
                                 const double *const *thetas, RpinnDampedStep *const *steps) {
  const RpinnLeastSquares *one = data;
  RpinnStatus status = RPINN_OK;
  (void)context, (void)members;
  for (size_t k = 0; k < count && status == RPINN_OK; k++)
    status = one->damped_step(one->data, thetas[k], steps[k]);
  return status;
}

RpinnBatchLeastSquares rpinn_least_squares_as_batch(const RpinnLeastSquares *problem) {
  return (RpinnBatchLeastSquares){.num_parameters = problem->num_parameters,
                                  .num_rows = problem->num_rows,
                                  .group = 1,
                                  .prior_mean = problem->prior_mean,
                                  .data = (void *)problem,
                                  .prior_root = root_of_all,
                                  .residuals = problem->residuals ? residuals_of_each : NULL,
                                  .jacobian = problem->jacobian ? jacobian_of_each : NULL,
                                  .jacobian_times = problem->jacobian_times ? times_of_each : NULL,
                                  .transposed_times = problem->transposed_times ? transposed_of_each : NULL,
                                  .gram = problem->gram ? gram_of_each : NULL,
                                  .damped_steps = problem->damped_step ? steps_of_each : NULL};
}
