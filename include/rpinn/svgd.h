/* SVGD, Stein variational gradient descent, on any log density: n particles that move together,
 *
 *   phi(x_i) = 1/n sum_j [ k(x_j, x_i) grad log p(x_j) + grad_(x_j) k(x_j, x_i) ],   k = exp(-|x - y|^2 / (2 h^2))
 *
 * with h^2 = median(|x_i - x_j|^2) / (2 log(n + 1)) over all pairs, i = j included, anew in every iteration. The kernel may also be
 * one of features f(x), the rows of a least-squares target, with |f(x) - f(y)| for all distances: then grad_(x_j) k is
 * J(x_j)^T (f(x_i) - f(x_j)) k / h^2 with the Jacobian J of f.
 *
 * The particles are a state that advances by iterations and can be saved between any two of them; a saved,
 * restored and continued run gives the same bits as one that was never stopped, for any number of threads. */
#ifndef RPINN_SVGD_H
#define RPINN_SVGD_H

#include <stdint.h>

#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RpinnSvgdOptimizer {
  RPINN_SVGD_ADAM,
  RPINN_SVGD_ADAGRAD /* G = g^2 at first, then 0.9 G + 0.1 g^2; step rate * g / (1e-6 + sqrt(G)) */
} RpinnSvgdOptimizer;

typedef struct RpinnSvgdOptions {
  size_t num_particles; /* n > 0; a single one climbs to the mode */
  RpinnSvgdOptimizer optimizer;
  RpinnAdamRule rule;       /* Adagrad takes its learning rate and decay alone */
  bool undivided_repulsion; /* the second part of phi is not divided by n, as in the published code */
  bool
      single_precision; /* the n x n x N products, and those with Jacobians of features, in float; all else stays double */
} RpinnSvgdOptions;

/* 100 particles, Adam with learning rate 1e-3 and no decay, both parts divided by n, double. */
RPINN_API RpinnSvgdOptions rpinn_svgd_default_options(void);

typedef struct RpinnSvgd RpinnSvgd;

/* targets [num_targets]: the same log density for each of num_targets threads. */
RPINN_API RpinnStatus rpinn_svgd_create(RpinnContext *context, size_t num_targets,
                                        const RpinnLogDensity *targets, const RpinnSvgdOptions *options,
                                        RpinnSvgd **svgd);
/* The same for targets for groups, which all have groups of one size: particle i is member i. */
RPINN_API RpinnStatus rpinn_svgd_create_batch(RpinnContext *context, size_t num_targets,
                                              const RpinnBatchLogDensity *targets,
                                              const RpinnSvgdOptions *options, RpinnSvgd **svgd);
/* The same with the kernel of features [num_targets], of as many parameters: rows and Jacobian are all that is asked of these. An
 * iteration takes n^2 F N multiplications for F rows. What is for one becomes what is for groups by rpinn_log_density_as_batch and
 * rpinn_least_squares_as_batch. */
RPINN_API RpinnStatus rpinn_svgd_create_with_features(RpinnContext *context, size_t num_targets,
                                                      const RpinnBatchLogDensity *targets,
                                                      const RpinnBatchLeastSquares *features,
                                                      const RpinnSvgdOptions *options, RpinnSvgd **svgd);
RPINN_API void rpinn_svgd_destroy(RpinnSvgd *svgd);
/* Begin at particles [n][num_parameters], which are copied. */
RPINN_API RpinnStatus rpinn_svgd_start(RpinnContext *context, RpinnSvgd *svgd, const double *particles);
/* Further iterations. A log density that is not finite at a particle is RPINN_ERROR_NUMERIC and names it. */
RPINN_API RpinnStatus rpinn_svgd_advance(RpinnContext *context, RpinnSvgd *svgd, size_t num_iterations);

RPINN_API size_t rpinn_svgd_num_iterations(const RpinnSvgd *svgd);
/* [n][num_parameters], and the log density [n], bandwidth h and mean |phi| of the last iteration (NaN before the
 * first), where the particles were before it. */
RPINN_API const double *rpinn_svgd_particles(const RpinnSvgd *svgd);
RPINN_API const double *rpinn_svgd_log_densities(const RpinnSvgd *svgd);
/* [n][num_parameters]: where the particles were then, and the gradients of the log density there. A saved state has them not: they are
 * those of the last iteration of the last call of rpinn_svgd_advance. */
RPINN_API const double *rpinn_svgd_before(const RpinnSvgd *svgd);
RPINN_API const double *rpinn_svgd_gradients(const RpinnSvgd *svgd);
RPINN_API double rpinn_svgd_bandwidth(const RpinnSvgd *svgd);
RPINN_API double rpinn_svgd_mean_norm(const RpinnSvgd *svgd);

RPINN_API size_t rpinn_svgd_state_size(const RpinnSvgd *svgd);
RPINN_API void rpinn_svgd_save(const RpinnSvgd *svgd, void *buffer);
/* A buffer of another size or of other options, or a damaged one, is RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_svgd_restore(RpinnContext *context, RpinnSvgd *svgd, const void *buffer,
                                         size_t size);

#ifdef __cplusplus
}
#endif
#endif
