#include "draw_spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct RpinnDrawSpool {
  FILE *file;
  char *path; /* for messages */
  size_t width, num_rows;
};

RpinnStatus rpinn_draw_spool_create(RpinnContext *context, const char *folder, size_t width,
                                    RpinnDrawSpool **spool) {
  enum { PATH_SIZE = 4096 };
  *spool = calloc(1, sizeof **spool);
  char *path = malloc(PATH_SIZE);
  if (!*spool || !path) {
    free(path);
    return rpinn_fail_memory(context);
  }
  snprintf(path, PATH_SIZE, "%s/draws.spool", folder);
  **spool = (RpinnDrawSpool){.file = fopen(path, "w+b"), .path = path, .width = width};
  if (!(*spool)->file && (errno == EACCES || errno == EROFS || errno == EPERM)) {
    (*spool)->file = tmpfile(); /* a finished run may be write-protected */
    return (*spool)->file ? RPINN_OK : rpinn_fail_file(context, RPINN_ERROR_IO, "make", path);
  }
  if (!(*spool)->file) return rpinn_fail_file(context, RPINN_ERROR_IO, "make", path);
  unlink(path);
  return RPINN_OK;
}

void rpinn_draw_spool_destroy(RpinnDrawSpool *spool) {
  if (!spool) return;
  if (spool->file) fclose(spool->file);
  free(spool->path);
  free(spool);
}

RpinnStatus rpinn_draw_spool_add(RpinnContext *context, RpinnDrawSpool *spool, size_t num_first,
                                 const double *first, const double *rest) {
  size_t num_rest = spool->width - num_first;
  if (fwrite(first, sizeof *first, num_first, spool->file) != num_first ||
      fwrite(rest, sizeof *rest, num_rest, spool->file) != num_rest)
    return rpinn_fail_file(context, RPINN_ERROR_IO, "write", spool->path);
  spool->num_rows++;
  return RPINN_OK;
}

RpinnStatus rpinn_draw_spool_columns(RpinnContext *context, RpinnDrawSpool *spool, size_t first, size_t count,
                                     double *columns) {
  double *row = malloc((count ? count : 1) * sizeof *row);
  if (!row) return rpinn_fail_memory(context);
  RpinnStatus status = RPINN_OK;
  if (fflush(spool->file) != 0) status = rpinn_fail_file(context, RPINN_ERROR_IO, "write", spool->path);
  for (size_t i = 0; i < spool->num_rows && status == RPINN_OK; i++) {
    off_t place = (off_t)((i * spool->width + first) * sizeof(double));
    ssize_t size = (ssize_t)(count * sizeof(double));
    if (pread(fileno(spool->file), row, (size_t)size, place) != size)
      status = rpinn_fail_file(context, RPINN_ERROR_IO, "read", spool->path);
    for (size_t k = 0; k < count; k++) columns[k * spool->num_rows + i] = row[k];
  }
  free(row);
  return status;
}
