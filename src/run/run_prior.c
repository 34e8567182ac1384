/* The scale of the prior before the first draw: as given, as an earlier session chose it, or chosen now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prior_record.h"
#include "run_progress.h"

static const char scale_key[] = "prior_scale", curve_key[] = "prior_choice";

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

/* The curve of an earlier session; stays empty where no scale was chosen in this folder, or none can be read. */
static RpinnStatus load_curve(RpinnContext *context, RpinnRun *run, RpinnMemberStore *store) {
  char *text = NULL;
  const RpinnJsonValue *value;
  RPINN_TRY(rpinn_member_store_get_text(context, store, curve_key, &text));
  if (!text) return RPINN_OK;
  RpinnArena *arena = rpinn_arena_create();
  RpinnStatus status = arena ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK)
    status = rpinn_json_parse(context, arena, run->folder.path, text, strlen(text), &value);
  if (status == RPINN_OK && !rpinn_prior_choice_read(value, &run->prior)) {
    rpinn_prior_choice_free(&run->prior);
    run->prior.num_trials = 0;
  }
  rpinn_arena_destroy(arena);
  free(text);
  return status;
}

RpinnStatus rpinn_run_load_prior(RpinnContext *context, RpinnRun *run) {
  return load_curve(context, run, run->store);
}

/* What an earlier session chose; 0: nothing. */
static RpinnStatus look_up(RpinnContext *context, RpinnRun *run, double *scale) {
  char path[RPINN_PATH_SIZE], *text = NULL;
  RpinnMemberStore *store;
  *scale = 0;
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder.path);
  if (run->folder.is_new || access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = rpinn_member_store_get_text(context, store, scale_key, &text);
  if (status == RPINN_OK && text) status = load_curve(context, run, store);
  rpinn_member_store_close(store);
  RPINN_TRY(status);
  if (text && !rpinn_number_parse(text, scale)) *scale = 0;
  free(text);
  return RPINN_OK;
}

/* The choice as the caller of the run sees it. */
typedef struct Watch {
  RpinnRun *run;
  RpinnRunProgress progress;
} Watch;

static bool is_stopped(void *user) {
  const RpinnRunOptions *options = ((Watch *)user)->run->options;
  return options && options->interrupted && options->interrupted(options->user);
}

/* Small problems are done before anybody wonders. */
static void report(void *user, uint64_t done, uint64_t total) {
  Watch *watch = user;
  if (!watch->run->options || rpinn_run_folder_seconds(&watch->run->folder) < 1) return;
  watch->progress.done = watch->progress.done_here = done;
  watch->progress.total = total;
  rpinn_run_progress_report(&watch->progress, false);
}

static RpinnStatus choose(RpinnContext *context, RpinnRun *run, RpinnScaleRule rule) {
  Watch watch = {run, {.run = run, .unit = "searches for the scale of the prior"}};
  RpinnPriorChoiceOptions options = {.rule = rule,
                                     .at_minimum = run->method->prior_at_minimum,
                                     .num_threads = run->num_threads,
                                     .interrupted = is_stopped,
                                     .progress = report,
                                     .user = &watch};
  RPINN_TRY(rpinn_prior_choose(context, run->posteriors[0], &options, &run->prior));
  return settle(context, run, rule, run->prior.trials[run->prior.chosen].scale);
}

RpinnStatus rpinn_run_settle_prior(RpinnContext *context, RpinnRun *run) {
  RpinnScaleRule rule = run->posteriors[0]->sigmas.rule;
  double scale;
  if (rule == RPINN_SCALE_GIVEN) return RPINN_OK;
  RPINN_TRY(look_up(context, run, &scale));
  return scale > 0 ? settle(context, run, rule, scale) : choose(context, run, rule);
}

/* The scale comes last: a session that finds it finds all. */
static RpinnStatus save_choice(RpinnContext *context, RpinnRun *run) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_prior_choice_write(&run->prior, &json);
  rpinn_json_close(&json, '}');
  RpinnStatus status = text.failed ? rpinn_fail_memory(context)
                                   : rpinn_member_store_set_text(context, run->store, curve_key, text.bytes);
  rpinn_text_free(&text);
  RPINN_TRY(status);
  if (run->prior.theta)
    RPINN_TRY(rpinn_draw_store_put_vector(context, run->store, rpinn_choice_state_key(),
                                          run->posteriors[0]->model.num_parameters, run->prior.theta));
  return rpinn_member_store_set_text(
      context, run->store, scale_key,
      run->posteriors[0]->problem->settings.values[RPINN_SETTING_PRIOR_SCALE].text);
}

RpinnStatus rpinn_run_note_prior(RpinnContext *context, RpinnRun *run) {
  if (!run->prior.num_trials || !run->prior.is_fresh) return rpinn_run_load_prior(context, run);
  rpinn_run_folder_log(&run->folder, "the scale of the prior, chosen by %s, is %.4g",
                       rpinn_scale_rule_names[run->prior.rule], run->posteriors[0]->sigmas.prior);
  RPINN_TRY(save_choice(context, run));
  return rpinn_member_store_flush(context, run->store);
}
