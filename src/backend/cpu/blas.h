/* The matrix products of the CPU backend, by precision. Row-major, no padding. */
#ifndef RPINN_BACKEND_CPU_BLAS_H
#define RPINN_BACKEND_CPU_BLAS_H

#include <cblas.h>

#include "real.h"

#if defined(RPINN_REAL_FLOAT)
#define RPINN_BLAS(operation) RPINN_JOIN(cblas_s, operation)
#else
#define RPINN_BLAS(operation) RPINN_JOIN(cblas_d, operation)
#endif

/* C [m][n] = A [m][k] B [k][n] */
static inline void blas_product(size_t m, size_t n, size_t k, const Real *A, const Real *B, Real *C) {
  RPINN_BLAS(gemm)
  (CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, A, (int)k, B, (int)n, 0, C, (int)n);
}

/* C [m][n] = A^T B + keep * C,  A [k][m], B [k][n] */
static inline void blas_transposed_product(size_t m, size_t n, size_t k, const Real *A, const Real *B,
                                           Real keep, Real *C) {
  RPINN_BLAS(gemm)
  (CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, A, (int)m, B, (int)n, keep, C, (int)n);
}

#endif
