/* Rows and the Jacobian. */
#include <stdlib.h>
#include <string.h>

#include "cpu_engine.h"

/* user: rows [M]. A mixed term gives its deviations, to be mixed when all of them are there. */
static bool residual_rows(RpinnCpuEngine *engine, const RpinnSegment *segment, const Real *results,
                          void *user) {
  const RpinnTermModel *term = &engine->base.model->terms[segment->item];
  const double *targets = term->targets + segment->first_point;
  double shift = engine->work->late_shift[segment->item];
  if (term->mix) {
    double *deviations =
        engine->mixed.deviations + engine->mixed.first_point[segment->item] + segment->first_point;
    for (size_t p = 0; p < segment->num_points; p++)
      deviations[p] = (double)results[p] - (targets[p] - shift);
    return false;
  }
  size_t first = rpinn_cpu_first_row(engine, segment);
  double *rows = (double *)user + first;
  for (size_t p = 0; p < segment->num_points; p++)
    rows[p] = ((double)results[p] - (targets[p] - shift)) * engine->member.row_scale[first + p];
  return false;
}

/* ---- the Jacobian of a block ---- */

/* engine->weights of a segment: what its points are scaled by. */
static void scale_points(RpinnCpuEngine *engine, const RpinnSegment *segment) {
  const RpinnTermModel *term = &engine->base.model->terms[segment->item];
  const double *scales = engine->member.row_scale + term->first_row;
  for (size_t p = 0; p < segment->num_points; p++)
    engine->weights[p] = (Real)scales[term->mix ? 0 : segment->first_point + p];
}

/* Zero the columns of the fields that a segment does not use: nothing else writes them. */
static void clear_unused_fields(const RpinnCpuEngine *engine, const RpinnBlock *block, size_t s,
                                Real *jacobian, size_t num_points) {
  const RpinnEnergyModel *model = engine->base.model;
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    if (block->runs[f][s].num_points) continue;
    for (size_t p = 0; p < num_points; p++)
      memset(jacobian + p * model->num_parameters + network->parameter_start, 0,
             network->num_trainable * sizeof(Real));
  }
}

/* Segment number s of the block: engine->bars of its points, its rows, and the slopes of the unknowns. */
static void segment_bars(RpinnCpuEngine *engine, const RpinnBlock *block, size_t s, Real *unknowns,
                         size_t stride, double *rows) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnCpuWork *work = engine->work;
  size_t number = block->first_segment + s;
  RpinnSegment *segment = &work->segments[number];
  size_t count = segment->num_points;
  residual_rows(engine, segment, RPINN_REAL_NAME(rpinn_cpu_segment_results)(engine, work, block, number),
                rows);
  scale_points(engine, segment);
  memset(engine->unknown_slopes, 0, model->num_unknowns * count * sizeof(Real));
  RPINN_REAL_NAME(rpinn_program_pass_reverse)
  (&segment->program, engine->weights, NULL, engine->unknown_slopes);
  RPINN_REAL_NAME(rpinn_cpu_work_scatter)(work, block, number, engine->bars);
  for (size_t p = 0; p < count; p++)
    for (size_t k = 0; k < model->num_unknowns; k++)
      unknowns[p * stride + k] = engine->unknown_slopes[k * count + p];
}

void RPINN_REAL_NAME(rpinn_cpu_block_bars)(RpinnCpuEngine *engine, const RpinnBlock *block, Real *unknowns,
                                           size_t stride, double *rows) {
  const RpinnSegment *segments = engine->work->segments + block->first_segment;
  RPINN_REAL_NAME(rpinn_cpu_clear_bars)(engine, block);
  for (size_t s = 0; s < block->num_segments; s++)
    segment_bars(engine, block, s, unknowns + (segments[s].first_result - segments[0].first_result) * stride,
                 stride, rows);
}

void RPINN_REAL_NAME(rpinn_cpu_place_segments)(RpinnCpuEngine *engine, const RpinnBlock *block, Real *first,
                                               size_t stride) {
  const RpinnSegment *segments = engine->work->segments + block->first_segment;
  for (size_t s = 0; s < block->num_segments; s++)
    engine->row_jacobians[s] = first + (segments[s].first_result - segments[0].first_result) * stride;
}

void RPINN_REAL_NAME(rpinn_cpu_block_jacobian)(RpinnCpuEngine *engine, const RpinnBlock *block,
                                               Real *jacobian, double *rows) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters;
  RpinnSlopePlace place = {.rows = engine->row_jacobians, .stride = N};
  RPINN_REAL_NAME(rpinn_cpu_block_bars)(engine, block, jacobian + model->unknown_start, N, rows);
  RPINN_REAL_NAME(rpinn_cpu_place_segments)(engine, block, jacobian, N);
  for (size_t s = 0; s < block->num_segments; s++)
    clear_unused_fields(engine, block, s, engine->row_jacobians[s],
                        engine->work->segments[block->first_segment + s].num_points);
  for (size_t f = 0; f < model->num_fields; f++)
    if (block->num_rows[f]) RPINN_REAL_NAME(rpinn_field_pass_slopes)
  (engine->passes[f], block->runs[f], block->num_segments, block->num_rows[f], &place);
}

size_t RPINN_REAL_NAME(rpinn_cpu_rows_of_block)(const RpinnCpuWork *work, const RpinnBlock *block) {
  const RpinnSegment *first = &work->segments[block->first_segment], *last = first + block->num_segments - 1;
  return last->first_result + last->num_points - first->first_result;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_reserve_block)(RpinnContext *context, RpinnCpuEngine *engine) {
  const RpinnCpuWork *work = engine->work;
  size_t most = 0;
  for (size_t b = 0; b < work->num_blocks; b++) {
    size_t count = RPINN_REAL_NAME(rpinn_cpu_rows_of_block)(work, &work->blocks[b]);
    if (count > most) most = count;
  }
  if (!engine->block_rows)
    engine->block_rows = RPINN_REAL_NAME(rpinn_cpu_reals)(most * engine->base.model->num_parameters);
  if (!engine->block_product) engine->block_product = calloc(most + 1, sizeof(double));
  return engine->block_rows && engine->block_product ? RPINN_OK : rpinn_fail_memory(context);
}

/* ---- the Jacobian that is kept ---- */

bool RPINN_REAL_NAME(rpinn_cpu_has_jacobian)(const RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  return engine->has_jacobian &&
         !memcmp(engine->theta, engine->jacobian_theta, model->num_parameters * sizeof(Real)) &&
         !memcmp(engine->member.row_scale, engine->jacobian_scale, model->num_rows * sizeof(double));
}

static RpinnStatus reserve_jacobian(RpinnContext *context, RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters;
  if (!engine->jacobian) engine->jacobian = RPINN_REAL_NAME(rpinn_cpu_reals)(engine->work->num_results * N);
  if (!engine->jacobian_theta) engine->jacobian_theta = RPINN_REAL_NAME(rpinn_cpu_reals)(N);
  if (!engine->jacobian_scale) engine->jacobian_scale = calloc(model->num_rows + 1, sizeof(double));
  return engine->jacobian && engine->jacobian_theta && engine->jacobian_scale ? RPINN_OK
                                                                              : rpinn_fail_memory(context);
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_dense_jacobian)(RpinnContext *context, RpinnCpuEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnCpuWork *work = engine->work;
  size_t N = model->num_parameters;
  RPINN_TRY(reserve_jacobian(context, engine));
  if (RPINN_REAL_NAME(rpinn_cpu_has_jacobian)(engine)) return RPINN_OK;
  engine->has_jacobian = false;
  RPINN_REAL_NAME(rpinn_cpu_set_passes)(engine, engine->passes);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    RPINN_REAL_NAME(rpinn_cpu_forward_fields)(engine, engine->passes, block);
    RPINN_REAL_NAME(rpinn_cpu_block_jacobian)
    (engine, block, engine->jacobian + work->segments[block->first_segment].first_result * N, engine->rows);
  }
  if (engine->mixed_work) {
    RPINN_REAL_NAME(rpinn_mixed_terms_rows)(&engine->mixed, engine->member.row_scale, engine->rows);
    if (!RPINN_REAL_NAME(rpinn_mixed_terms_jacobian)(&engine->mixed, engine->member.row_scale,
                                                     engine->jacobian))
      return rpinn_fail_memory(context);
  }
  memcpy(engine->jacobian_theta, engine->theta, N * sizeof(Real));
  memcpy(engine->jacobian_scale, engine->member.row_scale, model->num_rows * sizeof(double));
  engine->has_jacobian = true;
  return RPINN_OK;
}

/* ---- for the caller ---- */

/* Straight to him where he has the same precision, otherwise block by block, so that the conversion finds the rows in the
 * cache. */
static RpinnStatus export_jacobian(RpinnContext *context, RpinnCpuEngine *engine, double *rows,
                                   double *jacobian) {
  const RpinnCpuWork *work = engine->work;
  const bool direct = sizeof(Real) == sizeof(double);
  size_t N = engine->base.model->num_parameters;
  if (!direct) RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_reserve_block)(context, engine));
  RPINN_REAL_NAME(rpinn_cpu_set_passes)(engine, engine->passes);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    double *target = jacobian + work->segments[block->first_segment].first_result * N;
    RPINN_REAL_NAME(rpinn_cpu_forward_fields)(engine, engine->passes, block);
    RPINN_REAL_NAME(rpinn_cpu_block_jacobian)
    (engine, block, direct ? (Real *)(void *)target : engine->block_rows, rows);
    if (!direct)
      engine->kernels->to_double(RPINN_REAL_NAME(rpinn_cpu_rows_of_block)(work, block) * N,
                                 engine->block_rows, target);
  }
  return RPINN_OK;
}

/* Mixed rows come from all blocks of their term: J is made whole before it goes to the caller. */
static RpinnStatus export_mixed_jacobian(RpinnContext *context, RpinnCpuEngine *engine, double *rows,
                                         double *jacobian) {
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_dense_jacobian)(context, engine));
  engine->kernels->to_double(M * N, engine->jacobian, jacobian);
  memcpy(rows, engine->rows, M * sizeof *rows);
  return RPINN_OK;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_residuals)(RpinnContext *context, RpinnBackend *backend,
                                                 const RpinnMemberBatch *batch, double *const *rows,
                                                 double *const *jacobians) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  for (size_t k = 0; k < batch->num_members; k++) {
    double *jacobian = jacobians ? jacobians[k] : NULL;
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, batch, k);
    if (jacobian) {
      RPINN_TRY(
          (engine->mixed_work ? export_mixed_jacobian : export_jacobian)(context, engine, rows[k], jacobian));
      continue;
    }
    RPINN_REAL_NAME(rpinn_cpu_sweep)(engine, residual_rows, rows[k], NULL);
    if (engine->mixed_work)
      RPINN_REAL_NAME(rpinn_mixed_terms_rows)(&engine->mixed, engine->member.row_scale, rows[k]);
  }
  return RPINN_OK;
}
