#include "task_shard.h"

#include <stdio.h>
#include <string.h>

#include "folders.h"
#include "json_reader.h"
#include "json_writer.h"
#include "part_file.h"
#include "rpinn/version.h"
#include "shard_folders.h"
#include "text.h"
#include "whole_file.h"

RpinnShard rpinn_many_shard(const RpinnManyOptions *options) {
  return options->shard ? options->shard->shard : (RpinnShard){0};
}

bool rpinn_task_shard_follows(const RpinnTaskShard *shard) {
  return rpinn_ranks_rank(shard->ranks) > 0;
}

bool rpinn_task_shard_is_part(const RpinnTaskShard *shard) {
  return shard->shard.count > 0 || rpinn_task_shard_follows(shard);
}

/* ---- reading ---- */

static RpinnStatus read_texts(RpinnContext *context, RpinnArena *arena, const RpinnJsonValue *object,
                              const char *key, size_t *count, const char ***texts) {
  const RpinnJsonValue *list;
  RPINN_TRY(rpinn_json_require(context, object, key, RPINN_JSON_ARRAY, &list));
  *texts = RPINN_ARENA_NEW(arena, const char *, list->count + 1);
  if (!*texts) return rpinn_fail_memory(context);
  *count = 0;
  for (const RpinnJsonValue *item = list->first; item; item = item->next) {
    if (item->kind != RPINN_JSON_TEXT)
      return rpinn_fail_at(context, item->place, "found no text; expected a list of texts");
    (*texts)[(*count)++] = item->text;
  }
  return RPINN_OK;
}

static RpinnStatus read_values(RpinnContext *context, RpinnArena *arena, const RpinnJsonValue *value,
                               RpinnTaskShardFile *file) {
  const RpinnJsonValue *shard, *version;
  const char **arguments;
  RPINN_TRY(rpinn_json_require(context, value, "shard", RPINN_JSON_TEXT, &shard));
  RPINN_TRY(rpinn_shard_parse(context, shard->text, &file->made.shard));
  RPINN_TRY(rpinn_json_require(context, value, "version", RPINN_JSON_TEXT, &version));
  file->version = version->text;
  RPINN_TRY(read_texts(context, arena, value, "arguments", &file->made.num_arguments, &arguments));
  file->made.arguments = arguments;
  return read_texts(context, arena, value, "left", &file->num_left, &file->left);
}

RpinnStatus rpinn_task_shard_read(RpinnContext *context, RpinnArena *arena, const char *folder,
                                  RpinnTaskShardFile *file) {
  char path[RPINN_PATH_SIZE];
  RpinnText text = {0};
  const RpinnJsonValue *value;
  *file = (RpinnTaskShardFile){0};
  if (!rpinn_folder_has(folder, RPINN_TASK_SHARD_FILE)) return RPINN_OK;
  snprintf(path, sizeof path, "%.4000s/%s", folder, RPINN_TASK_SHARD_FILE);
  RpinnStatus status = rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &text);
  if (status == RPINN_OK)
    status = rpinn_json_parse(context, arena, path, text.bytes ? text.bytes : "", text.length, &value);
  if (status == RPINN_OK) status = read_values(context, arena, value, file);
  rpinn_text_free(&text);
  return status;
}

/* ---- whose folder ---- */

static bool is_same(const RpinnTaskShard *left, const RpinnTaskShard *right) {
  bool same = left->shard.number == right->shard.number && left->shard.count == right->shard.count &&
              left->num_arguments == right->num_arguments;
  for (size_t k = 0; same && k < left->num_arguments; k++)
    same = !strcmp(left->arguments[k], right->arguments[k]);
  return same;
}

static RpinnStatus fail_other(RpinnContext *context, const RpinnManyOptions *options,
                              const RpinnTaskShardFile *file) {
  RpinnText command = {0};
  for (size_t k = 0; k < file->made.num_arguments; k++)
    rpinn_text_append(&command, " %s", file->made.arguments[k]);
  RpinnStatus status = rpinn_fail_at(
      context, (RpinnPlace){.file = options->study},
      "this folder holds a shard, which rpinn%.900s --shard %zu/%zu goes on with; expected that, or "
      "another --out",
      command.bytes ? command.bytes : "", file->made.shard.number, file->made.shard.count);
  rpinn_text_free(&command);
  return status;
}

RpinnStatus rpinn_task_shard_claim(RpinnContext *context, const RpinnManyOptions *options) {
  static const RpinnTaskShard whole = {0};
  RpinnArena *arena = rpinn_arena_create();
  RpinnTaskShardFile file;
  if (!arena) return rpinn_fail_memory(context);
  RpinnStatus status =
      options->study ? rpinn_task_shard_read(context, arena, options->study, &file) : RPINN_OK;
  if (status == RPINN_OK && options->study && file.made.shard.count &&
      !is_same(&file.made, options->shard ? options->shard : &whole))
    status = fail_other(context, options, &file);
  rpinn_arena_destroy(arena);
  return status;
}

/* ---- writing ---- */

static void json_texts(RpinnJson *json, const char *key, size_t count, const char *const *texts) {
  rpinn_json_open(json, key, '[');
  for (size_t k = 0; k < count; k++) rpinn_json_text(json, NULL, texts[k]);
  rpinn_json_close(json, ']');
}

/* Is it one of these tasks? */
static bool is_own(const RpinnManyState *state, const char *name) {
  char own[RPINN_TASK_NAME_SIZE];
  for (size_t task = 0; task < state->runs->num_tasks; task++) {
    if (state->tasks[task] == RPINN_TASK_ANOTHERS) continue;
    state->runs->name(state->runs->user, task, own);
    if (!strcmp(own, name)) return true;
  }
  return false;
}

/* Tasks that other calls left, and those that this one has left. */
static void json_left(const RpinnManyState *state, const RpinnTaskShardFile *before, RpinnJson *json) {
  rpinn_json_open(json, "left", '[');
  for (size_t k = 0; k < before->num_left; k++)
    if (!is_own(state, before->left[k])) rpinn_json_text(json, NULL, before->left[k]);
  for (size_t task = 0; task < state->runs->num_tasks; task++) {
    char name[RPINN_TASK_NAME_SIZE];
    if (state->tasks[task] != RPINN_TASK_TO_MAKE && state->tasks[task] != RPINN_TASK_FAILED) continue;
    state->runs->name(state->runs->user, task, name);
    rpinn_json_text(json, NULL, name);
  }
  rpinn_json_close(json, ']');
}

static RpinnStatus write_file(const RpinnManyState *state, const RpinnTaskShardFile *before) {
  const RpinnTaskShard *shard = state->options->shard;
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  char path[RPINN_PATH_SIZE], number[RPINN_SHARD_TEXT];
  rpinn_shard_write(shard->shard, number);
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "shard", number);
  rpinn_json_text(&json, "version", rpinn_version());
  json_texts(&json, "arguments", shard->num_arguments, shard->arguments);
  json_left(state, before, &json);
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  snprintf(path, sizeof path, "%.4000s/%s", state->options->study, RPINN_TASK_SHARD_FILE);
  RpinnStatus status = rpinn_part_file_update(state->context, path, &text);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_task_shard_note(const RpinnManyState *state) {
  RpinnArena *arena;
  RpinnTaskShardFile before;
  if (!rpinn_many_shard(state->options).count) return RPINN_OK;
  arena = rpinn_arena_create();
  if (!arena) return rpinn_fail_memory(state->context);
  RpinnStatus status = rpinn_task_shard_read(state->context, arena, state->options->study, &before);
  if (status == RPINN_OK) status = write_file(state, &before);
  rpinn_arena_destroy(arena);
  return status;
}
