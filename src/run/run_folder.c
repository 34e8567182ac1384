#include "run_folder.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "member_store.h"
#include "part_file.h"

static double steady_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

RpinnStatus rpinn_make_folders(RpinnContext *context, const char *path) {
  char part[RPINN_PATH_SIZE];
  size_t length = strlen(path);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    char end = part[i];
    part[i] = '\0';
    struct stat info;
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      return rpinn_fail_file(context, RPINN_ERROR_IO, "make", part);
    if (stat(part, &info) == 0 && !S_ISDIR(info.st_mode)) {
      errno = ENOTDIR;
      return rpinn_fail_file(context, RPINN_ERROR_INPUT, "use", part);
    }
    part[i] = end;
  }
  return RPINN_OK;
}

static void file_path(const RpinnRunFolder *folder, const char *name, const char *suffix,
                      char path[RPINN_PATH_SIZE]) {
  snprintf(path, RPINN_PATH_SIZE, "%s/%.40s%.10s", folder->path, name, suffix);
}

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

RpinnStatus rpinn_run_folder_open(RpinnContext *context, const char *path, bool resume,
                                  RpinnRunFolder *folder) {
  char file[RPINN_PATH_SIZE];
  *folder = (RpinnRunFolder){.started = steady_seconds()};
  RPINN_TRY(check_length(context, path));
  memcpy(folder->path, path, strlen(path) + 1);
  file_path(folder, "checkpoint.db", "", file);
  bool holds_run = access(file, F_OK) == 0;
  if (!resume && holds_run)
    return refuse(context, path,
                  "this folder holds a run already; go on with it by --resume, or choose another with --out");
  if (resume && !holds_run) return refuse(context, path, "there is no run to resume in this folder");
  RPINN_TRY(rpinn_make_folders(context, path));
  file_path(folder, "run.log", "", file);
  folder->log = fopen(file, "a");
  return folder->log ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_IO, "create", file);
}

void rpinn_run_folder_close(RpinnRunFolder *folder) {
  if (folder->log) fclose(folder->log);
  folder->log = NULL;
}

double rpinn_run_folder_seconds(const RpinnRunFolder *folder) {
  return steady_seconds() - folder->started;
}

void rpinn_run_folder_log(RpinnRunFolder *folder, const char *format, ...) {
  if (!folder->log) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(folder->log, "%10.3f  ", rpinn_run_folder_seconds(folder));
  vfprintf(folder->log, format, arguments);
  fputc('\n', folder->log);
  fflush(folder->log);
  va_end(arguments);
}

RpinnStatus rpinn_run_folder_write(RpinnContext *context, const RpinnRunFolder *folder, const char *name,
                                   const RpinnText *text) {
  char path[RPINN_PATH_SIZE];
  file_path(folder, name, "", path);
  return rpinn_part_file_write(context, path, text);
}
