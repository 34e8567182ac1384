#include "rank_stores.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "open_files.h"
#include "ranks.h"
#include "run_identity.h"
#include "store_copy.h"
#include "store_pour.h"

static const char store_ending[] = ".db", learnt_ending[] = ".learnt.db";

void rpinn_rank_store_path(const char *folder, size_t rank, const char *ending, char path[RPINN_PATH_SIZE]) {
  snprintf(path, RPINN_PATH_SIZE, "%.4000s/ranks/%04zu%s", folder, rank, ending);
}

RpinnStatus rpinn_rank_stores_make_folder(RpinnContext *context, const RpinnDriver *driver) {
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%.4000s/ranks", driver->run->folder);
  return rpinn_make_folders(context, path);
}

RpinnStatus rpinn_rank_store_open(RpinnContext *context, const RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  RpinnText identity = {0};
  char path[RPINN_PATH_SIZE];
  rpinn_rank_store_path(run->folder, rpinn_ranks_rank(driver->options->ranks), store_ending, path);
  RpinnStatus status = rpinn_rank_stores_make_folder(context, driver);
  if (status == RPINN_OK) status = rpinn_run_identity(context, run->posteriors[0], &identity);
  if (status == RPINN_OK) status = rpinn_member_store_open(context, path, identity.bytes, &run->store);
  rpinn_text_free(&identity);
  return status;
}

/* ---- which there are ---- */

typedef struct Source {
  char path[RPINN_PATH_SIZE];
  RpinnMemberStore *store;
  RpinnStoreWalk walk; /* at the next draw */
} Source;

typedef struct Sources {
  size_t count, capacity;
  Source *list;
} Sources;

/* "0003.db" */
static bool is_store_name(const char *name) {
  size_t digits = strspn(name, "0123456789");
  return digits && !strcmp(name + digits, store_ending);
}

static RpinnStatus add_source(RpinnContext *context, Sources *sources, const char *folder, const char *name) {
  if (sources->count == sources->capacity) {
    size_t capacity = sources->capacity ? 2 * sources->capacity : 16;
    Source *grown = realloc(sources->list, capacity * sizeof *grown);
    if (!grown) return rpinn_fail_memory(context);
    sources->list = grown;
    sources->capacity = capacity;
  }
  Source *source = &sources->list[sources->count++];
  *source = (Source){0};
  snprintf(source->path, sizeof source->path, "%.3500s/%.500s", folder, name);
  return RPINN_OK;
}

static RpinnStatus find_sources(RpinnContext *context, const char *folder, Sources *sources) {
  DIR *stream = opendir(folder);
  RpinnStatus status = RPINN_OK;
  if (!stream && errno == ENOENT) return RPINN_OK;
  if (!stream) return rpinn_fail_file(context, RPINN_ERROR_IO, "read", folder);
  for (struct dirent *entry = readdir(stream); entry && status == RPINN_OK; entry = readdir(stream))
    if (is_store_name(entry->d_name)) status = add_source(context, sources, folder, entry->d_name);
  closedir(stream);
  return status;
}

/* ---- draws and states ---- */

/* With the identity of the run: of one that was killed at once there is no more than a name. */
static RpinnStatus open_sources(RpinnContext *context, RpinnMemberStore *store, Sources *sources) {
  char *identity = NULL;
  RPINN_TRY(rpinn_check_open_files(context, sources->count, "stores of ranks"));
  RpinnStatus status = rpinn_member_store_get_identity(context, store, &identity);
  for (size_t k = 0; k < sources->count && status == RPINN_OK; k++) {
    Source *source = &sources->list[k];
    status = rpinn_member_store_open(context, source->path, identity, &source->store);
    if (status == RPINN_OK) status = rpinn_member_store_keep_small(context, source->store);
    if (status == RPINN_OK)
      status =
          rpinn_store_walk_begin(context, source->store, (RpinnStoreRange){0, UINT64_MAX}, &source->walk);
    if (status == RPINN_ERROR_INPUT)
      snprintf(context->error.file, sizeof context->error.file, "%.500s", source->path);
  }
  free(identity);
  return status;
}

/* The one whose next draw comes first. */
static Source *find_first(const Sources *sources) {
  Source *first = NULL;
  for (size_t k = 0; k < sources->count; k++) {
    Source *source = &sources->list[k];
    if (source->walk.has_member && (!first || source->walk.index < first->walk.index)) first = source;
  }
  return first;
}

static RpinnStatus copy_draws(RpinnContext *context, RpinnMemberStore *store, const Sources *sources) {
  for (Source *source = find_first(sources); source; source = find_first(sources))
    RPINN_TRY(rpinn_store_pour_draw(context, &source->walk, store));
  return RPINN_OK;
}

static RpinnStatus copy_all(RpinnContext *context, RpinnMemberStore *store, Sources *sources) {
  RPINN_TRY(open_sources(context, store, sources));
  RPINN_TRY(copy_draws(context, store, sources));
  for (size_t k = 0; k < sources->count; k++)
    RPINN_TRY(rpinn_store_pour_states(context, sources->list[k].store, store));
  return rpinn_member_store_flush(context, store);
}

/* ---- the whole ---- */

static void remove_files(const char *folder) {
  DIR *stream = opendir(folder);
  char path[RPINN_PATH_SIZE];
  for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream)) {
    size_t digits = strspn(entry->d_name, "0123456789");
    const char *ending = entry->d_name + digits;
    if (!digits || (strncmp(ending, store_ending, strlen(store_ending)) != 0 &&
                    strncmp(ending, learnt_ending, strlen(learnt_ending)) != 0))
      continue;
    snprintf(path, sizeof path, "%.3500s/%.500s", folder, entry->d_name);
    unlink(path);
  }
  if (stream) closedir(stream);
  rmdir(folder);
}

RpinnStatus rpinn_rank_stores_collect(RpinnContext *context, const RpinnDriver *driver) {
  char folder[RPINN_PATH_SIZE];
  Sources sources = {0};
  snprintf(folder, sizeof folder, "%.3500s/ranks", driver->run->folder);
  RpinnStatus status = find_sources(context, folder, &sources);
  if (status == RPINN_OK && sources.count) status = copy_all(context, driver->run->store, &sources);
  for (size_t k = 0; k < sources.count; k++) {
    rpinn_store_walk_end(&sources.list[k].walk);
    rpinn_member_store_close(sources.list[k].store);
  }
  if (status == RPINN_OK) remove_files(folder);
  if (status == RPINN_OK && sources.count)
    rpinn_driver_log(driver, "the stores of %zu ranks are collected", sources.count);
  free(sources.list);
  return status;
}
