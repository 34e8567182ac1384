/* Randomized draws of a least-squares problem of your own, as rPINN makes them: draw i is the minimiser of
 *
 *   E(theta; xi) = 1/2 |r(theta) - xi_r|^2 + 1/2 |P (theta - mu) - xi_p|^2,   xi ~ N(0, I), anew for each draw.
 *
 * They are draws of the posterior exp(-E(theta; 0)) where r is linear, and near them otherwise; what is missing is the weight
 *
 *   log w = -1/2 log det H - E + 1/2 g^T H^-1 g,   H = P^2 + J^T J,   g = J^T r + P^2 (theta - mu),   without offsets,
 *
 * by which rpinn_pareto_smooth tells how far they are off, and means can be weighted. It leaves second derivatives of r out, and
 * belongs to converged draws of energies with a single minimum. */
#ifndef RPINN_RANDOMIZED_H
#define RPINN_RANDOMIZED_H

#include "rpinn/choices.h"
#include "rpinn/draws.h"
#include "rpinn/optimize.h"
#include "rpinn/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnRandomizedOptions {
  uint64_t seed;
  size_t num_draws;
  /* ---- the minimiser of each ---- */
  RpinnMinimizer minimizer; /* RPINN_MINIMIZER_ADAM, LBFGS or LM */
  RpinnStopRule stop;       /* its question `interrupted` is not asked: the watch has one */
  RpinnAdamRule adam;       /* of Adam alone */
  bool momentum;            /* of LM alone, as RpinnLevenbergMarquardtOptions has it, … */
  bool acceleration;        /* … and this */
  /* Fresh attempts of a draw whose energy or gradient is not finite in the end, each with offsets and a start of its own. */
  uint32_t max_retries;
  /* Draw i starts at number i modulo num_starts of starts [num_starts][num_parameters]; none: at a draw of the prior of its own. */
  size_t num_starts;
  const double *starts;
  /* Compute log weights: one dense J J^T and its factor, M^3 / 3, for each draw of M rows. */
  bool weights;
  const char *const *names; /* [num_parameters] of the parameters; NULL: theta[0], … */
  RpinnWatch watch;         /* progress in draws, and an end before its time */
} RpinnRandomizedOptions;

/* 1000 draws by LM as rpinn_levenberg_marquardt_default_options stops it, Adam's default rule, 3 retries, starts from the prior,
 * weights. */
RPINN_API RpinnRandomizedOptions rpinn_randomized_default_options(void);

/* problems [num_problems]: the same problem for each of num_problems threads; one works in the thread that calls. A draw has the same
 * bits for any number of threads and of draws.
 *
 * The draws are one chain, whose statistics are
 *   member          its number i; those that failed in every attempt are left out
 *   loss            E(theta; xi) in the end, and gradient_norm of it
 *   iterations, evaluations   of the last attempt
 *   converged       1: it stopped because there was nothing left to gain
 *   attempts        fresh ones beside the first
 *   log_weight      as above; NaN where it was not asked for, did not converge or is not finite, or where a parameter has no prior
 *
 * The caller destroys them. An interruption leaves out what is not finished, with RPINN_ERROR_INTERRUPTED; after any other
 * failure they are NULL. Options out of range, and parameters without a prior where starts come from it, are RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_randomized_sample(RpinnContext *context, size_t num_problems,
                                              const RpinnLeastSquares *problems,
                                              const RpinnRandomizedOptions *options, RpinnDraws **draws);

#ifdef __cplusplus
}
#endif
#endif
