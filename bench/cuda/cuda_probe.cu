/* What a GPU can do at most, by kernels that do nothing else: fused multiply-adds in float and double, mma.sync in TF32, and tanh. One line
 * each; docs/cuda.md has the figures of an H200.
 *
 *   cuda_probe */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "cuda_probe: %s\n", cudaGetErrorString(error));
  exit(1);
}

enum { THREADS = 256, ROUNDS = 4096, CHAINS = 16 };

/* CHAINS independent x = x a + b; 2 operations each. */
template <class Real> __global__ void multiply_add(Real *out, Real a, Real b) {
  Real x[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; i++) x[i] = Real(threadIdx.x + i);
  for (int k = 0; k < ROUNDS; k++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) x[i] = x[i] * a + b;
  Real sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; i++) sum += x[i];
  out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* 8 independent products 16 x 8 x 8 of a warp; 2 * 16 * 8 * 8 operations each. */
__global__ void tensor_tf32(float *out, unsigned seed) {
  float c[8][4];
  unsigned a[4] = {seed, seed + 1, seed + 2, seed + 3}, b[2] = {seed, seed};
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) c[i][j] = float(threadIdx.x);
  for (int k = 0; k < ROUNDS; k++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[blockIdx.x * THREADS + threadIdx.x] = sum;
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
  float x[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; i++) x[i] = a * float(threadIdx.x + i);
  for (int k = 0; k < ROUNDS / 8; k++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++) x[i] = Tanh::of(x[i] + a);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; i++) sum += x[i];
  out[blockIdx.x * THREADS + threadIdx.x] = sum;
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
  double threads = double(blocks) * THREADS;
  check(cudaMalloc(&floats, blocks * THREADS * sizeof(float)));
  check(cudaMalloc(&doubles, blocks * THREADS * sizeof(double)));
  printf("%s, compute capability %d.%d, %d multiprocessors\n", device.name, device.major, device.minor,
         device.multiProcessorCount);
  double work = 2.0 * threads * CHAINS * ROUNDS;
  printf("FFMA        %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { multiply_add<float><<<blocks, THREADS>>>(floats, 0.5f, 1.0f); }));
  printf("DFMA        %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { multiply_add<double><<<blocks, THREADS>>>(doubles, 0.5, 1.0); }));
  work = threads / 32 * ROUNDS * 8 * 2.0 * 16 * 8 * 8;
  printf("mma TF32    %8.1f TFLOP/s\n",
         1e-12 * work / best_seconds([&] { tensor_tf32<<<blocks, THREADS>>>(floats, 0x3f000000u); }));
  work = threads * CHAINS * (ROUNDS / 8);
  printf("tanhf       %8.2f 10^12/s\n", 1e-12 * work / best_seconds([&] { tangents<Exact><<<blocks, THREADS>>>(floats, 0.01f); }));
  printf("tanh by exp %8.2f 10^12/s\n",
         1e-12 * work / best_seconds([&] { tangents<Exponential><<<blocks, THREADS>>>(floats, 0.01f); }));
  printf("tanh.approx %8.2f 10^12/s\n",
         1e-12 * work / best_seconds([&] { tangents<Approximate><<<blocks, THREADS>>>(floats, 0.01f); }));
  check(cudaFree(floats));
  check(cudaFree(doubles));
  return 0;
}
