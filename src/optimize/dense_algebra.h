/* The few dense operations that the optimisers need, on BLAS and LAPACK. Matrices are row-major; a symmetric
 * one is read and written in its lower triangle only. Nothing here allocates. */
#ifndef RPINN_OPTIMIZE_DENSE_ALGEBRA_H
#define RPINN_OPTIMIZE_DENSE_ALGEBRA_H

#include <stdbool.h>
#include <stddef.h>

double rpinn_dense_dot(size_t n, const double *x, const double *y);
double rpinn_dense_norm(size_t n, const double *x);
/* y += factor * x */
void rpinn_dense_add(size_t n, double factor, const double *x, double *y);

/* matrix [rows][columns]:  product [rows] = matrix x;  product [columns] = matrix^T x */
void rpinn_dense_times(size_t rows, size_t columns, const double *matrix, const double *x, double *product);
void rpinn_dense_transposed_times(size_t rows, size_t columns, const double *matrix, const double *x,
                                  double *product);
/* gram [columns][columns] = matrix^T matrix */
void rpinn_dense_normal(size_t rows, size_t columns, const double *matrix, double *gram);
/* gram [rows][rows] = matrix diag(scale) matrix^T with scale [columns] >= 0; NULL: ones.
 * workspace [rows * RPINN_DENSE_BLOCK]. */
enum { RPINN_DENSE_BLOCK = 256 };
void rpinn_dense_gram(size_t rows, size_t columns, const double *matrix, const double *scale,
                      double *workspace, double *gram);
/* Solve matrix x = x [n] for a symmetric positive definite matrix [n][n], which is overwritten by its
 * Cholesky factor. False when it is not positive definite to rounding, or it or the solution is not finite. */
bool rpinn_dense_solve(size_t n, double *matrix, double *x);
/* matrix = L L^T: the lower triangle is overwritten by L, the upper one is left alone. False as above. */
bool rpinn_dense_factor(size_t n, double *matrix);
/* With L in the lower triangle of factor [n][n]: solve L L^T x = x [n]; replace L by the lower triangle of (L L^T)^-1, false
 * when L is singular. */
void rpinn_dense_solve_factored(size_t n, const double *factor, double *x);
bool rpinn_dense_invert_factored(size_t n, double *factor);
/* rows [count][n]: replace each row x by L^-1 x, with L as above. */
void rpinn_dense_solve_rows(size_t n, const double *factor, size_t count, double *rows);
/* Solve L^T x = x [n], with L in the lower triangle of factor [n][n]. */
void rpinn_dense_solve_transposed(size_t n, const double *factor, double *x);

#endif
