/* Activation functions and their derivatives, one vector at a time, without branches.
 *
 *   s(z)       s', s'', s'''
 *   tanh       1 - a^2,  -2 a s',  s' (4 - 6 s')                                       a = s(z)
 *   sine       k,  -a,  -k                                                             k = cos z
 *   softplus   k,  k (1 - k),  s'' (1 - 2 k)                                           k = 1 / (1 + e^-z)
 *   swish      k + a (1 - k),  q b,  q (b (1 - 2 k) + 1 - 2 s'),   q = k (1 - k), b = 2 + z - 2 a
 *
 * A forward pass computes a and k; k is kept, and both passes take the derivatives from z, a and k, so that
 * they agree to the last bit and the reverse pass needs no exponential.
 *
 * All rest on e^y for y <= 0, held as 2^n (1 + p) so that 1 - e^y is accurate for small and for large |y|:
 *   tanh |x| = (1 - e) / (1 + e), e = e^(-2|x|);   1 / (1 + e^-x) = (x < 0 ? e : 1) / (1 + e), e = e^-|x|;
 *   log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|.
 *
 * Errors (tests/test_activation_kernels.c): s within 2.2 ulp for tanh, 1.6 for the sine of |z| <= 10^4, 2.7
 * for softplus, 3.3 for swish; for the last two e^-|z| below the normal numbers counts as zero. Of the
 * derivatives the absolute error is bounded: 9 unit roundoffs for tanh, 3 max(1, |z|) for the others. NaN
 * stays NaN. */
#ifndef RPINN_BACKEND_CPU_ACTIVATION_VECTORS_H
#define RPINN_BACKEND_CPU_ACTIVATION_VECTORS_H

#include "activation.h"
#include "activation_coefficients.h"
#include "vector.h"

#define RPINN_POLYNOMIAL(coefficients, x, square)                                                            \
  vector_polynomial(coefficients, sizeof(coefficients) / sizeof((coefficients)[0]), x, square)

/* c_0 + c_1 x + c_2 x^2 + …: pairs c_k + c_{k+1} x, then Horner's rule in x^2, half as deep as Horner's in x.
 */
RPINN_INLINE RealVector vector_polynomial(const Real *coefficients, size_t count, RealVector x,
                                          RealVector square) {
  size_t k = (count - 1) / 2 * 2;
  RealVector sum = vector_fill(coefficients[k]);
  if (k + 1 < count) sum = vector_fma(vector_fill(coefficients[k + 1]), x, sum);
  while (k > 0) {
    k -= 2;
    RealVector pair = vector_fma(vector_fill(coefficients[k + 1]), x, vector_fill(coefficients[k]));
    sum = vector_fma(sum, square, pair);
  }
  return sum;
}

/* e^y = scale (1 + p) */
typedef struct ScaledPower {
  RealVector scale, p;
} ScaledPower;

/* y = n ln 2 + r:  scale = 2^n,  p = e^r - 1 = r + r^2 (1/2 + r/6 + …)
 * for -RPINN_EXPONENTIAL_LIMIT <= y <= 0. Without the low part of ln 2 the relative error grows by n 2^-29
 * (float), n 2^-55 (double): nothing where e^y is added to 1. */
RPINN_INLINE ScaledPower scaled_power(RealVector y, bool with_low_part) {
  const RealVector shift = vector_fill(RPINN_ROUNDING_SHIFT + RPINN_REAL_EXPONENT_BIAS);
  RealVector shifted =
      vector_fma(y, vector_fill(RPINN_INVERSE_LN2), shift); /* ends in the bits of n + bias */
  RealVector n = shifted - shift;
  RealVector r = vector_fma(n, vector_fill(-RPINN_LN2_HIGH), y);
  if (with_low_part) r = vector_fma(n, vector_fill(-RPINN_LN2_LOW), r);
  RealVector square = r * r;
  return (ScaledPower){
      .scale = (RealVector)((BitsVector)shifted << RPINN_REAL_FRACTION_BITS),
      .p = vector_fma(square, RPINN_POLYNOMIAL(rpinn_exponential_coefficients, r, square), r)};
}

/* tanh |x| = (1 - e) / (1 + e),  e = e^(-2|x|) = scale (1 + p),  1 -+ e = (1 -+ scale) -+ scale p */
RPINN_INLINE RealVector vector_tanh(RealVector x) {
  const RealVector lowest = vector_fill(-2 * RPINN_TANH_LIMIT), one = vector_fill(1);
  RealVector negative = vector_minus_magnitude(x);
  ScaledPower e = scaled_power(vector_maximum(lowest, negative + negative), false);
  RealVector above = vector_fma(-e.scale, e.p, one - e.scale),
             below = vector_fma(e.scale, e.p, one + e.scale);
  return (RealVector)((BitsVector)(above / below) | vector_sign(x));
}

/* e^-|x|, zero where |x| > RPINN_EXPONENTIAL_LIMIT. */
RPINN_INLINE RealVector vector_decay(RealVector x) {
  const RealVector lowest = vector_fill(-RPINN_EXPONENTIAL_LIMIT);
  RealVector y = vector_minus_magnitude(x);
  ScaledPower e = scaled_power(vector_maximum(lowest, y), true);
  return vector_select_less(y, lowest, vector_fill(0), vector_fma(e.scale, e.p, e.scale));
}

/* 1 / (1 + e^-x) from decay = e^-|x| */
RPINN_INLINE RealVector vector_logistic(RealVector x, RealVector decay) {
  const RealVector one = vector_fill(1);
  return vector_select_less(x, vector_fill(0), decay, one) / (one + decay);
}

/* log(1 + e) = 2 atanh(u) = 2 u (1 + u^2/3 + u^4/5 + …), u = e / (2 + e), for 0 <= e <= 1. */
RPINN_INLINE RealVector vector_logarithm_of_one_plus(RealVector e) {
  RealVector u = e / (e + vector_fill(2));
  RealVector square = u * u, fourth = square * square, twice = u + u;
  return vector_fma(twice * square, RPINN_POLYNOMIAL(rpinn_logarithm_coefficients, square, fourth), twice);
}

typedef struct SinePair {
  RealVector sine, cosine;
} SinePair;

/* x = n pi/2 + r:  by n mod 4, sine and cosine are those of r, exchanged and negated as the quadrant says.
 * For |x| <= RPINN_SINE_LIMIT. */
RPINN_INLINE SinePair vector_sine_pair(RealVector x) {
  const RealVector shift = vector_fill(RPINN_ROUNDING_SHIFT);
  RealVector shifted = vector_fma(x, vector_fill(RPINN_INVERSE_HALF_PI), shift);
  RealVector n = shifted - shift;
  RealVector r = vector_fma(n, vector_fill(-RPINN_HALF_PI_HIGH), x);
  r = vector_fma(n, vector_fill(-RPINN_HALF_PI_MIDDLE), r);
  r = vector_fma(n, vector_fill(-RPINN_HALF_PI_LOW), r);
  RealVector square = r * r, fourth = square * square;
  RealVector sine = vector_fma(r * square, RPINN_POLYNOMIAL(rpinn_sine_coefficients, square, fourth), r);
  RealVector cosine = vector_fma(square, vector_fill(-RPINN_REAL(0.5)), vector_fill(1));
  cosine = vector_fma(fourth, RPINN_POLYNOMIAL(rpinn_cosine_coefficients, square, fourth), cosine);
  BitsVector quadrant = (BitsVector)shifted;
  BitsVector odd = -(quadrant & 1);
  BitsVector sine_sign = (quadrant & 2) << (8 * (int)sizeof(Real) - 2);
  BitsVector cosine_sign = ((quadrant + 1) & 2) << (8 * (int)sizeof(Real) - 2);
  return (SinePair){.sine = (RealVector)((BitsVector)bits_select(odd, cosine, sine) ^ sine_sign),
                    .cosine = (RealVector)((BitsVector)bits_select(odd, sine, cosine) ^ cosine_sign)};
}

typedef struct ActivationValue {
  RealVector value; /* a */
  RealVector kept;  /* k; for tanh the same as a */
} ActivationValue;

RPINN_INLINE ActivationValue activation_value(RpinnActivation activation, RealVector z) {
  if (activation == RPINN_ACTIVATION_TANH) {
    RealVector a = vector_tanh(z);
    return (ActivationValue){a, a};
  }
  if (activation == RPINN_ACTIVATION_SINE) {
    SinePair pair = vector_sine_pair(z);
    return (ActivationValue){pair.sine, pair.cosine};
  }
  RealVector decay = vector_decay(z), logistic = vector_logistic(z, decay);
  if (activation == RPINN_ACTIVATION_SOFTPLUS) {
    RealVector rising = vector_maximum(vector_fill(0), z);
    return (ActivationValue){rising + vector_logarithm_of_one_plus(decay), logistic};
  }
  return (ActivationValue){vector_maximum(vector_fill(-RPINN_EXPONENTIAL_LIMIT), z) * logistic, logistic};
}

/* The derivatives in the form that jets use. Those of tanh share the factor s': a jet that has s' x at hand
 * saves products by taking the second and third relative to it. */
typedef struct ActivationSlopes {
  RealVector first;       /* s' */
  RealVector half_second; /* s''/2, for tanh s''/(2 s') */
  RealVector half_third;  /* s'''/2, for tanh s'''/(2 s') */
} ActivationSlopes;

RPINN_INLINE bool activation_is_relative(RpinnActivation activation) {
  return activation == RPINN_ACTIVATION_TANH;
}

RPINN_INLINE ActivationSlopes activation_slopes_tanh(RealVector a) {
  RealVector first = vector_fma(-a, a, vector_fill(1));
  return (ActivationSlopes){first, -a, vector_fma(first, vector_fill(-3), vector_fill(2))};
}

RPINN_INLINE ActivationSlopes activation_slopes_sine(RealVector a, RealVector k) {
  const RealVector minus_half = vector_fill(-RPINN_REAL(0.5));
  return (ActivationSlopes){k, minus_half * a, minus_half * k};
}

RPINN_INLINE ActivationSlopes activation_slopes_softplus(RealVector k) {
  RealVector half_second = vector_fill(RPINN_REAL(0.5)) * vector_fma(-k, k, k);
  return (ActivationSlopes){k, half_second, half_second * vector_fma(k, vector_fill(-2), vector_fill(1))};
}

RPINN_INLINE ActivationSlopes activation_slopes_swish(RealVector z, RealVector a, RealVector k) {
  const RealVector one = vector_fill(1), minus_two = vector_fill(-2);
  RealVector first = vector_fma(a, one - k, k);
  RealVector half_q = vector_fill(RPINN_REAL(0.5)) * vector_fma(-k, k, k);
  RealVector b = vector_fma(minus_two, a, vector_fill(2) + z);
  RealVector turn = vector_fma(minus_two, first, one);
  return (ActivationSlopes){first, half_q * b, half_q * vector_fma(vector_fma(k, minus_two, one), b, turn)};
}

RPINN_INLINE ActivationSlopes activation_slopes(RpinnActivation activation, RealVector z, RealVector a,
                                                RealVector k) {
  if (activation == RPINN_ACTIVATION_TANH) return activation_slopes_tanh(a);
  if (activation == RPINN_ACTIVATION_SINE) return activation_slopes_sine(a, k);
  if (activation == RPINN_ACTIVATION_SOFTPLUS) return activation_slopes_softplus(k);
  return activation_slopes_swish(z, a, k);
}

#endif
