/* The kernel of chains, and how it is launched. Sources that include this compile some of its shapes. */
#ifndef RPINN_BACKEND_CUDA_KERNELS_CHAINS_CUH
#define RPINN_BACKEND_CUDA_KERNELS_CHAINS_CUH

#include "chain_tree.cuh"
#include "kernel_launch.h"
#include "shared_memory_limit.cuh"

template <class S, int MOST_THREADS, int BLOCKS>
__global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    chain_kernel(const __grid_constant__ RpinnDeviceWork work, const __grid_constant__ RpinnFusedWork fused,
                 const __grid_constant__ RpinnDeviceCall call, const __grid_constant__ RpinnDeviceChains chains) {
  run_chain<S>(work, fused, call, chains, (int64_t)blockIdx.x, shared_memory<float>(), nullptr, nullptr);
}

template <class S, int MOST_THREADS, int BLOCKS>
static int launch_chains(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                         const RpinnDeviceCall *call, const RpinnDeviceChains *chains) {
  typedef WithoutAdam<S, MOST_THREADS * BLOCKS <= 400 ? 4 : 2> Shape; /* 160 registers for a thread, or less */
  auto kernel = chain_kernel<Shape, MOST_THREADS, BLOCKS>;
  cudaError_t error = allow_shared_memory((const void *)kernel);
  if (error != cudaSuccess) return (int)error;
  kernel<<<(unsigned)launch->num_members, (unsigned)fused->num_threads, launch->shared_bytes, (cudaStream_t)launch->stream>>>(
      *work, *fused, *call, *chains);
  return (int)cudaGetLastError();
}

#endif
