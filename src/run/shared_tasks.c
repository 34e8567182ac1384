#include "shared_tasks.h"

#include <stdlib.h>

#include "sharing.h"

/* ---- events ---- */

static RpinnStatus note(RpinnSharing *sharing, const RpinnRunEvent *event) {
  RpinnRunEvent *short_form = rpinn_run_event_of_event(event);
  if (!short_form) return rpinn_fail_memory(sharing->context);
  rpinn_text_append_bytes(&sharing->notes, (const char *)short_form, (size_t)short_form->size);
  free(short_form);
  return sharing->notes.failed ? rpinn_fail_memory(sharing->context) : RPINN_OK;
}

static RpinnStatus handle_event(void *user, const void *posted) {
  RpinnSharing *sharing = user;
  RPINN_TRY(rpinn_scratch_keep(sharing->context, sharing->work->driver, sharing->scratch, posted));
  if (rpinn_ranks_rank(sharing->ranks) > 0) return note(sharing, posted);
  sharing->work->count(sharing->work->user, posted);
  return RPINN_OK;
}

/* ---- workers ---- */

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const RpinnSharedTasks *work = ((RpinnSharing *)user)->work;
  return work->open_worker(work->user, context, pool, thread, worker);
}

RpinnTaskPoolOptions rpinn_sharing_pool(RpinnSharing *sharing) {
  const RpinnSharedTasks *work = sharing->work;
  return (RpinnTaskPoolOptions){.num_threads = work->num_threads,
                                .num_tasks = work->num_tasks,
                                .done = work->done,
                                .time_limit = work->time_limit,
                                .user = sharing,
                                .open_worker = open_worker,
                                .close_worker = work->close_worker,
                                .perform_all = work->perform_all,
                                .handle = handle_event,
                                .free_event = free};
}

/* However it ends, what was made comes into the run directory. */
RpinnStatus rpinn_sharing_make(RpinnSharing *sharing, const RpinnTaskPoolOptions *options,
                               RpinnTaskPoolResult *result) {
  RpinnContext *context = sharing->context;
  RPINN_TRY(rpinn_scratch_open(context, sharing->work->driver, &sharing->scratch));
  RpinnStatus status = rpinn_task_pool_run(context, options, result);
  RpinnError reason = context->error;
  RpinnStatus deposited = rpinn_scratch_close(context, sharing->scratch);
  sharing->scratch = NULL;
  if (status == RPINN_OK) return deposited;
  context->error = reason;
  return status;
}

/* ---- alone ---- */

static bool tick_alone(void *user, uint64_t counted) {
  const RpinnSharing *sharing = user;
  return sharing->work->tick(sharing->work->user, counted);
}

static RpinnStatus serve_scratch(void *user) {
  const RpinnSharing *sharing = user;
  return rpinn_scratch_deposit_when_due(sharing->context, sharing->scratch);
}

static RpinnStatus make_alone(RpinnSharing *sharing, RpinnTaskPoolResult *result) {
  RpinnTaskPoolOptions options = rpinn_sharing_pool(sharing);
  options.tick = tick_alone;
  if (rpinn_scratch_folder(sharing->work->driver)) options.serve = serve_scratch;
  return rpinn_sharing_make(sharing, &options, result);
}

RpinnStatus rpinn_run_shared_tasks(RpinnContext *context, const RpinnSharedTasks *work,
                                   RpinnTaskPoolResult *result) {
  RpinnRanks *ranks = work->driver->options->ranks;
  RpinnSharing *sharing = calloc(1, sizeof *sharing);
  if (!sharing) return rpinn_fail_memory(context);
  sharing->context = context;
  sharing->work = work;
  sharing->ranks = ranks;
  pthread_mutex_init(&sharing->mutex, NULL);
  RpinnStatus status = rpinn_ranks_size(ranks) == 1   ? make_alone(sharing, result)
                       : rpinn_ranks_rank(ranks) == 0 ? rpinn_sharing_lead(sharing, result)
                                                      : rpinn_sharing_follow(sharing, result);
  pthread_mutex_destroy(&sharing->mutex);
  rpinn_text_free(&sharing->notes);
  free(sharing);
  return status;
}
