/* Threads, and other ranks, over chains that continue given points. What they hand over goes to the store. */
#ifndef RPINN_RUN_RUN_CONTINUATIONS_H
#define RPINN_RUN_RUN_CONTINUATIONS_H

#include "continuation_group.h"
#include "run_progress.h"

typedef struct RpinnContinuations {
  RpinnDriver *driver;
  const RpinnMemberTarget *targets; /* [num_threads] */
  RpinnContinuationOptions options;
  size_t num_chains;
  const uint8_t *done;        /* [num_chains] 1: made before; NULL: none is */
  RpinnRunProgress *progress; /* counts draws where chains end in such, else iterations */
  /* ---- how it ended ---- */
  bool is_interrupted, is_out_of_time;
} RpinnContinuations;

RpinnStatus rpinn_run_continuations(RpinnContext *context, RpinnContinuations *work);

/* A thread's share of it, as in RpinnTaskPoolOptions. */
RpinnStatus rpinn_continuation_open_worker(RpinnContext *context, const RpinnMemberTarget *target,
                                           const RpinnContinuationOptions *options, RpinnTaskPool *pool,
                                           void **worker);
void rpinn_continuation_close_worker(void *worker);
RpinnStatus rpinn_continuation_perform_all(void *worker, RpinnContext *context, RpinnTaskPool *pool);

/* Those of method nuts, as far as the settings tell them: metric, depth and acceptance. */
RpinnNutsOptions rpinn_run_nuts_options(const RpinnRun *run);
/* Chains of so many iterations with the metric and step of run->correction, which do not adapt. */
RpinnNutsOptions rpinn_run_frozen_options(const RpinnRun *run, uint64_t length);

#endif
