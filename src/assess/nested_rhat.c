/* Nested R-hat: chains that begin at one point differ by what they have forgotten of it, superchains by what they have not. Once the
 * start is forgotten, the mean of a superchain of m chains, each worth n independent draws, varies by 1/(m n) of a draw, so that nested
 * R-hat is about sqrt(1 + 1/(m n)): many chains make it small, and none of them has to be long. */
#include <math.h>

#include "autocovariance.h"
#include "rpinn/convergence.h"

/* A mean and the sum of squares around it, number by number (Welford). */
typedef struct Spread {
  size_t count;
  double mean, squares;
} Spread;

static void spread_add(Spread *spread, double value) {
  double step = value - spread->mean;
  spread->mean += step / (double)++spread->count;
  spread->squares += step * (value - spread->mean);
}

static double spread_variance(const Spread *spread) {
  return spread->squares / (double)(spread->count - 1);
}

/* The means and the variances of the chains of one superchain. */
typedef struct Superchain {
  Spread means, variances;
} Superchain;

static Superchain look_at_superchain(size_t number, size_t num_chains, size_t num_draws, const double *draws,
                                     const size_t *superchains) {
  Superchain superchain = {0};
  for (size_t c = 0; c < num_chains; c++) {
    if (superchains[c] != number) continue;
    const double *chain = draws + c * num_draws;
    double mean = rpinn_mean(num_draws, chain);
    spread_add(&superchain.means, mean);
    spread_add(&superchain.variances, num_draws > 1 ? rpinn_variance(num_draws, chain, mean) : 0);
  }
  return superchain;
}

double rpinn_nested_rhat(size_t num_chains, size_t num_draws, const double *draws, size_t num_superchains,
                         const size_t *superchains) {
  Spread means = {0}, between_chains = {0}, within_chains = {0};
  if (num_draws == 0) return (double)NAN;
  for (size_t k = 0; k < num_superchains; k++) {
    Superchain superchain = look_at_superchain(k, num_chains, num_draws, draws, superchains);
    if (superchain.means.count == 0) continue;
    spread_add(&means, superchain.means.mean);
    spread_add(&within_chains, superchain.variances.mean);
    if (superchain.means.count > 1) spread_add(&between_chains, spread_variance(&superchain.means));
  }
  if (means.count < 2) return (double)NAN;
  return sqrt(1 + spread_variance(&means) / (between_chains.mean + within_chains.mean)); /* 0/0: constant */
}
