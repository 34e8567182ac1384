/* The scale of the prior before the first draw: as given, as an earlier session chose it, or chosen now. */
#ifndef RPINN_RUN_RUN_PRIOR_H
#define RPINN_RUN_RUN_PRIOR_H

#include "driver.h"

/* Where it is to be chosen: before the store is opened, because it is a part of the identity. An interruption is
 * RPINN_ERROR_INTERRUPTED: nothing was begun. */
RpinnStatus rpinn_run_settle_prior(RpinnContext *context, RpinnDriver *driver);
/* Into the store, where a later session finds it. */
RpinnStatus rpinn_run_note_prior(RpinnContext *context, RpinnDriver *driver);

/* A run without a directory, whose prior is settled, with run->prior, and whose results are those of draws from the prior. The
 * data must be there. Bad input where there is no prior to draw from. The caller destroys it, after a failure as well.
 * progress: of the choice; may be NULL. */
RpinnStatus rpinn_run_draw_prior(RpinnContext *context, const RpinnProblem *problem,
                                 void (*progress)(void *user, const RpinnProgress *progress), void *user,
                                 RpinnRun **run);

#endif
