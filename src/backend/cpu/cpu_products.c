/* Products with the Jacobian: J v, J^T w and J D J^T. */
#include <string.h>

#include "blas.h"
#include "cpu_factors.h"
#include "rpinn/optimize.h"

/* ---- J v ---- */

/* A piece of the columns at a time, so that sums over many columns are in double. */
void RPINN_REAL_NAME(rpinn_cpu_matrix_times)(RpinnCpuEngine *engine, size_t num_rows, size_t num_columns,
                                             const Real *matrix, const Real *direction, double *product) {
  for (size_t i = 0; i < num_rows; i++) product[i] = 0;
  for (size_t first = 0; first < num_columns; first += RPINN_CPU_PIECE) {
    size_t count = num_columns - first < RPINN_CPU_PIECE ? num_columns - first : RPINN_CPU_PIECE;
    RPINN_BLAS(gemv)
    (CblasRowMajor, CblasNoTrans, (int)num_rows, (int)count, 1, matrix + first, (int)num_columns,
     direction + first, 1, 0, engine->partial, 1);
    for (size_t i = 0; i < num_rows; i++) product[i] += (double)engine->partial[i];
  }
}

/* engine->block_product to the rows of a block, or to the deviations of a mixed term, whose scale they have already. */
static void place_block_product(RpinnCpuEngine *engine, const RpinnBlock *block, double *product) {
  const RpinnSegment *segments = engine->work->segments + block->first_segment;
  for (size_t s = 0; s < block->num_segments; s++) {
    const RpinnSegment *segment = &segments[s];
    const RpinnTermModel *term = &engine->base.model->terms[segment->item];
    const double *from = engine->block_product + segment->first_result - segments[0].first_result;
    if (!term->mix) {
      memcpy(product + rpinn_cpu_first_row(engine, segment), from, segment->num_points * sizeof *product);
      continue;
    }
    double *deviations =
        engine->mixed.deviations + engine->mixed.first_point[segment->item] + segment->first_point;
    for (size_t p = 0; p < segment->num_points; p++)
      deviations[p] = from[p] / engine->member.row_scale[term->first_row];
  }
}

/* J v a block at a time: the rows of J are made, used and forgotten. The derivative of a mixed term's deviations along v is
 * mixed as they are themselves. v is in engine->gradient. */
static RpinnStatus times_by_blocks(RpinnContext *context, RpinnCpuEngine *engine, double *product) {
  const RpinnCpuWork *work = engine->work;
  RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_reserve_block)(context, engine));
  engine->has_jacobian = false; /* its rows go */
  RPINN_REAL_NAME(rpinn_cpu_set_passes)(engine, engine->passes);
  for (size_t b = 0; b < work->num_blocks; b++) {
    const RpinnBlock *block = &work->blocks[b];
    RPINN_REAL_NAME(rpinn_cpu_forward_fields)(engine, engine->passes, block);
    RPINN_REAL_NAME(rpinn_cpu_block_jacobian)(engine, block, engine->block_rows, engine->rows);
    RPINN_REAL_NAME(rpinn_cpu_matrix_times)
    (engine, RPINN_REAL_NAME(rpinn_cpu_rows_of_block)(work, block), engine->base.model->num_parameters,
     engine->block_rows, engine->gradient, engine->block_product);
    place_block_product(engine, block, product);
  }
  if (engine->mixed_work)
    RPINN_REAL_NAME(rpinn_mixed_terms_rows)(&engine->mixed, engine->member.row_scale, product);
  return RPINN_OK;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_jacobian_times)(RpinnContext *context, RpinnBackend *backend,
                                                      const RpinnMemberBatch *batch,
                                                      const double *const *directions,
                                                      double *const *products) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  size_t M = backend->model->num_rows, N = backend->model->num_parameters;
  for (size_t k = 0; k < batch->num_members; k++) {
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, batch, k);
    engine->kernels->to_real(N, directions[k], engine->gradient);
    if (engine->is_factored) {
      RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_factors_make)(context, engine));
      RPINN_REAL_NAME(rpinn_cpu_factors_times)(engine, products[k]);
      continue;
    }
    if (M > RPINN_MAX_DENSE_ROWS && !RPINN_REAL_NAME(rpinn_cpu_has_jacobian)(engine)) {
      RPINN_TRY(times_by_blocks(context, engine, products[k]));
      continue;
    }
    RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_dense_jacobian)(context, engine));
    RPINN_REAL_NAME(rpinn_cpu_matrix_times)
    (engine, M, N, engine->jacobian, engine->gradient, products[k]);
  }
  return RPINN_OK;
}

/* ---- J^T w ---- */

/* user: weights w [M]: J^T w is the gradient of w . r, so dE/dR = w / s. */
static bool given_rows(RpinnCpuEngine *engine, const RpinnSegment *segment, const Real *results, void *user) {
  (void)results;
  if (engine->base.model->terms[segment->item].mix)
    return RPINN_REAL_NAME(rpinn_cpu_mixed_weights)(engine, segment);
  size_t first = rpinn_cpu_first_row(engine, segment);
  const double *weights = (const double *)user + first, *scales = engine->member.row_scale + first;
  for (size_t p = 0; p < segment->num_points; p++) engine->weights[p] = (Real)(weights[p] * scales[p]);
  return true;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_transposed_times)(RpinnContext *context, RpinnBackend *backend,
                                                        const RpinnMemberBatch *batch,
                                                        const double *const *weights,
                                                        double *const *products) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  for (size_t k = 0; k < batch->num_members; k++) {
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, batch, k);
    if (engine->is_factored) {
      RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_factors_make)(context, engine));
      RPINN_REAL_NAME(rpinn_cpu_factors_transposed)(engine, weights[k]);
    } else {
      if (engine->mixed_work)
        RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(&engine->mixed, engine->member.row_scale, weights[k]);
      RPINN_REAL_NAME(rpinn_cpu_sweep)(engine, given_rows, (void *)weights[k], engine->gradient);
    }
    engine->kernels->to_double(backend->model->num_parameters, engine->gradient, products[k]);
  }
  return RPINN_OK;
}

/* ---- J D J^T ---- */

/* A piece of the columns at a time; the sum over pieces is in double. Summed in float all the way it gets eigenvalues below
 * zero, and Levenberg–Marquardt cannot solve for its steps any more when they matter most. */
static void multiply_gram(RpinnCpuEngine *engine, const double *scale, double *product) {
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  Real own_scale[RPINN_GRAM_COLUMNS];
  memset(product, 0, M * M * sizeof *product);
  for (size_t first = 0; first < N; first += RPINN_GRAM_COLUMNS) {
    size_t count = N - first < RPINN_GRAM_COLUMNS ? N - first : RPINN_GRAM_COLUMNS;
    for (size_t j = 0; j < count; j++) own_scale[j] = scale ? (Real)scale[first + j] : 1;
    engine->products->add_gram(M, count, engine->jacobian + first, N, own_scale, engine->panel, product);
  }
}

/* The lower triangle, and rows [M]. */
static RpinnStatus make_gram(RpinnContext *context, RpinnCpuEngine *engine, const double *scale, double *rows,
                             double *product) {
  if (engine->is_factored) {
    RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_factors_make)(context, engine));
    if (RPINN_REAL_NAME(rpinn_cpu_factors_take)(engine, scale)) {
      RPINN_REAL_NAME(rpinn_cpu_factors_gram)(engine, scale, rows, product);
      return RPINN_OK;
    }
  }
  RPINN_TRY(RPINN_REAL_NAME(rpinn_cpu_dense_jacobian)(context, engine));
  memcpy(rows, engine->rows, engine->base.model->num_rows * sizeof *rows);
  multiply_gram(engine, scale, product);
  return RPINN_OK;
}

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_gram)(RpinnContext *context, RpinnBackend *backend,
                                            const RpinnMemberBatch *batch, const double *const *scales,
                                            double *const *rows, double *const *grams) {
  RpinnCpuEngine *engine = (RpinnCpuEngine *)backend;
  size_t M = backend->model->num_rows;
  if (!engine->panel) engine->panel = RPINN_REAL_NAME(rpinn_cpu_reals)(RPINN_GRAM_PANEL);
  if (!engine->panel) return rpinn_fail_memory(context);
  for (size_t k = 0; k < batch->num_members; k++) {
    double *product = grams[k];
    RPINN_REAL_NAME(rpinn_cpu_take_member)(engine, batch, k);
    RPINN_TRY(make_gram(context, engine, scales ? scales[k] : NULL, rows[k], product));
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < i; j++) product[j * M + i] = product[i * M + j];
  }
  return RPINN_OK;
}
