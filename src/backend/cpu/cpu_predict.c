/* Predictions: programs at points, planned once or for one call. */
#include <stdlib.h>

#include "cpu_engine.h"

/* An evaluation, planned: its programs at its points cut into blocks, and the fields' work space for these. */
typedef struct Prepared {
  RpinnCpuWork *work;
  RpinnFieldPass **passes;
} Prepared;

static RpinnCpuWork *plan(const RpinnEnergyModel *model, const RpinnEvaluation *evaluation) {
  RpinnWorkItem *items = calloc(evaluation->num_programs + 1, sizeof *items);
  if (!items) return NULL;
  for (size_t q = 0; q < evaluation->num_programs; q++)
    items[q] = (RpinnWorkItem){evaluation->programs[q], evaluation->num_points, evaluation->points};
  RpinnCpuWork *work = RPINN_REAL_NAME(rpinn_cpu_work_create)(model, items, evaluation->num_programs, true);
  free(items);
  return work;
}

void RPINN_REAL_NAME(rpinn_cpu_release)(RpinnBackend *backend, void *prepared) {
  Prepared *own = prepared;
  if (!own) return;
  RPINN_REAL_NAME(rpinn_cpu_passes_destroy)(backend->model, own->passes);
  RPINN_REAL_NAME(rpinn_cpu_work_destroy)(own->work);
  free(own);
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_prepare)(RpinnContext *context, RpinnBackend *backend,
                                               const RpinnEvaluation *evaluation, void **prepared) {
  const RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  Prepared *own = *prepared = calloc(1, sizeof *own);
  if (!own) return rpinn_fail_memory(context);
  own->work = plan(backend->model, evaluation);
  own->passes = own->work ? RPINN_REAL_NAME(rpinn_cpu_passes_create)(engine, own->work) : NULL;
  if (own->passes) return RPINN_OK;
  RPINN_REAL_NAME(rpinn_cpu_release)(backend, own);
  *prepared = NULL;
  return rpinn_fail_memory(context);
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_evaluate_prepared)(RpinnContext *context, RpinnBackend *backend,
                                                         const RpinnMemberBatch *batch, void *prepared,
                                                         double *const *values) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  const Prepared *own = prepared;
  (void)context;
  for (size_t k = 0; k < batch->num_members; k++) {
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, batch, k);
    RPINN_REAL_NAME(rpinn_cpu_evaluate_items)(engine, own->work, own->passes, values[k]);
  }
  return RPINN_OK;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_evaluate)(RpinnContext *context, RpinnBackend *backend,
                                                const RpinnMemberBatch *batch,
                                                const RpinnEvaluation *evaluation, double *const *values) {
  void *prepared;
  RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_prepare)(context, backend, evaluation, &prepared));
  RpinnStatus status =
      RPINN_REAL_NAME(rpinn_cpu_evaluate_prepared)(context, backend, batch, prepared, values);
  RPINN_REAL_NAME(rpinn_cpu_release)(backend, prepared);
  return status;
}
