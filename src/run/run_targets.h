/* The posterior of one thread as the target of its members. */
#ifndef RPINN_RUN_RUN_TARGETS_H
#define RPINN_RUN_RUN_TARGETS_H

#include "run_state.h"

typedef struct RpinnRunTarget {
  RpinnPosterior *posterior;
  RpinnPosteriorMember member;
  RpinnObjective objective;
  RpinnLeastSquares squares;
  double *gradient; /* [N] */
  const char *start;
  const double *map; /* [N] where start: map begins; NULL for other starts */
} RpinnRunTarget;

/* targets [num_threads] and what they point to, in the posteriors' arenas. */
RpinnStatus rpinn_run_targets_make(RpinnContext *context, RpinnRun *run, RpinnMemberTarget **targets);
/* How the settings ask for members to be minimised. */
RpinnMinimizeOptions rpinn_run_minimize_options(const RpinnProblem *problem);

#endif
