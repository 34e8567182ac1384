/* Loops that do nothing but multiply and add in registers: what a GPU can do at most. Each thread or warp has several independent sums, so
 * that no instruction waits for another. */
#ifndef RPINN_BACKEND_CUDA_PEAK_LOOPS_CUH
#define RPINN_BACKEND_CUDA_PEAK_LOOPS_CUH

enum { PEAK_THREADS = 256, PEAK_ROUNDS = 4096, PEAK_CHAINS = 16, PEAK_TILES = 8 };

/* PEAK_CHAINS independent x = x a + b; 2 operations each. */
template <class Real> __global__ void multiply_add(Real *out, Real a, Real b) {
  Real x[PEAK_CHAINS];
#pragma unroll
  for (int i = 0; i < PEAK_CHAINS; i++) x[i] = Real(threadIdx.x + i);
  for (int k = 0; k < PEAK_ROUNDS; k++)
#pragma unroll
    for (int i = 0; i < PEAK_CHAINS; i++) x[i] = x[i] * a + b;
  Real sum = 0;
#pragma unroll
  for (int i = 0; i < PEAK_CHAINS; i++) sum += x[i];
  out[blockIdx.x * PEAK_THREADS + threadIdx.x] = sum;
}

/* PEAK_TILES independent products 16 x 8 x 8 of a warp; 2 * 16 * 8 * 8 operations each. */
static __global__ void tensor_tf32(float *out, unsigned seed) {
  float c[PEAK_TILES][4];
  unsigned a[4] = {seed, seed + 1, seed + 2, seed + 3}, b[2] = {seed, seed};
#pragma unroll
  for (int i = 0; i < PEAK_TILES; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) c[i][j] = float(threadIdx.x);
  for (int k = 0; k < PEAK_ROUNDS; k++)
#pragma unroll
    for (int i = 0; i < PEAK_TILES; i++)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < PEAK_TILES; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[blockIdx.x * PEAK_THREADS + threadIdx.x] = sum;
}

/* Operations of tensor_double's instruction: 16 x 8 x 16 from compute capability 9.0 on, else 8 x 8 x 4. */
static __host__ __device__ inline double tensor_double_operations(bool is_hopper) {
  return is_hopper ? 2.0 * 16 * 8 * 16 : 2.0 * 8 * 8 * 4;
}

static __global__ void tensor_double(double *out, double seed) {
  double c[PEAK_TILES][4];
#pragma unroll
  for (int i = 0; i < PEAK_TILES; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) c[i][j] = double(threadIdx.x);
  for (int k = 0; k < PEAK_ROUNDS / 16; k++)
#pragma unroll
    for (int i = 0; i < PEAK_TILES; i++)
#if __CUDA_ARCH__ >= 900
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%4,%4,%4,%4,%4,%4,%4}, {%4,%4,%4,%4}, "
                   "{%0,%1,%2,%3};"
                   : "+d"(c[i][0]), "+d"(c[i][1]), "+d"(c[i][2]), "+d"(c[i][3])
                   : "d"(seed));
#else
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};"
                   : "+d"(c[i][0]), "+d"(c[i][1])
                   : "d"(seed));
#endif
  double sum = 0;
#pragma unroll
  for (int i = 0; i < PEAK_TILES; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[blockIdx.x * PEAK_THREADS + threadIdx.x] = sum;
}

#endif
