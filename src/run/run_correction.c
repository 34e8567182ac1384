/* --correct nuts: when all members are there, every one of them is continued as a chain of NUTS, whose last state is its draw. Metric,
 * step and length are those of the pilot, and nothing adapts: what member k becomes depends on the member, the seed and these. */
#include <stdlib.h>
#include <string.h>

#include "corrected_statistics.h"
#include "correction_pilot.h"
#include "member_statistics.h"
#include "ranks.h"
#include "run_continuations.h"
#include "run_draws.h"
#include "run_targets.h"
#include "unknown_noise.h"

enum { BLOCK_BYTES = 64 << 20, CHAINS_PER_THREAD = 16 };

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run; /* the driver's */
  size_t num_drawn;
  size_t capacity;             /* members of a block that are the shard's */
  uint64_t num_starts;         /* members that a block is sought among */
  uint64_t first;              /* of the block at work */
  size_t count;                /* members in it that are there */
  RpinnContinuedChain *chains; /* [capacity] */
  uint8_t *done;               /* [capacity] */
  double *starts;              /* [capacity][num_drawn] */
  RpinnRunProgress progress;
  RpinnContinuations work;
} Session;

/* Of all ranks. */
static size_t num_threads(const RpinnDriver *driver) {
  size_t count = driver->num_threads;
  for (size_t r = 1; r < rpinn_ranks_size(driver->options->ranks); r++)
    count += rpinn_driver_rank_threads(driver, r);
  return count;
}

/* ---- a block of members ---- */

/* A member that was never finite becomes nothing. */
static RpinnStatus put_failed(Session *session, const RpinnContinuedChain *chain) {
  const double statistics[RPINN_NUM_CORRECTED_STATISTICS] = {[RPINN_CORRECTED_ATTEMPTS] = chain->attempt};
  RpinnStoredMember failed = {.index = chain->key,
                              .failed = 1,
                              .num_statistics = RPINN_NUM_CORRECTED_STATISTICS,
                              .statistics = statistics,
                              .stop = "not_finite"};
  RPINN_TRY(rpinn_member_store_put(session->context, session->run->store, &failed));
  session->progress.done++;
  session->progress.failed++;
  return RPINN_OK;
}

/* While members are visited, the store must not be written to. */
static RpinnStatus take_member(void *user, const RpinnVisitedDraw *draw) {
  Session *session = user;
  const RpinnStoredMember *member = draw->stored;
  size_t place = session->count;
  if (!rpinn_shard_owns(session->driver->shard, member->index)) return RPINN_OK; /* there for the pilot */
  double *start = session->starts + place * session->num_drawn;
  uint32_t attempt = (uint32_t)member->statistics[RPINN_MEMBER_ATTEMPTS];
  if (!member->failed && member->num_parameters != session->num_drawn)
    return rpinn_fail_at(session->context, (RpinnPlace){.file = session->run->folder},
                         "the members of this run do not belong to its run.yaml");
  if (!member->failed) memcpy(start, member->parameters, session->num_drawn * sizeof *start);
  session->done[place] = member->failed != 0;
  session->chains[place] =
      (RpinnContinuedChain){.key = rpinn_corrected_key(member->index),
                            .stream = member->index,
                            .attempt = attempt,
                            .scale = rpinn_posterior_member_scale(
                                session->run->posteriors[0], rpinn_run_stream_member(member->index, attempt)),
                            .start = start};
  session->count++;
  return RPINN_OK;
}

/* Which of them are done, and the states of those that were under way. */
static RpinnStatus look_back(Session *session) {
  for (size_t k = 0; k < session->count; k++) {
    RpinnContinuedChain *chain = &session->chains[k];
    bool has;
    RPINN_TRY(rpinn_member_store_has(session->context, session->run->store, chain->key, &has));
    if (!has && session->done[k]) RPINN_TRY(put_failed(session, chain));
    session->done[k] |= has;
    if (!session->done[k])
      RPINN_TRY(rpinn_member_store_get_state(session->context, session->run->store, chain->key, &chain->state,
                                             &chain->state_size));
  }
  return RPINN_OK;
}

static RpinnStatus correct_block(Session *session) {
  RpinnRun *run = session->run;
  RpinnDriver *driver = session->driver;
  uint64_t end = session->first + session->num_starts;
  RpinnDrawPlan members = {.num_chains = 1, .num_draws = end < run->num_samples ? end : run->num_samples};
  session->count = 0;
  RPINN_TRY(rpinn_draw_store_visit_from(session->context, run->store, &members, session->first, take_member,
                                        session));
  session->work.num_chains = session->count;
  session->work.done = session->done;
  RpinnStatus status = look_back(session);
  if (status == RPINN_OK) status = rpinn_run_continuations(session->context, &session->work);
  for (size_t k = 0; k < session->count; k++) free(session->chains[k].state);
  driver->interrupted = session->work.is_interrupted && session->progress.done < session->progress.total;
  driver->out_of_time = session->work.is_out_of_time;
  session->first = end;
  return status;
}

/* ---- the price ---- */

/* Before: what the members that are left will take. */
static void tell_price(const Session *session) {
  const RpinnMemberCorrection *correction = &session->run->correction;
  double left = (double)(session->progress.total - session->progress.done),
         seconds = left * correction->gradients * correction->pilot_seconds / correction->pilot_gradients /
                   (double)num_threads(session->driver);
  bool forgets = rpinn_correction_forgets(correction);
  char worst[128], line[512];
  rpinn_run_name_worst(session->run, worst, sizeof worst);
  rpinn_format(
      line, sizeof line,
      "--correct nuts: %s after %llu iterations (nested R-hat %.3f of '%s'), about %.0f gradients for "
      "each of %.0f member%s, %.1f s on %zu thread%s; the pilot took %.3g gradients, %.1f s on one",
      forgets ? "the start is forgotten" : "the start is NOT forgotten within --correct-budget",
      (unsigned long long)correction->length, correction->nested_rhat, worst, correction->gradients, left,
      left == 1 ? "" : "s", seconds, num_threads(session->driver),
      num_threads(session->driver) == 1 ? "" : "s", correction->pilot_gradients, correction->pilot_seconds);
  rpinn_log(session->context, forgets ? RPINN_LOG_INFO : RPINN_LOG_WARNING, "%s", line);
  rpinn_driver_log(session->driver, "%s", line);
}

/* ---- the whole ---- */

static RpinnStatus allocate(Session *session) {
  size_t least = CHAINS_PER_THREAD * num_threads(session->driver) * session->work.targets[0].num_slots,
         room = BLOCK_BYTES / (session->num_drawn * sizeof(double));
  session->capacity = room > least ? room : least;
  if (session->capacity > session->progress.total) session->capacity = (size_t)session->progress.total;
  session->num_starts = session->capacity * (session->driver->shard.count ? session->driver->shard.count : 1);
  session->chains = calloc(session->capacity, sizeof *session->chains);
  session->done = calloc(session->capacity, 1);
  session->starts = malloc(session->capacity * session->num_drawn * sizeof *session->starts);
  return session->chains && session->done && session->starts ? RPINN_OK : rpinn_fail_memory(session->context);
}

static RpinnStatus correct(Session *session) {
  RpinnRun *run = session->run;
  RpinnDriver *driver = session->driver;
  RpinnRunProgress *progress = &session->progress;
  RPINN_TRY(allocate(session));
  RPINN_TRY(rpinn_draw_store_count_members(session->context, run->store, &run->plan, &progress->done,
                                           &progress->failed));
  session->work.options.nuts = rpinn_run_frozen_options(run, run->correction.length);
  session->work.options.chains = session->chains;
  if (progress->done < progress->total) tell_price(session);
  while (session->first < run->num_samples && !driver->interrupted && !driver->out_of_time)
    RPINN_TRY(correct_block(session));
  rpinn_run_progress_report(progress, true);
  rpinn_driver_log(driver, "%llu of %llu members are corrected", (unsigned long long)progress->done,
                   (unsigned long long)progress->total);
  return rpinn_member_store_flush(session->context, run->store);
}

static RpinnStatus correct_members(RpinnContext *context, RpinnDriver *driver,
                                   const RpinnMemberTarget *targets) {
  uint64_t num_members = rpinn_shard_size(driver->shard, driver->run->num_samples);
  if (!num_members) return RPINN_OK;
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  session->context = context;
  session->driver = driver;
  session->run = driver->run;
  session->num_drawn = rpinn_posterior_num_drawn(driver->run->posteriors[0]);
  session->progress = (RpinnRunProgress){.driver = driver, .unit = "members corrected", .total = num_members};
  session->work = (RpinnContinuations){.driver = driver,
                                       .targets = targets,
                                       .options = {.seed = driver->run->posteriors[0]->seed,
                                                   .num_drawn = session->num_drawn,
                                                   .ends_in_draw = true},
                                       .progress = &session->progress};
  RpinnStatus status = correct(session);
  free(session->chains);
  free(session->done);
  free(session->starts);
  free(session);
  return status;
}

/* A run that the clock ended shows what is there, if anything is; a shard shows nothing. */
static RpinnStatus check_draws(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  uint64_t count;
  if (rpinn_run_is_shard(run)) return RPINN_OK;
  RPINN_TRY(rpinn_draw_store_count(context, run->store, &run->plan, &count));
  if (count || driver->interrupted || !driver->out_of_time) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INTERRUPTED,
                    "the time limit ended the run before a member was corrected; what is done is saved, and "
                    "--resume with a longer --time-limit goes on");
}

double rpinn_run_correction_gradients(const RpinnRun *run) {
  double budget = run->problem->settings.values[RPINN_SETTING_CORRECT_BUDGET].number;
  uint64_t num_members = rpinn_shard_size(run->shard, run->num_samples);
  return rpinn_pilot_gradients(run) + (double)num_members * budget;
}

RpinnStatus rpinn_run_correct_members(RpinnContext *context, RpinnDriver *driver,
                                      const RpinnMemberTarget *targets) {
  if (!rpinn_run_is_corrected(driver->run)) return RPINN_OK;
  if (!driver->out_of_time) RPINN_TRY(correct_members(context, driver, targets));
  return check_draws(context, driver);
}
