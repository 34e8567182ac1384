/* Activation functions and their derivatives, one vector at a time, without branches.
 *
 *   s(z)       s', s'', s'''
 *   tanh       1 - a^2,  -2 a s',  s' (4 - 6 s')                                       a = s(z)
 *   sine       k,  -a,  -k                                                            k = cos z
 *   softplus   k,  k (1 - k),  s'' (1 - 2 k)                                          k = 1 / (1 + e^-z)
 *   swish      k + a (1 - k),  q (2 + z - 2 a),  q (1 - 2 k)(2 + z - 2 a) + q (1 - 2 s'),   q = k (1 - k)
 *
 * A forward pass computes a and k; k is kept, and both passes take the derivatives from z, a and k, so that
 * they agree to the last bit and the reverse pass needs no exponential.
 *
 * All rest on 1 - e^y for y <= 0, which is accurate for small and for large |y|:
 *   tanh |x| = (1 - e) / (1 + e), e = e^(-2|x|);   1 / (1 + e^-x) = (x < 0 ? e : 1) / (1 + e), e = e^-|x|;
 *   log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|.
 * Errors, over the whole line unless said otherwise (ulp of the exact result;
 * tests/test_activation_kernels.c): see the bounds there. NaN stays NaN. e^-|x| below the normal numbers
 * counts as zero. */
#ifndef RPINN_BACKEND_CPU_ACTIVATION_H
#define RPINN_BACKEND_CPU_ACTIVATION_H

#include "activation_coefficients.h"
#include "activation_kind.h"
#include "vector.h"

#define RPINN_POLYNOMIAL(coefficients, x)                                                                    \
  vector_polynomial(coefficients, sizeof(coefficients) / sizeof((coefficients)[0]), x)

/* c_0 + c_1 x + c_2 x^2 + … by Horner's rule. */
RPINN_INLINE RealVector vector_polynomial(const Real *coefficients, size_t count, RealVector x) {
  RealVector sum = vector_fill(coefficients[count - 1]);
  for (size_t k = count - 1; k-- > 0;) sum = vector_fma(sum, x, vector_fill(coefficients[k]));
  return sum;
}

typedef struct ExponentialPair {
  RealVector power;      /* e^y */
  RealVector complement; /* 1 - e^y */
} ExponentialPair;

/* y = n ln 2 + r:  e^y = 2^n (1 + p), 1 - e^y = (1 - 2^n) - 2^n p,  p = e^r - 1 = r + r^2 (1/2 + r/6 + …)
 * for -RPINN_EXPONENTIAL_LIMIT <= y <= 0. */
RPINN_INLINE ExponentialPair exponential_pair(RealVector y) {
  const RealVector shift = vector_fill(RPINN_ROUNDING_SHIFT), one = vector_fill(1);
  RealVector shifted = vector_fma(y, vector_fill(RPINN_INVERSE_LN2), shift);
  RealVector n = shifted - shift;
  RealVector r = vector_fma(n, vector_fill(-RPINN_LN2_HIGH), y);
  r = vector_fma(n, vector_fill(-RPINN_LN2_LOW), r);
  RealVector p = vector_fma(r * r, RPINN_POLYNOMIAL(rpinn_exponential_coefficients, r), r);
  BitsVector exponent = (BitsVector)shifted + bits_fill(RPINN_REAL_EXPONENT_BIAS);
  RealVector scale = (RealVector)(exponent << RPINN_REAL_FRACTION_BITS);
  return (ExponentialPair){.power = vector_fma(scale, p, scale),
                           .complement = vector_fma(-scale, p, one - scale)};
}

RPINN_INLINE RealVector vector_tanh(RealVector x) {
  const RealVector lowest = vector_fill(-2 * RPINN_TANH_LIMIT);
  ExponentialPair e = exponential_pair(vector_maximum(lowest, vector_fill(-2) * vector_magnitude(x)));
  RealVector magnitude = e.complement / (e.power + vector_fill(1));
  return (RealVector)((BitsVector)magnitude | vector_sign(x));
}

/* e^-|x|, zero where |x| > RPINN_EXPONENTIAL_LIMIT. */
RPINN_INLINE RealVector vector_decay(RealVector x) {
  const RealVector lowest = vector_fill(-RPINN_EXPONENTIAL_LIMIT);
  RealVector y = -vector_magnitude(x);
  RealVector power = exponential_pair(vector_maximum(lowest, y)).power;
  return vector_select_less(y, lowest, vector_fill(0), power);
}

/* 1 / (1 + e^-x) from decay = e^-|x| */
RPINN_INLINE RealVector vector_logistic(RealVector x, RealVector decay) {
  const RealVector one = vector_fill(1);
  return vector_select_less(x, vector_fill(0), decay, one) / (one + decay);
}

/* log(1 + e) = 2 atanh(u) = 2 u (1 + u^2/3 + u^4/5 + …), u = e / (2 + e), for 0 <= e <= 1. */
RPINN_INLINE RealVector vector_logarithm_of_one_plus(RealVector e) {
  RealVector u = e / (e + vector_fill(2));
  RealVector square = u * u, twice = u + u;
  return vector_fma(twice * square, RPINN_POLYNOMIAL(rpinn_logarithm_coefficients, square), twice);
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
  RealVector square = r * r;
  RealVector sine = vector_fma(r * square, RPINN_POLYNOMIAL(rpinn_sine_coefficients, square), r);
  RealVector cosine = vector_fma(square, vector_fill(-RPINN_REAL(0.5)), vector_fill(1));
  cosine = vector_fma(square * square, RPINN_POLYNOMIAL(rpinn_cosine_coefficients, square), cosine);
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

typedef struct ActivationSlopes {
  RealVector first, second, third;
} ActivationSlopes;

RPINN_INLINE ActivationSlopes activation_slopes_tanh(RealVector a) {
  RealVector first = vector_fma(-a, a, vector_fill(1));
  return (ActivationSlopes){first, vector_fill(-2) * a * first,
                            first * vector_fma(first, vector_fill(-6), vector_fill(4))};
}

RPINN_INLINE ActivationSlopes activation_slopes_softplus(RealVector k) {
  RealVector second = vector_fma(-k, k, k);
  return (ActivationSlopes){k, second, second * vector_fma(k, vector_fill(-2), vector_fill(1))};
}

RPINN_INLINE ActivationSlopes activation_slopes_swish(RealVector z, RealVector a, RealVector k) {
  const RealVector one = vector_fill(1), two = vector_fill(2), minus_two = vector_fill(-2);
  RealVector first = vector_fma(a, one - k, k);
  RealVector q = vector_fma(-k, k, k);
  RealVector bracket = vector_fma(minus_two, a, two + z);
  RealVector turn = vector_fma(minus_two, first, one);
  return (ActivationSlopes){first, q * bracket, q * vector_fma(vector_fma(k, minus_two, one), bracket, turn)};
}

RPINN_INLINE ActivationSlopes activation_slopes(RpinnActivation activation, RealVector z, RealVector a,
                                                RealVector k) {
  if (activation == RPINN_ACTIVATION_TANH) return activation_slopes_tanh(a);
  if (activation == RPINN_ACTIVATION_SINE) return (ActivationSlopes){k, -a, -k};
  if (activation == RPINN_ACTIVATION_SOFTPLUS) return activation_slopes_softplus(k);
  return activation_slopes_swish(z, a, k);
}

#endif
