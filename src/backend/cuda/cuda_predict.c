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

/* What a call is to give, by which tables. */
typedef struct Wanted {
  const RpinnWorkTables *tables;
  double *const *values;
} Wanted;

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             const void *user) {
  const Wanted *wanted = user;
  slice->call.task = RPINN_TASK_RESULTS;
  RPINN_TRY(rpinn_cuda_launch(context, engine, wanted->tables, slice));
  return rpinn_cuda_get_numbers(context, engine, RPINN_BUFFER_RESULTS, slice->count,
                                (size_t)wanted->tables->work.num_results, wanted->values + slice->first);
}

RpinnStatus rpinn_cuda_evaluate_prepared(RpinnContext *context, RpinnBackend *backend,
                                         const RpinnMemberBatch *batch, void *prepared,
                                         double *const *values) {
  Wanted wanted = {prepared, values};
  return rpinn_cuda_run_slices(context, (RpinnCudaEngine *)backend, wanted.tables, batch, 0, run_slice,
                               &wanted);
}

RpinnStatus rpinn_cuda_evaluate(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                const RpinnEvaluation *evaluation, double *const *values) {
  void *prepared;
  RPINN_TRY(rpinn_cuda_prepare(context, backend, evaluation, &prepared));
  RpinnStatus status = rpinn_cuda_evaluate_prepared(context, backend, batch, prepared, values);
  rpinn_cuda_release(backend, prepared);
  return status;
}
