/* Have chains converged, and how much are their draws worth? The statistics of Vehtari, Gelman, Simpson, Carpenter
 * and Bürkner (2021) for one scalar at a time, as R's posterior computes them; and for many short chains the nested R-hat of
 * Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari and Gelman (2024). */
#ifndef RPINN_CONVERGENCE_H
#define RPINN_CONVERGENCE_H

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NaN where the draws say nothing: not finite, constant, or too few (halves of chains with less than 3 draws;
 * R-hat of one unsplit chain). Chains that are each constant but differ have an infinite R-hat. Constant draws
 * still have their mean, quantiles and a deviation of 0. */
typedef struct RpinnConvergence {
  double mean, sd, median, q5, q95; /* of all draws; sd with N-1; type-7 quantiles */
  double rhat;                      /* the larger of rank-normalised split R-hat, bulk and folded */
  double rhat_plain;                /* unsplit, untransformed */
  double rhat_paper;                /* TensorFlow Probability's: unsplit, without the square root,
                                            ((m+1)/m) sigma_+^2 / W - (n-1)/(m n), sigma_+^2 = W + B/n,
                                            with the variances in W divided by n */
  double ess_bulk, ess_tail;
  double ess_plain; /* unsplit, untransformed */
  double ess_mean, ess_sd, ess_median, ess_q5, ess_q95;
  double mcse_mean, mcse_sd, mcse_median, mcse_q5, mcse_q95;
} RpinnConvergence;

/* Workspace of one thread for chains of this size. NULL when out of memory. */
typedef struct RpinnConvergenceWork RpinnConvergenceWork;
RPINN_API RpinnConvergenceWork *rpinn_convergence_work_create(size_t num_chains, size_t num_draws);
RPINN_API void rpinn_convergence_work_destroy(RpinnConvergenceWork *work);

/* All of it for draws [num_chains][num_draws]. */
RPINN_API RpinnConvergence rpinn_convergence(RpinnConvergenceWork *work, const double *draws);
/* rhat, rhat_paper, ess_bulk and ess_tail alone (the others are NaN), for when there are thousands of scalars. */
RPINN_API RpinnConvergence rpinn_convergence_brief(RpinnConvergenceWork *work, const double *draws);
/* A quantile of all draws, probability in [0, 1], with its effective sample size and standard error. */
RPINN_API void rpinn_convergence_quantile(RpinnConvergenceWork *work, const double *draws, double probability,
                                          double *quantile, double *ess, double *mcse);
/* The share of energy that changes per draw, E-BFMI of one chain; NaN for less than two draws. */
RPINN_API double rpinn_energy_fraction(size_t num_draws, const double *energies);

/* Nested R-hat of draws [num_chains][num_draws]: have chains that are too short to judge one by one forgotten where they began?
 * Chains that share a start are a superchain, and superchains[c] < num_superchains is that of chain c. A chain may have one draw.
 *
 *   sqrt(1 + B / W),   B  the variance of the means of superchains
 *                      W  the mean over superchains of: the variance of the means of its chains, plus the mean of their variances
 *
 * Where some superchains are single chains, the first part of W is the mean over the others. NaN where the draws say nothing:
 * not finite, constant, or of less than two superchains; infinite where nothing but the superchains differ. */
RPINN_API double rpinn_nested_rhat(size_t num_chains, size_t num_draws, const double *draws,
                                   size_t num_superchains, const size_t *superchains);

#ifdef __cplusplus
}
#endif
#endif
