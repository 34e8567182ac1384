/* Nested R-hat: chains that begin at one point differ by what they have forgotten of it, superchains by what they have not. Once the
 * start is forgotten, the mean of a superchain of m chains, each worth n independent draws, varies by 1/(m n) of a draw, so that nested
 * R-hat is about sqrt(1 + 1/(m n)): many chains make it small, and none of them has to be long. */
#include "nested_rhat.h"

#include <math.h>

#include "autocovariance.h"

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

/* All superchains, one by one. */
typedef struct Company {
  Spread means, between_chains, within_chains;
  Spread errors; /* S/m, the variances of their means by chance */
} Company;

static void company_add(Company *company, const Superchain *superchain) {
  if (superchain->means.count == 0) return;
  spread_add(&company->means, superchain->means.mean);
  spread_add(&company->within_chains, superchain->variances.mean);
  if (superchain->means.count < 2) return;
  double variance = spread_variance(&superchain->means);
  spread_add(&company->between_chains, variance);
  spread_add(&company->errors, variance / (double)superchain->means.count);
}

/* less: taken from B. */
static double company_rhat(const Company *company, double less) {
  if (company->means.count < 2) return (double)NAN;
  return sqrt(1 + fmax(0, spread_variance(&company->means) - less) /
                      (company->between_chains.mean + company->within_chains.mean)); /* 0/0: constant */
}

double rpinn_nested_rhat_of_many(size_t num_chains, const double *means, const double *variances,
                                 size_t num_superchains, const size_t *superchains) {
  Company company = {0};
  for (size_t k = 0; k < num_superchains; k++) {
    Superchain superchain = {0};
    for (size_t c = 0; c < num_chains; c++) {
      if (superchains[c] != k) continue;
      spread_add(&superchain.means, means[c]);
      spread_add(&superchain.variances, variances[c]);
    }
    company_add(&company, &superchain);
  }
  return company_rhat(&company, company.errors.mean);
}

double rpinn_nested_rhat(size_t num_chains, size_t num_draws, const double *draws, size_t num_superchains,
                         const size_t *superchains) {
  Company company = {0};
  if (num_draws == 0) return (double)NAN;
  for (size_t k = 0; k < num_superchains; k++) {
    Superchain superchain = {0};
    for (size_t c = 0; c < num_chains; c++) {
      if (superchains[c] != k) continue;
      const double *chain = draws + c * num_draws;
      double mean = rpinn_mean(num_draws, chain);
      spread_add(&superchain.means, mean);
      spread_add(&superchain.variances, num_draws > 1 ? rpinn_variance(num_draws, chain, mean) : 0);
    }
    company_add(&company, &superchain);
  }
  return company_rhat(&company, 0);
}
