/* Steps of Levenberg–Marquardt: many blocks share a member, but for its factor, which has one. */
#include "damped_step.cuh"
#include "kernel_launch.h"

enum { STEP_THREADS = 256, STEP_BLOCKS = 88 };

template <class Real>
__global__ void step_kernel(const __grid_constant__ RpinnDeviceWork work, const __grid_constant__ RpinnDeviceStep step) {
  int64_t k = blockIdx.y, first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, stride = (int64_t)gridDim.x * blockDim.x;
  if (step.task == RPINN_STEP_ROOTS)
    take_roots(work, step, k, first, stride);
  else if (step.task == RPINN_STEP_FINISH)
    finish_step<Real>(work, step, k, first, stride);
  else
    weigh_row<Real>(work, step, k, (int)blockIdx.x, (int)threadIdx.x, (int)blockDim.x);
}

__global__ void __launch_bounds__(STEP_THREADS)
    solve_kernel(const __grid_constant__ RpinnDeviceWork work, const __grid_constant__ RpinnDeviceStep step) {
  __shared__ StepMemory memory;
  solve_step(make_team(5), work, step, blockIdx.x, memory);
}

extern "C" int rpinn_cuda_run_step(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  cudaStream_t stream = (cudaStream_t)launch->stream;
  unsigned count = (unsigned)launch->num_members;
  dim3 grid(step->task == RPINN_STEP_WEIGH ? (unsigned)work->num_rows + 1 : STEP_BLOCKS, count);
  if (step->task == RPINN_STEP_SOLVE)
    solve_kernel<<<count, STEP_THREADS, 0, stream>>>(*work, *step);
  else if (launch->is_double)
    step_kernel<double><<<grid, STEP_THREADS, 0, stream>>>(*work, *step);
  else
    step_kernel<float><<<grid, STEP_THREADS, 0, stream>>>(*work, *step);
  return (int)cudaGetLastError();
}
