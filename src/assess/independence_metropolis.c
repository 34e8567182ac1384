/* accept  <=>  log u < log w_i - log w_state,   u uniform in (0, 1), one for every position whether it is
 * needed or not, so that a position's number does not depend on what the chain did before. */
#include "independence_metropolis.h"

#include <math.h>
#include <stdbool.h>

#include "random_stream.h"

static bool has_weight(double log_weight) {
  return log_weight > -(double)INFINITY; /* false for NaN */
}

double rpinn_independence_metropolis(uint64_t seed, size_t count, const double *log_weights, size_t *state) {
  RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_METROPOLIS, 0, 0);
  size_t current = 0, num_accepted = 0;
  for (size_t i = 0; i < count; i++) {
    double log_uniform = log(rpinn_stream_uniform(&stream));
    bool accepted =
        i > 0 && has_weight(log_weights[i]) &&
        (!has_weight(log_weights[current]) || log_uniform < log_weights[i] - log_weights[current]);
    if (accepted) current = i;
    num_accepted += accepted;
    state[i] = current;
  }
  return count > 1 ? (double)num_accepted / (double)(count - 1) : (double)NAN;
}
