/* Whole files, read into memory; part_file.h writes them. */
#ifndef RPINN_BASE_WHOLE_FILE_H
#define RPINN_BASE_WHOLE_FILE_H

#include "context.h"
#include "text.h"

/* Append all bytes of the file to an empty text, which the caller frees on every path. A file that cannot be
 * opened or read, and one of more than limit_mebibytes, is bad input. */
RpinnStatus rpinn_file_read(RpinnContext *context, const char *path, size_t limit_mebibytes,
                            RpinnText *bytes);

/* Refuse more than limit_mebibytes. */
RpinnStatus rpinn_file_check_size(RpinnContext *context, const char *file, size_t length,
                                  size_t limit_mebibytes);

#endif
