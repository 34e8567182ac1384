/* Tiles of tensor cores in TF32: ten bits of mantissa, sums in FP32. A number of FP32 is the sum of two of TF32, but for its last bit. */
#ifndef RPINN_BACKEND_CUDA_TENSOR_TILES_CUH
#define RPINN_BACKEND_CUDA_TENSOR_TILES_CUH

#include <string.h>

#include "team.cuh"

#if defined(__CUDACC__)
/* To nearest, ties away from zero. */
RPINN_INLINE float to_tf32(float x) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return __uint_as_float(rounded);
}

/* d += a b with a [16][8], b [8][8]: lane l has a[l/4 + 8 (r % 2)][l % 4 + 4 (r / 2)], b[l % 4 (+ 4)][l/4] and
 * d[l/4 + 8 (r / 2)][2 (l % 4) + r % 2]. Of a and b the instruction reads the first ten bits of the mantissa. */
RPINN_INLINE void multiply_tiles(const float (&a)[4], float b0, float b1, float (&d)[4]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

/* What is left of x where its nearest number of TF32 is known. */
RPINN_INLINE float behind_tf32(float x, float nearest) { return x - nearest; }
#else
RPINN_INLINE float to_tf32(float x) {
  unsigned bits;
  if (x != x) return x;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000u) & ~0x1fffu;
  memcpy(&x, &bits, sizeof x);
  return x;
}
/* With the bits that tensor cores read of it. */
RPINN_INLINE float behind_tf32(float x, float nearest) {
  unsigned bits;
  x -= nearest;
  if (x != x) return x;
  memcpy(&bits, &x, sizeof bits);
  bits &= ~0x1fffu;
  memcpy(&x, &bits, sizeof x);
  return x;
}
#endif

#endif
