/* Have the chains of a run converged? Every parameter and every predicted number on its own. */
#ifndef RPINN_RESULTS_CHAIN_DIAGNOSTICS_H
#define RPINN_RESULTS_CHAIN_DIAGNOSTICS_H

#include "draw_spool.h"
#include "run_state.h"

/* results.chains, from rows (parameters, then outputs) of all draws in their order and energies
 * [num_chains][num_draws]. */
RpinnStatus rpinn_run_diagnose_chains(RpinnContext *context, RpinnRun *run, RpinnDrawSpool *spool,
                                      const double *energies);
/* The worst of some scalars. */
typedef struct RpinnWorstConvergence {
  double max_rhat, max_rhat_paper, min_ess_bulk, min_ess_tail; /* NaN: no scalar has one */
  size_t num_scalars, num_unmixed;                             /* unmixed: R-hat above 1.01 */
} RpinnWorstConvergence;
RpinnWorstConvergence rpinn_worst_convergence(size_t count, const RpinnConvergence *convergence);

#endif
