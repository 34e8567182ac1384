/* Whether a file system can lock files. Some network file systems cannot. */
#ifndef RPINN_IO_FILE_LOCK_H
#define RPINN_IO_FILE_LOCK_H

#include <stdbool.h>

/* Tries it with a file that it makes, and removes, beside this one. True as well where no file can be made: then nothing will be written there. */
bool rpinn_file_can_be_locked(const char *path);

#endif
