/* Studies: many runs at once. */
#ifndef RPINN_STUDY_H
#define RPINN_STUDY_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finished runs side by side: one table per quantity with a row per run, or the same as JSON. NULL on
 * failure, with the reason on the context (a missing, unfinished or damaged run is bad input); the caller
 * frees the text. */
RPINN_API char *rpinn_compare(RpinnContext *context, size_t num_runs, const char *const *folders, bool json);

#ifdef __cplusplus
}
#endif
#endif
