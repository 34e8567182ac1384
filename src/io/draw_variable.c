#include "draw_variable.h"

#include <stdint.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 17, MAX_DIMENSIONS = 2 + RPINN_DRAW_MAX_AXES };

static size_t type_size(nc_type type) {
  return type == NC_DOUBLE || type == NC_INT64 ? 8 : type == NC_FLOAT ? 4 : 1;
}

/* Rows in a chunk. */
static size_t chunk_rows(size_t row_bytes, size_t num_draws) {
  size_t rows = row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
  return rows < num_draws ? rows : num_draws;
}

size_t rpinn_draw_variable_bytes(size_t num_chains, size_t num_draws, size_t row, nc_type type) {
  enum { DESCRIPTION = 8192, INDEX = 256 };
  size_t row_bytes = row * type_size(type);
  size_t rows = chunk_rows(row_bytes, num_draws), num_chunks = (num_draws + rows - 1) / rows;
  return num_chains * num_chunks * (rows * row_bytes + INDEX) + DESCRIPTION;
}

RpinnStatus rpinn_draw_group_define(RpinnContext *context, const RpinnNetcdf *netcdf, RpinnArena *arena,
                                    const char *name, size_t num_chains, size_t num_draws, size_t step,
                                    RpinnDrawGroup *group) {
  *group = (RpinnDrawGroup){.netcdf = netcdf, .arena = arena, .num_draws = num_draws};
  RPINN_TRY(rpinn_netcdf_define_group(context, netcdf, name, &group->id));
  RPINN_TRY(
      rpinn_netcdf_define_numbers(context, netcdf, group->id, "chain", "", num_chains, 1, &group->chain));
  return rpinn_netcdf_define_numbers(context, netcdf, group->id, "draw", "", num_draws, step, &group->draw);
}

/* How long its rows are. */
static RpinnStatus measure_row(RpinnContext *context, const RpinnDrawGroup *group, size_t num_axes,
                               const int *axes, RpinnDrawVariable *variable) {
  variable->num_axes = num_axes;
  variable->row = 1;
  for (size_t i = 0; i < num_axes; i++) {
    RPINN_TRY_NETCDF(context, group->netcdf, nc_inq_dimlen(group->id, axes[i], &variable->counts[i]));
    variable->row *= variable->counts[i];
  }
  return RPINN_OK;
}

RpinnStatus rpinn_draw_variable_define(RpinnContext *context, const RpinnDrawGroup *group, const char *stem,
                                       const char *suffix, nc_type type, size_t num_axes, const int *axes,
                                       RpinnDrawVariable *variable) {
  const RpinnNetcdf *netcdf = group->netcdf;
  *variable =
      (RpinnDrawVariable){.netcdf = netcdf, .group = group->id, .type = type, .num_draws = group->num_draws};
  RPINN_TRY(measure_row(context, group, num_axes, axes, variable));
  size_t row_bytes = variable->row * type_size(type);
  variable->chunk = chunk_rows(row_bytes, group->num_draws);
  variable->buffer = rpinn_arena_allocate(group->arena, variable->chunk, row_bytes);
  if (!variable->buffer) return rpinn_fail_memory(context);

  int dimensions[MAX_DIMENSIONS] = {group->chain, group->draw};
  size_t chunks[MAX_DIMENSIONS] = {1, variable->chunk};
  for (size_t i = 0; i < num_axes; i++) {
    dimensions[2 + i] = axes[i];
    chunks[2 + i] = variable->counts[i];
  }
  RPINN_TRY(rpinn_netcdf_define_variable(context, netcdf, group->id, stem, suffix, type, 2 + num_axes,
                                         dimensions, &variable->id));
  RPINN_TRY_NETCDF(context, netcdf, nc_def_var_chunking(group->id, variable->id, NC_CHUNKED, chunks));
  /* Whole chunks are written once: a cache for one is enough, and the default would take 16 MB of each. */
  RPINN_TRY_NETCDF(context, netcdf,
                   nc_set_var_chunk_cache(group->id, variable->id, variable->chunk * row_bytes, 1, 0.75F));
  if (type == NC_BYTE)
    return rpinn_netcdf_put_text(context, netcdf, group->id, variable->id, "dtype", "bool");
  return rpinn_netcdf_put_fill(context, netcdf, group->id, variable->id, type);
}

RpinnStatus rpinn_draw_variable_fork(RpinnContext *context, RpinnArena *arena,
                                     const RpinnDrawVariable *variable, size_t chain,
                                     RpinnDrawVariable *fork) {
  *fork = *variable;
  fork->num_added = chain * variable->num_draws;
  fork->buffer = rpinn_arena_allocate(arena, variable->chunk, variable->row * type_size(variable->type));
  return fork->buffer ? RPINN_OK : rpinn_fail_memory(context);
}

static void convert_row(const RpinnDrawVariable *variable, const double *values) {
  void *row = variable->buffer + variable->num_buffered * variable->row * type_size(variable->type);
  switch (variable->type) {
  case NC_DOUBLE: memcpy(row, values, variable->row * sizeof *values); break;
  case NC_FLOAT:
    for (size_t i = 0; i < variable->row; i++) ((float *)row)[i] = (float)values[i];
    break;
  case NC_INT64:
    for (size_t i = 0; i < variable->row; i++) ((int64_t *)row)[i] = (int64_t)values[i];
    break;
  default:
    for (size_t i = 0; i < variable->row; i++) ((signed char *)row)[i] = values[i] != 0;
  }
}

/* The rows that are buffered, which are all of one chain. */
static RpinnStatus write_chunk(RpinnContext *context, RpinnDrawVariable *variable) {
  size_t first = variable->num_added - variable->num_buffered;
  size_t start[MAX_DIMENSIONS] = {first / variable->num_draws, first % variable->num_draws};
  size_t count[MAX_DIMENSIONS] = {1, variable->num_buffered};
  for (size_t i = 0; i < variable->num_axes; i++) count[2 + i] = variable->counts[i];
  RPINN_TRY_NETCDF(context, variable->netcdf,
                   nc_put_vara(variable->group, variable->id, start, count, variable->buffer));
  variable->num_buffered = 0;
  return RPINN_OK;
}

RpinnStatus rpinn_draw_variable_add(RpinnContext *context, RpinnDrawVariable *variable,
                                    const double *values) {
  convert_row(variable, values);
  variable->num_buffered++;
  variable->num_added++;
  bool is_full = variable->num_buffered == variable->chunk || variable->num_added % variable->num_draws == 0;
  return is_full ? write_chunk(context, variable) : RPINN_OK;
}
