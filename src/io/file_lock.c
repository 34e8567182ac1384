#define _GNU_SOURCE /* O_TMPFILE */
#include "file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_PATH = 4200 };

/* A file in the folder of another that never has a name, so that a process that is killed leaves nothing; -1 where there are no such
 * files. */
static int open_without_name(const char *path) {
#ifdef O_TMPFILE
  char folder[LONGEST_PATH];
  const char *slash = strrchr(path, '/');
  int length =
      snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  if (length < 0 || (size_t)length >= sizeof folder) return -1;
  return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#else
  (void)path;
  return -1;
#endif
}

static bool can_lock(int file) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  return fcntl(file, F_SETLK, &lock) == 0 || errno == EACCES || errno == EAGAIN || errno == EINTR;
}

/* Not the file itself: whoever closes a file loses all locks that the process has on it. */
bool rpinn_file_can_be_locked(const char *path) {
  char beside[LONGEST_PATH];
  int file = open_without_name(path);
  bool has_name = file < 0, is_removed = true;
  if (has_name) {
    int length = snprintf(beside, sizeof beside, "%s.lock-XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof beside) return true;
    file = mkstemp(beside);
    if (file < 0) return true;
    is_removed = unlink(beside) == 0; /* at once, for the same reason */
  }
  bool can = can_lock(file);
  close(file);
  if (!is_removed) unlink(beside); /* where open files cannot be */
  return can;
}

bool rpinn_file_is_locked(const char *path) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool is_locked = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  return is_locked;
}
