/* Whole files, read into memory; part_file.h writes them. */
#ifndef RPINN_BASE_WHOLE_FILE_H
#define RPINN_BASE_WHOLE_FILE_H

#include "context.h"
#include "text.h"

enum { RPINN_PIPE_PATIENCE = 10 /* seconds without a byte from a pipe */ };

/* Append all bytes of a file, or of a pipe until its writer closes it, to an empty text, which the caller frees on every
 * path. Bad input: what cannot be opened or read, folders and devices, more than limit_mebibytes, a pipe from which
 * nothing comes. */
RpinnStatus rpinn_file_read(RpinnContext *context, const char *path, size_t limit_mebibytes,
                            RpinnText *bytes);

/* Refuse more than limit_mebibytes. */
RpinnStatus rpinn_file_check_size(RpinnContext *context, const char *file, size_t length,
                                  size_t limit_mebibytes);

#endif
