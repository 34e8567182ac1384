#include "member_correction.h"

#include <math.h>
#include <stdlib.h>

#include "finished_run.h"
#include "number_text.h"
#include "run_record.h"
#include "saved_state.h"
#include "unknown_noise.h"

bool rpinn_run_is_corrected(const RpinnRun *run) {
  return run->plan.is_corrected;
}

/* ---- in the store ---- */

static const RpinnStateForm form = {"pilot of a correction", 0x434f525245435431, 2, 2 * sizeof(uint64_t)};

/* Numbers of the metric. */
static size_t metric_length(const RpinnRun *run) {
  size_t length = rpinn_posterior_num_drawn(run->posteriors[0]);
  RpinnMetric metric = (RpinnMetric)rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_METRIC);
  return metric == RPINN_METRIC_UNIT ? 0 : metric == RPINN_METRIC_DENSE ? length * length : length;
}

static void pass_fields(RpinnStateCursor *cursor, size_t length, RpinnMemberCorrection *correction) {
  double stage = (double)correction->stage, iterations = (double)correction->length;
  double *const numbers[] = {&stage,
                             &iterations,
                             &correction->step,
                             &correction->budget,
                             &correction->nested_rhat,
                             &correction->worst,
                             &correction->gradients,
                             &correction->pilot_gradients,
                             &correction->num_members};
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) rpinn_state_numbers(cursor, numbers[k], 1);
  if (length) rpinn_state_numbers(cursor, correction->inverse_metric, length);
  if (cursor->use != RPINN_STATE_RESTORE) return;
  correction->stage = (RpinnPilotStage)stage;
  correction->length = (uint64_t)iterations;
}

static size_t state_size(const RpinnRun *run) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  RpinnMemberCorrection nothing = {0};
  pass_fields(&cursor, metric_length(run), &nothing);
  return rpinn_state_size(&form, cursor.position);
}

static void find_owner(const RpinnRun *run, uint64_t owner[2]) {
  owner[0] = rpinn_posterior_num_drawn(run->posteriors[0]);
  owner[1] = metric_length(run);
}

RpinnStatus rpinn_run_pack_correction(RpinnContext *context, RpinnRun *run, void **state, size_t *size) {
  uint64_t owner[2];
  *size = state_size(run);
  *state = malloc(*size);
  if (!*state) return rpinn_fail_memory(context);
  find_owner(run, owner);
  RpinnStateCursor cursor = rpinn_state_begin(&form, owner, *state, *size);
  pass_fields(&cursor, metric_length(run), &run->correction);
  rpinn_state_end(&cursor);
  return RPINN_OK;
}

static RpinnStatus find_seconds(RpinnContext *context, RpinnRun *run) {
  char *seconds = NULL;
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, RPINN_PILOT_SECONDS_KEY, &seconds));
  run->correction.pilot_seconds = seconds ? rpinn_number_read(seconds, NULL) : 0;
  free(seconds);
  return RPINN_OK;
}

static RpinnStatus restore(RpinnContext *context, void *user, const void *state, size_t size) {
  RpinnRun *run = user;
  uint64_t expected[2], owner[2];
  RpinnStateCursor cursor;
  find_owner(run, expected);
  RPINN_TRY(rpinn_state_header(context, &form, state, size, owner));
  if (owner[0] != expected[0] || owner[1] != expected[1])
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                         "what the pilot of this run's correction has found does not belong to its run.yaml");
  RPINN_TRY(rpinn_state_open(context, &form, state, size, state_size(run), &cursor));
  pass_fields(&cursor, metric_length(run), &run->correction);
  return RPINN_OK;
}

RpinnStatus rpinn_run_make_correction_room(RpinnContext *context, RpinnRun *run) {
  size_t length = metric_length(run);
  run->correction = (RpinnMemberCorrection){.nested_rhat = (double)NAN, .worst = -1};
  if (!length) return RPINN_OK;
  run->correction.inverse_metric = RPINN_ARENA_NEW(run->posteriors[0]->arena, double, length);
  return run->correction.inverse_metric ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_run_find_correction(RpinnContext *context, RpinnRun *run, bool *found) {
  RPINN_TRY(rpinn_draw_store_restore(context, run->store, rpinn_correction_state_key(), restore, run, found));
  if (!*found)
    RPINN_TRY(rpinn_draw_store_restore(context, run->store, rpinn_pilot_progress_key(), restore, run, found));
  return *found ? find_seconds(context, run) : RPINN_OK;
}

RpinnStatus rpinn_run_load_correction(RpinnContext *context, RpinnRun *run) {
  bool found;
  if (!rpinn_run_is_corrected(run)) return RPINN_OK;
  RPINN_TRY(rpinn_run_make_correction_room(context, run));
  RPINN_TRY(rpinn_run_find_correction(context, run, &found));
  if (found && run->correction.stage == RPINN_PILOT_DONE) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                       "this run has lost what the pilot of its correction found");
}

/* ---- for readers ---- */

bool rpinn_correction_forgets(const RpinnMemberCorrection *correction) {
  return correction->nested_rhat <= RPINN_FORGOTTEN_RHAT && correction->length >= RPINN_SHORTEST_CORRECTION;
}

void rpinn_run_name_worst(const RpinnRun *run, char *text, size_t size) {
  if (run->correction.worst < 0)
    rpinn_format(text, size, "log density");
  else
    rpinn_draw_outputs_name(&run->outputs, run->posteriors[0], (size_t)run->correction.worst, text, size);
}

void rpinn_run_correction_json(const RpinnRun *run, RpinnJson *json) {
  const RpinnMemberCorrection *correction = &run->correction;
  const RpinnSigmas *sigmas = &run->posteriors[0]->sigmas;
  char worst[128];
  if (!rpinn_run_is_corrected(run)) return;
  rpinn_run_name_worst(run, worst, sizeof worst);
  rpinn_json_open(json, "correction", '{');
  rpinn_json_text(json, "sampler", "nuts");
  rpinn_json_number(json, "start_scale", sigmas->start > 0 ? sigmas->start : sigmas->prior);
  rpinn_json_boolean(json, "forgets", rpinn_correction_forgets(correction));
  rpinn_json_number(json, "nested_rhat", correction->nested_rhat);
  rpinn_json_number(json, "nested_rhat_limit", RPINN_FORGOTTEN_RHAT);
  rpinn_json_text(json, "nested_rhat_of", worst);
  rpinn_json_number(json, "iterations", (double)correction->length);
  rpinn_json_number(json, "step_size", correction->step);
  rpinn_json_number(json, "budget", correction->budget);
  rpinn_json_number(json, "expected_gradients_per_member", correction->gradients);
  rpinn_json_number(json, "gradients", correction->spent_gradients);
  rpinn_json_number(json, "gradients_per_member",
                    correction->spent_gradients / (double)correction->num_draws);
  rpinn_json_number(json, "seconds", correction->spent_seconds);
  rpinn_json_number(json, "pilot_members", correction->num_members);
  rpinn_json_number(json, "pilot_gradients", correction->pilot_gradients);
  rpinn_json_number(json, "pilot_seconds", correction->pilot_seconds);
  rpinn_json_number(json, "acceptance", correction->acceptance);
  rpinn_json_number(json, "divergences", correction->divergences);
  rpinn_json_number(json, "members_with_divergences", (double)correction->num_divergent);
  rpinn_json_number(json, "saturations", correction->saturations);
  rpinn_json_close(json, '}');
}

void rpinn_correction_lines(const RpinnJsonValue *correction, RpinnText *table) {
  bool is_forgotten = rpinn_summary_flag(correction, "forgets");
  rpinn_text_append(
      table, "  corrected by NUTS: %.0f iterations of each member, nested R-hat %.3f of '%s'%s\n",
      rpinn_summary_number(correction, "iterations"), rpinn_summary_number(correction, "nested_rhat"),
      rpinn_summary_text(correction, "nested_rhat_of"),
      is_forgotten ? ": the start is forgotten" : ": the start is NOT forgotten");
  rpinn_text_append(
      table,
      "    price: %.0f gradients for each member in the mean, %.4g in all, %.1f s on one thread; "
      "and of the pilot %.4g, %.1f s\n",
      rpinn_summary_number(correction, "gradients_per_member"), rpinn_summary_number(correction, "gradients"),
      rpinn_summary_number(correction, "seconds"), rpinn_summary_number(correction, "pilot_gradients"),
      rpinn_summary_number(correction, "pilot_seconds"));
  rpinn_text_append(
      table, "    acceptance %.1f%%, step %.3g, %.0f divergences in the chains of %.0f members\n",
      100 * rpinn_summary_number(correction, "acceptance"), rpinn_summary_number(correction, "step_size"),
      rpinn_summary_number(correction, "divergences"),
      rpinn_summary_number(correction, "members_with_divergences"));
}
