/* One register of Reals, as wide as the instruction set allows. Sums, products and quotients are written with
 * the operators of C (GCC's and clang's vector types); what has no operator is a function below. Every
 * function gives each lane the same correctly rounded result on every instruction set, so a kernel written
 * with them has the same bits everywhere, under either compiler. */
#ifndef RPINN_BACKEND_CPU_VECTOR_H
#define RPINN_BACKEND_CPU_VECTOR_H

#include <stddef.h>
#include <string.h>

#include "real.h"

#if defined(RPINN_ISA_IS_AVX512)
enum { RPINN_VECTOR_BYTES = 64 };
#define RPINN_INTRINSIC_PREFIX _mm512_
#elif defined(RPINN_ISA_IS_AVX2)
enum { RPINN_VECTOR_BYTES = 32 };
#define RPINN_INTRINSIC_PREFIX _mm256_
#else
enum { RPINN_VECTOR_BYTES = 16 };
#define RPINN_ISA_HAS_NO_INTRINSICS
#endif

#ifndef RPINN_ISA_HAS_NO_INTRINSICS
#include <immintrin.h>
#ifdef RPINN_REAL_FLOAT
#define RPINN_INTRINSIC(operation)      RPINN_JOIN3(RPINN_INTRINSIC_PREFIX, operation, _ps)
#define RPINN_INTRINSIC_MASK(operation) RPINN_JOIN3(RPINN_INTRINSIC_PREFIX, operation, _ps_mask)
typedef __mmask16 LaneMask;
#else
#define RPINN_INTRINSIC(operation)      RPINN_JOIN3(RPINN_INTRINSIC_PREFIX, operation, _pd)
#define RPINN_INTRINSIC_MASK(operation) RPINN_JOIN3(RPINN_INTRINSIC_PREFIX, operation, _pd_mask)
typedef __mmask8 LaneMask;
#endif
#endif

typedef Real RealVector __attribute__((vector_size(RPINN_VECTOR_BYTES)));
typedef RealBits BitsVector __attribute__((vector_size(RPINN_VECTOR_BYTES)));

enum { RPINN_VECTOR_LANES = RPINN_VECTOR_BYTES / (int)sizeof(Real) };

/* Kernels are written once for all shapes and specialised by inlining with constant arguments. */
#define RPINN_INLINE static inline __attribute__((always_inline))

RPINN_INLINE RealVector vector_fill(Real value) {
  return value - (RealVector){0}; /* minus: a sum would lose the sign of -0 */
}

RPINN_INLINE RealVector vector_load(const Real *source) {
  RealVector result;
  memcpy(&result, source, sizeof result);
  return result;
}

/* A value that is used more than once, loaded once: a compiler may read memory for each use. */
RPINN_INLINE RealVector vector_once(RealVector value) {
#if defined(RPINN_ISA_IS_AVX512)
  __asm__("" : "+v"(value));
#elif defined(RPINN_ISA_IS_AVX2)
  __asm__("" : "+x"(value));
#endif
  return value;
}

RPINN_INLINE void vector_store(Real *target, RealVector value) {
  memcpy(target, &value, sizeof value);
}

RPINN_INLINE BitsVector bits_load(const RealBits *source) {
  BitsVector result;
  memcpy(&result, source, sizeof result);
  return result;
}

RPINN_INLINE BitsVector bits_fill(RealBits value) {
  return (BitsVector){0} + value;
}

/* where ? yes : no, lane by lane; each lane of where is all ones or all zeros. */
RPINN_INLINE RealVector bits_select(BitsVector where, RealVector yes, RealVector no) {
  return (RealVector)((where & (BitsVector)yes) | (~where & (BitsVector)no));
}

RPINN_INLINE BitsVector vector_sign(RealVector a) {
  return (BitsVector)a & (BitsVector)vector_fill(-RPINN_REAL(0.0));
}

/* -|a| */
RPINN_INLINE RealVector vector_minus_magnitude(RealVector a) {
  return (RealVector)((BitsVector)a | (BitsVector)vector_fill(-RPINN_REAL(0.0)));
}

/* ---- across lanes ---- */

#ifdef __clang__
#define RPINN_SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define RPINN_SHUFFLE(x, y, ...) __builtin_shuffle(x, y, (BitsVector){__VA_ARGS__})
#endif

typedef struct VectorPair {
  RealVector even, odd;
} VectorPair;

/* Two vectors as blocks of `size` lanes, x0 x1 x2 … and y0 y1 y2 …, to x0 y0 x2 y2 … and x1 y1 x3 y3 …: the step from
 * which transposed squares and sums of many vectors are made. size: a power of two below the number of lanes, constant. */
RPINN_INLINE VectorPair vector_exchange(RealVector x, RealVector y, size_t size) {
#if defined(RPINN_ISA_IS_AVX512) && defined(RPINN_REAL_FLOAT)
  if (size == 8)
    return (VectorPair){RPINN_SHUFFLE(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
                        RPINN_SHUFFLE(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)};
  if (size == 4)
    return (VectorPair){RPINN_SHUFFLE(x, y, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
                        RPINN_SHUFFLE(x, y, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31)};
  if (size == 2)
    return (VectorPair){RPINN_SHUFFLE(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
                        RPINN_SHUFFLE(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)};
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
                      RPINN_SHUFFLE(x, y, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)};
#elif defined(RPINN_ISA_IS_AVX512) || (defined(RPINN_ISA_IS_AVX2) && defined(RPINN_REAL_FLOAT))
  if (size == 4)
    return (VectorPair){RPINN_SHUFFLE(x, y, 0, 1, 2, 3, 8, 9, 10, 11),
                        RPINN_SHUFFLE(x, y, 4, 5, 6, 7, 12, 13, 14, 15)};
  if (size == 2)
    return (VectorPair){RPINN_SHUFFLE(x, y, 0, 1, 8, 9, 4, 5, 12, 13),
                        RPINN_SHUFFLE(x, y, 2, 3, 10, 11, 6, 7, 14, 15)};
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 8, 2, 10, 4, 12, 6, 14),
                      RPINN_SHUFFLE(x, y, 1, 9, 3, 11, 5, 13, 7, 15)};
#elif defined(RPINN_ISA_IS_AVX2) || defined(RPINN_REAL_FLOAT)
  if (size == 2) return (VectorPair){RPINN_SHUFFLE(x, y, 0, 1, 4, 5), RPINN_SHUFFLE(x, y, 2, 3, 6, 7)};
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 4, 2, 6), RPINN_SHUFFLE(x, y, 1, 5, 3, 7)};
#else
  (void)size;
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 2), RPINN_SHUFFLE(x, y, 1, 3)};
#endif
}

/* The lanes of x and then of y, taken in turns: x0 x2 … y0 y2 … and x1 x3 … y1 y3 … */
RPINN_INLINE VectorPair vector_unzip(RealVector x, RealVector y) {
#if defined(RPINN_ISA_IS_AVX512) && defined(RPINN_REAL_FLOAT)
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                      RPINN_SHUFFLE(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
#elif defined(RPINN_ISA_IS_AVX512) || (defined(RPINN_ISA_IS_AVX2) && defined(RPINN_REAL_FLOAT))
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 2, 4, 6, 8, 10, 12, 14),
                      RPINN_SHUFFLE(x, y, 1, 3, 5, 7, 9, 11, 13, 15)};
#elif defined(RPINN_ISA_IS_AVX2) || defined(RPINN_REAL_FLOAT)
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 2, 4, 6), RPINN_SHUFFLE(x, y, 1, 3, 5, 7)};
#else
  return (VectorPair){RPINN_SHUFFLE(x, y, 0, 2), RPINN_SHUFFLE(x, y, 1, 3)};
#endif
}

/* The first count numbers of x, again and again. count: a power of two up to the number of lanes, constant. */
RPINN_INLINE RealVector vector_repeat(const Real *x, size_t count) {
  if (count == RPINN_VECTOR_LANES) return vector_load(x);
#if defined(RPINN_ISA_IS_AVX512) && defined(RPINN_REAL_FLOAT)
  double two; /* numbers */
  if (count == 8) return _mm512_broadcast_f32x8(_mm256_loadu_ps(x));
  if (count == 4) return _mm512_broadcast_f32x4(_mm_loadu_ps(x));
  memcpy(&two, x, sizeof two);
  return (RealVector)_mm512_set1_pd(two);
#elif defined(RPINN_ISA_IS_AVX512)
  return count == 4 ? _mm512_broadcast_f64x4(_mm256_loadu_pd(x)) : _mm512_broadcast_f64x2(_mm_loadu_pd(x));
#elif defined(RPINN_ISA_IS_AVX2) && defined(RPINN_REAL_FLOAT)
  double two; /* numbers */
  if (count == 4) return _mm256_broadcast_ps((const __m128 *)x);
  memcpy(&two, x, sizeof two);
  return (RealVector)_mm256_set1_pd(two);
#elif defined(RPINN_ISA_IS_AVX2)
  return _mm256_broadcast_pd((const __m128d *)x);
#else
  RealVector result;
  for (size_t lane = 0; lane < RPINN_VECTOR_LANES; lane++) result[lane] = x[lane % count];
  return result;
#endif
}

/* ---- sums over groups of lanes ---- */

enum { RPINN_GROUP_VECTORS = RPINN_REAL_GROUP / RPINN_VECTOR_LANES };

#ifdef RPINN_ISA_HAS_NO_INTRINSICS

/* The sum over a group of lanes: the upper half of the group is added to the lower, and so on. */
RPINN_INLINE Real vector_group_sum(const RealVector sums[RPINN_GROUP_VECTORS]) {
  Real lanes[RPINN_REAL_GROUP];
  memcpy(lanes, sums, sizeof lanes);
  for (size_t half = RPINN_REAL_GROUP / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/* a b + c, rounded once. Calls of the C library where the baseline has no such instruction, hence not
 * inlined. */
static __attribute__((noinline, unused)) RealVector vector_fma(RealVector a, RealVector b, RealVector c) {
  RealVector result;
  for (int lane = 0; lane < RPINN_VECTOR_LANES; lane++)
    result[lane] = RPINN_REAL(__builtin_fma)(a[lane], b[lane], c[lane]);
  return result;
}

RPINN_INLINE RealVector vector_root(RealVector a) {
  RealVector result;
  for (int lane = 0; lane < RPINN_VECTOR_LANES; lane++) result[lane] = RPINN_REAL(__builtin_sqrt)(a[lane]);
  return result;
}

/* a < b ? yes : no */
RPINN_INLINE RealVector vector_select_less(RealVector a, RealVector b, RealVector yes, RealVector no) {
  return bits_select((BitsVector)(a < b), yes, no);
}

/* a > b ? a : b, hence b where either is NaN. */
RPINN_INLINE RealVector vector_maximum(RealVector a, RealVector b) {
  return bits_select((BitsVector)(a > b), a, b);
}

/* source[index] lane by lane, 0 <= index < RPINN_VECTOR_LANES */
RPINN_INLINE RealVector vector_pick(const Real *source, BitsVector index) {
  RealVector result;
  for (int lane = 0; lane < RPINN_VECTOR_LANES; lane++) result[lane] = source[index[lane]];
  return result;
}

/* The first count lanes, the others zero. */
RPINN_INLINE RealVector vector_load_part(const Real *source, size_t count) {
  RealVector result = {0};
  memcpy(&result, source, count * sizeof(Real));
  return result;
}

RPINN_INLINE void vector_store_part(Real *target, RealVector value, size_t count) {
  memcpy(target, &value, count * sizeof(Real));
}

#else

#ifdef RPINN_REAL_FLOAT
RPINN_INLINE float half_group_sum(__m256 sum) {
  __m128 quarter = _mm256_castps256_ps128(sum) + _mm256_extractf128_ps(sum, 1);
  quarter += _mm_movehl_ps(quarter, quarter);
  return quarter[0] + quarter[1];
}
#else
RPINN_INLINE double half_group_sum(__m256d sum) {
  __m128d quarter = _mm256_castpd256_pd128(sum) + _mm256_extractf128_pd(sum, 1);
  return quarter[0] + quarter[1];
}
#endif

RPINN_INLINE RealVector vector_fma(RealVector a, RealVector b, RealVector c) {
  return RPINN_INTRINSIC(fmadd)(a, b, c);
}

RPINN_INLINE RealVector vector_root(RealVector a) {
  return RPINN_INTRINSIC(sqrt)(a);
}

RPINN_INLINE RealVector vector_maximum(RealVector a, RealVector b) {
  return RPINN_INTRINSIC(max)(a, b);
}

#ifdef RPINN_ISA_IS_AVX512

RPINN_INLINE Real vector_group_sum(const RealVector sums[RPINN_GROUP_VECTORS]) {
#ifdef RPINN_REAL_FLOAT
  return half_group_sum(_mm512_castps512_ps256(sums[0]) + _mm512_extractf32x8_ps(sums[0], 1));
#else
  return half_group_sum(_mm512_castpd512_pd256(sums[0]) + _mm512_extractf64x4_pd(sums[0], 1));
#endif
}

RPINN_INLINE RealVector vector_pick(const Real *source, BitsVector index) {
  return RPINN_INTRINSIC(permutexvar)((__m512i)index, vector_load(source));
}

RPINN_INLINE RealVector vector_select_less(RealVector a, RealVector b, RealVector yes, RealVector no) {
  return RPINN_INTRINSIC(mask_blend)(RPINN_INTRINSIC_MASK(cmp)(a, b, _CMP_LT_OQ), no, yes);
}

RPINN_INLINE RealVector vector_load_part(const Real *source, size_t count) {
  return RPINN_INTRINSIC(maskz_loadu)((LaneMask)((1u << count) - 1), source);
}

RPINN_INLINE void vector_store_part(Real *target, RealVector value, size_t count) {
  RPINN_INTRINSIC(mask_storeu)(target, (LaneMask)((1u << count) - 1), value);
}

#else

RPINN_INLINE Real vector_group_sum(const RealVector sums[RPINN_GROUP_VECTORS]) {
  return half_group_sum(sums[0] + sums[1]);
}

RPINN_INLINE RealVector vector_pick(const Real *source, BitsVector index) {
#ifdef RPINN_REAL_DOUBLE
  index += index; /* a double moves as two halves */
  index |= (index + 1) << 32;
#endif
  return (RealVector)_mm256_permutevar8x32_ps((__m256)vector_load(source), (__m256i)index);
}

RPINN_INLINE RealVector vector_select_less(RealVector a, RealVector b, RealVector yes, RealVector no) {
  return RPINN_INTRINSIC(blendv)(no, yes, RPINN_INTRINSIC(cmp)(a, b, _CMP_LT_OQ));
}

RPINN_INLINE __m256i vector_first_lanes(size_t count) {
  static const RealBits ones_then_zeros[2 * RPINN_VECTOR_LANES] = {
      -1, -1, -1, -1,
#ifdef RPINN_REAL_FLOAT
      -1, -1, -1, -1,
#endif
  };
  return _mm256_loadu_si256((const __m256i_u *)(ones_then_zeros + RPINN_VECTOR_LANES - count));
}

RPINN_INLINE RealVector vector_load_part(const Real *source, size_t count) {
  return RPINN_INTRINSIC(maskload)(source, vector_first_lanes(count));
}

RPINN_INLINE void vector_store_part(Real *target, RealVector value, size_t count) {
  RPINN_INTRINSIC(maskstore)(target, vector_first_lanes(count), value);
}

#endif
#endif

/* Loads and stores of count lanes: all of them but in the last vector of an array. */
RPINN_INLINE RealVector vector_load_lanes(const Real *source, size_t count) {
  return count == RPINN_VECTOR_LANES ? vector_load(source) : vector_load_part(source, count);
}

RPINN_INLINE void vector_store_lanes(Real *target, RealVector value, size_t count) {
  if (count == RPINN_VECTOR_LANES)
    vector_store(target, value);
  else
    vector_store_part(target, value, count);
}

#endif
