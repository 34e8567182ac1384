#include "shard_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas_threads.h"
#include "folders.h"
#include "json_writer.h"
#include "method.h"
#include "number_text.h"
#include "problem.h"
#include "rpinn/version.h"
#include "store_copy.h"

/* ---- in the store ---- */

static char *copy(const char *text) {
  size_t size = strlen(text) + 1;
  char *result = malloc(size);
  return result ? memcpy(result, text, size) : NULL;
}

/* Neither how much nor how long or on how many threads. */
static void list_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  for (size_t k = 0; k < RPINN_NUM_SETTINGS; k++) {
    const RpinnSettingDefinition *definition = rpinn_setting_definition((RpinnSetting)k);
    if (definition->role == RPINN_SETTING_FREE && k != RPINN_SETTING_SAMPLES && k != RPINN_SETTING_THREADS &&
        k != RPINN_SETTING_TIME_LIMIT)
      rpinn_text_append(text, "%s: %s\n", definition->name, settings->values[k].text);
  }
}

RpinnStatus rpinn_shard_record_make(RpinnContext *context, const RpinnProblem *problem, RpinnShard shard,
                                    uint64_t samples, RpinnShardRecord *record) {
  RpinnText settings = {0};
  list_settings(&problem->settings, &settings);
  *record = (RpinnShardRecord){.shard = shard,
                               .samples = samples,
                               .settings = settings.bytes,
                               .version = copy(rpinn_version()),
                               .machine = copy(rpinn_blas_core_name())};
  return settings.failed || !record->settings || !record->version || !record->machine
             ? rpinn_fail_memory(context)
             : RPINN_OK;
}

void rpinn_shard_record_free(RpinnShardRecord *record) {
  free(record->settings);
  free(record->version);
  free(record->machine);
  *record = (RpinnShardRecord){0};
}

static RpinnStatus get_text(RpinnContext *context, RpinnMemberStore *store, const char *key, char **text) {
  RPINN_TRY(rpinn_member_store_get_text(context, store, key, text));
  if (*text) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the store of this shard is damaged: it has no '%s'", key);
}

static RpinnStatus get_samples(RpinnContext *context, RpinnMemberStore *store, uint64_t *samples) {
  char *text = NULL;
  double number = 0;
  RPINN_TRY(get_text(context, store, RPINN_SHARD_SAMPLES_KEY, &text));
  bool is_number = rpinn_number_parse(text, &number) && number >= 1 && number <= 1e9;
  *samples = is_number ? (uint64_t)number : 0;
  free(text);
  return is_number ? RPINN_OK
                   : rpinn_fail(context, RPINN_ERROR_INPUT,
                                "the store of this shard is damaged: it counts no samples");
}

RpinnStatus rpinn_shard_record_read(RpinnContext *context, RpinnMemberStore *store,
                                    RpinnShardRecord *record) {
  char *text = NULL;
  *record = (RpinnShardRecord){0};
  RPINN_TRY(rpinn_member_store_get_text(context, store, RPINN_SHARD_KEY, &text));
  if (!text) return RPINN_OK;
  RpinnStatus status = rpinn_shard_parse(context, text, &record->shard);
  free(text);
  if (status == RPINN_OK) status = get_samples(context, store, &record->samples);
  if (status == RPINN_OK) status = get_text(context, store, RPINN_SHARD_SETTINGS_KEY, &record->settings);
  if (status == RPINN_OK) status = get_text(context, store, RPINN_SHARD_VERSION_KEY, &record->version);
  if (status == RPINN_OK) status = get_text(context, store, RPINN_SHARD_MACHINE_KEY, &record->machine);
  if (status != RPINN_OK) rpinn_shard_record_free(record);
  return status;
}

/* ---- in a folder ---- */

static RpinnStatus read_folder(RpinnContext *context, const char *folder, RpinnShard *shard) {
  char path[RPINN_PATH_SIZE];
  RpinnMemberStore *store;
  RpinnShardRecord record;
  snprintf(path, sizeof path, "%.4000s/checkpoint.db", folder);
  if (access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = rpinn_shard_record_read(context, store, &record);
  *shard = record.shard;
  rpinn_shard_record_free(&record);
  rpinn_member_store_close(store);
  return status;
}

bool rpinn_folder_holds_shard(const char *folder, RpinnShard *shard) {
  RpinnContext *context = rpinn_context_create(); /* whose failures nobody hears of */
  *shard = (RpinnShard){0};
  bool is_read = context && read_folder(context, folder, shard) == RPINN_OK;
  rpinn_context_destroy(context);
  return is_read && shard->count;
}

RpinnStatus rpinn_refuse_shard(RpinnContext *context, const char *folder) {
  RpinnShard shard;
  if (!rpinn_folder_holds_shard(folder, &shard)) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                       "this is shard %zu/%zu of a run, and has no results of its own; rpinn merge with the "
                       "folders of all %zu shards and --out RUN makes the run",
                       shard.number, shard.count, shard.count);
}

/* ---- how far it is ---- */

static RpinnStatus has_state(RpinnContext *context, RpinnMemberStore *store, uint64_t key, bool *has) {
  uint64_t next;
  bool found;
  RPINN_TRY(rpinn_member_store_next_state(context, store, key, &next, &found));
  *has = found && next == key;
  return RPINN_OK;
}

RpinnStatus rpinn_shard_state_find(RpinnContext *context, RpinnMemberStore *store, const RpinnDrawPlan *plan,
                                   RpinnShard shard, RpinnShardState *state) {
  char *seconds = NULL;
  uint64_t num_starts = rpinn_draw_plan_num_starts(plan), finished;
  *state = (RpinnShardState){.num_tasks = rpinn_shard_size(shard, num_starts)};
  state->num_asked = state->num_tasks * (plan->has_chains ? plan->num_draws : 1);
  state->is_complete = true;
  if (plan->is_corrected && !shard.number)
    RPINN_TRY(has_state(context, store, rpinn_correction_state_key(), &state->is_complete));
  for (uint64_t chain = 0; plan->has_chains && chain < num_starts; chain++) {
    uint64_t made = 0;
    if (!rpinn_shard_owns(shard, chain)) continue;
    RPINN_TRY(rpinn_draw_store_count_task(context, store, plan, chain, &made));
    state->num_draws += made;
  }
  if (!plan->has_chains)
    RPINN_TRY(rpinn_draw_store_count_share(context, store, plan, shard, &state->num_draws));
  if (!plan->has_chains)
    RPINN_TRY(rpinn_draw_store_count_members(context, store, plan, &finished, &state->num_failed));
  if (state->num_draws < state->num_asked) state->is_complete = false;
  RPINN_TRY(rpinn_member_store_get_text(context, store, RPINN_SECONDS_KEY, &seconds));
  state->seconds = seconds ? rpinn_number_read(seconds, NULL) : 0;
  free(seconds);
  return RPINN_OK;
}

static void write_table(const RpinnProblem *problem, const RpinnShardRecord *record,
                        const RpinnShardState *state, RpinnText *table) {
  const RpinnMethod *method = rpinn_problem_method(problem);
  unsigned long long draws = state->num_draws, asked = state->num_asked, chains = state->num_tasks;
  rpinn_text_append(table, "%s, method %s, shard %zu/%zu of a run: ", problem->name,
                    problem->settings.values[RPINN_SETTING_METHOD].text, record->shard.number,
                    record->shard.count);
  if (!record->shard.number)
    rpinn_text_append(table, "what all shards need is %slearnt", state->is_complete ? "" : "not yet ");
  else if (method->has_chains)
    rpinn_text_append(table, "%llu of %llu draws in %llu chain%s", draws, asked, chains,
                      chains == 1 ? "" : "s");
  else
    rpinn_text_append(table, "%llu of %llu %ss", draws, asked, method->unit);
  if (state->num_failed) rpinn_text_append(table, ", %llu failed", (unsigned long long)state->num_failed);
  rpinn_text_append(table, ", %.1f s\n", state->seconds);
  if (!state->is_complete) rpinn_text_append(table, "  it is not complete: --resume goes on with it\n");
  rpinn_text_append(
      table,
      "  it has no results of its own: rpinn merge with the folders of all %zu shards and --out "
      "RUN makes the run\n",
      record->shard.count);
}

static void write_json(const RpinnProblem *problem, const RpinnShardRecord *record,
                       const RpinnShardState *state, RpinnText *text) {
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", problem->name);
  rpinn_json_text(&json, "method", problem->settings.values[RPINN_SETTING_METHOD].text);
  rpinn_json_number(&json, "shard", (double)record->shard.number);
  rpinn_json_number(&json, "shards", (double)record->shard.count);
  rpinn_json_number(&json, "samples", (double)record->samples);
  rpinn_json_number(&json, "tasks", (double)state->num_tasks);
  rpinn_json_number(&json, "draws", (double)state->num_draws);
  rpinn_json_number(&json, "draws_asked", (double)state->num_asked);
  rpinn_json_number(&json, "failed", (double)state->num_failed);
  rpinn_json_boolean(&json, "complete", state->is_complete);
  rpinn_json_number(&json, "wall_seconds", state->seconds);
  rpinn_json_text(&json, "version", record->version);
  rpinn_json_text(&json, "machine", record->machine);
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

RpinnStatus rpinn_shard_describe(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnShardRecord *record, const RpinnShardState *state,
                                 RpinnText *table, RpinnText *json) {
  write_table(problem, record, state, table);
  write_json(problem, record, state, json);
  return table->failed || json->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

static RpinnStatus describe_store(RpinnContext *context, const RpinnProblem *problem, RpinnMemberStore *store,
                                  RpinnText *table, RpinnText *json) {
  RpinnShardRecord record;
  RpinnShardState state;
  RpinnDrawPlan plan = rpinn_problem_plan(problem);
  RPINN_TRY(rpinn_shard_record_read(context, store, &record));
  plan.num_draws = record.samples;
  RpinnStatus status = rpinn_shard_state_find(context, store, &plan, record.shard, &state);
  if (status == RPINN_OK) status = rpinn_shard_describe(context, problem, &record, &state, table, json);
  rpinn_shard_record_free(&record);
  return status;
}

RpinnStatus rpinn_shard_summary(RpinnContext *context, const char *folder, RpinnText *table,
                                RpinnText *json) {
  char path[RPINN_PATH_SIZE];
  RpinnProblem *problem = NULL;
  RpinnMemberStore *store = NULL;
  snprintf(path, sizeof path, "%.4000s/run.yaml", folder);
  RPINN_TRY(rpinn_problem_load(context, path, NULL, &problem));
  snprintf(path, sizeof path, "%.4000s/checkpoint.db", folder);
  RpinnStatus status = rpinn_member_store_open_existing(context, path, &store);
  if (status == RPINN_OK) status = describe_store(context, problem, store, table, json);
  rpinn_member_store_close(store);
  rpinn_problem_destroy(problem);
  return status;
}
