/* Laplace's approximation of a least-squares target of your own: at its most probable point theta*, where
 *
 *   E(theta) = 1/2 |r(theta)|^2 + 1/2 |P (theta - mu)|^2
 *
 * is least, r is replaced by r(theta*) + J (theta - theta*). The posterior is then a Gaussian with the mean theta* and the covariance
 * (J^T J + P^2)^-1, and all that follows from one is there in closed form. Exact where r is linear, whatever the point.
 *
 *   rpinn_levenberg_marquardt_create, …_start, …_advance           // theta*
 *   rpinn_laplace_create(context, &problem, optimum.theta, &laplace);
 *   rpinn_laplace_summary(laplace).log_evidence;
 *   rpinn_laplace_sample(context, laplace, 1, 1000, names, &draws);
 *
 * Takes 2 M^2 + O(M + N) numbers for M rows and N parameters, or M N + N^2 where N < M. One thread at a time. */
#ifndef RPINN_LAPLACE_H
#define RPINN_LAPLACE_H

#include <stdint.h>

#include "rpinn/draws.h"
#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnLaplace RpinnLaplace;

/* theta [N] is copied, the problem borrowed until the end. Every parameter needs a prior, prior_root > 0: one without, and a problem
 * without rows' functions, is RPINN_ERROR_INPUT. RPINN_ERROR_NUMERIC where rows or Jacobian are not finite at theta. */
RPINN_API RpinnStatus rpinn_laplace_create(RpinnContext *context, const RpinnLeastSquares *problem,
                                           const double *theta, RpinnLaplace **laplace);
RPINN_API void rpinn_laplace_destroy(RpinnLaplace *laplace);

typedef struct RpinnLaplaceSummary {
  double energy;        /* E(theta) */
  double linear_energy; /* the least energy of the linearised problem: E(theta) at a minimum, and else less */
  double
      log_evidence; /* log of the integral over the prior, -linear_energy - 1/2 log det(I + J P^-2 J^T) - M/2 log 2 pi */
  double leave_one_out; /* sum over rows of log p(row | all others) */
} RpinnLaplaceSummary;
/* Densities are those of the whitened rows: in the units of the data they have -sum log s_i beside them, of the deviations s_i that
 * the rows were divided by. */
RPINN_API RpinnLaplaceSummary rpinn_laplace_summary(const RpinnLaplace *laplace);

/* Row i as the others predict it. */
typedef struct RpinnLeftOut {
  double z;           /* (row - its prediction) / the standard deviation of that, with the noise of the row */
  double log_density; /* of the whitened row */
} RpinnLeftOut;
RPINN_API RpinnLeftOut rpinn_laplace_leave_out(const RpinnLaplace *laplace, size_t row);

/* mean [N] of the Gaussian: theta* itself at a minimum. */
RPINN_API RpinnStatus rpinn_laplace_mean(RpinnContext *context, RpinnLaplace *laplace, double *mean);
/* covariance [count][count] of the linear functions of theta with coefficients functions [count][N]: a row of the unit matrix gives
 * the variance of a parameter. */
RPINN_API RpinnStatus rpinn_laplace_covariance(RpinnContext *context, RpinnLaplace *laplace, size_t count,
                                               const double *functions, double *covariance);

/* num_draws draws as one chain, with names [N] (NULL: theta[0], …). Their statistics are lp, -E(theta), and log_weight, the logarithm
 * of posterior / Gaussian up to a constant: rpinn_pareto_smooth tells by it whether the Gaussian will do. Draw i depends on the
 * seed and i alone; where r is linear it is draw i of rpinn_randomized_sample. Where the context wants an end, the draws made so far come
 * with RPINN_ERROR_INTERRUPTED; after any other failure they are NULL. */
RPINN_API RpinnStatus rpinn_laplace_sample(RpinnContext *context, RpinnLaplace *laplace, uint64_t seed,
                                           size_t num_draws, const char *const *names, RpinnDraws **draws);

#ifdef __cplusplus
}
#endif
#endif
