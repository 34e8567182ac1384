/* The fit behind rpinn/pareto.h. */
#ifndef RPINN_ASSESS_PARETO_SMOOTHING_H
#define RPINN_ASSESS_PARETO_SMOOTHING_H

#include "rpinn/pareto.h"

/* Fit the generalised Pareto distribution with density 1/sigma (1 + k x / sigma)^(-1/k - 1) to sorted
 * exceedances x [count] > 0 in rising order, count >= 5. k has the weak prior that counts as 10 draws of 1/2;
 * sigma belongs to the fit without it. False when there is no fit: the sample is not positive and finite. */
bool rpinn_pareto_fit(size_t count, const double *exceedances, double *k, double *sigma);

#endif
