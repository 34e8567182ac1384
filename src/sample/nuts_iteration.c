/* The chain: transitions one after the other, and what warmup learns from them.
 *
 *   first iteration    a step size, searched for where none is given; then as all others
 *   warmup iteration   transition, step size from its acceptance, metric from its draw
 *   end of a window    new metric, so a new step: searched for, and averaged afresh around it
 *   end of adaptation  the averaged step, for good
 *
 * Each of these asks for one density at a time: nuts->phase says for which, and with the answer the chain goes on from
 * there. */
#include <float.h>
#include <math.h>

#include "nuts_chain.h"

/* log of the acceptance that the step size search brackets */
static const double search_threshold = -0.22314355131420976;

/* ---- the start ---- */

void rpinn_nuts_set_member(RpinnNuts *nuts, size_t member) {
  nuts->trajectory.request.member = member;
}

void rpinn_nuts_place(RpinnNuts *nuts, uint64_t seed, uint64_t chain, const double *theta) {
  nuts->started = false;
  nuts->phase = RPINN_NUTS_START;
  nuts->number = chain;
  nuts->stream = rpinn_stream(seed, RPINN_PURPOSE_CHAIN, chain, 0);
  nuts->num_iterations = nuts->trajectory.num_leapfrogs = 0;
  nuts->step = nuts->options.first_step > 0 ? nuts->options.first_step : 1;
  rpinn_dual_averaging_restart(&nuts->averaging, nuts->step);
  rpinn_nuts_metric_reset(&nuts->metric);
  rpinn_trajectory_place(&nuts->trajectory, theta);
}

static RpinnStatus take_first_metric(RpinnContext *context, RpinnNuts *nuts) {
  const RpinnNutsOptions *options = &nuts->options;
  if (options->inverse_metric && !rpinn_nuts_metric_take(&nuts->metric, options->inverse_metric))
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the inverse metric that is given is not finite or not positive definite");
  if (options->inverse_metric || options->num_first_points == 0) return RPINN_OK;
  for (size_t i = 0; i < options->num_first_points; i++)
    rpinn_nuts_metric_learn(&nuts->metric, options->first_points + i * nuts->metric.num_parameters);
  return rpinn_nuts_metric_update(context, &nuts->metric);
}

static RpinnStatus finish_start(RpinnContext *context, RpinnNuts *nuts) {
  const RpinnPhasePoint *current = nuts->trajectory.current;
  rpinn_trajectory_settle(&nuts->trajectory);
  if (!isfinite(current->log_density))
    return rpinn_fail(context, RPINN_ERROR_NUMERIC, "the log density is %g at the start of chain %llu",
                      current->log_density, (unsigned long long)nuts->number);
  for (size_t j = 0; j < nuts->metric.num_parameters; j++)
    if (!isfinite(current->gradient[j]))
      return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                        "the gradient of parameter %zu is %g at the start of chain %llu", j,
                        current->gradient[j], (unsigned long long)nuts->number);
  RPINN_TRY(take_first_metric(context, nuts));
  nuts->started = true;
  nuts->phase = RPINN_NUTS_AT_REST;
  return RPINN_OK;
}

/* ---- rounding ----
 *
 * A log density l comes with an error of some epsilon |l|. In float and at an energy of 10^6 that is as much as a leapfrog may lose:
 * steps that are made smaller for it become ever smaller, until nothing moves. Differences of that size are therefore nothing to the
 * step size. They stay what they are to the law of the chain. */

/* Units of rounding that a log density may be wrong by: those of PINNs in float have errors with a deviation of about 5. */
static const double rounding_units = 32;

/* What rounding may make of a difference of energies here; 0 where that would not bring a leapfrog below the threshold. */
static double rounding_of(const RpinnNuts *nuts) {
  double epsilon = nuts->trajectory.target.epsilon;
  double rounding =
      rounding_units * (epsilon > 0 ? epsilon : DBL_EPSILON) * fabs(nuts->trajectory.current->log_density);
  return rounding > -search_threshold ? rounding : 0;
}

/* Has adaptation halved the step five times, and more, from where it began, exp(mu)/10? */
static bool step_vanishes(const RpinnNuts *nuts) {
  return nuts->step < exp(nuts->averaging.mu) / 10 / 32;
}

/* ---- step size ---- */

/* One leapfrog with a fresh momentum. */
static void try_step(RpinnNuts *nuts) {
  rpinn_trajectory_refresh(&nuts->trajectory);
  rpinn_trajectory_leap(&nuts->trajectory, nuts->trajectory.current, nuts->step);
}

/* Did it keep the energy well enough? */
static bool judge_step(RpinnNuts *nuts) {
  RpinnTrajectory *trajectory = &nuts->trajectory;
  const RpinnPhasePoint *end = rpinn_trajectory_land(trajectory);
  double gain = trajectory->current->energy - end->energy;
  bool is_good = gain > search_threshold || fabs(gain) <= rounding_of(nuts);
  rpinn_trajectory_clear(trajectory);
  return is_good;
}

static RpinnStatus change_step(RpinnContext *context, RpinnNuts *nuts) {
  nuts->step *= nuts->grows ? 2 : 0.5;
  if (nuts->step > RPINN_NUTS_LARGEST_STEP)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the step size grew beyond %g and still kept the energy: the log density is flat, as "
                      "of an improper posterior",
                      RPINN_NUTS_LARGEST_STEP);
  if (nuts->step == 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the step size shrank to 0 and still did not keep the energy: the gradient does not "
                      "belong to the log density, or is not continuous");
  return RPINN_OK;
}

static void begin_search(RpinnNuts *nuts, RpinnNutsPhase phase) {
  nuts->phase = phase;
  nuts->has_tried = false;
  try_step(nuts);
}

/* Double while the acceptance of a leapfrog is above 0.8, or halve while it is below. *is_found: the step stays. */
static RpinnStatus search_on(RpinnContext *context, RpinnNuts *nuts, bool *is_found) {
  bool is_good = judge_step(nuts);
  *is_found = nuts->has_tried && is_good != nuts->grows;
  if (*is_found) return RPINN_OK;
  if (nuts->has_tried) RPINN_TRY(change_step(context, nuts));
  nuts->has_tried = true;
  nuts->grows = is_good;
  try_step(nuts);
  return RPINN_OK;
}

/* ---- an iteration ---- */

/* That of the iteration at hand. */
static double step_now(const RpinnNuts *nuts) {
  const RpinnNutsOptions *options = &nuts->options;
  bool is_small = options->small_step_every && nuts->num_iterations >= options->num_warmup &&
                  (nuts->num_iterations - options->num_warmup) % options->small_step_every == 0;
  return is_small ? nuts->step * options->small_step_factor : nuts->step;
}

static void begin_transition(RpinnNuts *nuts) {
  nuts->phase = RPINN_NUTS_TRANSITION;
  rpinn_trajectory_set_out(&nuts->trajectory, step_now(nuts), step_vanishes(nuts) ? rounding_of(nuts) : 0);
}

static RpinnNutsDraw describe(const RpinnNuts *nuts, const RpinnTransition *transition) {
  const RpinnPhasePoint *current = nuts->trajectory.current;
  const RpinnNutsOptions *options = &nuts->options;
  bool is_warmup = nuts->num_iterations < options->num_warmup;
  size_t number = is_warmup ? nuts->num_iterations : nuts->num_iterations - options->num_warmup;
  bool is_kept = !is_warmup && (number + 1) % options->thin == 0;
  return (RpinnNutsDraw){.is_warmup = is_warmup,
                         .is_kept = is_kept,
                         .index = is_kept ? number / options->thin : number,
                         .parameters = current->q,
                         .log_density = current->log_density,
                         .energy = current->energy,
                         .energy_error = transition->energy_error,
                         .max_energy_error = transition->max_energy_error,
                         .acceptance_rate = transition->acceptance_rate,
                         .step_size = step_now(nuts),
                         .tree_depth = transition->tree_depth,
                         .num_steps = transition->num_steps,
                         .diverging = transition->diverging,
                         .reached_max_depth = transition->reached_max_depth};
}

/* The last warmup iteration that adapts the step leaves its average. A step that was searched for in this very iteration has
 * no average yet, and stays. */
static void finish_iteration(RpinnNuts *nuts) {
  if (nuts->draw.is_warmup && nuts->num_iterations + 1 == nuts->num_step_iterations &&
      nuts->averaging.count > 0)
    nuts->step = rpinn_dual_averaging_step(&nuts->averaging);
  nuts->num_iterations++;
  nuts->phase = RPINN_NUTS_AT_REST;
}

/* After a warmup iteration. */
static RpinnStatus adapt(RpinnContext *context, RpinnNuts *nuts) {
  size_t i = nuts->num_iterations;
  if (i < nuts->num_step_iterations)
    nuts->step = rpinn_dual_averaging_learn(&nuts->averaging, nuts->draw.acceptance_rate);
  if (nuts->metric.kind == RPINN_METRIC_UNIT || nuts->options.inverse_metric ||
      !rpinn_warmup_windows_collect(&nuts->windows, i))
    return RPINN_OK;
  rpinn_nuts_metric_learn(&nuts->metric, nuts->trajectory.current->q);
  if (!rpinn_warmup_windows_update(&nuts->windows, i)) return RPINN_OK;
  RPINN_TRY(rpinn_nuts_metric_update(context, &nuts->metric));
  begin_search(nuts, RPINN_NUTS_METRIC_STEP);
  return RPINN_OK;
}

static RpinnStatus finish_transition(RpinnContext *context, RpinnNuts *nuts) {
  RpinnTransition transition = rpinn_trajectory_arrive(&nuts->trajectory);
  nuts->draw = describe(nuts, &transition);
  if (nuts->draw.is_warmup) RPINN_TRY(adapt(context, nuts));
  if (nuts->phase == RPINN_NUTS_TRANSITION) finish_iteration(nuts);
  return RPINN_OK;
}

static RpinnStatus go_on_with_search(RpinnContext *context, RpinnNuts *nuts) {
  bool is_found;
  RPINN_TRY(search_on(context, nuts, &is_found));
  if (!is_found) return RPINN_OK;
  if (nuts->phase == RPINN_NUTS_FIRST_STEP) {
    begin_transition(nuts);
    return RPINN_OK;
  }
  rpinn_dual_averaging_restart(&nuts->averaging, nuts->step);
  finish_iteration(nuts);
  return RPINN_OK;
}

static RpinnStatus go_on_with_transition(RpinnContext *context, RpinnNuts *nuts) {
  return rpinn_trajectory_go_on(&nuts->trajectory) ? RPINN_OK : finish_transition(context, nuts);
}

/* ---- one request at a time ---- */

RpinnStatus rpinn_nuts_set_out(RpinnContext *context, RpinnNuts *nuts) {
  if (!nuts->started)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the chain was not started, or has failed before");
  if (rpinn_nuts_finished(nuts))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the chain is finished: all %zu draws are made",
                      nuts->options.num_draws);
  if (nuts->phase != RPINN_NUTS_AT_REST) return RPINN_OK;
  if (nuts->num_iterations == 0 && !(nuts->options.first_step > 0))
    begin_search(nuts, RPINN_NUTS_FIRST_STEP);
  else
    begin_transition(nuts);
  return RPINN_OK;
}

RpinnRequest *rpinn_nuts_request(RpinnNuts *nuts) {
  return nuts->phase == RPINN_NUTS_AT_REST ? NULL : &nuts->trajectory.request;
}

RpinnStatus rpinn_nuts_go_on(RpinnContext *context, RpinnNuts *nuts) {
  RpinnStatus status = RPINN_OK;
  switch (nuts->phase) {
  case RPINN_NUTS_AT_REST: break;
  case RPINN_NUTS_START: status = finish_start(context, nuts); break;
  case RPINN_NUTS_TRANSITION: status = go_on_with_transition(context, nuts); break;
  case RPINN_NUTS_FIRST_STEP:
  case RPINN_NUTS_METRIC_STEP: status = go_on_with_search(context, nuts); break;
  }
  if (status != RPINN_OK) rpinn_nuts_give_up(nuts);
  return status;
}

void rpinn_nuts_give_up(RpinnNuts *nuts) {
  nuts->started = false;
  nuts->phase = RPINN_NUTS_AT_REST;
}
