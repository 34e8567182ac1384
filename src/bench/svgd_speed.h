/* The cost of an SVGD iteration, 1000 particles of poisson-linear with Nf=32 on two threads in float, in units of
 * what it cannot do without: 1000 gradients and two products 1000 x 1000 x N, on two threads as well. */
#ifndef RPINN_BENCH_SVGD_SPEED_H
#define RPINN_BENCH_SVGD_SPEED_H

#include "rpinn/status.h"

typedef struct RpinnSvgdSpeed RpinnSvgdSpeed;

RpinnStatus rpinn_svgd_speed_create(RpinnContext *context, RpinnSvgdSpeed **speed);
void rpinn_svgd_speed_destroy(RpinnSvgdSpeed *speed);
/* One measurement between two of the parts; also the seconds of the iteration, by the clock on the wall. */
RpinnStatus rpinn_svgd_speed_measure(RpinnContext *context, RpinnSvgdSpeed *speed, double *cost,
                                     double *seconds);

#endif
