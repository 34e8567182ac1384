/* The instruction sets that the kernels are compiled for. All are in one binary; a machine is asked at run
 * time. */
#ifndef RPINN_BACKEND_CPU_ISA_H
#define RPINN_BACKEND_CPU_ISA_H

#include <stdbool.h>

typedef enum RpinnIsa {
  RPINN_ISA_PORTABLE, /* what the compiler's baseline offers; fused multiply-adds from the C library */
  RPINN_ISA_AVX2,     /* AVX2 and FMA */
  RPINN_ISA_AVX512,   /* AVX-512 F, DQ and VL */
  RPINN_NUM_ISAS
} RpinnIsa;

bool rpinn_isa_is_available(RpinnIsa isa);
/* The fastest that this machine runs. */
RpinnIsa rpinn_isa_best(void);
const char *rpinn_isa_name(RpinnIsa isa);

#endif
