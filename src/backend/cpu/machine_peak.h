/* The yardstick of `cpu`: what a core of this machine does in registers, and how near to that OpenBLAS comes. */
#ifndef RPINN_BACKEND_CPU_MACHINE_PEAK_H
#define RPINN_BACKEND_CPU_MACHINE_PEAK_H

#include "isa.h"
#include "rpinn/choices.h"

/* Floating-point operations per second of fused multiply-adds that stay in registers (two each), over about `seconds` of this
 * thread's own time. precision: float or double. */
double rpinn_machine_peak(RpinnIsa isa, RpinnPrecision precision, double seconds);

/* The share of the peak that a large product of OpenBLAS reaches here, in float: the best of several within some milliseconds, and
 * where that is low, of more, for another program may have been in the way. Takes memory of its own; 1 where there is none. */
double rpinn_blas_share_of_peak(void);

#endif
