/* Steps of Levenberg–Marquardt with J and all matrices on the device: RpinnDeviceStep has the formulas.
 *
 * Slopes of points are there for all members of a slice. W, in double twice as large, is made for a chunk of them at a time, and the
 * library's products are always for a whole chunk, whatever is in the places behind the last member: it chooses its way by sizes, and a
 * member's bits are not to depend on how many there are. Of G only blocks of rows up to the diagonal are made. */
#include "cuda_engine.h"
#include "steady_clock.h"

enum {
  BLOCK = 128, /* rows of G in one product */
  CHUNK_SHARE =
      8, /* multiprocessors for a member of a chunk: larger ones fill the device better, and have more places to pad */
  MEMORY_SHARE = 32 /* W takes at most this part of the device's memory, for other threads have one too */
};

/* Sizes, which follow from the model and the device. */
typedef struct Sizes {
  size_t M, N, m;
  size_t weighed_stride, gram_stride; /* even, so that two numbers are one load */
  size_t chunk;                       /* members of W */
} Sizes;

static Sizes find_sizes(const RpinnCudaEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnDevice *device = engine->device;
  Sizes sizes = {.M = model->num_rows, .N = model->num_parameters, .m = model->num_rows + 1};
  sizes.weighed_stride = (sizes.N + 3) / 4 * 4;
  sizes.gram_stride = (sizes.m + 3) / 4 * 4;
  sizes.chunk = device->num_multiprocessors < CHUNK_SHARE ? 1 : device->num_multiprocessors / CHUNK_SHARE;
  while (sizes.chunk > 1 &&
         sizes.chunk * sizes.m * sizes.weighed_stride * sizeof(double) > device->memory / MEMORY_SHARE)
    sizes.chunk /= 2;
  return sizes;
}

/* Threads that each have a few members would each make products for a whole chunk. Where there are several devices they are to have some
 * all the same. */
size_t rpinn_cuda_step_places(const RpinnCudaEngine *engine) {
  return engine->operations.damped_steps && !engine->device->has_others ? find_sizes(engine).chunk : 0;
}

/* Bytes that a member of a slice needs. */
static size_t bytes_of(const RpinnCudaEngine *engine, const Sizes *sizes) {
  size_t num_results = (size_t)engine->terms->work.num_results;
  return num_results * sizes->N * engine->real_size +
         (sizes->m * sizes->gram_stride + sizes->M + num_results + 3 * sizes->N + 2) * sizeof(double);
}

/* ---- inputs ---- */

/* Each member's vector of one kind to a buffer. */
static RpinnStatus put(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                       RpinnDeviceBuffer buffer, size_t size, void **memory) {
  return rpinn_cuda_put_numbers(context, engine, buffer, slice->count, size, slice->vectors, memory);
}

static RpinnStatus put_inputs(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                              RpinnDampedStep *const *steps, RpinnDeviceStep *step) {
  size_t M = engine->base.model->num_rows, N = engine->base.model->num_parameters;
  bool has_pull = false, has_rows = false;
  for (size_t k = 0; k < slice->count; k++) {
    slice->vectors[k] = steps[k]->inverse;
    has_pull = has_pull || steps[k]->pull;
    has_rows = has_rows || steps[k]->step;
  }
  RPINN_TRY(put(context, engine, slice, RPINN_BUFFER_ROOTS, N, (void **)&step->roots));
  for (size_t k = 0; k < slice->count; k++) slice->vectors[k] = steps[k]->pull;
  if (has_pull) RPINN_TRY(put(context, engine, slice, RPINN_BUFFER_PULL, N, (void **)&step->pull));
  for (size_t k = 0; k < slice->count; k++) slice->vectors[k] = steps[k]->step ? steps[k]->rows : NULL;
  if (has_rows) RPINN_TRY(put(context, engine, slice, RPINN_BUFFER_WEIGHTS, M, (void **)&step->rows));
  return RPINN_OK;
}

/* Room for what is made of them. A chunk of W is cleared once, for its places that no member has yet. */
static RpinnStatus reserve(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                           const Sizes *sizes, RpinnDeviceStep *step) {
  size_t count = (slice->count + sizes->chunk - 1) / sizes->chunk * sizes->chunk,
         num_results = (size_t)engine->terms->work.num_results,
         weighed = sizes->chunk * sizes->m * sizes->weighed_stride * sizeof(double);
  bool grows = engine->buffers[RPINN_BUFFER_WEIGHED].bytes < weighed;
  const struct {
    RpinnDeviceBuffer buffer;
    size_t size;
    double **memory;
  } all[] = {{RPINN_BUFFER_GRAM, count * sizes->m * sizes->gram_stride, &step->gram},
             {RPINN_BUFFER_POINT_WEIGHTS, count * num_results, &step->weights},
             {RPINN_BUFFER_OUTCOME, count * 2, &step->outcome},
             {RPINN_BUFFER_STEP, count * sizes->N, &step->step}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    RPINN_TRY(rpinn_cuda_reserve(context, engine, all[i].buffer, all[i].size * sizeof(double),
                                 (void **)all[i].memory));
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_WEIGHED, weighed, (void **)&step->weighed));
  if (grows) RPINN_TRY(engine->device->operations->clear(context, engine->device, step->weighed, weighed));
  step->weighed_stride = (int64_t)sizes->weighed_stride;
  step->gram_stride = (int64_t)sizes->gram_stride;
  step->slopes = slice->call.slopes;
  step->row_scale = slice->call.row_scale;
  step->scale_step = slice->call.scale_step;
  return RPINN_OK;
}

/* ---- work ---- */

static RpinnStatus run_task(RpinnContext *context, RpinnCudaEngine *engine, size_t count,
                            RpinnDeviceStep *step, RpinnDeviceStepTask task) {
  RpinnLaunch launch = {.is_double = engine->is_double, .num_members = count};
  step->task = task;
  return engine->device->operations->run_step(context, engine->device, &launch, &engine->terms->work, step);
}

/* G of a chunk, from its W: for each block of rows, its products with itself and all rows before it. */
static RpinnStatus multiply(RpinnContext *context, RpinnCudaEngine *engine, const Sizes *sizes,
                            const RpinnDeviceStep *step) {
  double *gram = step->gram + (size_t)step->first * sizes->m * sizes->gram_stride;
  for (size_t row = 0; row < sizes->m; row += BLOCK) {
    size_t count = sizes->m - row < BLOCK ? sizes->m - row : BLOCK;
    RpinnDeviceMultiply product = {.batch = (int64_t)sizes->chunk,
                                   .rows = (int64_t)count,
                                   .columns = (int64_t)(row + count),
                                   .depth = step->weighed_stride,
                                   .a = step->weighed + row * sizes->weighed_stride,
                                   .a_stride = step->weighed_stride,
                                   .a_step = (int64_t)(sizes->m * sizes->weighed_stride),
                                   .b = step->weighed,
                                   .b_stride = step->weighed_stride,
                                   .b_step = (int64_t)(sizes->m * sizes->weighed_stride),
                                   .c = gram + row * sizes->gram_stride,
                                   .c_stride = step->gram_stride,
                                   .c_step = (int64_t)(sizes->m * sizes->gram_stride)};
    RPINN_TRY(engine->device->operations->multiply(context, engine->device, &product));
  }
  return RPINN_OK;
}

/* The steps of a slice that are wanted; some may want the trace alone. */
static RpinnStatus take_results(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                                RpinnDampedStep *const *steps, const RpinnDeviceStep *step) {
  size_t N = engine->base.model->num_parameters, bytes = slice->count * 2 * sizeof(double);
  double *outcomes;
  RPINN_TRY(rpinn_cuda_stage(context, engine, bytes, (void **)&outcomes));
  RPINN_TRY(engine->device->operations->read(context, engine->device, outcomes, step->outcome, bytes));
  for (size_t k = 0; k < slice->count; k++) {
    steps[k]->trace = outcomes[2 * k];
    steps[k]->solved = steps[k]->step && outcomes[2 * k + 1] != 0;
    if (steps[k]->solved)
      RPINN_TRY(engine->device->operations->read(context, engine->device, steps[k]->step, step->step + k * N,
                                                 N * sizeof(double)));
  }
  return RPINN_OK;
}

/* Adds what has passed since *begun to a stage, which the next one begins behind. */
static void note(RpinnCudaEngine *engine, RpinnStepStage stage, double *begun) {
  double now = rpinn_steady_seconds();
  engine->stage_seconds[stage] += now - *begun;
  *begun = now;
}

static RpinnStatus run_chunks(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                              const Sizes *sizes, RpinnDeviceStep *step, double *begun) {
  for (size_t first = 0; first < slice->count; first += sizes->chunk) {
    size_t left = slice->count - first;
    step->first = (int64_t)first;
    RPINN_TRY(run_task(context, engine, left < sizes->chunk ? left : sizes->chunk, step, RPINN_STEP_WEIGH));
    note(engine, RPINN_STAGE_WEIGH, begun);
    RPINN_TRY(multiply(context, engine, sizes, step));
    note(engine, RPINN_STAGE_GRAM, begun);
  }
  return RPINN_OK;
}

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             const void *user) {
  RpinnDampedStep *const *steps = (RpinnDampedStep *const *)user + slice->first;
  Sizes sizes = find_sizes(engine);
  RpinnDeviceStep step = {0};
  double begun = rpinn_steady_seconds();
  RPINN_TRY(put_inputs(context, engine, slice, steps, &step));
  note(engine, RPINN_STAGE_PUT, &begun);
  RPINN_TRY(rpinn_cuda_form_slopes(context, engine, slice, true));
  note(engine, RPINN_STAGE_SLOPES, &begun);
  RPINN_TRY(reserve(context, engine, slice, &sizes, &step));
  RPINN_TRY(run_task(context, engine, slice->count, &step, RPINN_STEP_ROOTS));
  RPINN_TRY(run_chunks(context, engine, slice, &sizes, &step, &begun));
  RPINN_TRY(run_task(context, engine, slice->count, &step, RPINN_STEP_SOLVE));
  note(engine, RPINN_STAGE_SOLVE, &begun);
  if (step.rows) RPINN_TRY(run_task(context, engine, slice->count, &step, RPINN_STEP_FINISH));
  note(engine, RPINN_STAGE_FINISH, &begun);
  RPINN_TRY(take_results(context, engine, slice, steps, &step));
  note(engine, RPINN_STAGE_GET, &begun);
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_damped_steps(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, RpinnDampedStep *const *steps) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  Sizes sizes = find_sizes(engine);
  return rpinn_cuda_run_slices(context, engine, engine->terms, batch, bytes_of(engine, &sizes), run_slice,
                               steps);
}
