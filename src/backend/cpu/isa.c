#include "isa.h"

bool rpinn_isa_is_available(RpinnIsa isa) {
#ifdef RPINN_HAVE_X86_KERNELS
  if (isa == RPINN_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == RPINN_ISA_AVX512)
    return rpinn_isa_is_available(RPINN_ISA_AVX2) && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return isa == RPINN_ISA_PORTABLE;
}

RpinnIsa rpinn_isa_best(void) {
  RpinnIsa best = RPINN_ISA_PORTABLE;
  for (int isa = 0; isa < RPINN_NUM_ISAS; isa++)
    if (rpinn_isa_is_available((RpinnIsa)isa)) best = (RpinnIsa)isa;
  return best;
}

const char *rpinn_isa_name(RpinnIsa isa) {
  static const char *const names[RPINN_NUM_ISAS] = {"portable", "avx2", "avx512"};
  return names[isa];
}
