#include "run_prior.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "blas_threads.h"
#include "maker.h"
#include "prior_choice.h"
#include "prior_draws.h"
#include "run_progress.h"

static const char scale_key[] = "prior_scale";

static RpinnStatus settle(RpinnContext *context, RpinnRun *run, RpinnScaleRule rule, double scale) {
  RpinnScaleCurve curve = rpinn_prior_choice_curve(&run->prior);
  size_t num_fields = run->problem->num_fields;
  double *factors = malloc((num_fields + 1) * sizeof *factors);
  RpinnStatus status = factors ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK) rpinn_prior_choice_factors(&run->prior, run->posteriors[0], factors);
  for (size_t i = 0; i < run->num_posteriors && status == RPINN_OK; i++)
    status = rpinn_posterior_choose_prior_scale(context, run->posteriors[i], rule, scale, &curve, factors);
  free(factors);
  return status;
}

/* What an earlier session chose, or a shard that has left it; 0: nothing. */
static RpinnStatus look_up(RpinnContext *context, const RpinnDriver *driver, double *scale) {
  RpinnRun *run = driver->run;
  char path[RPINN_PATH_SIZE], *text = NULL;
  RpinnMemberStore *store;
  *scale = 0;
  if (driver->is_new && !driver->options->learnt) return RPINN_OK;
  if (driver->is_new)
    snprintf(path, sizeof path, "%s", driver->options->learnt);
  else
    snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  if (access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = rpinn_member_store_get_text(context, store, scale_key, &text);
  if (status == RPINN_OK && text) status = rpinn_prior_choice_load(context, store, run->folder, &run->prior);
  rpinn_member_store_close(store);
  RPINN_TRY(status);
  if (text && !rpinn_number_parse(text, scale)) *scale = 0;
  free(text);
  return RPINN_OK;
}

/* The choice as the caller of the run sees it. */
typedef struct Watch {
  const RpinnDriver *driver;
  RpinnRunProgress progress;
} Watch;

static bool is_stopped(void *user) {
  const RpinnRunOptions *options = ((Watch *)user)->driver->options;
  return options->interrupted && options->interrupted(options->user);
}

/* Small problems are done before anybody wonders. */
static void report(void *user, uint64_t done, uint64_t total) {
  Watch *watch = user;
  if (rpinn_driver_seconds(watch->driver) < 1) return;
  watch->progress.done = watch->progress.done_here = done;
  watch->progress.total = total;
  rpinn_run_progress_report(&watch->progress, false);
}

static RpinnStatus choose(RpinnContext *context, RpinnDriver *driver, RpinnScaleRule rule) {
  RpinnRun *run = driver->run;
  Watch watch = {driver, {.driver = driver, .unit = "searches for the scale of the prior"}};
  RpinnPriorChoiceOptions options = {.rule = rule,
                                     .at_minimum = driver->maker->prior_at_minimum,
                                     .num_threads = driver->num_threads,
                                     .interrupted = is_stopped,
                                     .progress = report,
                                     .user = &watch};
  RPINN_TRY(rpinn_prior_choose(context, run->posteriors[0], &options, &run->prior));
  driver->has_chosen = true;
  return settle(context, run, rule, run->prior.trials[run->prior.chosen].scale);
}

RpinnStatus rpinn_run_settle_prior(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  RpinnScaleRule rule = run->posteriors[0]->sigmas.rule;
  double scale;
  if (rule == RPINN_SCALE_GIVEN) return RPINN_OK;
  RPINN_TRY(look_up(context, driver, &scale));
  return scale > 0 ? settle(context, run, rule, scale) : choose(context, driver, rule);
}

/* The scale comes last: a session that finds it finds all. */
static RpinnStatus save_choice(RpinnContext *context, RpinnRun *run) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_prior_choice_write(&run->prior, &json);
  rpinn_json_close(&json, '}');
  RpinnStatus status =
      text.failed ? rpinn_fail_memory(context)
                  : rpinn_member_store_set_text(context, run->store, RPINN_PRIOR_CHOICE_KEY, text.bytes);
  rpinn_text_free(&text);
  RPINN_TRY(status);
  if (run->prior.theta)
    RPINN_TRY(rpinn_member_store_put_state(context, run->store, rpinn_choice_state_key(), run->prior.theta,
                                           run->posteriors[0]->model.num_parameters * sizeof(double)));
  return rpinn_member_store_set_text(
      context, run->store, scale_key,
      run->posteriors[0]->problem->settings.values[RPINN_SETTING_PRIOR_SCALE].text);
}

RpinnStatus rpinn_run_note_prior(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  if (!driver->has_chosen) return rpinn_prior_choice_load(context, run->store, run->folder, &run->prior);
  rpinn_driver_log(driver, "the scale of the prior, chosen by %s, is %.4g",
                   rpinn_scale_rule_names[run->prior.rule], run->posteriors[0]->sigmas.prior);
  RPINN_TRY(save_choice(context, run));
  return rpinn_member_store_flush(context, run->store);
}

/* ---- the prior alone ---- */

/* Whom the choice reports to, and by which context it is stopped. */
typedef struct Caller {
  const RpinnContext *context;
  void (*progress)(void *user, const RpinnProgress *progress);
  void *user;
} Caller;

static bool caller_wants_end(void *user) {
  return rpinn_is_interrupted(((const Caller *)user)->context);
}

static void pass_on(void *user, const RpinnProgress *progress) {
  const Caller *caller = user;
  if (caller->progress) caller->progress(caller->user, progress);
}

RpinnStatus rpinn_run_draw_prior(RpinnContext *context, const RpinnProblem *problem,
                                 void (*progress)(void *user, const RpinnProgress *progress), void *user,
                                 RpinnRun **run) {
  Caller caller = {context, progress, user};
  RpinnRunOptions options = {.interrupted = caller_wants_end, .progress = pass_on, .user = &caller};
  RpinnDriver driver;
  RpinnStatus status = rpinn_driver_prepare(context, problem, &options, &driver);
  if (status == RPINN_OK) status = rpinn_blas_reserve(context, driver.num_threads);
  driver.is_new = true; /* nothing was chosen before */
  if (status == RPINN_OK) status = rpinn_run_settle_prior(context, &driver);
  if (status == RPINN_OK) status = rpinn_run_fill_by_prior(context, driver.run);
  *run = driver.run;
  if (*run) (*run)->wants_end = NULL;
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  return status;
}
