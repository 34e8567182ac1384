/* How far a run is, for the one who waits. */
#ifndef RPINN_RUN_RUN_PROGRESS_H
#define RPINN_RUN_RUN_PROGRESS_H

#include "driver.h"

enum { RPINN_RECENT_LOSSES = 512 };

typedef struct RpinnRunProgress {
  RpinnDriver *driver;
  const char *unit;        /* what is counted: "members", "iterations" */
  uint64_t done, total;    /* of the whole run */
  uint64_t done_here;      /* in this session */
  uint64_t failed;         /* members */
  uint64_t divergences;    /* of chains, in this session */
  uint64_t iterations;     /* made in this session */
  size_t num_threads;      /* that are at work; 0: all of the driver */
  double seconds_per_unit; /* on one thread, once something is done here; 0: from done_here and the clock */
  double losses[RPINN_RECENT_LOSSES]; /* a ring of the last ones */
  size_t num_losses;
  double next_report;
} RpinnRunProgress;

void rpinn_run_progress_add_loss(RpinnRunProgress *progress, double loss);
/* Tell the caller of the run, a few times a second at most. */
void rpinn_run_progress_report(RpinnRunProgress *progress, bool last);
/* The same, and: does the caller want the run to stop? */
bool rpinn_run_progress_tick(RpinnRunProgress *progress);

#endif
