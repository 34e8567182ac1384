/* Energies and gradients. */
#include <string.h>

#include "cpu_engine.h"

/* Rows, weights and sums of squares of the mixed terms at engine->theta. */
static void mixed_energies(RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  RPINN_REAL_NAME(rpinn_cpu_evaluate_items)
  (engine, engine->mixed_work, engine->mixed_passes, engine->mixed.deviations);
  for (size_t t = 0; t < model->num_terms; t++)
    for (size_t p = 0; model->terms[t].mix && p < model->terms[t].num_points; p++)
      engine->mixed.deviations[engine->mixed.first_point[t] + p] -= model->terms[t].targets[p];
  RPINN_REAL_NAME(rpinn_mixed_terms_energies)
  (&engine->mixed, engine->member.row_scale, engine->member.offsets, engine->term_sums);
}

static bool energy_rows(RpinnCpuEngine *engine, const RpinnSegment *segment, const Real *results,
                        void *user) {
  const RpinnTermModel *term = &engine->base.model->terms[segment->item];
  (void)user;
  if (term->mix) return RPINN_REAL_NAME(rpinn_cpu_mixed_weights)(engine, segment);
  size_t first = rpinn_cpu_first_row(engine, segment);
  const double *offsets = engine->member.offsets ? engine->member.offsets + first : NULL,
               *scales = engine->member.row_scale + first, *targets = term->targets + segment->first_point;
  double shift = engine->work->late_shift[segment->item], sum = 0;
  for (size_t p = 0; p < segment->num_points; p++) {
    double row = ((double)results[p] - (targets[p] - shift)) * scales[p] - (offsets ? offsets[p] : 0.0);
    sum += row * row;
    engine->weights[p] = (Real)(row * scales[p]);
  }
  engine->term_sums[segment->item] += sum;
  return true;
}

double RPINN_REAL_NAME(rpinn_cpu_data_energy)(RpinnCpuEngine *engine, Real *gradient) {
  const RpinnEnergyModel *model = engine->base.model;
  double sum = 0;
  memset(engine->term_sums, 0, model->num_terms * sizeof(double));
  if (engine->mixed_work) mixed_energies(engine);
  RPINN_REAL_NAME(rpinn_cpu_sweep)(engine, energy_rows, NULL, gradient);
  for (size_t t = 0; t < model->num_terms; t++) sum += 0.5 * engine->term_sums[t];
  return sum;
}

double RPINN_REAL_NAME(rpinn_cpu_prior_energy)(RpinnCpuEngine *engine, double *gradient) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnBatchMember *member = &engine->member;
  return engine->kernels->finish_gradient(
      model->num_parameters, engine->gradient, member->theta, member->prior_root, engine->prior_mean,
      member->offsets ? member->offsets + model->num_rows : NULL, gradient);
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_energies)(RpinnContext *context, RpinnBackend *backend,
                                                const RpinnMemberBatch *batch, double *energies,
                                                double *const *gradients, double *const *term_energies) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  size_t num_terms = backend->model->num_terms;
  (void)context;
  for (size_t k = 0; k < batch->num_members; k++) {
    double *gradient = gradients ? gradients[k] : NULL, *parts = term_energies ? term_energies[k] : NULL;
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, batch, k);
    energies[k] = RPINN_REAL_NAME(rpinn_cpu_data_energy)(engine, gradient ? engine->gradient : NULL);
    double prior = RPINN_REAL_NAME(rpinn_cpu_prior_energy)(engine, gradient);
    energies[k] += prior;
    if (!parts) continue;
    for (size_t t = 0; t < num_terms; t++) parts[t] = 0.5 * engine->term_sums[t];
    parts[num_terms] = prior;
  }
  return RPINN_OK;
}
