/* What the prior alone says: a run with draws of the prior in the place of its results. */
#ifndef RPINN_RESULTS_PRIOR_DRAWS_H
#define RPINN_RESULTS_PRIOR_DRAWS_H

#include "rpinn/run.h"

enum { RPINN_NUM_PRIOR_DRAWS = 199 };

/* Results (moments, quantiles, kept draws) of a run whose prior is settled and that has none yet, from draws of the prior. Bad
 * input where there is no prior to draw from. */
RpinnStatus rpinn_run_fill_by_prior(RpinnContext *context, RpinnRun *run);

#endif
