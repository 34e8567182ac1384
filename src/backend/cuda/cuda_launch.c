/* A slice of a batch on the device: parameters, scales and scratch of its members, and the launch. */
#include <stdlib.h>

#include "cuda_engine.h"

enum {
  MEMORY_SHARE = 4
}; /* a slice takes at most this part of the device's memory, for other threads have slices too */

/* Bytes that every call needs of a member. */
static size_t bytes_of_member(const RpinnCudaEngine *engine, const RpinnWorkTables *tables) {
  const RpinnDeviceWork *work = &tables->work;
  size_t reals = 2 * (size_t)work->layout_size + (size_t)work->registers_size + tables->workspace_size;
  size_t numbers = (size_t)work->num_results * (5 + (size_t)work->num_unknowns) + 2 * (size_t)work->num_rows +
                   (size_t)work->num_items;
  return reals * engine->real_size + numbers * sizeof(double);
}

/* Scratch of all members of the slice. */
static RpinnStatus reserve_scratch(RpinnContext *context, RpinnCudaEngine *engine,
                                   const RpinnWorkTables *tables, RpinnCudaSlice *slice) {
  const RpinnDeviceWork *work = &tables->work;
  RpinnDeviceCall *call = &slice->call;
  size_t results = (size_t)work->num_results * sizeof(double);
  const struct {
    RpinnDeviceBuffer buffer;
    size_t bytes;
    void **memory;
  } all[] = {
      {RPINN_BUFFER_GRADIENT, (size_t)work->layout_size * engine->real_size, &call->gradient},
      {RPINN_BUFFER_RESULTS, results, (void **)&call->results},
      {RPINN_BUFFER_SQUARES, results, (void **)&call->squares},
      {RPINN_BUFFER_TERM_SUMS, (size_t)work->num_items * sizeof(double), (void **)&call->term_sums},
      {RPINN_BUFFER_MIXED, 3 * results, (void **)&call->mixed},
      {RPINN_BUFFER_UNKNOWN_SLOPES, results * (size_t)work->num_unknowns, (void **)&call->unknown_slopes},
      {RPINN_BUFFER_REGISTERS, (size_t)work->registers_size * engine->real_size, &call->registers},
      {RPINN_BUFFER_WORKSPACE, tables->workspace_size * engine->real_size, &call->workspace}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    RPINN_TRY(rpinn_cuda_reserve(context, engine, all[i].buffer, slice->count * all[i].bytes, all[i].memory));
  return RPINN_OK;
}

/* The model's row scales serve all members, unless one has scales of its own. */
static RpinnStatus put_scales(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice) {
  const RpinnEnergyModel *model = engine->base.model;
  bool has_own = false;
  for (size_t k = 0; k < slice->count; k++)
    has_own = has_own || slice->members[k].row_scale != model->row_scale;
  slice->call.row_scale = engine->model_scale;
  slice->call.scale_step = 0;
  if (!has_own) return RPINN_OK;
  for (size_t k = 0; k < slice->count; k++) slice->vectors[k] = slice->members[k].row_scale;
  slice->call.scale_step = (int64_t)model->num_rows;
  return rpinn_cuda_put_numbers(context, engine, RPINN_BUFFER_ROW_SCALE, slice->count, model->num_rows,
                                slice->vectors, (void **)&slice->call.row_scale);
}

RpinnStatus rpinn_cuda_put_offsets(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice) {
  size_t M = engine->base.model->num_rows;
  bool has_offsets = false;
  for (size_t k = 0; k < slice->count; k++) {
    slice->vectors[k] = slice->members[k].offsets;
    has_offsets = has_offsets || slice->vectors[k];
  }
  slice->call.offsets = NULL;
  return has_offsets ? rpinn_cuda_put_numbers(context, engine, RPINN_BUFFER_OFFSETS, slice->count, M,
                                              slice->vectors, (void **)&slice->call.offsets)
                     : RPINN_OK;
}

static RpinnStatus fill_slice(RpinnContext *context, RpinnCudaEngine *engine, const RpinnWorkTables *tables,
                              const RpinnMemberBatch *batch, RpinnCudaSlice *slice) {
  for (size_t k = 0; k < slice->count; k++) {
    slice->members[k] = rpinn_batch_member(engine->base.model, batch, slice->first + k);
    slice->vectors[k] = slice->members[k].theta;
  }
  slice->call.placement = tables->placement;
  slice->call.num_parts = slice->call.num_shares = 1;
  if (slice->vectors[0]) /* not of chains, whose parameters are on the device */
    RPINN_TRY(rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_THETA, slice->count, slice->vectors,
                                     engine->layout.frozen, &slice->call.theta));
  RPINN_TRY(put_scales(context, engine, slice));
  return reserve_scratch(context, engine, tables, slice);
}

RpinnStatus rpinn_cuda_slice_open(RpinnContext *context, RpinnCudaEngine *engine,
                                  const RpinnWorkTables *tables, const RpinnMemberBatch *batch, size_t first,
                                  size_t bytes, RpinnCudaSlice *slice) {
  size_t most = engine->device->memory / MEMORY_SHARE / (bytes + bytes_of_member(engine, tables)),
         left = batch->num_members - first;
  if (engine->most_members && most > engine->most_members) most = engine->most_members;
  if (most == 0) most = 1;
  *slice = (RpinnCudaSlice){.first = first, .count = left < most ? left : most, .most = most};
  slice->members = malloc(slice->count * sizeof *slice->members);
  slice->vectors = malloc(slice->count * sizeof *slice->vectors);
  RpinnStatus status = slice->members && slice->vectors ? fill_slice(context, engine, tables, batch, slice)
                                                        : rpinn_fail_memory(context);
  if (status != RPINN_OK) rpinn_cuda_slice_close(slice);
  return status;
}

void rpinn_cuda_slice_close(RpinnCudaSlice *slice) {
  free(slice->members);
  free(slice->vectors);
  slice->members = NULL;
  slice->vectors = NULL;
}

RpinnStatus rpinn_cuda_clear_gradient(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice) {
  return engine->device->operations->clear(context, engine->device, slice->call.gradient,
                                           slice->count * engine->layout.size * engine->real_size);
}

RpinnStatus rpinn_cuda_launch(RpinnContext *context, RpinnCudaEngine *engine, const RpinnWorkTables *tables,
                              const RpinnCudaSlice *slice) {
  RpinnLaunch launch = {.is_double = engine->is_double,
                        .is_fast = tables->is_fast,
                        .shared_bytes = tables->shared_bytes,
                        .num_members = slice->count,
                        .is_ahead = slice->is_ahead,
                        .is_beside = slice->is_beside};
  if (tables->is_fused)
    return engine->device->operations->run_fused(context, engine->device, &launch, &tables->work,
                                                 &tables->fused, &slice->call);
  return engine->device->operations->run_members(context, engine->device, &launch, &tables->work,
                                                 &slice->call);
}

/* Half as many members, with all memory free again: is that worth a try? */
static bool cut(RpinnContext *context, RpinnCudaEngine *engine, size_t count) {
  if (!engine->device->is_full || count < 2) return false;
  engine->most_members = count / 2;
  rpinn_cuda_release_buffers(engine);
  if (context) rpinn_context_clear_error(context);
  rpinn_log(context, RPINN_LOG_WARNING,
            "backend cuda: the GPU has no memory for %zu members at a time, %zu are tried from now on", count,
            engine->most_members);
  return true;
}

RpinnStatus rpinn_cuda_run_slices(RpinnContext *context, RpinnCudaEngine *engine,
                                  const RpinnWorkTables *tables, const RpinnMemberBatch *batch, size_t bytes,
                                  RpinnCudaSliceRun *run, const void *wanted) {
  for (size_t first = 0; first < batch->num_members;) {
    RpinnCudaSlice slice;
    engine->device->is_full = false;
    RpinnStatus status = rpinn_cuda_slice_open(context, engine, tables, batch, first, bytes, &slice);
    if (status == RPINN_OK) status = run(context, engine, &slice, wanted);
    rpinn_cuda_slice_close(&slice);
    if (status == RPINN_OK)
      first += slice.count;
    else if (!cut(context, engine, slice.count))
      return status;
  }
  return RPINN_OK;
}
