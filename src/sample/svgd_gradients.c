#include "svgd_gradients.h"

#include <math.h>

/* ---- create ---- */

static bool create_caller(RpinnArena *arena, size_t group, const RpinnBatchLogDensity *target,
                          RpinnSvgdCaller *caller) {
  *caller = (RpinnSvgdCaller){.target = *target,
                              .members = RPINN_ARENA_NEW(arena, size_t, group),
                              .thetas = RPINN_ARENA_NEW(arena, const double *, group),
                              .gradients = RPINN_ARENA_NEW(arena, double *, group)};
  return caller->members && caller->thetas && caller->gradients;
}

bool rpinn_svgd_gradients_create(RpinnArena *arena, size_t n, size_t num_targets,
                                 const RpinnBatchLogDensity *targets, RpinnSvgdGradients *gradients) {
  size_t N = targets[0].num_parameters;
  *gradients = (RpinnSvgdGradients){.n = n,
                                    .N = N,
                                    .group = targets[0].group < n ? targets[0].group : n,
                                    .callers = RPINN_ARENA_NEW(arena, RpinnSvgdCaller, num_targets),
                                    .values = RPINN_ARENA_NEW(arena, double, n *N)};
  if (!gradients->callers || !gradients->values ||
      !rpinn_svgd_failures_create(arena, n, num_targets, &gradients->failures))
    return false;
  for (size_t k = 0; k < num_targets; k++)
    if (!create_caller(arena, gradients->group, &targets[k], &gradients->callers[k])) return false;
  return true;
}

/* ---- evaluate ---- */

void rpinn_svgd_gradients_begin(RpinnSvgdGradients *gradients) {
  rpinn_svgd_failures_begin(&gradients->failures);
}

size_t rpinn_svgd_gradients_num_groups(const RpinnSvgdGradients *gradients) {
  return (gradients->n + gradients->group - 1) / gradients->group;
}

static bool all_finite(const double *numbers, size_t count) {
  bool finite = true;
  for (size_t j = 0; j < count; j++) finite &= isfinite(numbers[j]) != 0;
  return finite;
}

static RpinnStatus call(RpinnContext *context, const RpinnSvgdGradients *gradients, RpinnSvgdCaller *caller,
                        size_t first, size_t count, const double *particles, double *log_densities) {
  for (size_t k = 0; k < count; k++) {
    caller->members[k] = first + k;
    caller->thetas[k] = particles + (first + k) * gradients->N;
    caller->gradients[k] = gradients->values + (first + k) * gradients->N;
  }
  return caller->target.evaluate(context, caller->target.data, count, caller->members, caller->thetas,
                                 log_densities + first, caller->gradients);
}

void rpinn_svgd_gradients_evaluate(RpinnSvgdGradients *gradients, size_t thread, size_t group,
                                   const double *particles, double *log_densities, RpinnSvgdKernel *kernel) {
  RpinnSvgdCaller *caller = &gradients->callers[thread];
  size_t first = group * gradients->group, left = gradients->n - first;
  size_t count = left < gradients->group ? left : gradients->group;
  RpinnContext *context = rpinn_svgd_failures_context(&gradients->failures, thread, first);
  if (!context) return;
  RpinnStatus status = call(context, gradients, caller, first, count, particles, log_densities);
  RpinnStatus *statuses = gradients->failures.statuses;
  for (size_t k = 0; k < count; k++) {
    statuses[first + k] = status;
    if (status == RPINN_OK) rpinn_svgd_gradients_take(gradients, first + k, log_densities, kernel);
  }
}

void rpinn_svgd_gradients_check(RpinnSvgdGradients *gradients, size_t i, const double *log_densities) {
  if (!isfinite(log_densities[i]) || !all_finite(gradients->values + i * gradients->N, gradients->N))
    gradients->failures.statuses[i] = RPINN_ERROR_NUMERIC;
}

void rpinn_svgd_gradients_take(RpinnSvgdGradients *gradients, size_t i, const double *log_densities,
                               RpinnSvgdKernel *kernel) {
  rpinn_svgd_gradients_check(gradients, i, log_densities);
  kernel->products->set_gradient(kernel, i, gradients->values + i * gradients->N);
}

/* Numbers that are not finite speak for themselves, wherever they are taken. */
bool rpinn_svgd_gradients_have_failed(const RpinnSvgdGradients *gradients) {
  return rpinn_svgd_failures_are_told(&gradients->failures);
}

/* ---- report ---- */

static RpinnStatus report_particle(RpinnContext *context, RpinnStatus status, size_t particle,
                                   double log_density, uint64_t num_iterations) {
  unsigned long long done = num_iterations;
  if (status != RPINN_ERROR_NUMERIC)
    return rpinn_fail(context, status,
                      "the target's function 'evaluate' failed at particle %zu after %llu iterations: %s",
                      particle, done, rpinn_status_meaning(status));
  if (isfinite(log_density))
    return rpinn_fail(context, status,
                      "the gradient of the log density at particle %zu is not finite after %llu iterations",
                      particle, done);
  return rpinn_fail(context, status,
                    "the log density of particle %zu is %g after %llu iterations, expected a finite number",
                    particle, log_density, done);
}

RpinnStatus rpinn_svgd_gradients_report(RpinnContext *context, const RpinnSvgdGradients *gradients,
                                        const double *log_densities, uint64_t num_iterations) {
  size_t i = rpinn_svgd_failures_first(&gradients->failures);
  if (i == gradients->n) return RPINN_OK;
  RpinnStatus status = gradients->failures.statuses[i];
  if (rpinn_svgd_failures_quote(context, &gradients->failures, i)) return status;
  return report_particle(context, status, i, log_densities[i], num_iterations);
}
