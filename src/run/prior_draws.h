/* What the prior alone says of all that is predicted, with its scale chosen as a run would choose it. */
#ifndef RPINN_RUN_PRIOR_DRAWS_H
#define RPINN_RUN_PRIOR_DRAWS_H

#include "run_state.h"

enum { RPINN_NUM_PRIOR_DRAWS = 199 };

/* A run without a directory, whose prior is settled, with run->prior, and whose results (moments, quantiles, kept draws) are those
 * of draws from the prior. The data must be there. Bad input where there is no prior to draw from. The caller destroys it, after
 * a failure as well. progress: of the choice; may be NULL. */
RpinnStatus rpinn_run_draw_prior(RpinnContext *context, const RpinnProblem *problem,
                                 void (*progress)(void *user, const RpinnProgress *progress), void *user,
                                 RpinnRun **run);

#endif
