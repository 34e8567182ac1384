/* Predictions: programs at points, planned once or for one call. What is prepared are the tables of their work. */
#include <stdlib.h>

#include "cuda_engine.h"

void rpinn_cuda_release(RpinnBackend *backend, void *prepared) {
  (void)backend;
  rpinn_work_tables_destroy(prepared);
}

RpinnStatus rpinn_cuda_prepare(RpinnContext *context, RpinnBackend *backend,
                               const RpinnEvaluation *evaluation, void **prepared) {
  const RpinnCudaEngine *engine = (const RpinnCudaEngine *)backend;
  RpinnDeviceWorkItem *items = calloc(evaluation->num_programs + 1, sizeof *items);
  RpinnWorkTables *tables = NULL;
  if (!items) return rpinn_fail_memory(context);
  for (size_t q = 0; q < evaluation->num_programs; q++)
    items[q] =
        (RpinnDeviceWorkItem){evaluation->programs[q], evaluation->num_points, evaluation->points, NULL};
  RpinnStatus status = rpinn_work_tables_create(context, engine->device, backend->model, &engine->layout,
                                                engine->is_double, items, evaluation->num_programs, &tables);
  free(items);
  *prepared = tables;
  return status;
}

RpinnStatus rpinn_cuda_evaluate_prepared(RpinnContext *context, RpinnBackend *backend,
                                         const RpinnMemberBatch *batch, void *prepared,
                                         double *const *values) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  const RpinnWorkTables *tables = prepared;
  size_t num_results = (size_t)tables->work.num_results;
  for (size_t first = 0; first < batch->num_members;) {
    RpinnCudaSlice slice;
    RPINN_TRY(rpinn_cuda_slice_open(context, engine, tables, batch, NULL, first, 0, &slice));
    size_t count = slice.count;
    slice.call.task = RPINN_TASK_RESULTS;
    RpinnStatus status = rpinn_cuda_launch(context, engine, tables, &slice);
    if (status == RPINN_OK)
      status =
          rpinn_cuda_get_numbers(context, engine, RPINN_BUFFER_RESULTS, count, num_results, values + first);
    rpinn_cuda_slice_close(&slice);
    RPINN_TRY(status);
    first += count;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_evaluate(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                const RpinnEvaluation *evaluation, double *const *values) {
  void *prepared;
  RPINN_TRY(rpinn_cuda_prepare(context, backend, evaluation, &prepared));
  RpinnStatus status = rpinn_cuda_evaluate_prepared(context, backend, batch, prepared, values);
  rpinn_cuda_release(backend, prepared);
  return status;
}
