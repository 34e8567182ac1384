/* Products with Jacobians: many blocks share a member. */
#include "jacobian_products.cuh"
#include "kernel_launch.h"

enum { PRODUCT_THREADS = 128, PRODUCT_BLOCKS = 256 };

template <class Real>
__global__ void product_kernel(const __grid_constant__ RpinnDeviceWork work, const __grid_constant__ RpinnDeviceProduct product) {
  Team team = make_team(5);
  int64_t k = blockIdx.y, first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (int64_t)gridDim.x * blockDim.x;
  if (product.task == RPINN_PRODUCT_ROWS)
    finish_rows<Real>(work, product, k, first, step);
  else if (product.task == RPINN_PRODUCT_TIMES)
    jacobian_times(team, work, product, k, (int)blockIdx.x * team.num_groups + team.group, (int)gridDim.x * team.num_groups);
  else
    gram(work, product, k, first, step);
}

extern "C" int rpinn_cuda_run_product(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                      const RpinnDeviceProduct *product) {
  dim3 grid(PRODUCT_BLOCKS, (unsigned)launch->num_members);
  if (launch->is_double)
    product_kernel<double><<<grid, PRODUCT_THREADS, 0, (cudaStream_t)launch->stream>>>(*work, *product);
  else
    product_kernel<float><<<grid, PRODUCT_THREADS, 0, (cudaStream_t)launch->stream>>>(*work, *product);
  return (int)cudaGetLastError();
}
