/* The step of Levenberg–Marquardt without a matrix: conjugate gradients on
 *
 *   (J^T J + A) d = b,   A > 0 diagonal,
 *
 * from products J v and J^T w alone, in the variables A^1/2 d. There the matrix is I + A^-1/2 J^T J A^-1/2: all that the rows do
 * not see has the eigenvalue 1 and is solved for in one iteration, and each large eigenvalue takes about one more. */
#ifndef RPINN_OPTIMIZE_NORMAL_EQUATIONS_H
#define RPINN_OPTIMIZE_NORMAL_EQUATIONS_H

#include "rpinn/target.h"

typedef struct RpinnNormalEquations {
  const RpinnLeastSquares *problem; /* with jacobian_times and transposed_times */
  const double *theta;              /* [N] where J is taken */
  const double *inverse;            /* [N] A^-1 */
  double tolerance;      /* stop when |b - (J^T J + A) d|, in the norm of A^-1, is this share of |b| … */
  size_t max_iterations; /* … or after so many */
  double *residual, *direction, *product; /* [N] each, to work with */
  double *rows;                           /* [M] likewise */
  const char **called; /* is told the name of each function of the target before it is called */
} RpinnNormalEquations;

/* d [N], from zero. *solved is false where a product is not finite. Every iteration lowers 1/2 d^T (J^T J + A) d - b^T d, and
 * what is left over is orthogonal to d: a solution that stopped early is a step downhill all the same. */
RpinnStatus rpinn_normal_equations_solve(const RpinnNormalEquations *equations, const double *b, double *d,
                                         bool *solved);

#endif
