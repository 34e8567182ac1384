#include "run_targets.h"

#include <math.h>
#include <string.h>

/* Every attempt of a member has streams of its own. */
static uint64_t stream_member(uint64_t member, uint32_t attempt) {
  return member | (uint64_t)attempt << 48;
}

static void draw_offsets(void *data, uint64_t member, uint32_t attempt, double *offsets) {
  const RpinnRunTarget *target = data;
  rpinn_posterior_draw_offsets(target->posterior, stream_member(member, attempt), offsets);
}

static RpinnStatus draw_start(void *data, uint64_t member, uint32_t attempt, const double *offsets,
                              double *theta) {
  const RpinnRunTarget *target = data;
  if (!strcmp(target->start, "zero"))
    rpinn_posterior_start_zero(target->posterior, theta);
  else if (!strcmp(target->start, "prior"))
    rpinn_posterior_start_prior(target->posterior, offsets, theta);
  else if (target->map)
    memcpy(theta, target->map, target->posterior->model.num_parameters * sizeof *theta);
  else
    rpinn_posterior_start_glorot(target->posterior, stream_member(member, attempt), theta);
  return RPINN_OK;
}

static const RpinnObjective *objective_with(void *data, const double *offsets) {
  RpinnRunTarget *target = data;
  target->member = (RpinnPosteriorMember){target->posterior, offsets};
  target->objective = rpinn_posterior_objective(&target->member);
  return &target->objective;
}

static RpinnStatus loss_parts(void *data, const double *theta, const double *offsets, double *loss,
                              double *parts, double *gradient_norm) {
  RpinnRunTarget *target = data;
  double sum = 0;
  RPINN_TRY(rpinn_posterior_energy(target->posterior, theta, offsets, loss, target->gradient, parts));
  for (size_t j = 0; j < target->posterior->model.num_parameters; j++)
    sum += target->gradient[j] * target->gradient[j];
  *gradient_norm = sqrt(sum);
  return RPINN_OK;
}

static RpinnStatus check_start(RpinnContext *context, const RpinnRun *run, const char *start) {
  bool is_prior = !strcmp(start, "prior"), is_map = !strcmp(start, "map");
  if (is_prior && run->method != RPINN_METHOD_RPINN)
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "start prior is the drawn prior mean, which only method rpinn has; expected glorot, map or zero");
  if (is_map && run->method == RPINN_METHOD_MAP)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "method map cannot start from its own result; expected glorot or zero");
  if (is_prior || is_map || !strcmp(start, "glorot") || !strcmp(start, "zero")) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                    "start '%s' is not in this version; expected glorot, prior, map or zero", start);
}

/* The minimiser of the energy without offsets, from member 0's Glorot start: made anew in every session, and
 * the same in each. */
static RpinnStatus find_map(RpinnContext *context, const RpinnMemberTarget *target, RpinnRunTarget *own,
                            double *map) {
  RpinnMemberTarget plain = *target;
  RpinnMinimizeOptions options = rpinn_run_minimize_options(own->posterior->problem);
  RpinnMember *member;
  RpinnMemberOutcome outcome = {0};
  plain.draw_offsets = NULL;
  RPINN_TRY(rpinn_member_create(context, &plain, &options, 0, &member));
  RpinnStatus status = rpinn_member_begin(context, member, 0, NULL, 0);
  while (status == RPINN_OK && !outcome.finished)
    status = rpinn_member_advance(context, member, 1000, &outcome);
  if (status == RPINN_OK && outcome.failed)
    status = rpinn_fail(context, RPINN_ERROR_NUMERIC, "the MAP estimate to start from is not finite");
  if (status == RPINN_OK) memcpy(map, outcome.theta, target->num_parameters * sizeof *map);
  rpinn_member_destroy(member);
  return status;
}

static RpinnStatus start_from_map(RpinnContext *context, const RpinnRun *run,
                                  const RpinnMemberTarget *targets) {
  RpinnRunTarget *first = targets[0].data;
  double *map = RPINN_ARENA_NEW(run->posteriors[0]->arena, double, targets[0].num_parameters);
  if (!map) return rpinn_fail_memory(context);
  RPINN_TRY(find_map(context, &targets[0], first, map));
  for (size_t i = 0; i < run->num_threads; i++) ((RpinnRunTarget *)targets[i].data)->map = map;
  return RPINN_OK;
}

RpinnStatus rpinn_run_targets_make(RpinnContext *context, RpinnRun *run, RpinnMemberTarget **targets) {
  const char *start = run->problem->settings.values[RPINN_SETTING_START].text;
  RPINN_TRY(check_start(context, run, start));
  *targets = RPINN_ARENA_NEW(run->posteriors[0]->arena, RpinnMemberTarget, run->num_threads);
  if (!*targets) return rpinn_fail_memory(context);
  for (size_t i = 0; i < run->num_threads; i++) {
    RpinnPosterior *posterior = run->posteriors[i];
    RpinnRunTarget *own = RPINN_ARENA_NEW(posterior->arena, RpinnRunTarget, 1);
    if (!own) return rpinn_fail_memory(context);
    *own = (RpinnRunTarget){.posterior = posterior,
                            .squares = rpinn_posterior_least_squares(posterior),
                            .gradient =
                                RPINN_ARENA_NEW(posterior->arena, double, posterior->model.num_parameters),
                            .start = start};
    if (!own->gradient) return rpinn_fail_memory(context);
    (*targets)[i] =
        (RpinnMemberTarget){.num_parameters = posterior->model.num_parameters,
                            .num_rows = posterior->model.num_rows,
                            .data = own,
                            .draw_offsets = run->method == RPINN_METHOD_RPINN ? draw_offsets : NULL,
                            .draw_start = draw_start,
                            .objective = objective_with,
                            .squares = &own->squares,
                            .num_parts = posterior->model.num_terms + 1,
                            .loss_parts = loss_parts};
  }
  return strcmp(start, "map") == 0 ? start_from_map(context, run, *targets) : RPINN_OK;
}

RpinnMinimizeOptions rpinn_run_minimize_options(const RpinnProblem *problem) {
  const RpinnSettingsValues *settings = &problem->settings;
  RpinnAdamRule adam = rpinn_adam_default_options().rule;
  adam.learning_rate = settings->values[RPINN_SETTING_LEARNING_RATE].number;
  adam.decay_rate = settings->values[RPINN_SETTING_DECAY_RATE].number;
  adam.decay_steps = settings->values[RPINN_SETTING_DECAY_STEPS].number;
  bool own_window = !settings->values[RPINN_SETTING_PROGRESS_WINDOW].is_auto;
  return (RpinnMinimizeOptions){
      .minimizer = (RpinnMinimizer)(int)settings->values[RPINN_SETTING_OPTIMIZER].number,
      .iterations = (size_t)settings->values[RPINN_SETTING_ITERATIONS].number,
      .adam = adam,
      .gradient_tolerance = settings->values[RPINN_SETTING_GRADIENT_TOLERANCE].number,
      .progress_tolerance = settings->values[RPINN_SETTING_PROGRESS_TOLERANCE].number,
      .progress_window = own_window ? (size_t)settings->values[RPINN_SETTING_PROGRESS_WINDOW].number : 0};
}
