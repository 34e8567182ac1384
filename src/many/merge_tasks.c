/* The shards of a study become one folder: the same shards of the same command, each of them there once, and all of their files in
 * one tree. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "part_file.h"
#include "rpinn/merge.h"
#include "shard_folders.h"
#include "task_shard.h"
#include "text.h"

struct RpinnMergedTasks {
  RpinnArena *arena; /* in which it lives */
  const RpinnMergeOptions *options;
  RpinnShardFolders folders;
  RpinnTaskShardFile *files; /* [folders.count] */
  size_t num_shards;
  const char **by_number; /* [num_shards + 1] folders; NULL: it is not there */
  bool is_complete;
};

/* ---- do they belong together? ---- */

static void append_command(const RpinnMergedTasks *tasks, size_t number, RpinnText *text) {
  const RpinnTaskShard *made = &tasks->files[0].made;
  rpinn_text_append(text, "rpinn");
  for (size_t k = 0; k < made->num_arguments; k++) rpinn_text_append(text, " %s", made->arguments[k]);
  rpinn_text_append(text, " --shard %zu/%zu --out ", number, tasks->num_shards);
  if (tasks->by_number[number])
    rpinn_text_append(text, "%s", tasks->by_number[number]);
  else
    rpinn_text_append(text, "shard-%zu-of-%zu", number, tasks->num_shards);
}

/* The first argument that differs, as a part of a message. */
static const char *argument_at(const RpinnTaskShard *shard, size_t index) {
  return index < shard->num_arguments ? shard->arguments[index] : "nothing";
}

static RpinnStatus compare(RpinnContext *context, const RpinnMergedTasks *tasks, size_t index) {
  const RpinnTaskShardFile *file = &tasks->files[index], *first = &tasks->files[0];
  const char *folder = tasks->folders.paths[index], *first_folder = tasks->folders.paths[0];
  RpinnPlace place = {.file = folder};
  if (file->made.shard.count != first->made.shard.count)
    return rpinn_fail_at(context, place,
                         "this is shard %zu/%zu, and %.400s is %zu/%zu; expected shards of one number",
                         file->made.shard.number, file->made.shard.count, first_folder,
                         first->made.shard.number, first->made.shard.count);
  if (strcmp(file->version, first->version) != 0)
    return rpinn_fail_at(context, place,
                         "this shard was made by rpinn %.40s, and %.400s by %.40s; expected one version",
                         file->version, first_folder, first->version);
  for (size_t k = 0; k < file->made.num_arguments || k < first->made.num_arguments; k++)
    if (strcmp(argument_at(&file->made, k), argument_at(&first->made, k)) != 0)
      return rpinn_fail_at(
          context, place,
          "this is a shard of another study than %.300s: it was made with %.200s, the other with "
          "%.200s",
          first_folder, argument_at(&file->made, k), argument_at(&first->made, k));
  return RPINN_OK;
}

static RpinnStatus read_shards(RpinnContext *context, RpinnMergedTasks *tasks) {
  size_t count = tasks->folders.count;
  tasks->files = RPINN_ARENA_NEW(tasks->arena, RpinnTaskShardFile, count);
  if (!tasks->files) return rpinn_fail_memory(context);
  for (size_t k = 0; k < count; k++) {
    const char *folder = tasks->folders.paths[k];
    RPINN_TRY(rpinn_task_shard_read(context, tasks->arena, folder, &tasks->files[k]));
    RPINN_TRY(compare(context, tasks, k));
    RpinnShard shard = tasks->files[k].made.shard;
    if (!tasks->by_number) {
      tasks->num_shards = shard.count;
      tasks->by_number = RPINN_ARENA_NEW(tasks->arena, const char *, shard.count + 1);
      if (!tasks->by_number) return rpinn_fail_memory(context);
      memset(tasks->by_number, 0, (shard.count + 1) * sizeof *tasks->by_number);
    }
    if (tasks->by_number[shard.number])
      return rpinn_fail_shard_twice(context, shard, folder, tasks->by_number[shard.number]);
    tasks->by_number[shard.number] = folder;
  }
  return RPINN_OK;
}

/* ---- what is missing ---- */

static RpinnStatus tell(RpinnContext *context, RpinnMergedTasks *tasks, size_t number, const char *what) {
  RpinnText line = {0};
  tasks->is_complete = false;
  append_command(tasks, number, &line);
  bool failed = line.failed;
  if (!failed)
    rpinn_log(context, RPINN_LOG_INFO, "shard %zu/%zu %.1000s; %.800s goes on with it", number,
              tasks->num_shards, what, line.bytes);
  rpinn_text_free(&line);
  return failed ? rpinn_fail_memory(context) : RPINN_OK;
}

/* The names of runs that a shard has left, some to a line. */
static RpinnStatus tell_left(RpinnContext *context, RpinnMergedTasks *tasks, const RpinnTaskShardFile *file) {
  enum { SOME = 20 };
  for (size_t first = 0; first < file->num_left; first += SOME) {
    RpinnText what = {0};
    rpinn_text_append(&what, "lacks %zu run%s: ", file->num_left, file->num_left == 1 ? "" : "s");
    for (size_t k = first; k < file->num_left && k < first + SOME; k++)
      rpinn_text_append(&what, "%s%s", k > first ? ", " : "", file->left[k]);
    RpinnStatus status =
        what.failed ? rpinn_fail_memory(context) : tell(context, tasks, file->made.shard.number, what.bytes);
    rpinn_text_free(&what);
    RPINN_TRY(status);
  }
  return RPINN_OK;
}

static RpinnStatus find_gaps(RpinnContext *context, RpinnMergedTasks *tasks) {
  tasks->is_complete = true;
  for (size_t number = 1; number <= tasks->num_shards; number++)
    if (!tasks->by_number[number]) RPINN_TRY(tell(context, tasks, number, "is not there"));
  for (size_t k = 0; k < tasks->folders.count; k++) RPINN_TRY(tell_left(context, tasks, &tasks->files[k]));
  if (tasks->is_complete || tasks->options->partial) return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "runs of this study are missing in its %zu shards, as listed above; expected all of them, or "
      "--partial for a folder with those that are there",
      tasks->num_shards);
}

/* ---- files ---- */

typedef struct Copy {
  RpinnContext *context;
  const RpinnMergedTasks *tasks;
  const char *folder; /* of the shard */
  char *buffers;      /* [2][BUFFER] */
} Copy;
enum { BUFFER = 1 << 20, MAX_DEPTH = 8 };

/* The whole of a buffer, or what is left of the file. */
static ssize_t read_all(int file, char *buffer) {
  ssize_t total = 0, count = 1;
  while (total < BUFFER && (count = read(file, buffer + total, (size_t)(BUFFER - total))) > 0) total += count;
  return count < 0 ? count : total;
}

/* Does the file at `to` hold the same? */
static RpinnStatus compare_files(const Copy *copy, const char *relative, int from, const char *to) {
  int there = open(to, O_RDONLY);
  bool same = there >= 0;
  ssize_t count = 1;
  while (same && count > 0) {
    count = read_all(from, copy->buffers);
    same = count >= 0 && read_all(there, copy->buffers + BUFFER) == count &&
           !memcmp(copy->buffers, copy->buffers + BUFFER, (size_t)count);
  }
  if (there >= 0) close(there);
  if (same) return RPINN_OK;
  return rpinn_fail_at(
      copy->context, (RpinnPlace){.file = copy->folder},
      "'%.300s' is in this shard and in another one, and differs; expected it in one of them", relative);
}

static RpinnStatus copy_file(const Copy *copy, const char *relative, const char *from, const char *to) {
  if (access(to, F_OK) != 0) return rpinn_part_file_copy(copy->context, from, to);
  int file = open(from, O_RDONLY);
  if (file < 0) return rpinn_fail_file(copy->context, RPINN_ERROR_INPUT, "read", from);
  RpinnStatus status = compare_files(copy, relative, file, to);
  close(file);
  return status;
}

static bool is_stopped(const Copy *copy) {
  const RpinnMergeOptions *options = copy->tasks->options;
  return (options->interrupted && options->interrupted(options->user)) || rpinn_is_interrupted(copy->context);
}

static RpinnStatus copy_tree(const Copy *copy, const char *relative, int depth);

static RpinnStatus copy_entry(const Copy *copy, const char *relative, int depth) {
  char from[2 * RPINN_PATH_SIZE], to[2 * RPINN_PATH_SIZE];
  struct stat info;
  if (is_stopped(copy)) return rpinn_fail_interrupted(copy->context);
  if (!strcmp(relative, "/" RPINN_TASK_SHARD_FILE)) return RPINN_OK;
  snprintf(from, sizeof from, "%s%s", copy->folder, relative);
  snprintf(to, sizeof to, "%s%s", copy->tasks->options->folder, relative);
  if (strlen(to) >= RPINN_PATH_SIZE || strlen(from) >= RPINN_PATH_SIZE || depth > MAX_DEPTH)
    return rpinn_fail_at(copy->context, (RpinnPlace){.file = copy->folder}, "'%.300s' lies too deep",
                         relative);
  if (lstat(from, &info) != 0) return rpinn_fail_file(copy->context, RPINN_ERROR_INPUT, "read", from);
  if (S_ISREG(info.st_mode)) return copy_file(copy, relative, from, to);
  if (S_ISDIR(info.st_mode)) return copy_tree(copy, relative, depth + 1);
  return rpinn_fail_at(copy->context, (RpinnPlace){.file = from},
                       "this is neither a file nor a folder; a study makes nothing else");
}

/* Of the folder of the shard: relative is "" or "/NAME…". */
static RpinnStatus copy_tree(const Copy *copy, const char *relative, int depth) {
  char path[2 * RPINN_PATH_SIZE];
  RpinnStatus status;
  snprintf(path, sizeof path, "%s%s", copy->tasks->options->folder, relative);
  RPINN_TRY(rpinn_make_folders(copy->context, path));
  snprintf(path, sizeof path, "%s%s", copy->folder, relative);
  DIR *stream = opendir(path);
  if (!stream) return rpinn_fail_file(copy->context, RPINN_ERROR_INPUT, "read", path);
  status = RPINN_OK;
  for (struct dirent *entry; status == RPINN_OK && (entry = readdir(stream));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    snprintf(path, sizeof path, "%s/%s", relative, entry->d_name);
    status = copy_entry(copy, path, depth);
  }
  closedir(stream);
  return status;
}

static RpinnStatus copy_all(RpinnContext *context, const RpinnMergedTasks *tasks) {
  Copy copy = {.context = context, .tasks = tasks, .buffers = malloc(2 * BUFFER)};
  RpinnStatus status = copy.buffers ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t k = 0; k < tasks->folders.count && status == RPINN_OK; k++) {
    copy.folder = tasks->folders.paths[k];
    status = copy_tree(&copy, "", 0);
  }
  free(copy.buffers);
  return status;
}

/* ---- the whole ---- */

static RpinnStatus merge(RpinnContext *context, RpinnMergedTasks *tasks) {
  const RpinnMergeOptions *options = tasks->options;
  RPINN_TRY(rpinn_shard_folders_find(context, options->num_folders, options->folders, RPINN_TASK_SHARD_FILE,
                                     &tasks->folders));
  RPINN_TRY(read_shards(context, tasks));
  RPINN_TRY(find_gaps(context, tasks));
  RPINN_TRY(rpinn_check_empty_folder(context, options->folder, NULL));
  return copy_all(context, tasks);
}

RpinnStatus rpinn_merge_tasks(RpinnContext *context, const RpinnMergeOptions *options,
                              RpinnMergedTasks **result) {
  RpinnArena *arena = rpinn_arena_create();
  RpinnMergedTasks *tasks = arena ? RPINN_ARENA_NEW(arena, RpinnMergedTasks, 1) : NULL;
  *result = NULL;
  if (!tasks) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  *tasks = (RpinnMergedTasks){.arena = arena, .options = options};
  RpinnStatus status = merge(context, tasks);
  tasks->options = NULL;
  if (status == RPINN_OK)
    *result = tasks;
  else
    rpinn_merged_tasks_destroy(tasks);
  return status;
}

void rpinn_merged_tasks_destroy(RpinnMergedTasks *tasks) {
  if (!tasks) return;
  rpinn_shard_folders_free(&tasks->folders);
  rpinn_arena_destroy(tasks->arena);
}

bool rpinn_merged_tasks_are_complete(const RpinnMergedTasks *tasks) {
  return tasks->is_complete;
}

const char *rpinn_merged_tasks_argument(const RpinnMergedTasks *tasks, size_t index) {
  const RpinnTaskShard *made = &tasks->files[0].made;
  return index < made->num_arguments ? made->arguments[index] : NULL;
}

bool rpinn_holds_task_shards(const char *folder) {
  RpinnContext *context = rpinn_context_create(); /* whose failures nobody hears of */
  RpinnShardFolders found = {0};
  bool is_found =
      context && rpinn_shard_folders_find(context, 1, &folder, RPINN_TASK_SHARD_FILE, &found) == RPINN_OK;
  rpinn_shard_folders_free(&found);
  rpinn_context_destroy(context);
  return is_found;
}
