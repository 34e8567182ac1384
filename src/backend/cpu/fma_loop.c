/* Fused multiply-adds that stay in registers, for one instruction set and one precision: what a core could do at most. */
#include "vector.h"

double RPINN_FMA_LOOP(size_t rounds, Real factor, Real term, Real *result); /* called by machine_peak.c */

/* Enough to hide the latency (4 to 5 cycles, two per cycle), and few enough for sixteen registers. */
enum { CHAINS = 12 };

double RPINN_FMA_LOOP(size_t rounds, Real factor, Real term, Real *result) {
  const RealVector scale = vector_fill(factor), shift = vector_fill(term);
  RealVector chains[CHAINS];
  for (int k = 0; k < CHAINS; k++) chains[k] = vector_fill((Real)k);
  for (size_t round = 0; round < rounds; round++)
    for (int k = 0; k < CHAINS; k++)
#ifdef RPINN_ISA_HAS_NO_INTRINSICS
      chains[k] = chains[k] * scale + shift; /* the C library's fused one is a call */
#else
      chains[k] = vector_fma(chains[k], scale, shift);
#endif
  Real sum = 0;
  for (int k = 0; k < CHAINS; k++)
    for (int lane = 0; lane < RPINN_VECTOR_LANES; lane++) sum += chains[k][lane];
  *result = sum;
  return 2.0 * CHAINS * RPINN_VECTOR_LANES * (double)rounds;
}
