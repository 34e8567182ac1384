/* Numbers in rising order with the places they came from. */
#ifndef RPINN_ASSESS_RANK_ORDER_H
#define RPINN_ASSESS_RANK_ORDER_H

#include <stddef.h>
#include <stdint.h>

typedef struct RpinnRanked {
  uint64_t key; /* while sorting */
  size_t place;
} RpinnRanked;

/* sorted [count] becomes the values in rising order and place [count] where each stood; equal values keep their
 * order, and -0 equals 0. No value may be NaN. workspace [2 * count]. */
void rpinn_rank_order(size_t count, const double *values, double *sorted, size_t *place,
                      RpinnRanked *workspace);

#endif
