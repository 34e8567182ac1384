/* Many runs: tasks that are told apart by number and know nothing of each other. A task is a problem and its run, in a
 * folder of its own; what is taken of it, its yield, is plain data that may as well come from another thread, process or
 * machine. A task whose yield is known from before is not made again, one that was stopped goes on from its checkpoint,
 * and yields are delivered in the order of the tasks, whoever made them and when. */
#ifndef RPINN_MANY_MANY_RUNS_H
#define RPINN_MANY_MANY_RUNS_H

#include "context.h"
#include "rpinn/run.h"
#include "rpinn/shard.h"

enum { RPINN_TASK_NAME_SIZE = 256 };

/* The run of a task, finished. */
typedef struct RpinnTaskRun {
  size_t task;
  const RpinnProblem *problem;
  const void *beside; /* what open left beside the problem */
  const RpinnRun *run;
  double seconds; /* that it took in this session */
} RpinnTaskRun;

/* How far all of them are. */
typedef struct RpinnManyProgress {
  size_t done, total;  /* tasks; done: delivered, the present one among them */
  bool is_new;         /* the present one was made in this session */
  double seconds_left; /* for those that are still to be made; NaN while none has been */
} RpinnManyProgress;

/* The tasks. Functions that may be NULL say so. */
typedef struct RpinnManyRuns {
  size_t num_tasks;
  const char *folder; /* the run of task k is in folder/NAME, whose parents are made if need be */
  bool keep_folders;  /* else they go when the yield is taken */
  size_t yield_size;
  void *yields; /* [num_tasks][yield_size]; NULL where tasks leave nothing but their folders */
  void *user;

  /* In the thread that called. */
  /* Is the yield known from before? All tasks are asked before the first is made. */
  RpinnStatus (*recall)(void *user, RpinnContext *context, size_t task, void *yield, bool *is_known);
  /* In the order of the tasks, known ones included. */
  RpinnStatus (*deliver)(void *user, RpinnContext *context, size_t task, const void *yield,
                         const RpinnManyProgress *progress);
  /* A task failed, with its error on the context: RPINN_OK goes on with the others and delivers nothing of it. NULL: all
   * end with its error, and what is under way is saved. */
  RpinnStatus (*fail)(void *user, RpinnContext *context, size_t task);

  /* The number by which tasks are dealt to shards, where it is not their own: tasks of one name have one. NULL: their own. */
  size_t (*place)(const void *user, size_t task);

  /* In whatever thread, where others may be at work: what they share is only read. */
  void (*name)(const void *user, size_t task, char name[RPINN_TASK_NAME_SIZE]);
  /* Its problem, which the caller destroys; *beside is NULL before, and lives as long. */
  RpinnStatus (*open)(const void *user, RpinnContext *context, size_t task, RpinnProblem **problem,
                      const void **beside);
  /* The yield of its run, kept where recall will look for it; NULL: its folder is all there is. */
  RpinnStatus (*take)(const void *user, RpinnContext *context, const RpinnTaskRun *run, void *yield);
} RpinnManyRuns;

/* All are asked and told in the thread that called; NULL: nobody. */
typedef struct RpinnManyOptions {
  size_t num_jobs;                 /* tasks at once; 0 or 1: one after the other, in the thread that called */
  bool (*interrupted)(void *user); /* true saves the runs under way and stops */
  void (*begins)(void *user, const char *name);                /* the run of a task */
  void (*progress)(void *user, const RpinnProgress *progress); /* of the run under way, where it is alone */
  void *user;
  const char *study;           /* the folder of all; what says that it holds a shard is kept there */
  const RpinnTaskShard *shard; /* whose tasks are made; NULL, or none of some: all */
} RpinnManyOptions;

/* Make all that is not known. A shard makes its own tasks and delivers nothing: the whole study does when shards are merged. A folder
 * that holds a shard, or another one, is refused. A failure names the folder of its task where it names no file. An interruption is no
 * failure: what is not done is made the next time. */
RpinnStatus rpinn_many_runs_make(RpinnContext *context, const RpinnManyRuns *runs,
                                 const RpinnManyOptions *options, bool *interrupted);

#endif
