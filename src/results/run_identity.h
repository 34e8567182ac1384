/* What decides the draws of a run, as a text: runs of one identity have the same draws. */
#ifndef RPINN_RESULTS_RUN_IDENTITY_H
#define RPINN_RESULTS_RUN_IDENTITY_H

#include "posterior.h"
#include "text.h"

/* Problem and settings but for units and for the settings that the table calls FREE or LOCAL. File names are those of a run directory,
 * so that a problem and its run.yaml say the same. */
RpinnStatus rpinn_run_statement(RpinnContext *context, const RpinnProblem *problem, bool truth_is_made,
                                RpinnText *text);
/* The same and all data: what must not change when a run goes on. */
RpinnStatus rpinn_run_identity(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *identity);

#endif
