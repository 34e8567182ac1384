/* What is not a file with a size is read in pieces up to the limit. Files are opened without waiting, so that a pipe to
 * which nobody writes ends in a message: POSIX opens it at once, and poll knows that nothing came. */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

static RpinnStatus refuse_size(RpinnContext *context, const char *file, size_t limit_mebibytes) {
  return rpinn_fail_at(context, (RpinnPlace){.file = file},
                       "found more than %zu MiB, expected a smaller file", limit_mebibytes);
}

RpinnStatus rpinn_file_check_size(RpinnContext *context, const char *file, size_t length,
                                  size_t limit_mebibytes) {
  return length <= limit_mebibytes << 20 ? RPINN_OK : refuse_size(context, file, limit_mebibytes);
}

/* A file or a pipe; a file that is too large is refused before it is read. */
static RpinnStatus check_kind(RpinnContext *context, int descriptor, const char *path, size_t limit_mebibytes,
                              bool *is_pipe) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", path);
  RpinnPlace place = {.file = path};
  if (S_ISDIR(info.st_mode)) return rpinn_fail_at(context, place, "this is a directory; expected a file");
  *is_pipe = S_ISFIFO(info.st_mode);
  if (!S_ISREG(info.st_mode) && !*is_pipe)
    return rpinn_fail_at(context, place, "this is a device; expected a file or a pipe");
  bool is_large = S_ISREG(info.st_mode) && info.st_size > (off_t)limit_mebibytes << 20;
  return is_large ? refuse_size(context, path, limit_mebibytes) : RPINN_OK;
}

/* Until a pipe has bytes or its writer has gone. */
static RpinnStatus wait_for_bytes(RpinnContext *context, int descriptor, const char *path) {
  struct pollfd pipe = {.fd = descriptor, .events = POLLIN};
  int ready;
  do ready = poll(&pipe, 1, RPINN_PIPE_PATIENCE * 1000);
  while (ready < 0 && errno == EINTR && !rpinn_is_interrupted(context));
  if (ready < 0 && errno == EINTR) return rpinn_fail_interrupted(context);
  if (ready < 0) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", path);
  if (ready > 0) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = path},
                       "nothing came through this pipe in %d seconds; expected a file, or a pipe that a "
                       "program writes to and closes",
                       RPINN_PIPE_PATIENCE);
}

static RpinnStatus read_pieces(RpinnContext *context, int descriptor, const char *path, bool is_pipe,
                               size_t limit_mebibytes, RpinnText *bytes) {
  char piece[1 << 16];
  for (;;) {
    if (is_pipe) RPINN_TRY(wait_for_bytes(context, descriptor, path));
    ssize_t count = read(descriptor, piece, sizeof piece);
    if (count == 0) return RPINN_OK;
    if (count < 0 && (errno == EINTR || (is_pipe && errno == EAGAIN))) continue;
    if (count < 0) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", path);
    rpinn_text_append_bytes(bytes, piece, (size_t)count);
    if (bytes->failed) return rpinn_fail_memory(context);
    RPINN_TRY(rpinn_file_check_size(context, path, bytes->length, limit_mebibytes));
  }
}

RpinnStatus rpinn_file_read(RpinnContext *context, const char *path, size_t limit_mebibytes,
                            RpinnText *bytes) {
  bool is_pipe;
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "open", path);
  RpinnStatus status = check_kind(context, descriptor, path, limit_mebibytes, &is_pipe);
  if (status == RPINN_OK) status = read_pieces(context, descriptor, path, is_pipe, limit_mebibytes, bytes);
  close(descriptor);
  return status;
}
