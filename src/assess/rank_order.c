/* A radix sort of doubles: as integers their bits have the order of the numbers once the sign bit is flipped, and
 * all bits where it was set. Eight passes over bytes, from the lowest; a byte that is the same everywhere costs
 * none. Three times as fast as qsort for the 20000 draws of a usual run. */
#include "rank_order.h"

#include <string.h>

enum { BYTES = 8, BUCKETS = 256 };

static uint64_t key_of(double value) {
  value += 0.0; /* -0 to 0 */
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key) {
  uint64_t bits = key >> 63 ? key ^ UINT64_C(1) << 63 : ~key;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void rpinn_rank_order(size_t count, const double *values, double *sorted, size_t *place,
                      RpinnRanked *workspace) {
  size_t starts[BYTES][BUCKETS] = {{0}};
  RpinnRanked *from = workspace, *to = workspace + count;
  for (size_t i = 0; i < count; i++) {
    from[i] = (RpinnRanked){key_of(values[i]), i};
    for (int byte = 0; byte < BYTES; byte++) starts[byte][from[i].key >> 8 * byte & 0xff]++;
  }
  for (int byte = 0; byte < BYTES && count; byte++) {
    size_t *start = starts[byte], sum = 0;
    if (start[from[0].key >> 8 * byte & 0xff] == count) continue;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      size_t size = start[bucket];
      start[bucket] = sum;
      sum += size;
    }
    for (size_t i = 0; i < count; i++) to[start[from[i].key >> 8 * byte & 0xff]++] = from[i];
    RpinnRanked *swap = from;
    from = to;
    to = swap;
  }
  for (size_t i = 0; i < count; i++) {
    sorted[i] = value_of(from[i].key);
    place[i] = from[i].place;
  }
}
