/* What a GPU can do at most, one launch at a time. */
#include "kernel_launch.h"
#include "peak_loops.cuh"

extern "C" int rpinn_cuda_run_peak(void *stream, RpinnDevicePeak peak, int num_blocks, int is_hopper, void *memory,
                                   double *operations) {
  cudaStream_t own = (cudaStream_t)stream;
  double threads = (double)num_blocks * PEAK_THREADS, warps = threads / 32;
  switch (peak) {
  case RPINN_PEAK_FLOAT:
    multiply_add<float><<<num_blocks, PEAK_THREADS, 0, own>>>((float *)memory, 0.5f, 1.0f);
    *operations = 2 * threads * PEAK_CHAINS * PEAK_ROUNDS;
    break;
  case RPINN_PEAK_DOUBLE:
    multiply_add<double><<<num_blocks, PEAK_THREADS, 0, own>>>((double *)memory, 0.5, 1.0);
    *operations = 2 * threads * PEAK_CHAINS * PEAK_ROUNDS;
    break;
  case RPINN_PEAK_TENSOR_TF32:
    tensor_tf32<<<num_blocks, PEAK_THREADS, 0, own>>>((float *)memory, 0x3f000000u);
    *operations = warps * PEAK_ROUNDS * PEAK_TILES * 2 * 16 * 8 * 8;
    break;
  default:
    tensor_double<<<num_blocks, PEAK_THREADS, 0, own>>>((double *)memory, 0.5);
    *operations = warps * (PEAK_ROUNDS / 16) * PEAK_TILES * tensor_double_operations(is_hopper);
  }
  return (int)cudaGetLastError();
}
