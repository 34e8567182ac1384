/* Variables of a NetCDF file with the dimensions (chain, draw, …): each draw adds a row of numbers, chain by chain.
 *
 * They are cut into chunks of whole draws. One chunk of each variable is buffered and written when it is full or its
 * chain ends, so that HDF5 sees every chunk once, in an order that follows from the order of the draws alone, and needs
 * no cache. */
#ifndef RPINN_IO_DRAW_VARIABLE_H
#define RPINN_IO_DRAW_VARIABLE_H

#include "arena.h"
#include "channels.h"
#include "netcdf_file.h"

enum { RPINN_DRAW_MAX_AXES = RPINN_MAX_COORDINATES }; /* dimensions of a row */

/* A group with the dimensions chain and draw. */
typedef struct RpinnDrawGroup {
  const RpinnNetcdf *netcdf;
  RpinnArena *arena; /* for the buffers of its variables */
  int id, chain, draw;
  size_t num_draws; /* of each chain */
} RpinnDrawGroup;

typedef struct RpinnDrawVariable {
  const RpinnNetcdf *netcdf;
  int group, id;
  nc_type type;
  size_t num_axes, counts[RPINN_DRAW_MAX_AXES]; /* of a row */
  size_t row;                                   /* numbers in it */
  size_t chunk;                                 /* rows in a chunk */
  size_t num_draws, num_added, num_buffered;    /* of each chain; in all; not yet written */
  unsigned char *buffer;                        /* [chunk][row] of type */
} RpinnDrawVariable;

/* Draws 0, step, 2 step, … of each chain. Netcdf and arena must stay as long as there are variables. */
RpinnStatus rpinn_draw_group_define(RpinnContext *context, const RpinnNetcdf *netcdf, RpinnArena *arena,
                                    const char *name, size_t num_chains, size_t num_draws, size_t step,
                                    RpinnDrawGroup *group);
/* type: NC_DOUBLE, NC_FLOAT, NC_INT64, or NC_BYTE for yes and no; axes: dimensions of the group. */
RpinnStatus rpinn_draw_variable_define(RpinnContext *context, const RpinnDrawGroup *group, const char *stem,
                                       const char *suffix, nc_type type, size_t num_axes, const int *axes,
                                       RpinnDrawVariable *variable);
/* The same variable for the draws of one chain alone, with a buffer of its own in the arena: those of several chains may then come in
 * turns. Nothing may be added to the variable itself. */
RpinnStatus rpinn_draw_variable_fork(RpinnContext *context, RpinnArena *arena,
                                     const RpinnDrawVariable *variable, size_t chain,
                                     RpinnDrawVariable *fork);
/* The row of the next draw: values [row]. */
RpinnStatus rpinn_draw_variable_add(RpinnContext *context, RpinnDrawVariable *variable, const double *values);

/* Bytes of a variable in the file: whole chunks with their index, and its description. */
size_t rpinn_draw_variable_bytes(size_t num_chains, size_t num_draws, size_t row, nc_type type);

#endif
