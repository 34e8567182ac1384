#include "correction_pilot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nested_rhat.h"
#include "number_text.h"
#include "nuts_chain.h"
#include "run_continuations.h"
#include "run_targets.h"
#include "unknown_noise.h"

enum {
  FEWEST_MEMBERS = 4, /* with which anything can be said of how members differ */
  FEWEST_POINTS = 10, /* whose spread is a metric to begin with */
  CONTINUATIONS = 2,  /* of each member, in the last stage */
  METRIC_ITERATIONS = 100,
  METRIC_WINDOW = 20, /* before the first window, in it, and behind the last */
  STEP_ITERATIONS = 50,
  FIRST_LENGTH = 4,
  MAX_WATCHED_POINTS = 64,
  MAX_WATCHED_SCALARS = 32,
  MAX_WATCHED = 1 + MAX_WATCHED_POINTS + MAX_WATCHED_SCALARS
};

typedef struct Pilot {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run; /* the driver's */
  const RpinnMemberTarget *targets;
  size_t num_members; /* that did not fail */
  size_t num_drawn;
  double *starts; /* [num_members][num_drawn] */
  RpinnContinuedChain chains[CONTINUATIONS * RPINN_PILOT_MEMBERS];
  size_t watched[MAX_WATCHED];
  size_t num_watched;
  RpinnRunProgress progress;
  RpinnContinuations work; /* the chains of a stage */
} Pilot;

/* ---- in the store ---- */

static RpinnStatus drop_state(RpinnContext *context, RpinnRun *run, uint64_t key) {
  return rpinn_member_store_drop(context, run->store, (RpinnStoreRange){key, key + 1});
}

/* What was found so far, or for good. */
static RpinnStatus save(RpinnContext *context, RpinnRun *run) {
  bool is_done = run->correction.stage == RPINN_PILOT_DONE;
  uint64_t found = rpinn_correction_state_key(), under_way = rpinn_pilot_progress_key();
  char seconds[64];
  void *state;
  size_t size;
  rpinn_format(seconds, sizeof seconds, "%.6f", run->correction.pilot_seconds);
  run->correction.pilot_seconds = rpinn_number_read(seconds, NULL); /* as the next reader will see it */
  RPINN_TRY(rpinn_member_store_set_text(context, run->store, RPINN_PILOT_SECONDS_KEY, seconds));
  RPINN_TRY(rpinn_run_pack_correction(context, run, &state, &size));
  RpinnStatus status =
      rpinn_member_store_put_state(context, run->store, is_done ? found : under_way, state, size);
  free(state);
  if (status == RPINN_OK) status = drop_state(context, run, is_done ? under_way : found);
  return status == RPINN_OK ? rpinn_member_store_flush(context, run->store) : status;
}

/* ---- members ---- */

static RpinnStatus take_member(void *user, const RpinnVisitedDraw *draw) {
  Pilot *pilot = user;
  if (draw->stored->failed) return RPINN_OK;
  if (draw->stored->num_parameters != pilot->num_drawn)
    return rpinn_fail_at(pilot->context, (RpinnPlace){.file = pilot->run->folder},
                         "the members of this run do not belong to its run.yaml");
  memcpy(pilot->starts + pilot->num_members++ * pilot->num_drawn, draw->stored->parameters,
         pilot->num_drawn * sizeof(double));
  return RPINN_OK;
}

static RpinnStatus take_members(Pilot *pilot) {
  RpinnDrawPlan first = {.num_chains = 1, .num_draws = RPINN_PILOT_MEMBERS};
  pilot->starts = malloc(RPINN_PILOT_MEMBERS * pilot->num_drawn * sizeof *pilot->starts);
  if (!pilot->starts) return rpinn_fail_memory(pilot->context);
  RPINN_TRY(rpinn_draw_store_visit(pilot->context, pilot->run->store, &first, false, take_member, pilot));
  if (pilot->num_members >= FEWEST_MEMBERS) return RPINN_OK;
  return rpinn_fail(
      pilot->context, RPINN_ERROR_NUMERIC,
      "the pilot of --correct nuts needs %d members that are finite, and %zu of the first %d are",
      FEWEST_MEMBERS, pilot->num_members, RPINN_PILOT_MEMBERS);
}

/* ---- the chains of a stage ---- */

/* Chain c continues member c / per_member, by a random stream of the stage. */
static RpinnStatus run_chains(Pilot *pilot, size_t per_member, const RpinnNutsOptions *nuts) {
  RpinnContinuations *work = &pilot->work;
  RpinnRun *run = pilot->run;
  RpinnStatus status = RPINN_OK;
  work->num_chains = per_member * pilot->num_members;
  work->options.nuts = *nuts;
  for (size_t c = 0; c < work->num_chains; c++) {
    pilot->chains[c] = (RpinnContinuedChain){.key = rpinn_pilot_state_key(c),
                                             .stream = (uint64_t)(1 + run->correction.stage) << 40 | c,
                                             .scale = run->posteriors[0]->sigmas.prior,
                                             .start = pilot->starts + c / per_member * pilot->num_drawn};
    if (status == RPINN_OK)
      status = rpinn_member_store_get_state(pilot->context, run->store, pilot->chains[c].key,
                                            &pilot->chains[c].state, &pilot->chains[c].state_size);
  }
  pilot->progress.total =
      pilot->progress.iterations + work->num_chains * (nuts->num_warmup + nuts->num_draws);
  if (status == RPINN_OK) status = rpinn_run_continuations(pilot->context, work);
  for (size_t c = 0; c < work->num_chains; c++) free(pilot->chains[c].state);
  pilot->driver->interrupted = work->is_interrupted;
  pilot->driver->out_of_time = work->is_out_of_time;
  return status;
}

static bool is_stopped(const Pilot *pilot) {
  return pilot->driver->interrupted || pilot->driver->out_of_time;
}

/* Every chain of the stage as it was saved last; with_cost: what it has cost joins the pilot's. */
static RpinnStatus look_at_chains(Pilot *pilot, bool with_cost, void *user,
                                  void (*look)(void *user, size_t chain, const RpinnNuts *nuts,
                                               const double *account)) {
  const RpinnRunTarget *target = pilot->targets[0].data;
  RpinnMemberCorrection *correction = &pilot->run->correction;
  double account[RPINN_NUM_ACCOUNTS + 2 * MAX_WATCHED];
  RpinnNuts *nuts;
  RPINN_TRY(
      rpinn_nuts_create_member(pilot->context, &target->slots->density, 0, &pilot->work.options.nuts, &nuts));
  RpinnStatus status = RPINN_OK;
  for (size_t c = 0; c < pilot->work.num_chains && status == RPINN_OK; c++) {
    void *state = NULL;
    size_t size = 0;
    status = rpinn_member_store_get_state(pilot->context, pilot->run->store, rpinn_pilot_state_key(c), &state,
                                          &size);
    if (status == RPINN_OK)
      status = rpinn_continuation_restore(pilot->context, nuts, pilot->work.options.num_watched, state, size,
                                          account);
    free(state);
    if (status != RPINN_OK) break;
    look(user, c, nuts, account);
    if (!with_cost) continue;
    correction->pilot_gradients += (double)rpinn_nuts_num_leapfrogs(nuts) + 1;
    correction->pilot_seconds += account[RPINN_ACCOUNT_SECONDS];
  }
  rpinn_nuts_destroy(nuts);
  return status;
}

/* Chains of the stage are no longer needed. They go first: those of another stage must not be found in the next. */
static RpinnStatus finish_stage(Pilot *pilot) {
  RPINN_TRY(rpinn_member_store_drop(pilot->context, pilot->run->store, rpinn_pilot_range()));
  pilot->run->correction.stage++;
  return save(pilot->context, pilot->run);
}

/* ---- metric ---- */

typedef struct MetricSum {
  size_t length;
  double share; /* of each chain */
  double *sum;  /* [length] */
} MetricSum;

static void add_metric(void *user, size_t chain, const RpinnNuts *nuts, const double *account) {
  const MetricSum *metric = user;
  const double *inverse = rpinn_nuts_inverse_metric(nuts);
  (void)chain, (void)account;
  for (size_t i = 0; i < metric->length; i++) metric->sum[i] += metric->share * inverse[i];
}

static RpinnStatus find_metric(Pilot *pilot) {
  RpinnMemberCorrection *correction = &pilot->run->correction;
  RpinnNutsOptions nuts = rpinn_run_nuts_options(pilot->run);
  if (nuts.metric == RPINN_METRIC_UNIT) return finish_stage(pilot);
  MetricSum metric = {.length = nuts.metric == RPINN_METRIC_DENSE ? pilot->num_drawn * pilot->num_drawn
                                                                  : pilot->num_drawn,
                      .share = 1 / (double)pilot->num_members,
                      .sum = correction->inverse_metric};
  nuts.num_warmup = METRIC_ITERATIONS;
  nuts.num_draws = 0;
  nuts.window_start = nuts.window_base = nuts.window_end = METRIC_WINDOW;
  if (pilot->num_members >= FEWEST_POINTS) {
    nuts.num_first_points = pilot->num_members;
    nuts.first_points = pilot->starts;
  }
  RPINN_TRY(run_chains(pilot, 1, &nuts));
  if (is_stopped(pilot)) return RPINN_OK;
  memset(metric.sum, 0, metric.length * sizeof *metric.sum);
  RPINN_TRY(look_at_chains(pilot, true, &metric, add_metric));
  return finish_stage(pilot);
}

/* ---- step ---- */

static void take_step(void *user, size_t chain, const RpinnNuts *nuts, const double *account) {
  double *steps = user;
  (void)account;
  steps[chain] = nuts->step;
}

static int compare_numbers(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static RpinnStatus find_step(Pilot *pilot) {
  RpinnMemberCorrection *correction = &pilot->run->correction;
  RpinnNutsOptions nuts = rpinn_run_nuts_options(pilot->run);
  double steps[RPINN_PILOT_MEMBERS];
  nuts.num_warmup = STEP_ITERATIONS;
  nuts.num_draws = 0;
  nuts.inverse_metric = correction->inverse_metric;
  RPINN_TRY(run_chains(pilot, 1, &nuts));
  if (is_stopped(pilot)) return RPINN_OK;
  RPINN_TRY(look_at_chains(pilot, true, steps, take_step));
  qsort(steps, pilot->num_members, sizeof *steps, compare_numbers);
  correction->step = steps[pilot->num_members / 4];
  correction->length = FIRST_LENGTH;
  rpinn_driver_log(pilot->driver, "the pilot takes a step of %.4g; chains wanted %.4g to %.4g",
                   correction->step, steps[0], steps[pilot->num_members - 1]);
  return finish_stage(pilot);
}

/* ---- length ---- */

/* All unknowns, or the first of them, and points of predictions and held-out terms that are spread evenly. */
static void choose_watched(Pilot *pilot) {
  const RpinnDrawOutputs *outputs = &pilot->run->outputs;
  size_t num_points = outputs->unknown_start, num_scalars = outputs->num_scalars, count = 1;
  size_t points = num_points < MAX_WATCHED_POINTS ? num_points : MAX_WATCHED_POINTS;
  size_t scalars = num_scalars < MAX_WATCHED_SCALARS ? num_scalars : MAX_WATCHED_SCALARS;
  for (size_t k = 0; k < points; k++) pilot->watched[count++] = (2 * k + 1) * num_points / (2 * points);
  for (size_t k = 0; k < scalars; k++) pilot->watched[count++] = outputs->unknown_start + k;
  pilot->num_watched = count;
}

/* The moments of what was watched, by number and chain. */
typedef struct Moments {
  size_t num_watched;
  double means[MAX_WATCHED][CONTINUATIONS * RPINN_PILOT_MEMBERS];
  double variances[MAX_WATCHED][CONTINUATIONS * RPINN_PILOT_MEMBERS];
  double leapfrogs; /* of all chains */
} Moments;

static void take_moments(void *user, size_t chain, const RpinnNuts *nuts, const double *account) {
  Moments *moments = user;
  double count = account[RPINN_ACCOUNT_WATCHED];
  const double *means = account + RPINN_NUM_ACCOUNTS, *squares = means + moments->num_watched;
  for (size_t k = 0; k < moments->num_watched; k++) {
    moments->means[k][chain] = means[k];
    moments->variances[k][chain] = count > 1 ? squares[k] / (count - 1) : 0;
  }
  moments->leapfrogs += (double)rpinn_nuts_num_leapfrogs(nuts);
}

/* What chains of this length have forgotten, and what they cost. */
static void judge_length(const Pilot *pilot, const Moments *moments, RpinnMemberCorrection *correction) {
  size_t superchains[CONTINUATIONS * RPINN_PILOT_MEMBERS], num_chains = pilot->work.num_chains;
  for (size_t c = 0; c < num_chains; c++) superchains[c] = c / CONTINUATIONS;
  correction->nested_rhat = (double)NAN;
  correction->worst = -1;
  for (size_t k = 0; k < moments->num_watched; k++) {
    double rhat = rpinn_nested_rhat_of_many(num_chains, moments->means[k], moments->variances[k],
                                            pilot->num_members, superchains);
    if (isnan(rhat) || rhat <= correction->nested_rhat) continue;
    correction->nested_rhat = rhat;
    correction->worst = k ? (double)pilot->watched[k] : -1;
  }
  correction->gradients = moments->leapfrogs / (double)num_chains + 1;
  rpinn_driver_log(pilot->driver, "after %llu iterations, %.0f gradients, nested R-hat of the pilot is %.4f",
                   (unsigned long long)correction->length, correction->gradients, correction->nested_rhat);
}

static RpinnStatus try_length(Pilot *pilot, Moments *moments) {
  RpinnMemberCorrection *correction = &pilot->run->correction;
  RpinnNutsOptions nuts = rpinn_run_frozen_options(pilot->run, correction->length);
  pilot->work.options.num_watched = pilot->num_watched;
  pilot->work.options.watched = pilot->watched;
  pilot->work.options.watched_from = nuts.num_draws / 2;
  pilot->work.options.outputs = &pilot->run->outputs;
  RPINN_TRY(run_chains(pilot, CONTINUATIONS, &nuts));
  if (is_stopped(pilot)) return RPINN_OK;
  *moments = (Moments){.num_watched = pilot->num_watched};
  RPINN_TRY(look_at_chains(pilot, false, moments, take_moments));
  judge_length(pilot, moments, correction);
  if (rpinn_correction_forgets(correction) || 2 * correction->gradients > correction->budget) {
    RPINN_TRY(look_at_chains(pilot, true, moments, take_moments)); /* for their cost */
    return finish_stage(pilot);
  }
  correction->length *= 2;
  return save(pilot->context, pilot->run);
}

static RpinnStatus find_length(Pilot *pilot) {
  Moments *moments = malloc(sizeof *moments);
  RpinnStatus status = moments ? RPINN_OK : rpinn_fail_memory(pilot->context);
  choose_watched(pilot);
  while (status == RPINN_OK && !is_stopped(pilot) && pilot->run->correction.stage == RPINN_PILOT_LENGTH)
    status = try_length(pilot, moments);
  free(moments);
  return status;
}

/* ---- the whole ---- */

double rpinn_pilot_gradients(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  double longest = ldexp(1, (int)settings->values[RPINN_SETTING_MAX_DEPTH].number) - 1,
         budget = fmax(settings->values[RPINN_SETTING_CORRECT_BUDGET].number, FIRST_LENGTH * longest);
  return RPINN_PILOT_MEMBERS * (longest * (METRIC_ITERATIONS + STEP_ITERATIONS) + CONTINUATIONS * budget);
}

/* A length that was sought under another budget is sought again, unless it would be found again; members that were continued for
 * another time go. */
static RpinnStatus take_budget(RpinnContext *context, RpinnRun *run) {
  RpinnMemberCorrection *correction = &run->correction;
  double budget = run->problem->settings.values[RPINN_SETTING_CORRECT_BUDGET].number,
         before = correction->budget;
  correction->budget = budget;
  if (budget == before || correction->stage < RPINN_PILOT_LENGTH) return RPINN_OK;
  if (correction->stage == RPINN_PILOT_DONE && rpinn_correction_forgets(correction) &&
      correction->gradients <= budget)
    return save(context, run);
  correction->stage = RPINN_PILOT_LENGTH;
  correction->length = FIRST_LENGTH;
  RPINN_TRY(rpinn_member_store_drop(context, run->store, rpinn_pilot_range()));
  RPINN_TRY(rpinn_member_store_drop(context, run->store, rpinn_corrected_range()));
  return save(context, run);
}

RpinnStatus rpinn_run_find_pilot(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  bool found;
  if (!rpinn_run_is_corrected(run)) return RPINN_OK;
  RPINN_TRY(rpinn_run_make_correction_room(context, run));
  if (driver->has_past) RPINN_TRY(rpinn_run_find_correction(context, run, &found));
  return take_budget(context, run);
}

/* A shard without members needs no pilot, but for the one that learns for all; draws that are merged are corrected. */
uint64_t rpinn_pilot_num_members(const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  bool learns = rpinn_run_is_shard(run) && !run->shard.number;
  bool has_members = rpinn_shard_size(driver->shard, run->num_samples) > 0;
  bool is_needed = rpinn_run_is_corrected(run) && run->correction.stage != RPINN_PILOT_DONE;
  return is_needed && (learns || has_members) ? RPINN_PILOT_MEMBERS : 0;
}

static RpinnStatus advance(Pilot *pilot) {
  static RpinnStatus (*const stages[])(Pilot * pilot) = {
      [RPINN_PILOT_METRIC] = find_metric, [RPINN_PILOT_STEP] = find_step, [RPINN_PILOT_LENGTH] = find_length};
  RpinnMemberCorrection *correction = &pilot->run->correction;
  RPINN_TRY(take_members(pilot));
  correction->num_members = (double)pilot->num_members;
  while (correction->stage != RPINN_PILOT_DONE && !is_stopped(pilot))
    RPINN_TRY(stages[correction->stage](pilot));
  rpinn_run_progress_report(&pilot->progress, true);
  return RPINN_OK;
}

RpinnStatus rpinn_run_settle_correction(RpinnContext *context, RpinnDriver *driver,
                                        const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  if (!rpinn_pilot_num_members(driver)) return RPINN_OK;
  Pilot *pilot = calloc(1, sizeof *pilot);
  if (!pilot) return rpinn_fail_memory(context);
  pilot->context = context;
  pilot->driver = driver;
  pilot->run = run;
  pilot->targets = targets;
  pilot->num_drawn = rpinn_posterior_num_drawn(run->posteriors[0]);
  pilot->progress = (RpinnRunProgress){.driver = driver, .unit = "iterations of the pilot"};
  pilot->work = (RpinnContinuations){
      .driver = driver,
      .targets = targets,
      .options = {.seed = run->posteriors[0]->seed, .num_drawn = pilot->num_drawn, .chains = pilot->chains},
      .progress = &pilot->progress};
  RpinnStatus status = advance(pilot);
  rpinn_run_reset_noise(run); /* what is watched is evaluated at the noise of each chain */
  free(pilot->starts);
  free(pilot);
  return status;
}
