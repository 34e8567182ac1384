#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Not the file itself: whoever closes a file loses all locks that the process has on it. */
bool rpinn_file_can_be_locked(const char *path) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  char beside[4200];
  int length = snprintf(beside, sizeof beside, "%s.lock-XXXXXX", path);
  if (length < 0 || (size_t)length >= sizeof beside) return true;
  int file = mkstemp(beside);
  if (file < 0) return true;
  bool is_removed = unlink(beside) == 0; /* at once, so that a process that is killed leaves nothing */
  bool can = fcntl(file, F_SETLK, &lock) == 0 || errno == EACCES || errno == EAGAIN || errno == EINTR;
  close(file);
  if (!is_removed) unlink(beside); /* where open files cannot be */
  return can;
}
