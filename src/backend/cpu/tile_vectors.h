/* What kernels of matrix products share: unrolled loops, a product that is added, and squares that are transposed. */
#ifndef RPINN_BACKEND_CPU_TILE_VECTORS_H
#define RPINN_BACKEND_CPU_TILE_VECTORS_H

#include "vector.h"

/* Loops whose counts are constants are unrolled, so that arrays of vectors stay in registers; not where a sanitizer checks every step of them,
 * which would take minutes to compile. */
#if !defined(__clang__)
#define RPINN_UNROLL      _Pragma("GCC unroll 16")
#define RPINN_UNROLL_FOUR _Pragma("GCC unroll 4")
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RPINN_UNROLL
#define RPINN_UNROLL_FOUR
#else
#define RPINN_UNROLL      _Pragma("clang loop unroll(full)")
#define RPINN_UNROLL_FOUR _Pragma("clang loop unroll_count(4)")
#endif
/* i from 0 to below a count */
#define RPINN_UNROLLED(i, count)  RPINN_UNROLL for (size_t i = 0; i < (count); i++)
/* half of a count, and half of that, down to 1 */
#define RPINN_HALVES(half, count) RPINN_UNROLL for (size_t half = (count) / 2; half > 0; half /= 2)

/* a b + c: fused where that is an instruction and not a call. */
RPINN_INLINE RealVector vector_multiply_add(RealVector a, RealVector b, RealVector c) {
#if defined(RPINN_ISA_HAS_NO_INTRINSICS) && !defined(__FP_FAST_FMAF)
  return a * b + c;
#else
  return vector_fma(a, b, c);
#endif
}

/* A square of RPINN_VECTOR_LANES rows and columns, of which num_rows exist: the last of them stands for the others. Each column of it, a row
 * of the result, times its factor, where there are any. */
RPINN_INLINE void vector_transpose_square(size_t num_rows, const Real *from, size_t row, const Real *factors,
                                          Real *to, size_t to_row) {
  RealVector v[RPINN_VECTOR_LANES];
  RPINN_UNROLLED (i, RPINN_VECTOR_LANES) v[i] = vector_load(from + (i < num_rows ? i : num_rows - 1) * row);
  RPINN_HALVES (size, RPINN_VECTOR_LANES)
    RPINN_UNROLLED (j, RPINN_VECTOR_LANES / 2) {
      const size_t i = j + j / size * size; /* those without the bit `size` */
      VectorPair pair = vector_exchange(v[i], v[i + size], size);
      v[i] = pair.even;
      v[i + size] = pair.odd;
    }
  RPINN_UNROLLED (i, RPINN_VECTOR_LANES)
    vector_store(to + i * to_row, factors ? vector_fill(factors[i]) * v[i] : v[i]);
}

#endif
