/* The life of an engine, and the table of what it does. */
#include "cpu_engine.h"

#include <stdlib.h>
#include <string.h>

#include "cpu_backend.h"
#include "cpu_factors.h"

/* ---- parts ---- */

Real *RPINN_REAL_NAME(rpinn_cpu_reals)(size_t count) {
  size_t bytes = (count * sizeof(Real) + 127) / 64 * 64;
  Real *memory = aligned_alloc(64, bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

void RPINN_REAL_NAME(rpinn_cpu_passes_destroy)(const RpinnEnergyModel *model, RpinnFieldPass **passes) {
  for (size_t f = 0; passes && f < model->num_fields; f++)
    RPINN_REAL_NAME(rpinn_field_pass_destroy)(passes[f]);
  free(passes);
}

RpinnFieldPass **RPINN_REAL_NAME(rpinn_cpu_passes_create)(const RpinnCpuEngine *engine,
                                                          const RpinnCpuWork *work) {
  const RpinnEnergyModel *model = engine->base.model;
  RpinnFieldPass **passes = calloc(model->num_fields, sizeof *passes);
  for (size_t f = 0; passes && f < model->num_fields; f++) {
    passes[f] = RPINN_REAL_NAME(rpinn_field_pass_create)(&model->networks[f], engine->kernels,
                                                         engine->products, work->max_rows[f] + 1);
    if (passes[f]) continue;
    RPINN_REAL_NAME(rpinn_cpu_passes_destroy)(model, passes);
    return NULL;
  }
  return passes;
}

/* ---- the whole ---- */

static void destroy(RpinnBackend *backend) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  if (!engine) return;
  RPINN_REAL_NAME(rpinn_cpu_passes_destroy)(backend->model, engine->passes);
  RPINN_REAL_NAME(rpinn_cpu_work_destroy)(engine->work);
  RPINN_REAL_NAME(rpinn_cpu_passes_destroy)(backend->model, engine->mixed_passes);
  RPINN_REAL_NAME(rpinn_cpu_work_destroy)(engine->mixed_work);
  RPINN_REAL_NAME(rpinn_mixed_terms_destroy)(&engine->mixed);
  RPINN_REAL_NAME(rpinn_cpu_factors_destroy)(engine->factors);
  void *parts[] = {engine->outputs,
                   engine->bars,
                   engine->theta,
                   engine->gradient,
                   engine->m,
                   engine->v,
                   engine->prior_scale,
                   engine->prior_shift,
                   engine->weights,
                   engine->unknown_sums,
                   engine->term_sums,
                   engine->rows,
                   engine->partial,
                   engine->unknown_slopes,
                   engine->row_jacobians,
                   engine->jacobian,
                   engine->jacobian_theta,
                   engine->jacobian_scale,
                   engine->block_rows,
                   engine->block_product,
                   engine->panel};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  free(engine);
}

static bool allocate(RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters, points = engine->work->max_points;
  Real **vectors[] = {&engine->theta, &engine->gradient,    &engine->m,
                      &engine->v,     &engine->prior_scale, &engine->prior_shift};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
    *vectors[i] = RPINN_REAL_NAME(rpinn_cpu_reals)(N);
    if (!*vectors[i]) return false;
  }
  engine->outputs = calloc(model->num_fields, sizeof *engine->outputs);
  engine->bars = calloc(model->num_fields, sizeof *engine->bars);
  engine->weights = RPINN_REAL_NAME(rpinn_cpu_reals)(points);
  engine->unknown_sums = calloc(model->num_unknowns + 1, sizeof(double));
  engine->term_sums = calloc(model->num_terms + 1, sizeof(double));
  engine->rows = calloc(model->num_rows + 1, sizeof(double));
  /* a point each: no fewer than rows */
  engine->partial = RPINN_REAL_NAME(rpinn_cpu_reals)(engine->work->num_results);
  engine->unknown_slopes = RPINN_REAL_NAME(rpinn_cpu_reals)(model->num_unknowns * points);
  engine->row_jacobians = calloc(engine->work->num_segments + 1, sizeof *engine->row_jacobians);
  return engine->outputs && engine->bars && engine->weights && engine->unknown_sums && engine->term_sums &&
         engine->rows && engine->partial && engine->unknown_slopes && engine->row_jacobians;
}

static const double *find_prior_mean(const RpinnEnergyModel *model) {
  for (size_t j = 0; j < model->num_parameters; j++)
    if (model->prior_mean[j] != 0) return model->prior_mean;
  return NULL;
}

static RpinnWorkItem item_of(const RpinnTermModel *term) {
  return (RpinnWorkItem){term->program, term->num_points, term->points};
}

/* items [num_terms + 1] is room for the mixed terms, which are planned as an evaluation of their own. */
static bool plan_mixed_terms(RpinnCpuEngine *engine, RpinnWorkItem *items) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t count = 0;
  if (!RPINN_REAL_NAME(rpinn_mixed_terms_create)(model, &engine->mixed)) return false;
  for (size_t t = 0; t < model->num_terms; t++)
    if (model->terms[t].mix) items[count++] = item_of(&model->terms[t]);
  if (!count) return true;
  engine->mixed_work = RPINN_REAL_NAME(rpinn_cpu_work_create)(model, items, count, false);
  engine->mixed_passes =
      engine->mixed_work ? RPINN_REAL_NAME(rpinn_cpu_passes_create)(engine, engine->mixed_work) : NULL;
  return engine->mixed_passes != NULL;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_engine_create)(RpinnContext *context, const RpinnEnergyModel *model,
                                                     RpinnIsa isa, RpinnBackend **backend) {
  RpinnCpuEngine *engine = calloc(1, sizeof *engine);
  RpinnWorkItem *items = calloc(model->num_terms + 1, sizeof *items);
  bool good = engine && items;
  for (size_t t = 0; good && t < model->num_terms; t++) items[t] = item_of(&model->terms[t]);
  if (good) {
    engine->base =
        (RpinnBackend){.operations = &RPINN_REAL_NAME(rpinn_cpu_operations), .model = model, .group = 1};
    engine->kernels = RPINN_REAL_NAME(rpinn_pointwise)(isa);
    engine->products = RPINN_REAL_NAME(rpinn_matrix_products)(isa);
    engine->prior_mean = find_prior_mean(model);
    engine->work = RPINN_REAL_NAME(rpinn_cpu_work_create)(model, items, model->num_terms, false);
    engine->passes = engine->work ? RPINN_REAL_NAME(rpinn_cpu_passes_create)(engine, engine->work) : NULL;
    good = engine->passes && allocate(engine) && plan_mixed_terms(engine, items);
    engine->is_factored = good && RPINN_REAL_NAME(rpinn_cpu_wants_factors)(engine);
  }
  free(items);
  *backend = good ? &engine->base : NULL;
  if (good) return RPINN_OK;
  destroy(engine ? &engine->base : NULL);
  return rpinn_fail_memory(context);
}

const RpinnBackendOperations RPINN_REAL_NAME(rpinn_cpu_operations) = {
    .destroy = destroy,
    .energies = RPINN_REAL_NAME(rpinn_cpu_energies),
    .evaluate = RPINN_REAL_NAME(rpinn_cpu_evaluate),
    .residuals = RPINN_REAL_NAME(rpinn_cpu_residuals),
    .prepare = RPINN_REAL_NAME(rpinn_cpu_prepare),
    .release = RPINN_REAL_NAME(rpinn_cpu_release),
    .evaluate_prepared = RPINN_REAL_NAME(rpinn_cpu_evaluate_prepared),
    .jacobian_times = RPINN_REAL_NAME(rpinn_cpu_jacobian_times),
    .transposed_times = RPINN_REAL_NAME(rpinn_cpu_transposed_times),
    .gram = RPINN_REAL_NAME(rpinn_cpu_gram),
    .adam_advance = RPINN_REAL_NAME(rpinn_cpu_adam_advance)};
