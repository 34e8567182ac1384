/* A session that makes a run, or goes on with it: what only it needs, beside the run that others will read. */
#ifndef RPINN_RUN_DRIVER_H
#define RPINN_RUN_DRIVER_H

#include <stdio.h>

#include "run_record.h"
#include "shard.h"

typedef struct RpinnDrawMaker RpinnDrawMaker; /* maker.h */

enum { RPINN_SCRATCH_MARK = 24, RPINN_SCRATCH_FOLDER = 512 }; /* characters, with the end of the text */

typedef struct RpinnDriver {
  const RpinnRunOptions *options;
  RpinnRun *run;
  const RpinnDrawMaker *maker;        /* of its method */
  size_t num_threads;                 /* to work with; the run has a posterior for each */
  double started;                     /* seconds of the steady clock, when its folder was opened */
  bool is_new;                        /* there was no run in the folder before */
  RpinnShard shard;                   /* whose members or chains it makes; count 0: all */
  bool has_past;                      /* what an earlier session or a shard has learnt may be in the store */
  bool is_partial;                    /* it makes no draws, and some are not there */
  bool has_chosen;                    /* the scale of the prior, where an earlier session had not */
  char scratch[RPINN_SCRATCH_FOLDER]; /* where its processes keep draws first; empty: nowhere */
  char session[RPINN_SCRATCH_MARK];   /* that it is told apart by there */
  FILE *log;                          /* run.log; NULL before it is open */
  bool interrupted;                   /* the caller wanted an end … */
  bool out_of_time;                   /* … or the clock, before all draws were there */
} RpinnDriver;

/* A run with its method, threads and posteriors, but without a directory. The caller destroys driver->run, after a failure as
 * well. */
RpinnStatus rpinn_driver_prepare(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnRunOptions *options, RpinnDriver *driver);
/* Threads that a rank of it works with, as far as rank 0 can tell. */
size_t rpinn_driver_rank_threads(const RpinnDriver *driver, size_t rank);
/* Seconds; 0: no limit. */
double rpinn_driver_time_limit(const RpinnDriver *driver);
/* Since the session began. */
double rpinn_driver_seconds(const RpinnDriver *driver);
/* A line of run.log, with these seconds. */
void rpinn_driver_log(const RpinnDriver *driver, const char *format, ...) RPINN_PRINTF(2, 3);

#endif
