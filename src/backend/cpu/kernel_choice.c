/* Which of the compiled kernels a machine gets, and tiles; one precision. */
#include "matrix_products.h"
#include "pointwise.h"

#define TABLES(isa)                                                                                          \
  extern const RpinnPointwise RPINN_REAL_NAME(rpinn_pointwise_##isa);                                        \
  extern const RpinnMatrixProducts RPINN_REAL_NAME(rpinn_matrix_products_##isa);
TABLES(portable)
#ifdef RPINN_HAVE_X86_KERNELS
TABLES(avx2)
TABLES(avx512)
#endif

const RpinnPointwise *RPINN_REAL_NAME(rpinn_pointwise)(RpinnIsa isa) {
  if (!rpinn_isa_is_available(isa)) return NULL;
#ifdef RPINN_HAVE_X86_KERNELS
  if (isa == RPINN_ISA_AVX2) return &RPINN_REAL_NAME(rpinn_pointwise_avx2);
  if (isa == RPINN_ISA_AVX512) return &RPINN_REAL_NAME(rpinn_pointwise_avx512);
#endif
  return &RPINN_REAL_NAME(rpinn_pointwise_portable);
}

const RpinnMatrixProducts *RPINN_REAL_NAME(rpinn_matrix_products)(RpinnIsa isa) {
  if (!rpinn_isa_is_available(isa)) return NULL;
#ifdef RPINN_HAVE_X86_KERNELS
  if (isa == RPINN_ISA_AVX2) return &RPINN_REAL_NAME(rpinn_matrix_products_avx2);
  if (isa == RPINN_ISA_AVX512) return &RPINN_REAL_NAME(rpinn_matrix_products_avx512);
#endif
  return &RPINN_REAL_NAME(rpinn_matrix_products_portable);
}

size_t RPINN_REAL_NAME(rpinn_tile_length)(size_t width) {
  size_t rows = RPINN_REAL_GROUP;
  for (size_t half = width; half % 2 == 0 && rows > 1; half /= 2) rows /= 2;
  return rows * width;
}

void RPINN_REAL_NAME(rpinn_tile_rows)(size_t width, RealBits *rows) {
  const size_t length = RPINN_REAL_NAME(rpinn_tile_length)(width);
  for (size_t e = 0; e < length; e++) rows[e] = (RealBits)(e / width);
}
