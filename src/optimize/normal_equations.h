/* The step of Levenberg–Marquardt without a matrix: conjugate gradients on
 *
 *   (J^T J + A) d = b,   A > 0 diagonal,
 *
 * from products J v and J^T w alone, in the variables A^1/2 d. There the matrix is I + A^-1/2 J^T J A^-1/2: all that the rows do
 * not see has the eigenvalue 1 and is solved for in one iteration, and each large eigenvalue takes about one more. */
#ifndef RPINN_OPTIMIZE_NORMAL_EQUATIONS_H
#define RPINN_OPTIMIZE_NORMAL_EQUATIONS_H

#include "request.h"

/* Which product was asked for. */
typedef enum RpinnNormalPhase { RPINN_NORMAL_ROWS, RPINN_NORMAL_COLUMNS } RpinnNormalPhase;

typedef struct RpinnNormalEquations {
  RpinnRequest *request; /* to ask for products J v and J^T w; its target is a least-squares problem */
  size_t num_parameters; /* N */
  const double *theta;   /* [N] where J is taken */
  const double *inverse; /* [N] A^-1 */
  double tolerance;      /* stop when |b - (J^T J + A) d|, in the norm of A^-1, is this share of |b| … */
  size_t max_iterations; /* … or after so many */
  double *residual, *direction, *product; /* [N] each, to work with */
  double *rows;                           /* [M] likewise */
  bool solved;                            /* out: false where a product is not finite */
  /* ---- of the solution under way ---- */
  RpinnNormalPhase phase;
  double *solution; /* d [N] */
  size_t num_iterations;
  double first, square,
      last; /* |residual|^2 in the norm of A^-1: at the beginning, now, and an iteration ago */
} RpinnNormalEquations;

/* d [N], from zero. True: it asks, and goes on when it is answered. Every iteration lowers 1/2 d^T (J^T J + A) d - b^T d, and
 * what is left over is orthogonal to d: a solution that stopped early is a step downhill all the same. */
bool rpinn_normal_equations_begin(RpinnNormalEquations *equations, const double *b, double *d);
bool rpinn_normal_equations_answered(RpinnNormalEquations *equations);

#endif
