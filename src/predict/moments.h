/* Mean and standard deviation of predictions over draws, without keeping the draws. */
#ifndef RPINN_PREDICT_MOMENTS_H
#define RPINN_PREDICT_MOMENTS_H

#include <stddef.h>

typedef struct RpinnMoments RpinnMoments;

/* Draws are gathered in blocks of this many. The number is fixed, so that the bits of the result depend on
 * the sequence of draws alone: add them in member order. */
enum { RPINN_MOMENTS_BLOCK = 64 };

/* Of num_values numbers per draw. NULL: no memory. */
RpinnMoments *rpinn_moments_create(size_t num_values);
void rpinn_moments_destroy(RpinnMoments *moments);
/* values [num_values] of the next draw. */
void rpinn_moments_add(RpinnMoments *moments, const double *values);
/* Draws added. */
size_t rpinn_moments_count(const RpinnMoments *moments);
/* mean [num_values], NaN without draws; deviation [num_values], the standard deviation with N-1, NaN for
 * fewer than two draws. Either may be NULL. More draws may be added afterwards. */
void rpinn_moments_get(const RpinnMoments *moments, double *mean, double *deviation);

#endif
