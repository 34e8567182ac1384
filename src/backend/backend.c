/* The list of backends, and what all of them share. */
#include "backend.h"

static const RpinnBackendOperations *const backends[] = {
#define RPINN_BACKEND_ROW(operations, name) &operations,
    RPINN_BACKEND_LIST(RPINN_BACKEND_ROW)
#undef RPINN_BACKEND_ROW
};

const RpinnBackendOperations *rpinn_backend_at(size_t index) {
  return index < sizeof backends / sizeof backends[0] ? backends[index] : NULL;
}

static size_t member_row(const RpinnMemberBatch *batch, size_t k) {
  return batch->members ? batch->members[k] : k;
}

const double *rpinn_batch_parameters(const RpinnMemberBatch *batch, const RpinnEnergyModel *model, size_t k) {
  return batch->parameters + member_row(batch, k) * model->num_parameters;
}

const double *rpinn_batch_offsets(const RpinnMemberBatch *batch, const RpinnEnergyModel *model, size_t k) {
  return batch->offsets ? batch->offsets + member_row(batch, k) * (model->num_rows + model->num_parameters)
                        : NULL;
}

double rpinn_model_prior_energy(const RpinnEnergyModel *model, const double *theta, const double *offsets,
                                double *gradient) {
  double sum = 0;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = model->prior_root[j];
    if (root == 0) continue;
    double row = (theta[j] - model->prior_mean[j]) * root - (offsets ? offsets[model->num_rows + j] : 0.0);
    sum += row * row;
    if (gradient) gradient[j] += root * row;
  }
  return 0.5 * sum;
}

/* ---- planned evaluations ---- */

RpinnStatus rpinn_evaluation_plan(RpinnBackend *backend, const RpinnEvaluation *evaluation,
                                  RpinnPlannedEvaluation *planned) {
  void *prepared = NULL;
  if (backend->operations->prepare) RPINN_TRY(backend->operations->prepare(backend, evaluation, &prepared));
  *planned = (RpinnPlannedEvaluation){backend, *evaluation, prepared};
  return RPINN_OK;
}

RpinnStatus rpinn_evaluation_run(const RpinnPlannedEvaluation *planned, const RpinnMemberBatch *batch,
                                 double *values) {
  RpinnBackend *backend = planned->backend;
  return backend->operations->prepare
             ? backend->operations->evaluate_prepared(backend, batch, planned->prepared, values)
             : backend->operations->evaluate(backend, batch, &planned->evaluation, values);
}

void rpinn_evaluation_release(RpinnPlannedEvaluation *planned) {
  if (planned->prepared) planned->backend->operations->release(planned->backend, planned->prepared);
  *planned = (RpinnPlannedEvaluation){0};
}
