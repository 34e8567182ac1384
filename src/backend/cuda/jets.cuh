/* The channels of four points through the activation of one unit, and back; formulas as in src/backend/plain/plain_jet.c.
 *
 *   a_0 = s(z_0)      a_i = s' z_i      a_L = s' z_L + s'' Q,   Q = 1/2 sum_ij H_ij z_i z_j
 *
 *   zbar_L = s' abar_L
 *   zbar_i = s' abar_i + sum_L abar_L s'' sum_j H_ij z_j
 *   zbar_0 = s' abar_0 + sum_i s'' z_i abar_i + sum_L abar_L (s'' z_L + s''' Q)
 *
 * FIRST and SECOND count the first derivatives and the operators of second order; FIRST = -1 stands for any. */
#ifndef RPINN_BACKEND_CUDA_JETS_CUH
#define RPINN_BACKEND_CUDA_JETS_CUH

#include "activation_slopes.cuh"
#include "device_tables.h"

template <class Real, int FIRST, int SECOND> struct JetShape {
  enum {
    FIRSTS = FIRST < 0 ? RPINN_DEVICE_MAX_FIRST : FIRST,
    SECONDS = FIRST < 0 ? RPINN_DEVICE_MAX_CHANNELS - 1 : SECOND,
    CHANNELS = FIRST < 0 ? RPINN_DEVICE_MAX_CHANNELS : 1 + FIRST + SECOND,
    UNROLL = FIRST < 0 ? 1 : 16 /* of loops over channels */
  };
  const RpinnDeviceShape *table;
  const double *numbers; /* of the Hessians, for any shape */
  Real own[FIRST < 0 ? 1 : (SECONDS + 1) * FIRSTS * FIRSTS + 1]; /* one more than there are: none is no size */
  int inputs[FIRST < 0 ? 1 : FIRSTS + 1];

  RPINN_INLINE_METHOD int num_first() const { return FIRST < 0 ? table->num_first : FIRST; }
  RPINN_INLINE_METHOD int num_second() const { return FIRST < 0 ? table->num_second : SECOND; }
  RPINN_INLINE_METHOD int num_channels() const { return 1 + num_first() + num_second(); }
  RPINN_INLINE_METHOD int input_of_first(int i) const {
    if constexpr (FIRST < 0)
      return table->input_of_first[i];
    else
      return inputs[i];
  }
  RPINN_INLINE_METHOD Real hessian(int k, int i, int j) const {
    if constexpr (FIRST < 0)
      return (Real)numbers[(k * table->num_first + i) * table->num_first + j];
    else
      return own[(k * FIRSTS + i) * FIRSTS + j];
  }
};

template <class Real, int FIRST, int SECOND>
RPINN_INLINE JetShape<Real, FIRST, SECOND> make_shape(const RpinnDeviceShape *table, const double *numbers) {
  JetShape<Real, FIRST, SECOND> shape;
  shape.table = table;
  shape.numbers = numbers + table->hessians;
  RPINN_UNROLL
  for (int i = 0; FIRST >= 0 && i < SECOND * FIRST * FIRST; i++) shape.own[i] = (Real)table->own[i];
  RPINN_UNROLL
  for (int i = 0; FIRST >= 0 && i < FIRST; i++) shape.inputs[i] = table->input_of_first[i];
  return shape;
}

/* Q of operator k at point q, and dQ/dz_i. */
template <class Shape, class Real>
RPINN_INLINE Real quadratic_slope(const Shape &shape, const Four<Real> *z, int k, int i, int q) {
  Real sum = 0;
  RPINN_UNROLL_SHAPE
  for (int j = 0; j < shape.num_first(); j++) sum += shape.hessian(k, i, j) * z[1 + j].at[q];
  return sum;
}
template <class Shape, class Real>
RPINN_INLINE Real quadratic(const Shape &shape, const Four<Real> *z, int k, int q) {
  Real sum = 0;
  RPINN_UNROLL_SHAPE
  for (int i = 0; i < shape.num_first(); i++) sum += z[1 + i].at[q] * quadratic_slope(shape, z, k, i, q);
  return Real(0.5) * sum;
}

/* z[0] is what is kept of the value. */
template <class Shape, class Real>
RPINN_INLINE void jet_forward(const Shape &shape, int activation, const Four<Real> *z, Four<Real> *a) {
  RPINN_UNROLL
  for (int q = 0; q < 4; q++) {
    Slopes<Real> s = kept_slopes(activation, z[0].at[q]);
    a[0].at[q] = s.value;
    RPINN_UNROLL_SHAPE
    for (int i = 0; i < shape.num_first(); i++) a[1 + i].at[q] = s.first * z[1 + i].at[q];
    RPINN_UNROLL_SHAPE
    for (int k = 0; k < shape.num_second(); k++) {
      int c = 1 + shape.num_first() + k;
      a[c].at[q] = s.first * z[c].at[q] + s.second * quadratic(shape, z, k, q);
    }
  }
}

/* bars: abar becomes zbar. */
template <class Shape, class Real>
RPINN_INLINE void jet_reverse(const Shape &shape, int activation, const Four<Real> *z, Four<Real> *bars) {
  RPINN_UNROLL
  for (int q = 0; q < 4; q++) {
    Slopes<Real> s = kept_slopes(activation, z[0].at[q]);
    Real value = s.first * bars[0].at[q];
    RPINN_UNROLL_SHAPE
    for (int i = 0; i < shape.num_first(); i++) {
      value += s.second * z[1 + i].at[q] * bars[1 + i].at[q];
      bars[1 + i].at[q] *= s.first;
    }
    RPINN_UNROLL_SHAPE
    for (int k = 0; k < shape.num_second(); k++) {
      int c = 1 + shape.num_first() + k;
      Real bar = bars[c].at[q];
      value += bar * (s.second * z[c].at[q] + s.third * quadratic(shape, z, k, q));
      RPINN_UNROLL_SHAPE
      for (int i = 0; i < shape.num_first(); i++)
        bars[1 + i].at[q] += bar * s.second * quadratic_slope(shape, z, k, i, q);
      bars[c].at[q] = s.first * bar;
    }
    bars[0].at[q] = value;
  }
}

/* CALL(FIRST, SECOND) for the shapes that are compiled by themselves, which are all that a fast kernel meets; else for any. */
#define RPINN_WITH_SHAPE(table, CALL)                                                                                      \
  if (!FAST) {                                                                                                             \
    CALL(-1, 0);                                                                                                           \
  } else {                                                                                                                 \
    switch ((table).num_first * 16 + (table).num_second) {                                                                 \
    case 0: CALL(0, 0); break;                                                                                             \
    case 16: CALL(1, 0); break;                                                                                            \
    case 17: CALL(1, 1); break;                                                                                            \
    case 32: CALL(2, 0); break;                                                                                            \
    case 33: CALL(2, 1); break;                                                                                            \
    }                                                                                                                      \
  }

#endif
