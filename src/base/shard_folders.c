#include "shard_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"

bool rpinn_folder_has(const char *folder, const char *file) {
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%.4000s/%.60s", folder, file);
  return access(path, F_OK) == 0;
}

void rpinn_shard_folders_free(RpinnShardFolders *found) {
  for (size_t k = 0; k < found->count; k++) free(found->paths[k]);
  free(found->paths);
  *found = (RpinnShardFolders){0};
}

static RpinnStatus add(RpinnContext *context, RpinnShardFolders *found, const char *path) {
  if (found->count == found->capacity) {
    size_t capacity = found->capacity ? 2 * found->capacity : 64;
    char **paths = realloc(found->paths, capacity * sizeof *paths);
    if (!paths) return rpinn_fail_memory(context);
    found->paths = paths;
    found->capacity = capacity;
  }
  char *own = malloc(strlen(path) + 1);
  if (!own) return rpinn_fail_memory(context);
  memcpy(own, path, strlen(path) + 1);
  found->paths[found->count++] = own;
  return RPINN_OK;
}

/* A folder that nobody may look into is not one that is empty. */
static RpinnStatus look_for(RpinnContext *context, const char *folder, const char *marker, bool *has) {
  *has = rpinn_folder_has(folder, marker);
  if (*has || errno != EACCES) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = folder}, "cannot look into this folder: %s",
                       strerror(errno));
}

static int compare_paths(const void *left, const void *right) {
  return strcmp(*(char *const *)left, *(char *const *)right);
}

static RpinnStatus add_inner(RpinnContext *context, const char *folder, const char *marker,
                             RpinnShardFolders *found) {
  size_t before = found->count;
  RpinnStatus status = RPINN_OK;
  DIR *stream = opendir(folder);
  if (!stream) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", folder);
  for (struct dirent *entry; status == RPINN_OK && (entry = readdir(stream));) {
    char path[RPINN_PATH_SIZE];
    bool has;
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%.3700s/%.250s", folder, entry->d_name);
    status = look_for(context, path, marker, &has);
    if (status == RPINN_OK && has) status = add(context, found, path);
  }
  closedir(stream);
  RPINN_TRY(status);
  if (found->count == before)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = folder},
        "this folder holds no shard, and none is in it; expected folders that were made with "
        "--shard I/N");
  qsort(found->paths + before, found->count - before, sizeof *found->paths, compare_paths);
  return RPINN_OK;
}

/* ---- names that are not there ---- */

/* The folder that a path is in, and what it is called there. */
static const char *split(const char *path, char folder[RPINN_PATH_SIZE]) {
  const char *slash = strrchr(path, '/');
  snprintf(folder, RPINN_PATH_SIZE, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
  return slash ? slash + 1 : path;
}

/* "; did you mean 'shards'?" after one of the names beside it, or nothing. */
static void suggest(const char *path, char text[320]) {
  enum { MOST = 2000 };
  char folder[RPINN_PATH_SIZE], *names[MOST];
  const char *name = split(path, folder);
  size_t count = 0;
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream && count < MOST && (entry = readdir(stream));) {
    if (entry->d_name[0] != '.') names[count] = strdup(entry->d_name);
    if (entry->d_name[0] != '.' && names[count]) count++;
  }
  if (stream) closedir(stream);
  const char *near = rpinn_nearest_name(name, (const char *const *)names, count);
  text[0] = '\0';
  if (near) snprintf(text, 320, "; did you mean '%.255s'?", near);
  while (count) free(names[--count]);
}

RpinnStatus rpinn_shard_folders_find(RpinnContext *context, size_t num_folders, const char *const *folders,
                                     const char *marker, RpinnShardFolders *found) {
  enum { LONGEST = 3700 };
  *found = (RpinnShardFolders){0};
  for (size_t k = 0; k < num_folders; k++) {
    struct stat info;
    RpinnPlace place = {.file = folders[k]};
    if (strlen(folders[k]) > LONGEST)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "the path of a shard has more than %d characters",
                        LONGEST);
    if (stat(folders[k], &info) != 0) {
      char reason[128], near[320];
      snprintf(reason, sizeof reason, "%s", strerror(errno));
      suggest(folders[k], near);
      return rpinn_fail_at(context, place, "there is no shard here: %s%s", reason, near);
    }
    if (!S_ISDIR(info.st_mode))
      return rpinn_fail_at(context, place, "this is a file; expected the folder of a shard");
    bool has;
    RPINN_TRY(look_for(context, folders[k], marker, &has));
    RPINN_TRY(has ? add(context, found, folders[k]) : add_inner(context, folders[k], marker, found));
  }
  return RPINN_OK;
}

static bool is_same_folder(const char *one, const char *other) {
  struct stat first, second;
  return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

RpinnStatus rpinn_fail_shard_twice(RpinnContext *context, RpinnShard shard, const char *folder,
                                   const char *there) {
  RpinnPlace place = {.file = folder};
  if (is_same_folder(folder, there))
    return rpinn_fail_at(context, place,
                         "this folder is named twice, by itself or with a folder that holds it; "
                         "expected each shard once");
  return rpinn_fail_at(context, place, "this is shard %zu/%zu, and so is %.500s; expected each of them once",
                       shard.number, shard.count, there);
}

static bool is_allowed(const char *name, const char *allowed) {
  return !strcmp(name, ".") || !strcmp(name, "..") || (allowed && !strcmp(name, allowed));
}

RpinnStatus rpinn_check_empty_folder(RpinnContext *context, const char *folder, const char *allowed) {
  RpinnStatus status = RPINN_OK;
  if (strlen(folder) > RPINN_FOLDER_SIZE - 64)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the folder has more than %d characters",
                      RPINN_FOLDER_SIZE - 64);
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream && status == RPINN_OK && (entry = readdir(stream));)
    if (!is_allowed(entry->d_name, allowed))
      status =
          rpinn_fail_at(context, (RpinnPlace){.file = folder},
                        "this folder holds '%.200s'; expected one that is absent or empty", entry->d_name);
  if (stream) closedir(stream);
  return status;
}
