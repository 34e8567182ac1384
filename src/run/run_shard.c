#include "run_shard.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "learnt_store.h"
#include "maker.h"
#include "shard_record.h"

static RpinnStatus check_learnt(RpinnContext *context, const RpinnDriver *driver) {
  const char *path = driver->options->learnt;
  if (!path) return RPINN_OK;
  if (!rpinn_run_is_shard(driver->run))
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--learnt"},
        "this is for shards, and the whole run is asked for; expected --shard I/N beside it");
  return access(path, R_OK) == 0 ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", path);
}

RpinnStatus rpinn_run_check_split(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  const char *method = run->problem->settings.values[RPINN_SETTING_METHOD].text;
  RPINN_TRY(check_learnt(context, driver));
  if (!rpinn_run_is_shard(run)) return RPINN_OK;
  if (driver->maker->splits) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--shard"},
                       "method %s cannot be made in shards: %s; expected it without --shard", method,
                       run->method->has_one_draw ? "it has one draw"
                       : run->method->moves_together
                           ? "its draws move together, each depends on all others"
                           : "its draws come cheaply from one fit, which all shards would repeat");
}

static RpinnStatus fail_other(RpinnContext *context, const RpinnDriver *driver, RpinnShard there) {
  RpinnShard asked = driver->run->shard;
  char found[RPINN_SHARD_TEXT], expected[RPINN_SHARD_TEXT];
  rpinn_shard_write(asked, found);
  rpinn_shard_write(there, expected);
  RpinnPlace place = {.file = driver->run->folder};
  if (!there.count)
    return rpinn_fail_at(context, place,
                         "this folder holds a whole run; found --shard %s, expected none, or another folder",
                         found);
  return rpinn_fail_at(
      context, place,
      "this folder holds shard %s of a run; found %s%s, expected --shard %s, or another folder", expected,
      asked.count ? "--shard " : "no --shard", asked.count ? found : "", expected);
}

static RpinnStatus compare(RpinnContext *context, const RpinnDriver *driver, const RpinnShardRecord *there,
                           const RpinnShardRecord *now) {
  if (there->shard.number != now->shard.number || there->shard.count != now->shard.count)
    return fail_other(context, driver, there->shard);
  if (!strcmp(there->version, now->version)) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = driver->run->folder},
                       "this shard was begun by rpinn %.40s, and this is %.40s; expected one version for all "
                       "shards of a run",
                       there->version, now->version);
}

/* A session that was killed before it noted anything has left a store that says nothing. */
static RpinnStatus is_untouched(RpinnContext *context, const RpinnDriver *driver, bool *untouched) {
  uint64_t behind_last;
  *untouched = driver->is_new;
  if (driver->is_new) return RPINN_OK;
  RPINN_TRY(rpinn_draw_store_longest(context, driver->run->store, &rpinn_all_members, &behind_last));
  *untouched = behind_last == 0;
  return RPINN_OK;
}

RpinnStatus rpinn_run_check_shard(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  RpinnShardRecord there, now = {0};
  bool untouched;
  RPINN_TRY(rpinn_shard_record_read(context, run->store, &there));
  RpinnStatus status = is_untouched(context, driver, &untouched);
  if (status == RPINN_OK && there.shard.count && run->shard.count) {
    status = rpinn_shard_record_make(context, run->problem, run->shard, run->num_samples, &now);
    if (status == RPINN_OK) status = compare(context, driver, &there, &now);
  } else if (status == RPINN_OK && (there.shard.count || (run->shard.count && !untouched))) {
    status = fail_other(context, driver, there.shard);
  }
  rpinn_shard_record_free(&there);
  rpinn_shard_record_free(&now);
  return status;
}

/* Which shard it is comes last: a session that finds it finds all. */
static RpinnStatus write_record(RpinnContext *context, RpinnMemberStore *store,
                                const RpinnShardRecord *record) {
  char shard[RPINN_SHARD_TEXT], samples[32];
  rpinn_shard_write(record->shard, shard);
  snprintf(samples, sizeof samples, "%llu", (unsigned long long)record->samples);
  RPINN_TRY(rpinn_member_store_set_text(context, store, RPINN_SHARD_SAMPLES_KEY, samples));
  RPINN_TRY(rpinn_member_store_set_text(context, store, RPINN_SHARD_SETTINGS_KEY, record->settings));
  RPINN_TRY(rpinn_member_store_set_text(context, store, RPINN_SHARD_VERSION_KEY, record->version));
  RPINN_TRY(rpinn_member_store_set_text(context, store, RPINN_SHARD_MACHINE_KEY, record->machine));
  RPINN_TRY(rpinn_member_store_set_text(context, store, RPINN_SHARD_KEY, shard));
  return rpinn_member_store_flush(context, store);
}

RpinnStatus rpinn_run_note_shard(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  RpinnShardRecord record;
  if (!rpinn_run_is_shard(run)) return RPINN_OK;
  RpinnStatus status = rpinn_shard_record_make(context, run->problem, run->shard, run->num_samples, &record);
  if (status == RPINN_OK) status = write_record(context, run->store, &record);
  rpinn_shard_record_free(&record);
  return status;
}

RpinnStatus rpinn_run_leave_learnt(RpinnContext *context, const RpinnDriver *driver) {
  RpinnShard shard = driver->run->shard;
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/learnt.db", driver->run->folder);
  return shard.count && shard.number <= 1 ? rpinn_learnt_leave(context, driver, path) : RPINN_OK;
}

RpinnStatus rpinn_run_describe_shard(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  RpinnShardRecord record;
  RpinnShardState state;
  RpinnStatus status = rpinn_shard_record_read(context, run->store, &record);
  if (status == RPINN_OK)
    status = rpinn_shard_state_find(context, run->store, &run->plan, run->shard, &state);
  if (status == RPINN_OK)
    status = rpinn_shard_describe(context, run->problem, &record, &state, &run->table, &run->json);
  rpinn_shard_record_free(&record);
  return status;
}
