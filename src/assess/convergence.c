/* Symbols: m chains of n draws, S = m n draws in all; "split" means the halves of each chain as 2 m chains.
 *
 *   z       Phi^-1((r - 3/8) / (S + 1/4)) of the ranks r of the split draws, equal draws sharing their mean rank
 *   R-hat   sqrt((B/W + n - 1) / n), B/n the variance of the chain means and W the mean of the chain variances;
 *           of z, and of z of the folded draws |x - median|, whichever is larger
 *   ess     bulk: of z. For a quantile q of all draws: of the indicators x <= q, split. Tail: the smaller of those
 *           for 5 % and 95 %. For the deviation: of (x - mean)^2
 *   mcse    of the mean sd / sqrt(ess); of the deviation by the delta method,
 *           sqrt((mean c^4 - (mean c^2)^2) / ess / (4 mean c^2)) with c = x - mean; of a quantile half the
 *           distance of the order statistics at the quantiles Phi(-1) and Phi(1) of
 *           Beta(ess p + 1, ess (1-p) + 1)
 *
 * The draws are sorted once. Folded draws need no second sort: going out from the median on both sides they come
 * in order. Mean ranks are multiples of 1/2, so that z comes from a table with 2 S entries. */
#include "rpinn/convergence.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "autocovariance.h"
#include "distributions.h"
#include "rank_order.h"

static const double nothing = (double)NAN;

struct RpinnConvergenceWork {
  size_t num_chains, num_draws, count; /* count = S */
  size_t num_split;                    /* draws left after splitting */
  RpinnAutocovariance *autocovariance;
  RpinnRanked *ranked;  /* [2 S] */
  double *sorted;       /* [S] */
  size_t *place;        /* [S] of the sorted draws */
  double *folded;       /* [S] rising */
  size_t *folded_place; /* [S] */
  double *scores;       /* [m][n]: z, indicators, squares */
  double *normal;       /* [2 num_split + 1]: z of mean rank r at 2 r */
};

RpinnConvergenceWork *rpinn_convergence_work_create(size_t num_chains, size_t num_draws) {
  if (num_draws && num_chains > SIZE_MAX / 64 / num_draws) return NULL;
  RpinnConvergenceWork *work = calloc(1, sizeof *work);
  if (!work) return NULL;
  size_t count = num_chains * num_draws, num_split = num_chains * (num_draws / 2 * 2);
  *work = (RpinnConvergenceWork){
      .num_chains = num_chains, .num_draws = num_draws, .count = count, .num_split = num_split};
  work->autocovariance = rpinn_autocovariance_create(num_draws);
  work->ranked = calloc(2 * count + 1, sizeof *work->ranked);
  work->place = calloc(2 * count + 1, sizeof *work->place);
  work->sorted = calloc(3 * count + 2 * num_split + 1, sizeof *work->sorted);
  if (!work->autocovariance || !work->ranked || !work->place || !work->sorted) {
    rpinn_convergence_work_destroy(work);
    return NULL;
  }
  work->folded_place = work->place + count;
  work->folded = work->sorted + count;
  work->scores = work->folded + count;
  work->normal = work->scores + count;
  for (size_t twice = 2; twice <= 2 * num_split; twice++)
    work->normal[twice] = rpinn_normal_quantile((0.5 * (double)twice - 0.375) / ((double)num_split + 0.25));
  return work;
}

void rpinn_convergence_work_destroy(RpinnConvergenceWork *work) {
  if (!work) return;
  rpinn_autocovariance_destroy(work->autocovariance);
  free(work->ranked);
  free(work->place);
  free(work->sorted);
  free(work);
}

/* ---- parts ---- */

static RpinnChains view(const RpinnConvergenceWork *work, const double *values, bool split) {
  return (RpinnChains){values, work->num_chains, work->num_draws, split};
}

static double mean_within(const RpinnChains *chains) {
  size_t m = rpinn_chains_count(chains), n = rpinn_chains_length(chains);
  double sum = 0;
  for (size_t c = 0; c < m; c++) {
    const double *chain = rpinn_chain(chains, c);
    sum += rpinn_variance(n, chain, rpinn_mean(n, chain));
  }
  return sum / (double)m;
}

static double potential_reduction(const RpinnChains *chains) {
  double n = (double)rpinn_chains_length(chains);
  if (n < 2 || rpinn_chains_constant(chains)) return nothing;
  return sqrt((n * rpinn_chains_between(chains) / mean_within(chains) + n - 1) / n);
}

static double potential_reduction_of_paper(const RpinnChains *chains) {
  double m = (double)rpinn_chains_count(chains), n = (double)rpinn_chains_length(chains);
  if (n < 2 || rpinn_chains_constant(chains)) return nothing;
  double within = mean_within(chains) * (n - 1) / n;
  return (m + 1) / m * (within + rpinn_chains_between(chains)) / within - (n - 1) / (m * n);
}

/* The larger, but NaN if either is. */
static double larger(double a, double b) {
  return isnan(a) || isnan(b) ? nothing : fmax(a, b);
}
static double smaller(double a, double b) {
  return isnan(a) || isnan(b) ? nothing : fmin(a, b);
}

/* Of an odd number of draws the middle one belongs to neither half. */
static bool is_left_out(const RpinnConvergenceWork *work, size_t place) {
  return work->num_draws % 2 && place % work->num_draws == work->num_draws / 2;
}

/* scores becomes z of values [S] in rising order, which came from `place`. */
static void normalise_ranks(RpinnConvergenceWork *work, const double *values, const size_t *place) {
  size_t rank = 0; /* draws before this group of equal ones */
  for (size_t first = 0, end; first < work->count; first = end) {
    size_t members = 0;
    for (end = first; end < work->count && values[end] == values[first]; end++)
      members += !is_left_out(work, place[end]);
    double z = members ? work->normal[2 * rank + 1 + members] : 0;
    for (size_t i = first; i < end; i++) work->scores[place[i]] = z;
    rank += members;
  }
}

/* folded becomes |x - median| in rising order. */
static void fold(RpinnConvergenceWork *work, double median) {
  const double *x = work->sorted;
  size_t above = 0;
  while (above < work->count && x[above] <= median) above++;
  size_t below = above; /* draws left on the lower side */
  for (size_t i = 0; i < work->count; i++) {
    bool lower = above == work->count || (below > 0 && median - x[below - 1] <= x[above] - median);
    size_t chosen = lower ? --below : above++;
    work->folded[i] = fabs(x[chosen] - median);
    work->folded_place[i] = work->place[chosen];
  }
}

/* The type-7 quantile of the sorted draws: at (S-1) p, in between by interpolation. A place that rounding moved a
 * little away from a draw is put back, for the quantile must not fall short of that draw. */
static double quantile_of_sorted(const RpinnConvergenceWork *work, double probability) {
  double exact = (double)(work->count - 1) * probability, nearest = rint(exact);
  if (fabs(exact - nearest) <= 4 * DBL_EPSILON * exact) exact = nearest;
  size_t low = (size_t)exact;
  double share = exact - (double)low, value = work->sorted[low];
  return share > 0 ? value + share * (work->sorted[low + 1] - value) : value;
}

static double quantile_size(RpinnConvergenceWork *work, const double *draws, double quantile) {
  for (size_t i = 0; i < work->count; i++) work->scores[i] = draws[i] <= quantile;
  return rpinn_effective_size(work->autocovariance,
                              &(RpinnChains){work->scores, work->num_chains, work->num_draws, true});
}

static double quantile_error(const RpinnConvergenceWork *work, double probability, double size) {
  const double lower_tail = 0.1586553,
               upper_tail = 0.8413447; /* Phi(-1) and Phi(1), with posterior's digits */
  double a = size * probability + 1, b = size * (1 - probability) + 1, count = (double)work->count;
  if (isnan(size)) return nothing;
  double low = floor(rpinn_beta_quantile(lower_tail, a, b) * count);
  double high = ceil(rpinn_beta_quantile(upper_tail, a, b) * count);
  return 0.5 * (work->sorted[(size_t)fmin(high, count) - 1] - work->sorted[(size_t)fmax(low, 1) - 1]);
}

static bool all_finite(size_t count, const double *values) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

/* Sorts; false when there is nothing that could be sorted. */
static bool take_draws(RpinnConvergenceWork *work, const double *draws) {
  if (work->count == 0 || !all_finite(work->count, draws)) return false;
  rpinn_rank_order(work->count, draws, work->sorted, work->place, work->ranked);
  return true;
}

static bool is_constant(const RpinnConvergenceWork *work) {
  return work->sorted[0] == work->sorted[work->count - 1];
}

/* ---- together ---- */

static RpinnConvergence no_statistics(void) {
  return (RpinnConvergence){nothing, nothing, nothing, nothing, nothing, nothing, nothing,
                            nothing, nothing, nothing, nothing, nothing, nothing, nothing,
                            nothing, nothing, nothing, nothing, nothing, nothing, nothing};
}

/* From sorted draws. */
static void rank_statistics(RpinnConvergenceWork *work, RpinnConvergence *result) {
  RpinnChains scores = view(work, work->scores, true);
  fold(work, quantile_of_sorted(work, 0.5));
  normalise_ranks(work, work->folded, work->folded_place);
  double folded = potential_reduction(&scores);
  normalise_ranks(work, work->sorted, work->place);
  result->rhat = larger(potential_reduction(&scores), folded);
  result->ess_bulk = rpinn_effective_size(work->autocovariance, &scores);
}

static void tail_statistics(RpinnConvergenceWork *work, const double *draws, RpinnConvergence *result) {
  result->ess_q5 = quantile_size(work, draws, quantile_of_sorted(work, 0.05));
  result->ess_q95 = quantile_size(work, draws, quantile_of_sorted(work, 0.95));
  result->ess_tail = smaller(result->ess_q5, result->ess_q95);
}

RpinnConvergence rpinn_convergence_brief(RpinnConvergenceWork *work, const double *draws) {
  RpinnConvergence result = no_statistics();
  if (!take_draws(work, draws) || is_constant(work)) return result;
  rank_statistics(work, &result);
  tail_statistics(work, draws, &result);
  result.ess_q5 = result.ess_q95 = nothing;
  RpinnChains whole = view(work, draws, false);
  result.rhat_paper = potential_reduction_of_paper(&whole);
  return result;
}

static void deviation_statistics(RpinnConvergenceWork *work, const double *draws, RpinnConvergence *result) {
  double second = 0, fourth = 0;
  for (size_t i = 0; i < work->count; i++) {
    double square = (draws[i] - result->mean) * (draws[i] - result->mean);
    work->scores[i] = square;
    second += square;
    fourth += square * square;
  }
  second /= (double)work->count;
  fourth /= (double)work->count;
  RpinnChains squares = view(work, work->scores, true);
  result->ess_sd = rpinn_effective_size(work->autocovariance, &squares);
  result->mcse_sd = sqrt((fourth - second * second) / result->ess_sd / second / 4);
}

RpinnConvergence rpinn_convergence(RpinnConvergenceWork *work, const double *draws) {
  RpinnConvergence result = no_statistics();
  if (!take_draws(work, draws)) return result;
  result.mean = rpinn_mean(work->count, draws);
  result.sd = sqrt(rpinn_variance(work->count, draws, result.mean));
  result.median = quantile_of_sorted(work, 0.5);
  result.q5 = quantile_of_sorted(work, 0.05);
  result.q95 = quantile_of_sorted(work, 0.95);
  if (is_constant(work)) return result;
  RpinnChains whole = view(work, draws, false), split = view(work, draws, true);
  rank_statistics(work, &result);
  tail_statistics(work, draws, &result);
  deviation_statistics(work, draws, &result);
  result.rhat_plain = potential_reduction(&whole);
  result.rhat_paper = potential_reduction_of_paper(&whole);
  result.ess_plain = rpinn_effective_size(work->autocovariance, &whole);
  result.ess_mean = rpinn_effective_size(work->autocovariance, &split);
  result.ess_median = quantile_size(work, draws, result.median);
  result.mcse_mean = result.sd / sqrt(result.ess_mean);
  result.mcse_median = quantile_error(work, 0.5, result.ess_median);
  result.mcse_q5 = quantile_error(work, 0.05, result.ess_q5);
  result.mcse_q95 = quantile_error(work, 0.95, result.ess_q95);
  return result;
}

void rpinn_convergence_quantile(RpinnConvergenceWork *work, const double *draws, double probability,
                                double *quantile, double *ess, double *mcse) {
  *quantile = *ess = *mcse = nothing;
  if (!(probability >= 0 && probability <= 1) || !take_draws(work, draws)) return;
  *quantile = quantile_of_sorted(work, probability);
  if (is_constant(work)) return;
  /* All draws lie below the largest: its indicator would be constant. */
  double inside = probability < 1 ? probability : ((double)work->count - 0.5) / (double)work->count;
  *ess = quantile_size(work, draws, quantile_of_sorted(work, inside));
  *mcse = quantile_error(work, probability, *ess);
}

double rpinn_energy_fraction(size_t num_draws, const double *energies) {
  if (num_draws < 2 || !all_finite(num_draws, energies)) return nothing;
  double squares = 0, variance = rpinn_variance(num_draws, energies, rpinn_mean(num_draws, energies));
  for (size_t i = 1; i < num_draws; i++)
    squares += (energies[i] - energies[i - 1]) * (energies[i] - energies[i - 1]);
  return variance > 0 ? squares / (double)(num_draws - 1) / variance : nothing;
}
