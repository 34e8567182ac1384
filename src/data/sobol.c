/* Point n of the sequence, in each dimension, with g = n xor (n >> 1) the Gray code of n:
 *
 *   x_n = g_1 v_1 xor g_2 v_2 xor …           g_1 the lowest bit of g, v_k fractions of 32 bits
 *   v_k = a_1 v_{k-1} xor … xor a_{s-1} v_{k-s+1} xor v_{k-s} xor (v_{k-s} >> s)      for k > s
 *   v_k = m_k / 2^k                                                                   for k <= s
 *
 * x^s + a_1 x^{s-1} + … + a_{s-1} x + 1 is a primitive polynomial over the field of two elements; the first
 * dimension has v_k = 1 / 2^k. Polynomials and m are the first of Joe and Kuo (2008). The Gray code orders
 * the points as in their program and in most libraries; every block of 2^m points is the same set in either
 * order. */
#include "sobol.h"

enum { NUM_BITS = 32, MAX_DEGREE = 3 };

typedef struct Polynomial {
  unsigned degree;              /* s */
  unsigned coefficients;        /* the bits a_1 … a_{s-1}, a_{s-1} the lowest */
  uint32_t initial[MAX_DEGREE]; /* m_1 … m_s */
} Polynomial;

static const Polynomial polynomials[RPINN_SOBOL_MAX_DIMENSIONS - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
};

/* direction[k - 1] = v_k */
static void make_directions(size_t dimension, uint32_t direction[NUM_BITS]) {
  if (dimension == 0) {
    for (unsigned k = 0; k < NUM_BITS; k++) direction[k] = UINT32_C(1) << (NUM_BITS - 1 - k);
    return;
  }
  const Polynomial *polynomial = &polynomials[dimension - 1];
  unsigned degree = polynomial->degree;
  for (unsigned k = 0; k < degree; k++) direction[k] = polynomial->initial[k] << (NUM_BITS - 1 - k);
  for (unsigned k = degree; k < NUM_BITS; k++) {
    direction[k] = direction[k - degree] ^ (direction[k - degree] >> degree);
    for (unsigned j = 1; j < degree; j++)
      if (polynomial->coefficients >> (degree - 1 - j) & 1) direction[k] ^= direction[k - j];
  }
}

void rpinn_sobol_point(uint32_t index, size_t num_dimensions, double *point) {
  uint32_t number = index + 1;
  uint32_t gray = number ^ (number >> 1);
  for (size_t dimension = 0; dimension < num_dimensions; dimension++) {
    uint32_t direction[NUM_BITS], bits = 0;
    make_directions(dimension, direction);
    for (unsigned k = 0; k < NUM_BITS; k++)
      if (gray >> k & 1) bits ^= direction[k];
    point[dimension] = bits * 0x1p-32;
  }
}
