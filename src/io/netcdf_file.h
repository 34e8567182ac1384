/* A NetCDF-4 file as we write it: beside its place and renamed into it at the end, with room on the disk set aside, with
 * groups that say who made them, a variable for every dimension, and failures that have a reason.
 *
 * Names come as a stem and a suffix; a variable whose name is taken in its group gets trailing underscores. NetCDF and HDF5
 * serve one thread of a process at a time, so that every call waits for its turn. */
#ifndef RPINN_IO_NETCDF_FILE_H
#define RPINN_IO_NETCDF_FILE_H

#include <netcdf.h>

#include "context.h"

enum { RPINN_NETCDF_NAME_SIZE = NC_MAX_NAME + 1 };

typedef struct RpinnNetcdf {
  char *path, *part;
  const char *method; /* borrowed; every group names it */
  int root;
  bool is_open, is_finished;
} RpinnNetcdf;

/* Starts path.part; size: no less than the bytes that it will have. Destroy it also after a failure. */
RpinnStatus rpinn_netcdf_create(RpinnContext *context, const char *path, const char *method, size_t size,
                                RpinnNetcdf *netcdf);
/* Put the file into its place; an existing one is replaced. */
RpinnStatus rpinn_netcdf_finish(RpinnContext *context, RpinnNetcdf *netcdf);
/* Without finish, or after it failed: path.part is removed. */
void rpinn_netcdf_destroy(RpinnNetcdf *netcdf);

/* What a code of NetCDF means for the file. */
RpinnStatus rpinn_netcdf_fail(RpinnContext *context, const RpinnNetcdf *netcdf, int code);
/* Before and after every call of NetCDF; errno is 0 before, and that of the call after. */
void rpinn_netcdf_begin_call(void);
void rpinn_netcdf_end_call(void);
/* Evaluate a call of NetCDF; hand its failure on. */
#define RPINN_TRY_NETCDF(context, netcdf, call)                                                              \
  do {                                                                                                       \
    rpinn_netcdf_begin_call();                                                                               \
    int try_code = (call);                                                                                   \
    rpinn_netcdf_end_call();                                                                                 \
    if (try_code != NC_NOERR) return rpinn_netcdf_fail(context, netcdf, try_code);                           \
  } while (0)

RpinnStatus rpinn_netcdf_define_group(RpinnContext *context, const RpinnNetcdf *netcdf, const char *name,
                                      int *group);
/* A group within another one. */
RpinnStatus rpinn_netcdf_define_inner_group(RpinnContext *context, const RpinnNetcdf *netcdf, int outer,
                                            const char *name, int *group);
/* An attribute of a variable, or of the group for NC_GLOBAL. */
RpinnStatus rpinn_netcdf_put_text(RpinnContext *context, const RpinnNetcdf *netcdf, int group, int variable,
                                  const char *name, const char *text);

/* A dimension whose places are numbered 0, step, 2 step, … */
RpinnStatus rpinn_netcdf_define_numbers(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                        const char *stem, const char *suffix, size_t count, size_t step,
                                        int *dimension);
/* A dimension with places [count] of its own. */
RpinnStatus rpinn_netcdf_define_axis(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                     const char *name, size_t count, const double *places, int *dimension);

/* A variable of one dimension with words [count]. Others of the group that name it as a coordinate are told by
 * rpinn_netcdf_put_text. */
RpinnStatus rpinn_netcdf_write_words(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                     const char *name, int dimension, const char *const *words);
/* A variable whose numbers come later. */
RpinnStatus rpinn_netcdf_define_variable(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                         const char *stem, const char *suffix, nc_type type,
                                         size_t num_dimensions, const int *dimensions, int *variable);
/* Numbers of a floating-point variable that are missing are NaN. */
RpinnStatus rpinn_netcdf_put_fill(RpinnContext *context, const RpinnNetcdf *netcdf, int group, int variable,
                                  nc_type type);
/* A variable with its numbers. */
RpinnStatus rpinn_netcdf_write(RpinnContext *context, const RpinnNetcdf *netcdf, int group, const char *stem,
                               const char *suffix, size_t num_dimensions, const int *dimensions,
                               const double *values);
/* The same of one dimension, from a column of a table: numbers that stand `width` apart. */
RpinnStatus rpinn_netcdf_write_column(RpinnContext *context, const RpinnNetcdf *netcdf, int group,
                                      const char *stem, const char *suffix, int dimension, size_t count,
                                      const double *column, size_t width);

#endif
