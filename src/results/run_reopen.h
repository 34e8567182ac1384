/* A finished run in memory again, for those who look at its draws themselves; rpinn_run_reopen makes its results too. */
#ifndef RPINN_RESULTS_RUN_REOPEN_H
#define RPINN_RESULTS_RUN_REOPEN_H

#include "rpinn/run.h"

/* A finished run with its problem, posteriors, and its store open to be read; no results yet. options: for the problem, may
 * be NULL. Bad input: a missing, unfinished or damaged run. The caller destroys it. */
RpinnStatus rpinn_run_open_finished(RpinnContext *context, const char *folder,
                                    const RpinnProblemOptions *options, RpinnRun **run);

#endif
