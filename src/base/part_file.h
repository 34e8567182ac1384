/* The one way files come into being: they are written beside their place, as path.part, and moved into it when they are
 * whole, so that readers see the old one or the new one, also after a failed write or a power cut. */
#ifndef RPINN_BASE_PART_FILE_H
#define RPINN_BASE_PART_FILE_H

#include "context.h"
#include "text.h"

/* A whole text, by way of its part. What stands at the path keeps its permissions, a link leads to the file that is
 * replaced, and what is no file (a terminal, a pipe) is written as it is. A failed text is a lack of memory. */
RpinnStatus rpinn_part_file_write(RpinnContext *context, const char *path, const RpinnText *text);
/* The same, unless the file holds this text already: then it is not touched. */
RpinnStatus rpinn_part_file_update(RpinnContext *context, const char *path, const RpinnText *text);

/* A copy of the file at `from`, by way of its part, in memory that its size does not decide. Bad input: `from` cannot be read. */
RpinnStatus rpinn_part_file_copy(RpinnContext *context, const char *from, const char *to);

/* For files that a library of its own writes: */

/* path.part; the caller frees it. NULL: no memory. */
char *rpinn_part_file_path(const char *path);
/* Make an empty file, after a look whether the disk has room for num_bytes. */
RpinnStatus rpinn_part_file_create(RpinnContext *context, const char *part, size_t num_bytes);
/* Set num_bytes of the disk aside for the file, whatever its length is now. No promise: some file systems
 * cannot. */
void rpinn_part_file_reserve(const char *part, size_t num_bytes);
/* Sync the closed file, give back what was set aside, rename it to path, sync the folder. */
RpinnStatus rpinn_part_file_finish(RpinnContext *context, const char *part, const char *path);

#endif
