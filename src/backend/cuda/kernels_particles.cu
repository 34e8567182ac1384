/* Iterations of SVGD: a block has a particle, a piece of its numbers, or some rows of the distances. */
#include "kernel_launch.h"
#include "particles.cuh"

enum { SEARCH_BLOCKS = 256, CENTRED_TOGETHER = 32 /* particles of a block */ };

/* A kernel for each task, with no more registers than it needs. */
template <class Real, RpinnParticleTask TASK>
__global__ void __launch_bounds__(PARTICLE_THREADS) particle_kernel(const __grid_constant__ RpinnDeviceParticles own) {
  __shared__ ParticleMemory memory;
  Team team = make_team(5);
  int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (TASK == RPINN_PARTICLES_SUM) {
    sum_particles<Real>(own, (int)row, column);
    clear_search(own, (row * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x, (int64_t)gridDim.x * gridDim.y * blockDim.x);
  }
  if (TASK == RPINN_PARTICLES_CENTRE) centre_column<Real>(own, (int)row, (int)gridDim.y, column);
  if (TASK == RPINN_PARTICLES_DISTANCES) measure_tile<Real>(team, memory, own, blockIdx.x);
  if (TASK == RPINN_PARTICLES_SEARCH) search_pass<Real>(team, memory, own, (int)row, (int)gridDim.y);
  if (TASK == RPINN_PARTICLES_WEIGHTS) weigh_row_of_particles<Real>(team, memory, own, row);
  if (TASK == RPINN_PARTICLES_COMBINE) combine_particle<Real>(team, own, row);
  if (TASK == RPINN_PARTICLES_MOVE) move_particle<Real>(team, memory, own, row);
}

/* Blocks across the numbers of a particle, and across particles, parts or rows. */
static dim3 grid_of(const RpinnDeviceParticles *own) {
  unsigned across = (unsigned)((own->size + PARTICLE_THREADS - 1) / PARTICLE_THREADS), n = (unsigned)own->n,
           tiles = (n + PARTICLE_SIDE - 1) / PARTICLE_SIDE;
  switch (own->task) {
  case RPINN_PARTICLES_SUM: return dim3(across, RPINN_PARTICLE_PARTS);
  case RPINN_PARTICLES_CENTRE: return dim3(across, (n + CENTRED_TOGETHER - 1) / CENTRED_TOGETHER);
  case RPINN_PARTICLES_DISTANCES: return dim3(tiles * (tiles + 1) / 2);
  case RPINN_PARTICLES_SEARCH: return dim3(1, n < SEARCH_BLOCKS ? n : SEARCH_BLOCKS);
  default: return dim3(1, n);
  }
}

/* A multiprocessor has one share of shared memory at a time, which the kernels beside these want to be the largest. */
template <class Real, RpinnParticleTask TASK> static int start_task(const RpinnLaunch *launch, const RpinnDeviceParticles *own) {
  cudaError_t error = cudaFuncSetAttribute(particle_kernel<Real, TASK>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                           cudaSharedmemCarveoutMaxShared);
  if (error != cudaSuccess) return (int)error;
  particle_kernel<Real, TASK><<<grid_of(own), PARTICLE_THREADS, 0, (cudaStream_t)launch->stream>>>(*own);
  return (int)cudaGetLastError();
}

template <class Real> static int start(const RpinnLaunch *launch, const RpinnDeviceParticles *own) {
  switch (own->task) {
  case RPINN_PARTICLES_SUM: return start_task<Real, RPINN_PARTICLES_SUM>(launch, own);
  case RPINN_PARTICLES_CENTRE: return start_task<Real, RPINN_PARTICLES_CENTRE>(launch, own);
  case RPINN_PARTICLES_DISTANCES: return start_task<Real, RPINN_PARTICLES_DISTANCES>(launch, own);
  case RPINN_PARTICLES_SEARCH: return start_task<Real, RPINN_PARTICLES_SEARCH>(launch, own);
  case RPINN_PARTICLES_WEIGHTS: return start_task<Real, RPINN_PARTICLES_WEIGHTS>(launch, own);
  case RPINN_PARTICLES_COMBINE: return start_task<Real, RPINN_PARTICLES_COMBINE>(launch, own);
  case RPINN_PARTICLES_MOVE: return start_task<Real, RPINN_PARTICLES_MOVE>(launch, own);
  default: return rpinn_cuda_run_particle_product(launch, own);
  }
}

extern "C" int rpinn_cuda_run_particles(const RpinnLaunch *launch, const RpinnDeviceParticles *particles) {
  return launch->is_double ? start<double>(launch, particles) : start<float>(launch, particles);
}
