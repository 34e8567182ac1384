/* The list of backends, and what all of them share. */
#include "backend.h"

#include <stdio.h>
#include <string.h>

static const RpinnBackendOperations *const backends[] = {
#define RPINN_BACKEND_ROW(operations, name) &operations,
    RPINN_BACKEND_LIST(RPINN_BACKEND_ROW)
#undef RPINN_BACKEND_ROW
};

static struct { const RpinnBackendOperations *own, *other; } replaced;

void rpinn_backend_replace(const RpinnBackendOperations *own, const RpinnBackendOperations *other) {
  replaced.own = own;
  replaced.other = other;
}

const RpinnBackendOperations *rpinn_backend_in_place_of(const RpinnBackendOperations *own) {
  return own == replaced.own && replaced.other ? replaced.other : own;
}

const RpinnBackendOperations *rpinn_backend_at(size_t index) {
  return index < sizeof backends / sizeof backends[0] ? rpinn_backend_in_place_of(backends[index]) : NULL;
}

RpinnStatus rpinn_backend_describe(RpinnContext *context, const char *name, char *text, size_t size) {
  static const char *const names[] = {
#define RPINN_BACKEND_NAME(operations, name) name,
      RPINN_BACKEND_LIST(RPINN_BACKEND_NAME)
#undef RPINN_BACKEND_NAME
  };
  size_t index = 0, count = sizeof names / sizeof names[0];
  while (index < count && strcmp(names[index], name)) index++;
  if (index == count)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there is no backend '%s', expected %s", name,
                      RPINN_CHOICES(RPINN_BACKEND_LIST));
  RpinnText line = {0};
  RpinnStatus status = RPINN_OK;
  if (backends[index]->describe)
    status = backends[index]->describe(context, &line);
  else
    rpinn_text_append(&line, "on every machine");
  if (status == RPINN_OK && line.failed) status = rpinn_fail_memory(context);
  if (status == RPINN_OK) snprintf(text, size, "%s", line.bytes);
  rpinn_text_free(&line);
  return status;
}

RpinnBatchMember rpinn_batch_member(const RpinnEnergyModel *model, const RpinnMemberBatch *batch, size_t k) {
  RpinnBatchMember member = batch->members[k];
  if (!member.row_scale) member.row_scale = model->row_scale;
  if (!member.prior_root) member.prior_root = model->prior_root;
  return member;
}

double rpinn_model_prior_energy(const RpinnEnergyModel *model, const RpinnBatchMember *member,
                                double *gradient) {
  const double *offsets = member->offsets ? member->offsets + model->num_rows : NULL;
  double sum = 0;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = member->prior_root[j];
    if (root == 0) continue;
    double row = (member->theta[j] - model->prior_mean[j]) * root - (offsets ? offsets[j] : 0.0);
    sum += row * row;
    if (gradient) gradient[j] += root * row;
  }
  return 0.5 * sum;
}
