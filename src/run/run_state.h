/* A run in memory. */
#ifndef RPINN_RUN_RUN_STATE_H
#define RPINN_RUN_RUN_STATE_H

#include "draw_outputs.h"
#include "kept_draws.h"
#include "method.h"
#include "noise_posterior.h"
#include "posterior.h"
#include "prior_choice.h"
#include "rpinn/convergence.h"
#include "rpinn/run.h"
#include "run_folder.h"
#include "run_weights.h"
#include "verdict.h"

/* The statistics of a member, or of a particle, in the order in which they are stored; the parts of its loss
 * follow. */
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

/* The statistics of a draw of a chain, in the order in which they are stored and with their names in ArviZ. */
#define RPINN_CHAIN_STATISTIC_LIST(X)                                                                        \
  X(LP, "lp", false)                                                                                         \
  X(ACCEPTANCE_RATE, "acceptance_rate", false)                                                               \
  X(STEP_SIZE, "step_size", false)                                                                           \
  X(TREE_DEPTH, "tree_depth", false)                                                                         \
  X(N_STEPS, "n_steps", false)                                                                               \
  X(DIVERGING, "diverging", true)                                                                            \
  X(ENERGY, "energy", false)                                                                                 \
  X(ENERGY_ERROR, "energy_error", false)                                                                     \
  X(MAX_ENERGY_ERROR, "max_energy_error", false)                                                             \
  X(REACHED_MAX_DEPTH, "reached_max_treedepth", true)

typedef enum RpinnChainStatistic {
#define RPINN_CHAIN_STATISTIC_ENUM(name, text, is_boolean) RPINN_CHAIN_##name,
  RPINN_CHAIN_STATISTIC_LIST(RPINN_CHAIN_STATISTIC_ENUM)
#undef RPINN_CHAIN_STATISTIC_ENUM
      RPINN_NUM_CHAIN_STATISTICS
} RpinnChainStatistic;

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
  size_t best, worst;                              /* parameters by R-hat */
  size_t num_trace;                                /* points of each trace below */
  double *best_trace, *worst_trace, *energy_trace; /* [num_chains][num_trace], evenly thinned */
  size_t trace_every;                              /* draws between their points */
} RpinnChainResults;

/* The scores of particles along their way, because the published ones are those of a moment on it. Columns:
 * iteration, mean log density, bandwidth, mean norm of phi; then, for each quantity, rl2, linf, mean std, LPP, LPP of
 * the tables, coverage. */
typedef struct RpinnParticleTrace {
  size_t every; /* iterations between rows */
  size_t width, num_rows;
  double *rows; /* [num_rows][width] */
} RpinnParticleTrace;

enum { RPINN_TRACE_SCORES = 6 };

/* The posterior linearised at its most probable point. */
typedef struct RpinnLaplaceResult {
  double *at;            /* [N] that point, theta*; NULL for methods that linearise nothing */
  double energy;         /* E(theta*) */
  double linear_energy;  /* the least energy of the linearised model; E(theta*) itself at a minimiser */
  double log_evidence;   /* of all rows, in the units of the data */
  double leave_one_out;  /* sum over measured rows of their log density given all others, likewise */
  double num_starts;     /* from which theta* was sought … */
  double num_at_minimum; /* … and those that ended at its energy, or next to it */
} RpinnLaplaceResult;

/* What a verdict rests on beside the results. What is NaN is not known. */
typedef struct RpinnRowEvidence {
  RpinnTermEvidence *terms;          /* [num_terms] */
  RpinnQuantityEvidence *quantities; /* [quantities] */
  double energy;                     /* median over draws of what they minimise */
  double misfit,
      misfit_of_nothing; /* mean square of the measured rows: of draws, and of networks at their prior means */
  double num_unconverged; /* members that had more than RPINN_GAIN_LIMIT to gain … */
  double median_gain;     /* … and what they had at the median, in nats */
  const char *unknown;    /* why rows were not looked at; NULL: they were */
} RpinnRowEvidence;

/* Noise that is not known, as the run learnt it before its first draw. */
typedef struct RpinnRunNoise {
  RpinnNoisePosterior posterior; /* of eta; count 0: all noise is known */
  double *at; /* [N] the most probable parameters with it, for methods that seek them; else the prior mean */
  double num_starts;     /* of the search, or members … */
  double num_at_maximum; /* … and those that ended at its evidence, or next to it; members that converged */
} RpinnRunNoise;

/* What the pass over all finished members gathers. */
typedef struct RpinnRunResults {
  uint64_t num_draws; /* of the posterior */
  uint64_t num_members, num_failed, num_converged, num_retried;
  uint64_t stops[RPINN_STOP_DAMPING_LIMIT + 1];
  double *mean, *deviation; /* [outputs.num_values] */
  double *predictive_low,
      *predictive_high; /* [quantities][points] 2.5 %, 97.5 % of a measurement; NaN: see predictive_bands.h */
  double *low, *median,
      *high; /* [outputs.num_values] quantiles 2.5 %, 50 %, 97.5 % of the kept draws by ranks (rank_interval.h); of fewer than
   * RPINN_INTERVAL_MIN_DRAWS the ends are NaN */
  RpinnKeptDraws *kept;        /* outputs of kept draws */
  RpinnKeptDraws *likelihoods; /* their log likelihoods, of all rows; none are kept without posterior.nc */
  RpinnKeptDraws *statistics;  /* member statistics and loss parts of kept members */
  size_t keep_every;
  size_t num_traces; /* of members that did not fail, evenly chosen, the first of them included */
  RpinnLossTrace traces[RPINN_MAX_LOSS_TRACES];
  RpinnScore *scores; /* [quantities, then held-out terms], made with the summary */
  RpinnRunWeights weights;
  RpinnChainResults chains;
  RpinnParticleTrace particles;
} RpinnRunResults;

struct RpinnRun {
  const RpinnRunOptions *options; /* NULL for a finished run that was opened again */
  const RpinnProblem *problem;
  RpinnProblem *own_problem; /* the same where it goes with the run, else NULL */
  const RpinnMethod *method;
  uint64_t num_samples;     /* members, particles, or draws of each chain, that the settings ask for */
  RpinnDrawPlan plan;       /* the draws that there are */
  uint64_t num_warmup_kept; /* of each chain, in the store */
  size_t num_threads;
  size_t made_on_threads; /* by the session that finished it */
  size_t num_posteriors;
  RpinnPosterior *
      *posteriors; /* [num_posteriors], one for each thread that samples; the first also serves the results */
  RpinnRunFolder folder;
  RpinnMemberStore *store;
  RpinnDrawOutputs outputs;
  RpinnRunResults results;
  double seconds; /* of all sessions of this run */
  bool interrupted, out_of_time;
  RpinnRunNoise noise;
  RpinnLaplaceResult laplace;
  RpinnPriorChoice prior; /* by which the scale was chosen; no trials where it was given */
  RpinnRowEvidence rows;  /* of a run that was made here */
  RpinnVerdict verdict;   /* of a run with results */
  RpinnText json, table;
};

/* A run with its method, threads and posteriors, but without a directory. The caller destroys it. */
RpinnStatus rpinn_run_prepare(RpinnContext *context, const RpinnProblem *problem,
                              const RpinnRunOptions *options, RpinnRun **run);
/* A finished run with its problem, one posterior, and its store open to be read; no results yet. options: for the
 * problem, may be NULL. Bad input: a missing, unfinished or damaged run. The caller destroys it. */
RpinnStatus rpinn_run_open_finished(RpinnContext *context, const char *folder,
                                    const RpinnProblemOptions *options, RpinnRun **run);
/* Seconds; 0: no limit. */
double rpinn_run_time_limit(const RpinnRun *run);
/* What must not change when a run goes on: run.yaml and the data beside it, but for units and for the settings that
 * the table calls FREE. */
RpinnStatus rpinn_run_identity(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *identity);
/* May the run go on in its folder, whose store is open? Bad input: a run.yaml there that is not the run's, more draws
 * there than are asked for, another number of draws that move together. */
RpinnStatus rpinn_run_check_resumed(RpinnContext *context, const RpinnRun *run);
/* The method, and how many draws the settings ask for. */
void rpinn_run_read_method(RpinnRun *run);
RpinnStatus rpinn_run_make_posteriors(RpinnContext *context, RpinnRun *run, size_t count);
const char *rpinn_run_precision_name(const RpinnRun *run);
/* Bytes of one draw in the store, about. */
double rpinn_run_draw_bytes(const RpinnRun *run);

/* The scale of the prior, where it is to be chosen: before the store is opened, because it is a part of the identity; and then
 * into the store, where a later session finds it. An interruption is RPINN_ERROR_INTERRUPTED: nothing was begun. */
RpinnStatus rpinn_run_settle_prior(RpinnContext *context, RpinnRun *run);
RpinnStatus rpinn_run_note_prior(RpinnContext *context, RpinnRun *run);
/* run->prior as the store, which is open, has it. */
RpinnStatus rpinn_run_load_prior(RpinnContext *context, RpinnRun *run);

/* What methods make draws with: RpinnMethod.make_draws. */
RpinnStatus rpinn_run_make_members(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_chains(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_particles(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets);
RpinnStatus rpinn_run_make_laplace_draws(RpinnContext *context, RpinnRun *run,
                                         const RpinnMemberTarget *targets);
/* run->laplace as the store has it. */
RpinnStatus rpinn_run_load_laplace(RpinnContext *context, RpinnRun *run);
/* results.particles as the store has them. */
RpinnStatus rpinn_run_load_particle_trace(RpinnContext *context, RpinnRun *run);
/* Seconds of one iteration of all particles, on all threads. */
RpinnStatus rpinn_run_try_particles(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets,
                                    double *seconds);
/* Seconds that a run of the problem would take on this machine, at most where it has chains: from a trial of half a
 * second, or of two iterations of all particles. */
RpinnStatus rpinn_run_estimate(RpinnContext *context, const RpinnProblem *problem, double *seconds);

/* results.weights, from the members in the store: so many are not failed, and so many of these converged. */
RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t finished,
                                   uint64_t converged);
/* The pass over the members in the store, in member order: outputs, moments and, with_file, posterior.nc. */
RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run, bool with_file);
void rpinn_run_free_results(RpinnRun *run);
/* results.scores, and those of each chain. */
RpinnStatus rpinn_run_score_results(RpinnContext *context, RpinnRun *run);
/* The same, run->json and run->table, and summary.json, summary.csv and predictions.csv. */
RpinnStatus rpinn_run_write_summary(RpinnContext *context, RpinnRun *run);

#endif
