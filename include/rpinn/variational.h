/* Variational inference on any log density: the normal distribution q that is closest to it, by the largest
 *
 *   ELBO(q) = E_q[ log p(theta) - log q(theta) ] <= log of the integral of p
 *
 * q has a mean mu_j and a deviation s_j for each parameter, and may have r common factors V [N][r] beside. With S = diag(s) its covariance
 * is
 *
 *   mean field  S^2          low rank  S (I + V V^T) S          precision  S (I + V V^T)^-1 S
 *
 * The last is the form of a posterior of many parameters and few data, V V^T being what these say: with as many factors as rows it is
 * exact for a linear model.
 *
 * The gradient of the ELBO comes through draws, in pairs mu + d and mu - d, and Adam climbs: means in steps of their deviations, log s as
 * it is, columns of V in steps of their length. The ELBO is averaged over windows of iterations. Where a window is no better than the best
 * before it, by more than its Monte Carlo error, steps are halved; after some halvings q is the average of the last window, and its
 * ELBO is measured anew. Several starts are climbed from side by side, and the one with the largest ELBO is kept.
 *
 * What is closest in this sense is too narrow where parameters depend on each other in ways that q has not: for a normal density
 * with precision matrix A the mean field has deviations 1/sqrt(A_jj).
 *
 * The state advances by iterations and can be saved between any two of them; a saved, restored and continued fit gives the same bits
 * as one that was never stopped, for any number of threads. */
#ifndef RPINN_VARIATIONAL_H
#define RPINN_VARIATIONAL_H

#include <stdint.h>

#include "rpinn/choices.h"
#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnVariationalOptions {
  RpinnFamily family;
  size_t rank;            /* r; a mean field has none, whatever stands here */
  size_t num_starts;      /* > 0 */
  size_t num_pairs;       /* of draws, in each iteration of a start: > 0 */
  size_t max_iterations;  /* of each start: > 0 */
  size_t window;          /* iterations that the ELBO is averaged over: > 1 */
  size_t num_halvings;    /* of the step, before the end */
  size_t num_final_pairs; /* that the ELBO is measured with at the end: > 1 */
  double first_deviation; /* of all parameters, where the start gives none: > 0 */
  /* The gradient through draws leaves out a part whose mean is 0 and which vanishes nowhere else (sticking the landing); with
   * this it has that part. */
  bool total_gradient;
  RpinnAdamRule rule;
  uint64_t seed;
} RpinnVariationalOptions;

/* Mean field, 4 starts, 8 pairs, at most 20,000 iterations in windows of 100, 6 halvings of a first step of 0.05 deviations. */
RPINN_API RpinnVariationalOptions rpinn_variational_default_options(void);

/* A window of one start. */
typedef struct RpinnVariationalWindow {
  double iteration;   /* behind its last one */
  double elbo, error; /* mean over its pairs, and standard error of that */
  double step;        /* learning rate */
} RpinnVariationalWindow;

/* Where a start is. */
typedef struct RpinnVariationalStart {
  size_t num_iterations;
  bool finished;
  bool converged; /* finished because its ELBO rose no more, and not by max_iterations */
  double elbo,
      error; /* of a finished one, with its Monte Carlo error; -INFINITY where draws are not finite */
  size_t num_windows;
  const RpinnVariationalWindow *windows; /* [num_windows] */
  size_t num_parameters, rank;
  const double *mean;          /* [num_parameters] mu */
  const double *log_deviation; /* [num_parameters] log s */
  const double *factors;       /* [num_parameters][rank] V */
} RpinnVariationalStart;

typedef struct RpinnVariational RpinnVariational;

/* targets [num_targets]: the same log density for each of num_targets threads. */
RPINN_API RpinnStatus rpinn_variational_create(RpinnContext *context, size_t num_targets,
                                               const RpinnLogDensity *targets,
                                               const RpinnVariationalOptions *options,
                                               RpinnVariational **variational);
/* The same for targets for groups, which all have groups of one size; members are draws of an iteration. */
RPINN_API RpinnStatus rpinn_variational_create_batch(RpinnContext *context, size_t num_targets,
                                                     const RpinnBatchLogDensity *targets,
                                                     const RpinnVariationalOptions *options,
                                                     RpinnVariational **variational);
RPINN_API void rpinn_variational_destroy(RpinnVariational *variational);

/* Begin with these means and deviations [num_starts][num_parameters] and factors [num_starts][num_parameters][rank], which are copied.
 * deviations NULL: first_deviation; factors NULL: small random ones. */
RPINN_API RpinnStatus rpinn_variational_start(RpinnContext *context, RpinnVariational *variational,
                                              const double *means, const double *deviations,
                                              const double *factors);
/* Further iterations of all starts that are not finished. A start whose draws are not finite is made narrower, and given up after
 * 60 times in a row; RPINN_ERROR_NUMERIC when none is left. */
RPINN_API RpinnStatus rpinn_variational_advance(RpinnContext *context, RpinnVariational *variational,
                                                size_t num_iterations);
/* Finish all starts where they are: RPINN_ERROR_NUMERIC as above. */
RPINN_API RpinnStatus rpinn_variational_finish(RpinnContext *context, RpinnVariational *variational);
RPINN_API bool rpinn_variational_is_finished(const RpinnVariational *variational);
/* Of the start that has most of them. */
RPINN_API size_t rpinn_variational_num_iterations(const RpinnVariational *variational);

/* Valid until the state changes. */
RPINN_API RpinnVariationalStart rpinn_variational_look(const RpinnVariational *variational, size_t start);
/* The finished start with the largest ELBO, the first one of equals; those that are not finished count by their last window. */
RPINN_API size_t rpinn_variational_best(const RpinnVariational *variational);
/* Draw number `draw` of the best start: theta [num_parameters], and log q there (may be NULL). */
RPINN_API void rpinn_variational_draw(const RpinnVariational *variational, uint64_t draw, double *theta,
                                      double *log_q);

RPINN_API size_t rpinn_variational_state_size(const RpinnVariational *variational);
RPINN_API void rpinn_variational_save(const RpinnVariational *variational, void *buffer);
/* A buffer of another size or of other options, or a damaged one, is RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_variational_restore(RpinnContext *context, RpinnVariational *variational,
                                                const void *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
