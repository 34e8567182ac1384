// A program in C++ outside of the project: a positive parameter, x ~ Gamma(3, 1), with the installed headers and library.
#include <rpinn/rpinn.h>

#include <cmath>
#include <cstdio>
#include <vector>

static RpinnStatus evaluate(void *, const double *x, double *log_density, double *gradient) {
  *log_density = 2 * std::log(x[0]) - x[0];
  if (gradient) gradient[0] = 2 / x[0] - 1;
  return RPINN_OK;
}

int main() {
  RpinnContext *context = rpinn_context_create();
  RpinnConstraint positive = RpinnConstraint();
  positive.kind = RPINN_ABOVE;
  positive.count = 1;
  RpinnLogDensity density = RpinnLogDensity();
  density.num_parameters = 1;
  density.evaluate = evaluate;
  RpinnConstraints *constraints;
  RpinnFreeDensity *freed;
  RpinnDraws *draws, *values;
  if (rpinn_constraints_create(context, 1, &positive, &constraints) != RPINN_OK ||
      rpinn_free_density_create(context, constraints, &density, &freed) != RPINN_OK)
    return 1;
  std::vector<RpinnLogDensity> targets(1, rpinn_free_density(freed));
  const RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNutsChains chains = RpinnNutsChains();
  chains.seed = 1;
  chains.num_chains = 2;
  if (rpinn_nuts_sample_chains(context, targets.size(), targets.data(), &options, &chains, &draws) != RPINN_OK ||
      rpinn_draws_constrain(context, draws, constraints, nullptr, &values) != RPINN_OK)
    return 1;
  double mean = 0;
  const std::size_t count = rpinn_draws_count(values);
  for (std::size_t i = 0; i < count; i++) mean += rpinn_draws_get(values, i).parameters[0] / static_cast<double>(count);
  std::printf("mean of Gamma(3, 1): %.2f\n", mean);
  rpinn_draws_destroy(values);
  rpinn_draws_destroy(draws);
  rpinn_free_density_destroy(freed);
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
  return std::fabs(mean - 3) < 0.3 ? 0 : 1;
}
