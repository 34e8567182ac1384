/* What differs between two identities, texts of all that decides the draws of a run. */
#ifndef RPINN_IO_IDENTITY_DIFFERENCE_H
#define RPINN_IO_IDENTITY_DIFFERENCE_H

#include "context.h"

/* Bad input where they differ; the message names the first line that does, or the first three where lines still
 * correspond: "was X, is now Y". */
RpinnStatus rpinn_identity_compare(RpinnContext *context, const char *before, const char *now);

#endif
