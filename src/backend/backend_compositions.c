/* Every function of a backend, also where it has none of its own: products by way of the dense Jacobian, Adam by way of
 * energies and the rule, planned evaluations by way of plain ones. */
#include <stdlib.h>

#include "adam_rule.h"
#include "backend.h"

/* ---- required ---- */

void rpinn_backend_destroy(RpinnBackend *backend) {
  if (backend) backend->operations->destroy(backend);
}

RpinnStatus rpinn_backend_energies(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, double *energies, double *const *gradients,
                                   double *const *term_energies) {
  return backend->operations->energies(context, backend, batch, energies, gradients, term_energies);
}

RpinnStatus rpinn_backend_evaluate(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, const RpinnEvaluation *evaluation,
                                   double *const *values) {
  return backend->operations->evaluate(context, backend, batch, evaluation, values);
}

RpinnStatus rpinn_backend_residuals(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, double *const *rows,
                                    double *const *jacobians) {
  return backend->operations->residuals(context, backend, batch, rows, jacobians);
}

/* ---- products: one member after the other, for there is room for one Jacobian ---- */

/* What is made of J [M][N] and the rows [M] of member k. */
typedef struct Product Product;
struct Product {
  void (*form)(const Product *product, size_t k, const double *rows, const double *J);
  size_t M, N;
  const double *const *inputs;
  double *const *rows; /* of gram */
  double *const *outputs;
};

static RpinnStatus form_products(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                 Product product) {
  product.M = backend->model->num_rows;
  product.N = backend->model->num_parameters;
  double *rows = malloc((product.M + product.M * product.N + 1) * sizeof *rows);
  if (!rows) return rpinn_fail_memory(context);
  double *J = rows + product.M;
  RpinnStatus status = RPINN_OK;
  for (size_t k = 0; k < batch->num_members && status == RPINN_OK; k++) {
    RpinnMemberBatch one = {1, &batch->members[k]};
    status = rpinn_backend_residuals(context, backend, &one, &rows, &J);
    if (status == RPINN_OK) product.form(&product, k, rows, J);
  }
  free(rows);
  return status;
}

static void form_times(const Product *product, size_t k, const double *rows, const double *J) {
  (void)rows;
  for (size_t i = 0; i < product->M; i++) {
    double sum = 0;
    for (size_t j = 0; j < product->N; j++) sum += J[i * product->N + j] * product->inputs[k][j];
    product->outputs[k][i] = sum;
  }
}

static void form_transposed(const Product *product, size_t k, const double *rows, const double *J) {
  (void)rows;
  for (size_t j = 0; j < product->N; j++) product->outputs[k][j] = 0;
  for (size_t i = 0; i < product->M; i++)
    for (size_t j = 0; j < product->N; j++)
      product->outputs[k][j] += J[i * product->N + j] * product->inputs[k][i];
}

static void form_gram(const Product *product, size_t k, const double *rows, const double *J) {
  size_t M = product->M, N = product->N;
  const double *scale = product->inputs ? product->inputs[k] : NULL;
  for (size_t i = 0; i < M; i++) {
    product->rows[k][i] = rows[i];
    for (size_t l = 0; l <= i; l++) {
      double sum = 0;
      for (size_t j = 0; j < N; j++) sum += J[i * N + j] * (scale ? scale[j] : 1) * J[l * N + j];
      product->outputs[k][i * M + l] = product->outputs[k][l * M + i] = sum;
    }
  }
}

RpinnStatus rpinn_backend_jacobian_times(RpinnContext *context, RpinnBackend *backend,
                                         const RpinnMemberBatch *batch, const double *const *directions,
                                         double *const *products) {
  if (backend->operations->jacobian_times)
    return backend->operations->jacobian_times(context, backend, batch, directions, products);
  return form_products(context, backend, batch,
                       (Product){.form = form_times, .inputs = directions, .outputs = products});
}

RpinnStatus rpinn_backend_transposed_times(RpinnContext *context, RpinnBackend *backend,
                                           const RpinnMemberBatch *batch, const double *const *weights,
                                           double *const *products) {
  if (backend->operations->transposed_times)
    return backend->operations->transposed_times(context, backend, batch, weights, products);
  return form_products(context, backend, batch,
                       (Product){.form = form_transposed, .inputs = weights, .outputs = products});
}

RpinnStatus rpinn_backend_gram(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                               const double *const *scales, double *const *rows, double *const *grams) {
  if (backend->operations->gram)
    return backend->operations->gram(context, backend, batch, scales, rows, grams);
  return form_products(context, backend, batch,
                       (Product){.form = form_gram, .inputs = scales, .rows = rows, .outputs = grams});
}

/* ---- Adam: all members step by step ---- */

static RpinnStatus advance(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                           const RpinnAdamRule *rule, RpinnAdamState *const *states, size_t num_steps,
                           double *energies, double *const *gradients) {
  for (size_t step = 0; step < num_steps; step++) {
    RPINN_TRY(rpinn_backend_energies(context, backend, batch, energies, gradients, NULL));
    for (size_t k = 0; k < batch->num_members; k++)
      rpinn_adam_apply(rule, states[k], gradients[k], backend->model->num_parameters);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_backend_adam_advance(RpinnContext *context, RpinnBackend *backend,
                                       const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                                       RpinnAdamState *const *states, size_t num_steps, double *energies) {
  if (backend->operations->adam_advance)
    return backend->operations->adam_advance(context, backend, batch, rule, states, num_steps, energies);
  size_t count = batch->num_members, N = backend->model->num_parameters;
  RpinnBatchMember *members = malloc((count + 1) * sizeof *members);
  double **gradients = malloc((count + 1) * sizeof *gradients);
  double *numbers = malloc((count * N + 1) * sizeof *numbers);
  RpinnStatus status = RPINN_ERROR_MEMORY;
  if (members && gradients && numbers) {
    for (size_t k = 0; k < count; k++) {
      members[k] = batch->members[k];
      members[k].theta = states[k]->theta;
      gradients[k] = numbers + k * N;
    }
    RpinnMemberBatch own = {count, members};
    status = advance(context, backend, &own, rule, states, num_steps, energies, gradients);
  } else {
    rpinn_fail_memory(context);
  }
  free(members);
  free(gradients);
  free(numbers);
  return status;
}

/* ---- planned evaluations ---- */

RpinnStatus rpinn_evaluation_plan(RpinnContext *context, RpinnBackend *backend,
                                  const RpinnEvaluation *evaluation, RpinnPlannedEvaluation *planned) {
  void *prepared = NULL;
  if (backend->operations->prepare)
    RPINN_TRY(backend->operations->prepare(context, backend, evaluation, &prepared));
  *planned = (RpinnPlannedEvaluation){backend, *evaluation, prepared};
  return RPINN_OK;
}

RpinnStatus rpinn_evaluation_run(RpinnContext *context, const RpinnPlannedEvaluation *planned,
                                 const RpinnMemberBatch *batch, double *const *values) {
  RpinnBackend *backend = planned->backend;
  if (backend->operations->prepare)
    return backend->operations->evaluate_prepared(context, backend, batch, planned->prepared, values);
  return rpinn_backend_evaluate(context, backend, batch, &planned->evaluation, values);
}

void rpinn_evaluation_release(RpinnPlannedEvaluation *planned) {
  if (planned->prepared) planned->backend->operations->release(planned->backend, planned->prepared);
  *planned = (RpinnPlannedEvaluation){0};
}
