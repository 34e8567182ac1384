/* The channels of a point through tanh of one unit, and back; formulas as in jets.cuh, with one operator of second order at most.
 * z[0] is tanh of the value. */
#ifndef RPINN_BACKEND_CUDA_FUSED_JETS_CUH
#define RPINN_BACKEND_CUDA_FUSED_JETS_CUH

#include "team.cuh"

#if defined(__CUDACC__)
RPINN_INLINE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
/* 2 / (1 + exp(-2|x|)) - 1 with the sign of x. What the unit for reciprocals is wrong by has a sign that sums over units and points keep:
 * one unit in the last place everywhere is 1e-5 of a gradient after a long run of `two-nets`. A step of Newton's leaves roundings. */
RPINN_INLINE float short_tanh(float x) {
  float e, r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(fabsf(x) * -2.885390081777927f));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(e + 1.0f));
  r = fmaf(r, fmaf(-(e + 1.0f), r, 1.0f), r);
  return copysignf(fmaf(2.0f, r, -1.0f), x);
}
RPINN_INLINE float short_root(float x) {
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
RPINN_INLINE float short_inverse(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
#else
RPINN_INLINE float multiply_add(float a, float b, float c) { return a * b + c; }
RPINN_INLINE float short_tanh(float x) { return copysignf(2.0f / (1.0f + expf(-2.0f * fabsf(x))) - 1.0f, x); }
RPINN_INLINE float short_root(float x) { return sqrtf(x); }
RPINN_INLINE float short_inverse(float x) { return 1.0f / x; }
#endif

/* FIRST: 0, 1 or 2 first derivatives; SECOND: 0 or 1. */
template <int FIRST, int SECOND> struct FusedJet {
  enum { CHANNELS = 1 + FIRST + SECOND };
  float hessian[3];

  /* dQ/dz_i of Q = 1/2 sum_ij H_ij z_i z_j */
  RPINN_INLINE_METHOD void slopes(const float *z, float *slope) const {
    if (FIRST == 1) slope[0] = hessian[0] * z[1];
    if (FIRST == 2) {
      slope[0] = multiply_add(hessian[0], z[1], hessian[1] * z[FIRST]);
      slope[FIRST - 1] = multiply_add(hessian[1], z[1], hessian[2] * z[FIRST]);
    }
  }
  RPINN_INLINE_METHOD float quadratic(const float *z, const float *slope) const {
    float sum = slope[0] * z[1];
    if (FIRST == 2) sum = multiply_add(slope[FIRST - 1], z[FIRST], sum);
    return 0.5f * sum;
  }

  RPINN_INLINE_METHOD void forward(const float *z, float *a) const {
    float first = multiply_add(-z[0], z[0], 1.0f);
    a[0] = z[0];
    RPINN_UNROLL
    for (int i = 1; i <= FIRST; i++) a[i] = first * z[i];
    if constexpr (SECOND > 0) {
      float slope[FIRST], second = -2.0f * z[0] * first;
      slopes(z, slope);
      a[FIRST + 1] = multiply_add(first, z[FIRST + 1], second * quadratic(z, slope));
    }
  }

  /* bars: abar becomes zbar. */
  RPINN_INLINE_METHOD void reverse(const float *z, float *bar) const {
    float first = multiply_add(-z[0], z[0], 1.0f), second = -2.0f * z[0] * first, value = first * bar[0];
    RPINN_UNROLL
    for (int i = 1; i <= FIRST; i++) {
      value = multiply_add(second * z[i], bar[i], value);
      bar[i] *= first;
    }
    if constexpr (SECOND > 0) {
      float slope[FIRST], last = bar[FIRST + 1], third = first * multiply_add(6.0f * z[0], z[0], -2.0f);
      slopes(z, slope);
      value = multiply_add(last, multiply_add(second, z[FIRST + 1], third * quadratic(z, slope)), value);
      RPINN_UNROLL
      for (int i = 1; i <= FIRST; i++) bar[i] = multiply_add(last * second, slope[i - 1], bar[i]);
      bar[FIRST + 1] = first * last;
    }
    bar[0] = value;
  }
};

#endif
