/* Parameters that may not be any number: the shares of three kinds of trees in a forest, and the rate at which one meets them. 40 trees
 * in 5 hours: 8 oaks, 12 pines, 20 birches.
 *
 *   counts ~ Multinomial(shares), shares ~ Dirichlet(1, 1, 1);   40 ~ Poisson(5 rate), rate ~ Exponential(1 per 10)
 *
 * The density is written in shares and rate, as one thinks of it; the free parameters that NUTS moves, and the Jacobian, come
 * from rpinn. In closed form: shares ~ Dirichlet(9, 13, 21), rate ~ Gamma(41, 5.1). */
#include "summary.h"

enum { KINDS = 3, RATE = 3, VALUES = 4 };
static const double counts[KINDS] = {8, 12, 20}, hours = 5;

static RpinnStatus evaluate(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 40 * log(x[RATE]) - (hours + 0.1) * x[RATE];
  if (gradient) gradient[RATE] = 40 / x[RATE] - (hours + 0.1);
  for (int k = 0; k < KINDS; k++) {
    *log_density += counts[k] * log(x[k]);
    if (gradient) gradient[k] = counts[k] / x[k];
  }
  return RPINN_OK;
}

static double value(const double *x, int which) {
  return x[which];
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  RpinnConstraints *constraints;
  RpinnFreeDensity *freed;
  RpinnDraws *draws, *values;
  if (!context) return 1;
  const RpinnConstraint kinds[] = {{.kind = RPINN_SIMPLEX, .count = KINDS},
                                   {.kind = RPINN_ABOVE, .count = 1}};
  RpinnLogDensity density = {.num_parameters = VALUES, .evaluate = evaluate};
  if (rpinn_constraints_create(context, 2, kinds, &constraints) != RPINN_OK ||
      rpinn_free_density_create(context, constraints, &density, &freed) != RPINN_OK)
    return print_failure(context);
  RpinnLogDensity target = rpinn_free_density(freed); /* of three numbers without bounds */
  RpinnNutsOptions options = rpinn_nuts_default_options();
  if (rpinn_nuts_sample(context, &target, &options, 1, 4, NULL, &draws) != RPINN_OK)
    return print_failure(context);

  const char *const names[VALUES] = {"oaks", "pines", "birches", "rate"};
  if (rpinn_draws_constrain(context, draws, constraints, names, &values) != RPINN_OK)
    return print_failure(context);
  printf("%-10s %12s %12s %12s\n", "value", "mean", "sd", "mcse");
  for (int j = 0; j < VALUES; j++) print_summary(rpinn_draws_name(values, (size_t)j), values, value, j);
  rpinn_draws_destroy(values);
  rpinn_draws_destroy(draws);
  rpinn_free_density_destroy(freed);
  rpinn_constraints_destroy(constraints);
  rpinn_context_destroy(context);
  return 0;
}
