/* GPUs through the CUDA runtime, which is linked into the library; the driver is looked for when it is needed. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "device.h"

typedef struct CudaDevice {
  RpinnDevice base;
  int index;
  cudaStream_t stream;
} CudaDevice;

/* One sentence for every way in which a device fails. */
static RpinnStatus fail(RpinnContext *context, cudaError_t error, const char *what) {
  switch (error) {
  case cudaErrorNoDevice:
    return rpinn_fail(context, RPINN_ERROR_DEVICE, "backend cuda: this machine has no GPU that CUDA can use");
  case cudaErrorInsufficientDriver:
    return rpinn_fail(context, RPINN_ERROR_DEVICE,
                      "backend cuda: there is no NVIDIA driver, or one too old for CUDA %d.%d",
                      CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorInvalidDeviceFunction:
    return rpinn_fail(
        context, RPINN_ERROR_DEVICE,
        "backend cuda: this program has no code for this GPU; it needs compute capability 8.0 or more");
  case cudaErrorMemoryAllocation:
    return rpinn_fail(context, RPINN_ERROR_DEVICE, "backend cuda: the GPU is out of memory while %s", what);
  default:
    return rpinn_fail(context, RPINN_ERROR_DEVICE, "backend cuda: the GPU failed while %s: %s", what,
                      cudaGetErrorString(error));
  }
}

/* Hand a failure of the runtime on to the caller. */
#define TRY_CUDA(context, call, what)                                                                        \
  do {                                                                                                       \
    cudaError_t try_error = (call);                                                                          \
    if (try_error != cudaSuccess) return fail(context, try_error, what);                                     \
  } while (0)

/* The choice of a device belongs to the thread, and a backend may be made by another one than uses it. */
static RpinnStatus choose(RpinnContext *context, const RpinnDevice *device) {
  TRY_CUDA(context, cudaSetDevice(((const CudaDevice *)device)->index), "being chosen");
  return RPINN_OK;
}

static void close_device(RpinnDevice *device) {
  CudaDevice *own = (CudaDevice *)device;
  if (own->stream) (void)cudaStreamDestroy(own->stream); /* nothing is left to be done where it fails */
  free(own);
}

static RpinnStatus allocate(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory) {
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, cudaMalloc(memory, bytes), "making room");
  return RPINN_OK;
}

static void release(RpinnDevice *device, void *memory) {
  (void)device;
  (void)cudaFree(memory); /* a lost device has told so before */
}

static RpinnStatus wait(RpinnContext *context, RpinnDevice *device, const char *what) {
  TRY_CUDA(context, cudaStreamSynchronize(((CudaDevice *)device)->stream), what);
  return RPINN_OK;
}

static RpinnStatus write(RpinnContext *context, RpinnDevice *device, void *to, const void *from,
                         size_t bytes) {
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, ((CudaDevice *)device)->stream),
           "taking numbers");
  return wait(context, device, "taking numbers");
}

static RpinnStatus read(RpinnContext *context, RpinnDevice *device, void *to, const void *from,
                        size_t bytes) {
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, ((CudaDevice *)device)->stream),
           "giving numbers");
  return wait(context, device, "giving numbers");
}

static RpinnStatus clear(RpinnContext *context, RpinnDevice *device, void *memory, size_t bytes) {
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, cudaMemsetAsync(memory, 0, bytes, ((CudaDevice *)device)->stream), "clearing memory");
  return wait(context, device, "clearing memory");
}

static RpinnStatus run_members(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  RpinnLaunch own = *launch;
  own.stream = ((CudaDevice *)device)->stream;
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_members(&own, work, call), "starting a kernel");
  return wait(context, device, "computing");
}

static RpinnStatus run_product(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceProduct *product) {
  RpinnLaunch own = *launch;
  own.stream = ((CudaDevice *)device)->stream;
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_product(&own, work, product), "starting a product");
  return wait(context, device, "computing a product");
}

static const RpinnDeviceOperations cuda_operations = {.close = close_device,
                                                      .allocate = allocate,
                                                      .release = release,
                                                      .write = write,
                                                      .read = read,
                                                      .clear = clear,
                                                      .run_members = run_members,
                                                      .run_product = run_product};

/* The first device that is new enough. */
static RpinnStatus find_device(RpinnContext *context, int *device, struct cudaDeviceProp *properties) {
  int count = 0;
  TRY_CUDA(context, cudaGetDeviceCount(&count), "being counted");
  for (*device = 0; *device < count; ++*device) {
    TRY_CUDA(context, cudaGetDeviceProperties(properties, *device), "being described");
    if (properties->major >= 8) return RPINN_OK;
  }
  return count ? fail(context, cudaErrorNoKernelImageForDevice, "being chosen")
               : fail(context, cudaErrorNoDevice, "being chosen");
}

RpinnStatus rpinn_cuda_device_find(RpinnContext *context, RpinnText *description, RpinnText *identity) {
  struct cudaDeviceProp properties;
  int index, version = CUDART_VERSION;
  RPINN_TRY(find_device(context, &index, &properties));
  if (description)
    rpinn_text_append(description, "%s, compute capability %d.%d, %d multiprocessors, %zu GiB",
                      properties.name, properties.major, properties.minor, properties.multiProcessorCount,
                      properties.totalGlobalMem >> 30);
  if (identity)
    rpinn_text_append(identity, "compute capability %d.%d, CUDA %d.%d", properties.major, properties.minor,
                      version / 1000, version % 1000 / 10);
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_device_open(RpinnContext *context, RpinnDevice **device) {
  struct cudaDeviceProp properties;
  int index;
  RPINN_TRY(find_device(context, &index, &properties));
  TRY_CUDA(context, cudaSetDevice(index), "being chosen");
  CudaDevice *own = calloc(1, sizeof *own);
  if (!own) return rpinn_fail_memory(context);
  own->base = (RpinnDevice){.operations = &cuda_operations,
                            .num_multiprocessors = (size_t)properties.multiProcessorCount,
                            .shared_per_block = properties.sharedMemPerBlockOptin,
                            .shared_per_multiprocessor = properties.sharedMemPerMultiprocessor,
                            .memory = properties.totalGlobalMem};
  own->index = index;
  *device = &own->base;
  cudaError_t error = cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) return RPINN_OK;
  close_device(&own->base);
  return fail(context, error, "getting a stream");
}
