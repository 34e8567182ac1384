/* Activations and their first three derivatives, as in src/network/activation.c.
 *
 * What a layer keeps of a value channel for the way back is tanh z where the activation is tanh, whose derivatives follow from
 * it, and z otherwise. */
#ifndef RPINN_BACKEND_CUDA_ACTIVATION_SLOPES_CUH
#define RPINN_BACKEND_CUDA_ACTIVATION_SLOPES_CUH

#include "activation.h"
#include "team.cuh"

RPINN_INLINE float exponential(float x) { return expf(x); }
RPINN_INLINE double exponential(double x) { return exp(x); }
RPINN_INLINE float root_of(float x) { return sqrtf(x); }
RPINN_INLINE double root_of(double x) { return sqrt(x); }
RPINN_INLINE float hyperbolic_tangent(float x) { return tanhf(x); }
RPINN_INLINE double hyperbolic_tangent(double x) { return tanh(x); }
RPINN_INLINE float sine(float x) { return sinf(x); }
RPINN_INLINE double sine(double x) { return sin(x); }
RPINN_INLINE float cosine(float x) { return cosf(x); }
RPINN_INLINE double cosine(double x) { return cos(x); }
RPINN_INLINE float logarithm_of_one_plus(float x) { return log1pf(x); }
RPINN_INLINE double logarithm_of_one_plus(double x) { return log1p(x); }
RPINN_INLINE float magnitude(float x) { return fabsf(x); }
RPINN_INLINE double magnitude(double x) { return fabs(x); }

template <class Real> struct Slopes {
  Real value, first, second, third;
};

/* a = tanh z:  a' = 1 - a^2,  a'' = -2 a a',  a''' = a' (6 a^2 - 2) */
template <class Real> RPINN_INLINE Slopes<Real> tanh_slopes(Real a) {
  Slopes<Real> s;
  s.value = a;
  s.first = 1 - a * a;
  s.second = -2 * a * s.first;
  s.third = s.first * (6 * a * a - 2);
  return s;
}

/* s = 1/(1+e^-z), s' = s (1-s), s'' = s' (1-2s), s''' = s' (1 - 6 s') */
template <class Real> RPINN_INLINE Slopes<Real> sigmoid_slopes(Real z) {
  Real e = exponential(-magnitude(z)), larger = 1 / (1 + e);
  Slopes<Real> s;
  s.value = z >= 0 ? larger : e * larger;
  s.first = e * larger * larger;
  s.second = s.first * (1 - 2 * s.value);
  s.third = s.first * (1 - 6 * s.first);
  return s;
}

template <class Real> RPINN_INLINE Slopes<Real> other_slopes(int activation, Real z) {
  Slopes<Real> s;
  if (activation == RPINN_ACTIVATION_SINE) {
    s.value = sine(z);
    s.first = cosine(z);
    s.second = -s.value;
    s.third = -s.first;
    return s;
  }
  Slopes<Real> sigmoid = sigmoid_slopes(z);
  if (activation == RPINN_ACTIVATION_SOFTPLUS) {
    s.value = (z > 0 ? z : Real(0)) + logarithm_of_one_plus(exponential(-magnitude(z)));
    s.first = sigmoid.value;
    s.second = sigmoid.first;
    s.third = sigmoid.second;
  } else { /* swish: a = z s, a^(k) = z s^(k) + k s^(k-1) */
    s.value = z * sigmoid.value;
    s.first = z * sigmoid.first + sigmoid.value;
    s.second = z * sigmoid.second + 2 * sigmoid.first;
    s.third = z * sigmoid.third + 3 * sigmoid.second;
  }
  return s;
}

/* What is kept of z; and the slopes from what is kept. */
template <class Real> RPINN_INLINE Real kept_of(int activation, Real z) {
  return activation == RPINN_ACTIVATION_TANH ? hyperbolic_tangent(z) : z;
}
template <class Real> RPINN_INLINE Slopes<Real> kept_slopes(int activation, Real kept) {
  return activation == RPINN_ACTIVATION_TANH ? tanh_slopes(kept) : other_slopes(activation, kept);
}

#endif
