#include "double_target.h"

static RpinnStatus rows_only(void *data, const double *theta, double *rows) {
  const RpinnDoubleTarget *target = data;
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_residuals(target->context, target->backend, &(RpinnMemberBatch){1, &member}, &rows,
                                 NULL);
}

static RpinnStatus rows_and_jacobian(void *data, const double *theta, double *rows, double *jacobian) {
  const RpinnDoubleTarget *target = data;
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_residuals(target->context, target->backend, &(RpinnMemberBatch){1, &member}, &rows,
                                 &jacobian);
}

static RpinnStatus times(void *data, const double *theta, const double *direction, double *product) {
  const RpinnDoubleTarget *target = data;
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_jacobian_times(target->context, target->backend, &(RpinnMemberBatch){1, &member},
                                      &direction, &product);
}

static RpinnStatus transposed_times(void *data, const double *theta, const double *weights, double *product) {
  const RpinnDoubleTarget *target = data;
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_transposed_times(target->context, target->backend, &(RpinnMemberBatch){1, &member},
                                        &weights, &product);
}

static RpinnStatus gram(void *data, const double *theta, const double *scale, double *rows, double *product) {
  const RpinnDoubleTarget *target = data;
  RpinnBatchMember member = {.theta = theta};
  return rpinn_backend_gram(target->context, target->backend, &(RpinnMemberBatch){1, &member}, &scale, &rows,
                            &product);
}

static RpinnStatus open_in(RpinnContext *context, const RpinnPosterior *posterior, RpinnPrecision precision,
                           RpinnDoubleTarget *target) {
  const RpinnEnergyModel *model = &posterior->model;
  *target = (RpinnDoubleTarget){.context = context};
  RPINN_TRY(
      rpinn_backend_in_place_of(&rpinn_cpu_backend)->create(context, model, precision, &target->backend));
  target->squares = (RpinnLeastSquares){.num_parameters = model->num_parameters,
                                        .num_rows = model->num_rows,
                                        .prior_root = model->prior_root,
                                        .prior_mean = model->prior_mean,
                                        .data = target,
                                        .residuals = rows_only,
                                        .jacobian = rows_and_jacobian,
                                        .jacobian_times = times,
                                        .transposed_times = transposed_times,
                                        .gram = gram};
  return RPINN_OK;
}

RpinnStatus rpinn_double_target_open(RpinnContext *context, const RpinnPosterior *posterior,
                                     RpinnDoubleTarget *target) {
  return open_in(context, posterior, RPINN_PRECISION_DOUBLE, target);
}

RpinnStatus rpinn_single_target_open(RpinnContext *context, const RpinnPosterior *posterior,
                                     RpinnDoubleTarget *target) {
  return open_in(context, posterior, RPINN_PRECISION_FLOAT, target);
}

void rpinn_double_target_close(RpinnDoubleTarget *target) {
  rpinn_backend_destroy(target->backend);
  target->backend = NULL;
}
