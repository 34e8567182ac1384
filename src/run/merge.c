/* The shards of a run become one run: found, compared, put into one store, and that made into results as any run's. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "merge_store.h"
#include "rpinn/version.h"
#include "run_record.h"
#include "stored_run.h"

/* ---- which folders ---- */

typedef struct Folders {
  size_t count, capacity;
  char **paths;
} Folders;

static void free_folders(Folders *folders) {
  for (size_t k = 0; k < folders->count; k++) free(folders->paths[k]);
  free(folders->paths);
}

static RpinnStatus add_folder(RpinnContext *context, Folders *folders, const char *path) {
  if (folders->count == folders->capacity) {
    size_t capacity = folders->capacity ? 2 * folders->capacity : 64;
    char **paths = realloc(folders->paths, capacity * sizeof *paths);
    if (!paths) return rpinn_fail_memory(context);
    folders->paths = paths;
    folders->capacity = capacity;
  }
  char *own = malloc(strlen(path) + 1);
  if (!own) return rpinn_fail_memory(context);
  memcpy(own, path, strlen(path) + 1);
  folders->paths[folders->count++] = own;
  return RPINN_OK;
}

static bool has_store(const char *folder) {
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%.4000s/checkpoint.db", folder);
  return access(path, F_OK) == 0;
}

static int compare_paths(const void *left, const void *right) {
  return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The shards in a folder, by name. */
static RpinnStatus add_inner(RpinnContext *context, Folders *folders, const char *folder) {
  size_t before = folders->count;
  RpinnStatus status = RPINN_OK;
  DIR *stream = opendir(folder);
  if (!stream) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", folder);
  for (struct dirent *entry; status == RPINN_OK && (entry = readdir(stream));) {
    char path[RPINN_PATH_SIZE];
    snprintf(path, sizeof path, "%.3800s/%.250s", folder, entry->d_name);
    if (entry->d_name[0] != '.' && has_store(path)) status = add_folder(context, folders, path);
  }
  closedir(stream);
  RPINN_TRY(status);
  if (folders->count == before)
    return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                         "this folder holds no shard, and none is in it; expected folders that rpinn run "
                         "--shard I/N has made");
  qsort(folders->paths + before, folders->count - before, sizeof *folders->paths, compare_paths);
  return RPINN_OK;
}

static RpinnStatus find_folders(RpinnContext *context, const RpinnMergeOptions *options, Folders *folders) {
  for (size_t k = 0; k < options->num_folders; k++) {
    const char *folder = options->folders[k];
    struct stat info;
    if (strlen(folder) > RPINN_FOLDER_SIZE - 300)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "the path of a shard has more than %d characters",
                        RPINN_FOLDER_SIZE - 300);
    if (stat(folder, &info) != 0)
      return rpinn_fail_at(context, (RpinnPlace){.file = folder}, "there is no shard here: %s",
                           strerror(errno));
    if (!S_ISDIR(info.st_mode))
      return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                           "this is a file; expected the folder of a shard");
    RPINN_TRY(has_store(folder) ? add_folder(context, folders, folder) : add_inner(context, folders, folder));
  }
  return RPINN_OK;
}

/* All stores are open at once, a file each. */
static RpinnStatus check_files(RpinnContext *context, size_t num_folders) {
  enum { OTHERS = 40 };
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      num_folders + OTHERS <= limit.rlim_cur)
    return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "there are %zu shards, and this process may have %llu files open; expected ulimit -n %zu "
                    "before",
                    num_folders, (unsigned long long)limit.rlim_cur, num_folders + OTHERS);
}

/* ---- where to ---- */

static RpinnStatus check_target(RpinnContext *context, const char *folder) {
  RpinnPlace place = {.file = folder};
  if (strlen(folder) > RPINN_FOLDER_SIZE - 64)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the folder has more than %d characters",
                      RPINN_FOLDER_SIZE - 64);
  if (has_store(folder))
    return rpinn_fail_at(
        context, place,
        "this folder holds a run already; rpinn run %.400s/run.yaml --out %.400s --resume goes "
        "on with it, or choose another with --out",
        folder, folder);
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream && (entry = readdir(stream));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
        strcmp(entry->d_name, "checkpoint.db.part") != 0) {
      rpinn_fail_at(context, place, "this folder holds '%.200s'; expected one that is absent or empty",
                    entry->d_name);
      closedir(stream);
      return RPINN_ERROR_INPUT;
    }
  if (stream) closedir(stream);
  return RPINN_OK;
}

/* ---- the whole ---- */

static RpinnStatus fail_gaps(RpinnContext *context, const RpinnShardSet *set) {
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "draws of this run are missing in its %zu shards, as listed above; expected all of them, or "
      "--partial for a run of those that are there",
      set->count);
}

/* Chains are as long as the shortest of them, and must all be there. */
static RpinnStatus check_chains(RpinnContext *context, const RpinnShardSet *set) {
  for (uint64_t chain = 0; set->plan.has_chains && chain < set->plan.num_chains; chain++) {
    const RpinnOpenShard *shard = rpinn_shard_set_owner(set, chain);
    uint64_t made = 0;
    if (shard) RPINN_TRY(rpinn_draw_store_count_task(context, shard->store, &set->plan, chain, &made));
    if (!made)
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "chain %llu has no draw yet; --partial merges chains as far as the shortest of them",
                        (unsigned long long)chain);
  }
  return RPINN_OK;
}

static void compare_versions(RpinnContext *context, const RpinnShardSet *set) {
  const char *version = set->shards[set->first].record.version;
  if (strcmp(version, rpinn_version()) != 0)
    rpinn_log(context, RPINN_LOG_WARNING,
              "the shards were made by rpinn %.40s, and the results are made by %.40s", version,
              rpinn_version());
}

static RpinnStatus check(RpinnContext *context, RpinnShardSet *set, const RpinnMergeOptions *options) {
  RPINN_TRY(rpinn_shard_set_find_gaps(context, set));
  if (!set->is_complete && !options->partial) return fail_gaps(context, set);
  if (!set->is_complete) RPINN_TRY(check_chains(context, set));
  compare_versions(context, set);
  return check_target(context, options->folder);
}

static RpinnStatus make(RpinnContext *context, const RpinnShardSet *set, const RpinnMergeOptions *options,
                        RpinnRun **run) {
  RpinnRunOptions run_options = {.folder = options->folder,
                                 .resume = true,
                                 .interrupted = options->interrupted,
                                 .progress = options->progress,
                                 .user = options->user};
  RPINN_TRY(rpinn_make_folders(context, options->folder));
  RPINN_TRY(rpinn_merge_stores(context, set, options));
  return rpinn_run_from_store(context, set->problem, &run_options, !set->is_complete, run);
}

RpinnStatus rpinn_merge(RpinnContext *context, const RpinnMergeOptions *options, RpinnRun **run) {
  Folders folders = {0};
  RpinnShardSet set = {0};
  *run = NULL;
  RpinnStatus status = find_folders(context, options, &folders);
  if (status == RPINN_OK) status = check_files(context, folders.count);
  if (status == RPINN_OK)
    status = rpinn_shard_set_open(context, folders.count, (const char *const *)folders.paths, &set);
  if (status == RPINN_OK) status = check(context, &set, options);
  if (status == RPINN_OK) status = make(context, &set, options, run);
  free_folders(&folders);
  if (*run) { /* which goes on with its problem */
    (*run)->own_problem = set.problem;
    set.problem = NULL;
  }
  rpinn_shard_set_close(&set);
  return status;
}
