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

RpinnStatus rpinn_part_file_create(RpinnContext *context, const char *part, size_t num_bytes) {
  int descriptor = open(part, O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (descriptor < 0) return rpinn_fail_file(context, RPINN_ERROR_IO, "create", part);
  RpinnStatus status = RPINN_OK;
  if (num_bytes && !has_room(descriptor, num_bytes)) {
    status = rpinn_fail(context, RPINN_ERROR_IO, "cannot write '%s': it needs %.1f MB: %s", part,
                        1e-6 * (double)num_bytes, strerror(errno));
    remove(part);
  }
  close(descriptor);
  return status;
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

RpinnStatus rpinn_part_file_finish(RpinnContext *context, const char *part, const char *path) {
  if (!settle(part) || rename(part, path) != 0)
    return rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
  sync_folder(path);
  return RPINN_OK;
}

RpinnStatus rpinn_part_file_write(RpinnContext *context, const char *path, const RpinnText *text) {
  char *part = text->failed ? NULL : rpinn_part_file_path(path);
  if (!part) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_part_file_create(context, part, text->length);
  FILE *file = status == RPINN_OK ? fopen(part, "wb") : NULL;
  if (status == RPINN_OK) {
    bool good = file && fwrite(text->bytes, 1, text->length, file) == text->length;
    good = file && fclose(file) == 0 && good;
    if (!good) status = rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
    if (good) status = rpinn_part_file_finish(context, part, path);
    if (status != RPINN_OK) remove(part);
  }
  free(part);
  return status;
}
