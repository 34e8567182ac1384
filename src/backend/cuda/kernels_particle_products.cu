/* The products of SVGD: a block has a tile. */
#include "kernel_launch.h"
#include "particle_products.cuh"

template <class Shape>
__global__ void __launch_bounds__(Shape::THREADS, 1) particle_product_kernel(const __grid_constant__ RpinnDeviceParticles own) {
  float *shared = shared_memory<float>();
  if (Shape::IS_PLAIN)
    multiply_tile<Shape>(direction_tile<Shape>(own, blockIdx.y, blockIdx.x), shared);
  else
    multiply_tile<Shape>(gram_tile<Shape>(own, blockIdx.x, (int)blockIdx.y), shared);
}

template <class Shape> static int start_tiles(const RpinnLaunch *launch, const RpinnDeviceParticles *own) {
  unsigned down = (unsigned)((own->n + Shape::ROWS - 1) / Shape::ROWS), across = (unsigned)((own->size + Shape::COLUMNS - 1) / Shape::COLUMNS);
  dim3 grid = Shape::IS_PLAIN ? dim3(across, down) : dim3(down * (down + 1) / 2, (unsigned)own->num_parts);
  auto kernel = particle_product_kernel<Shape>;
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::SHARED_BYTES);
  if (error != cudaSuccess) return (int)error;
  kernel<<<grid, Shape::THREADS, Shape::SHARED_BYTES, (cudaStream_t)launch->stream>>>(*own);
  return (int)cudaGetLastError();
}

extern "C" int rpinn_cuda_run_particle_product(const RpinnLaunch *own, const RpinnDeviceParticles *particles) {
  if (particles->task == RPINN_PARTICLES_GRAM)
    return particles->is_tf32 ? start_tiles<ProductShape<false, false>>(own, particles) : start_tiles<ProductShape<false, true>>(own, particles);
  return particles->is_tf32 ? start_tiles<ProductShape<true, false>>(own, particles) : start_tiles<ProductShape<true, true>>(own, particles);
}
