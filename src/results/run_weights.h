/* Are the draws the posterior? Gauss-Newton log weights of converged rPINN members, their Pareto k and
 * effective size, and the independence Metropolis step on them where it is asked for. */
#ifndef RPINN_RESULTS_RUN_WEIGHTS_H
#define RPINN_RESULTS_RUN_WEIGHTS_H

#include <stdint.h>

#include "pareto_smoothing.h"
#include "rpinn/run.h"

typedef struct RpinnRunWeights {
  bool apply;         /* the weights were computed */
  const char *reason; /* why not, in words; NULL where they were */
  RpinnParetoSmoothing smoothing;
  bool corrected;      /* the draws below are those of the Metropolis chain */
  double acceptance;   /* of the chain; NaN where it was not asked for */
  uint32_t *times;     /* [draws] how often each draw is in the chain; NULL: once */
  double *log_weights; /* [draws] as they were found; NULL where none were computed */
  double *smoothed;    /* [draws] with a smoothed tail, normalised */
} RpinnRunWeights;

/* results.weights, from the draws in the store: so many are not failed, and so many of these converged. */
RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t finished,
                                   uint64_t converged);

#endif
