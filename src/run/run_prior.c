/* The scale of the prior before the first draw: as given, as an earlier session chose it, or chosen now. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "prior_choice.h"
#include "run_state.h"

static const char scale_key[] = "prior_scale", curve_key[] = "prior_choice";

static RpinnStatus settle(RpinnContext *context, RpinnRun *run, RpinnScaleRule rule, double scale) {
  for (size_t i = 0; i < run->num_posteriors; i++)
    RPINN_TRY(rpinn_posterior_choose_prior_scale(context, run->posteriors[i], rule, scale));
  return RPINN_OK;
}

/* What an earlier session chose; 0: nothing. */
static RpinnStatus look_up(RpinnContext *context, const RpinnRun *run, double *scale) {
  char path[RPINN_PATH_SIZE], *text = NULL;
  RpinnMemberStore *store;
  *scale = 0;
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder.path);
  if (run->folder.is_new || access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = rpinn_member_store_get_text(context, store, scale_key, &text);
  rpinn_member_store_close(store);
  RPINN_TRY(status);
  if (text && !rpinn_number_parse(text, scale)) *scale = 0;
  free(text);
  return RPINN_OK;
}

static void write_curve(const RpinnPriorChoice *choice, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "rule", rpinn_scale_rule_names[choice->rule]);
  rpinn_json_number(&json, "scale", choice->trials[choice->chosen].scale);
  rpinn_json_open(&json, "trials", '[');
  for (size_t t = 0; t < choice->num_trials; t++) {
    const RpinnScaleTrial *trial = &choice->trials[t];
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_number(&json, "scale", trial->scale);
    rpinn_json_number(&json, "energy", trial->energy);
    rpinn_json_number(&json, "log_evidence", trial->log_evidence);
    rpinn_json_number(&json, "leave_one_out", trial->leave_one_out);
    rpinn_json_number(&json, "misfit", trial->misfit);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
}

static RpinnStatus choose(RpinnContext *context, RpinnRun *run, RpinnScaleRule rule) {
  RpinnPriorChoiceOptions options = {.rule = rule,
                                     .num_threads = run->num_threads,
                                     .interrupted = run->options->interrupted,
                                     .user = run->options->user};
  RpinnPriorChoice choice;
  RPINN_TRY(rpinn_prior_choose(context, run->posteriors[0], &options, &choice));
  double scale = choice.trials[choice.chosen].scale;
  write_curve(&choice, &run->prior_choice);
  free(choice.theta);
  if (run->prior_choice.failed) return rpinn_fail_memory(context);
  return settle(context, run, rule, scale);
}

RpinnStatus rpinn_run_settle_prior(RpinnContext *context, RpinnRun *run) {
  RpinnScaleRule rule = run->posteriors[0]->sigmas.rule;
  double scale;
  if (rule == RPINN_SCALE_GIVEN) return RPINN_OK;
  RPINN_TRY(look_up(context, run, &scale));
  return scale > 0 ? settle(context, run, rule, scale) : choose(context, run, rule);
}

RpinnStatus rpinn_run_note_prior(RpinnContext *context, RpinnRun *run) {
  if (!run->prior_choice.length) return RPINN_OK;
  rpinn_run_folder_log(&run->folder, "the scale of the prior, chosen by %s, is %.4g",
                       rpinn_scale_rule_names[run->posteriors[0]->problem->chosen_by],
                       run->posteriors[0]->sigmas.prior);
  RPINN_TRY(rpinn_member_store_set_text(context, run->store, curve_key, run->prior_choice.bytes));
  RPINN_TRY(rpinn_member_store_set_text(
      context, run->store, scale_key,
      run->posteriors[0]->problem->settings.values[RPINN_SETTING_PRIOR_SCALE].text));
  return rpinn_member_store_flush(context, run->store);
}
