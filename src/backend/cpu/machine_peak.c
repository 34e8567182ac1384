#include "machine_peak.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* ---- registers ---- */

/* fma_loop.c: chains x = factor x + term; how many operations that were. */
#define LOOPS(isa)                                                                                           \
  double rpinn_fma_loop_##isa##_float(size_t rounds, float factor, float term, float *result);               \
  double rpinn_fma_loop_##isa##_double(size_t rounds, double factor, double term, double *result);
LOOPS(portable)
#ifdef RPINN_HAVE_X86_KERNELS
LOOPS(avx2)
LOOPS(avx512)
#endif

enum { ROUNDS = 20000 }; /* some 60 microseconds: asking for the time takes half of one */

static double loop_in_float(RpinnIsa isa) {
  volatile float factor = 0.5f, term = 1; /* x tends to 2, and the compiler does not know */
  float result;
#ifdef RPINN_HAVE_X86_KERNELS
  if (isa == RPINN_ISA_AVX512) return rpinn_fma_loop_avx512_float(ROUNDS, factor, term, &result);
  if (isa == RPINN_ISA_AVX2) return rpinn_fma_loop_avx2_float(ROUNDS, factor, term, &result);
#endif
  (void)isa;
  return rpinn_fma_loop_portable_float(ROUNDS, factor, term, &result);
}

static double loop_in_double(RpinnIsa isa) {
  volatile double factor = 0.5, term = 1;
  double result;
#ifdef RPINN_HAVE_X86_KERNELS
  if (isa == RPINN_ISA_AVX512) return rpinn_fma_loop_avx512_double(ROUNDS, factor, term, &result);
  if (isa == RPINN_ISA_AVX2) return rpinn_fma_loop_avx2_double(ROUNDS, factor, term, &result);
#endif
  (void)isa;
  return rpinn_fma_loop_portable_double(ROUNDS, factor, term, &result);
}

/* What other programs take does not count. */
static double own_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double rpinn_machine_peak(RpinnIsa isa, RpinnPrecision precision, double seconds) {
  double start = own_seconds(), elapsed, operations = 0;
  do {
    operations += precision == RPINN_PRECISION_DOUBLE ? loop_in_double(isa) : loop_in_float(isa);
    elapsed = own_seconds() - start;
  } while (elapsed < seconds);
  return operations / elapsed;
}

/* ---- OpenBLAS ---- */

enum { SIZE = 256, FEW = 3, MANY = 30 };

/* The best of each: what comes in between makes either slower, never faster. */
typedef struct Rates {
  double peak, product;
} Rates;

static void try_both(const float *a, const float *b, float *c, int count, Rates *best) {
  for (int k = 0; k < count; k++) {
    best->peak = fmax(best->peak, rpinn_machine_peak(rpinn_isa_best(), RPINN_PRECISION_FLOAT, 2e-4));
    double start = own_seconds();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
    best->product = fmax(best->product, 2.0 * SIZE * SIZE * SIZE / (own_seconds() - start));
  }
}

double rpinn_blas_share_of_peak(void) {
  const double low = 0.6;
  size_t count = (size_t)SIZE * SIZE;
  float *matrices = malloc(3 * count * sizeof *matrices);
  if (!matrices) return 1;
  for (size_t i = 0; i < 3 * count; i++) matrices[i] = (float)(i % 97) / 97.0f - 0.5f;
  Rates best = {0};
  try_both(matrices, matrices + count, matrices + 2 * count, FEW, &best);
  if (best.product < low * best.peak) try_both(matrices, matrices + count, matrices + 2 * count, MANY, &best);
  free(matrices);
  return best.product / best.peak;
}
