/* The backend `cpu` in one precision: OpenBLAS for the products, our own vector code for the rest.
 *
 * One member at a time. Its work is cut into blocks in a way that depends on the problem alone, and OpenBLAS
 * runs on one thread, so a member's bits depend on nothing but its parameters. Rows are formed and energies
 * added up in double: row = (R - d) / s - xi,   E += row^2 / 2,   dE/dR = row / s; see mixed_terms.h for terms whose rows
 * are not their points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "blas.h"
#include "cpu_backend.h"
#include "cpu_work.h"
#include "denormals.h"
#include "mixed_terms.h"
#include "rpinn/optimize.h"

enum { PIECE = 512 }; /* columns of J at a time, in products with it */

typedef struct CpuEngine {
  RpinnBackend base;
  const RpinnPointwise *kernels;
  RpinnCpuWork *work;              /* the terms */
  RpinnFieldPass **passes;         /* [num_fields] for blocks of work */
  const Real **outputs;            /* [num_fields] */
  Real **bars;                     /* [num_fields] */
  Real *theta, *gradient, *m, *v;  /* [N] */
  Real *prior_scale, *prior_shift; /* [N] root^2, root^2 mean + root xi */
  const double *prior_mean;        /* of the model; NULL when it is zero: one array less to read */
  Real *weights;                   /* [max_points] dE/dR of a segment */
  double *unknown_sums;            /* [num_unknowns] */
  double *term_sums;               /* [num_terms] sums of squares */
  double *rows;                    /* [M], of the Jacobian */
  Real *partial;                   /* [points of all terms], of J v */
  RpinnMixedTerms mixed;
  RpinnCpuWork *mixed_work; /* their points alone; NULL without such terms */
  RpinnFieldPass **mixed_passes;
  /* ---- made on first use ---- */
  bool has_jacobian;
  Real *jacobian, *jacobian_theta; /* [M][N] and the point it belongs to */
  Real *block_rows;                /* [rows of the largest block][N] */
  double *block_product;           /* [rows of the largest block] */
  Real *square, *columns;          /* [M][M], [M][PIECE] */
  Real *unknown_slopes;            /* [num_unknowns][max_points] */
  Real **row_jacobians;            /* [segments of a block] */
} CpuEngine;

/* ---- life ---- */

static void destroy_passes(const RpinnEnergyModel *model, RpinnFieldPass **passes) {
  for (size_t f = 0; passes && f < model->num_fields; f++)
    RPINN_REAL_NAME(rpinn_field_pass_destroy)(passes[f]);
  free(passes);
}

static RpinnFieldPass **create_passes(const CpuEngine *engine, const RpinnCpuWork *work) {
  const RpinnEnergyModel *model = engine->base.model;
  RpinnFieldPass **passes = calloc(model->num_fields, sizeof *passes);
  for (size_t f = 0; passes && f < model->num_fields; f++) {
    passes[f] =
        RPINN_REAL_NAME(rpinn_field_pass_create)(&model->networks[f], engine->kernels, work->max_rows[f] + 1);
    if (passes[f]) continue;
    destroy_passes(model, passes);
    return NULL;
  }
  return passes;
}

static void destroy(RpinnBackend *backend) {
  CpuEngine *engine = (CpuEngine *)backend;
  if (!engine) return;
  destroy_passes(backend->model, engine->passes);
  RPINN_REAL_NAME(rpinn_cpu_work_destroy)(engine->work);
  destroy_passes(backend->model, engine->mixed_passes);
  RPINN_REAL_NAME(rpinn_cpu_work_destroy)(engine->mixed_work);
  RPINN_REAL_NAME(rpinn_mixed_terms_destroy)(&engine->mixed);
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
                   engine->jacobian,
                   engine->jacobian_theta,
                   engine->block_rows,
                   engine->block_product,
                   engine->square,
                   engine->columns,
                   engine->unknown_slopes,
                   engine->row_jacobians};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  free(engine);
}

static Real *reals(size_t count) {
  size_t bytes = (count * sizeof(Real) + 127) / 64 * 64;
  Real *memory = aligned_alloc(64, bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

static bool allocate(CpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters, points = engine->work->max_points;
  engine->outputs = calloc(model->num_fields, sizeof *engine->outputs);
  engine->bars = calloc(model->num_fields, sizeof *engine->bars);
  engine->theta = reals(N);
  engine->gradient = reals(N);
  engine->m = reals(N);
  engine->v = reals(N);
  engine->prior_scale = reals(N);
  engine->prior_shift = reals(N);
  engine->weights = reals(points);
  engine->unknown_sums = calloc(model->num_unknowns + 1, sizeof(double));
  engine->term_sums = calloc(model->num_terms + 1, sizeof(double));
  engine->rows = calloc(model->num_rows + 1, sizeof(double));
  engine->partial = reals(engine->work->num_results); /* a point each: no fewer than rows */
  engine->unknown_slopes = reals(model->num_unknowns * points);
  engine->row_jacobians = calloc(engine->work->num_segments + 1, sizeof *engine->row_jacobians);
  return engine->outputs && engine->bars && engine->theta && engine->gradient && engine->m && engine->v &&
         engine->prior_scale && engine->prior_shift && engine->weights && engine->unknown_sums &&
         engine->term_sums && engine->rows && engine->partial && engine->unknown_slopes &&
         engine->row_jacobians;
}

static const double *find_prior_mean(const RpinnEnergyModel *model) {
  for (size_t j = 0; j < model->num_parameters; j++)
    if (model->prior_mean[j] != 0) return model->prior_mean;
  return NULL;
}

/* items [num_terms + 1] is room for the mixed terms, which are planned as an evaluation of their own. */
static bool plan_mixed_terms(CpuEngine *engine, RpinnWorkItem *items) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t count = 0;
  if (!RPINN_REAL_NAME(rpinn_mixed_terms_create)(model, &engine->mixed)) return false;
  for (size_t t = 0; t < model->num_terms; t++)
    if (model->terms[t].mix)
      items[count++] =
          (RpinnWorkItem){model->terms[t].program, model->terms[t].num_points, model->terms[t].points};
  if (!count) return true;
  engine->mixed_work = RPINN_REAL_NAME(rpinn_cpu_work_create)(model, items, count);
  engine->mixed_passes = engine->mixed_work ? create_passes(engine, engine->mixed_work) : NULL;
  return engine->mixed_passes != NULL;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_engine_create)(RpinnContext *context, const RpinnEnergyModel *model,
                                                     RpinnIsa isa, RpinnBackend **backend) {
  CpuEngine *engine = calloc(1, sizeof *engine);
  RpinnWorkItem *items = calloc(model->num_terms + 1, sizeof *items);
  bool good = engine && items;
  for (size_t t = 0; good && t < model->num_terms; t++)
    items[t] = (RpinnWorkItem){model->terms[t].program, model->terms[t].num_points, model->terms[t].points};
  if (good) {
    engine->base = (RpinnBackend){&RPINN_REAL_NAME(rpinn_cpu_operations), model};
    engine->kernels = RPINN_REAL_NAME(rpinn_pointwise)(isa);
    engine->prior_mean = find_prior_mean(model);
    engine->work = RPINN_REAL_NAME(rpinn_cpu_work_create)(model, items, model->num_terms);
    engine->passes = engine->work ? create_passes(engine, engine->work) : NULL;
    good = engine->passes && allocate(engine) && plan_mixed_terms(engine, items);
  }
  free(items);
  *backend = good ? &engine->base : NULL;
  if (good) return RPINN_OK;
  destroy(engine ? &engine->base : NULL);
  return rpinn_fail_memory(context);
}

/* ---- one sweep over the blocks ---- */

/* What a sweep does with the results R of a segment: fill engine->weights with dE/dR, or return false to go
 * no further than the forward pass. */
typedef bool (*RowFunction)(CpuEngine *engine, const RpinnSegment *segment, const Real *results, void *user);

static void set_passes(CpuEngine *engine, RpinnFieldPass **passes, const Real *theta) {
  for (size_t f = 0; f < engine->base.model->num_fields; f++)
    RPINN_REAL_NAME(rpinn_field_pass_set)(passes[f], theta);
}

static void forward_fields(CpuEngine *engine, RpinnFieldPass **passes, const RpinnBlock *block) {
  for (size_t f = 0; f < engine->base.model->num_fields; f++)
    if (block->num_rows[f])
      engine->outputs[f] = RPINN_REAL_NAME(rpinn_field_pass_forward)(passes[f], block->runs[f],
                                                                     block->num_segments, block->num_rows[f]);
}

static void clear_bars(CpuEngine *engine, RpinnFieldPass **passes, const RpinnBlock *block) {
  for (size_t f = 0; f < engine->base.model->num_fields; f++) {
    engine->bars[f] = RPINN_REAL_NAME(rpinn_field_pass_bars)(passes[f]);
    memset(engine->bars[f], 0, block->num_rows[f] * sizeof(Real));
  }
}

/* R of one segment of a block whose fields went forward. */
static const Real *segment_results(CpuEngine *engine, const RpinnCpuWork *work, const RpinnBlock *block,
                                   size_t s, const Real *theta) {
  RPINN_REAL_NAME(rpinn_cpu_work_gather)(work, block, s, engine->outputs);
  return RPINN_REAL_NAME(rpinn_program_pass_forward)(&work->segments[s].program,
                                                     theta + engine->base.model->unknown_start);
}

/* All terms at theta; with a gradient [N] where `rows` gives weights. */
static void sweep(CpuEngine *engine, const Real *theta, RowFunction rows, void *user, Real *gradient) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnCpuWork *work = engine->work;
  set_passes(engine, engine->passes, theta);
  memset(engine->unknown_sums, 0, model->num_unknowns * sizeof(double));
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    forward_fields(engine, engine->passes, block);
    if (gradient) clear_bars(engine, engine->passes, block);
    for (size_t s = block->first_segment; s < block->first_segment + block->num_segments; s++) {
      const Real *results = segment_results(engine, work, block, s, theta);
      if (!rows(engine, &work->segments[s], results, user) || !gradient) continue;
      RPINN_REAL_NAME(rpinn_program_pass_reverse)
      (&work->segments[s].program, engine->weights, engine->unknown_sums, NULL);
      RPINN_REAL_NAME(rpinn_cpu_work_scatter)(work, block, s, engine->bars);
    }
    for (size_t f = 0; gradient && f < model->num_fields; f++)
      if (block->num_rows[f]) RPINN_REAL_NAME(rpinn_field_pass_reverse)
    (engine->passes[f], block->runs[f], block->num_segments, block->num_rows[f], gradient);
  }
  if (!gradient) return;
  for (size_t f = 0; f < model->num_fields; f++)
    RPINN_REAL_NAME(rpinn_field_pass_finish)(engine->passes[f], gradient);
  for (size_t k = 0; k < model->num_unknowns; k++)
    gradient[model->unknown_start + k] = (Real)engine->unknown_sums[k];
}

/* The results of all items of a plan at engine->theta: values [num_results]. */
static void evaluate_member(CpuEngine *engine, const RpinnCpuWork *work, RpinnFieldPass **passes,
                            double *values) {
  set_passes(engine, passes, engine->theta);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    forward_fields(engine, passes, block);
    for (size_t s = block->first_segment; s < block->first_segment + block->num_segments; s++) {
      const RpinnSegment *segment = &work->segments[s];
      const Real *results = segment_results(engine, work, block, s, engine->theta);
      for (size_t p = 0; p < segment->num_points; p++)
        values[segment->first_result + p] = (double)results[p] + work->late_shift[segment->item];
    }
  }
}

/* ---- energies ---- */

/* The first row of a segment whose rows are its points. */
static size_t row_of(const CpuEngine *engine, const RpinnSegment *segment) {
  return engine->mixed.first_row[segment->item] + segment->first_point;
}

/* The weights of a segment of a mixed term, which are known before the sweep. */
static bool mixed_weights(CpuEngine *engine, const RpinnSegment *segment) {
  const double *weights =
      engine->mixed.weights + engine->mixed.first_point[segment->item] + segment->first_point;
  for (size_t p = 0; p < segment->num_points; p++) engine->weights[p] = (Real)weights[p];
  return true;
}

/* Rows, weights and sums of squares of the mixed terms at engine->theta. */
static void mixed_energies(CpuEngine *engine, const double *offsets) {
  const RpinnEnergyModel *model = engine->base.model;
  evaluate_member(engine, engine->mixed_work, engine->mixed_passes, engine->mixed.deviations);
  for (size_t t = 0; t < model->num_terms; t++)
    for (size_t p = 0; model->terms[t].mix && p < model->terms[t].num_points; p++)
      engine->mixed.deviations[engine->mixed.first_point[t] + p] -= model->terms[t].targets[p];
  RPINN_REAL_NAME(rpinn_mixed_terms_energies)(&engine->mixed, offsets, engine->term_sums);
}

/* user: the offsets of the member, or NULL. */
static bool energy_rows(CpuEngine *engine, const RpinnSegment *segment, const Real *results, void *user) {
  const RpinnTermModel *term = &engine->base.model->terms[segment->item];
  if (term->mix) return mixed_weights(engine, segment);
  const double *offsets = user ? (const double *)user + row_of(engine, segment) : NULL;
  const double *targets = term->targets + segment->first_point;
  double shift = engine->work->late_shift[segment->item], sum = 0;
  for (size_t p = 0; p < segment->num_points; p++) {
    double inverse_sigma = rpinn_term_inverse_sigma(term, segment->first_point + p);
    double row = ((double)results[p] - (targets[p] - shift)) * inverse_sigma - (offsets ? offsets[p] : 0.0);
    sum += row * row;
    engine->weights[p] = (Real)(row * inverse_sigma);
  }
  engine->term_sums[segment->item] += sum;
  return true;
}

/* At engine->theta. */
static double data_energy(CpuEngine *engine, const double *offsets, Real *gradient) {
  const RpinnEnergyModel *model = engine->base.model;
  double sum = 0;
  memset(engine->term_sums, 0, model->num_terms * sizeof(double));
  if (engine->mixed_work) mixed_energies(engine, offsets);
  sweep(engine, engine->theta, energy_rows, (void *)offsets, gradient);
  for (size_t t = 0; t < model->num_terms; t++) sum += 0.5 * engine->term_sums[t];
  return sum;
}

static RpinnStatus energies(RpinnBackend *backend, const RpinnMemberBatch *batch, double *values,
                            double *gradients, double *term_energies) {
  CpuEngine *engine = (CpuEngine *)backend;
  const RpinnEnergyModel *model = backend->model;
  size_t N = model->num_parameters;
  for (size_t k = 0; k < batch->num_members; k++) {
    const double *theta = rpinn_batch_parameters(batch, model, k),
                 *offsets = rpinn_batch_offsets(batch, model, k);
    double *gradient = gradients ? gradients + k * N : NULL;
    engine->kernels->to_real(N, theta, engine->theta);
    values[k] = data_energy(engine, offsets, gradient ? engine->gradient : NULL);
    double prior = gradient ? engine->kernels->finish_gradient(
                                  N, engine->gradient, theta, model->prior_root, engine->prior_mean,
                                  offsets ? offsets + model->num_rows : NULL, gradient)
                            : rpinn_model_prior_energy(model, theta, offsets, NULL);
    values[k] += prior;
    if (!term_energies) continue;
    double *own = term_energies + k * (model->num_terms + 1);
    for (size_t t = 0; t < model->num_terms; t++) own[t] = 0.5 * engine->term_sums[t];
    own[model->num_terms] = prior;
  }
  return RPINN_OK;
}

/* ---- Adam ---- */

static RpinnAdamStep adam_step(const RpinnAdamRule *rule, size_t t) {
  double steps = (double)(t + 1);
  double rate = rule->learning_rate * pow(rule->decay_rate, (double)t / rule->decay_steps);
  return (RpinnAdamStep){.beta1 = (Real)rule->beta1,
                         .beta2 = (Real)rule->beta2,
                         .rate = (Real)(rate / (1 - pow(rule->beta1, steps))),
                         .root_scale = (Real)(1 / sqrt(1 - pow(rule->beta2, steps))),
                         .epsilon = (Real)rule->epsilon};
}

static void set_prior(CpuEngine *engine, const double *offsets) {
  const RpinnEnergyModel *model = engine->base.model;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = model->prior_root[j], xi = offsets && root > 0 ? offsets[model->num_rows + j] : 0;
    engine->prior_scale[j] = (Real)(root * root);
    engine->prior_shift[j] = (Real)(root * (root * model->prior_mean[j] + xi));
  }
}

static RpinnStatus adam_advance(RpinnBackend *backend, const RpinnMemberBatch *batch,
                                const RpinnAdamRule *rule, const RpinnAdamStates *states, size_t num_steps,
                                double *values) {
  CpuEngine *engine = (CpuEngine *)backend;
  const RpinnEnergyModel *model = backend->model;
  size_t N = model->num_parameters;
  DenormalMode mode = denormals_off();
  for (size_t k = 0; k < batch->num_members; k++) {
    size_t member = batch->members ? batch->members[k] : k;
    const double *offsets = rpinn_batch_offsets(batch, model, k);
    double *theta = states->theta + member * N, *m = states->m + member * N, *v = states->v + member * N;
    engine->kernels->to_real(N, theta, engine->theta);
    engine->kernels->to_real(N, m, engine->m);
    engine->kernels->to_real(N, v, engine->v);
    set_prior(engine, offsets);
    for (size_t step = 0; step < num_steps; step++) {
      if (step + 1 == num_steps)
        engine->kernels->to_double(N, engine->theta, theta); /* where the last gradient is taken */
      double energy = data_energy(engine, offsets, engine->gradient);
      if (step + 1 == num_steps) values[k] = energy + rpinn_model_prior_energy(model, theta, offsets, NULL);
      RpinnAdamStep rule_step = adam_step(rule, states->t[member]++);
      engine->kernels->adam_update(N, &rule_step, engine->gradient, engine->prior_scale, engine->prior_shift,
                                   engine->theta, engine->m, engine->v);
    }
    engine->kernels->to_double(N, engine->theta, theta);
    engine->kernels->to_double(N, engine->m, m);
    engine->kernels->to_double(N, engine->v, v);
  }
  denormals_restore(mode);
  return RPINN_OK;
}

/* ---- predictions ---- */

/* An evaluation, planned: its programs at its points cut into blocks, and the fields' work space for these. */
typedef struct Prepared {
  RpinnCpuWork *work;
  RpinnFieldPass **passes;
} Prepared;

static RpinnCpuWork *plan_evaluation(const CpuEngine *engine, const RpinnEvaluation *evaluation) {
  RpinnWorkItem *items = calloc(evaluation->num_programs + 1, sizeof *items);
  if (!items) return NULL;
  for (size_t q = 0; q < evaluation->num_programs; q++)
    items[q] = (RpinnWorkItem){evaluation->programs[q], evaluation->num_points, evaluation->points};
  RpinnCpuWork *work =
      RPINN_REAL_NAME(rpinn_cpu_work_create)(engine->base.model, items, evaluation->num_programs);
  free(items);
  return work;
}

static void release(RpinnBackend *backend, void *prepared) {
  Prepared *plan = prepared;
  if (!plan) return;
  destroy_passes(backend->model, plan->passes);
  RPINN_REAL_NAME(rpinn_cpu_work_destroy)(plan->work);
  free(plan);
}

static RpinnStatus prepare(RpinnBackend *backend, const RpinnEvaluation *evaluation, void **prepared) {
  const CpuEngine *engine = (CpuEngine *)backend;
  Prepared *plan = *prepared = calloc(1, sizeof *plan);
  if (!plan) return RPINN_ERROR_MEMORY;
  plan->work = plan_evaluation(engine, evaluation);
  plan->passes = plan->work ? create_passes(engine, plan->work) : NULL;
  if (plan->passes) return RPINN_OK;
  release(backend, plan);
  *prepared = NULL;
  return RPINN_ERROR_MEMORY;
}

static RpinnStatus evaluate_prepared(RpinnBackend *backend, const RpinnMemberBatch *batch, void *prepared,
                                     double *values) {
  CpuEngine *engine = (CpuEngine *)backend;
  const Prepared *plan = prepared;
  for (size_t k = 0; k < batch->num_members; k++) {
    engine->kernels->to_real(backend->model->num_parameters, rpinn_batch_parameters(batch, backend->model, k),
                             engine->theta);
    evaluate_member(engine, plan->work, plan->passes, values + k * plan->work->num_results);
  }
  return RPINN_OK;
}

static RpinnStatus evaluate(RpinnBackend *backend, const RpinnMemberBatch *batch,
                            const RpinnEvaluation *evaluation, double *values) {
  void *prepared;
  RPINN_TRY(prepare(backend, evaluation, &prepared));
  RpinnStatus status = evaluate_prepared(backend, batch, prepared, values);
  release(backend, prepared);
  return status;
}

/* ---- rows and Jacobian ---- */

/* user: rows [M]. A mixed term gives its deviations, to be mixed when all of them are there. */
static bool residual_rows(CpuEngine *engine, const RpinnSegment *segment, const Real *results, void *user) {
  const RpinnTermModel *term = &engine->base.model->terms[segment->item];
  double *rows = (double *)user + row_of(engine, segment), shift = engine->work->late_shift[segment->item];
  if (term->mix)
    rows = engine->mixed.deviations + engine->mixed.first_point[segment->item] + segment->first_point;
  for (size_t p = 0; p < segment->num_points; p++) {
    size_t point = segment->first_point + p;
    double scale = term->mix ? 1 : rpinn_term_inverse_sigma(term, point);
    rows[p] = ((double)results[p] - (term->targets[point] - shift)) * scale;
  }
  return false;
}

/* Zero the columns of the fields that a segment does not use: nothing else writes them. */
static void clear_unused_fields(const CpuEngine *engine, const RpinnBlock *block, size_t s, Real *jacobian,
                                size_t num_points) {
  const RpinnEnergyModel *model = engine->base.model;
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    if (block->runs[f][s].num_points) continue;
    for (size_t p = 0; p < num_points; p++)
      memset(jacobian + p * model->num_parameters + network->parameter_start, 0,
             network->num_trainable * sizeof(Real));
  }
}

/* The rows of J of one block, one per point, each a vector like theta; its fields went forward. jacobian: the first of
 * them. rows [M], as residual_rows fills them. */
static void block_jacobian(CpuEngine *engine, const RpinnBlock *block, Real *jacobian, double *rows) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnCpuWork *work = engine->work;
  size_t N = model->num_parameters, first_row = work->segments[block->first_segment].first_result;
  clear_bars(engine, engine->passes, block);
  for (size_t s = 0; s < block->num_segments; s++) {
    const RpinnSegment *segment = &work->segments[block->first_segment + s];
    size_t count = segment->num_points;
    const Real *results = segment_results(engine, work, block, block->first_segment + s, engine->theta);
    residual_rows(engine, segment, results, rows);
    for (size_t p = 0; p < count; p++)
      engine->weights[p] =
          (Real)rpinn_term_inverse_sigma(&model->terms[segment->item], segment->first_point + p);
    memset(engine->unknown_slopes, 0, model->num_unknowns * count * sizeof(Real));
    RPINN_REAL_NAME(rpinn_program_pass_reverse)
    ((RpinnProgramPass *)&segment->program, engine->weights, NULL, engine->unknown_slopes);
    RPINN_REAL_NAME(rpinn_cpu_work_scatter)(work, block, block->first_segment + s, engine->bars);
    Real *own = engine->row_jacobians[s] = jacobian + (segment->first_result - first_row) * N;
    clear_unused_fields(engine, block, s, own, count);
    for (size_t p = 0; p < count; p++)
      for (size_t k = 0; k < model->num_unknowns; k++)
        own[p * N + model->unknown_start + k] = engine->unknown_slopes[k * count + p];
  }
  for (size_t f = 0; f < model->num_fields; f++)
    if (block->num_rows[f]) RPINN_REAL_NAME(rpinn_field_pass_jacobian)
  (engine->passes[f], block->runs[f], block->num_segments, block->num_rows[f], engine->row_jacobians, N);
}

/* Rows of J of a block: consecutive, and the next block goes on after them. */
static size_t rows_of_block(const RpinnCpuWork *work, const RpinnBlock *block) {
  const RpinnSegment *first = &work->segments[block->first_segment], *last = first + block->num_segments - 1;
  return last->first_result + last->num_points - first->first_result;
}

/* Is the Jacobian that is kept the one at engine->theta? */
static bool has_jacobian_at(const CpuEngine *engine) {
  return engine->has_jacobian &&
         !memcmp(engine->theta, engine->jacobian_theta, engine->base.model->num_parameters * sizeof(Real));
}

/* engine->jacobian [M][N] and engine->rows [M] at theta. The last point is kept: what asks for J J^T at a
 * point mostly asks for J v there as well. */
static RpinnStatus dense_jacobian(CpuEngine *engine, const double *theta) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnCpuWork *work = engine->work;
  size_t N = model->num_parameters;
  if (!engine->jacobian) engine->jacobian = reals(work->num_results * N);
  if (!engine->jacobian_theta) engine->jacobian_theta = reals(N);
  if (!engine->jacobian || !engine->jacobian_theta) return RPINN_ERROR_MEMORY;
  engine->kernels->to_real(N, theta, engine->theta);
  if (has_jacobian_at(engine)) return RPINN_OK;
  set_passes(engine, engine->passes, engine->theta);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    forward_fields(engine, engine->passes, block);
    block_jacobian(engine, block, engine->jacobian + work->segments[block->first_segment].first_result * N,
                   engine->rows);
  }
  if (engine->mixed_work) {
    engine->has_jacobian = false;
    RPINN_REAL_NAME(rpinn_mixed_terms_rows)(&engine->mixed, engine->rows);
    if (!RPINN_REAL_NAME(rpinn_mixed_terms_jacobian)(&engine->mixed, engine->jacobian))
      return RPINN_ERROR_MEMORY;
  }
  memcpy(engine->jacobian_theta, engine->theta, N * sizeof(Real));
  engine->has_jacobian = true;
  return RPINN_OK;
}

/* Room for the rows of J of the largest block. */
static bool reserve_block(CpuEngine *engine) {
  const RpinnCpuWork *work = engine->work;
  size_t most = 0;
  if (engine->block_rows && engine->block_product) return true;
  for (size_t b = 0; b < work->num_blocks; b++)
    if (rows_of_block(work, &work->blocks[b]) > most) most = rows_of_block(work, &work->blocks[b]);
  engine->block_rows = reals(most * engine->base.model->num_parameters);
  engine->block_product = calloc(most + 1, sizeof(double));
  return engine->block_rows && engine->block_product;
}

/* J for the caller: straight to him where he has the same precision, otherwise block by block, so that the
 * conversion finds the rows in the cache. */
static RpinnStatus export_jacobian(CpuEngine *engine, const double *theta, double *rows, double *jacobian) {
  const RpinnCpuWork *work = engine->work;
  const bool direct = sizeof(Real) == sizeof(double);
  size_t N = engine->base.model->num_parameters;
  if (!direct && !reserve_block(engine)) return RPINN_ERROR_MEMORY;
  engine->kernels->to_real(N, theta, engine->theta);
  set_passes(engine, engine->passes, engine->theta);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    double *target = jacobian + work->segments[block->first_segment].first_result * N;
    forward_fields(engine, engine->passes, block);
    block_jacobian(engine, block, direct ? (Real *)(void *)target : engine->block_rows, rows);
    if (!direct) engine->kernels->to_double(rows_of_block(work, block) * N, engine->block_rows, target);
  }
  return RPINN_OK;
}

/* Mixed rows come from all blocks of their term: J is made whole before it goes to the caller. */
static RpinnStatus export_mixed_jacobian(CpuEngine *engine, const double *theta, double *rows,
                                         double *jacobian) {
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  RPINN_TRY(dense_jacobian(engine, theta));
  engine->kernels->to_double(M * N, engine->jacobian, jacobian);
  memcpy(rows, engine->rows, M * sizeof *rows);
  return RPINN_OK;
}

static RpinnStatus residuals(RpinnBackend *backend, const double *theta, double *rows, double *jacobian) {
  CpuEngine *engine = (CpuEngine *)backend;
  const RpinnEnergyModel *model = backend->model;
  if (!jacobian) {
    engine->kernels->to_real(model->num_parameters, theta, engine->theta);
    sweep(engine, engine->theta, residual_rows, rows, NULL);
    if (engine->mixed_work) RPINN_REAL_NAME(rpinn_mixed_terms_rows)(&engine->mixed, rows);
    return RPINN_OK;
  }
  if (engine->mixed_work) return export_mixed_jacobian(engine, theta, rows, jacobian);
  return export_jacobian(engine, theta, rows, jacobian);
}

/* product [num_rows] = matrix [num_rows][N] direction, a piece of the columns at a time, so that sums over many columns are
 * in double. */
static void multiply(CpuEngine *engine, size_t num_rows, const Real *matrix, const Real *direction,
                     double *product) {
  size_t N = engine->base.model->num_parameters;
  for (size_t i = 0; i < num_rows; i++) product[i] = 0;
  for (size_t first = 0; first < N; first += PIECE) {
    size_t count = N - first < PIECE ? N - first : PIECE;
    RPINN_BLAS(gemv)
    (CblasRowMajor, CblasNoTrans, (int)num_rows, (int)count, 1, matrix + first, (int)N, direction + first, 1,
     0, engine->partial, 1);
    for (size_t i = 0; i < num_rows; i++) product[i] += (double)engine->partial[i];
  }
}

/* J v a block at a time: the rows of J are made, used and forgotten. The derivative of a mixed term's deviations along v is
 * mixed as they are themselves. */
static RpinnStatus times_by_blocks(CpuEngine *engine, double *product) {
  const RpinnCpuWork *work = engine->work;
  const RpinnEnergyModel *model = engine->base.model;
  if (!reserve_block(engine)) return RPINN_ERROR_MEMORY;
  engine->has_jacobian = false; /* its rows go */
  set_passes(engine, engine->passes, engine->theta);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    forward_fields(engine, engine->passes, block);
    block_jacobian(engine, block, engine->block_rows, engine->rows);
    multiply(engine, rows_of_block(work, block), engine->block_rows, engine->gradient, engine->block_product);
    for (size_t s = block->first_segment; s < block->first_segment + block->num_segments; s++) {
      const RpinnSegment *segment = &work->segments[s];
      const double *from =
          engine->block_product + segment->first_result - work->segments[block->first_segment].first_result;
      if (model->terms[segment->item].mix)
        for (size_t p = 0; p < segment->num_points; p++)
          engine->mixed.deviations[engine->mixed.first_point[segment->item] + segment->first_point + p] =
              from[p] / model->terms[segment->item].inverse_sigma;
      else
        memcpy(product + row_of(engine, segment), from, segment->num_points * sizeof *product);
    }
  }
  if (engine->mixed_work) RPINN_REAL_NAME(rpinn_mixed_terms_rows)(&engine->mixed, product);
  return RPINN_OK;
}

static RpinnStatus jacobian_times(RpinnBackend *backend, const double *theta, const double *direction,
                                  double *product) {
  CpuEngine *engine = (CpuEngine *)backend;
  size_t M = backend->model->num_rows, N = backend->model->num_parameters;
  engine->kernels->to_real(N, direction, engine->gradient);
  engine->kernels->to_real(N, theta, engine->theta);
  if (M > RPINN_MAX_DENSE_ROWS && !has_jacobian_at(engine)) return times_by_blocks(engine, product);
  RPINN_TRY(dense_jacobian(engine, theta));
  multiply(engine, M, engine->jacobian, engine->gradient, product);
  return RPINN_OK;
}

/* user: weights w [M]: J^T w is the gradient of w . r, so dE/dR = w / s. */
static bool given_rows(CpuEngine *engine, const RpinnSegment *segment, const Real *results, void *user) {
  const RpinnTermModel *term = &engine->base.model->terms[segment->item];
  const double *weights = (const double *)user + row_of(engine, segment);
  (void)results;
  if (term->mix) return mixed_weights(engine, segment);
  for (size_t p = 0; p < segment->num_points; p++)
    engine->weights[p] = (Real)(weights[p] * rpinn_term_inverse_sigma(term, segment->first_point + p));
  return true;
}

static RpinnStatus transposed_times(RpinnBackend *backend, const double *theta, const double *weights,
                                    double *product) {
  CpuEngine *engine = (CpuEngine *)backend;
  size_t N = backend->model->num_parameters;
  engine->kernels->to_real(N, theta, engine->theta);
  if (engine->mixed_work) RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(&engine->mixed, weights);
  sweep(engine, engine->theta, given_rows, (void *)weights, engine->gradient);
  engine->kernels->to_double(N, engine->gradient, product);
  return RPINN_OK;
}

/* columns [M][count] = J's columns from `first` on, times sqrt(scale) */
static void pack_columns(CpuEngine *engine, const double *scale, size_t first, size_t count) {
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  Real root[PIECE];
  for (size_t j = 0; j < count; j++) root[j] = scale ? (Real)sqrt(scale[first + j]) : 1;
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < count; j++)
      engine->columns[i * count + j] = root[j] * engine->jacobian[i * N + first + j];
}

/* gram = J diag(scale) J^T, a piece of the columns at a time; the sum over pieces is in double. Summed in
 * float all the way it gets eigenvalues below zero, and Levenberg–Marquardt cannot solve for its steps any
 * more when they matter most. J itself stays as it is, for J v at the same point. */
static RpinnStatus gram(RpinnBackend *backend, const double *theta, const double *scale, double *rows,
                        double *product) {
  CpuEngine *engine = (CpuEngine *)backend;
  size_t M = backend->model->num_rows, N = backend->model->num_parameters;
  RPINN_TRY(dense_jacobian(engine, theta));
  if (!engine->square) engine->square = reals(M * M);
  if (!engine->columns) engine->columns = reals(M * PIECE);
  if (!engine->square || !engine->columns) return RPINN_ERROR_MEMORY;
  memcpy(rows, engine->rows, M * sizeof *rows);
  for (size_t first = 0; first < N; first += PIECE) {
    size_t count = N - first < PIECE ? N - first : PIECE;
    pack_columns(engine, scale, first, count);
    RPINN_BLAS(syrk)
    (CblasRowMajor, CblasLower, CblasNoTrans, (int)M, (int)count, 1, engine->columns, (int)count, 0,
     engine->square, (int)M);
    for (size_t i = 0; i < M; i++)
      for (size_t k = 0; k <= i; k++)
        product[i * M + k] = (first ? product[i * M + k] : 0) + (double)engine->square[i * M + k];
  }
  for (size_t i = 0; i < M; i++)
    for (size_t k = 0; k < i; k++) product[k * M + i] = product[i * M + k];
  return RPINN_OK;
}

const RpinnBackendOperations RPINN_REAL_NAME(rpinn_cpu_operations) = {.destroy = destroy,
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
