/* Tiles of tensor cores in TF32: ten bits of mantissa, sums in FP32. A number of FP32 is the sum of two of TF32, but for its last bit. */
#ifndef RPINN_BACKEND_CUDA_TENSOR_TILES_CUH
#define RPINN_BACKEND_CUDA_TENSOR_TILES_CUH

#include <string.h>

#include "team.cuh"

#if defined(__CUDACC__)
/* To nearest, ties away from zero, for finite numbers: half of the last bit that stays is added to all bits. The instruction that does this
 * for all numbers is four of the machine's. */
RPINN_INLINE float to_tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu); }
/* For all numbers: a carry might make a number of what is none. */
RPINN_INLINE float finite_tf32(float x) { return fmaf(x, 0.0f, to_tf32(x)); }
/* The same where only tensor cores read it. */
RPINN_INLINE float to_operand(float x) { return fmaf(x, 0.0f, __uint_as_float(__float_as_uint(x) + 0x1000u)); }

/* d += a b with a [16][8], b [8][8]: lane l has a[l/4 + 8 (r % 2)][l % 4 + 4 (r / 2)], b[l % 4 (+ 4)][l/4] and
 * d[l/4 + 8 (r / 2)][2 (l % 4) + r % 2]. Of a and b the instruction reads the first ten bits of the mantissa. */
RPINN_INLINE void multiply_tiles(const float (&a)[4], float b0, float b1, float (&d)[4]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

/* What is left of x where its nearest number of TF32 is known; not a number where x is not finite. */
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
RPINN_INLINE float finite_tf32(float x) { return to_tf32(x); }
RPINN_INLINE float to_operand(float x) { return to_tf32(x); }
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
