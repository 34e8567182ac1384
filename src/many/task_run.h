/* One of many runs, in its folder. */
#ifndef RPINN_MANY_TASK_RUN_H
#define RPINN_MANY_TASK_RUN_H

#include "many_runs.h"

enum { RPINN_TASK_FOLDER_SIZE = 4096 };

/* What came of a task. */
typedef struct RpinnTaskOutcome {
  size_t task;
  bool is_stopped;  /* what it has is saved, and nothing was taken of it */
  RpinnError error; /* status RPINN_OK: it is made */
} RpinnTaskOutcome;

void rpinn_task_folder(const RpinnManyRuns *runs, size_t task, char folder[RPINN_TASK_FOLDER_SIZE]);
void *rpinn_task_yield(const RpinnManyRuns *runs, size_t task);
/* The failure on the context is that of a task: say which, where it names no file. */
void rpinn_task_blame(const RpinnManyRuns *runs, size_t task, RpinnContext *context);
/* Make it, in whatever thread. calls: interrupted, progress and user. */
RpinnTaskOutcome rpinn_task_make(const RpinnManyRuns *runs, size_t task, RpinnContext *context,
                                 const RpinnRunOptions *calls);

#endif
