/* Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry: JMLR 25, 2024), and leave-one-out with it.
 *
 * The largest weights are replaced by the quantiles of a generalised Pareto distribution fitted to them. Its shape k tells how
 * far weighted means can be trusted: below 0.5 well, up to 0.7 usable, above not. */
#ifndef RPINN_PARETO_H
#define RPINN_PARETO_H

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnParetoSmoothing {
  bool usable;   /* false: a log weight is NaN or +infinity, or none is above -infinity; the rest of
                    the results is then NaN and 0 */
  bool constant; /* all weights are equal to rounding: there is nothing to smooth and nothing to fear */
  double k;      /* shape of the tail; NaN where it cannot be estimated: constant weights, or fewer than
                    5 distinct ones in the tail (always with 20 draws or fewer) */
  double effective_size; /* 1 / sum w^2 of the smoothed, normalised weights, from 1 to count */
  size_t tail_size;      /* weights that were smoothed, 0 without an estimate of k */
} RpinnParetoSmoothing;

/* smoothed [count] becomes the smoothed log weights, normalised: sum exp(smoothed) = 1; it may be log_weights
 * itself. -infinity is a weight of zero and stays one. Draws are taken to be independent. RPINN_ERROR_MEMORY is the only
 * failure. */
RPINN_API RpinnStatus rpinn_pareto_smooth(size_t count, const double *log_weights, double *smoothed,
                                          RpinnParetoSmoothing *result);
/* The same for draws of chains, whose effective size is `efficiency` > 0 times their number: the tail has
 * ceil(min(S / 5, 3 sqrt(S / efficiency))) of S weights. */
RPINN_API RpinnStatus rpinn_pareto_smooth_chains(size_t count, double efficiency, const double *log_weights,
                                                 double *smoothed, RpinnParetoSmoothing *result);

/* ---- leave-one-out ----
 *
 * How well is datum i predicted by the others? From draws s of the posterior of all data, with l_si = log p(y_i | draw s) and
 * smoothed weights w_si of the log ratios -l_si,
 *
 *   elpd_i = log sum_s w_si exp(l_si),   lppd_i = log 1/S sum_s exp(l_si)
 *
 * and sums of them over all data. In nats, of densities in the units of the data. */

typedef struct RpinnDatumLeftOut {
  double elpd;
  double lppd;
  double k;          /* of its weights; NaN where rpinn_pareto_smooth has none */
  double efficiency; /* that its tail was chosen by */
} RpinnDatumLeftOut;

typedef struct RpinnLeaveOneOut {
  double elpd;
  double
      error; /* its standard error: sqrt(num_data times the variance of elpd_i), the variance divided by num_data */
  double freedom; /* lppd - elpd, the effective number of parameters */
  double largest_k;
  double k_limit; /* min(0.7, 1 - 1 / log10(S)): with few draws smaller k are too much already */
  size_t num_above_limit;
} RpinnLeaveOneOut;

/* log_likelihood [num_chains][num_draws][num_data]; each [num_data], or NULL where only the sums are wanted.
 * efficiency: of the draws, for all data alike, as ArviZ takes it (1 for independent ones); 0: that of the mean of exp(l_i) over
 * the chains, for each datum anew, as R's loo takes it. A number that is not finite is RPINN_ERROR_INPUT and names draw and
 * datum. */
RPINN_API RpinnStatus rpinn_pareto_leave_one_out(RpinnContext *context, size_t num_chains, size_t num_draws,
                                                 size_t num_data, const double *log_likelihood,
                                                 double efficiency, RpinnDatumLeftOut *each,
                                                 RpinnLeaveOneOut *result);

#ifdef __cplusplus
}
#endif
#endif
