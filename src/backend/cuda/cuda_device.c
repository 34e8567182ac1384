/* GPUs through the CUDA runtime, which is linked into the library; the driver is looked for when it is needed. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "device.h"
#include "product_library.h"
#include "steady_clock.h"

enum {
  PRODUCT_WORKSPACE = 64 << 20, /* bytes that cuBLAS may use: its own choice depends on the GPU's state */
  PEAK_BLOCKS = 64,             /* for each multiprocessor: some milliseconds of looping */
  MOST_DEVICES = 64
};

typedef struct CudaDevice {
  RpinnDevice base;
  int index;
  int is_hopper; /* or later */
  cudaStream_t stream;
  cudaStream_t beside;                /* of launches that are made beside others; NULL: none was wanted yet */
  cudaEvent_t fork, joint;            /* what they wait for, and what waits for them */
  const RpinnProductLibrary *library; /* NULL: there is none */
  void *products;                     /* its handle, made when first needed */
  void *workspace;
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

static void close_products(CudaDevice *own) {
  if (own->products) (void)own->library->destroy(own->products);
  (void)cudaFree(own->workspace);
  own->products = own->workspace = NULL;
}

static void close_beside(CudaDevice *own) {
  if (own->beside) (void)cudaStreamDestroy(own->beside);
  if (own->fork) (void)cudaEventDestroy(own->fork);
  if (own->joint) (void)cudaEventDestroy(own->joint);
  own->beside = NULL;
  own->fork = own->joint = NULL;
}

/* What is given back belongs to a device, too: the thread that does so may have chosen another one. Nothing is left to be done where that
 * fails. */
static void choose_to_release(const RpinnDevice *device) {
  (void)cudaSetDevice(((const CudaDevice *)device)->index);
}

static void close_device(RpinnDevice *device) {
  CudaDevice *own = (CudaDevice *)device;
  choose_to_release(device);
  close_products(own);
  if (own->stream) (void)cudaStreamDestroy(own->stream); /* nothing is left to be done where it fails */
  close_beside(own);
  free(own);
}

static RpinnStatus allocate(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory) {
  RPINN_TRY(choose(context, device));
  cudaError_t error = cudaMalloc(memory, bytes);
  device->is_full = error == cudaErrorMemoryAllocation;
  if (device->is_full) (void)cudaGetLastError(); /* or the next launch would be told of it */
  TRY_CUDA(context, error, "making room");
  return RPINN_OK;
}

static void release(RpinnDevice *device, void *memory) {
  choose_to_release(device);
  (void)cudaFree(memory); /* a lost device has told so before */
}

static RpinnStatus allocate_host(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory) {
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
           "making room on the host");
  return RPINN_OK;
}

static void release_host(RpinnDevice *device, void *memory) {
  choose_to_release(device);
  (void)cudaFreeHost(memory);
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

/* Where both have something to start, the stream that others wait for comes first. */
static cudaError_t open_stream(cudaStream_t *stream, bool is_beside) {
  int least = 0, greatest = 0;
  cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
  if (error != cudaSuccess) return error;
  return cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, is_beside ? least : greatest);
}

static cudaError_t try_beside(CudaDevice *own) {
  cudaError_t error = cudaEventCreateWithFlags(&own->fork, cudaEventDisableTiming);
  if (error == cudaSuccess) error = cudaEventCreateWithFlags(&own->joint, cudaEventDisableTiming);
  return error == cudaSuccess ? open_stream(&own->beside, true) : error;
}

/* Behind what was launched so far. */
static RpinnStatus fork_beside(RpinnContext *context, CudaDevice *own) {
  if (!own->beside) {
    cudaError_t error = try_beside(own);
    if (error != cudaSuccess) close_beside(own); /* all of it or nothing */
    TRY_CUDA(context, error, "getting a stream");
  }
  TRY_CUDA(context, cudaEventRecord(own->fork, own->stream), "branching");
  TRY_CUDA(context, cudaStreamWaitEvent(own->beside, own->fork, 0), "branching");
  return RPINN_OK;
}

/* A launch on a stream of this device. */
static RpinnStatus prepare(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                           RpinnLaunch *own) {
  CudaDevice *cuda = (CudaDevice *)device;
  *own = *launch;
  RPINN_TRY(choose(context, device));
  if (launch->is_beside) RPINN_TRY(fork_beside(context, cuda));
  own->stream = launch->is_beside ? cuda->beside : cuda->stream;
  return RPINN_OK;
}

/* One that was made. */
static RpinnStatus finish(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                          const char *what) {
  return launch->is_ahead || launch->is_beside ? RPINN_OK : wait(context, device, what);
}

static RpinnStatus join(RpinnContext *context, RpinnDevice *device) {
  CudaDevice *own = (CudaDevice *)device;
  if (!own->beside) return RPINN_OK;
  RPINN_TRY(choose(context, device));
  TRY_CUDA(context, cudaEventRecord(own->joint, own->beside), "joining branches");
  TRY_CUDA(context, cudaStreamWaitEvent(own->stream, own->joint, 0), "joining branches");
  return RPINN_OK;
}

static RpinnStatus run_members(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  RpinnLaunch own;
  RPINN_TRY(prepare(context, device, launch, &own));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_members(&own, work, call), "starting a kernel");
  return finish(context, device, &own, "computing");
}

static RpinnStatus run_fused(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                             const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                             const RpinnDeviceCall *call) {
  RpinnLaunch own;
  RPINN_TRY(prepare(context, device, launch, &own));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_fused(&own, work, fused, call), "starting a kernel");
  return finish(context, device, &own, "computing");
}

static RpinnStatus run_chains(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                              const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                              const RpinnDeviceCall *call, const RpinnDeviceChains *chains) {
  RpinnLaunch own;
  RPINN_TRY(prepare(context, device, launch, &own));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_chains(&own, work, fused, call, chains), "starting a kernel");
  return wait(context, device, "moving chains");
}

static RpinnStatus run_product(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceProduct *product) {
  RpinnLaunch own;
  RPINN_TRY(prepare(context, device, launch, &own));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_product(&own, work, product), "starting a product");
  return finish(context, device, &own, "computing a product");
}

static RpinnStatus run_step(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                            const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  RpinnLaunch own;
  RPINN_TRY(prepare(context, device, launch, &own));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_step(&own, work, step), "starting a step");
  return finish(context, device, &own, "computing a step");
}

static RpinnStatus run_particles(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                                 const RpinnDeviceParticles *particles) {
  RpinnLaunch own;
  RPINN_TRY(prepare(context, device, launch, &own));
  TRY_CUDA(context, (cudaError_t)rpinn_cuda_run_particles(&own, particles), "starting to move particles");
  return finish(context, device, &own, "moving particles");
}

static RpinnStatus check_library(RpinnContext *context, CudaDevice *own, int status, const char *what) {
  if (status == 0) return RPINN_OK;
  own->base.is_full = status == RPINN_PRODUCTS_LACK_MEMORY;
  if (own->base.is_full) (void)cudaGetLastError(); /* as for memory of one's own */
  return rpinn_fail(context, RPINN_ERROR_DEVICE, "backend cuda: cuBLAS failed while %s: %s", what,
                    own->library->status_text(status));
}

static RpinnStatus try_products(RpinnContext *context, CudaDevice *own) {
  RPINN_TRY(allocate(context, &own->base, PRODUCT_WORKSPACE, &own->workspace));
  int status = own->library->create(&own->products);
  if (status != 0) own->products = NULL; /* whatever it has left there */
  RPINN_TRY(check_library(context, own, status, "being opened"));
  RPINN_TRY(
      check_library(context, own, own->library->set_stream(own->products, own->stream), "taking a stream"));
  return check_library(context, own,
                       own->library->set_workspace(own->products, own->workspace, PRODUCT_WORKSPACE),
                       "taking memory");
}

/* All of it or nothing, so that the next call may try again. */
static RpinnStatus open_products(RpinnContext *context, CudaDevice *own) {
  if (own->products) return RPINN_OK;
  RpinnStatus status = try_products(context, own);
  if (status != RPINN_OK) close_products(own);
  return status;
}

static RpinnStatus multiply(RpinnContext *context, RpinnDevice *device, const RpinnDeviceMultiply *product) {
  CudaDevice *own = (CudaDevice *)device;
  RPINN_TRY(choose(context, device));
  RPINN_TRY(open_products(context, own));
  RPINN_TRY(check_library(context, own, rpinn_product_library_multiply(own->library, own->products, product),
                          "starting a product"));
  return product->is_ahead ? RPINN_OK : wait(context, device, "computing a product");
}

/* The best of a few launches: the first one finds the GPU asleep. */
static RpinnStatus measure_launches(RpinnContext *context, CudaDevice *own, RpinnDevicePeak peak,
                                    void *memory, double *rate) {
  enum { LAUNCHES = 6 };
  *rate = 0;
  for (int k = 0; k < LAUNCHES; k++) {
    double operations, begun = rpinn_steady_seconds();
    TRY_CUDA(context,
             (cudaError_t)rpinn_cuda_run_peak(own->stream, peak,
                                              PEAK_BLOCKS * (int)own->base.num_multiprocessors,
                                              own->is_hopper, memory, &operations),
             "starting a loop");
    RPINN_TRY(wait(context, &own->base, "looping"));
    double found = operations / (rpinn_steady_seconds() - begun);
    if (found > *rate) *rate = found;
  }
  return RPINN_OK;
}

static RpinnStatus measure_peak(RpinnContext *context, RpinnDevice *device, RpinnDevicePeak peak,
                                double *rate) {
  void *memory = NULL;
  RPINN_TRY(
      allocate(context, device, PEAK_BLOCKS * device->num_multiprocessors * 256 * sizeof(double), &memory));
  RpinnStatus status = measure_launches(context, (CudaDevice *)device, peak, memory, rate);
  release(device, memory);
  return status;
}

static const RpinnDeviceOperations cuda_operations = {.close = close_device,
                                                      .allocate = allocate,
                                                      .release = release,
                                                      .allocate_host = allocate_host,
                                                      .release_host = release_host,
                                                      .write = write,
                                                      .read = read,
                                                      .clear = clear,
                                                      .run_members = run_members,
                                                      .run_fused = run_fused,
                                                      .run_chains = run_chains,
                                                      .run_product = run_product,
                                                      .run_step = run_step,
                                                      .run_particles = run_particles,
                                                      .join = join,
                                                      .multiply = multiply,
                                                      .measure_peak = measure_peak};

/* The GPUs of this machine that compute alike. */
typedef struct Devices {
  int count, indices[MOST_DEVICES];
  struct cudaDeviceProp properties; /* of each */
} Devices;

static bool are_alike(const struct cudaDeviceProp *a, const struct cudaDeviceProp *b) {
  return a->major == b->major && a->minor == b->minor && a->multiProcessorCount == b->multiProcessorCount &&
         a->totalGlobalMem == b->totalGlobalMem && a->sharedMemPerBlockOptin == b->sharedMemPerBlockOptin;
}

/* The first one that is new enough, and all that are like it: a member has the same bits on each of them. */
static RpinnStatus find_devices(RpinnContext *context, Devices *devices) {
  int count = 0;
  devices->count = 0;
  TRY_CUDA(context, cudaGetDeviceCount(&count), "being counted");
  for (int device = 0; device < count && devices->count < MOST_DEVICES; device++) {
    struct cudaDeviceProp own;
    TRY_CUDA(context, cudaGetDeviceProperties(&own, device), "being described");
    if (own.major < 8 || (devices->count && !are_alike(&own, &devices->properties))) continue;
    if (!devices->count) devices->properties = own;
    devices->indices[devices->count++] = device;
  }
  if (devices->count) return RPINN_OK;
  return fail(context, count ? cudaErrorNoKernelImageForDevice : cudaErrorNoDevice, "being chosen");
}

/* Kernels are counted, for others sum in another order. Products by another cuBLAS or without it, and of batches of another size, which the size of the GPU decides, have other bits. */
static void append_identity(RpinnText *identity, const struct cudaDeviceProp *properties) {
  const RpinnProductLibrary *library = rpinn_product_library();
  rpinn_text_append(identity,
                    "kernels 5, compute capability %d.%d, %d multiprocessors, %zu GiB, CUDA %d.%d, ",
                    properties->major, properties->minor, properties->multiProcessorCount,
                    properties->totalGlobalMem >> 30, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  if (library)
    rpinn_text_append(identity, "cuBLAS %d.%d.%d", library->version / 10000, library->version / 100 % 100,
                      library->version % 100);
  else
    rpinn_text_append(identity, "no cuBLAS");
}

RpinnStatus rpinn_cuda_device_find(RpinnContext *context, RpinnText *description, RpinnText *identity) {
  Devices devices;
  const struct cudaDeviceProp *properties = &devices.properties;
  RPINN_TRY(find_devices(context, &devices));
  if (description && devices.count > 1) rpinn_text_append(description, "%d times ", devices.count);
  if (description)
    rpinn_text_append(description, "%s, compute capability %d.%d, %d multiprocessors, %zu GiB",
                      properties->name, properties->major, properties->minor, properties->multiProcessorCount,
                      properties->totalGlobalMem >> 30);
  if (identity) append_identity(identity, properties);
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_device_open(RpinnContext *context, RpinnDevice **device) {
  static _Atomic unsigned opened; /* one after the other, so that threads share them evenly */
  Devices devices;
  const struct cudaDeviceProp *properties = &devices.properties;
  RPINN_TRY(find_devices(context, &devices));
  CudaDevice *own = calloc(1, sizeof *own);
  if (!own) return rpinn_fail_memory(context);
  own->base = (RpinnDevice){.operations = &cuda_operations,
                            .num_multiprocessors = (size_t)properties->multiProcessorCount,
                            .shared_per_block = properties->sharedMemPerBlockOptin,
                            .shared_per_multiprocessor = properties->sharedMemPerMultiprocessor,
                            .memory = properties->totalGlobalMem,
                            .has_others = devices.count > 1};
  own->index = devices.indices[opened++ % (unsigned)devices.count];
  own->is_hopper = properties->major >= 9;
  own->library = rpinn_product_library();
  own->base.has_products = own->library != NULL;
  RpinnStatus status = choose(context, &own->base);
  cudaError_t error = cudaSuccess;
  if (status == RPINN_OK) error = open_stream(&own->stream, false);
  if (error != cudaSuccess) status = fail(context, error, "getting a stream");
  *device = &own->base;
  if (status != RPINN_OK) close_device(&own->base);
  return status;
}
