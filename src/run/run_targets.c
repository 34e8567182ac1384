#include "run_targets.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linearisation.h"
#include "maker.h"
#include "member_statistics.h"
#include "shard_record.h"
#include "unknown_noise.h"

void rpinn_run_target_draw_noise(const RpinnRunTarget *target, uint64_t member, uint32_t attempt,
                                 double *eta) {
  const RpinnPosterior *posterior = target->slots->posterior;
  RpinnStream stream =
      rpinn_stream(posterior->seed, RPINN_PURPOSE_NOISE_LEVEL, rpinn_run_stream_member(member, attempt), 0);
  if (target->noise)
    rpinn_noise_posterior_draw(target->noise, &stream, eta);
  else
    memcpy(eta, posterior->eta, posterior->num_noises * sizeof *eta);
}

const double *rpinn_run_target_noise(const RpinnMemberTarget *target, size_t slot) {
  return ((const RpinnRunTarget *)target->data)->slots->slots[slot].eta;
}

/* A member with offsets has noise and a prior of its own, too, where the noise is not known or scales are integrated over. */
static const double *take_slot(void *data, size_t slot, uint64_t member, uint32_t attempt,
                               bool with_offsets) {
  const RpinnRunTarget *target = data;
  RpinnMemberSlots *slots = target->slots;
  RpinnMemberSlot *own = &slots->slots[slot];
  uint64_t stream = rpinn_run_stream_member(member, attempt);
  rpinn_member_slot_clear(slots, slot);
  if (!with_offsets) return NULL;
  if (target->noise) {
    rpinn_run_target_draw_noise(target, member, attempt, target->eta);
    rpinn_member_slot_take_noise(slots, slot, target->eta);
  }
  rpinn_posterior_draw_offsets(slots->posterior, stream, own->offsets);
  rpinn_member_slot_take_scale(slots, slot, rpinn_posterior_start_scale(slots->posterior, stream));
  own->has_offsets = true;
  return own->offsets;
}

/* A draw from the prior: the member's own prior mean where the method has offsets. Parameters without a prior begin as
 * with glorot. */
static void start_from_prior(const RpinnRunTarget *target, size_t slot, uint64_t stream, double *theta) {
  const RpinnPosterior *posterior = target->slots->posterior;
  const RpinnEnergyModel *model = &posterior->model;
  const RpinnMemberSlot *own = &target->slots->slots[slot];
  const double *root = own->prior_root ? own->prior_root : model->prior_root;
  if (!own->has_offsets) rpinn_posterior_draw_offsets(posterior, stream, own->offsets);
  rpinn_posterior_start_glorot(posterior, stream, theta);
  for (size_t j = 0; j < model->num_parameters; j++)
    if (root[j] > 0) theta[j] = model->prior_mean[j] + own->offsets[model->num_rows + j] / root[j];
}

static RpinnStatus draw_start(void *data, size_t slot, uint64_t member, uint32_t attempt, double *theta) {
  const RpinnRunTarget *target = data;
  const RpinnPosterior *posterior = target->slots->posterior;
  size_t N = posterior->model.num_parameters;
  bool zero_then_normal = target->start == RPINN_START_ZERO_THEN_NORMAL;
  if (target->num_given)
    memcpy(theta, target->given + member % target->num_given * N, N * sizeof *theta);
  else if (target->start == RPINN_START_ZERO || (zero_then_normal && member == 0))
    rpinn_posterior_start_zero(posterior, theta);
  else if (target->start == RPINN_START_NORMAL || zero_then_normal)
    rpinn_posterior_start_normal(posterior, rpinn_run_stream_member(member, attempt), theta);
  else if (target->start == RPINN_START_PRIOR || target->start == RPINN_START_MEMBER)
    start_from_prior(target, slot, rpinn_run_stream_member(member, attempt), theta);
  else
    rpinn_posterior_start_glorot(posterior, rpinn_run_stream_member(member, attempt), theta);
  return RPINN_OK;
}

static RpinnStatus open_double(RpinnContext *context, void *data, const RpinnBatchObjective **objective,
                               const RpinnBatchLeastSquares **squares) {
  const RpinnMemberSlots *slots;
  RPINN_TRY(rpinn_member_slots_open_double(context, ((RpinnRunTarget *)data)->slots, &slots));
  *objective = &slots->objective;
  *squares = &slots->squares;
  return RPINN_OK;
}

void rpinn_run_give_starts(const RpinnDriver *driver, const RpinnMemberTarget *targets, size_t count,
                           const double *starts) {
  for (size_t i = 0; i < driver->num_threads; i++) {
    RpinnRunTarget *own = targets[i].data;
    own->num_given = count;
    own->given = starts;
  }
}

/* The members of an earlier run, or the last draws of its chains, as starts. */
typedef struct Earlier {
  RpinnContext *context;
  const char *folder;
  size_t num_parameters, num_drawn; /* taken of a draw, and those that it has */
  size_t count, limit;
  bool has_chains;
  uint64_t chain; /* of the last draw taken */
  double *starts; /* [limit][num_parameters] */
} Earlier;

static RpinnStatus take_earlier(void *user, const RpinnVisitedDraw *draw) {
  Earlier *earlier = user;
  const RpinnStoredMember *member = draw->stored;
  if (earlier->has_chains && earlier->count && draw->chain == earlier->chain)
    earlier->count--; /* a later draw of the same chain takes its place */
  if (member->failed || earlier->count == earlier->limit) return RPINN_OK;
  earlier->chain = draw->chain;
  if (member->num_parameters != earlier->num_parameters && member->num_parameters != earlier->num_drawn)
    return rpinn_fail_at(earlier->context, (RpinnPlace){.file = earlier->folder},
                         "the members of this run have %zu parameters; expected %zu, those of the problem",
                         member->num_parameters, earlier->num_drawn);
  memcpy(earlier->starts + earlier->count++ * earlier->num_parameters, member->parameters,
         earlier->num_parameters * sizeof(double));
  return RPINN_OK;
}

static RpinnStatus read_starts(const RpinnRun *run, RpinnMemberStore *store, Earlier *earlier) {
  RpinnDrawPlan plan = rpinn_all_members;
  uint64_t finished, failed;
  bool has_chain;
  RPINN_TRY(rpinn_member_store_has(earlier->context, store, rpinn_chain_draw_key(0, false, 0), &has_chain));
  if (has_chain)
    plan = (RpinnDrawPlan){.has_chains = true, .num_chains = RPINN_MAX_CHAINS, .num_draws = INT64_MAX};
  RPINN_TRY(rpinn_member_store_count(earlier->context, store,
                                     (RpinnStoreRange){0, rpinn_all_members.num_draws}, &finished, &failed));
  if (finished == failed)
    return rpinn_fail_at(earlier->context, (RpinnPlace){.file = earlier->folder},
                         "this run has no members to start from");
  uint64_t wanted = rpinn_draw_plan_num_starts(&run->plan);
  earlier->has_chains = plan.has_chains;
  earlier->limit = (size_t)(finished - failed < wanted ? finished - failed : wanted);
  earlier->starts =
      RPINN_ARENA_NEW(run->posteriors[0]->arena, double, earlier->limit * earlier->num_parameters);
  if (!earlier->starts) return rpinn_fail_memory(earlier->context);
  return rpinn_draw_store_visit(earlier->context, store, &plan, false, take_earlier, earlier);
}

/* Where the draws of the run to start from are. */
static RpinnStatus find_earlier(RpinnContext *context, const char *folder, char path[RPINN_PATH_SIZE]) {
  struct stat info;
  if (snprintf(path, RPINN_PATH_SIZE, "%s/checkpoint.db", folder) >= RPINN_PATH_SIZE)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the path of the run to start from is too long");
  if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
    return rpinn_setting_fail_value(context, RPINN_SETTING_START, folder, (RpinnPlace){.file = "--start"});
  if (access(path, F_OK) == 0) return rpinn_refuse_shard(context, folder);
  return rpinn_fail_at(
      context, (RpinnPlace){.file = folder},
      "this folder holds no run to start from; expected checkpoint.db, which rpinn run writes");
}

static RpinnStatus start_from_run(RpinnContext *context, const RpinnDriver *driver, const char *folder,
                                  const RpinnMemberTarget *targets) {
  const RpinnRun *run = driver->run;
  char path[RPINN_PATH_SIZE];
  RpinnMemberStore *store;
  Earlier earlier = {.context = context,
                     .folder = folder,
                     .num_parameters = targets[0].num_parameters,
                     .num_drawn = rpinn_posterior_num_drawn(run->posteriors[0])};
  RPINN_TRY(find_earlier(context, folder, path));
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = read_starts(run, store, &earlier);
  rpinn_member_store_close(store);
  RPINN_TRY(status);
  rpinn_run_give_starts(driver, targets, earlier.count, earlier.starts);
  return RPINN_OK;
}

/* Continuing draws is for methods whose draws have a place in the posterior to begin with. */
static RpinnStatus check_correction(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnSettingsValues *settings = &driver->run->problem->settings;
  bool is_continued = rpinn_settings_choice(settings, RPINN_SETTING_CORRECT) == RPINN_CORRECTION_NUTS,
       has_scale = !settings->values[RPINN_SETTING_CORRECT_SCALE].is_auto;
  if (has_scale && !is_continued)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "correct_scale is the prior's scale of members that --correct nuts continues, and "
                      "correct is %s; expected --correct nuts, or --correct-scale auto",
                      settings->values[RPINN_SETTING_CORRECT].text);
  if (has_scale && driver->run->posteriors[0]->sigmas.integrates)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "correct_scale gives all members one scale to begin with, and with prior_integrate "
                      "each draws its own; expected one of the two");
  if (!is_continued || driver->run->method->can_be_continued) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "correct nuts continues the members of method rpinn, and the method is %s; expected "
                    "--correct none, or --method rpinn",
                    settings->values[RPINN_SETTING_METHOD].text);
}

/* A scale that is still to be chosen will be finite. */
static RpinnStatus check_prior(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  const RpinnPosterior *posterior = run->posteriors[0];
  if (posterior->sigmas.integrates && !run->method->has_offsets)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "prior_integrate draws a scale for every member of method rpinn, and method %s has one "
                      "prior for all draws; expected --prior-integrate no",
                      run->problem->settings.values[RPINN_SETTING_METHOD].text);
  bool is_given = posterior->sigmas.rule == RPINN_SCALE_GIVEN;
  if (!driver->maker->needs_prior) return RPINN_OK;
  for (size_t j = is_given ? 0 : posterior->model.unknown_start; j < posterior->model.num_parameters; j++)
    if (!(posterior->model.prior_root[j] > 0))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "method %s needs a prior on every parameter, and %s no prior; expected a finite "
                        "scale, such as --prior-scale 1",
                        run->problem->settings.values[RPINN_SETTING_METHOD].text,
                        j < posterior->model.unknown_start ? "networks have" : "an unknown has");
  return RPINN_OK;
}

/* Linearised posteriors, one for each thread while a scale is chosen, in the memory that the machine has. */
static RpinnStatus check_linearisation(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  const RpinnPosterior *posterior = run->posteriors[0];
  bool chooses = posterior->sigmas.rule != RPINN_SCALE_GIVEN;
  if (!chooses && !driver->maker->linearises) return RPINN_OK;
  double M = (double)posterior->model.num_rows, N = (double)posterior->model.num_parameters,
         machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE),
         bytes = rpinn_linearisation_bytes(M, N) * (chooses ? (double)driver->num_threads : 1);
  if (!(machine > 0) || bytes <= machine) return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_UNSUPPORTED,
      "%s linearises %.0f rows in %.0f parameters, which takes %.0f GB of memory, and the machine "
      "has %.0f GB; expected %sfewer points or smaller networks",
      chooses ? "the choice of the prior's scale" : "this method", M, N, bytes * 1e-9, machine * 1e-9,
      chooses ? "a scale, such as --prior-scale 1, fewer --threads, " : "");
}

RpinnStatus rpinn_run_targets_make(RpinnContext *context, RpinnDriver *driver, RpinnMemberTarget **targets) {
  RpinnRun *run = driver->run;
  RpinnStart start = (RpinnStart)rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_START);
  RPINN_TRY(driver->maker->check_settings(context, run->problem));
  RPINN_TRY(check_correction(context, driver));
  RPINN_TRY(check_prior(context, driver));
  RPINN_TRY(check_linearisation(context, driver));
  *targets = RPINN_ARENA_NEW(run->posteriors[0]->arena, RpinnMemberTarget, driver->num_threads);
  if (!*targets) return rpinn_fail_memory(context);
  for (size_t i = 0; i < driver->num_threads; i++) {
    RpinnPosterior *posterior = run->posteriors[i];
    RpinnRunTarget *own = RPINN_ARENA_NEW(posterior->arena, RpinnRunTarget, 1);
    if (!own) return rpinn_fail_memory(context);
    *own = (RpinnRunTarget){.eta = RPINN_ARENA_NEW(posterior->arena, double, posterior->num_noises + 1),
                            .start = start};
    if (!own->eta) return rpinn_fail_memory(context);
    RPINN_TRY(rpinn_member_slots_create(context, posterior, &own->slots));
    (*targets)[i] = (RpinnMemberTarget){
        .num_parameters = posterior->model.num_parameters,
        .num_slots = own->slots->count,
        .has_offsets = run->method->has_offsets,
        .data = own,
        .objective = &own->slots->objective,
        .squares = &own->slots->squares,
        .take_slot = take_slot,
        .draw_start = draw_start,
        .open_double = posterior->precision == RPINN_PRECISION_DOUBLE ? NULL : open_double};
  }
  bool begins_draws = rpinn_shard_size(driver->shard, rpinn_draw_plan_num_starts(&run->plan)) > 0;
  if (start != RPINN_START_RUN || !begins_draws) return RPINN_OK;
  return start_from_run(context, driver, run->problem->settings.values[RPINN_SETTING_START].text, *targets);
}

RpinnMinimizeOptions rpinn_run_minimize_options(const RpinnProblem *problem) {
  const RpinnSettingsValues *settings = &problem->settings;
  RpinnAdamRule adam = rpinn_adam_default_options().rule;
  adam.learning_rate = settings->values[RPINN_SETTING_LEARNING_RATE].number;
  adam.decay_rate = settings->values[RPINN_SETTING_DECAY_RATE].number;
  adam.decay_steps = settings->values[RPINN_SETTING_DECAY_STEPS].number;
  bool own_window = !settings->values[RPINN_SETTING_PROGRESS_WINDOW].is_auto;
  return (RpinnMinimizeOptions){
      .minimizer = (RpinnMinimizer)rpinn_settings_choice(settings, RPINN_SETTING_OPTIMIZER),
      .iterations = (size_t)settings->values[RPINN_SETTING_ITERATIONS].number,
      .adam = adam,
      .gradient_tolerance = settings->values[RPINN_SETTING_GRADIENT_TOLERANCE].number,
      .progress_tolerance = settings->values[RPINN_SETTING_PROGRESS_TOLERANCE].number,
      .progress_amount = settings->values[RPINN_SETTING_PROGRESS_AMOUNT].number,
      .momentum = rpinn_settings_choice(settings, RPINN_SETTING_MOMENTUM) == RPINN_MOMENTUM_KEPT,
      .acceleration =
          rpinn_settings_choice(settings, RPINN_SETTING_ACCELERATION) == RPINN_ACCELERATION_GEODESIC,
      .progress_window = own_window ? (size_t)settings->values[RPINN_SETTING_PROGRESS_WINDOW].number : 0};
}
