#include "chain_results.h"

#include <math.h>
#include <stdlib.h>

RpinnWorstConvergence rpinn_worst_convergence(size_t count, const RpinnConvergence *convergence) {
  RpinnWorstConvergence worst = {(double)NAN, (double)NAN, (double)NAN, (double)NAN, count, 0};
  for (size_t i = 0; i < count; i++) {
    worst.max_rhat = fmax(worst.max_rhat, convergence[i].rhat); /* fmax and fmin pass over NaN */
    worst.max_rhat_paper = fmax(worst.max_rhat_paper, convergence[i].rhat_paper);
    worst.min_ess_bulk = fmin(worst.min_ess_bulk, convergence[i].ess_bulk);
    worst.min_ess_tail = fmin(worst.min_ess_tail, convergence[i].ess_tail);
    worst.num_unmixed += convergence[i].rhat > 1.01;
  }
  return worst;
}

double rpinn_largest(size_t count, const double *numbers) {
  double largest = (double)NAN;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, numbers[i]);
  return largest;
}

void rpinn_chain_results_free(RpinnChainResults *chains, uint64_t num_chains) {
  for (uint64_t c = 0; chains->chains && c < num_chains; c++) {
    free(chains->chains[c].mean);
    free(chains->chains[c].deviation);
    free(chains->chains[c].scores);
  }
  free(chains->chains);
  free(chains->parameters);
  free(chains->outputs);
  free(chains->nested_parameters);
  free(chains->nested_outputs);
  free(chains->best_trace);
  free(chains->worst_trace);
  free(chains->energy_trace);
}
