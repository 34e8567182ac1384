/* Curvature: Hessians from gradients alone, and their Gauss-Newton counterpart.
 *
 *   H v = d/dt g(theta + t v) at t = 0, by central differences of the gradient g, extrapolated to step zero
 *   H   ~ J^T J + P^2 for the energy of a least-squares problem: what is left where residuals are small or straight
 *
 * A target must be in double: differences of single precision gradients leave two or three digits. */
#ifndef RPINN_ASSESS_HESSIAN_H
#define RPINN_ASSESS_HESSIAN_H

#include "rpinn/target.h"
#include "symmetric_spectrum.h"

/* The function whose Hessian is taken: log p itself, so that its eigenvalues are negative at a mode. */
RpinnObjective rpinn_hessian_of_log_density(const RpinnLogDensity *density);

/* Products with H at theta [N]. Borrows the objective and theta. NULL when out of memory. */
typedef struct RpinnHessian RpinnHessian;
RpinnHessian *rpinn_hessian_create(const RpinnObjective *objective, const double *theta);
void rpinn_hessian_destroy(RpinnHessian *hessian);
/* product [N] = H direction, for 12 gradients. It is an RpinnSymmetricProduct with the Hessian as user. */
RpinnStatus rpinn_hessian_times(void *hessian, const double *direction, double *product);

/* eigenvalues [N] of H in rising order and, unless NULL, eigenvectors [N][N] in rows, for 12 N gradients. *asymmetry is
 * the largest |H_ij - H_ji| over the largest |H_ij|, which would be 0 without errors: an estimate of theirs. H is made
 * symmetric before. N is at most RPINN_DENSE_SPECTRUM_LIMIT. */
RpinnStatus rpinn_hessian_spectrum(RpinnContext *context, const RpinnObjective *objective,
                                   const double *theta, double *eigenvalues, double *eigenvectors,
                                   double *asymmetry);

/* The `count` eigenvalues of H largest in magnitude, in falling order of it; see rpinn_leading_spectrum. */
RpinnStatus rpinn_hessian_leading(RpinnContext *context, const RpinnObjective *objective, const double *theta,
                                  size_t count, double *eigenvalues, double *eigenvectors);

/* eigenvalues [N] of J^T J + P^2 at theta in rising order. With fewer rows than parameters and one prior for all of
 * them it takes the M x M matrix J J^T, else N is at most RPINN_DENSE_SPECTRUM_LIMIT. */
RpinnStatus rpinn_gauss_newton_spectrum(RpinnContext *context, const RpinnLeastSquares *problem,
                                        const double *theta, double *eigenvalues);

#endif
