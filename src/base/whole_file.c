/* Read in pieces up to the limit instead of asking for the size first: pipes and devices have none. */
#include "whole_file.h"

#include <stdio.h>

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
