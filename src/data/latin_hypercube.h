/* Latin hypercube: random points of which every coordinate is spread evenly. */
#ifndef RPINN_DATA_LATIN_HYPERCUBE_H
#define RPINN_DATA_LATIN_HYPERCUBE_H

#include <stddef.h>

#include "random_stream.h"

/* Points in the open unit cube with, in every dimension, one point in each of `count` equal strata.
 * points: [count][num_dimensions]; scratch: [count] */
void rpinn_latin_hypercube(RpinnStream *stream, size_t count, size_t num_dimensions, double *points,
                           size_t *scratch);

#endif
