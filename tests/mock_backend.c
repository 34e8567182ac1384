#include "mock_backend.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct Mock {
  RpinnBackend base;
  RpinnBackend *inner;
} Mock;

/* ---- counts, and the place of `cpu` ---- */

static atomic_size_t num_calls, num_full, num_lanes;

MockCounts mock_backend_counts(void) {
  return (MockCounts){atomic_load(&num_calls), atomic_load(&num_full), atomic_load(&num_lanes)};
}

void mock_backend_use(const RpinnBackendOperations *mock) {
  atomic_store(&num_calls, 0);
  atomic_store(&num_full, 0);
  atomic_store(&num_lanes, 0);
  rpinn_backend_replace(&rpinn_cpu_backend, mock);
}

void mock_backend_stop(void) {
  rpinn_backend_replace(NULL, NULL);
}

/* ---- lanes ---- */

/* The lanes of one call. Place k of the call is lane 3k + 2 modulo 7; a free lane is a copy of some place, whose results go
 * to memory of its own. */
typedef struct Lanes {
  RpinnBatchMember members[MOCK_GROUP];
  RpinnMemberBatch batch;
  size_t place[MOCK_GROUP];
  bool is_free[MOCK_GROUP];
  size_t num_owned;
  void *owned[8 * MOCK_GROUP];
} Lanes;

static RpinnStatus lay_out(RpinnContext *context, const RpinnMemberBatch *batch, Lanes *lanes) {
  size_t count = batch->num_members;
  *lanes = (Lanes){.batch = {MOCK_GROUP, lanes->members}};
  if (count == 0 || count > MOCK_GROUP)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a call for %zu members, expected 1 to %d", count,
                      MOCK_GROUP);
  for (size_t k = 0; k < MOCK_GROUP; k++) {
    size_t lane = (3 * k + 2) % MOCK_GROUP;
    lanes->place[lane] = k % count;
    lanes->is_free[lane] = k >= count;
    lanes->members[lane] = batch->members[k % count];
  }
  return RPINN_OK;
}

/* A call that is made while draws are: all but evaluations at points. */
static RpinnStatus lay_out_counted(RpinnContext *context, const RpinnMemberBatch *batch, Lanes *lanes) {
  RPINN_TRY(lay_out(context, batch, lanes));
  atomic_fetch_add(&num_calls, 1);
  atomic_fetch_add(&num_full, batch->num_members == MOCK_GROUP);
  atomic_fetch_add(&num_lanes, batch->num_members);
  return RPINN_OK;
}

static RpinnStatus clear(Lanes *lanes, RpinnStatus status) {
  for (size_t i = 0; i < lanes->num_owned; i++) free(lanes->owned[i]);
  return status;
}

/* Memory of a free lane, until the lanes are cleared. */
static double *numbers(Lanes *lanes, size_t count, const double *from) {
  double *memory = calloc(count + 1, sizeof *memory);
  if (!memory) abort();
  if (from) memcpy(memory, from, count * sizeof *memory);
  lanes->owned[lanes->num_owned++] = memory;
  return memory;
}

/* Where the lanes find their inputs; those of a call may be NULL. */
static const double *const *inputs_of(const Lanes *lanes, const double *const *inputs,
                                      const double *own[MOCK_GROUP]) {
  for (size_t l = 0; inputs && l < MOCK_GROUP; l++) own[l] = inputs[lanes->place[l]];
  return inputs ? own : NULL;
}

/* Where they put results of `count` numbers. */
static double *const *outputs_of(Lanes *lanes, double *const *outputs, size_t count,
                                 double *own[MOCK_GROUP]) {
  for (size_t l = 0; outputs && l < MOCK_GROUP; l++) {
    own[l] = outputs[lanes->place[l]];
    if (own[l] && lanes->is_free[l]) own[l] = numbers(lanes, count, NULL);
  }
  return outputs ? own : NULL;
}

static void take_values(const Lanes *lanes, const double *found, double *values) {
  for (size_t l = 0; l < MOCK_GROUP; l++)
    if (!lanes->is_free[l]) values[lanes->place[l]] = found[l];
}

/* ---- required ---- */

static RpinnBackend *inner_of(RpinnBackend *backend) {
  return ((Mock *)backend)->inner;
}

static void destroy(RpinnBackend *backend) {
  rpinn_backend_destroy(inner_of(backend));
  free(backend);
}

static RpinnStatus energies(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            double *values, double *const *gradients, double *const *term_energies) {
  Lanes lanes;
  double found[MOCK_GROUP], *own_gradients[MOCK_GROUP], *own_parts[MOCK_GROUP];
  RPINN_TRY(lay_out_counted(context, batch, &lanes));
  RpinnStatus status =
      rpinn_backend_energies(context, inner_of(backend), &lanes.batch, found,
                             outputs_of(&lanes, gradients, backend->model->num_parameters, own_gradients),
                             outputs_of(&lanes, term_energies, backend->model->num_terms + 1, own_parts));
  if (status == RPINN_OK) take_values(&lanes, found, values);
  return clear(&lanes, status);
}

static RpinnStatus evaluate(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            const RpinnEvaluation *evaluation, double *const *values) {
  Lanes lanes;
  double *own[MOCK_GROUP];
  RPINN_TRY(lay_out(context, batch, &lanes));
  return clear(&lanes,
               rpinn_backend_evaluate(
                   context, inner_of(backend), &lanes.batch, evaluation,
                   outputs_of(&lanes, values, evaluation->num_programs * evaluation->num_points, own)));
}

static RpinnStatus residuals(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                             double *const *rows, double *const *jacobians) {
  Lanes lanes;
  double *own_rows[MOCK_GROUP], *own[MOCK_GROUP];
  size_t M = backend->model->num_rows, N = backend->model->num_parameters;
  RPINN_TRY(lay_out_counted(context, batch, &lanes));
  return clear(&lanes, rpinn_backend_residuals(context, inner_of(backend), &lanes.batch,
                                               outputs_of(&lanes, rows, M, own_rows),
                                               outputs_of(&lanes, jacobians, M * N, own)));
}

/* ---- optional ---- */

/* What the inner backend has prepared, and the size of its values. */
typedef struct Prepared {
  RpinnPlannedEvaluation planned;
  size_t num_values;
} Prepared;

static RpinnStatus prepare(RpinnContext *context, RpinnBackend *backend, const RpinnEvaluation *evaluation,
                           void **prepared) {
  Prepared *own = *prepared = calloc(1, sizeof *own);
  if (!own) return rpinn_fail_memory(context);
  own->num_values = evaluation->num_programs * evaluation->num_points;
  RpinnStatus status = rpinn_evaluation_plan(context, inner_of(backend), evaluation, &own->planned);
  if (status == RPINN_OK) return RPINN_OK;
  free(own);
  *prepared = NULL;
  return status;
}

static void release(RpinnBackend *backend, void *prepared) {
  (void)backend;
  rpinn_evaluation_release(&((Prepared *)prepared)->planned);
  free(prepared);
}

static RpinnStatus evaluate_prepared(RpinnContext *context, RpinnBackend *backend,
                                     const RpinnMemberBatch *batch, void *prepared, double *const *values) {
  const Prepared *plan = prepared;
  Lanes lanes;
  double *own[MOCK_GROUP];
  (void)backend;
  RPINN_TRY(lay_out(context, batch, &lanes));
  return clear(&lanes, rpinn_evaluation_run(context, &plan->planned, &lanes.batch,
                                            outputs_of(&lanes, values, plan->num_values, own)));
}

static RpinnStatus jacobian_times(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                  const double *const *directions, double *const *products) {
  Lanes lanes;
  const double *own_directions[MOCK_GROUP];
  double *own[MOCK_GROUP];
  RPINN_TRY(lay_out_counted(context, batch, &lanes));
  return clear(&lanes,
               rpinn_backend_jacobian_times(context, inner_of(backend), &lanes.batch,
                                            inputs_of(&lanes, directions, own_directions),
                                            outputs_of(&lanes, products, backend->model->num_rows, own)));
}

static RpinnStatus transposed_times(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, const double *const *weights,
                                    double *const *products) {
  Lanes lanes;
  const double *own_weights[MOCK_GROUP];
  double *own[MOCK_GROUP];
  RPINN_TRY(lay_out_counted(context, batch, &lanes));
  return clear(&lanes, rpinn_backend_transposed_times(
                           context, inner_of(backend), &lanes.batch, inputs_of(&lanes, weights, own_weights),
                           outputs_of(&lanes, products, backend->model->num_parameters, own)));
}

static RpinnStatus gram(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                        const double *const *scales, double *const *rows, double *const *grams) {
  Lanes lanes;
  const double *own_scales[MOCK_GROUP];
  double *own_rows[MOCK_GROUP], *own[MOCK_GROUP];
  size_t M = backend->model->num_rows;
  RPINN_TRY(lay_out_counted(context, batch, &lanes));
  return clear(&lanes, rpinn_backend_gram(
                           context, inner_of(backend), &lanes.batch, inputs_of(&lanes, scales, own_scales),
                           outputs_of(&lanes, rows, M, own_rows), outputs_of(&lanes, grams, M * M, own)));
}

static RpinnStatus adam_advance(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                const RpinnAdamRule *rule, RpinnAdamState *const *states, size_t num_steps,
                                double *values) {
  Lanes lanes;
  RpinnAdamState copies[MOCK_GROUP], *own[MOCK_GROUP];
  double found[MOCK_GROUP];
  size_t N = backend->model->num_parameters;
  RPINN_TRY(lay_out_counted(context, batch, &lanes));
  for (size_t l = 0; l < MOCK_GROUP; l++) {
    own[l] = states[lanes.place[l]];
    if (!lanes.is_free[l]) continue;
    copies[l] = (RpinnAdamState){numbers(&lanes, N, own[l]->theta), numbers(&lanes, N, own[l]->m),
                                 numbers(&lanes, N, own[l]->v), own[l]->t};
    own[l] = &copies[l];
  }
  RpinnStatus status =
      rpinn_backend_adam_advance(context, inner_of(backend), &lanes.batch, rule, own, num_steps, found);
  if (status == RPINN_OK) take_values(&lanes, found, values);
  return clear(&lanes, status);
}

/* ---- life ---- */

static const RpinnBackendOperations all_functions = {.destroy = destroy,
                                                     .energies = energies,
                                                     .evaluate = evaluate,
                                                     .residuals = residuals,
                                                     .prepare = prepare,
                                                     .release = release,
                                                     .evaluate_prepared = evaluate_prepared,
                                                     .jacobian_times = jacobian_times,
                                                     .transposed_times = transposed_times,
                                                     .gram = gram,
                                                     .adam_advance = adam_advance};
static const RpinnBackendOperations required_functions = {
    .destroy = destroy, .energies = energies, .evaluate = evaluate, .residuals = residuals};

static RpinnStatus create_over(RpinnContext *context, const RpinnBackendOperations *inside,
                               const RpinnBackendOperations *functions, const RpinnEnergyModel *model,
                               RpinnPrecision precision, RpinnBackend **backend) {
  Mock *mock = calloc(1, sizeof *mock);
  *backend = NULL;
  if (!mock) return rpinn_fail_memory(context);
  RpinnStatus status = inside->create(context, model, precision, &mock->inner);
  if (status != RPINN_OK) {
    free(mock);
    return status;
  }
  mock->base = (RpinnBackend){.operations = functions, .model = model, .group = MOCK_GROUP};
  *backend = &mock->base;
  return RPINN_OK;
}

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  return create_over(context, &rpinn_cpu_backend, &all_functions, model, precision, backend);
}

static RpinnStatus create_bare(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                               RpinnBackend **backend) {
  return create_over(context, &rpinn_cpu_backend, &required_functions, model, precision, backend);
}

static RpinnStatus create_plain(RpinnContext *context, const RpinnEnergyModel *model,
                                RpinnPrecision precision, RpinnBackend **backend) {
  return create_over(context, &rpinn_plain_backend, &required_functions, model, precision, backend);
}

/* As that of the backend inside: its bits. */
static RpinnStatus identify(RpinnContext *context, RpinnText *line) {
  return rpinn_cpu_backend.identify(context, line);
}

enum { BOTH = 1u << RPINN_PRECISION_FLOAT | 1u << RPINN_PRECISION_DOUBLE };

const RpinnBackendOperations mock_backend = {
    .usual_precision = RPINN_PRECISION_FLOAT, .precisions = BOTH, .identify = identify, .create = create};
const RpinnBackendOperations mock_bare_backend = {.usual_precision = RPINN_PRECISION_FLOAT,
                                                  .precisions = BOTH,
                                                  .identify = identify,
                                                  .create = create_bare};
const RpinnBackendOperations mock_plain_backend = {.usual_precision = RPINN_PRECISION_DOUBLE,
                                                   .precisions = 1u << RPINN_PRECISION_DOUBLE,
                                                   .create = create_plain};
