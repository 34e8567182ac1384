/* Iterations of SVGD: a block has a particle, a piece of its numbers, or some rows of the distances. */
#include "kernel_launch.h"
#include "particles.cuh"

enum { SEARCH_BLOCKS = 256, CENTRED_TOGETHER = 16 /* particles of a block */ };

template <class Real> __global__ void __launch_bounds__(PARTICLE_THREADS) particle_kernel(const __grid_constant__ RpinnDeviceParticles own) {
  __shared__ ParticleMemory memory;
  Team team = make_team(5);
  int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  switch (own.task) {
  case RPINN_PARTICLES_SUM:
    sum_particles<Real>(own, (int)row, column);
    clear_search(own, (row * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x, (int64_t)gridDim.x * gridDim.y * blockDim.x);
    break;
  case RPINN_PARTICLES_CENTRE: centre_column<Real>(own, (int)row, (int)gridDim.y, column); break;
  case RPINN_PARTICLES_DISTANCES: measure_row<Real>(team, own, row); break;
  case RPINN_PARTICLES_SEARCH: search_pass<Real>(team, memory, own, (int)blockIdx.y, (int)gridDim.y); break;
  case RPINN_PARTICLES_BELOW: find_below<Real>(team, memory, own, (int)blockIdx.y, (int)gridDim.y); break;
  case RPINN_PARTICLES_WEIGHTS: weigh_row_of_particles<Real>(team, memory, own, row); break;
  case RPINN_PARTICLES_COMBINE: combine_particle<Real>(team, own, row); break;
  case RPINN_PARTICLES_MOVE: move_particle<Real>(team, memory, own, row); break;
  }
}

/* Blocks across the numbers of a particle, and across particles, parts or rows. */
static dim3 grid_of(const RpinnDeviceParticles *own) {
  unsigned across = (unsigned)((own->size + PARTICLE_THREADS - 1) / PARTICLE_THREADS), n = (unsigned)own->n;
  switch (own->task) {
  case RPINN_PARTICLES_SUM: return dim3(across, RPINN_PARTICLE_PARTS);
  case RPINN_PARTICLES_CENTRE: return dim3(across, (n + CENTRED_TOGETHER - 1) / CENTRED_TOGETHER);
  case RPINN_PARTICLES_SEARCH:
  case RPINN_PARTICLES_BELOW: return dim3(1, n < SEARCH_BLOCKS ? n : SEARCH_BLOCKS);
  default: return dim3(1, n);
  }
}

extern "C" int rpinn_cuda_run_particles(const RpinnLaunch *launch, const RpinnDeviceParticles *particles) {
  cudaStream_t stream = (cudaStream_t)launch->stream;
  if (launch->is_double)
    particle_kernel<double><<<grid_of(particles), PARTICLE_THREADS, 0, stream>>>(*particles);
  else
    particle_kernel<float><<<grid_of(particles), PARTICLE_THREADS, 0, stream>>>(*particles);
  return (int)cudaGetLastError();
}
