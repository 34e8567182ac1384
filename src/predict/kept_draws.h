/* An evenly thinned selection of draws' predictions in memory, for what moments cannot give: quantiles and
 * scores of the whole sample. */
#ifndef RPINN_PREDICT_KEPT_DRAWS_H
#define RPINN_PREDICT_KEPT_DRAWS_H

#include <stddef.h>

#include "rpinn/status.h"

typedef struct RpinnKeptDraws RpinnKeptDraws;

/* The least thinning with which num_draws draws of num_values doubles stay within byte_limit; one draw is
 * kept even where that is more. Always >= 1. */
size_t rpinn_keep_every(size_t num_draws, size_t num_values, size_t byte_limit);

/* keep_every >= 1. NULL: no memory. */
RpinnKeptDraws *rpinn_kept_draws_create(size_t num_values, size_t keep_every);
void rpinn_kept_draws_destroy(RpinnKeptDraws *kept);
/* Copies values [num_values] when draw_number is a multiple of keep_every, and does nothing otherwise. */
RpinnStatus rpinn_kept_draws_add(RpinnKeptDraws *kept, size_t draw_number, const double *values);
/* Draws kept. */
size_t rpinn_kept_draws_count(const RpinnKeptDraws *kept);
size_t rpinn_kept_draws_num_values(const RpinnKeptDraws *kept);
/* values [num_values] of kept draw number `draw` < count. */
const double *rpinn_kept_draws_get(const RpinnKeptDraws *kept, size_t draw);

/* sorted [num_values][count] becomes the kept draws of the values first_value … first_value + num_values - 1,
 * each in rising order with NaN last. There is room for one value more, which is used on the way. */
void rpinn_kept_draws_sort(const RpinnKeptDraws *kept, size_t first_value, size_t num_values, double *sorted);
/* quantiles [num_probabilities][num_values] by linear interpolation of the order statistics (type 7 of
 * Hyndman and Fan, the default of R and numpy); NaN where a draw is NaN or none is kept. probabilities are in
 * [0, 1]. Takes memory for a few values' draws while it runs. */
RpinnStatus rpinn_kept_draws_quantiles(const RpinnKeptDraws *kept, size_t num_probabilities,
                                       const double *probabilities, double *quantiles);
/* The same for one sample sorted [count] in rising order. */
double rpinn_sorted_quantile(size_t count, const double *sorted, double probability);

#endif
