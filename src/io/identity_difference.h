/* What differs between two identities, texts of all that decides the draws of a run. */
#ifndef RPINN_IO_IDENTITY_DIFFERENCE_H
#define RPINN_IO_IDENTITY_DIFFERENCE_H

#include "context.h"

/* The lines that differ, as "WAS X, IS Y": the first one, or the first three where lines still correspond. */
enum { RPINN_IDENTITY_DIFFERENCE = 1400 };
void rpinn_identity_difference(const char *before, const char *now, const char *word_before,
                               const char *word_now, char list[RPINN_IDENTITY_DIFFERENCE]);
/* Bad input where they differ; the message names the first line that does, or the first three where lines still
 * correspond: "was X, is now Y". */
RpinnStatus rpinn_identity_compare(RpinnContext *context, const char *before, const char *now);

#endif
