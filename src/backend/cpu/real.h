/* One source, two precisions: a file that includes this header is compiled once with RPINN_REAL_FLOAT and
 * once with RPINN_REAL_DOUBLE. Types keep their name (each translation unit has its own); what the linker
 * sees gets the suffix _float or _double through RPINN_REAL_NAME. */
#ifndef RPINN_BACKEND_CPU_REAL_H
#define RPINN_BACKEND_CPU_REAL_H

#include <stdint.h>

#define RPINN_JOIN_(left, right)       left##right
#define RPINN_JOIN(left, right)        RPINN_JOIN_(left, right)
#define RPINN_JOIN3(left, middle, end) RPINN_JOIN(RPINN_JOIN(left, middle), end)

#if defined(RPINN_REAL_FLOAT)
typedef float Real;
typedef int32_t RealBits; /* an integer as wide as a Real */
#define RPINN_REAL_NAME(name) RPINN_JOIN(name, _float)
#define RPINN_REAL(literal)   RPINN_JOIN(literal, f)
enum { RPINN_REAL_FRACTION_BITS = 23, RPINN_REAL_EXPONENT_BIAS = 127 };
#elif defined(RPINN_REAL_DOUBLE)
typedef double Real;
typedef int64_t RealBits;
#define RPINN_REAL_NAME(name) RPINN_JOIN(name, _double)
#define RPINN_REAL(literal)   literal
enum { RPINN_REAL_FRACTION_BITS = 52, RPINN_REAL_EXPONENT_BIAS = 1023 };
#else
#error "define RPINN_REAL_FLOAT or RPINN_REAL_DOUBLE"
#endif

/* The width that every array of the CPU backend is cut into, whatever the vectors of the machine: sums are
 * taken in an order that depends on this number only. */
enum { RPINN_REAL_GROUP = 64 / (int)sizeof(Real) };

#endif
