/* What a chain is made from: its options, and what it has of its own. */
#include <math.h>

#include "nuts_chain.h"
#include "target_check.h"

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
  if ((unsigned)options->turn > RPINN_TURN_PATH)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "turn is rule %d, expected that of the sum or of the path",
                      (int)options->turn);
  return RPINN_OK;
}

static RpinnStatus check_options(RpinnContext *context, const RpinnNutsOptions *o) {
  RPINN_TRY(check_counts(context, o));
  RPINN_TRY(check_number(context, "max_energy_error", o->max_energy_error, o->max_energy_error > 0,
                         "a number above 0 (1000 is usual)"));
  RPINN_TRY(check_number(context, "first_step", o->first_step,
                         o->first_step >= 0 && o->first_step <= RPINN_NUTS_LARGEST_STEP,
                         "0, to search for it, or a step up to 1e7"));
  if (o->small_step_every)
    RPINN_TRY(check_number(context, "small_step_factor", o->small_step_factor,
                           o->small_step_factor > 0 && o->small_step_factor < 1, "a number between 0 and 1"));
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

static bool fill(RpinnNuts *nuts, const RpinnBatchLogDensity *target, size_t member,
                 const RpinnNutsOptions *options) {
  nuts->options = *options;
  nuts->windows = rpinn_warmup_windows(options->num_warmup, options->window_start, options->window_base,
                                       options->window_end);
  nuts->num_step_iterations = (size_t)round(options->step_adaptation * (double)options->num_warmup);
  nuts->averaging = (RpinnDualAveraging){.target = options->target_acceptance,
                                         .gamma = options->gamma,
                                         .t0 = options->t0,
                                         .kappa = options->kappa};
  bool enough =
      rpinn_nuts_metric_create(nuts->arena, options->metric, target->num_parameters, &nuts->metric) &&
      rpinn_trajectory_create(nuts->arena, target, member, &nuts->metric, &nuts->stream, options->max_depth,
                              options->max_energy_error, &nuts->trajectory);
  nuts->trajectory.turns_by_path = options->turn == RPINN_TURN_PATH;
  return enough;
}

RpinnStatus rpinn_nuts_create_member(RpinnContext *context, const RpinnBatchLogDensity *target, size_t member,
                                     const RpinnNutsOptions *options, RpinnNuts **nuts) {
  *nuts = NULL;
  RPINN_TRY(check_options(context, options));
  RPINN_TRY(rpinn_batch_log_density_check(context, target));
  if (target->num_parameters == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no parameters to sample");
  if (target->num_parameters > INT32_MAX) /* what BLAS can count */
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu parameters are too many",
                      target->num_parameters);
  RpinnArena *arena = rpinn_arena_create();
  RpinnNuts *created = arena ? RPINN_ARENA_NEW(arena, RpinnNuts, 1) : NULL;
  if (created) created->arena = arena;
  if (!created || !fill(created, target, member, options)) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  RpinnStatus status = rpinn_trajectory_borrow(context, &created->trajectory);
  if (status == RPINN_OK)
    *nuts = created;
  else
    rpinn_nuts_destroy(created);
  return status;
}

RpinnStatus rpinn_nuts_create(RpinnContext *context, const RpinnLogDensity *target,
                              const RpinnNutsOptions *options, RpinnNuts **nuts) {
  RpinnBatchLogDensity batch = rpinn_log_density_as_batch(target);
  RPINN_TRY(rpinn_nuts_create_member(context, &batch, 0, options, nuts));
  (*nuts)->single = *target;
  (*nuts)->trajectory.target.data = &(*nuts)->single;
  return RPINN_OK;
}

void rpinn_nuts_destroy(RpinnNuts *nuts) {
  if (!nuts) return;
  rpinn_trajectory_return(&nuts->trajectory);
  rpinn_arena_destroy(nuts->arena);
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
