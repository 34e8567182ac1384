/* Files that are written beside their place, as path.part, and moved into it when they are whole: readers see
 * the old one or the new one, also after a power cut. */
#ifndef RPINN_IO_PART_FILE_H
#define RPINN_IO_PART_FILE_H

#include "context.h"
#include "text.h"

/* path.part; the caller frees it. NULL: no memory. */
char *rpinn_part_file_path(const char *path);
/* Make an empty file, after a look whether the disk has room for num_bytes. */
RpinnStatus rpinn_part_file_create(RpinnContext *context, const char *part, size_t num_bytes);
/* Set num_bytes of the disk aside for the file, whatever its length is now. No promise: some file systems
 * cannot. */
void rpinn_part_file_reserve(const char *part, size_t num_bytes);
/* Sync the closed file, give back what was set aside, rename it to path, sync the folder. */
RpinnStatus rpinn_part_file_finish(RpinnContext *context, const char *part, const char *path);
/* A whole text, by way of its part. */
RpinnStatus rpinn_part_file_write(RpinnContext *context, const char *path, const RpinnText *text);

#endif
