/* Activation functions and their derivatives s, s', s'', s''' in long double: what the kernels are tested
 * against. */
#ifndef RPINN_TESTS_EXACT_ACTIVATIONS_H
#define RPINN_TESTS_EXACT_ACTIVATIONS_H

#include <math.h>

#include "activation.h"

static inline long double exact_logistic(long double z) {
  return z < 0 ? expl(z) / (1 + expl(z)) : 1 / (1 + expl(-z));
}

static inline void exact_tanh(long double z, long double s[4]) {
  long double decay = expl(-2 * fabsl(z));
  s[0] = tanhl(z);
  s[1] = 4 * decay / ((1 + decay) * (1 + decay));
  s[2] = -2 * s[0] * s[1];
  s[3] = s[1] * (4 - 6 * s[1]);
}

static inline void exact_sine(long double z, long double s[4]) {
  s[0] = sinl(z);
  s[1] = cosl(z);
  s[2] = -s[0];
  s[3] = -s[1];
}

static inline void exact_softplus(long double z, long double s[4]) {
  s[0] = (z > 0 ? z : 0) + log1pl(expl(-fabsl(z)));
  s[1] = exact_logistic(z);
  s[2] = s[1] * exact_logistic(-z);
  s[3] = s[2] * -tanhl(z / 2);
}

static inline void exact_swish(long double z, long double s[4]) {
  long double k = exact_logistic(z), q = k * exact_logistic(-z), slope = -tanhl(z / 2);
  s[0] = z * k;
  s[1] = k + z * q;
  s[2] = q * (2 + z * slope);
  s[3] = q * (slope * (2 + z * slope) + slope - 2 * z * q);
}

typedef void (*ExactFunction)(long double z, long double s[4]);
static const ExactFunction exact_activation[RPINN_NUM_ACTIVATIONS] = {exact_tanh, exact_sine, exact_softplus,
                                                                      exact_swish};

#endif
