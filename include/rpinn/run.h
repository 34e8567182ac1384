/* `rpinn run`: a problem and its settings become a run directory. */
#ifndef RPINN_RUN_H
#define RPINN_RUN_H

#include "rpinn/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far a run is. */
typedef struct RpinnProgress {
  size_t iterations;     /* done */
  size_t max_iterations; /* the budget */
  double loss;           /* lowest so far */
  double seconds;        /* since the start */
} RpinnProgress;

typedef struct RpinnRunOptions {
  const char *folder;              /* made if need be; one that holds a run already is refused */
  bool (*interrupted)(void *user); /* asked often; true ends the run early */
  void (*progress)(void *user, const RpinnProgress *progress); /* called now and then; may be NULL */
  void *user;
} RpinnRunOptions;

typedef struct RpinnRun RpinnRun;

/* Make the run and write run.yaml, run.log, predictions.csv and summary.json. A run that was interrupted has
 * written all of them too and returns RPINN_OK: see rpinn_run_interrupted. */
RPINN_API RpinnStatus rpinn_run(RpinnContext *context, RpinnProblem *problem, const RpinnRunOptions *options,
                                RpinnRun **run);
RPINN_API void rpinn_run_destroy(RpinnRun *run);
RPINN_API bool rpinn_run_interrupted(const RpinnRun *run);
/* summary.json, and the same as a table for people. */
RPINN_API const char *rpinn_run_json(const RpinnRun *run);
RPINN_API const char *rpinn_run_table(const RpinnRun *run);

#ifdef __cplusplus
}
#endif
#endif
