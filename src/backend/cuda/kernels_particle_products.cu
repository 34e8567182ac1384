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

template <bool IS_SPLIT, bool IS_DEEP> static int start_task(const RpinnLaunch *own, const RpinnDeviceParticles *particles) {
  return particles->task == RPINN_PARTICLES_GRAM ? start_tiles<ProductShape<false, IS_SPLIT, IS_DEEP>>(own, particles)
                                                 : start_tiles<ProductShape<true, IS_SPLIT, IS_DEEP>>(own, particles);
}

extern "C" int rpinn_cuda_run_particle_product(const RpinnLaunch *own, const RpinnDeviceParticles *particles) {
  int device = 0, most = 0;
  if (!particles->is_tf32) return start_task<true, false>(own, particles);
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return (int)error;
  return most >= ProductShape<true, false, true>::SHARED_BYTES ? start_task<false, true>(own, particles)
                                                               : start_task<false, false>(own, particles);
}
