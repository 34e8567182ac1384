/* Parameters that may not be any number: positive ones, shares, thresholds in order, probabilities that add up to one. Samplers and
 * optimisers move freely, so that they get free parameters u in place of the constrained values x = x(u), and a density of x
 * becomes one of u by the logarithm of the Jacobian determinant,
 *
 *   log p(u) = log p(x(u)) + log |det dx/du|.
 *
 *   kind            values                free parameters   x(u)                                      log |det dx/du|
 *   FREE            any                   as many           u                                         0
 *   ABOVE lower     x > lower             as many           lower + exp(u)                            sum u
 *   BELOW upper     x < upper             as many           upper - exp(u)                            sum u
 *   BETWEEN both    lower < x < upper     as many           lower + (upper - lower) s, s = 1/(1+e^-u) sum log((upper - lower) s (1-s))
 *   RISING          x_1 < x_2 < …         as many           x_1 = u_1, x_k = x_(k-1) + exp(u_k)       sum u_2 …
 *   SIMPLEX         x_k > 0, sum x_k = 1  one less          x_k = rest_k z_k, rest_1 = 1,             sum log(rest_k z_k (1-z_k))
 *                                                           rest_(k+1) = rest_k (1-z_k),
 *                                                           z_k = 1/(1 + (K-k) exp(-u_k))
 *
 * with K values and k = 1 … K-1 of a simplex, whose u = 0 is the middle; the density of a simplex is that of its first K-1 values.
 *
 *   RpinnConstraint constraints[] = {{.kind = RPINN_FREE, .count = 2}, {.kind = RPINN_ABOVE, .count = 1}};
 *   rpinn_constraints_create(context, 2, constraints, &all);
 *   rpinn_free_density_create(context, all, &density_of_x, &free);
 *   RpinnLogDensity target = rpinn_free_density(free);          // for NUTS, SVGD, …
 *   rpinn_draws_constrain(context, draws, all, names, &values);  // and back */
#ifndef RPINN_CONSTRAINT_H
#define RPINN_CONSTRAINT_H

#include "rpinn/draws.h"
#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RpinnConstraintKind {
  RPINN_FREE,
  RPINN_ABOVE,
  RPINN_BELOW,
  RPINN_BETWEEN,
  RPINN_RISING,
  RPINN_SIMPLEX
} RpinnConstraintKind;

/* Values that follow each other in x. Bounds that a kind does not name are not looked at: {.kind = RPINN_ABOVE, .count = 1} is a
 * positive number. */
typedef struct RpinnConstraint {
  RpinnConstraintKind kind;
  size_t count; /* values: > 0, of a simplex > 1 */
  double lower, upper;
} RpinnConstraint;

typedef struct RpinnConstraints RpinnConstraints;

/* constraints [count] are copied. Bounds that are not finite or not in order, and counts out of range, are RPINN_ERROR_INPUT. */
RPINN_API RpinnStatus rpinn_constraints_create(RpinnContext *context, size_t count,
                                               const RpinnConstraint *constraints, RpinnConstraints **result);
RPINN_API void rpinn_constraints_destroy(RpinnConstraints *constraints);
/* Of all constraints together: how many numbers x has, and how many u. */
RPINN_API size_t rpinn_constraints_num_values(const RpinnConstraints *constraints);
RPINN_API size_t rpinn_constraints_num_parameters(const RpinnConstraints *constraints);

/* values x [num_values] of parameters u [num_parameters]; log_jacobian may be NULL. */
RPINN_API void rpinn_constraints_apply(const RpinnConstraints *constraints, const double *parameters,
                                       double *values, double *log_jacobian);
/* And back: where a chain may start. A value that its constraint does not allow is RPINN_ERROR_INPUT and is named by its number;
 * so is one on a bound. A simplex may miss its sum by 1e-8. */
RPINN_API RpinnStatus rpinn_constraints_invert(RpinnContext *context, const RpinnConstraints *constraints,
                                               const double *values, double *parameters);

/* A log density of x, with its gradient by x, as one of u with the Jacobian and its gradient by u. Borrows both until destroyed;
 * one thread at a time. RPINN_ERROR_INPUT where the density has another number of parameters than there are values. */
typedef struct RpinnFreeDensity RpinnFreeDensity;
RPINN_API RpinnStatus rpinn_free_density_create(RpinnContext *context, const RpinnConstraints *constraints,
                                                const RpinnLogDensity *density, RpinnFreeDensity **free);
RPINN_API void rpinn_free_density_destroy(RpinnFreeDensity *free);
RPINN_API RpinnLogDensity rpinn_free_density(RpinnFreeDensity *free);

/* Draws of u as draws of x, with the same statistics (lp stays the log density of u) and names [num_values] (NULL: theta[0], …). The
 * caller destroys them; they are NULL after a failure. RPINN_ERROR_INPUT where the draws have another number of parameters. */
RPINN_API RpinnStatus rpinn_draws_constrain(RpinnContext *context, const RpinnDraws *draws,
                                            const RpinnConstraints *constraints, const char *const *names,
                                            RpinnDraws **constrained);

#ifdef __cplusplus
}
#endif
#endif
