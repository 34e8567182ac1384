/* How far draws that minimise a randomised energy are from posterior draws: the Gauss–Newton importance
 * weight of one draw.
 *
 * Minimisers of 1/2 |r(theta) - xi_r|^2 + 1/2 |P (theta - mu) - xi_p|^2 over standard normal xi are posterior
 * draws when r is linear. Otherwise they follow another density, close to
 *   q(theta) ~ det(H)^(1/2) exp(-1/2 g^T H^-1 g),   H = P^2 + J^T J,   g = J^T r + P^2 (theta - mu)
 * so that posterior / q gives, with Phi = 1/2 |r|^2 + 1/2 |P (theta - mu)|^2, the weight
 *   log w = -1/2 log det H - Phi + 1/2 g^T H^-1 g.
 * r, J and Phi are without offsets, at the member's theta.
 *
 * What it does not do: second derivatives of r are left out (Gauss–Newton), which leaves part of the bias of
 * strongly curved models; it holds for converged members only, and where every perturbed energy has a single
 * minimum. Networks have many by symmetry, so that on them the weights are a diagnostic and not a proof. */
#ifndef RPINN_ASSESS_IMPORTANCE_H
#define RPINN_ASSESS_IMPORTANCE_H

#include <stdbool.h>

#include "rpinn/target.h"

typedef struct RpinnImportance RpinnImportance;

/* Whether the weights exist: every parameter needs a prior, prior_root [num_parameters] > 0 and finite.
 * False for NULL (no prior at all). */
bool rpinn_importance_available(size_t num_parameters, const double *prior_root);

/* Workspace for weights of one problem of M = num_rows rows and N = num_parameters parameters: M^2 + O(M + N)
 * numbers; one thread at a time. Copies prior_root [N], which must be available as above, and prior_mean [N]
 * (NULL: zero). NULL: no memory. */
RpinnImportance *rpinn_importance_create(size_t num_rows, size_t num_parameters, const double *prior_root,
                                         const double *prior_mean);
void rpinn_importance_destroy(RpinnImportance *importance);

/* log w from rows r [M] and jacobian J [M][N], both at theta [N] and without offsets. NaN when an input or
 * the result is not finite: such a member has no weight. Does not allocate. */
double rpinn_importance_log_weight(RpinnImportance *importance, const double *theta, const double *rows,
                                   const double *jacobian);
/* The same from the products J v and J D J^T of a target of the same shape and prior, which needs no dense
 * Jacobian where the target has both. Fails only as the target does. */
RpinnStatus rpinn_importance_log_weight_of_target(RpinnImportance *importance,
                                                  const RpinnLeastSquares *problem, const double *theta,
                                                  double *log_weight);

#endif
