/* What a run would cost, from a short trial on this machine; rpinn_run_plan tells it in words. */
#ifndef RPINN_RUN_RUN_PLAN_H
#define RPINN_RUN_RUN_PLAN_H

#include "rpinn/run.h"

typedef struct RpinnRunEstimate {
  double step_seconds, num_steps; /* steps that are made one after the other, at most */
  const char *step, *place;       /* "iteration", " on one thread": what was measured, and where */
  double memory_bytes;            /* beyond those of every run */
  double disk_bytes;
  double gradient_seconds, num_gradients; /* of --correct nuts behind it, on one thread, at most; 0 without */
} RpinnRunEstimate;

/* Seconds that a run of the problem would take on this machine, at most where it has chains: from a trial of half a
 * second, or of two iterations of all particles. */
RpinnStatus rpinn_run_estimate(RpinnContext *context, const RpinnProblem *problem, double *seconds);
/* Bytes of one draw in the store, about. */
double rpinn_run_draw_bytes(const RpinnRun *run);

#endif
