/* The posterior linearised at its most probable point, as the store has it. */
#ifndef RPINN_RESULTS_LAPLACE_RESULT_H
#define RPINN_RESULTS_LAPLACE_RESULT_H

#include "rpinn/run.h"

typedef struct RpinnLaplaceResult {
  double *at;            /* [N] that point, theta*; NULL for methods that linearise nothing */
  double energy;         /* E(theta*) */
  double linear_energy;  /* the least energy of the linearised model; E(theta*) itself at a minimiser */
  double log_evidence;   /* of all rows, in the units of the data */
  double leave_one_out;  /* sum over measured rows of their log density given all others, likewise */
  double num_starts;     /* from which theta* was sought … */
  double num_at_minimum; /* … and those that ended at its energy, or next to it */
} RpinnLaplaceResult;

/* Room for run->laplace.at. */
RpinnStatus rpinn_run_make_laplace_room(RpinnContext *context, RpinnRun *run);
/* run->laplace, which has room, as the store has it; *found is false where it has none. */
RpinnStatus rpinn_run_find_laplace(RpinnContext *context, RpinnRun *run, bool *found);
/* The same of a run that must have it, unless it is there already. */
RpinnStatus rpinn_run_load_laplace(RpinnContext *context, RpinnRun *run);
/* run->laplace as it is kept in the store under rpinn_laplace_state_key; the caller frees the state. */
RpinnStatus rpinn_run_pack_laplace(RpinnContext *context, RpinnRun *run, void **state, size_t *size);

#endif
