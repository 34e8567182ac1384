/* What a GPU can do at most, by kernels that do nothing else: fused multiply-adds in float and double, mma.sync in TF32, and tanh. One line
 * each; docs/cuda.md has the figures of an H200.
 *
 *   cuda_probe */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "peak_loops.cuh"

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "cuda_probe: %s\n", cudaGetErrorString(error));
  exit(1);
}

struct Exact {
  static __device__ float of(float x) { return tanhf(x); }
};
/* 1 - 2 / (e^2x + 1), with the instructions for 2^x and 1/x */
struct Exponential {
  static __device__ float of(float x) { return 1.0f - __fdividef(2.0f, __expf(2.0f * x) + 1.0f); }
};
struct Approximate {
  static __device__ float of(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
};

template <class Tanh> __global__ void tangents(float *out, float a) {
  float x[PEAK_CHAINS];
#pragma unroll
  for (int i = 0; i < PEAK_CHAINS; i++) x[i] = a * float(threadIdx.x + i);
  for (int k = 0; k < PEAK_ROUNDS / 8; k++)
#pragma unroll
    for (int i = 0; i < PEAK_CHAINS; i++) x[i] = Tanh::of(x[i] + a);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < PEAK_CHAINS; i++) sum += x[i];
  out[blockIdx.x * PEAK_THREADS + threadIdx.x] = sum;
}

/* Seconds of the best of five launches. */
template <class Launch> static double best_seconds(Launch launch) {
  cudaEvent_t start, end;
  float least = 1e30f;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&end));
  for (int k = 0; k < 6; k++) { /* the first one warms up */
    float milliseconds;
    check(cudaEventRecord(start));
    launch();
    check(cudaGetLastError());
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&milliseconds, start, end));
    if (k && milliseconds < least) least = milliseconds;
  }
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(end));
  return 1e-3 * least;
}

int main() {
  cudaDeviceProp device;
  float *floats;
  double *doubles;
  check(cudaGetDeviceProperties(&device, 0));
  int blocks = 8 * device.multiProcessorCount;
  double threads = double(blocks) * PEAK_THREADS;
  check(cudaMalloc(&floats, blocks * PEAK_THREADS * sizeof(float)));
  check(cudaMalloc(&doubles, blocks * PEAK_THREADS * sizeof(double)));
  printf("%s, compute capability %d.%d, %d multiprocessors\n", device.name, device.major, device.minor,
         device.multiProcessorCount);
  double work = 2.0 * threads * PEAK_CHAINS * PEAK_ROUNDS;
  printf("FFMA        %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { multiply_add<float><<<blocks, PEAK_THREADS>>>(floats, 0.5f, 1.0f); }));
  printf("DFMA        %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { multiply_add<double><<<blocks, PEAK_THREADS>>>(doubles, 0.5, 1.0); }));
  work = threads / 32 * PEAK_ROUNDS * PEAK_TILES * 2.0 * 16 * 8 * 8;
  printf("mma TF32    %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { tensor_tf32<<<blocks, PEAK_THREADS>>>(floats, 0x3f000000u); }));
  work = threads / 32 * (PEAK_ROUNDS / 16) * PEAK_TILES * tensor_double_operations(device.major >= 9);
  printf("mma FP64    %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { tensor_double<<<blocks, PEAK_THREADS>>>(doubles, 0.5); }));
  work = threads * PEAK_CHAINS * (PEAK_ROUNDS / 8);
  printf("tanhf       %8.2f 10^12/s\n", 1e-12 * work / best_seconds([&] { tangents<Exact><<<blocks, PEAK_THREADS>>>(floats, 0.01f); }));
  printf("tanh by exp %8.2f 10^12/s\n",
         1e-12 * work / best_seconds([&] { tangents<Exponential><<<blocks, PEAK_THREADS>>>(floats, 0.01f); }));
  printf("tanh.approx %8.2f 10^12/s\n",
         1e-12 * work / best_seconds([&] { tangents<Approximate><<<blocks, PEAK_THREADS>>>(floats, 0.01f); }));
  check(cudaFree(floats));
  check(cudaFree(doubles));
  return 0;
}
