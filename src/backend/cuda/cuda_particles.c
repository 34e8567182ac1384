/* Iterations of SVGD with all particles on the device: RpinnDeviceParticles has the tasks of one. Nothing comes back between them; pieces of
 * about a quarter of a second are waited for, and how long they are leaves no mark on the bits. */
#include <math.h>
#include <stdlib.h>

#include "cuda_engine.h"
#include "particle_step.h"
#include "steady_clock.h"

static const double piece_seconds = 0.25;
enum { GROWTH = 4, MOST_PARTICLES = 65535 /* rows of a launch's blocks */ };

/* ---- to the device ---- */

/* Vectors of one kind, [n][N] of the host. */
static const double *const *rows_of(RpinnCudaSlice *slice, const double *numbers, size_t N) {
  for (size_t k = 0; k < slice->count; k++) slice->vectors[k] = numbers + k * N;
  return slice->vectors;
}

/* The prior's gradient, and which numbers are parameters, for all particles alike. */
static RpinnStatus put_prior(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceParticles *own) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters;
  double *numbers = malloc(3 * N * sizeof *numbers);
  const double *scale = numbers, *shift = numbers + N, *movable = numbers + 2 * N;
  if (!numbers) return rpinn_fail_memory(context);
  for (size_t j = 0; j < N; j++) {
    numbers[j] = model->prior_root[j] * model->prior_root[j];
    numbers[N + j] = numbers[j] * model->prior_mean[j];
    numbers[2 * N + j] = 1;
  }
  RpinnStatus status = rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_PRIOR_SCALE, 1, &scale, NULL,
                                              (void **)&own->prior_scale);
  if (status == RPINN_OK)
    status = rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_PRIOR_SHIFT, 1, &shift, NULL,
                                    (void **)&own->prior_shift);
  if (status == RPINN_OK)
    status = rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_MOVABLE, 1, &movable, NULL,
                                    (void **)&own->movable);
  free(numbers);
  return status;
}

/* Places of a row of n numbers. */
static size_t stride_of(size_t n) {
  return (n + 3) / 4 * 4;
}

/* Parts of y y^T: see RPINN_PARTICLE_BLOCKS. None has less than a tile's side of the depth, but the only one. */
static size_t parts_of(const RpinnCudaEngine *engine, size_t n) {
  size_t down = (n + RPINN_PARTICLE_TILE - 1) / RPINN_PARTICLE_TILE,
         parts = RPINN_PARTICLE_BLOCKS / (down * (down + 1) / 2),
         most = engine->layout.size / RPINN_PARTICLE_TILE;
  if (most > RPINN_PARTICLE_MOST_PARTS) most = RPINN_PARTICLE_MOST_PARTS;
  if (parts > most) parts = most;
  return parts && !engine->is_double ? parts : 1;
}

static RpinnStatus reserve(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceParticles *own) {
  size_t n = (size_t)own->n, numbers = n * engine->layout.size * engine->real_size,
         square = n * (size_t)own->stride * engine->real_size;
  const struct {
    RpinnDeviceBuffer buffer;
    size_t bytes;
    void **memory;
  } all[] = {
      {RPINN_BUFFER_THETA_BEFORE, numbers, &own->before},
      {RPINN_BUFFER_SUMS, RPINN_PARTICLE_PARTS * engine->layout.size * sizeof(double), (void **)&own->sums},
      {RPINN_BUFFER_CENTRED, numbers, &own->centred},
      {RPINN_BUFFER_COMBINED, numbers, &own->combined},
      {RPINN_BUFFER_DIRECTION, numbers, &own->direction},
      {RPINN_BUFFER_DISTANCE_PRODUCTS, (size_t)own->num_parts * square, &own->products},
      {RPINN_BUFFER_PARTICLE_WEIGHTS, square, &own->weights},
      {RPINN_BUFFER_SEARCH, sizeof(RpinnParticleSearch), (void **)&own->search},
      {RPINN_BUFFER_PARTICLE_NUMBERS, (2 * n + 1) * sizeof(double), (void **)&own->norms}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    RPINN_TRY(rpinn_cuda_reserve(context, engine, all[i].buffer, all[i].bytes, all[i].memory));
  /* What lies between the ends of rows is read with them, if not used. */
  RPINN_TRY(engine->device->operations->clear(context, engine->device, own->weights, square));
  own->row_sums = own->norms + n;
  own->bandwidth = own->norms + 2 * n;
  return RPINN_OK;
}

/* Which of the n (n - 1) / 2 distances the median of all n^2 is: rpinn_svgd_median says why. */
static void find_rank(RpinnDeviceParticles *own) {
  uint64_t n = (uint64_t)own->n, upper = n * n / 2, lower = (n * n - 1) / 2;
  if (n < 2) return;
  own->rank = (uint32_t)((upper - n) / 2);
  own->is_mean = upper != lower && !(lower >= n && (lower - n) / 2 == own->rank);
}

static RpinnStatus put_all(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                           const RpinnParticleMoves *moves, RpinnDeviceParticles *own) {
  size_t N = engine->base.model->num_parameters, n = moves->num_particles;
  *own = (RpinnDeviceParticles){.n = (int32_t)n,
                                .size = (int64_t)engine->layout.size,
                                .stride = (int64_t)stride_of(n),
                                .num_parts = (int32_t)parts_of(engine, n),
                                .is_tf32 = engine->is_tf32,
                                .is_adam = !moves->is_adagrad,
                                .log_particles = log((double)n + 1),
                                .attraction = 1 / (double)n,
                                .repulsion = moves->undivided_repulsion ? 1 : 1 / (double)n,
                                .beta1 = moves->rule.beta1,
                                .beta2 = moves->rule.beta2,
                                .epsilon = moves->rule.epsilon,
                                .theta = slice->call.theta,
                                .gradient = slice->call.gradient};
  find_rank(own);
  slice->call.task = RPINN_TASK_ENERGY;
  slice->call.wants_gradient = 1;
  slice->call.offsets = NULL;
  RPINN_TRY(rpinn_cuda_clear_gradient(context, engine, slice));
  RPINN_TRY(put_prior(context, engine, own));
  if (!moves->is_adagrad)
    RPINN_TRY(rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_M, n, rows_of(slice, moves->m, N), NULL,
                                     &own->m));
  RPINN_TRY(
      rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_V, n, rows_of(slice, moves->v, N), NULL, &own->v));
  return reserve(context, engine, own);
}

/* ---- iterations ---- */

static RpinnStatus run_task(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceParticles *own,
                            RpinnParticleTask task, bool is_ahead) {
  RpinnLaunch launch = {.is_double = engine->is_double, .is_ahead = is_ahead};
  own->task = task;
  return engine->device->operations->run_particles(context, engine->device, &launch, own);
}

/* y y^T [n][n], or k c [n][size]: by a kernel of one's own, or in double by the library. */
static RpinnStatus multiply(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceParticles *own,
                            RpinnParticleTask task) {
  bool is_direction = task == RPINN_PARTICLES_DIRECT;
  if (!engine->is_double) return run_task(context, engine, own, task, true);
  RpinnDeviceMultiply product = {.is_plain = is_direction,
                                 .is_ahead = true,
                                 .batch = 1,
                                 .rows = own->n,
                                 .columns = is_direction ? own->size : own->n,
                                 .depth = is_direction ? own->n : own->size,
                                 .a = is_direction ? own->weights : own->centred,
                                 .b = is_direction ? own->combined : own->centred,
                                 .c = is_direction ? own->direction : own->products,
                                 .a_stride = is_direction ? own->stride : own->size,
                                 .b_stride = own->size,
                                 .c_stride = is_direction ? own->size : own->stride};
  return engine->device->operations->multiply(context, engine->device, &product);
}

/* Distances, of which a single particle has none, and their median. */
static RpinnStatus measure_distances(RpinnContext *context, RpinnCudaEngine *engine,
                                     RpinnDeviceParticles *own) {
  int passes = engine->is_double ? RPINN_PARTICLE_PASSES : RPINN_PARTICLE_PASSES / 2;
  RPINN_TRY(run_task(context, engine, own, RPINN_PARTICLES_DISTANCES, true));
  for (own->pass = 1; own->n > 1 && own->pass < passes; own->pass++)
    RPINN_TRY(run_task(context, engine, own, RPINN_PARTICLES_SEARCH, true));
  return RPINN_OK;
}

/* k, which follows from where the particles are. */
static RpinnStatus find_weights(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceParticles *own) {
  RPINN_TRY(multiply(context, engine, own, RPINN_PARTICLES_GRAM));
  RPINN_TRY(measure_distances(context, engine, own));
  return run_task(context, engine, own, RPINN_PARTICLES_WEIGHTS, true);
}

/* Gradients need where the particles are and nothing else, and are as much work as the weights: both at a time, so that one fills
 * what the other's tasks leave idle. Joined in any case, for the next one writes where they read. */
static RpinnStatus iterate(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                           RpinnDeviceParticles *own, bool is_ahead) {
  RPINN_TRY(run_task(context, engine, own, RPINN_PARTICLES_SUM, true));
  RPINN_TRY(run_task(context, engine, own, RPINN_PARTICLES_CENTRE, true));
  RpinnStatus status = rpinn_cuda_launch(context, engine, rpinn_cuda_member_tables(engine), slice);
  if (status == RPINN_OK) status = find_weights(context, engine, own);
  RpinnStatus joined = engine->device->operations->join(context, engine->device);
  RPINN_TRY(status == RPINN_OK ? joined : status);
  RPINN_TRY(run_task(context, engine, own, RPINN_PARTICLES_COMBINE, true));
  RPINN_TRY(multiply(context, engine, own, RPINN_PARTICLES_DIRECT));
  return run_task(context, engine, own, RPINN_PARTICLES_MOVE, is_ahead);
}

static RpinnStatus move_all(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                            const RpinnParticleMoves *moves, RpinnDeviceParticles *own) {
  size_t count = moves->num_iterations, piece = 1;
  slice->is_ahead = slice->is_beside = true;
  for (size_t done = 0, end; done < count;) {
    double begun = rpinn_steady_seconds();
    for (end = count - done < piece ? count : done + piece; done < end; done++) {
      RpinnParticleStep step = rpinn_particle_step(&moves->rule, moves->is_adagrad, moves->t + done);
      own->rate = step.rate;
      own->unbias_v = step.unbias_v;
      own->share = step.share;
      own->keeps_before = done + 1 == count;
      RPINN_TRY(iterate(context, engine, slice, own, done + 1 < end));
    }
    double seconds = rpinn_steady_seconds() - begun;
    engine->launch_seconds += seconds;
    if (seconds * GROWTH < piece_seconds) piece *= GROWTH;
    if (seconds > piece_seconds && piece > 1) piece /= 2;
  }
  return RPINN_OK;
}

/* ---- and back ---- */

static RpinnStatus get_rows(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                            size_t count, double *numbers) {
  size_t N = engine->base.model->num_parameters;
  double **rows = malloc(count * sizeof *rows);
  if (!rows) return rpinn_fail_memory(context);
  for (size_t k = 0; k < count; k++) rows[k] = numbers + k * N;
  RpinnStatus status = rpinn_cuda_get_vectors(context, engine, buffer, count, rows);
  free(rows);
  return status;
}

/* The mean of |phi|, and h^2. */
static RpinnStatus get_figures(RpinnContext *context, RpinnCudaEngine *engine,
                               const RpinnDeviceParticles *own, RpinnParticleMoves *moves) {
  size_t n = moves->num_particles;
  double *numbers = malloc((2 * n + 1) * sizeof *numbers), sum = 0;
  if (!numbers) return rpinn_fail_memory(context);
  RpinnStatus status = engine->device->operations->read(context, engine->device, numbers, own->norms,
                                                        (2 * n + 1) * sizeof *numbers);
  if (status == RPINN_OK) {
    for (size_t k = 0; k < n; k++) sum += sqrt(numbers[k]);
    moves->mean_norm = sum / (double)n;
    moves->squared_bandwidth = numbers[2 * n];
  }
  free(numbers);
  return status;
}

/* Log densities and gradients where the last iteration began: the data's are there, the prior's are added. */
static RpinnStatus get_densities(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                                 RpinnParticleMoves *moves) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t N = model->num_parameters, n = moves->num_particles, T = model->num_terms;
  double *sums = malloc((n * T + 1) * sizeof *sums);
  if (!sums) return rpinn_fail_memory(context);
  RpinnStatus status = engine->device->operations->read(context, engine->device, sums, slice->call.term_sums,
                                                        n * T * sizeof *sums);
  for (size_t k = 0; status == RPINN_OK && k < n; k++) {
    RpinnBatchMember member = slice->members[k];
    double *gradient = moves->gradients + k * N, energy;
    member.theta = moves->before + k * N;
    energy = rpinn_model_prior_energy(model, &member, gradient);
    for (size_t t = 0; t < T; t++) energy += 0.5 * sums[k * T + t];
    moves->log_densities[k] = -energy;
    for (size_t j = 0; j < N; j++) gradient[j] = -gradient[j];
  }
  free(sums);
  return status;
}

static RpinnStatus get_all(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                           const RpinnDeviceParticles *own, RpinnParticleMoves *moves) {
  size_t n = moves->num_particles;
  RPINN_TRY(get_figures(context, engine, own, moves));
  if (moves->num_iterations > 1 && !isfinite(moves->mean_norm))
    return rpinn_fail(context, RPINN_ERROR_NUMERIC, "the direction of the particles overflows");
  RPINN_TRY(get_rows(context, engine, RPINN_BUFFER_THETA, n, moves->particles));
  RPINN_TRY(get_rows(context, engine, RPINN_BUFFER_THETA_BEFORE, n, moves->before));
  RPINN_TRY(get_rows(context, engine, RPINN_BUFFER_GRADIENT, n, moves->gradients));
  if (!moves->is_adagrad) RPINN_TRY(get_rows(context, engine, RPINN_BUFFER_M, n, moves->m));
  RPINN_TRY(get_rows(context, engine, RPINN_BUFFER_V, n, moves->v));
  return get_densities(context, engine, slice, moves);
}

/* ---- the whole ---- */

/* Bytes that a particle needs beside what every member does. */
static size_t bytes_of(const RpinnCudaEngine *engine, size_t num_particles) {
  size_t squares = (parts_of(engine, num_particles) + 1) * stride_of(num_particles);
  return (6 * engine->layout.size + squares) * engine->real_size;
}

static RpinnStatus fail_for_room(RpinnContext *context, size_t num_particles) {
  return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "backend cuda: the GPU has no room for %zu particles",
                    num_particles);
}

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             RpinnParticleMoves *moves) {
  RpinnDeviceParticles own;
  RPINN_TRY(put_all(context, engine, slice, moves, &own));
  RPINN_TRY(move_all(context, engine, slice, moves, &own));
  return get_all(context, engine, slice, &own, moves);
}

RpinnStatus rpinn_cuda_move_particles(RpinnContext *context, RpinnBackend *backend,
                                      RpinnParticleMoves *moves) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  size_t n = moves->num_particles, N = backend->model->num_parameters;
  RpinnBatchMember *members = calloc(n, sizeof *members);
  RpinnCudaSlice slice = {0};
  if (!members) return rpinn_fail_memory(context);
  for (size_t k = 0; k < n; k++) members[k].theta = moves->particles + k * N;
  engine->device->is_full = false;
  RpinnStatus status =
      n > MOST_PARTICLES
          ? fail_for_room(context, n)
          : rpinn_cuda_slice_open(context, engine, rpinn_cuda_member_tables(engine),
                                  &(RpinnMemberBatch){n, members}, 0, bytes_of(engine, n), &slice);
  if (status == RPINN_OK)
    status = slice.count < n ? fail_for_room(context, n) : run_slice(context, engine, &slice, moves);
  if (engine->device->is_full) {
    rpinn_cuda_release_buffers(engine);
    if (context) rpinn_context_clear_error(context);
    status = fail_for_room(context, n);
  }
  rpinn_cuda_slice_close(&slice);
  free(members);
  return status;
}
