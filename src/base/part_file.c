#ifdef __linux__
#define _GNU_SOURCE /* fallocate */
#endif
#include "part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *rpinn_part_file_path(const char *path) {
  size_t length = strlen(path);
  char *part = malloc(length + sizeof ".part");
  if (!part) return NULL;
  memcpy(part, path, length);
  memcpy(part + length, ".part", sizeof ".part");
  return part;
}

/* Allocate blocks, which also asks quotas; on file systems that cannot, count the free ones. */
static bool has_room(int descriptor, size_t num_bytes) {
#ifdef __linux__
  if (fallocate(descriptor, 0, 0, (off_t)num_bytes) == 0) return ftruncate(descriptor, 0) == 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
#endif
  struct statvfs disk;
  if (fstatvfs(descriptor, &disk) != 0) return true;
  errno = ENOSPC;
  return disk.f_bavail > num_bytes / disk.f_frsize;
}

/* Make an empty file with room for num_bytes, open to be written; -1, with errno, where that fails. What an earlier
 * writer left there goes first: it may be a link. */
static int open_part(const char *part, size_t num_bytes) {
  unlink(part);
  int descriptor = open(part, O_RDWR | O_CREAT | O_EXCL, 0666);
  if (descriptor < 0 || !num_bytes || has_room(descriptor, num_bytes)) return descriptor;
  int reason = errno;
  close(descriptor);
  unlink(part);
  errno = reason;
  return -1;
}

RpinnStatus rpinn_part_file_create(RpinnContext *context, const char *part, size_t num_bytes) {
  int descriptor = open_part(part, num_bytes);
  if (descriptor < 0)
    return rpinn_fail(context, RPINN_ERROR_IO, "cannot write '%s', which needs %.1f MB: %s", part,
                      1e-6 * (double)num_bytes, strerror(errno));
  close(descriptor);
  return RPINN_OK;
}

void rpinn_part_file_reserve(const char *part, size_t num_bytes) {
#ifdef __linux__
  int descriptor = open(part, O_RDWR);
  if (descriptor < 0) return;
  int ignored = fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, (off_t)num_bytes);
  (void)ignored;
  close(descriptor);
#else
  (void)part;
  (void)num_bytes;
#endif
}

/* Cutting a file to the length that it has frees the blocks behind its end. */
static bool settle(const char *part) {
  int descriptor = open(part, O_RDWR);
  if (descriptor < 0) return false;
  struct stat info;
  bool good =
      fstat(descriptor, &info) == 0 && ftruncate(descriptor, info.st_size) == 0 && fsync(descriptor) == 0;
  int reason = errno;
  good = close(descriptor) == 0 && good;
  if (!good && reason) errno = reason;
  return good;
}

/* Some file systems cannot sync a folder; they have done what they can by then. */
static void sync_folder(const char *path) {
  const char *end = strrchr(path, '/');
  size_t length = !end ? 0 : end == path ? 1 : (size_t)(end - path);
  char *folder = malloc(length + 2);
  if (!folder) return;
  memcpy(folder, end ? path : ".", end ? length : 1);
  folder[end ? length : 1] = '\0';
  int descriptor = open(folder, O_RDONLY);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
  free(folder);
}

static bool finish(const char *part, const char *path) {
  if (!settle(part) || rename(part, path) != 0) return false;
  sync_folder(path);
  return true;
}

RpinnStatus rpinn_part_file_finish(RpinnContext *context, const char *part, const char *path) {
  return finish(part, path) ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
}

/* ---- texts ---- */

static bool write_all(int descriptor, const RpinnText *text) {
  for (size_t done = 0; done < text->length;) {
    ssize_t count = write(descriptor, text->bytes + done, text->length - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += (size_t)count;
  }
  return true;
}

/* Write and close; errno tells of the first failure. */
static bool fill(int descriptor, const RpinnText *text) {
  bool good = write_all(descriptor, text);
  int reason = errno;
  if (close(descriptor) != 0 && good) return false;
  errno = reason;
  return good;
}

/* A device or a pipe. */
static RpinnStatus write_straight(RpinnContext *context, const char *path, const RpinnText *text) {
  int descriptor = open(path, O_WRONLY);
  if (descriptor >= 0 && fill(descriptor, text)) return RPINN_OK;
  return rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
}

/* mode: of the file that is there, or 0. File systems without permissions cannot keep them. */
static bool write_beside(const char *part, const char *place, mode_t mode, const RpinnText *text) {
  if (mode && access(place, W_OK) != 0) return false;
  int descriptor = open_part(part, text->length);
  if (descriptor < 0) return false;
  int ignored = mode ? fchmod(descriptor, mode & 0777) : 0;
  (void)ignored;
  bool good = fill(descriptor, text) && finish(part, place);
  int reason = errno;
  if (!good) unlink(part);
  errno = reason;
  return good;
}

RpinnStatus rpinn_part_file_write(RpinnContext *context, const char *path, const RpinnText *text) {
  struct stat before;
  if (text->failed) return rpinn_fail_memory(context);
  bool exists = stat(path, &before) == 0;
  if (exists && !S_ISREG(before.st_mode)) return write_straight(context, path, text);
  char *place = exists ? realpath(path, NULL) : NULL;
  char *part = rpinn_part_file_path(place ? place : path);
  RpinnStatus status = RPINN_OK;
  if (!part)
    status = rpinn_fail_memory(context);
  else if (!write_beside(part, place ? place : path, place ? before.st_mode : 0, text))
    status = rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
  free(part);
  free(place);
  return status;
}

static bool holds(const char *path, const RpinnText *text) {
  char piece[1 << 14];
  size_t length = 0, count;
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  bool same = true;
  while (same && (count = fread(piece, 1, sizeof piece, file)) > 0) {
    same = count <= text->length - length && !memcmp(text->bytes + length, piece, count);
    length += count;
  }
  same = same && !ferror(file) && length == text->length;
  fclose(file);
  return same;
}

RpinnStatus rpinn_part_file_update(RpinnContext *context, const char *path, const RpinnText *text) {
  return !text->failed && holds(path, text) ? RPINN_OK : rpinn_part_file_write(context, path, text);
}

/* ---- copies ---- */

/* What is left of one file behind what the other has. errno tells of a failure. */
static bool pour(int from, int to) {
  char piece[1 << 16];
  ssize_t count;
  while ((count = read(from, piece, sizeof piece)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (!write_all(to, &(RpinnText){.bytes = piece, .length = (size_t)count})) return false;
  }
  return true;
}

RpinnStatus rpinn_part_file_copy(RpinnContext *context, const char *from, const char *to) {
  struct stat info;
  char *part = rpinn_part_file_path(to);
  if (!part) return rpinn_fail_memory(context);
  int source = open(from, O_RDONLY);
  bool is_there = source >= 0 && fstat(source, &info) == 0;
  int copy = is_there ? open_part(part, (size_t)info.st_size) : -1;
  bool good = copy >= 0 && pour(source, copy);
  if (copy >= 0) good = close(copy) == 0 && good;
  good = good && finish(part, to);
  RpinnStatus status = good       ? RPINN_OK
                       : is_there ? rpinn_fail_file(context, RPINN_ERROR_IO, "write", to)
                                  : rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", from);
  if (source >= 0) close(source);
  if (!good && copy >= 0) unlink(part);
  free(part);
  return status;
}
