#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "member_store.h"
#include "method.h"
#include "part_file.h"
#include "task_pool.h"

RpinnStatus rpinn_make_folders(RpinnContext *context, const char *path) {
  char part[RPINN_PATH_SIZE];
  size_t length = strlen(path);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    char end = part[i];
    part[i] = '\0';
    struct stat info;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) {
      rpinn_fail_at(context, (RpinnPlace){.file = part}, "cannot make this directory: %s", strerror(errno));
      return context->error.status = RPINN_ERROR_IO;
    }
    if (stat(part, &info) == 0 && !S_ISDIR(info.st_mode))
      return rpinn_fail_at(context, (RpinnPlace){.file = part}, "this is no directory; expected one");
    part[i] = end;
  }
  return RPINN_OK;
}

static void file_path(const RpinnRunFolder *folder, const char *name, char path[RPINN_PATH_SIZE]) {
  snprintf(path, RPINN_PATH_SIZE, "%s/%.40s", folder->path, name);
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

/* ---- whose files ---- */

/* A file that a run writes into its folder, beside checkpoint.db and the file of its method. */
static const char *const own_names[] = {
    "run.yaml",    "data.csv",     "truth.csv",  "predict.csv",       "posterior.nc",    "predictions.csv",
    "summary.csv", "summary.json", "fields.vti", "report.html",       "shape_plane.csv", "shape_points.csv",
    "run.log",     "draws.spool",  "figures",    "shape_spectrum.csv"};
enum { NUM_OWN_NAMES = sizeof own_names / sizeof own_names[0] };

/* File number index that a run of the problem may write; false behind the last one. */
static bool own_name(const RpinnProblem *problem, size_t index, char name[RPINN_PATH_SIZE]) {
  if (index < NUM_OWN_NAMES) {
    snprintf(name, RPINN_PATH_SIZE, "%s", own_names[index]);
    return true;
  }
  index -= NUM_OWN_NAMES;
  const char *file = rpinn_problem_method(problem)->about.file;
  if (file && index-- == 0) {
    snprintf(name, RPINN_PATH_SIZE, "%s", file);
    return true;
  }
  if (index / 2 >= problem->num_terms) return false;
  snprintf(name, RPINN_PATH_SIZE, "%.200s_%s.csv", problem->terms[index / 2].name,
           index % 2 ? "points" : "given");
  return true;
}

/* Refuse the first file of such a name that is there, or where the run is there too, that is a link. */
static RpinnStatus check_files(RpinnContext *context, const RpinnRunFolder *folder,
                               const RpinnProblem *problem, bool holds_run) {
  char name[RPINN_PATH_SIZE], path[2 * RPINN_PATH_SIZE];
  struct stat info;
  for (size_t i = 0; own_name(problem, i, name); i++) {
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    if (lstat(path, &info) != 0 || (holds_run && !S_ISLNK(info.st_mode))) continue;
    return rpinn_fail_at(context, (RpinnPlace){.file = folder->path},
                         holds_run ? "%s is a link, which the run would replace; expected a file of the run: "
                                     "move it away"
                                   : "there is no run here, but %s, which a run would replace; move it away, "
                                     "or choose another folder with --out",
                         name);
  }
  return RPINN_OK;
}

bool rpinn_run_folder_owns(const char *folder, const RpinnProblem *problem, const char *file) {
  char name[RPINN_PATH_SIZE] = "checkpoint.db", path[2 * RPINN_PATH_SIZE];
  struct stat found, own;
  bool same = false, more = stat(file, &found) == 0;
  for (size_t i = 0; more && !same; i++) {
    snprintf(path, sizeof path, "%.4000s/%s", folder, name);
    same = stat(path, &own) == 0 && own.st_dev == found.st_dev && own.st_ino == found.st_ino;
    more = own_name(problem, i, name);
  }
  return same;
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

RpinnStatus rpinn_run_folder_open(RpinnContext *context, const char *path, const RpinnProblem *problem,
                                  bool resume, RpinnRunFolder *folder) {
  char file[RPINN_PATH_SIZE];
  *folder = (RpinnRunFolder){.started = rpinn_task_pool_now()};
  RPINN_TRY(check_length(context, path));
  memcpy(folder->path, path, strlen(path) + 1);
  file_path(folder, "checkpoint.db", file);
  bool holds_run = access(file, F_OK) == 0;
  folder->is_new = !holds_run;
  if (!resume && holds_run)
    return refuse(context, path,
                  "this folder holds a run already; go on with it by --resume, or choose another with --out");
  if (resume && !holds_run && !is_empty(path))
    return refuse(
        context, path,
        "there is no run to resume in this folder, and it is not empty: one that is absent or empty "
        "begins a run");
  RPINN_TRY(check_files(context, folder, problem, holds_run));
  if (resume && !holds_run)
    rpinn_log(context, RPINN_LOG_INFO, "there is no run to resume in %s yet: it begins here", path);
  return rpinn_make_folders(context, path);
}

RpinnStatus rpinn_run_folder_open_log(RpinnContext *context, RpinnRunFolder *folder) {
  char file[RPINN_PATH_SIZE];
  file_path(folder, "run.log", file);
  folder->log = fopen(file, "a");
  return folder->log ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_IO, "create", file);
}

void rpinn_run_folder_close(RpinnRunFolder *folder) {
  if (folder->log) fclose(folder->log);
  folder->log = NULL;
}

double rpinn_run_folder_seconds(const RpinnRunFolder *folder) {
  return rpinn_task_pool_now() - folder->started;
}

void rpinn_run_folder_log(RpinnRunFolder *folder, const char *format, ...) {
  if (!folder->log) return;
  char seconds[32], line[2048];
  va_list arguments;
  va_start(arguments, format);
  rpinn_format(seconds, sizeof seconds, "%10.3f", rpinn_run_folder_seconds(folder));
  rpinn_format_list(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(folder->log, "%s  %s\n", seconds, line);
  fflush(folder->log);
}

RpinnStatus rpinn_run_folder_write(RpinnContext *context, const RpinnRunFolder *folder, const char *name,
                                   const RpinnText *text) {
  char path[RPINN_PATH_SIZE];
  file_path(folder, name, path);
  return rpinn_part_file_write(context, path, text);
}
