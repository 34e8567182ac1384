/* Locks on files: whether a file system has them, which some network file systems do not, and whether somebody holds one. */
#ifndef RPINN_IO_FILE_LOCK_H
#define RPINN_IO_FILE_LOCK_H

#include <stdbool.h>

/* Tries it with a file that it makes, and removes, beside this one. True as well where no file can be made: then nothing will be written there. */
bool rpinn_file_can_be_locked(const char *path);
/* Does another process hold a lock on this file? False where that cannot be found out. Not for a file that this process has a lock on. */
bool rpinn_file_is_locked(const char *path);

#endif
