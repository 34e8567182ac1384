/* What a method sees of a problem. No method knows a PDE and no PDE knows a method: optimisers and samplers
 * take one of three abstract targets, so that they run as well on Rosenbrock's function as on a PINN.
 *
 *   objective       value f(theta) and gradient
 *   log density     log p(theta) up to a constant, and gradient
 *   least squares   whitened rows r(theta) with Jacobian J, and a Gaussian prior as diagonal rows:
 *
 *       E(theta) = 1/2 |r(theta) - xi_r|^2 + 1/2 |P (theta - mu) - xi_p|^2,   P = diag(prior_root)
 *
 * with the offsets xi = (xi_r, xi_p): zero for MAP, ensembles, NUTS and SVGD; standard normal for rPINN.
 *
 * Each comes for one parameter vector and, further down, for groups of them. All vectors are double. A target is used by one thread at a time; `data` belongs to whoever made the
 * target. A value that is not finite is reported as such (the status stays RPINN_OK): it is for the method to
 * step back. Any other failure ends the method, whose context then names the function that failed; a required function
 * that is NULL is RPINN_ERROR_INPUT where a method is created. */
#ifndef RPINN_TARGET_H
#define RPINN_TARGET_H

#include <stdint.h>

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adam's state and rule, advanced in place:
 *   rate_t = learning_rate * decay_rate^(t / decay_steps),  t = 0, 1, … the iterations already done
 *   m = beta1 m + (1-beta1) g,  v = beta2 v + (1-beta2) g^2
 *   theta -= rate_t * (m / (1-beta1^(t+1))) / (sqrt(v / (1-beta2^(t+1))) + epsilon)  */
typedef struct RpinnAdamRule {
  double learning_rate, decay_rate, decay_steps;
  double beta1, beta2, epsilon;
} RpinnAdamRule;

typedef struct RpinnAdamState {
  double *theta; /* [num_parameters] */
  double *m;     /* [num_parameters] */
  double *v;     /* [num_parameters] */
  size_t t;      /* iterations done */
} RpinnAdamState;

typedef struct RpinnObjective {
  size_t num_parameters;
  void *data;
  /* Required. gradient [num_parameters] may be NULL. */
  RpinnStatus (*evaluate)(void *data, const double *theta, double *value, double *gradient);
  /* Optional: num_steps iterations of Adam; *value is the value at the theta where the last gradient was
   * taken (not at the new theta). NULL: composed from evaluate. */
  RpinnStatus (*adam_advance)(void *data, const RpinnAdamRule *rule, RpinnAdamState *state, size_t num_steps,
                              double *value);
  /* Optional: the unit of rounding of the arithmetic behind value and gradient, FLT_EPSILON for one that
   * computes in float. A method tells by it which differences of values mean nothing. 0: DBL_EPSILON. */
  double epsilon;
} RpinnObjective;

typedef struct RpinnLogDensity {
  size_t num_parameters;
  void *data;
  /* Required. gradient [num_parameters] may be NULL. */
  RpinnStatus (*evaluate)(void *data, const double *theta, double *log_density, double *gradient);
  double epsilon; /* as of RpinnObjective */
} RpinnLogDensity;

/* A step of Levenberg–Marquardt that a target finds by itself, where J need not be seen. With J at theta and a diagonal A > 0, d
 * solves (J^T J + A) d = -(J^T r + q), in data space:
 *
 *   (I + J A^-1 J^T) y = r - J A^-1 q [M],   d = -A^-1 (q + J^T y) */
typedef struct RpinnDampedStep {
  const double *inverse; /* [N] A^-1 */
  const double *rows;    /* r [M]; not read without step */
  const double *pull;    /* q [N]; NULL: zero */
  double *step;          /* d [N], to be filled; NULL: only the trace is wanted */
  double trace;          /* out: of J A^-1 J^T */
  bool solved;           /* out: false where the matrix is not positive definite to rounding, or not finite */
} RpinnDampedStep;

/* A transition of NUTS (rpinn/nuts.h) that a target makes by itself, where the points of its trajectory need not be seen. The law is that
 * of a method's own trajectories with a diagonal metric. */
typedef struct RpinnWholeTransition {
  double step;                  /* > 0 */
  double ignored;               /* errors of the energy up to this size count as none in the acceptance */
  double max_energy_error;      /* beyond it a trajectory diverges */
  unsigned max_depth;           /* doublings, at most */
  bool turns_by_path;           /* RPINN_TURN_PATH */
  const double *inverse_metric; /* [N]; NULL: ones */
  uint64_t key;                 /* of its random numbers: made again under this key, it is the same */
  /* ---- where it begins, and once it has finished where it leads: vectors that the target has lent, where it lends any ---- */
  double *theta;    /* [N] */
  double *gradient; /* [N] of the log density */
  double log_density;
  /* ---- out ---- */
  bool has_finished; /* false: it is to be asked for again as it is, and nothing else is known */
  double energy, first_energy, max_error, acceptance_sum;
  unsigned depth;   /* doublings that were kept */
  size_t num_steps; /* leapfrogs */
  bool diverging, reached_max_depth;
  /* ---- the target's: what it keeps of the chain. Whoever changes its state or metric sets zeros ---- */
  uint64_t ticket;
  size_t seat;
} RpinnWholeTransition;

typedef struct RpinnLeastSquares {
  size_t num_parameters;    /* N */
  size_t num_rows;          /* M: data, residual and boundary rows */
  const double *prior_root; /* [N]: 1/s per parameter, 0 where there is no prior; NULL: no prior at all */
  const double *prior_mean; /* [N]; NULL: zero */
  void *data;
  /* Required: rows [M]. */
  RpinnStatus (*residuals)(void *data, const double *theta, double *rows);
  /* Required: rows [M] and the dense Jacobian [M][N], row-major. */
  RpinnStatus (*jacobian)(void *data, const double *theta, double *rows, double *jacobian);
  /* Optional, NULL: composed from the dense Jacobian by rpinn_least_squares_*.
   * product = J direction [M];  product = J^T weights [N];
   * gram [M][M] = J diag(scale) J^T with scale [N], or J J^T when scale is NULL; also fills rows [M]. */
  RpinnStatus (*jacobian_times)(void *data, const double *theta, const double *direction, double *product);
  RpinnStatus (*transposed_times)(void *data, const double *theta, const double *weights, double *product);
  RpinnStatus (*gram)(void *data, const double *theta, const double *scale, double *rows, double *gram);
  /* Optional, NULL: a method has its own way. For M <= N; with transposed_times. */
  RpinnStatus (*damped_step)(void *data, const double *theta, RpinnDampedStep *step);
} RpinnLeastSquares;

/* The products above for any least-squares target: its own function, or the dense Jacobian where it has none
 * (that form allocates M*N doubles for the call). RPINN_ERROR_INPUT where it has neither. */
RPINN_API RpinnStatus rpinn_least_squares_jacobian_times(const RpinnLeastSquares *problem,
                                                         const double *theta, const double *direction,
                                                         double *product);
RPINN_API RpinnStatus rpinn_least_squares_transposed_times(const RpinnLeastSquares *problem,
                                                           const double *theta, const double *weights,
                                                           double *product);
RPINN_API RpinnStatus rpinn_least_squares_gram(const RpinnLeastSquares *problem, const double *theta,
                                               const double *scale, double *rows, double *gram);

/* The energy of a least-squares target as an objective: E with the offsets [M+N] (rows, then prior rows), or
 * without when offsets is NULL. Borrows problem and offsets until destroyed. NULL when out of memory. */
typedef struct RpinnEnergyObjective RpinnEnergyObjective;
RPINN_API RpinnEnergyObjective *rpinn_energy_objective_create(const RpinnLeastSquares *problem,
                                                              const double *offsets);
RPINN_API void rpinn_energy_objective_destroy(RpinnEnergyObjective *energy);
RPINN_API RpinnObjective rpinn_energy_objective(RpinnEnergyObjective *energy);

/* log p = -f of an objective, sharing its data. The objective must stay where it is. */
RPINN_API RpinnLogDensity rpinn_log_density_of_objective(RpinnObjective *objective);

/* ---- many members at once ----
 *
 * The same three targets for a group of members, each a parameter vector of its own. A call is for `count` of them, at most
 * `group`; number k of the call is member members[k], by which the target finds what sets it apart (its offsets, the scales of
 * its rows, the roots of its prior), at the point thetas[k], and its results go to place k. A member's bits depend on nothing
 * but its own inputs: not on the others of the call, its place among them or their number. A function that fails may say why
 * by rpinn_context_fail. */

/* values [count], gradients [count][N]; gradients may be NULL, and so may each of them. */
typedef RpinnStatus RpinnBatchEvaluation(RpinnContext *context, void *data, size_t count,
                                         const size_t *members, const double *const *thetas, double *values,
                                         double *const *gradients);

typedef struct RpinnBatchObjective {
  size_t num_parameters;
  size_t group; /* how many members a call is best made for, and may be made for: > 0 */
  void *data;
  RpinnBatchEvaluation *evaluate; /* required */
  /* Optional, as for one: num_steps iterations of every state, values [count]. */
  RpinnStatus (*adam_advance)(RpinnContext *context, void *data, size_t count, const size_t *members,
                              const RpinnAdamRule *rule, RpinnAdamState *const *states, size_t num_steps,
                              double *values);
  /* Optional: evaluate, and the num_parts numbers that each value is the sum of. */
  size_t num_parts;
  RpinnStatus (*evaluate_parts)(RpinnContext *context, void *data, size_t count, const size_t *members,
                                const double *const *thetas, double *values, double *const *gradients,
                                double *const *parts);
  double epsilon;
} RpinnBatchObjective;

/* Iterations of SVGD (rpinn/svgd.h) that a target makes by itself, with all particles in a place of its own. Arrays are
 * [num_particles][num_parameters]. */
typedef struct RpinnParticleMoves {
  size_t num_particles, num_iterations; /* > 0 */
  uint64_t t;                           /* iterations done before */
  RpinnAdamRule rule;
  bool is_adagrad, undivided_repulsion;
  double *particles, *m, *v; /* to be moved, with the optimiser's moments; AdaGrad has v alone */
  /* ---- out: of the last iteration, where the particles were before it ---- */
  double *before;        /* the particles */
  double *log_densities; /* [num_particles] */
  double *gradients;
  double squared_bandwidth, mean_norm;
} RpinnParticleMoves;

typedef struct RpinnBatchLogDensity {
  size_t num_parameters;
  size_t group;
  void *data;
  RpinnBatchEvaluation *evaluate; /* required: values are log densities */
  /* Optional, NULL: a method has its own way. Members are particles, of any number. RPINN_ERROR_NUMERIC where numbers became infinite
   * on a way of several iterations, and RPINN_ERROR_UNSUPPORTED where there is no room for so many particles: then nothing has
   * changed. A single iteration leaves what it found, finite or not, to the caller. */
  RpinnStatus (*move_particles)(RpinnContext *context, void *data, RpinnParticleMoves *moves);
  /* Optional, NULL: methods make them of evaluate. Goes on with transitions [count] of members; at least one of them finishes. */
  RpinnStatus (*transitions)(RpinnContext *context, void *data, size_t count, const size_t *members,
                             RpinnWholeTransition *const *transitions);
  /* Optional, both or none: memory for theta and gradient of transitions, which the target fills without a copy, and its return, before
   * the target's data go. A vector has [N] numbers, and zeros up to a 64-byte boundary, as it begins at one. */
  RpinnStatus (*lend_vector)(RpinnContext *context, void *data, double **vector);
  void (*return_vector)(void *data, double *vector); /* accepts NULL */
  double epsilon;
} RpinnBatchLogDensity;

/* What a least-squares target computes at each point: outputs [count], by the function M, M x N, M, N or M x M numbers each;
 * inputs [count]: none, none, directions [N], weights [M], scales [N] (each may be NULL: 1). */
typedef RpinnStatus RpinnBatchProduct(RpinnContext *context, void *data, size_t count, const size_t *members,
                                      const double *const *thetas, const double *const *inputs,
                                      double *const *rows, double *const *outputs);

typedef struct RpinnBatchLeastSquares {
  size_t num_parameters;
  size_t num_rows;
  size_t group;
  const double *prior_mean; /* [N]; NULL: zero */
  void *data;
  /* The prior of a member [N], as prior_root of RpinnLeastSquares; the function, or what it returns, may be NULL. */
  const double *(*prior_root)(void *data, size_t member);
  /* rows [count][M] of residuals, jacobian and gram, NULL of the others; outputs NULL of residuals. */
  RpinnBatchProduct *residuals, *jacobian;                     /* required */
  RpinnBatchProduct *jacobian_times, *transposed_times, *gram; /* optional, as for one */
  RpinnStatus (*damped_steps)(RpinnContext *context, void *data, size_t count, const size_t *members,
                              const double *const *thetas, RpinnDampedStep *const *steps); /* likewise */
} RpinnBatchLeastSquares;

/* A target for one as one for groups of 1, whatever the member. It must stay where it is. */
RPINN_API RpinnBatchObjective rpinn_objective_as_batch(const RpinnObjective *objective);
RPINN_API RpinnBatchLogDensity rpinn_log_density_as_batch(const RpinnLogDensity *density);
RPINN_API RpinnBatchLeastSquares rpinn_least_squares_as_batch(const RpinnLeastSquares *problem);

/* log p = -f for groups. The objective must stay where it is. */
RPINN_API RpinnBatchLogDensity rpinn_log_density_of_batch(const RpinnBatchObjective *objective);

#ifdef __cplusplus
}
#endif
#endif
