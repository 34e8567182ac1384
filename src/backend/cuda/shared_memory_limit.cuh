/* How much shared memory a kernel may have. */
#ifndef RPINN_BACKEND_CUDA_SHARED_MEMORY_LIMIT_CUH
#define RPINN_BACKEND_CUDA_SHARED_MEMORY_LIMIT_CUH

/* Let a kernel have all the shared memory that a block can. The limit belongs to the kernel and not to a launch: threads that each set what
 * their own launch needs would lower it for one another. */
static inline cudaError_t allow_shared_memory(const void *kernel) {
  cudaFuncAttributes attributes;
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - (int)attributes.sharedSizeBytes);
}

#endif
