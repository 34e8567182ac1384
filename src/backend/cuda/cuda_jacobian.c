/* Rows, Jacobians and products with them. J is formed on the device for as many members at a time as there is memory for. */
#include "cuda_engine.h"

/* What is asked for; what is NULL is not. */
typedef struct Wanted {
  double *const *rows, *const *jacobians;
  const double *const *directions; /* to products */
  const double *const *scales;     /* of grams, may be NULL */
  double *const *products, *const *grams;
} Wanted;

static bool wants_jacobian(const Wanted *wanted) {
  return wanted->jacobians || wanted->products || wanted->grams;
}

/* Bytes that a member needs. */
static size_t bytes_of(const RpinnCudaEngine *engine, const Wanted *wanted) {
  const RpinnDeviceWork *work = &engine->terms->work;
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  if (!wants_jacobian(wanted)) return M * sizeof(double);
  return (size_t)work->num_results * N * engine->real_size + (M * N + M + N) * sizeof(double) +
         (wanted->grams ? M * M : M) * sizeof(double);
}

static RpinnStatus run_product(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                               const RpinnDeviceProduct *product) {
  RpinnLaunch launch = {.is_double = engine->is_double, .num_members = slice->count};
  return engine->device->operations->run_product(context, engine->device, &launch, &engine->terms->work,
                                                 product);
}

/* A slope that no point has stays zero from the time when its memory was taken: which ones these are does not change. */
static RpinnStatus reserve_slopes(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice) {
  size_t bytes = slice->count * (size_t)engine->terms->work.num_results * engine->base.model->num_parameters *
                 engine->real_size;
  bool grows = engine->buffers[RPINN_BUFFER_SLOPES].bytes < bytes;
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_SLOPES, bytes, &slice->call.slopes));
  return grows ? engine->device->operations->clear(context, engine->device, slice->call.slopes, bytes)
               : RPINN_OK;
}

/* Slopes of points are no sums over them: where members are fewer than blocks that the device has at a time, several blocks share the tiles of
 * each, with scratch of their own. */
static RpinnStatus share_points(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice) {
  const RpinnWorkTables *terms = engine->terms;
  const RpinnDeviceWork *work = &terms->work;
  size_t parts = engine->device->num_multiprocessors * terms->blocks / slice->count;
  if (parts > (size_t)work->num_tiles) parts = (size_t)work->num_tiles;
  if (parts < 2) return RPINN_OK;
  slice->call.num_parts = (int32_t)parts;
  size_t blocks = parts * slice->count;
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_REGISTERS,
                               blocks * (size_t)work->registers_size * engine->real_size,
                               &slice->call.registers));
  return rpinn_cuda_reserve(context, engine, RPINN_BUFFER_WORKSPACE,
                            blocks * terms->workspace_size * engine->real_size, &slice->call.workspace);
}

RpinnStatus rpinn_cuda_form_slopes(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                                   bool with_slopes) {
  slice->call.task = RPINN_TASK_JACOBIAN;
  slice->call.wants_gradient = with_slopes;
  if (!with_slopes) return rpinn_cuda_launch(context, engine, rpinn_cuda_row_tables(engine), slice);
  RPINN_TRY(reserve_slopes(context, engine, slice));
  RPINN_TRY(share_points(context, engine, slice));
  return rpinn_cuda_launch(context, engine, engine->terms, slice);
}

/* Results of points, and with with_slopes what they depend on, to rows and J on the device. */
static RpinnStatus form_rows(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             bool with_slopes, RpinnDeviceProduct *product) {
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters, count = slice->count;
  RPINN_TRY(rpinn_cuda_form_slopes(context, engine, slice, with_slopes));
  product->task = RPINN_PRODUCT_ROWS;
  product->row_scale = slice->call.row_scale;
  product->scale_step = slice->call.scale_step;
  product->results = slice->call.results;
  product->slopes = with_slopes ? slice->call.slopes : NULL;
  if (with_slopes)
    RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_JACOBIAN, count * M * N * sizeof(double),
                                 (void **)&product->jacobian));
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_ROWS, count * M * sizeof(double),
                               (void **)&product->rows));
  return run_product(context, engine, slice, product);
}

/* A product with the J on the device; inputs [N] of each member may be NULL. */
static RpinnStatus form_product(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                                RpinnDeviceProduct *product, RpinnDeviceProductTask task,
                                const double *const *inputs, size_t size, double *const *outputs) {
  product->task = task;
  product->inputs = NULL;
  if (inputs)
    RPINN_TRY(rpinn_cuda_put_numbers(context, engine, RPINN_BUFFER_INPUTS, slice->count,
                                     engine->base.model->num_parameters, inputs + slice->first,
                                     (void **)&product->inputs));
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_OUTPUTS, slice->count * size * sizeof(double),
                               (void **)&product->outputs));
  RPINN_TRY(run_product(context, engine, slice, product));
  return rpinn_cuda_get_numbers(context, engine, RPINN_BUFFER_OUTPUTS, slice->count, size,
                                outputs + slice->first);
}

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             const void *user) {
  const Wanted *wanted = user;
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  RpinnDeviceProduct product = {0};
  RPINN_TRY(form_rows(context, engine, slice, wants_jacobian(wanted), &product));
  if (wanted->rows)
    RPINN_TRY(rpinn_cuda_get_numbers(context, engine, RPINN_BUFFER_ROWS, slice->count, M,
                                     wanted->rows + slice->first));
  if (wanted->jacobians)
    RPINN_TRY(rpinn_cuda_get_numbers(context, engine, RPINN_BUFFER_JACOBIAN, slice->count, M * N,
                                     wanted->jacobians + slice->first));
  if (wanted->products)
    RPINN_TRY(form_product(context, engine, slice, &product, RPINN_PRODUCT_TIMES, wanted->directions, M,
                           wanted->products));
  if (wanted->grams)
    RPINN_TRY(form_product(context, engine, slice, &product, RPINN_PRODUCT_GRAM, wanted->scales, M * M,
                           wanted->grams));
  return RPINN_OK;
}

static RpinnStatus run(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                       const Wanted *wanted) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  return rpinn_cuda_run_slices(context, engine,
                               wants_jacobian(wanted) ? engine->terms : rpinn_cuda_row_tables(engine), batch,
                               bytes_of(engine, wanted), run_slice, wanted);
}

RpinnStatus rpinn_cuda_residuals(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                 double *const *rows, double *const *jacobians) {
  return run(context, backend, batch, &(Wanted){.rows = rows, .jacobians = jacobians});
}

RpinnStatus rpinn_cuda_jacobian_times(RpinnContext *context, RpinnBackend *backend,
                                      const RpinnMemberBatch *batch, const double *const *directions,
                                      double *const *products) {
  return run(context, backend, batch, &(Wanted){.directions = directions, .products = products});
}

/* A scale that a caller leaves out is the identity, so either all members of a call bring one or none: one by one otherwise. */
RpinnStatus rpinn_cuda_gram(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            const double *const *scales, double *const *rows, double *const *grams) {
  size_t given = 0, count = batch->num_members;
  for (size_t k = 0; scales && k < count; k++) given += scales[k] != NULL;
  if (given == 0 || given == count)
    return run(context, backend, batch,
               &(Wanted){.rows = rows, .scales = given ? scales : NULL, .grams = grams});
  for (size_t k = 0; k < count; k++)
    RPINN_TRY(run(context, backend, &(RpinnMemberBatch){1, &batch->members[k]},
                  &(Wanted){.rows = rows + k, .scales = scales[k] ? scales + k : NULL, .grams = grams + k}));
  return RPINN_OK;
}

/* One way back through the layers: no J is formed. */
typedef struct Transposed {
  const double *const *weights;
  double *const *products;
} Transposed;

static RpinnStatus transpose_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                                   const void *user) {
  const Transposed *wanted = user;
  slice->call.task = RPINN_TASK_GIVEN;
  slice->call.wants_gradient = 1;
  RPINN_TRY(rpinn_cuda_put_numbers(context, engine, RPINN_BUFFER_WEIGHTS, slice->count,
                                   engine->base.model->num_rows, wanted->weights + slice->first,
                                   (void **)&slice->call.weights));
  RPINN_TRY(rpinn_cuda_clear_gradient(context, engine, slice));
  RPINN_TRY(rpinn_cuda_launch(context, engine, rpinn_cuda_row_tables(engine), slice));
  return rpinn_cuda_get_vectors(context, engine, RPINN_BUFFER_GRADIENT, slice->count,
                                wanted->products + slice->first);
}

RpinnStatus rpinn_cuda_transposed_times(RpinnContext *context, RpinnBackend *backend,
                                        const RpinnMemberBatch *batch, const double *const *weights,
                                        double *const *products) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  return rpinn_cuda_run_slices(context, engine, rpinn_cuda_row_tables(engine), batch,
                               backend->model->num_rows * sizeof(double), transpose_slice,
                               &(Transposed){weights, products});
}
