/* BLAS and LAPACK behind names of our own.
 *
 * The lower triangle of a row-major symmetric matrix is the upper triangle of a column-major one. LAPACKE
 * transposes row-major arguments through memory that it allocates, so it is called with the column-major
 * view. */
#include "dense_algebra.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>

double rpinn_dense_dot(size_t n, const double *x, const double *y) {
  return cblas_ddot((int)n, x, 1, y, 1);
}

double rpinn_dense_norm(size_t n, const double *x) {
  return sqrt(rpinn_dense_dot(n, x, x));
}

void rpinn_dense_add(size_t n, double factor, const double *x, double *y) {
  cblas_daxpy((int)n, factor, x, 1, y, 1);
}

/* BLAS wants a leading dimension of at least 1, also for a matrix without rows. */
static int leading(size_t n) {
  return n > 0 ? (int)n : 1;
}

static void zero(size_t n, double *x) {
  for (size_t i = 0; i < n; i++) x[i] = 0;
}

void rpinn_dense_times(size_t rows, size_t columns, const double *matrix, const double *x, double *product) {
  zero(rows, product);
  if (rows == 0) return;
  cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)columns, 1, matrix, leading(columns), x, 1, 0,
              product, 1);
}

void rpinn_dense_transposed_times(size_t rows, size_t columns, const double *matrix, const double *x,
                                  double *product) {
  zero(columns, product);
  if (rows == 0) return;
  cblas_dgemv(CblasRowMajor, CblasTrans, (int)rows, (int)columns, 1, matrix, leading(columns), x, 1, 0,
              product, 1);
}

void rpinn_dense_normal(size_t rows, size_t columns, const double *matrix, double *gram) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)columns, (int)rows, 1, matrix, leading(columns), 0,
              gram, leading(columns));
}

/* Columns [first, first + count) times sqrt(scale), packed to workspace [rows][count]. */
static void pack_scaled(size_t rows, size_t columns, const double *matrix, const double *scale, size_t first,
                        size_t count, double *workspace) {
  double root[RPINN_DENSE_BLOCK];
  for (size_t j = 0; j < count; j++) root[j] = sqrt(scale[first + j]);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < count; j++) workspace[i * count + j] = root[j] * matrix[i * columns + first + j];
}

/* With a scale it goes block by block of columns, so that no second copy of the matrix is needed. */
void rpinn_dense_gram(size_t rows, size_t columns, const double *matrix, const double *scale,
                      double *workspace, double *gram) {
  if (!scale) {
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)rows, (int)columns, 1, matrix, leading(columns),
                0, gram, leading(rows));
    return;
  }
  for (size_t first = 0; first < columns; first += RPINN_DENSE_BLOCK) {
    size_t count = columns - first < RPINN_DENSE_BLOCK ? columns - first : RPINN_DENSE_BLOCK;
    pack_scaled(rows, columns, matrix, scale, first, count, workspace);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)rows, (int)count, 1, workspace, leading(count),
                first == 0 ? 0 : 1, gram, leading(rows));
  }
}

static bool are_finite(size_t count, const double *x, size_t distance) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(x[i * distance])) return false;
  return true;
}

/* A = L L^T in place. LAPACKE_dpotrf would look for NaN in all of A first, which takes as long as the factorisation of a small matrix: a NaN or an
 * infinity of a row comes to its pivot. */
bool rpinn_dense_factor(size_t n, double *matrix) {
  if (n == 0) return true;
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, matrix, (int)n) != 0) return false;
  return are_finite(n, matrix, n + 1);
}

/* For one right-hand side: dpotrs would pack L for many. */
void rpinn_dense_solve_factored(size_t n, const double *factor, double *x) {
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, factor, leading(n), x, 1);
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, factor, leading(n), x, 1);
}

bool rpinn_dense_solve(size_t n, double *matrix, double *x) {
  if (!rpinn_dense_factor(n, matrix)) return false;
  rpinn_dense_solve_factored(n, matrix, x);
  return are_finite(n, x, 1);
}

bool rpinn_dense_invert_factored(size_t n, double *factor) {
  return n == 0 || LAPACKE_dpotri(LAPACK_COL_MAJOR, 'U', (int)n, factor, (int)n) == 0;
}

void rpinn_dense_solve_transposed(size_t n, const double *factor, double *x) {
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, factor, leading(n), x, 1);
}

void rpinn_dense_solve_rows(size_t n, const double *factor, size_t count, double *rows) {
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)count, (int)n, 1, factor,
              leading(n), rows, leading(n));
}
