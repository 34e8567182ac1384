/* A run whose draws others have made. */
#ifndef RPINN_RUN_STORED_RUN_H
#define RPINN_RUN_STORED_RUN_H

#include "context.h"
#include "rpinn/run.h"

/* The results of the draws that are in the store of options->folder, as rpinn_run would make them, and no further draws. is_partial:
 * some of those that the settings ask for are not there. */
RpinnStatus rpinn_run_from_store(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnRunOptions *options, bool is_partial, RpinnRun **run);

#endif
