/* The Sobol sequence: points that fill the unit cube evenly, however many are taken. */
#ifndef RPINN_DATA_SOBOL_H
#define RPINN_DATA_SOBOL_H

#include <stddef.h>
#include <stdint.h>

enum { RPINN_SOBOL_MAX_DIMENSIONS = 4 };

/* Point number `index` (from 0, below 2^32 - 1) in [0, 1)^num_dimensions, 1 <= num_dimensions <= 4. The
 * sequence's own first point, the origin, is left out: index 0 is the centre of the cube. point:
 * [num_dimensions] */
void rpinn_sobol_point(uint32_t index, size_t num_dimensions, double *point);

#endif
