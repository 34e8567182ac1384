/* Quantiles of the normal and the beta distribution. */
#ifndef RPINN_ASSESS_DISTRIBUTIONS_H
#define RPINN_ASSESS_DISTRIBUTIONS_H

/* x with Phi(x) = probability, to a few units in the last place; -infinity at 0, infinity at 1, NaN outside. */
double rpinn_normal_quantile(double probability);

/* Regularised incomplete beta function I_x(a, b) for a, b > 0: the distribution function of Beta(a, b). */
double rpinn_beta_cdf(double x, double a, double b);
/* x with I_x(a, b) = probability; a, b > 0 and probability in [0, 1], NaN otherwise. */
double rpinn_beta_quantile(double probability, double a, double b);

#endif
