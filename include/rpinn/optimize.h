/* Optimisers on the abstract targets of rpinn/target.h: Adam, L-BFGS and Levenberg–Marquardt.
 *
 *   RpinnOptimizer *optimizer;
 *   RpinnLbfgsOptions options = rpinn_lbfgs_default_options();
 *   rpinn_lbfgs_create(context, &objective, &options, &optimizer);
 *   rpinn_optimizer_start(context, optimizer, theta);
 *   rpinn_optimizer_advance(context, optimizer, SIZE_MAX);
 *   RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
 *
 * An optimiser is a state that advances by iterations. Between any two of them it can be saved to a flat
 * buffer; a run that is saved, restored and continued gives the same bits as one that was never stopped, in
 * every field of its optimum, as long as the target gives the same bits for the same theta. Nothing is
 * allocated while it advances. Not converging is an outcome (RpinnStop), never an error status. One thread at
 * a time per optimiser. */
#ifndef RPINN_OPTIMIZE_H
#define RPINN_OPTIMIZE_H

#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- why an optimiser stopped ---- */

/* X(name, name in files, what it means). The numbers are part of saved states: add at the end, never
 * renumber. */
#define RPINN_STOP_LIST(X)                                                                                   \
  X(RUNNING, "running", "not stopped: there is more to do")                                                  \
  X(GRADIENT_SMALL, "gradient_small", "the norm of the gradient is below its tolerance")                     \
  X(NO_PROGRESS, "no_progress", "the loss no longer decreases by a measurable amount")                       \
  X(BUDGET, "budget", "the iteration budget is spent")                                                       \
  X(INTERRUPTED, "interrupted", "the caller asked to stop; advancing again continues")                       \
  X(NOT_FINITE, "not_finite", "the loss or its gradient is not finite at a point that cannot be avoided")    \
  X(LINE_SEARCH_FAILED, "line_search_failed", "no point along the steepest descent has a lower loss")        \
  X(DAMPING_LIMIT, "damping_limit", "no step lowers the loss, however strongly it is damped")                \
  X(DECREASE_SMALL, "decrease_small", "no step promises a decrease of the loss that matters")

typedef enum RpinnStop {
#define RPINN_STOP_ENUM(name, text, meaning) RPINN_STOP_##name,
  RPINN_STOP_LIST(RPINN_STOP_ENUM)
#undef RPINN_STOP_ENUM
} RpinnStop;

#define RPINN_STOP_COUNT(name, text, meaning) +1
enum { RPINN_NUM_STOPS = RPINN_STOP_LIST(RPINN_STOP_COUNT) };
#undef RPINN_STOP_COUNT

/* "running", "gradient_small", …; never NULL. */
RPINN_API const char *rpinn_stop_name(RpinnStop stop);
/* The meaning in words; never NULL. */
RPINN_API const char *rpinn_stop_meaning(RpinnStop stop);

/* When to stop; part of the options of every optimiser. */
typedef struct RpinnStopRule {
  size_t max_iterations;     /* the budget: > 0 */
  double gradient_tolerance; /* stop when |gradient|_2 <= this; 0: only where it vanishes */
  /* Stop when, over a window of this many iterations, the lowest loss L seen fell by no more than
   * progress_tolerance * |L|, or by no more than progress_amount. 0: never stop for lack of progress over a window. */
  size_t progress_window;
  double progress_tolerance;
  /* In the unit of the loss: nats for an energy. Levenberg–Marquardt with a prior on all parameters stops as well where its model
   * promises no more than a tenth of it, three times in a row. */
  double progress_amount;
  /* Asked before every iteration (Adam: before every chunk); true stops. NULL: never asked. */
  bool (*interrupted)(void *user);
  void *interrupted_user;
} RpinnStopRule;

/* ---- the result ---- */

/* The loss after `iteration` iterations. */
typedef struct RpinnTracePoint {
  size_t iteration;
  double loss;
} RpinnTracePoint;

enum { RPINN_TRACE_CAPACITY = 256 };

/* The pointers look into the optimiser: valid until the next call that changes it. */
typedef struct RpinnOptimum {
  RpinnStop stop;
  size_t num_iterations;
  /* Losses computed, with or without derivatives. Levenberg–Marquardt linearises once per accepted step on
   * top. */
  size_t num_evaluations;
  /* The point reached and its loss and gradient norm. Adam looks at them at the end of a chunk: while it is
   * RUNNING or INTERRUPTED inside one, loss and gradient_norm are those of the last look. */
  const double *theta; /* [num_parameters] */
  double loss, gradient_norm;
  /* The point of lowest loss and that loss. L-BFGS and Levenberg–Marquardt only ever go down (L-BFGS up to
   * rounding, 64 of the objective's epsilon), so it is the point reached; for Adam it is the best of the points it looked at:
   * the start, the ends of chunks and the end. Where no loss was finite it is the start, with an infinite
   * loss. */
  const double *best_theta; /* [num_parameters] */
  double best_loss;
  /* The loss at the start and after iterations (Adam: chunks), evenly thinned: when the trace is full, every
   * second entry goes and the distance between entries doubles. The last loss is above. */
  const RpinnTracePoint *trace; /* [num_trace], at most RPINN_TRACE_CAPACITY */
  size_t num_trace;
} RpinnOptimum;

/* ---- any optimiser ---- */

typedef struct RpinnOptimizer RpinnOptimizer;

RPINN_API void rpinn_optimizer_destroy(RpinnOptimizer *optimizer);

/* Begin at theta [num_parameters], which is copied; forgets everything before. Evaluates the target there. */
RPINN_API RpinnStatus rpinn_optimizer_start(RpinnContext *context, RpinnOptimizer *optimizer,
                                            const double *theta);
/* At most num_iterations further ones (SIZE_MAX: until it stops); the optimum says why it came back. A
 * finished optimiser does nothing; one that was interrupted goes on, and so does one whose budget was spent
 * when it has been restored into an optimiser with a larger one. A failure is one of the target: start again
 * or restore. RPINN_ERROR_INPUT when it was neither started nor restored. */
RPINN_API RpinnStatus rpinn_optimizer_advance(RpinnContext *context, RpinnOptimizer *optimizer,
                                              size_t num_iterations);
RPINN_API RpinnOptimum rpinn_optimizer_optimum(const RpinnOptimizer *optimizer);

/* Several optimisers together, as start and advance do for one: what they ask of one target for groups goes there in one call,
 * up to its group, so that a device or a vectorised function works on many members at a time. Each has the bits that it has
 * alone. They may differ in method, options and target. Room for pointers is allocated at the beginning. */
RPINN_API RpinnStatus rpinn_optimizers_start(RpinnContext *context, size_t count,
                                             RpinnOptimizer *const *optimizers, const double *const *thetas);
RPINN_API RpinnStatus rpinn_optimizers_advance(RpinnContext *context, size_t count,
                                               RpinnOptimizer *const *optimizers, size_t num_iterations);

/* Bytes of a saved state: the same for an optimiser at all times. */
RPINN_API size_t rpinn_optimizer_state_size(const RpinnOptimizer *optimizer);
/* Write the state to buffer [state_size]. The buffer is for this machine type and this version of the
 * library. */
RPINN_API void rpinn_optimizer_save(const RpinnOptimizer *optimizer, void *buffer);
/* Continue from a saved state. The optimiser must have been created for the same target with the same
 * options; a buffer of another method or size, or a damaged one, is RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_optimizer_restore(RpinnContext *context, RpinnOptimizer *optimizer,
                                              const void *buffer, size_t size);

/* ---- the methods ----
 * Each create copies the target and the options; what they point to is borrowed until the optimiser is
 * destroyed. An option out of its range is RPINN_ERROR_INPUT with a message on the context. */

/* Adam (Kingma & Ba 2015) with the exponential schedule of RpinnAdamRule. It goes in chunks of
 * chunk_iterations: one call of objective->adam_advance where there is one, which must give the same bits for
 * a + b iterations as for a and then b. After each chunk the loss and the gradient are evaluated once, for
 * the best point, the trace and the stops: 1 % of the work with the default of 100. */
typedef struct RpinnAdamOptions {
  RpinnStopRule stop;
  RpinnAdamRule rule;
  size_t chunk_iterations; /* > 0 */
} RpinnAdamOptions;

/* 2000 iterations, no other stop; learning rate 1e-3 * 0.9^(t/5000), beta 0.9 and 0.999, epsilon 1e-8; chunks
 * of 100. */
RPINN_API RpinnAdamOptions rpinn_adam_default_options(void);
RPINN_API RpinnStatus rpinn_adam_create(RpinnContext *context, const RpinnObjective *objective,
                                        const RpinnAdamOptions *options, RpinnOptimizer **optimizer);

/* For one member of a target for groups: rpinn_optimizers_advance makes the calls of several together. */
RPINN_API RpinnStatus rpinn_adam_create_member(RpinnContext *context, const RpinnBatchObjective *objective,
                                               size_t member, const RpinnAdamOptions *options,
                                               RpinnOptimizer **optimizer);

/* L-BFGS (Nocedal 1980) with a line search for the strong Wolfe conditions. Memory: 2 * memory *
 * num_parameters numbers. A trial point whose loss or gradient is not finite shortens the step. */
typedef struct RpinnLbfgsOptions {
  RpinnStopRule stop;
  size_t memory; /* pairs of (step, change of gradient) kept: > 0 */
} RpinnLbfgsOptions;

/* 2000 iterations, gradient 1e-6, progress 1e-8 over 100 iterations; memory 20. */
RPINN_API RpinnLbfgsOptions rpinn_lbfgs_default_options(void);
RPINN_API RpinnStatus rpinn_lbfgs_create(RpinnContext *context, const RpinnObjective *objective,
                                         const RpinnLbfgsOptions *options, RpinnOptimizer **optimizer);
/* For one member of a target for groups, as rpinn_adam_create_member. */
RPINN_API RpinnStatus rpinn_lbfgs_create_member(RpinnContext *context, const RpinnBatchObjective *objective,
                                                size_t member, const RpinnLbfgsOptions *options,
                                                RpinnOptimizer **optimizer);

/* Levenberg–Marquardt on E of rpinn/target.h with offsets [num_rows + num_parameters], or without when NULL.
 * An iteration is one trial step, taken when it lowers the loss and rejected otherwise; the damping follows
 * the ratio of the decrease to the one predicted (Nielsen 1999). With fewer parameters than rows it solves
 * the normal equations [N][N], otherwise the equivalent system in data space [M][M]. The latter uses the
 * target's gram, jacobian_times and transposed_times where it offers all three; everything else uses one
 * dense Jacobian per accepted step. With more than max_dense_rows rows, and a target that offers both products, steps are those of
 * conjugate gradients on J v and J^T w: no matrix is formed, memory is O(num_rows + num_parameters), and the minimiser is the
 * same. */
typedef struct RpinnLevenbergMarquardtOptions {
  RpinnStopRule stop;
  double initial_damping; /* relative to the size of J^T J: > 0 */
  size_t max_dense_rows;  /* 0: RPINN_MAX_DENSE_ROWS */
  /* After a step that is taken, go on the way of the step before as long as the loss falls: one evaluation more per iteration, or
   * a few, and fewer iterations where valleys are narrow. Worth it where a linearisation is dear. */
  bool momentum;
  /* Correct a step for the bend of its valley, and reject it where that is strong, even if the loss falls: one evaluation and one
   * product with J^T more per iteration. In use where the factor of a step is at hand: not with conjugate gradients, nor where the
   * target finds its steps. */
  bool acceleration;
} RpinnLevenbergMarquardtOptions;

/* An M x M matrix of doubles has 72 MB then, and its factorisation takes about as long as J J^T for a network of the same size. */
enum { RPINN_MAX_DENSE_ROWS = 3000 };

/* 200 iterations, gradient 1e-6, progress 1e-8 over 20 iterations; initial damping 1e-3; RPINN_MAX_DENSE_ROWS. */
RPINN_API RpinnLevenbergMarquardtOptions rpinn_levenberg_marquardt_default_options(void);
/* Would it work without matrices on this problem? */
RPINN_API bool rpinn_levenberg_marquardt_is_matrix_free(const RpinnLeastSquares *problem,
                                                        const RpinnLevenbergMarquardtOptions *options);
RPINN_API RpinnStatus rpinn_levenberg_marquardt_create(RpinnContext *context,
                                                       const RpinnLeastSquares *problem,
                                                       const double *offsets,
                                                       const RpinnLevenbergMarquardtOptions *options,
                                                       RpinnOptimizer **optimizer);
/* For one member of a target for groups, as rpinn_adam_create_member. The roots of its prior are asked for here, and borrowed. */
RPINN_API RpinnStatus rpinn_levenberg_marquardt_create_member(RpinnContext *context,
                                                              const RpinnBatchLeastSquares *squares,
                                                              size_t member, const double *offsets,
                                                              const RpinnLevenbergMarquardtOptions *options,
                                                              RpinnOptimizer **optimizer);

#ifdef __cplusplus
}
#endif
#endif
