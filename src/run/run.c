/* The driver from settings to files: opens the directory and the store, has the draws made, and ends in results. */
#include <stdio.h>
#include <stdlib.h>

#include "blas_threads.h"
#include "continuation_ranks.h"
#include "correction_pilot.h"
#include "learnt_store.h"
#include "maker.h"
#include "rank_stores.h"
#include "ranks.h"
#include "rpinn/version.h"
#include "run_draws.h"
#include "run_folder.h"
#include "run_identity.h"
#include "run_noise.h"
#include "run_prior.h"
#include "run_ranks.h"
#include "run_resumed.h"
#include "run_shard.h"
#include "run_summary.h"
#include "run_targets.h"
#include "scratch_rescue.h"
#include "scratch_store.h"
#include "shard_record.h"
#include "slow_ways.h"
#include "stored_run.h"
#include "vti_file.h"

static const char no_lock[] =
    "the file system of '%s' cannot lock files: nothing keeps two processes from writing to this run at the "
    "same time; see that only one does, or choose a folder elsewhere";

static RpinnStatus open_store(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  RpinnText identity = {0};
  char path[RPINN_PATH_SIZE];
  if (rpinn_run_follows(driver))
    rpinn_rank_store_path(run->folder, rpinn_ranks_rank(driver->options->ranks), ".db", path);
  else
    snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  RpinnStatus status = rpinn_run_identity(context, run->posteriors[0], &identity);
  if (status == RPINN_OK) status = rpinn_learnt_check(context, driver, identity.bytes);
  if (status == RPINN_OK) status = rpinn_member_store_open(context, path, identity.bytes, &run->store);
  if (status == RPINN_OK && !rpinn_member_store_is_locked(run->store) && !rpinn_run_follows(driver))
    rpinn_log(context, RPINN_LOG_WARNING, no_lock, path);
  if (status == RPINN_OK) status = rpinn_run_check_shard(context, driver);
  if (status == RPINN_OK) status = rpinn_learnt_take(context, driver);
  rpinn_text_free(&identity);
  return status;
}

/* Seconds of this session added to those of earlier ones. */
static RpinnStatus count_seconds(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  char *before = NULL, now_text[64];
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, RPINN_SECONDS_KEY, &before));
  run->seconds = (before ? rpinn_number_read(before, NULL) : 0) + rpinn_driver_seconds(driver);
  free(before);
  rpinn_format(now_text, sizeof now_text, "%.3f", run->seconds);
  run->seconds = rpinn_number_read(now_text, NULL); /* as the next reader will see it */
  RPINN_TRY(rpinn_member_store_set_text(context, run->store, RPINN_SECONDS_KEY, now_text));
  return rpinn_member_store_flush(context, run->store);
}

/* ---- results ---- */

/* fields.vti, where the predictions fill a grid of two or three dimensions. */
static RpinnStatus write_image(RpinnContext *context, RpinnRun *run) {
  char path[RPINN_PATH_SIZE];
  bool written, has_spread = run->results.num_draws > 1;
  if (run->problem->num_coordinates < 2 || !run->outputs.num_quantities) return RPINN_OK;
  snprintf(path, sizeof path, "%s/fields.vti", run->folder);
  return rpinn_vti_file_write(context, path, run->posteriors[0], run->results.mean,
                              has_spread ? run->results.deviation : NULL, &written);
}

/* Large files take seconds each: a stop is looked for between them. */
static RpinnStatus check_stop(RpinnContext *context, const RpinnRun *run) {
  return rpinn_run_is_stopped(context, run) ? rpinn_fail_interrupted(context) : RPINN_OK;
}

static RpinnStatus make_files(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  rpinn_driver_log(driver, "the results are being made");
  RPINN_TRY(rpinn_run_make_results(context, run, true));
  RPINN_TRY(check_stop(context, run));
  RPINN_TRY(write_image(context, run));
  RPINN_TRY(check_stop(context, run));
  RPINN_TRY(rpinn_run_write_summary(context, run));
  rpinn_driver_log(driver, "the results are made");
  return RPINN_OK;
}

/* All draws are in the store: a run that is stopped here makes its files when it is resumed. */
static RpinnStatus finish(RpinnContext *context, RpinnDriver *driver) {
  RpinnStatus status = make_files(context, driver);
  if (status != RPINN_ERROR_INTERRUPTED) return status;
  rpinn_context_clear_error(context);
  driver->interrupted = true;
  return RPINN_OK;
}

/* ---- the whole ---- */

/* The folder and the store are the run's, and say what it is about. */
/* To the user and to run.log. */
static RpinnStatus advise(RpinnContext *context, RpinnDriver *driver) {
  RpinnText line = {0};
  RpinnStatus status = rpinn_posterior_advise(context, driver->run->posteriors[0], &line);
  if (status == RPINN_OK && line.failed) status = rpinn_fail_memory(context);
  if (status == RPINN_OK && line.length) {
    rpinn_log(context, RPINN_LOG_WARNING, "%s", line.bytes);
    rpinn_driver_log(driver, "%s", line.bytes);
  }
  rpinn_text_free(&line);
  return status;
}

static RpinnStatus begin(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  driver->has_past = driver->options->resume || driver->options->learnt;
  RPINN_TRY(rpinn_run_folder_open(context, driver));
  RPINN_TRY(rpinn_run_settle_prior(context, driver));
  RPINN_TRY(open_store(context, driver));
  RPINN_TRY(rpinn_scratch_rescue(context, driver));
  RPINN_TRY(rpinn_rank_stores_collect(context, driver));
  RPINN_TRY(rpinn_scratch_begin_session(context, driver));
  RPINN_TRY(rpinn_run_check_resumed(context, driver));
  RPINN_TRY(rpinn_run_note_shard(context, driver));
  RPINN_TRY(rpinn_run_folder_open_log(context, driver));
  RPINN_TRY(rpinn_run_note_prior(context, driver));
  rpinn_driver_log(
      driver, "rpinn %s: %s problem %s, method %s, %llu samples, backend %s %s, %zu threads, seed %llu",
      rpinn_version(), driver->is_new ? "new" : "resumed", run->problem->name,
      run->problem->settings.values[RPINN_SETTING_METHOD].text, (unsigned long long)run->num_samples,
      rpinn_posterior_backend_name(run->posteriors[0]), rpinn_run_precision_name(run), driver->num_threads,
      (unsigned long long)run->posteriors[0]->seed);
  if (!rpinn_member_store_is_locked(run->store)) rpinn_driver_log(driver, no_lock, run->folder);
  RPINN_TRY(advise(context, driver));
  return rpinn_posterior_save(context, run->posteriors[0], run->folder);
}

static bool is_stopped(const RpinnDriver *driver) {
  return driver->interrupted || driver->out_of_time;
}

static RpinnStatus make_draws(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets) {
  RPINN_TRY(rpinn_run_learn_noise(context, driver, targets));
  if (!driver->interrupted) RPINN_TRY(rpinn_run_start_from_map(context, driver, targets));
  if (!driver->interrupted) RPINN_TRY(rpinn_run_leave_learnt(context, driver));
  if (!driver->interrupted) RPINN_TRY(rpinn_run_find_pilot(context, driver));
  if (rpinn_run_is_corrected(driver->run)) rpinn_run_say_slow_chains(context, driver, targets);
  if (!driver->interrupted) RPINN_TRY(driver->maker->make_draws(context, driver, targets));
  if (!is_stopped(driver)) RPINN_TRY(rpinn_run_settle_correction(context, driver, targets));
  if (!driver->interrupted) RPINN_TRY(rpinn_run_leave_learnt(context, driver));
  if (!driver->interrupted) RPINN_TRY(rpinn_run_correct_members(context, driver, targets));
  RPINN_TRY(rpinn_continuations_end(context, driver));
  RPINN_TRY(rpinn_scratch_end_session(context, driver));
  driver->run->out_of_time = driver->out_of_time;
  driver->run->is_partial = driver->is_partial;
  if (driver->out_of_time) rpinn_driver_log(driver, "the time limit is reached");
  return count_seconds(context, driver);
}

/* Of a rank that is not the first: in its own store, by what rank 0 has learnt. */
static RpinnStatus make_draws_for_others(RpinnContext *context, RpinnDriver *driver,
                                         const RpinnMemberTarget *targets) {
  driver->is_new = driver->has_past = true;
  RPINN_TRY(rpinn_run_settle_prior(context, driver));
  RPINN_TRY(open_store(context, driver));
  RPINN_TRY(rpinn_run_note_prior(context, driver));
  RPINN_TRY(rpinn_run_learn_noise(context, driver, targets));
  if (!driver->interrupted) RPINN_TRY(rpinn_run_start_from_map(context, driver, targets));
  if (!driver->interrupted) RPINN_TRY(driver->maker->make_draws(context, driver, targets));
  return rpinn_run_hand_in(context, driver);
}

static RpinnStatus follow(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets) {
  bool is_told;
  snprintf(driver->run->folder, sizeof driver->run->folder, "%s", driver->options->folder);
  RPINN_TRY(rpinn_scratch_follow(context, driver, &is_told));
  if (is_told) RPINN_TRY(rpinn_run_await_learnt(context, driver, &is_told));
  if (is_told) RPINN_TRY(make_draws_for_others(context, driver, targets));
  if (is_told) RPINN_TRY(rpinn_continuations_follow(context, driver, targets));
  return rpinn_ranks_check(context, driver->options->ranks);
}

static RpinnStatus perform(RpinnContext *context, RpinnDriver *driver) {
  RpinnMemberTarget *targets;
  if (!rpinn_run_follows(driver)) RPINN_TRY(rpinn_run_check_split(context, driver));
  RPINN_TRY(rpinn_run_check_ranks(context, driver));
  RPINN_TRY(rpinn_scratch_check(context, driver));
  RPINN_TRY(rpinn_run_targets_make(context, driver, &targets));
  if (rpinn_run_follows(driver)) return follow(context, driver, targets);
  RPINN_TRY(begin(context, driver));
  RPINN_TRY(make_draws(context, driver, targets));
  if (!driver->interrupted)
    RPINN_TRY(rpinn_run_is_shard(driver->run) ? rpinn_run_describe_shard(context, driver)
                                              : finish(context, driver));
  RPINN_TRY(rpinn_ranks_check(context, driver->options->ranks));
  if (driver->interrupted) rpinn_driver_log(driver, "interrupted");
  driver->run->interrupted = driver->interrupted;
  return RPINN_OK;
}

/* Nobody makes the run any more. */
static void let_go(RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  rpinn_member_store_close(run->store);
  run->store = NULL;
  run->wants_end = NULL;
  rpinn_run_folder_close(driver);
}

/* The run of a driver that is prepared, or could not be. */
static RpinnStatus make(RpinnContext *context, RpinnStatus status, RpinnDriver *driver, RpinnRun **run) {
  if (status == RPINN_OK && !rpinn_blas_is_shareable() &&
      (size_t)driver->run->problem->settings.values[RPINN_SETTING_THREADS].number != 1)
    rpinn_log(context, RPINN_LOG_WARNING,
              "this OpenBLAS is a serial build, in which threads disturb each other: the run has one thread "
              "(the pthread build allows more)");
  if (status == RPINN_OK) status = rpinn_blas_reserve(context, driver->num_threads);
  if (status == RPINN_OK) status = perform(context, driver);
  if (status == RPINN_ERROR_INTERRUPTED && rpinn_ranks_check(context, driver->options->ranks) != RPINN_OK)
    status = context->error.status; /* a rank that has failed is why all others stopped */
  if (status == RPINN_ERROR_MEMORY && context->error.status != status)
    rpinn_fail_memory(context); /* targets report no message of their own */
  if (status != RPINN_OK) rpinn_driver_log(driver, "failed: %s", context->error.message);
  *run = driver->run;
  if (*run) let_go(driver);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_run_destroy(*run);
  *run = NULL;
  return status;
}

RpinnStatus rpinn_run(RpinnContext *context, const RpinnProblem *problem, const RpinnRunOptions *options,
                      RpinnRun **run) {
  RpinnDriver driver;
  RpinnRankOptions own;
  if (options->ranks) rpinn_rank_options_make(options, &own);
  RpinnStatus status =
      rpinn_driver_prepare(context, problem, options->ranks ? &own.options : options, &driver);
  return make(context, status, &driver, run);
}

RpinnStatus rpinn_run_from_store(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnRunOptions *options, bool is_partial, RpinnRun **run) {
  RpinnDriver driver;
  RpinnStatus status = rpinn_driver_prepare(context, problem, options, &driver);
  driver.shard = rpinn_no_shard;
  driver.is_partial = is_partial;
  return make(context, status, &driver, run);
}
