/* How many files a process may have open. */
#ifndef RPINN_BASE_OPEN_FILES_H
#define RPINN_BASE_OPEN_FILES_H

#include "context.h"

/* Bad input where so many of them, named in the message, cannot all be open at once. */
RpinnStatus rpinn_check_open_files(RpinnContext *context, size_t count, const char *what);

#endif
