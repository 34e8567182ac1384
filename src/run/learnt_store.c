#include "learnt_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "part_file.h"
#include "shard_record.h"
#include "store_copy.h"

/* ---- from store to store ---- */

typedef struct Copy {
  RpinnContext *context;
  RpinnMemberStore *from, *to;
  const char *from_name, *to_name;
} Copy;

static RpinnStatus fail_other(const Copy *copy, const char *what) {
  return rpinn_fail_at(
      copy->context, (RpinnPlace){.file = copy->from_name},
      "what was learnt here (%s) is not what %.500s has: other machines may round otherwise; "
      "--learnt FILE takes it from one of them",
      what, copy->to_name);
}

/* A time that goes along and is never the same. */
static bool is_time(const char *key) {
  return strcmp(key, RPINN_PILOT_SECONDS_KEY) == 0;
}

/* Is the text about the run, and not about a shard or a session? */
static bool is_learnt(const char *key) {
  return strncmp(key, RPINN_SHARD_KEY, strlen(RPINN_SHARD_KEY)) != 0 && strcmp(key, RPINN_SECONDS_KEY) != 0 &&
         strcmp(key, RPINN_SESSION_KEY) != 0;
}

static RpinnStatus copy_text(void *user, const char *key, const char *value) {
  const Copy *copy = user;
  char *there = NULL;
  if (!is_learnt(key)) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_get_text(copy->context, copy->to, key, &there));
  bool is_same = there && (is_time(key) || !strcmp(there, value));
  RpinnStatus status = !there    ? rpinn_member_store_set_text(copy->context, copy->to, key, value)
                       : is_same ? RPINN_OK
                                 : fail_other(copy, key);
  free(there);
  return status;
}

static RpinnStatus copy_state(const Copy *copy, uint64_t key) {
  void *state = NULL, *there = NULL;
  size_t size, size_there;
  RpinnStatus status = rpinn_member_store_get_state(copy->context, copy->from, key, &state, &size);
  if (status == RPINN_OK)
    status = rpinn_member_store_get_state(copy->context, copy->to, key, &there, &size_there);
  if (status == RPINN_OK && !there)
    status = rpinn_member_store_put_state(copy->context, copy->to, key, state, size);
  else if (status == RPINN_OK && (size != size_there || memcmp(state, there, size) != 0))
    status = fail_other(copy, rpinn_shared_state_name(key));
  free(state);
  free(there);
  return status;
}

RpinnStatus rpinn_learnt_copy(RpinnContext *context, RpinnMemberStore *from, const char *from_name,
                              RpinnMemberStore *to, const char *to_name) {
  Copy copy = {context, from, to, from_name, to_name};
  RPINN_TRY(rpinn_member_store_visit_texts(context, from, copy_text, &copy));
  for (size_t k = 0; k < rpinn_num_shared_states(); k++) {
    uint64_t key = rpinn_shared_state_key(k), next;
    bool found;
    RPINN_TRY(rpinn_member_store_next_state(context, from, key, &next, &found));
    if (found && next == key) RPINN_TRY(copy_state(&copy, key));
  }
  return RPINN_OK;
}

/* ---- learnt.db ---- */

static RpinnStatus write_part(RpinnContext *context, const RpinnDriver *driver, const char *part) {
  RpinnRun *run = driver->run;
  RpinnMemberStore *store = NULL;
  char *identity = NULL;
  RPINN_TRY(rpinn_member_store_get_identity(context, run->store, &identity));
  RpinnStatus status = rpinn_member_store_open(context, part, identity, &store);
  if (status == RPINN_OK) status = rpinn_learnt_copy(context, run->store, run->folder, store, part);
  if (status == RPINN_OK) status = rpinn_member_store_flush(context, store);
  rpinn_member_store_close(store);
  free(identity);
  return status;
}

RpinnStatus rpinn_learnt_leave(RpinnContext *context, const RpinnDriver *driver, const char *path) {
  char *part = rpinn_part_file_path(path);
  if (!part) return rpinn_fail_memory(context);
  unlink(part); /* of a session that was killed */
  RpinnStatus status = write_part(context, driver, part);
  if (status == RPINN_OK) status = rpinn_part_file_finish(context, part, path);
  if (status != RPINN_OK) unlink(part);
  free(part);
  return status;
}

RpinnStatus rpinn_learnt_check(RpinnContext *context, const RpinnDriver *driver, const char *identity) {
  const char *path = driver->options->learnt;
  RpinnMemberStore *store;
  if (!path) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = rpinn_member_store_check_identity(context, store, identity);
  rpinn_member_store_close(store);
  if (status == RPINN_ERROR_INPUT) snprintf(context->error.file, sizeof context->error.file, "%.500s", path);
  return status;
}

RpinnStatus rpinn_learnt_take(RpinnContext *context, const RpinnDriver *driver) {
  const char *path = driver->options->learnt;
  RpinnMemberStore *store;
  if (!path) return RPINN_OK;
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &store));
  RpinnStatus status = rpinn_learnt_copy(context, store, path, driver->run->store, driver->run->folder);
  rpinn_member_store_close(store);
  return status == RPINN_OK ? rpinn_member_store_flush(context, driver->run->store) : status;
}
