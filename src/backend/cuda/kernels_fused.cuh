/* The fused kernel, and how it is launched. Sources that include this compile some of its shapes. */
#ifndef RPINN_BACKEND_CUDA_KERNELS_FUSED_CUH
#define RPINN_BACKEND_CUDA_KERNELS_FUSED_CUH

#include "fused_member.cuh"
#include "kernel_launch.h"
#include "shared_memory_limit.cuh"

/* Which member a block has, and which share of its iterations. */
struct FusedTurn {
  int member, share;
};

RPINN_INLINE int32_t load_acquired(const int32_t *from) {
  int32_t value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

/* Shares go to blocks in the order in which these begin, those of one member `members` turns apart. A block waits until the share before its
 * own is done, which is of a block that has begun: that one is never kept from ending. */
RPINN_INLINE FusedTurn take_turn(const RpinnDeviceCall &call, int members) {
  __shared__ int number;
  if (call.num_shares == 1) return {(int)blockIdx.x, 0};
  if (threadIdx.x == 0) {
    const int own = atomicAdd(call.turns, 1);
    while (load_acquired(call.turns + 1 + own % members) < own / members) __nanosleep(1000);
    number = own;
  }
  __syncthreads();
  return {number % members, number / members};
}

RPINN_INLINE void end_turn(const RpinnDeviceCall &call, const FusedTurn &turn) {
  if (call.num_shares == 1) return;
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(call.turns + 1 + turn.member), "r"(turn.share + 1) : "memory");
}

template <class S, int MOST_THREADS, int BLOCKS>
__global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    fused_kernel(const __grid_constant__ RpinnDeviceWork work, const __grid_constant__ RpinnFusedWork fused,
                 const __grid_constant__ RpinnDeviceCall call) {
  FusedOwn<S> own;
  FusedRows<S> rows;
  const FusedTurn turn = take_turn(call, (int)gridDim.x / call.num_shares);
  run_fused<S>(work, fused, call, turn.member, turn.share, shared_memory<float>(), &own, &rows);
  end_turn(call, turn);
}

template <class S, int MOST_THREADS, int BLOCKS>
static int launch_fused(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                        const RpinnDeviceCall *call) {
  auto kernel = fused_kernel<S, MOST_THREADS, BLOCKS>;
  cudaError_t error = allow_shared_memory((const void *)kernel);
  if (error != cudaSuccess) return (int)error;
  const unsigned blocks = (unsigned)launch->num_members * (unsigned)call->num_shares;
  kernel<<<blocks, (unsigned)fused->num_threads, launch->shared_bytes, (cudaStream_t)launch->stream>>>(
      *work, *fused, *call);
  return (int)cudaGetLastError();
}

#endif
