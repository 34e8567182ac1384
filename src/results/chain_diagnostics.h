/* Have the chains of a run converged? Every parameter and every predicted number on its own. */
#ifndef RPINN_RESULTS_CHAIN_DIAGNOSTICS_H
#define RPINN_RESULTS_CHAIN_DIAGNOSTICS_H

#include "draw_spool.h"
#include "rpinn/run.h"

/* results.chains, from rows (parameters, then outputs) of all draws in their order and energies
 * [num_chains][num_draws]. */
RpinnStatus rpinn_run_diagnose_chains(RpinnContext *context, RpinnRun *run, RpinnDrawSpool *spool,
                                      const double *energies);

#endif
