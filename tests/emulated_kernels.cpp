/* The kernels of the backend `cuda` on the host, see emulated_device.h. */
#include <stdlib.h>
#include <string.h>

#include "fused_products_tf32.cuh"

#include "chain_tree.cuh"
#include "damped_step.cuh"
#include "fused_member.cuh"
#include "kernel_launch.h"
#include "particle_products.cuh"

template <class Real, bool FAST, bool POINTS>
static void run_all(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  /* Of exactly the size that is stated, so that tools see what is read or written beyond it. */
  Real *shared = (Real *)malloc(launch->shared_bytes + 1);
  if (!shared) abort();
  for (size_t k = 0; k < launch->num_members * (size_t)call->num_parts; k++) run_member<Real, FAST, POINTS>(*work, *call, (int64_t)k, shared);
  free(shared);
}

extern "C" void emulated_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  bool has_points = call->task == RPINN_TASK_JACOBIAN && call->wants_gradient;
  if (launch->is_double)
    has_points ? run_all<double, false, true>(launch, work, call) : run_all<double, false, false>(launch, work, call);
  else if (has_points)
    run_all<float, false, true>(launch, work, call);
  else
    launch->is_fast ? run_all<float, true, false>(launch, work, call) : run_all<float, false, false>(launch, work, call);
}

/* All threads of a block, phase by phase. chains NULL: members. */
template <class S>
static void run_fused_all(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                          const RpinnDeviceCall *call, const RpinnDeviceChains *chains) {
  void *shared = aligned_alloc(16, launch->shared_bytes);
  typedef WithoutAdam<S> Plain;
  FusedOwn<S> *own = (FusedOwn<S> *)malloc((size_t)fused->num_threads * sizeof *own);
  FusedRows<S> *rows = (FusedRows<S> *)malloc((size_t)fused->num_threads * sizeof *rows);
  FusedOwn<Plain> *plain = (FusedOwn<Plain> *)malloc((size_t)fused->num_threads * sizeof *plain);
  FusedRows<Plain> *plain_rows = (FusedRows<Plain> *)malloc((size_t)fused->num_threads * sizeof *plain_rows);
  if (!shared || !own || !rows || !plain || !plain_rows) abort();
  for (size_t turn = 0; turn < launch->num_members * (size_t)(chains ? 1 : call->num_shares); turn++) {
    const int64_t k = (int64_t)(turn % launch->num_members);
    memset(shared, 0xff, launch->shared_bytes); /* not a number: what is read must have been written */
    if (chains)
      run_chain<Plain>(*work, *fused, *call, *chains, k, (float *)shared, plain, plain_rows);
    else
      run_fused<S>(*work, *fused, *call, k, (int)(turn / launch->num_members), (float *)shared, own, rows);
  }
  free(shared);
  free(own);
  free(rows);
  free(plain);
  free(plain_rows);
}

extern "C" void emulated_run_chains(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                                    const RpinnDeviceCall *call, const RpinnDeviceChains *chains) {
  switch (fused->kernel) {
#define EMULATED_TEN FusedTen
#define EMULATED_FOUR FusedFour
#define EMULATED_TF32 FusedTf32
#define EMULATED_CASE(NAME, PRODUCTS, FIRSTS, POINTS, GROUPS, THREADS, BLOCKS, ...)                                               \
  case RPINN_FUSED_##NAME: run_fused_all<EMULATED_##PRODUCTS<FIRSTS, POINTS, GROUPS, FusedSizes<THREADS, __VA_ARGS__>>>(launch, work, fused, call, chains); break;
    RPINN_FUSED_LIST(EMULATED_CASE)
  default: abort();
  }
}

extern "C" void emulated_run_fused(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                                   const RpinnDeviceCall *call) {
  emulated_run_chains(launch, work, fused, call, 0);
}

template <class Real>
static void run_products(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceProduct *product) {
  Team team = make_team(0);
  for (size_t k = 0; k < launch->num_members; k++) {
    if (product->task == RPINN_PRODUCT_ROWS)
      finish_rows<Real>(*work, *product, (int64_t)k, 0, 1);
    else if (product->task == RPINN_PRODUCT_TIMES)
      jacobian_times(team, *work, *product, (int64_t)k, 0, 1);
    else
      gram(*work, *product, (int64_t)k, 0, 1);
  }
}

extern "C" void emulated_run_product(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                     const RpinnDeviceProduct *product) {
  launch->is_double ? run_products<double>(launch, work, product) : run_products<float>(launch, work, product);
}

template <class Real>
static void run_steps(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  Team team = make_team(0);
  for (int64_t k = 0; k < (int64_t)launch->num_members; k++) {
    StepMemory memory;
    if (step->task == RPINN_STEP_ROOTS) take_roots(*work, *step, k, 0, 1);
    for (int row = 0; step->task == RPINN_STEP_WEIGH && row <= work->num_rows; row++) weigh_row<Real>(*work, *step, k, row, 0, 1);
    if (step->task == RPINN_STEP_SOLVE) solve_step(team, *work, *step, k, memory);
    if (step->task == RPINN_STEP_FINISH) finish_step<Real>(*work, *step, k, 0, 1);
  }
}

extern "C" void emulated_run_step(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  launch->is_double ? run_steps<double>(launch, work, step) : run_steps<float>(launch, work, step);
}

template <class Shape> static void run_gram(const RpinnDeviceParticles *own) {
  int64_t down = (own->n + Shape::ROWS - 1) / Shape::ROWS;
  for (int64_t tile = 0; tile < down * (down + 1) / 2; tile++)
    for (int part = 0; part < own->num_parts; part++) multiply_tile<Shape>(gram_tile<Shape>(*own, tile, part), 0);
}

template <class Shape> static void run_direction(const RpinnDeviceParticles *own) {
  for (int64_t down = 0; down * Shape::ROWS < own->n; down++)
    for (int64_t across = 0; across * Shape::COLUMNS < own->size; across++)
      multiply_tile<Shape>(direction_tile<Shape>(*own, down, across), 0);
}

template <class Real> static void run_particle_task(const RpinnDeviceParticles *own) {
  enum { BLOCKS = 3 }; /* of a search */
  Team team = make_team(0);
  static thread_local ParticleMemory memory;
  memset(&memory, 0xff, sizeof memory);
  for (int64_t column = 0; own->task == RPINN_PARTICLES_SUM && column < own->size; column++)
    for (int part = 0; part < RPINN_PARTICLE_PARTS; part++) sum_particles<Real>(*own, part, column);
  if (own->task == RPINN_PARTICLES_SUM) clear_search(*own, 0, 1);
  for (int block = 0; own->task == RPINN_PARTICLES_SEARCH && block < BLOCKS; block++)
    search_pass<Real>(team, memory, *own, block, BLOCKS);
  int64_t down = (own->n + PARTICLE_SIDE - 1) / PARTICLE_SIDE;
  for (int64_t tile = 0; own->task == RPINN_PARTICLES_DISTANCES && tile < down * (down + 1) / 2; tile++)
    measure_tile<Real>(team, memory, *own, tile);
  for (int i = 0; i < own->n; i++) {
    for (int64_t column = 0; own->task == RPINN_PARTICLES_CENTRE && column < own->size; column++)
      centre_column<Real>(*own, i, own->n, column);
    if (own->task == RPINN_PARTICLES_WEIGHTS) weigh_row_of_particles<Real>(team, memory, *own, i);
    if (own->task == RPINN_PARTICLES_COMBINE) combine_particle<Real>(team, *own, i);
    if (own->task == RPINN_PARTICLES_MOVE) move_particle<Real>(team, memory, *own, i);
  }
}

extern "C" void emulated_run_particles(const RpinnLaunch *launch, const RpinnDeviceParticles *particles) {
  if (particles->task == RPINN_PARTICLES_GRAM)
    particles->is_tf32 ? run_gram<ProductShape<false, false>>(particles) : run_gram<ProductShape<false, true>>(particles);
  else if (particles->task == RPINN_PARTICLES_DIRECT)
    particles->is_tf32 ? run_direction<ProductShape<true, false>>(particles) : run_direction<ProductShape<true, true>>(particles);
  else
    launch->is_double ? run_particle_task<double>(particles) : run_particle_task<float>(particles);
}

/* ---- a block's product of a slab, lane by lane ---- */

/* What `ldmatrix` gives a lane of tile `tile`: rows has the addresses that the lanes of the warp gave. */
static float number_of_tile(const float *const *rows, int tile, int lane) { return rows[8 * tile + lane / 4][lane % 4]; }

/* What the lanes of a warp have of A and B for a step, as StepOperands::load brings it. */
template <class Shape> struct WarpOperands {
  float left[Shape::DOWN][4][32], right[Shape::ACROSS][2][32];

  void load(const float *a, const float *b, int warp) {
    const float *rows[32];
    for (int i = 0; i < Shape::DOWN; i++) {
      for (int lane = 0; lane < 32; lane++) rows[lane] = a + left_row<Shape>(warp, lane, i);
      for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 4; r++) left[i][r][lane] = number_of_tile(rows, r, lane);
    }
    for (int j = 0; j < Shape::ACROSS; j++) {
      for (int lane = 0; lane < 32; lane++) rows[lane] = b + right_row<Shape>(warp, lane, j / 2 * 2);
      for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 2; r++)
          right[j][r][lane] =
              Shape::IS_PLAIN ? b[right_number<Shape>(warp, lane, j, r)] : number_of_tile(rows, j % 2 * 2 + r, lane);
    }
  }
  /* c[row][column] of tile i, j by the layout that multiply_tiles states. */
  float product(int i, int j, int row, int column) const {
    float sum = 0;
    for (int k = 0; k < 8; k++)
      sum += left[i][row / 8 + k / 4 * 2][row % 8 * 4 + k % 4] * right[j][k / 4][column * 4 + k % 4];
    return sum;
  }
};

/* C of all warps of a block; every place of it is to be written. */
template <class Shape> static void multiply_slab(const float *slab, float *c) {
  const int right_step = PRODUCT_STEP * (Shape::IS_PLAIN ? Shape::B_STRIDE : 1);
  static WarpOperands<Shape> own;
  for (int step = 0; step < Shape::STEPS; step++)
    for (int warp = 0; warp < Shape::THREADS / 32; warp++) {
      own.load(slab + step * PRODUCT_STEP, slab + Shape::A_SIZE + step * right_step, warp);
      for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < Shape::DOWN; i++)
          for (int j = 0; j < Shape::ACROSS; j++)
            for (int r = 0; r < 4; r++) {
              int row = lane / 4 + r / 2 * 8, column = 2 * (lane % 4) + r % 2;
              c[(first_row<Shape>(warp, lane) + 16 * i + r / 2 * 8) * Shape::COLUMNS + first_column<Shape>(warp, lane) + 8 * j + r % 2] +=
                  own.product(i, j, row, column);
            }
    }
}

/* The largest number of lanes of a phase of eight that meet in one of the 32 banks, less one: rows of 16 bytes that are read together. */
template <class Row> static int conflicts_of(Row row_of) {
  int most = 0;
  for (int phase = 0; phase < 4; phase++) {
    int counts[8] = {0};
    for (int lane = 8 * phase; lane < 8 * phase + 8; lane++) {
      int count = counts[row_of(lane) / 4 % 8]++;
      if (count > most) most = count;
    }
  }
  return most;
}

/* Is the product of a slab of small whole numbers what it is by its definition? */
template <class Shape> static bool is_slab_right(void) {
  static float slab[Shape::SLAB_SIZE], c[Shape::ROWS * Shape::COLUMNS];
  memset(c, 0, sizeof c);
  for (int e = 0; e < Shape::SLAB_SIZE; e++) slab[e] = (float)((e * 7919 + 31) % 61 - 30);
  multiply_slab<Shape>(slab, c);
  for (int row = 0; row < Shape::ROWS; row++)
    for (int column = 0; column < Shape::COLUMNS; column++) {
      float sum = 0;
      for (int k = 0; k < Shape::DEPTH; k++)
        sum += slab[row * Shape::A_STRIDE + k] *
               slab[Shape::A_SIZE + (Shape::IS_PLAIN ? k * Shape::B_STRIDE + column : column * Shape::B_STRIDE + k)];
      if (sum != c[row * Shape::COLUMNS + column]) return false;
    }
  return conflicts_of([](int lane) { return left_row<Shape>(0, lane, 0); }) == 0 &&
         (Shape::IS_PLAIN || conflicts_of([](int lane) { return right_row<Shape>(0, lane, 0); }) == 0);
}

extern "C" bool emulated_products_are_right(void) {
  return is_slab_right<ProductShape<false, false>>() && is_slab_right<ProductShape<false, true>>() &&
         is_slab_right<ProductShape<true, false>>() && is_slab_right<ProductShape<true, true>>() &&
         is_slab_right<ProductShape<false, false, true>>() && is_slab_right<ProductShape<true, false, true>>();
}
