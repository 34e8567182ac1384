/* Method nuts: threads over chains. Every draw that is kept goes to the store, and so does the state of a chain:
 * now and then, when the run stops, and at the end, so that a finished chain can be made longer. A chain that
 * goes on from a state makes the draws that came after it again, bit for bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chain_draw_statistics.h"
#include "maker.h"
#include "rpinn/nuts.h"
#include "run_draws.h"
#include "run_progress.h"
#include "run_targets.h"
#include "task_pool.h"
#include "unknown_noise.h"

enum {
  SLICE = 10, /* iterations of a minimiser between looks at the pool */
  STATE_INTERVAL = 20 /* seconds */,
  MAX_START_ATTEMPTS = 100
};

typedef struct SavedState {
  void *bytes; /* NULL: the chain begins anew */
  size_t size;
} SavedState;

typedef struct Session {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run;                    /* the driver's */
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnNutsOptions options;
  bool keep_warmup;
  SavedState *states; /* [num_chains] */
  uint64_t *made;     /* [num_chains] iterations, as far as this thread knows */
  RpinnRunProgress progress;
  size_t num_parameters;
} Session;

/* A draw, or the state of a chain. */
typedef struct Event {
  uint64_t chain;
  uint64_t iterations; /* that the chain has made */
  bool is_draw;
  RpinnNutsDraw draw;
  size_t size;
  void *bytes; /* the parameters of the draw, or the state */
} Event;

/* ---- in a thread ---- */

typedef struct Worker {
  const Session *session;
  const RpinnMemberTarget *target;
  RpinnLogDensity density;
  RpinnObjective objective; /* that the density is made of */
  RpinnNuts *nuts;
  double *theta;   /* [num_parameters] */
  double *offsets; /* [num_rows + num_parameters] */
} Worker;

static void free_event(void *user) {
  Event *event = user;
  free(event->bytes);
  free(event);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Session *session = user;
  Worker *own = *worker = calloc(1, sizeof *own);
  (void)pool;
  if (!own) return rpinn_fail_memory(context);
  own->session = session;
  own->target = &session->targets[thread];
  own->theta = malloc(session->num_parameters * sizeof(double));
  own->offsets = malloc((own->target->num_rows + session->num_parameters) * sizeof(double));
  if (!own->theta || !own->offsets) return rpinn_fail_memory(context);
  own->objective = *rpinn_run_target_joint_objective(own->target);
  own->density = rpinn_log_density_of_objective(&own->objective);
  return rpinn_nuts_create(context, &own->density, &session->options, &own->nuts);
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (!own) return;
  rpinn_nuts_destroy(own->nuts);
  free(own->theta);
  free(own->offsets);
  free(own);
}

static bool pool_is_stopped(void *pool) {
  return rpinn_task_pool_is_stopped(pool);
}

/* theta, and the noise eta that it was found with. */
static void take_member(Worker *own, const double *theta) {
  const RpinnPosterior *posterior = ((RpinnRunTarget *)own->target->data)->posterior;
  size_t N = own->target->num_parameters;
  memcpy(own->theta, theta, N * sizeof *own->theta);
  memcpy(own->theta + N, posterior->eta, posterior->num_noises * sizeof *own->theta);
}

/* `start: member`: the minimiser of an energy with offsets of the chain's own, as method rpinn draws it: the chains begin
 * apart from one another, and where the posterior is. *found: not where the pool stops before. */
static RpinnStatus start_at_member(RpinnContext *context, Worker *own, RpinnTaskPool *pool, uint64_t chain,
                                   bool *found) {
  const RpinnProblem *problem = own->session->run->problem;
  RpinnMemberTarget target = *own->target;
  RpinnMinimizeOptions options = rpinn_run_minimize_options(problem);
  RpinnMember *member;
  RpinnMemberOutcome outcome = {0};
  target.draw_offsets = rpinn_run_target_draw_offsets;
  options.interrupted = pool_is_stopped;
  options.user = pool;
  RPINN_TRY(rpinn_member_create(context, &target, &options,
                                (uint32_t)problem->settings.values[RPINN_SETTING_RETRIES].number, &member));
  RpinnStatus status = rpinn_member_begin(context, member, chain, NULL, 0);
  while (status == RPINN_OK && !outcome.finished && !rpinn_task_pool_is_stopped(pool))
    status = rpinn_member_advance(context, member, SLICE, &outcome);
  *found = outcome.finished;
  if (status == RPINN_OK && outcome.failed)
    status = rpinn_fail(context, RPINN_ERROR_NUMERIC,
                        "the member that chain %llu starts from is not finite; expected another --start",
                        (unsigned long long)chain);
  if (status == RPINN_OK && *found) take_member(own, outcome.theta);
  rpinn_member_destroy(member);
  target.objective(target.data, NULL); /* the chain's density is the same object, and has no offsets */
  return status;
}

static RpinnStatus draw_start(RpinnContext *context, Worker *own, uint64_t chain) {
  for (uint32_t attempt = 0; attempt < MAX_START_ATTEMPTS; attempt++) {
    double value;
    rpinn_posterior_draw_offsets(((RpinnRunTarget *)own->target->data)->posterior,
                                 chain | (uint64_t)attempt << 48, own->offsets);
    RPINN_TRY(own->target->draw_start(own->target->data, chain, attempt, own->offsets, own->theta));
    rpinn_run_target_draw_noise(own->target->data, chain, attempt, own->theta + own->target->num_parameters);
    RPINN_TRY(own->density.evaluate(own->density.data, own->theta, &value, NULL));
    if (isfinite(value)) return RPINN_OK;
  }
  return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                    "chain %llu found no start with a finite energy in %d attempts; expected another --start",
                    (unsigned long long)chain, MAX_START_ATTEMPTS);
}

/* *begun: not where the pool stops before there is a start. */
static RpinnStatus begin_chain(RpinnContext *context, Worker *own, RpinnTaskPool *pool, uint64_t chain,
                               bool *begun) {
  const SavedState *state = &own->session->states[chain];
  const RpinnRun *run = own->session->run;
  bool is_member = ((RpinnRunTarget *)own->target->data)->start == RPINN_START_MEMBER;
  *begun = true;
  if (state->bytes) return rpinn_nuts_restore(context, own->nuts, state->bytes, state->size);
  RPINN_TRY(is_member ? start_at_member(context, own, pool, chain, begun) : draw_start(context, own, chain));
  return *begun ? rpinn_nuts_start(context, own->nuts, run->posteriors[0]->seed, chain, own->theta)
                : RPINN_OK;
}

static RpinnStatus post(RpinnContext *context, RpinnTaskPool *pool, const Worker *own, uint64_t chain,
                        const RpinnNutsDraw *draw) {
  Event *event = calloc(1, sizeof *event);
  if (!event) return rpinn_fail_memory(context);
  *event =
      (Event){.chain = chain, .iterations = rpinn_nuts_num_iterations(own->nuts), .is_draw = draw != NULL};
  event->size = draw ? own->session->num_parameters * sizeof(double) : rpinn_nuts_state_size(own->nuts);
  event->bytes = malloc(event->size);
  if (!event->bytes) {
    free_event(event);
    return rpinn_fail_memory(context);
  }
  if (draw) {
    event->draw = *draw;
    memcpy(event->bytes, draw->parameters, event->size);
  } else {
    rpinn_nuts_save(own->nuts, event->bytes);
  }
  rpinn_task_pool_post(pool, event);
  return RPINN_OK;
}

/* One chain to its end, or until the pool stops or time is up. */
static RpinnStatus make_chain(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t chain) {
  Worker *own = worker;
  bool begun;
  RPINN_TRY(begin_chain(context, own, pool, chain, &begun));
  if (!begun) return RPINN_OK;
  double saved = rpinn_task_pool_now();
  bool stopped = false;
  while (!stopped && !rpinn_nuts_finished(own->nuts)) {
    RpinnNutsDraw draw;
    size_t leapfrogs = rpinn_nuts_num_leapfrogs(own->nuts);
    RPINN_TRY(rpinn_nuts_advance(context, own->nuts, &draw));
    rpinn_task_pool_count(pool, rpinn_nuts_num_leapfrogs(own->nuts) - leapfrogs);
    if (draw.is_kept || (draw.is_warmup && own->session->keep_warmup))
      RPINN_TRY(post(context, pool, own, chain, &draw));
    stopped = rpinn_task_pool_is_stopped(pool) || rpinn_task_pool_is_late(pool);
    double time = rpinn_task_pool_now();
    if (stopped || time - saved >= STATE_INTERVAL) {
      RPINN_TRY(post(context, pool, own, chain, NULL));
      saved = time;
    }
  }
  return stopped ? RPINN_OK : post(context, pool, own, chain, NULL);
}

/* ---- in the thread of the caller ---- */

static RpinnStatus store_draw(Session *session, const Event *event) {
  const RpinnNutsDraw *draw = &event->draw;
  double statistics[RPINN_NUM_CHAIN_STATISTICS] = {[RPINN_CHAIN_LP] = draw->log_density,
                                                   [RPINN_CHAIN_ACCEPTANCE_RATE] = draw->acceptance_rate,
                                                   [RPINN_CHAIN_STEP_SIZE] = draw->step_size,
                                                   [RPINN_CHAIN_TREE_DEPTH] = draw->tree_depth,
                                                   [RPINN_CHAIN_N_STEPS] = (double)draw->num_steps,
                                                   [RPINN_CHAIN_DIVERGING] = draw->diverging,
                                                   [RPINN_CHAIN_ENERGY] = draw->energy,
                                                   [RPINN_CHAIN_ENERGY_ERROR] = draw->energy_error,
                                                   [RPINN_CHAIN_MAX_ENERGY_ERROR] = draw->max_energy_error,
                                                   [RPINN_CHAIN_REACHED_MAX_DEPTH] = draw->reached_max_depth};
  RpinnStoredMember member = {.index = rpinn_chain_draw_key(event->chain, draw->is_warmup, draw->index),
                              .num_parameters = session->num_parameters,
                              .parameters = event->bytes,
                              .num_statistics = RPINN_NUM_CHAIN_STATISTICS,
                              .statistics = statistics,
                              .stop = "draw"};
  session->progress.divergences += draw->diverging && !draw->is_warmup;
  rpinn_run_progress_add_loss(&session->progress, -draw->log_density);
  return rpinn_member_store_put(session->context, session->run->store, &member);
}

static void count_iterations(Session *session, const Event *event) {
  uint64_t more = event->iterations - session->made[event->chain];
  session->made[event->chain] = event->iterations;
  session->progress.done += more;
  session->progress.done_here += more;
}

static RpinnStatus handle_event(void *user, const void *posted) {
  Session *session = user;
  const Event *event = posted;
  count_iterations(session, event);
  if (event->is_draw) return store_draw(session, event);
  return rpinn_member_store_put_state(session->context, session->run->store,
                                      rpinn_chain_state_key(event->chain), event->bytes, event->size);
}

static bool tick(void *user, uint64_t leapfrogs) {
  Session *session = user;
  session->progress.iterations = leapfrogs;
  return rpinn_run_progress_tick(&session->progress);
}

/* The states of chains that an earlier session has saved. */
static RpinnStatus look_back(Session *session) {
  RpinnNuts *nuts;
  RpinnObjective objective = *rpinn_run_target_joint_objective(&session->targets[0]);
  RpinnLogDensity density = rpinn_log_density_of_objective(&objective);
  RPINN_TRY(rpinn_nuts_create(session->context, &density, &session->options, &nuts));
  RpinnStatus status = RPINN_OK;
  for (uint64_t chain = 0; chain < session->run->plan.num_chains && status == RPINN_OK; chain++) {
    SavedState *state = &session->states[chain];
    status = rpinn_member_store_get_state(session->context, session->run->store, rpinn_chain_state_key(chain),
                                          &state->bytes, &state->size);
    if (status != RPINN_OK || !state->bytes) continue;
    status = rpinn_nuts_restore(session->context, nuts, state->bytes, state->size);
    session->made[chain] = rpinn_nuts_num_iterations(nuts);
    session->progress.done += session->made[chain];
  }
  rpinn_nuts_destroy(nuts);
  return status;
}

static RpinnNutsOptions read_options(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = (size_t)settings->values[RPINN_SETTING_WARMUP].number;
  options.num_draws = (size_t)run->num_samples;
  options.thin = (size_t)settings->values[RPINN_SETTING_THIN].number;
  options.metric = (RpinnMetric)rpinn_settings_choice(settings, RPINN_SETTING_METRIC);
  options.max_depth = (unsigned)settings->values[RPINN_SETTING_MAX_DEPTH].number;
  options.target_acceptance = settings->values[RPINN_SETTING_TARGET_ACCEPTANCE].number;
  options.step_adaptation = settings->values[RPINN_SETTING_STEP_ADAPTATION].number;
  bool own_step = !settings->values[RPINN_SETTING_FIRST_STEP].is_auto;
  options.first_step = own_step ? settings->values[RPINN_SETTING_FIRST_STEP].number : 0;
  return options;
}

/* What there is of every chain makes up the posterior; a run that was cut by the clock may have less. */
static RpinnStatus find_common_length(Session *session) {
  RpinnRun *run = session->run;
  RPINN_TRY(rpinn_draw_store_common_length(session->context, run->store, run->plan.num_chains, false,
                                           run->num_samples, &run->plan.num_draws));
  if (session->keep_warmup)
    RPINN_TRY(rpinn_draw_store_common_length(session->context, run->store, run->plan.num_chains, true,
                                             session->options.num_warmup, &run->num_warmup_kept));
  if (run->plan.num_draws || session->driver->interrupted) return RPINN_OK;
  return rpinn_fail(session->context, RPINN_ERROR_INTERRUPTED,
                    "the time limit ended the run before every chain had a draw; what is done is saved, and "
                    "--resume with a longer --time-limit goes on");
}

static RpinnStatus make_chains(Session *session) {
  RpinnDriver *driver = session->driver;
  RpinnRun *run = session->run;
  RpinnTaskPoolResult result = {0};
  session->states = calloc(run->plan.num_chains, sizeof *session->states);
  session->made = calloc(run->plan.num_chains, sizeof *session->made);
  if (!session->states || !session->made) return rpinn_fail_memory(session->context);
  if (driver->options->resume) RPINN_TRY(look_back(session));
  RpinnTaskPoolOptions options = {.num_threads = driver->num_threads,
                                  .num_tasks = run->plan.num_chains,
                                  .time_limit = rpinn_driver_time_limit(driver),
                                  .user = session,
                                  .open_worker = open_worker,
                                  .close_worker = close_worker,
                                  .perform = make_chain,
                                  .handle = handle_event,
                                  .free_event = free_event,
                                  .tick = tick};
  RPINN_TRY(rpinn_task_pool_run(session->context, &options, &result));
  session->progress.iterations = result.counted;
  driver->interrupted = result.interrupted && session->progress.done < session->progress.total;
  driver->out_of_time =
      result.out_of_time && !driver->interrupted && session->progress.done < session->progress.total;
  rpinn_run_progress_report(&session->progress, true);
  rpinn_driver_log(driver, "%llu of %llu iterations of %llu chains are done",
                   (unsigned long long)session->progress.done, (unsigned long long)session->progress.total,
                   (unsigned long long)run->plan.num_chains);
  return find_common_length(session);
}

RpinnStatus rpinn_run_make_chains(RpinnContext *context, RpinnDriver *driver,
                                  const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  *session = (Session){.context = context,
                       .driver = driver,
                       .run = run,
                       .targets = targets,
                       .options = read_options(run),
                       .keep_warmup = rpinn_settings_choice(&run->problem->settings,
                                                            RPINN_SETTING_KEEP_WARMUP) == RPINN_WARMUP_KEPT,
                       .num_parameters = rpinn_posterior_num_drawn(run->posteriors[0])};
  uint64_t iterations = session->options.num_warmup + session->options.num_draws * session->options.thin;
  session->progress = (RpinnRunProgress){
      .driver = driver, .unit = driver->maker->progress_unit, .total = iterations * run->plan.num_chains};
  RpinnStatus status = make_chains(session);
  for (uint64_t chain = 0; session->states && chain < run->plan.num_chains; chain++)
    free(session->states[chain].bytes);
  free(session->states);
  free(session->made);
  free(session);
  return status;
}
