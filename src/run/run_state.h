/* A run in memory. */
#ifndef RPINN_RUN_RUN_STATE_H
#define RPINN_RUN_RUN_STATE_H

#include "draw_outputs.h"
#include "kept_draws.h"
#include "member_pool.h"
#include "member_store.h"
#include "posterior.h"
#include "rpinn/run.h"
#include "run_folder.h"
#include "run_weights.h"

typedef enum RpinnMethod { RPINN_METHOD_MAP, RPINN_METHOD_RPINN, RPINN_METHOD_ENSEMBLE } RpinnMethod;

/* The statistics of a member, in the order in which they are stored; the parts of its loss follow. */
typedef enum RpinnMemberStatistic {
  RPINN_MEMBER_LOSS,
  RPINN_MEMBER_GRADIENT_NORM,
  RPINN_MEMBER_ITERATIONS,
  RPINN_MEMBER_EVALUATIONS,
  RPINN_MEMBER_CONVERGED,
  RPINN_MEMBER_ATTEMPTS,
  RPINN_MEMBER_SECONDS,
  RPINN_NUM_MEMBER_STATISTICS
} RpinnMemberStatistic;

/* Scores of one quantity, or of one held-out term, against what is known of it; NaN where that says nothing.
 */
typedef struct RpinnScore {
  const char *name;
  size_t first, count;     /* within the outputs */
  const double *reference; /* [count], or NULL */
  double rl2, linf, mean_std, lpp, lpp_table, coverage, interval_coverage, crps;
} RpinnScore;

/* How the loss of one member fell. */
typedef struct RpinnLossTrace {
  uint64_t member;
  size_t count;
  double *points; /* [count] pairs (iteration, loss) */
} RpinnLossTrace;

enum { RPINN_MAX_LOSS_TRACES = 50 };

/* What the pass over all finished members gathers. */
typedef struct RpinnRunResults {
  uint64_t num_members, num_failed, num_converged, num_retried;
  uint64_t stops[RPINN_STOP_DAMPING_LIMIT + 1];
  double *mean, *deviation;    /* [outputs.num_values] */
  double *low, *median, *high; /* [outputs.num_values] quantiles 2.5 %, 50 %, 97.5 % of the kept draws */
  RpinnKeptDraws *kept;        /* outputs of kept draws */
  RpinnKeptDraws *statistics;  /* member statistics and loss parts of kept members */
  size_t keep_every;
  size_t num_traces; /* of members that did not fail, evenly chosen, the first of them included */
  RpinnLossTrace traces[RPINN_MAX_LOSS_TRACES];
  RpinnScore *scores; /* [quantities, then held-out terms], made with the summary */
  RpinnRunWeights weights;
} RpinnRunResults;

struct RpinnRun {
  const RpinnRunOptions *options;
  RpinnProblem *problem;
  RpinnMethod method;
  uint64_t num_samples;
  size_t num_threads;
  RpinnPosterior **posteriors; /* [num_threads]; the first also serves the results */
  RpinnRunFolder folder;
  RpinnMemberStore *store;
  RpinnDrawOutputs outputs;
  RpinnRunResults results;
  double seconds; /* of all sessions of this run */
  bool interrupted, out_of_time;
  RpinnText json, table;
};

/* A run with its method, threads and posteriors, but without a directory. The caller destroys it. */
RpinnStatus rpinn_run_prepare(RpinnContext *context, RpinnProblem *problem, const RpinnRunOptions *options,
                              RpinnRun **run);
/* How many members the settings ask for. */
uint64_t rpinn_problem_num_members(const RpinnProblem *problem);
/* What must not change when a run goes on: run.yaml and the data beside it, but for what only says how many
 * members, on how many threads and for how long. */
RpinnStatus rpinn_run_identity(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *identity);
const char *rpinn_run_precision_name(const RpinnRun *run);

/* results.weights, from the members in the store: so many are not failed, and so many of these converged. */
RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t finished,
                                   uint64_t converged);
/* The pass over the members in the store, in member order: outputs, moments, files. */
RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run);
void rpinn_run_free_results(RpinnRunResults *results);
/* run->json and run->table, and summary.json, summary.csv and predictions.csv. */
RpinnStatus rpinn_run_write_summary(RpinnContext *context, RpinnRun *run);

#endif
