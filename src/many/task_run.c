#include "task_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "steady_clock.h"

void rpinn_task_folder(const RpinnManyRuns *runs, size_t task, char folder[RPINN_TASK_FOLDER_SIZE]) {
  char name[RPINN_TASK_NAME_SIZE];
  runs->name(runs->user, task, name);
  snprintf(folder, RPINN_TASK_FOLDER_SIZE, "%.3800s/%s", runs->folder, name);
}

void *rpinn_task_yield(const RpinnManyRuns *runs, size_t task) {
  return runs->yields ? (char *)runs->yields + task * runs->yield_size : NULL;
}

void rpinn_task_blame(const RpinnManyRuns *runs, size_t task, RpinnContext *context) {
  char folder[RPINN_TASK_FOLDER_SIZE];
  rpinn_task_folder(runs, task, folder);
  if (!context->error.file[0]) snprintf(context->error.file, sizeof context->error.file, "%.500s", folder);
}

/* A run directory holds no folders of its own but figures. */
static void remove_folder(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
  rmdir(path);
}

static bool has_checkpoint(const char *folder) {
  char path[RPINN_TASK_FOLDER_SIZE + 16];
  snprintf(path, sizeof path, "%s/checkpoint.db", folder);
  return access(path, F_OK) == 0;
}

/* The run, unless it was stopped, and what is taken of it. */
static RpinnStatus make(const RpinnManyRuns *runs, RpinnContext *context, const RpinnRunOptions *options,
                        RpinnTaskRun *made, bool *is_stopped) {
  double started = rpinn_steady_seconds();
  RpinnRun *run;
  RPINN_TRY(rpinn_run(context, made->problem, options, &run));
  *is_stopped = rpinn_run_interrupted(run);
  made->run = run;
  made->seconds = rpinn_steady_seconds() - started;
  RpinnStatus status = RPINN_OK;
  if (!*is_stopped && runs->take)
    status = runs->take(runs->user, context, made, rpinn_task_yield(runs, made->task));
  rpinn_run_destroy(run);
  return status;
}

static RpinnStatus perform(const RpinnManyRuns *runs, size_t task, RpinnContext *context,
                           const RpinnRunOptions *calls, bool *is_stopped) {
  char folder[RPINN_TASK_FOLDER_SIZE];
  RpinnTaskRun made = {.task = task};
  RpinnRunOptions options = *calls;
  RpinnProblem *problem;
  rpinn_task_folder(runs, task, folder);
  options.folder = folder;
  options.resume = has_checkpoint(folder);
  RPINN_TRY(runs->open(runs->user, context, task, &problem, &made.beside));
  made.problem = problem;
  RpinnStatus status = make(runs, context, &options, &made, is_stopped);
  rpinn_problem_destroy(problem);
  if (status == RPINN_OK && !*is_stopped && !runs->keep_folders) remove_folder(folder);
  return status;
}

RpinnTaskOutcome rpinn_task_make(const RpinnManyRuns *runs, size_t task, RpinnContext *context,
                                 const RpinnRunOptions *calls) {
  RpinnTaskOutcome outcome = {.task = task};
  RpinnStatus status = perform(runs, task, context, calls, &outcome.is_stopped);
  if (status == RPINN_ERROR_INTERRUPTED) { /* while a scale was chosen, say: nothing was begun */
    outcome.is_stopped = true;
  } else if (status != RPINN_OK) {
    rpinn_task_blame(runs, task, context);
    outcome.error = context->error;
    outcome.error.status = status;
  }
  rpinn_context_clear_error(context);
  return outcome;
}
