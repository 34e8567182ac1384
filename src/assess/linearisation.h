/* The posterior of a least-squares target, linearised at a point theta: a Gaussian, with all that follows from one in closed
 * form: the log evidence, what each row says of itself when it is left out, and draws.
 *
 * With rows r and Jacobian A at theta, prior N(m, S) with S = P^-2 diagonal, J = A S^1/2 and z = S^-1/2 (theta - m):
 *
 *   C = I + J J^T,   y = J z - r,   alpha = C^-1 y,   c = C^-1                     [M][M], [M]
 *   log evidence   = -1/2 y^T alpha - 1/2 log det C - M/2 log 2 pi                  of the whitened rows
 *   row i without itself:  mean y_i - alpha_i / c_ii,  variance 1 / c_ii
 *   mean           = m + S^1/2 J^T alpha
 *   draw           = m + S^1/2 (epsilon - J^T C^-1 (J epsilon - eta - y)),  epsilon ~ N(0, I_N), eta ~ N(0, I_M)   (Matheron)
 *
 * The rows are whitened: a density in the units of the data has -sum log s_i beside it, which only the caller knows. At a
 * minimiser of E, r = -alpha and 1/2 y^T alpha = E(theta): rpinn_linearisation_energy tells by it how far a point is from one. Exact where the rows are
 * linear in theta, whatever the point. */
#ifndef RPINN_ASSESS_LINEARISATION_H
#define RPINN_ASSESS_LINEARISATION_H

#include <stdbool.h>

#include "rpinn/laplace.h"

typedef struct RpinnLinearisation RpinnLinearisation;

/* Linearise at theta [N], which is copied; the problem is borrowed until the end. Every parameter needs a prior
 * (rpinn_importance_available). Takes 2 M^2 + O(M + N) numbers, or M N + N^2 where N < M. RPINN_ERROR_NUMERIC where rows, Jacobian or C are not
 * finite; otherwise fails as the target does, or for want of memory. */
RpinnStatus rpinn_linearisation_create(const RpinnLeastSquares *problem, const double *theta,
                                       RpinnLinearisation **linearisation);
/* Bytes that one takes, at most, on the way. */
double rpinn_linearisation_bytes(double num_rows, double num_parameters);
void rpinn_linearisation_destroy(RpinnLinearisation *linearisation);
/* The same linearisation with row i of the target times factors[i] from now on [M], such as for another noise: in place of
 * earlier factors, so that the same ones give the same bits. Costs M^3, no products with the target, and M^2 numbers once. Fails
 * as rpinn_linearisation_create does. */
RpinnStatus rpinn_linearisation_rescale(RpinnLinearisation *linearisation, const double *factors);

/* Of the whitened rows. */
double rpinn_linearisation_log_evidence(const RpinnLinearisation *linearisation);
/* Of those rows alone that are chosen [M], at the same linearisation: log Z(all) - log Z(chosen) is the log density of the
 * others given the chosen ones. NaN when there is no memory for it. */
double rpinn_linearisation_log_evidence_of(const RpinnLinearisation *linearisation, const bool *chosen);
/* 1/2 y^T alpha: the least energy of the linearised model. At a minimiser it is E itself. */
double rpinn_linearisation_energy(const RpinnLinearisation *linearisation);

/* Row i as the others predict it: z = alpha_i / sqrt(c_ii), log density 1/2 log c_ii - 1/2 z^2 - 1/2 log 2 pi. */
RpinnLeftOut rpinn_linearisation_leave_out(const RpinnLinearisation *linearisation, size_t row);

/* alpha_i and c_ii, for the fixed point of a term's noise: s^2 <- s^2 sum alpha_i^2 / sum c_ii over its rows. */
double rpinn_linearisation_alpha(const RpinnLinearisation *linearisation, size_t row);
double rpinn_linearisation_inverse_diagonal(const RpinnLinearisation *linearisation, size_t row);

/* Move y by shift [M] and alpha with it: the same linearisation of rows r - shift. */
void rpinn_linearisation_shift(RpinnLinearisation *linearisation, const double *shift);

/* What the rows of a group say together. Data of the model itself, of parameters from their prior and noise, have y ~ N(0, C),
 * so that alpha ~ N(0, C^-1): sums of squares are weighted chi-squares, and have the mean and the variance of `freedom` squares
 * of normal numbers each times its share of the mean (Satterthwaite). */
typedef struct RpinnRowGroup {
  double num_rows;
  double squares, expected; /* sum alpha_i^2, and its mean sum c_ii */
  double freedom;           /* (sum c_ii)^2 / sum c_ij^2 */
  double z_mean, z_error;   /* mean of the left-out z_i, and its standard deviation */
  double z_square;          /* mean of z_i^2, which is 1 in the mean */
  double z_freedom;         /* n^2 / sum (correlation of z_i and z_j)^2 */
} RpinnRowGroup;
/* groups [num_groups] of rows that follow each other, sizes [num_groups] in all M. Takes M^2 further numbers for the call.
 * RPINN_ERROR_MEMORY, or RPINN_ERROR_NUMERIC where C^-1 is not finite. */
RpinnStatus rpinn_linearisation_groups(const RpinnLinearisation *linearisation, size_t num_groups,
                                       const size_t *sizes, RpinnRowGroup *groups);

/* The energy of the linearised model at any point, in parameters theta [N]: its least plus that of the Gaussian. */
RpinnStatus rpinn_linearisation_energy_at(RpinnLinearisation *linearisation, const double *theta,
                                          double *energy);
/* covariance [count][count] of the linear functions of theta with coefficients functions [count][N]. Takes count times M, or N where
 * N < M, further numbers for the call. */
RpinnStatus rpinn_linearisation_covariance(RpinnLinearisation *linearisation, size_t count,
                                           const double *functions, double *covariance);

/* mean [N]. */
RpinnStatus rpinn_linearisation_mean(RpinnLinearisation *linearisation, double *mean);
/* draw [N] from standard normal noise [M + N]: eta, then epsilon, in the order of an rPINN member's offsets. For a linear
 * model it is the minimiser of the energy with these offsets. */
RpinnStatus rpinn_linearisation_draw(RpinnLinearisation *linearisation, const double *noise, double *draw);

#endif
