/* NUTS, the no-U-turn sampler, on any log density: multinomial trajectories, the generalised criterion with
 * both cross-subtree checks, dual averaging of the step and windows of metric adaptation, as in Stan.
 *
 *   RpinnNutsOptions options = rpinn_nuts_default_options();
 *   rpinn_nuts_create(context, &target, &options, &nuts);
 *   rpinn_nuts_start(context, nuts, seed, chain, theta);
 *   while (!rpinn_nuts_finished(nuts)) rpinn_nuts_advance(context, nuts, &draw);
 *
 * A chain is a state that advances by iterations. Between any two of them it can be saved to a flat buffer; a
 * chain that is saved, restored and continued gives the same bits as one that was never stopped. Nothing is
 * allocated while it advances. Energies are double whatever the target computes in; the epsilon of a target in float keeps its rounding
 * from making steps ever smaller where energies are large. One thread at a time per chain.
 *
 * Chains on a target for groups can be advanced together, their leapfrogs in common calls; each has the bits that it has
 * alone. */
#ifndef RPINN_NUTS_H
#define RPINN_NUTS_H

#include <stdint.h>

#include "rpinn/choices.h"
#include "rpinn/draws.h"
#include "rpinn/target.h"
#include "rpinn/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When has a trajectory turned back? With momenta p and sharp ones p# = M^-1 p at its ends, when p#.rho <= 0 at either.
 *   SUM    rho = sum of all momenta, as in Stan
 *   PATH   rho without half of those at the ends, the trapezoid of the path between them, as in NumPyro. A direction that oscillates fast
 *          adds half of its p#.p to the sum, as if it always went on, and nothing to the path: with many of them trajectories end a
 *          doubling earlier (bench/results/nuts_gaussian.md)
 * The checks across the seam of two halves go by the same rule. */
typedef enum RpinnTurnRule { RPINN_TURN_SUM, RPINN_TURN_PATH } RpinnTurnRule;

typedef struct RpinnNutsOptions {
  size_t num_warmup;  /* iterations that adapt */
  size_t num_draws;   /* draws to keep after warmup */
  size_t thin;        /* iterations per draw, > 0 */
  RpinnMetric metric; /* adapted in windows during warmup, unless it is the unit metric */
  /* Points whose spread is the inverse metric to begin with, as if they were the draws of a window; none: the unit matrix. They are
   * borrowed while the chain is. */
  size_t num_first_points;
  const double *first_points; /* [num_first_points][num_parameters] */
  /* An inverse metric that is taken as it is and never adapted: diagonal [N] or dense [N][N]; NULL: it is learnt. Borrowed likewise.
   * With num_warmup 0 and a first_step, nothing of the chain adapts. */
  const double *inverse_metric;
  unsigned max_depth;      /* a trajectory has at most 2^max_depth - 1 leapfrogs */
  double max_energy_error; /* a leapfrog that gains more energy than this diverges */
  double first_step;       /* > 0: the first step size, taken as it is; 0: searched for, from 1 */
  /* The first iteration behind the warmup, and every so many from there on, has a step that is shorter by small_step_factor: a chain whose
   * step cannot adapt gets out of places that are too narrow for it, and as a rule that looks at no draw it keeps the law. 0: never. */
  size_t small_step_every;
  double small_step_factor; /* between 0 and 1 */
  double target_acceptance; /* of dual averaging, between 0 and 1 */
  double step_adaptation;   /* share of the warmup over which the step size adapts, (0, 1]; then it stays (a
                               metric that is updated later still searches for its step) */
  double gamma, t0, kappa;  /* of dual averaging */
  size_t window_start, window_base, window_end; /* iterations of the phases of metric adaptation */
  RpinnTurnRule turn;
} RpinnNutsOptions;

/* Stan's: 1000 + 1000 iterations, diagonal metric, depth 10, target 0.8, windows 75, 25, 50, turns by the sum. */
RPINN_API RpinnNutsOptions rpinn_nuts_default_options(void);

/* One iteration. */
typedef struct RpinnNutsDraw {
  bool is_warmup;
  bool is_kept;             /* a draw after warmup that thinning keeps */
  size_t index;             /* of the draw, when it is kept; else of the iteration within its phase */
  const double *parameters; /* [num_parameters], valid until the next call */
  double log_density;
  double energy;           /* H at the selected state */
  double energy_error;     /* H there minus H at the start of the trajectory */
  double max_energy_error; /* the largest in size over the trajectory, with its sign */
  double acceptance_rate;  /* mean over the leapfrogs */
  double step_size;        /* of this iteration */
  unsigned tree_depth;
  size_t num_steps; /* leapfrogs */
  bool diverging;
  bool reached_max_depth; /* stopped by the depth, before it turned back */
} RpinnNutsDraw;

typedef struct RpinnNuts RpinnNuts;

/* Options out of range are RPINN_ERROR_INPUT. Keeps a copy of options and target, not of the target's data. */
RPINN_API RpinnStatus rpinn_nuts_create(RpinnContext *context, const RpinnLogDensity *target,
                                        const RpinnNutsOptions *options, RpinnNuts **nuts);
/* The same for one member of a target for groups. */
RPINN_API RpinnStatus rpinn_nuts_create_member(RpinnContext *context, const RpinnBatchLogDensity *target,
                                               size_t member, const RpinnNutsOptions *options,
                                               RpinnNuts **nuts);
/* Before the target's data go, where the target lends vectors. Accepts NULL. */
RPINN_API void rpinn_nuts_destroy(RpinnNuts *nuts);
/* Begin a chain at theta [num_parameters]; its random stream is named by seed and chain. A log density or
 * gradient that is not finite there is RPINN_ERROR_NUMERIC. */
RPINN_API RpinnStatus rpinn_nuts_start(RpinnContext *context, RpinnNuts *nuts, uint64_t seed, uint64_t chain,
                                       const double *theta);
/* One iteration. Failures are those of the target, and a step size search that finds no bound
 * (RPINN_ERROR_NUMERIC: the density is improper, or the step vanishes). */
RPINN_API RpinnStatus rpinn_nuts_advance(RpinnContext *context, RpinnNuts *nuts, RpinnNutsDraw *draw);

/* Several chains, chains [count], each as rpinn_nuts_start with the number numbers[k] at thetas[k]: what they ask of one
 * target goes into common calls, as many as its group at a time. After a failure, of whichever chain, all of them have to be
 * started or restored. */
RPINN_API RpinnStatus rpinn_nuts_start_together(RpinnContext *context, size_t count, RpinnNuts *const *chains,
                                                uint64_t seed, const uint64_t *numbers,
                                                const double *const *thetas);
/* Advance all that are not finished, until at least one has made its iteration. made [count] says which have, and then
 * draws[k] is the draw; their next iterations begin with the next call. The others are in the middle of theirs, where the
 * next call takes them up, and cannot be saved until they have made it. The next call may be for other chains, and a chain
 * may go on alone by rpinn_nuts_advance. Failures as above. */
RPINN_API RpinnStatus rpinn_nuts_advance_together(RpinnContext *context, size_t count,
                                                  RpinnNuts *const *chains, RpinnNutsDraw *draws, bool *made);

/* All draws are made. */
RPINN_API bool rpinn_nuts_finished(const RpinnNuts *nuts);
/* Iterations made, warmup included; leapfrogs made, those of step size searches included. */
RPINN_API size_t rpinn_nuts_num_iterations(const RpinnNuts *nuts);
RPINN_API size_t rpinn_nuts_num_leapfrogs(const RpinnNuts *nuts);
/* The inverse metric now: diagonal [N] or dense [N][N]; NULL for the unit metric. */
RPINN_API const double *rpinn_nuts_inverse_metric(const RpinnNuts *nuts);

/* A flat state between two iterations: its size is the same for a chain at all times. A buffer of another size,
 * of other options (but for num_draws, which may be more) or a damaged one is RPINN_ERROR_INPUT. What is saved in the
 * middle of an iteration is a chain that was not started. */
RPINN_API size_t rpinn_nuts_state_size(const RpinnNuts *nuts);
RPINN_API void rpinn_nuts_save(const RpinnNuts *nuts, void *buffer);
RPINN_API RpinnStatus rpinn_nuts_restore(RpinnContext *context, RpinnNuts *nuts, const void *buffer,
                                         size_t size);

/* Whole chains, one after the other, from starts [num_chains][num_parameters] (NULL: uniform in (-2, 2), up to 100
 * tries until the density is finite). The statistics of a draw are lp, acceptance_rate, step_size, tree_depth, n_steps,
 * diverging, energy, energy_error, max_energy_error and reached_max_treedepth. The caller destroys the draws; they are
 * NULL after a failure. Where the context wants an end (rpinn_context_set_interrupted), the draws made so far come with
 * RPINN_ERROR_INTERRUPTED. */
RPINN_API RpinnStatus rpinn_nuts_sample(RpinnContext *context, const RpinnLogDensity *target,
                                        const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                                        const double *starts, RpinnDraws **draws);
/* The same for chains that are members 0, 1, … of a target for groups, as many at a time as its group. */
RPINN_API RpinnStatus rpinn_nuts_sample_members(RpinnContext *context, const RpinnBatchLogDensity *target,
                                                const RpinnNutsOptions *options, uint64_t seed,
                                                size_t num_chains, const double *starts, RpinnDraws **draws);

/* Chains side by side, named and watched. */
typedef struct RpinnNutsChains {
  uint64_t seed;
  size_t num_chains;
  const double *starts;     /* [num_chains][num_parameters]; NULL: as rpinn_nuts_sample */
  const char *const *names; /* [num_parameters] of the parameters; NULL: theta[0], … */
  RpinnWatch watch;         /* progress and an end before its time */
} RpinnNutsChains;

/* targets [num_targets]: the same log density for each of num_targets threads, which take the next chain as soon as they are free.
 * One target works in the thread that calls. A chain has the same bits for any number of threads, and as rpinn_nuts_sample gives it.
 *
 * An interruption ends every chain after the iteration that it is in: the status is RPINN_ERROR_INTERRUPTED, and the draws that
 * were made are there, with chains of different lengths (rpinn_draws_length) whose draws are the first ones of the whole chains.
 * After any other failure, of whichever thread, the draws are NULL. Names that are empty or not distinct are RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_nuts_sample_chains(RpinnContext *context, size_t num_targets,
                                               const RpinnLogDensity *targets,
                                               const RpinnNutsOptions *options, const RpinnNutsChains *chains,
                                               RpinnDraws **draws);
/* The same for targets for groups: each thread has as many chains at work as its group, and chain c is member c of them all. */
RPINN_API RpinnStatus rpinn_nuts_sample_groups(RpinnContext *context, size_t num_targets,
                                               const RpinnBatchLogDensity *targets,
                                               const RpinnNutsOptions *options, const RpinnNutsChains *chains,
                                               RpinnDraws **draws);

#ifdef __cplusplus
}
#endif
#endif
