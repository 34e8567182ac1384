/* What the chains of a run have done, and whether they have converged. */
#ifndef RPINN_RESULTS_CHAIN_RESULTS_H
#define RPINN_RESULTS_CHAIN_RESULTS_H

#include <stdint.h>

#include "rpinn/convergence.h"
#include "run_scores.h"

/* What one chain has done. */
typedef struct RpinnChainResult {
  uint64_t divergences, saturations; /* draws that diverged, or reached the largest depth */
  uint64_t leapfrogs;                /* of the draws */
  double acceptance, step_size;      /* mean; the last */
  double energy_fraction;            /* E-BFMI */
  double *mean, *deviation;          /* [outputs.num_values] */
  RpinnScore *scores;                /* [quantities], made with the summary */
} RpinnChainResult;

/* Have the chains converged? */
typedef struct RpinnChainResults {
  RpinnChainResult *chains; /* [plan.num_chains]; NULL for methods without chains */
  size_t num_parameters;
  size_t num_outputs;
  RpinnConvergence *parameters;                    /* [num_parameters] */
  RpinnConvergence *outputs;                       /* [num_outputs]: quantities, held-out terms, unknowns */
  size_t num_superchains;                          /* 0: chains are judged one by one */
  double *nested_parameters, *nested_outputs;      /* nested R-hat of the same; NULL without superchains */
  size_t best, worst;                              /* parameters by R-hat */
  size_t num_trace;                                /* points of each trace below */
  double *best_trace, *worst_trace, *energy_trace; /* [num_chains][num_trace], evenly thinned */
  size_t trace_every;                              /* draws between their points */
} RpinnChainResults;

void rpinn_chain_results_free(RpinnChainResults *chains, uint64_t num_chains);

/* The worst of some scalars. */
typedef struct RpinnWorstConvergence {
  double max_rhat, max_rhat_paper, min_ess_bulk, min_ess_tail; /* NaN: no scalar has one */
  size_t num_scalars, num_unmixed;                             /* unmixed: R-hat above 1.01 */
} RpinnWorstConvergence;
/* The largest of some numbers; NaN where there is none. */
double rpinn_largest(size_t count, const double *numbers);
RpinnWorstConvergence rpinn_worst_convergence(size_t count, const RpinnConvergence *convergence);

#endif
