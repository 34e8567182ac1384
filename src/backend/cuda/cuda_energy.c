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

/* What a call is to give. */
typedef struct Wanted {
  double *energies;
  double *const *gradients, *const *term_energies; /* may be NULL */
  double *term_sums;                               /* [num_members][num_terms] room */
} Wanted;

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             const void *user) {
  const Wanted *wanted = user;
  const RpinnEnergyModel *model = engine->base.model;
  double *const *gradients = wanted->gradients;
  size_t num_terms = model->num_terms;
  slice->call.task = RPINN_TASK_ENERGY;
  slice->call.wants_gradient = gradients != NULL;
  RPINN_TRY(rpinn_cuda_put_offsets(context, engine, slice));
  if (gradients) RPINN_TRY(rpinn_cuda_clear_gradient(context, engine, slice));
  RPINN_TRY(rpinn_cuda_launch(context, engine, rpinn_cuda_member_tables(engine), slice));
  RPINN_TRY(engine->device->operations->read(context, engine->device, wanted->term_sums,
                                             slice->call.term_sums,
                                             slice->count * num_terms * sizeof *wanted->term_sums));
  if (gradients)
    RPINN_TRY(rpinn_cuda_get_vectors(context, engine, RPINN_BUFFER_GRADIENT, slice->count,
                                     gradients + slice->first));
  for (size_t k = 0; k < slice->count; k++) {
    size_t own = slice->first + k;
    wanted->energies[own] =
        finish(model, &slice->members[k], wanted->term_sums + k * num_terms,
               gradients ? gradients[own] : NULL, wanted->term_energies ? wanted->term_energies[own] : NULL);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_energies(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                double *energies, double *const *gradients, double *const *term_energies) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  Wanted wanted = {
      .energies = energies,
      .gradients = gradients,
      .term_energies = term_energies,
      .term_sums = malloc((batch->num_members * backend->model->num_terms + 1) * sizeof *wanted.term_sums)};
  RpinnStatus status = wanted.term_sums
                           ? rpinn_cuda_run_slices(context, engine, rpinn_cuda_member_tables(engine), batch,
                                                   0, run_slice, &wanted)
                           : rpinn_fail_memory(context);
  free(wanted.term_sums);
  return status;
}
