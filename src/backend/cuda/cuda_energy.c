/* Energies and gradients. */
#include <stdlib.h>

#include "cuda_engine.h"

/* From the sums of squares of a member's terms; the prior is added in double, and its gradient to that of the data. */
static double finish(const RpinnEnergyModel *model, const RpinnBatchMember *member, const double *term_sums,
                     double *gradient, double *term_energies) {
  double prior = rpinn_model_prior_energy(model, member, gradient), energy = 0;
  for (size_t t = 0; t < model->num_terms; t++) energy += 0.5 * term_sums[t];
  for (size_t t = 0; term_energies && t < model->num_terms; t++) term_energies[t] = 0.5 * term_sums[t];
  if (term_energies) term_energies[model->num_terms] = prior;
  return energy + prior;
}

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, const RpinnWorkTables *tables,
                             RpinnCudaSlice *slice, double *energies, double *const *gradients,
                             double *const *term_energies, double *term_sums) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t num_terms = model->num_terms;
  slice->call.task = RPINN_TASK_ENERGY;
  slice->call.wants_gradient = gradients != NULL;
  RPINN_TRY(rpinn_cuda_put_offsets(context, engine, slice));
  if (gradients) RPINN_TRY(rpinn_cuda_clear_gradient(context, engine, slice));
  RPINN_TRY(rpinn_cuda_launch(context, engine, tables, slice));
  RPINN_TRY(engine->device->operations->read(context, engine->device, term_sums, slice->call.term_sums,
                                             slice->count * num_terms * sizeof *term_sums));
  if (gradients)
    RPINN_TRY(rpinn_cuda_get_vectors(context, engine, RPINN_BUFFER_GRADIENT, slice->count,
                                     gradients + slice->first));
  for (size_t k = 0; k < slice->count; k++) {
    size_t own = slice->first + k;
    energies[own] = finish(model, &slice->members[k], term_sums + k * num_terms,
                           gradients ? gradients[own] : NULL, term_energies ? term_energies[own] : NULL);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_energies(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                double *energies, double *const *gradients, double *const *term_energies) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  const RpinnWorkTables *tables = engine->fused ? engine->fused : engine->terms;
  double *term_sums = malloc((batch->num_members * backend->model->num_terms + 1) * sizeof *term_sums);
  RpinnStatus status = term_sums ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t first = 0; first < batch->num_members && status == RPINN_OK;) {
    RpinnCudaSlice slice;
    status = rpinn_cuda_slice_open(context, engine, tables, batch, NULL, first, 0, &slice);
    if (status != RPINN_OK) break;
    first += slice.count;
    status = run_slice(context, engine, tables, &slice, energies, gradients, term_energies, term_sums);
    rpinn_cuda_slice_close(&slice);
  }
  free(term_sums);
  return status;
}
