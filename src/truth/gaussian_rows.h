/* Rows that are white under a Gaussian prior of a field at points.
 *
 * With mean m and covariance C = V L V^T of the field y at P points, eigenvalues l_j in falling order,
 *
 *   r_j = v_j^T (y - m) / sqrt(l_j),      1/2 |r|^2 = 1/2 (y - m)^T C^+ (y - m)
 *
 * for l_j above RPINN_LEAST_EIGENVALUE of the largest. Covariances of smooth fields are singular to rounding within a few
 * dozen eigenvalues, and long before that a row is the network's rounding times 1/sqrt(l_j). Directions with smaller
 * eigenvalues are left free: C^+ is the pseudoinverse of the C that is kept.
 *
 * The vectors are those of LAPACK, whose signs (and bases, where eigenvalues are equal) are not unique: the sum of squares
 * is the same for all, single rows are not. */
#ifndef RPINN_TRUTH_GAUSSIAN_ROWS_H
#define RPINN_TRUTH_GAUSSIAN_ROWS_H

#include "arena.h"
#include "kriging.h"

#define RPINN_LEAST_EIGENVALUE 1e-6
enum { RPINN_GAUSSIAN_MAX_POINTS = 2048 }; /* the covariance is a dense matrix, decomposed in P^3 steps */

typedef struct RpinnGaussianRows {
  size_t num_points, num_rows; /* P; eigenvalues that are kept */
  double *mean;                /* [num_points] m */
  double *mix;                 /* [num_rows][num_points] v_j^T / sqrt(l_j) */
} RpinnGaussianRows;

/* points [num_points][num_axes]. given: the field given measurements (made with the same model), or NULL for the model's
 * own mean and covariance. The arrays live in the arena. */
RpinnStatus rpinn_gaussian_rows_create(RpinnContext *context, RpinnArena *arena, const RpinnFieldModel *model,
                                       const RpinnKriging *given, size_t num_points, const double *points,
                                       RpinnGaussianRows *rows);

#endif
