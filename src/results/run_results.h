/* What the draws of a run come to: what the pass over all of them gathers. */
#ifndef RPINN_RESULTS_RUN_RESULTS_H
#define RPINN_RESULTS_RUN_RESULTS_H

#include "chain_results.h"
#include "kept_draws.h"
#include "particle_trace.h"
#include "rpinn/optimize.h"
#include "run_weights.h"

/* How the loss of one member fell. */
typedef struct RpinnLossTrace {
  uint64_t member;
  size_t count;
  double *points; /* [count] pairs (iteration, loss) */
} RpinnLossTrace;

enum { RPINN_MAX_LOSS_TRACES = 50 };

typedef struct RpinnRunResults {
  uint64_t num_draws; /* of the posterior */
  uint64_t num_members, num_failed, num_converged, num_retried;
  uint64_t stops[2][RPINN_NUM_STOPS]; /* of members in the run's precision; of those that went on in double */
  double *mean, *deviation;           /* [outputs.num_values] */
  double *predictive_low,
      *predictive_high; /* [quantities][points] 2.5 %, 97.5 % of a measurement; NaN: see predictive_bands.h */
  double *low, *median,
      *high; /* [outputs.num_values] quantiles 2.5 %, 50 %, 97.5 % of the kept draws by ranks (rank_interval.h); of fewer than
   * RPINN_INTERVAL_MIN_DRAWS the ends are NaN */
  double *crps_distances,
      *crps_pairs;      /* [outputs.num_values] sums of the kept draws (metrics.h); NaN without a truth */
  RpinnKeptDraws *kept; /* outputs of kept draws */
  RpinnKeptDraws *likelihoods; /* their log likelihoods, of all rows; none are kept without posterior.nc */
  RpinnKeptDraws *statistics;  /* member statistics and loss parts of kept members */
  RpinnKeptDraws *gains; /* what each member that did not fail had to gain yet, where they are minimisers */
  size_t keep_every;
  size_t num_traces; /* of members that did not fail, evenly chosen, the first of them included */
  RpinnLossTrace traces[RPINN_MAX_LOSS_TRACES];
  RpinnScore *scores; /* [quantities, then held-out terms], made with the summary */
  RpinnRunWeights weights;
  RpinnChainResults chains;
  RpinnParticleTrace particles;
} RpinnRunResults;

/* The pass over the draws in the store, in their order: outputs, moments and, with_file, posterior.nc. */
RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run, bool with_file);
void rpinn_run_free_results(RpinnRun *run);

#endif
