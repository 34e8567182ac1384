/* HDF5 crashes when the program ends if a file could not be closed because the disk was full. So the disk is
 * asked for room before HDF5 sees the file, and the room is set aside while it writes. */
#include "netcdf_file.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part_file.h"
#include "rpinn/version.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void rpinn_netcdf_begin_call(void) {
  pthread_mutex_lock(&one_at_a_time);
  errno = 0;
}

void rpinn_netcdf_end_call(void) {
  int reason = errno;
  pthread_mutex_unlock(&one_at_a_time);
  errno = reason;
}

/* NetCDF hides the reason of HDF5's failures; errno still knows it. */
RpinnStatus rpinn_netcdf_fail(RpinnContext *context, const RpinnNetcdf *netcdf, int code) {
  int reason = errno;
  if (code == NC_ENOMEM) return rpinn_fail_memory(context);
  bool hidden = code == NC_EHDFERR || code == NC_EIO;
  const char *text = hidden && reason ? strerror(reason) : nc_strerror(code);
  return rpinn_fail(context, RPINN_ERROR_IO, "cannot write '%s': %s", netcdf->path, text);
}

/* ---- groups ---- */

RpinnStatus rpinn_netcdf_put_text(RpinnContext *context, const RpinnNetcdf *netcdf, int group, int variable,
                                  const char *name, const char *text) {
  RPINN_TRY_NETCDF(context, netcdf, nc_put_att_text(group, variable, name, strlen(text), text));
  return RPINN_OK;
}

static RpinnStatus put_origin(RpinnContext *context, const RpinnNetcdf *netcdf, int group) {
  const char *const origin[][2] = {
      {"inference_library", "rpinn"},     {"inference_library_version", rpinn_version()},
      {"creation_library", "rpinn"},      {"creation_library_version", rpinn_version()},
      {"creation_library_language", "C"}, {"method", netcdf->method}};
  for (size_t i = 0; i < sizeof origin / sizeof origin[0]; i++)
    RPINN_TRY(rpinn_netcdf_put_text(context, netcdf, group, NC_GLOBAL, origin[i][0], origin[i][1]));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_define_group(RpinnContext *context, const RpinnNetcdf *netcdf, const char *name,
                                      int *group) {
  return rpinn_netcdf_define_inner_group(context, netcdf, netcdf->root, name, group);
}

RpinnStatus rpinn_netcdf_define_inner_group(RpinnContext *context, const RpinnNetcdf *netcdf, int outer,
                                            const char *name, int *group) {
  RPINN_TRY_NETCDF(context, netcdf, nc_def_grp(outer, name, group));
  return put_origin(context, netcdf, *group);
}

/* ---- dimensions and variables ---- */

static bool is_taken(int group, const char *name) {
  int id;
  rpinn_netcdf_begin_call();
  int code = nc_inq_varid(group, name, &id);
  rpinn_netcdf_end_call();
  return code == NC_NOERR;
}

/* stem + suffix, with underscores at the end until nothing in the group has the name: every dimension has a variable of
 * its own name. */
static void free_name(int group, const char *stem, const char *suffix, char name[RPINN_NETCDF_NAME_SIZE]) {
  int length = snprintf(name, RPINN_NETCDF_NAME_SIZE, "%.120s%.120s", stem, suffix);
  while (length < NC_MAX_NAME && is_taken(group, name)) {
    name[length++] = '_';
    name[length] = '\0';
  }
}

/* A dimension and the variable of its name. */
static RpinnStatus define_dimension(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                    const char *stem, const char *suffix, nc_type type, size_t count,
                                    int *dimension, int *variable) {
  char name[RPINN_NETCDF_NAME_SIZE];
  free_name(group, stem, suffix, name);
  RPINN_TRY_NETCDF(context, netcdf, nc_def_dim(group, name, count, dimension));
  RPINN_TRY_NETCDF(context, netcdf, nc_def_var(group, name, type, 1, dimension, variable));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_define_axis(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                     const char *name, size_t count, const double *places, int *dimension) {
  int variable;
  RPINN_TRY(define_dimension(context, netcdf, group, name, "", NC_DOUBLE, count, dimension, &variable));
  RPINN_TRY_NETCDF(context, netcdf, nc_put_var_double(group, variable, places));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_define_numbers(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                        const char *stem, const char *suffix, size_t count, size_t step,
                                        int *dimension) {
  int variable;
  RPINN_TRY(define_dimension(context, netcdf, group, stem, suffix, NC_INT64, count, dimension, &variable));
  long long *numbers = malloc((count ? count : 1) * sizeof *numbers);
  if (!numbers) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) numbers[i] = (long long)(i * step);
  rpinn_netcdf_begin_call();
  int code = nc_put_var_longlong(group, variable, numbers);
  rpinn_netcdf_end_call();
  RpinnStatus status = code == NC_NOERR ? RPINN_OK : rpinn_netcdf_fail(context, netcdf, code);
  free(numbers);
  return status;
}

RpinnStatus rpinn_netcdf_write_words(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                     const char *name, int dimension, const char *const *words) {
  int variable;
  RPINN_TRY(
      rpinn_netcdf_define_variable(context, netcdf, group, name, "", NC_STRING, 1, &dimension, &variable));
  RPINN_TRY_NETCDF(context, netcdf, nc_put_var_string(group, variable, (const char **)words));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_define_variable(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                         const char *stem, const char *suffix, nc_type type,
                                         size_t num_dimensions, const int *dimensions, int *variable) {
  char name[RPINN_NETCDF_NAME_SIZE];
  free_name(group, stem, suffix, name);
  RPINN_TRY_NETCDF(context, netcdf, nc_def_var(group, name, type, (int)num_dimensions, dimensions, variable));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_put_fill(RpinnContext *context, const RpinnNetcdf *netcdf, int group, int variable,
                                  nc_type type) {
  double fill = (double)NAN;
  float float_fill = NAN;
  if (type == NC_DOUBLE) RPINN_TRY_NETCDF(context, netcdf, nc_def_var_fill(group, variable, NC_FILL, &fill));
  if (type == NC_FLOAT)
    RPINN_TRY_NETCDF(context, netcdf, nc_def_var_fill(group, variable, NC_FILL, &float_fill));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_write(RpinnContext *context, const RpinnNetcdf *netcdf, int group, const char *stem,
                               const char *suffix, size_t num_dimensions, const int *dimensions,
                               const double *values) {
  int variable;
  RPINN_TRY(rpinn_netcdf_define_variable(context, netcdf, group, stem, suffix, NC_DOUBLE, num_dimensions,
                                         dimensions, &variable));
  RPINN_TRY(rpinn_netcdf_put_fill(context, netcdf, group, variable, NC_DOUBLE));
  RPINN_TRY_NETCDF(context, netcdf, nc_put_var_double(group, variable, values));
  return RPINN_OK;
}

RpinnStatus rpinn_netcdf_write_column(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                      const char *stem, const char *suffix, int dimension, size_t count,
                                      const double *column, size_t width) {
  double *values = malloc((count ? count : 1) * sizeof *values);
  if (!values) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) values[i] = column[i * width];
  RpinnStatus status = rpinn_netcdf_write(context, netcdf, group, stem, suffix, 1, &dimension, values);
  free(values);
  return status;
}

/* ---- the file and its life ---- */

/* HDF5 1.10 crashes where there is no memory for the cache of a new file, so it is asked for before. */
static bool has_room_for_file(void) {
  enum { ROOM = 16 << 20 };
  volatile char *room = malloc(ROOM); /* volatile: an allocation that nobody looks at may be left out */
  if (room) room[0] = 0;
  free((void *)room);
  return room;
}

static char *copy_text(const char *text) {
  char *copy = malloc(strlen(text) + 1);
  return copy ? memcpy(copy, text, strlen(text) + 1) : NULL;
}

RpinnStatus rpinn_netcdf_create(RpinnContext *context, const char *path, const char *method, size_t size,
                                RpinnNetcdf *netcdf) {
  *netcdf = (RpinnNetcdf){.path = copy_text(path), .part = rpinn_part_file_path(path), .method = method};
  if (!netcdf->path || !netcdf->part || !has_room_for_file()) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_part_file_create(context, netcdf->part, size));
  RPINN_TRY_NETCDF(context, netcdf, nc_create(netcdf->part, NC_NETCDF4 | NC_CLOBBER, &netcdf->root));
  netcdf->is_open = true;
  rpinn_part_file_reserve(netcdf->part, size);
  return put_origin(context, netcdf, netcdf->root);
}

RpinnStatus rpinn_netcdf_finish(RpinnContext *context, RpinnNetcdf *netcdf) {
  netcdf->is_open = false;
  RPINN_TRY_NETCDF(context, netcdf, nc_close(netcdf->root));
  RPINN_TRY(rpinn_part_file_finish(context, netcdf->part, netcdf->path));
  netcdf->is_finished = true;
  return RPINN_OK;
}

void rpinn_netcdf_destroy(RpinnNetcdf *netcdf) {
  if (netcdf->is_open) {
    rpinn_netcdf_begin_call();
    nc_close(netcdf->root);
    rpinn_netcdf_end_call();
  }
  if (netcdf->part && !netcdf->is_finished) remove(netcdf->part);
  free(netcdf->path);
  free(netcdf->part);
  *netcdf = (RpinnNetcdf){0};
}
