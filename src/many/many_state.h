/* Many runs while they are made. */
#ifndef RPINN_MANY_MANY_STATE_H
#define RPINN_MANY_MANY_STATE_H

#include <pthread.h>
#include <stdint.h>

#include "task_pool.h"
#include "task_run.h"

typedef enum RpinnTaskState {
  RPINN_TASK_TO_MAKE, /* or under way, or stopped */
  RPINN_TASK_KNOWN,   /* from before */
  RPINN_TASK_MADE,
  RPINN_TASK_FAILED,  /* and left aside */
  RPINN_TASK_ANOTHERS /* of another shard */
} RpinnTaskState;

typedef struct RpinnManyState {
  RpinnContext *context;
  const RpinnManyRuns *runs;
  const RpinnManyOptions *options;
  size_t threads_each; /* of a run; 0: all that there are */
  pthread_mutex_t
      mutex;      /* of tasks, where other threads look for one; they are changed by the thread that called */
  uint8_t *tasks; /* [num_tasks] RpinnTaskState */
  size_t next;    /* the first that is still to be delivered */
  size_t num_delivered; /* before it */
  size_t num_made, num_to_make;
  size_t num_ended; /* in this session, whatever came of them */
  double started;
  bool interrupted;
} RpinnManyState;

/* Does anybody want an end? Once somebody did, yes. */
bool rpinn_many_is_interrupted(RpinnManyState *state);
/* The run of a task begins. */
void rpinn_many_begin(const RpinnManyState *state, size_t task);
/* The run of a task has ended: deliver what is there now, in order. */
RpinnStatus rpinn_many_settle(RpinnManyState *state, const RpinnTaskOutcome *outcome);

/* many_jobs.c: all that are to be made, options->num_jobs at once; threads that make tasks, as far as they do not depend on which. */
RpinnStatus rpinn_many_make_side_by_side(RpinnManyState *state);
RpinnTaskPoolOptions rpinn_many_pool(RpinnManyState *state);
/* many_ranks.c: all that are to be made, by all ranks; what another rank than the first does meanwhile. */
RpinnStatus rpinn_many_make_with_others(RpinnManyState *state);
RpinnStatus rpinn_many_make_for_others(RpinnManyState *state);

#endif
