/* The kernel of members, a block of threads for each, and how it is launched. Sources that include this compile some of it. */
#ifndef RPINN_BACKEND_CUDA_MEMBER_KERNEL_CUH
#define RPINN_BACKEND_CUDA_MEMBER_KERNEL_CUH

#include "kernel_launch.h"
#include "member_pass.cuh"
#include "shared_memory_limit.cuh"

template <class Real, bool FAST, bool POINTS>
__global__ void __launch_bounds__(RPINN_DEVICE_MAX_THREADS, 1)
    member_kernel(const __grid_constant__ RpinnDeviceWork work, const __grid_constant__ RpinnDeviceCall call) {

  run_member<Real, FAST, POINTS>(work, call, (int64_t)blockIdx.x, shared_memory<Real>());
}

template <class Real, bool FAST, bool POINTS>
static int launch_members(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  auto kernel = member_kernel<Real, FAST, POINTS>;
  cudaError_t error = allow_shared_memory((const void *)kernel);
  if (error != cudaSuccess) return (int)error;
  const unsigned blocks = (unsigned)launch->num_members * (unsigned)call->num_parts;
  kernel<<<blocks, (unsigned)work->num_threads, launch->shared_bytes, (cudaStream_t)launch->stream>>>(
      *work, *call);
  return (int)cudaGetLastError();
}

#endif
