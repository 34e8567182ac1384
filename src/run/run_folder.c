#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_files.h"
#include "steady_clock.h"

/* A message about the folder as a whole. */
static RpinnStatus refuse(RpinnContext *context, const char *path, const char *message) {
  rpinn_fail(context, RPINN_ERROR_INPUT, "%s", message);
  snprintf(context->error.file, sizeof context->error.file, "%.500s", path);
  return RPINN_ERROR_INPUT;
}

/* The store counts from the root, so that the working directory takes part. */
static RpinnStatus check_length(RpinnContext *context, const char *path) {
  enum { LONGEST = RPINN_STORE_MAX_PATH - (sizeof "/checkpoint.db" - 1) };
  char here[RPINN_PATH_SIZE];
  size_t length = strlen(path);
  if (path[0] != '/' && getcwd(here, sizeof here)) length += strlen(here) + 1;
  if (length && length <= LONGEST) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "the name of the run directory has %zu characters from the root on; expected at most %d, "
                    "for SQLite opens no longer ones",
                    length, (int)LONGEST);
}

/* Refuse the first file of a run's names that is there, or where the run is there too, that is a link. */
static RpinnStatus check_files(RpinnContext *context, const RpinnRun *run, bool holds_run) {
  char name[RPINN_PATH_SIZE], path[2 * RPINN_PATH_SIZE];
  struct stat info;
  for (size_t i = 0; rpinn_run_file_name(run->problem, i, name); i++) {
    snprintf(path, sizeof path, "%s/%s", run->folder, name);
    if (lstat(path, &info) != 0 || (holds_run && !S_ISLNK(info.st_mode))) continue;
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                         holds_run ? "%s is a link, which the run would replace; expected a file of the run: "
                                     "move it away"
                                   : "there is no run here, but %s, which a run would replace; move it away, "
                                     "or choose another folder with --out",
                         name);
  }
  return RPINN_OK;
}

/* Absent counts as empty. */
static bool is_empty(const char *path) {
  DIR *stream = opendir(path);
  bool empty = stream || errno == ENOENT;
  for (struct dirent *entry = stream ? readdir(stream) : NULL; entry && empty; entry = readdir(stream))
    empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
  if (stream) closedir(stream);
  return empty;
}

RpinnStatus rpinn_run_folder_open(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  const char *path = driver->options->folder;
  bool resume = driver->options->resume;
  char file[RPINN_PATH_SIZE];
  RPINN_TRY(check_length(context, path));
  driver->started = rpinn_steady_seconds(); /* what was prepared before is no part of the run */
  memcpy(run->folder, path, strlen(path) + 1);
  snprintf(file, sizeof file, "%s/checkpoint.db", run->folder);
  bool holds_run = access(file, F_OK) == 0;
  driver->is_new = !holds_run;
  if (!resume && holds_run)
    return refuse(context, path,
                  "this folder holds a run already; go on with it by --resume, or choose another with --out");
  if (resume && !holds_run && !is_empty(path))
    return refuse(
        context, path,
        "there is no run to resume in this folder, and it is not empty: one that is absent or empty "
        "begins a run");
  RPINN_TRY(check_files(context, run, holds_run));
  if (resume && !holds_run)
    rpinn_log(context, RPINN_LOG_INFO, "there is no run to resume in %s yet: it begins here", path);
  return rpinn_make_folders(context, path);
}

RpinnStatus rpinn_run_folder_open_log(RpinnContext *context, RpinnDriver *driver) {
  char file[RPINN_PATH_SIZE];
  snprintf(file, sizeof file, "%s/run.log", driver->run->folder);
  driver->log = fopen(file, "a");
  return driver->log ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_IO, "create", file);
}

void rpinn_run_folder_close(RpinnDriver *driver) {
  if (driver->log) fclose(driver->log);
  driver->log = NULL;
}
