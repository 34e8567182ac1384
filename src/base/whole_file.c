/* Read in pieces up to the limit instead of asking for the size first: pipes and devices have none. */
#include "whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

RpinnStatus rpinn_file_check_size(RpinnContext *context, const char *file, size_t length,
                                  size_t limit_mebibytes) {
  if (length <= limit_mebibytes << 20) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = file},
                       "found more than %zu MiB, expected a smaller file", limit_mebibytes);
}

static RpinnStatus read_pieces(RpinnContext *context, FILE *stream, const char *path, size_t limit_mebibytes,
                               RpinnText *bytes) {
  char piece[1 << 14];
  size_t count;
  while ((count = fread(piece, 1, sizeof piece, stream)) > 0) {
    rpinn_text_append_bytes(bytes, piece, count);
    if (bytes->failed) return rpinn_fail_memory(context);
    RPINN_TRY(rpinn_file_check_size(context, path, bytes->length, limit_mebibytes));
  }
  if (ferror(stream)) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read", path);
  return RPINN_OK;
}

RpinnStatus rpinn_file_read(RpinnContext *context, const char *path, size_t limit_mebibytes,
                            RpinnText *bytes) {
  FILE *stream = fopen(path, "rb");
  if (!stream) return rpinn_fail_file(context, RPINN_ERROR_INPUT, "open", path);
  RpinnStatus status = read_pieces(context, stream, path, limit_mebibytes, bytes);
  fclose(stream);
  return status;
}

RpinnStatus rpinn_file_write(RpinnContext *context, const char *path, const RpinnText *text) {
  RpinnText temporary = {0};
  if (text->failed) return rpinn_fail_memory(context);
  rpinn_text_append(&temporary, "%s.part", path);
  if (temporary.failed) return rpinn_fail_memory(context);
  FILE *file = fopen(temporary.bytes, "wb");
  RpinnStatus status = RPINN_OK;
  if (!file) {
    status = rpinn_fail_file(context, RPINN_ERROR_IO, "create", temporary.bytes);
  } else {
    bool good = fwrite(text->bytes ? text->bytes : "", 1, text->length, file) == text->length &&
                fflush(file) == 0 && fsync(fileno(file)) == 0;
    int reason = errno;
    good = fclose(file) == 0 && good;
    if (!good || rename(temporary.bytes, path) != 0) {
      if (!good) errno = reason;
      status = rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
      remove(temporary.bytes);
    }
  }
  rpinn_text_free(&temporary);
  return status;
}
