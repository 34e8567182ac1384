/* Where a further measurement would lie: bands of quantities that a term measures, with its noise.
 *
 * A measurement of q at x is q(x) + s e, so that over the draws k its distribution is the mixture
 *
 *   F(y) = 1/n sum_k Phi((y - q_k(x)) / s_k)
 *
 * and the band of 95 % reaches from F = 0.025 to F = 0.975. s_k is the term's noise: at x where it is an expression, the root
 * mean square of the rows where it is a column, that of the draw where it is unknown. */
#ifndef RPINN_RESULTS_PREDICTIVE_BANDS_H
#define RPINN_RESULTS_PREDICTIVE_BANDS_H

#include "normal_table.h"
#include "rpinn/run.h"

/* The first fitted term that measures a quantity of `predict:` and states its noise, or has it unknown, under the likelihood
 * `noise`; the number of terms where there is none. */
size_t rpinn_run_measuring_term(const RpinnRun *run, size_t quantity);

/* results.predictive_low and predictive_high, NaN until bands are made. */
RpinnStatus rpinn_run_prepare_predictive_bands(RpinnContext *context, RpinnRun *run);

/* What a thread makes bands of the kept draws with; NULL: no memory. */
typedef struct RpinnBandMaker RpinnBandMaker;
RpinnBandMaker *rpinn_band_maker_create(const RpinnRun *run, const RpinnNormalTable *table);
void rpinn_band_maker_destroy(RpinnBandMaker *maker);
/* The band of a value of the predictions. It stays NaN where nothing measures the quantity, or where there are too few draws for an
 * interval. */
RpinnStatus rpinn_band_maker_make(RpinnBandMaker *maker, RpinnContext *context, size_t value);

#endif
