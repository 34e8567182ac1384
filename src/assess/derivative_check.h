/* Derivatives against finite differences, on the abstract targets: no network in sight. */
#ifndef RPINN_ASSESS_DERIVATIVE_CHECK_H
#define RPINN_ASSESS_DERIVATIVE_CHECK_H

#include "rpinn/target.h"

/* values [num_values] of a function along a line, at position t. */
typedef RpinnStatus (*RpinnLineFunction)(void *user, double t, double *values);

/* derivative [num_values] of the function at t = 0 by Ridders' method: central differences at steps
 * first_step / 2^k, extrapolated to step zero; for each value the entry of the tableau that changes least
 * from its neighbours. */
RpinnStatus rpinn_ridders_derivative(RpinnLineFunction function, void *user, size_t num_values,
                                     double first_step, double *derivative);
/* The same, and by how much each entry differs from its neighbours [num_values]: infinite where there was none to compare it with,
 * as of values that are not finite. */
RpinnStatus rpinn_ridders_estimate(RpinnLineFunction function, void *user, size_t num_values,
                                   double first_step, double *derivative, double *errors);

/* Rows come in groups (terms): group_sizes [num_groups], adding up to M. errors[k] becomes, within group k,
 * the largest |J v - finite difference| divided by the largest |J| |v| (entrywise: what J v could be without
 * cancellation). direction v [N]; jacobian [M][N] at theta. */
RpinnStatus rpinn_check_jacobian_along(const RpinnLeastSquares *problem, const double *theta,
                                       const double *jacobian, const double *direction, size_t num_groups,
                                       const size_t *group_sizes, double *errors);
/* |g . v - finite difference| / (|g| . |v|) for the objective. */
RpinnStatus rpinn_check_gradient_along(const RpinnObjective *objective, const double *theta,
                                       const double *gradient, const double *direction, double *error);

#endif
