/* Folders: made with their parents, and small files written into them. */
#ifndef RPINN_BASE_FOLDERS_H
#define RPINN_BASE_FOLDERS_H

#include "context.h"
#include "text.h"

/* Of a path, and of a folder that small files are written into, with the final NUL. */
enum { RPINN_PATH_SIZE = 4096, RPINN_FOLDER_SIZE = RPINN_PATH_SIZE - 64 };

/* A folder with its parents, as mkdir -p; path has fewer than RPINN_PATH_SIZE characters. */
RpinnStatus rpinn_make_folders(RpinnContext *context, const char *path);
/* A text as a file of the folder, by way of its part (part_file.h); name has at most 40 characters. */
RpinnStatus rpinn_folder_write(RpinnContext *context, const char *folder, const char *name,
                               const RpinnText *text);

#endif
