/* The chain: transitions one after the other, and what warmup learns from them.
 *
 *   warmup iteration   transition, step size from its acceptance, metric from its draw
 *   end of a window    new metric, so a new step: searched for, and averaged afresh around it
 *   end of adaptation  the averaged step, for good */
#include <math.h>
#include <string.h>

#include "nuts_chain.h"
#include "target_check.h"

/* log of the acceptance that the step size search brackets, and where it gives up */
static const double search_threshold = -0.22314355131420976, largest_step = 1e7;
enum { DEEPEST = 30 };

RpinnNutsOptions rpinn_nuts_default_options(void) {
  return (RpinnNutsOptions){.num_warmup = 1000,
                            .num_draws = 1000,
                            .thin = 1,
                            .metric = RPINN_METRIC_DIAGONAL,
                            .max_depth = 10,
                            .max_energy_error = 1000,
                            .target_acceptance = 0.8,
                            .step_adaptation = 1,
                            .gamma = 0.05,
                            .t0 = 10,
                            .kappa = 0.75,
                            .window_start = 75,
                            .window_base = 25,
                            .window_end = 50};
}

/* ---- create and destroy ---- */

static RpinnStatus check_number(RpinnContext *context, const char *name, double value, bool good,
                                const char *expected) {
  if (good && isfinite(value)) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "%s is %g, expected %s", name, value, expected);
}

static RpinnStatus check_counts(RpinnContext *context, const RpinnNutsOptions *options) {
  if (options->thin == 0) return rpinn_fail(context, RPINN_ERROR_INPUT, "thin is 0, expected at least 1");
  if (options->num_draws > (SIZE_MAX - options->num_warmup) / options->thin)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu draws of %zu iterations each are too many to count",
                      options->num_draws, options->thin);
  if (options->window_base == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "window_base is 0, expected at least 1 (25 is usual)");
  if (options->max_depth == 0 || options->max_depth > DEEPEST)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "max_depth is %u, expected 1 to %d (10 is usual)",
                      options->max_depth, DEEPEST);
  if ((unsigned)options->metric > RPINN_METRIC_DENSE)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "metric is number %d, expected unit, diagonal or dense",
                      (int)options->metric);
  return RPINN_OK;
}

static RpinnStatus check_options(RpinnContext *context, const RpinnNutsOptions *o) {
  RPINN_TRY(check_counts(context, o));
  RPINN_TRY(check_number(context, "max_energy_error", o->max_energy_error, o->max_energy_error > 0,
                         "a number above 0 (1000 is usual)"));
  RPINN_TRY(check_number(context, "first_step", o->first_step,
                         o->first_step >= 0 && o->first_step <= largest_step,
                         "0, to search for it, or a step up to 1e7"));
  RPINN_TRY(check_number(context, "target_acceptance", o->target_acceptance,
                         o->target_acceptance > 0 && o->target_acceptance < 1,
                         "a number between 0 and 1 (0.8 is usual)"));
  RPINN_TRY(check_number(context, "step_adaptation", o->step_adaptation,
                         o->step_adaptation > 0 && o->step_adaptation <= 1,
                         "a share of the warmup, above 0 and at most 1"));
  RPINN_TRY(check_number(context, "gamma", o->gamma, o->gamma > 0, "a number above 0 (0.05 is usual)"));
  RPINN_TRY(check_number(context, "t0", o->t0, o->t0 >= 0, "0 or more (10 is usual)"));
  return check_number(context, "kappa", o->kappa, o->kappa > 0 && o->kappa <= 1,
                      "a number above 0 and at most 1 (0.75 is usual)");
}

static bool fill(RpinnNuts *nuts, const RpinnLogDensity *target, const RpinnNutsOptions *options) {
  nuts->options = *options;
  nuts->windows = rpinn_warmup_windows(options->num_warmup, options->window_start, options->window_base,
                                       options->window_end);
  nuts->num_step_iterations = (size_t)round(options->step_adaptation * (double)options->num_warmup);
  nuts->averaging = (RpinnDualAveraging){.target = options->target_acceptance,
                                         .gamma = options->gamma,
                                         .t0 = options->t0,
                                         .kappa = options->kappa};
  return rpinn_nuts_metric_create(nuts->arena, options->metric, target->num_parameters, &nuts->metric) &&
         rpinn_trajectory_create(nuts->arena, target, &nuts->metric, &nuts->stream, options->max_depth,
                                 options->max_energy_error, &nuts->trajectory);
}

RpinnStatus rpinn_nuts_create(RpinnContext *context, const RpinnLogDensity *target,
                              const RpinnNutsOptions *options, RpinnNuts **nuts) {
  *nuts = NULL;
  RPINN_TRY(check_options(context, options));
  RPINN_TRY(rpinn_log_density_check(context, target));
  if (target->num_parameters == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no parameters to sample");
  if (target->num_parameters > INT32_MAX) /* what BLAS can count */
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu parameters are too many",
                      target->num_parameters);
  RpinnArena *arena = rpinn_arena_create();
  RpinnNuts *created = arena ? RPINN_ARENA_NEW(arena, RpinnNuts, 1) : NULL;
  if (created) created->arena = arena;
  if (!created || !fill(created, target, options)) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  *nuts = created;
  return RPINN_OK;
}

void rpinn_nuts_destroy(RpinnNuts *nuts) {
  if (nuts) rpinn_arena_destroy(nuts->arena);
}

/* ---- step size ---- */

/* One leapfrog with a fresh momentum: does it keep the energy well enough? */
static RpinnStatus try_step(RpinnNuts *nuts, bool *is_good) {
  RpinnTrajectory *trajectory = &nuts->trajectory;
  RpinnPhasePoint *end;
  rpinn_trajectory_refresh(trajectory);
  RPINN_TRY(rpinn_trajectory_leap(trajectory, trajectory->current, nuts->step, &end));
  *is_good = trajectory->current->energy - end->energy > search_threshold;
  rpinn_trajectory_clear(trajectory);
  return RPINN_OK;
}

/* Double while the acceptance of a leapfrog is above 0.8, or halve while it is below. */
static RpinnStatus search_step(RpinnContext *context, RpinnNuts *nuts) {
  bool grows, is_good;
  RPINN_TRY(try_step(nuts, &grows));
  for (;;) {
    RPINN_TRY(try_step(nuts, &is_good));
    if (is_good != grows) return RPINN_OK;
    nuts->step *= grows ? 2 : 0.5;
    if (nuts->step > largest_step)
      return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                        "the step size grew beyond %g and still kept the energy: the log density is flat, as "
                        "of an improper posterior",
                        largest_step);
    if (nuts->step == 0)
      return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                        "the step size shrank to 0 and still did not keep the energy: the gradient does not "
                        "belong to the log density, or is not continuous");
  }
}

/* ---- advance ---- */

RpinnStatus rpinn_nuts_start(RpinnContext *context, RpinnNuts *nuts, uint64_t seed, uint64_t chain,
                             const double *theta) {
  const RpinnPhasePoint *current;
  nuts->started = false;
  nuts->stream = rpinn_stream(seed, RPINN_PURPOSE_CHAIN, chain, 0);
  nuts->num_iterations = nuts->trajectory.num_leapfrogs = 0;
  nuts->step = nuts->options.first_step > 0 ? nuts->options.first_step : 1;
  rpinn_dual_averaging_restart(&nuts->averaging, nuts->step);
  rpinn_nuts_metric_reset(&nuts->metric);
  rpinn_context_clear_error(context);
  RPINN_TRY(
      rpinn_explain_failure(context, "target", "evaluate", rpinn_trajectory_place(&nuts->trajectory, theta)));
  current = nuts->trajectory.current;
  if (!isfinite(current->log_density))
    return rpinn_fail(context, RPINN_ERROR_NUMERIC, "the log density is %g at the start of chain %llu",
                      current->log_density, (unsigned long long)chain);
  for (size_t j = 0; j < nuts->metric.num_parameters; j++)
    if (!isfinite(current->gradient[j]))
      return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                        "the gradient of parameter %zu is %g at the start of chain %llu", j,
                        current->gradient[j], (unsigned long long)chain);
  nuts->started = true;
  return RPINN_OK;
}

static RpinnStatus adapt_metric(RpinnContext *context, RpinnNuts *nuts) {
  RPINN_TRY(rpinn_nuts_metric_update(context, &nuts->metric));
  RPINN_TRY(search_step(context, nuts));
  rpinn_dual_averaging_restart(&nuts->averaging, nuts->step);
  return RPINN_OK;
}

/* After warmup iteration number i. */
static RpinnStatus adapt(RpinnContext *context, RpinnNuts *nuts, size_t i, double acceptance) {
  if (i < nuts->num_step_iterations) nuts->step = rpinn_dual_averaging_learn(&nuts->averaging, acceptance);
  if (nuts->metric.kind != RPINN_METRIC_UNIT && rpinn_warmup_windows_collect(&nuts->windows, i)) {
    rpinn_nuts_metric_learn(&nuts->metric, nuts->trajectory.current->q);
    if (rpinn_warmup_windows_update(&nuts->windows, i)) RPINN_TRY(adapt_metric(context, nuts));
  }
  /* A step that was searched for in this very iteration has no average yet, and stays. */
  if (i + 1 == nuts->num_step_iterations && nuts->averaging.count > 0)
    nuts->step = rpinn_dual_averaging_step(&nuts->averaging);
  return RPINN_OK;
}

static void describe(const RpinnNuts *nuts, const RpinnTransition *transition, RpinnNutsDraw *draw) {
  const RpinnPhasePoint *current = nuts->trajectory.current;
  const RpinnNutsOptions *options = &nuts->options;
  bool is_warmup = nuts->num_iterations < options->num_warmup;
  size_t number = is_warmup ? nuts->num_iterations : nuts->num_iterations - options->num_warmup;
  bool is_kept = !is_warmup && (number + 1) % options->thin == 0;
  *draw = (RpinnNutsDraw){.is_warmup = is_warmup,
                          .is_kept = is_kept,
                          .index = is_kept ? number / options->thin : number,
                          .log_density = current->log_density,
                          .energy = current->energy,
                          .energy_error = transition->energy_error,
                          .max_energy_error = transition->max_energy_error,
                          .acceptance_rate = transition->acceptance_rate,
                          .step_size = nuts->step,
                          .tree_depth = transition->tree_depth,
                          .num_steps = transition->num_steps,
                          .diverging = transition->diverging,
                          .reached_max_depth = transition->reached_max_depth};
}

static RpinnStatus iterate(RpinnContext *context, RpinnNuts *nuts, RpinnNutsDraw *draw) {
  RpinnTransition transition;
  if (nuts->num_iterations == 0 && !(nuts->options.first_step > 0)) RPINN_TRY(search_step(context, nuts));
  RPINN_TRY(rpinn_trajectory_transition(&nuts->trajectory, nuts->step, &transition));
  describe(nuts, &transition, draw);
  if (draw->is_warmup) RPINN_TRY(adapt(context, nuts, draw->index, transition.acceptance_rate));
  draw->parameters = nuts->trajectory.current->q;
  nuts->num_iterations++;
  return RPINN_OK;
}

RpinnStatus rpinn_nuts_advance(RpinnContext *context, RpinnNuts *nuts, RpinnNutsDraw *draw) {
  if (!nuts->started)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the chain was not started, or has failed before");
  if (rpinn_nuts_finished(nuts))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the chain is finished: all %zu draws are made",
                      nuts->options.num_draws);
  rpinn_context_clear_error(context);
  RpinnStatus status = iterate(context, nuts, draw);
  if (status != RPINN_OK) nuts->started = false;
  return rpinn_explain_failure(context, "target", "evaluate", status);
}

/* ---- looking at a chain ---- */

bool rpinn_nuts_finished(const RpinnNuts *nuts) {
  return nuts->num_iterations >= nuts->options.num_warmup + nuts->options.num_draws * nuts->options.thin;
}

size_t rpinn_nuts_num_iterations(const RpinnNuts *nuts) {
  return nuts->num_iterations;
}

size_t rpinn_nuts_num_leapfrogs(const RpinnNuts *nuts) {
  return nuts->trajectory.num_leapfrogs;
}

const double *rpinn_nuts_inverse_metric(const RpinnNuts *nuts) {
  return nuts->metric.inverse;
}
