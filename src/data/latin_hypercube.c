/* In each dimension, with a random order pi of 0 … count-1 and u uniform in (0, 1):
 *
 *   x_i = (pi_i + u_i) / count
 *
 * u has 32 bits, so that pi_i + u_i is exact and x_i cannot round into the next stratum. */
#include "latin_hypercube.h"

void rpinn_latin_hypercube(RpinnStream *stream, size_t count, size_t num_dimensions, double *points,
                           size_t *scratch) {
  for (size_t dimension = 0; dimension < num_dimensions; dimension++) {
    rpinn_stream_permutation(stream, count, scratch);
    for (size_t i = 0; i < count; i++) {
      double offset = (rpinn_stream_word(stream) + 0.5) * 0x1p-32;
      points[i * num_dimensions + dimension] = ((double)scratch[i] + offset) / (double)count;
    }
  }
}
