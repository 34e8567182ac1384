/* Denormal numbers, which appear where units or moments decay to nothing, cost a hundred cycles each. Inside
 * Adam's loop they count as zero, for every member and thread alike. */
#ifndef RPINN_BACKEND_CPU_DENORMALS_H
#define RPINN_BACKEND_CPU_DENORMALS_H

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned DenormalMode;

static inline DenormalMode denormals_off(void) {
  enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };
  DenormalMode mode = _mm_getcsr();
  _mm_setcsr(mode | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
  return mode;
}

static inline void denormals_restore(DenormalMode mode) {
  _mm_setcsr(mode);
}
#else
typedef int DenormalMode;
static inline DenormalMode denormals_off(void) {
  return 0;
}
static inline void denormals_restore(DenormalMode mode) {
  (void)mode;
}
#endif

#endif
