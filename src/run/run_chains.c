/* Method nuts: threads over chains. Every draw that is kept goes to the store, and so does the state of a chain:
 * now and then, when the run stops, and at the end, so that a finished chain can be made longer. A chain that
 * goes on from a state makes the draws that came after it again, bit for bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain_draw_statistics.h"
#include "chain_group.h"
#include "maker.h"
#include "run_continuations.h"
#include "run_draws.h"
#include "run_progress.h"
#include "run_ranks.h"
#include "run_targets.h"
#include "shared_tasks.h"
#include "slow_ways.h"
#include "superchains.h"
#include "unknown_noise.h"

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run;                    /* the driver's */
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnChainGroupOptions options;
  uint64_t *made;  /* [num_chains] iterations, as far as this thread knows */
  uint8_t *others; /* [num_chains] those of other shards */
  RpinnRunProgress progress;
} Session;

/* ---- in a thread ---- */

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Session *session = user;
  RpinnChainGroup *group;
  RPINN_TRY(rpinn_chain_group_create(context, &session->targets[thread], &session->options, pool, &group));
  *worker = group;
  return RPINN_OK;
}

static void close_worker(void *worker) {
  rpinn_chain_group_destroy(worker);
}

static RpinnStatus make_all(void *worker, RpinnContext *context, RpinnTaskPool *pool) {
  (void)pool;
  return rpinn_chain_group_run(context, worker);
}

/* ---- in the thread of the caller ---- */

static void count_iterations(Session *session, const RpinnRunEvent *event) {
  uint64_t more = event->iterations - session->made[event->task];
  session->made[event->task] = event->iterations;
  session->progress.done += more;
  session->progress.done_here += more;
}

static void count(void *user, const RpinnRunEvent *event) {
  Session *session = user;
  count_iterations(session, event);
  if (event->is_state) return;
  const double *statistics = rpinn_run_event_statistics(event);
  session->progress.divergences += statistics[RPINN_CHAIN_DIVERGING] != 0 && !event->is_warmup;
  rpinn_run_progress_add_loss(&session->progress, -statistics[RPINN_CHAIN_LP]);
}

static bool tick(void *user, uint64_t leapfrogs) {
  Session *session = user;
  session->progress.iterations = leapfrogs;
  return rpinn_run_progress_tick(&session->progress);
}

/* The states of chains that an earlier session has saved. */
static RpinnStatus look_back(Session *session) {
  const RpinnRunTarget *target = session->targets[0].data;
  RpinnNuts *nuts;
  RPINN_TRY(
      rpinn_nuts_create_member(session->context, &target->slots->density, 0, &session->options.nuts, &nuts));
  RpinnStatus status = RPINN_OK;
  for (uint64_t chain = 0; chain < session->run->plan.num_chains && status == RPINN_OK; chain++) {
    void *state = NULL;
    size_t size;
    if (session->others[chain]) continue;
    status = rpinn_member_store_get_state(session->context, session->run->store, rpinn_chain_state_key(chain),
                                          &state, &size);
    if (status != RPINN_OK || !state) continue;
    status = rpinn_nuts_restore(session->context, nuts, state, size);
    session->made[chain] = rpinn_nuts_num_iterations(nuts);
    session->progress.done += session->made[chain];
    RpinnStatus kept = rpinn_saved_states_put(session->context, session->options.saved, chain, state, size);
    if (status == RPINN_OK) status = kept;
  }
  rpinn_nuts_destroy(nuts);
  return status;
}

static RpinnNutsOptions read_options(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  RpinnNutsOptions options = rpinn_run_nuts_options(run);
  options.num_warmup = (size_t)settings->values[RPINN_SETTING_WARMUP].number;
  options.num_draws = (size_t)run->num_samples;
  options.thin = (size_t)settings->values[RPINN_SETTING_THIN].number;
  options.step_adaptation = settings->values[RPINN_SETTING_STEP_ADAPTATION].number;
  bool own_step = !settings->values[RPINN_SETTING_FIRST_STEP].is_auto;
  options.first_step = own_step ? settings->values[RPINN_SETTING_FIRST_STEP].number : 0;
  return options;
}

/* Many chains are short ones, without the time to learn a metric from nothing. Where members of an earlier run are starts of two chains
 * each, and there are enough of them, it begins with their spread; draws with noise levels have more numbers than members. */
static void begin_with_spread(Session *session) {
  enum { FEWEST = 10 };
  const RpinnRunTarget *target = session->targets[0].data;
  if (target->start != RPINN_START_RUN || target->num_given < FEWEST ||
      session->run->plan.num_chains < 2 * target->num_given ||
      session->options.num_drawn != session->targets[0].num_parameters)
    return;
  session->options.nuts.num_first_points = target->num_given;
  session->options.nuts.first_points = target->given;
}

/* What there is of every chain makes up the posterior; a run that was cut by the clock may have less. */
static RpinnStatus find_common_length(Session *session) {
  RpinnRun *run = session->run;
  RPINN_TRY(rpinn_draw_store_common_length(session->context, run->store, run->plan.num_chains, false,
                                           run->num_samples, &run->plan.num_draws));
  if (session->options.keep_warmup)
    RPINN_TRY(rpinn_draw_store_common_length(session->context, run->store, run->plan.num_chains, true,
                                             session->options.nuts.num_warmup, &run->num_warmup_kept));
  if (run->plan.num_draws || session->driver->interrupted) return RPINN_OK;
  return rpinn_fail(session->context, RPINN_ERROR_INTERRUPTED,
                    "the time limit ended the run before every chain had a draw; what is done is saved, and "
                    "--resume with a longer --time-limit goes on");
}

/* How many starts the chains share, for whoever judges them: those of an earlier run are taken in turn. */
static RpinnStatus record_starts(const Session *session) {
  const RpinnRunTarget *target = session->targets[0].data;
  char text[32];
  if (target->start != RPINN_START_RUN || !target->num_given) return RPINN_OK;
  snprintf(text, sizeof text, "%zu", target->num_given);
  return rpinn_member_store_set_text(session->context, session->run->store, RPINN_NUM_STARTS_KEY, text);
}

static RpinnStatus make_chains(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRun *run = session->run;
  RpinnTaskPoolResult result = {0};
  RPINN_TRY(rpinn_saved_states_create(session->context, &session->options.saved));
  session->made = calloc(run->plan.num_chains, sizeof *session->made);
  session->others = calloc(run->plan.num_chains, 1);
  if (!session->made || !session->others) return rpinn_fail_memory(session->context);
  for (uint64_t chain = 0; chain < run->plan.num_chains; chain++)
    session->others[chain] = !rpinn_shard_owns(driver->shard, chain);
  if (driver->options->resume) RPINN_TRY(look_back(session));
  RPINN_TRY(record_starts(session));
  RpinnSharedTasks work = {.driver = driver,
                           .num_threads = driver->num_threads,
                           .num_slots = session->targets[0].num_slots,
                           .num_tasks = run->plan.num_chains,
                           .done = session->others,
                           .saved = session->options.saved,
                           .time_limit = rpinn_driver_time_limit(driver),
                           .user = session,
                           .open_worker = open_worker,
                           .close_worker = close_worker,
                           .perform_all = make_all,
                           .count = count,
                           .tick = tick};
  RPINN_TRY(rpinn_run_shared_tasks(session->context, &work, &result));
  session->progress.iterations = result.counted;
  driver->interrupted = result.interrupted && session->progress.done < session->progress.total;
  driver->out_of_time =
      result.out_of_time && !driver->interrupted && session->progress.done < session->progress.total;
  rpinn_run_progress_report(&session->progress, true);
  rpinn_driver_log(driver, "%llu of %llu iterations of %llu chains are done",
                   (unsigned long long)session->progress.done, (unsigned long long)session->progress.total,
                   (unsigned long long)rpinn_shard_size(driver->shard, run->plan.num_chains));
  return rpinn_run_is_shard(run) || rpinn_run_follows(driver) ? RPINN_OK : find_common_length(session);
}

RpinnStatus rpinn_run_make_chains(RpinnContext *context, RpinnDriver *driver,
                                  const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  const RpinnSettingsValues *settings = &run->problem->settings;
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  *session =
      (Session){.context = context,
                .driver = driver,
                .run = run,
                .targets = targets,
                .options = {.nuts = read_options(run),
                            .keep_warmup = rpinn_settings_choice(settings, RPINN_SETTING_KEEP_WARMUP) ==
                                           RPINN_WARMUP_KEPT,
                            .seed = run->posteriors[0]->seed,
                            .num_drawn = rpinn_posterior_num_drawn(run->posteriors[0]),
                            .minimize = rpinn_run_minimize_options(run->problem),
                            .max_retries = (uint32_t)settings->values[RPINN_SETTING_RETRIES].number}};
  begin_with_spread(session);
  rpinn_run_say_slow_chains(context, driver, targets);
  const RpinnNutsOptions *nuts = &session->options.nuts;
  session->progress = (RpinnRunProgress){.driver = driver,
                                         .unit = driver->maker->progress_unit,
                                         .total = (nuts->num_warmup + nuts->num_draws * nuts->thin) *
                                                  rpinn_shard_size(driver->shard, run->plan.num_chains)};
  RpinnStatus status = make_chains(session);
  rpinn_saved_states_destroy(session->options.saved);
  free(session->made);
  free(session->others);
  free(session);
  return status;
}
