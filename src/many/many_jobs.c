/* Tasks side by side: each in a thread with a context of its own. */
#include <stdlib.h>

#include "many_state.h"
#include "processors.h"
#include "task_pool.h"

/* ---- what threads tell ---- */

typedef struct News {
  bool is_end;
  RpinnTaskOutcome outcome; /* of a task that begins: which one it is */
} News;

static RpinnStatus handle(void *user, const void *event) {
  RpinnManyState *state = user;
  const News *news = event;
  if (news->is_end) return rpinn_many_settle(state, &news->outcome);
  rpinn_many_begin(state, news->outcome.task);
  return RPINN_OK;
}

/* ---- a thread ---- */

/* The cores that there are for this process are shared by the runs that are made at once. */
static size_t threads_of_each(size_t num_runs) {
  size_t cores = rpinn_processors_allowed();
  return cores > num_runs ? cores / num_runs : 1;
}

typedef struct Job {
  const RpinnManyState *state;
  RpinnTaskPool *pool;
} Job;

static bool is_stopped(void *pool) {
  return rpinn_task_pool_is_stopped(pool);
}

static RpinnStatus open_job(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                            void **worker) {
  (void)thread;
  Job *job = malloc(sizeof *job);
  if (!job) return rpinn_fail_memory(context);
  *job = (Job){user, pool};
  rpinn_context_set_interrupted(context, is_stopped, pool);
  *worker = job;
  return RPINN_OK;
}

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  const Job *job = worker;
  RpinnRunOptions calls = {.num_threads = job->state->threads_each, .interrupted = is_stopped, .user = pool};
  News *begins = calloc(1, sizeof *begins), *ends = calloc(1, sizeof *ends);
  if (!begins || !ends) {
    free(begins);
    free(ends);
    return rpinn_fail_memory(context);
  }
  begins->outcome.task = (size_t)task;
  rpinn_task_pool_post(pool, begins);
  ends->is_end = true;
  ends->outcome = rpinn_task_make(job->state->runs, (size_t)task, context, &calls);
  rpinn_task_pool_post(pool, ends);
  return RPINN_OK;
}

/* ---- the thread that called ---- */

static bool tick(void *user, uint64_t counted) {
  (void)counted;
  return rpinn_many_is_interrupted(user);
}

RpinnTaskPoolOptions rpinn_many_pool(RpinnManyState *state) {
  return (RpinnTaskPoolOptions){.user = state,
                                .open_worker = open_job,
                                .close_worker = free,
                                .perform = perform,
                                .handle = handle,
                                .free_event = free,
                                .tick = tick};
}

RpinnStatus rpinn_many_make_side_by_side(RpinnManyState *state) {
  size_t num_jobs = state->options->num_jobs,
         num_runs = num_jobs < state->num_to_make ? num_jobs : state->num_to_make;
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions options = rpinn_many_pool(state);
  if (!num_runs) return RPINN_OK;
  options.num_threads = num_runs;
  options.num_tasks = state->runs->num_tasks;
  options.done = state->tasks;
  state->threads_each = threads_of_each(num_runs);
  return rpinn_task_pool_run(state->context, &options, &result);
}
