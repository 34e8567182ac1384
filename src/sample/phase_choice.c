/* Which of the compiled loops a machine gets. */
#include "phase_vectors.h"

enum { LINE = 8 }; /* doubles of a cache line */

extern const RpinnPhaseVectors rpinn_phase_portable;
#ifdef RPINN_HAVE_X86_KERNELS
extern const RpinnPhaseVectors rpinn_phase_avx2;
#endif

size_t rpinn_phase_length(size_t num_parameters) {
  return (num_parameters + LINE - 1) / LINE * LINE;
}

const RpinnPhaseVectors *rpinn_phase_vectors(bool portable) {
#ifdef RPINN_HAVE_X86_KERNELS
  if (!portable && __builtin_cpu_supports("avx2")) return &rpinn_phase_avx2;
#else
  (void)portable;
#endif
  return &rpinn_phase_portable;
}
