/* What the kept draws say of each value by itself, on all threads: quantiles, the band of a further measurement, and how far they
 * are from the truth. */
#ifndef RPINN_RESULTS_VALUE_INTERVALS_H
#define RPINN_RESULTS_VALUE_INTERVALS_H

#include "rpinn/run.h"

typedef struct RpinnValueIntervals RpinnValueIntervals;

/* results.low, median and high, predictive_low and predictive_high, crps_distances and crps_pairs. Threads are at work from start
 * on; finish awaits them, and ends it on every path. NULL is nothing to be awaited. */
RpinnStatus rpinn_value_intervals_start(RpinnContext *context, RpinnRun *run,
                                        RpinnValueIntervals **intervals);
RpinnStatus rpinn_value_intervals_finish(RpinnContext *context, RpinnValueIntervals *intervals);

#endif
