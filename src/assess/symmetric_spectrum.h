/* Eigenvalues of symmetric matrices: all of a dense one by LAPACK, the leading ones of an operator by ARPACK. */
#ifndef RPINN_ASSESS_SYMMETRIC_SPECTRUM_H
#define RPINN_ASSESS_SYMMETRIC_SPECTRUM_H

#include "context.h"

/* Larger dense spectra are refused: 4000 parameters take 128 MB, and 48000 gradients where it is a Hessian. */
enum { RPINN_DENSE_SPECTRUM_LIMIT = 4000 };

/* eigenvalues [n] in rising order of matrix [n][n], of which the lower triangle is read and which is overwritten: with
 * `vectors`, row i becomes the unit eigenvector of eigenvalue i. RPINN_ERROR_NUMERIC when it is not finite. */
RpinnStatus rpinn_symmetric_spectrum(RpinnContext *context, size_t n, double *matrix, bool vectors,
                                     double *eigenvalues);

/* product [n] = A x for a symmetric A. */
typedef RpinnStatus (*RpinnSymmetricProduct)(void *user, const double *x, double *product);

/* Was the library built with ARPACK? */
bool rpinn_leading_spectrum_available(void);
/* The `count` eigenvalues largest in magnitude, in falling order of it, and their unit eigenvectors [count][n] unless
 * NULL; 0 < count < n. Needs some 10 products per eigenvalue where these stand apart. RPINN_ERROR_UNSUPPORTED without
 * ARPACK, RPINN_ERROR_NUMERIC when it does not converge. One call at a time: others wait. */
RpinnStatus rpinn_leading_spectrum(RpinnContext *context, size_t n, RpinnSymmetricProduct product, void *user,
                                   size_t count, double *eigenvalues, double *eigenvectors);

#endif
