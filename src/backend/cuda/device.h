/* A device that runs the kernels: a GPU (cuda_device.c), or in the tests the host itself (tests/emulated_device.c). One is used
 * by one thread at a time; every call has finished when it returns, but for launches and products that are made ahead. */
#ifndef RPINN_BACKEND_CUDA_DEVICE_H
#define RPINN_BACKEND_CUDA_DEVICE_H

#include "context.h"
#include "kernel_launch.h"
#include "text.h"

typedef struct RpinnDevice RpinnDevice;

typedef struct RpinnDeviceOperations {
  void (*close)(RpinnDevice *device);
  RpinnStatus (*allocate)(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory);
  void (*release)(RpinnDevice *device, void *memory); /* accepts NULL */
  /* Memory of the host, at a 64-byte boundary, that copies are fast from and to and that kernels write to under the same address. */
  RpinnStatus (*allocate_host)(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory);
  void (*release_host)(RpinnDevice *device, void *memory); /* accepts NULL */
  RpinnStatus (*write)(RpinnContext *context, RpinnDevice *device, void *to, const void *from, size_t bytes);
  RpinnStatus (*read)(RpinnContext *context, RpinnDevice *device, void *to, const void *from, size_t bytes);
  RpinnStatus (*clear)(RpinnContext *context, RpinnDevice *device, void *memory, size_t bytes);
  RpinnStatus (*run_members)(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                             const RpinnDeviceWork *work, const RpinnDeviceCall *call);
  RpinnStatus (*run_fused)(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                           const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                           const RpinnDeviceCall *call);
  RpinnStatus (*run_chains)(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                            const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                            const RpinnDeviceCall *call, const RpinnDeviceChains *chains);
  RpinnStatus (*run_product)(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                             const RpinnDeviceWork *work, const RpinnDeviceProduct *product);
  RpinnStatus (*run_step)(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                          const RpinnDeviceWork *work, const RpinnDeviceStep *step);
  RpinnStatus (*run_particles)(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceParticles *particles);
  /* What is launched from now on waits for what was launched beside it. */
  RpinnStatus (*join)(RpinnContext *context, RpinnDevice *device);
  /* For devices with a library of products, which are in double. A triple's bits may depend on `batch`, which callers keep the same. */
  RpinnStatus (*multiply)(RpinnContext *context, RpinnDevice *device, const RpinnDeviceMultiply *multiply);
  /* Operations per second, at most. */
  RpinnStatus (*measure_peak)(RpinnContext *context, RpinnDevice *device, RpinnDevicePeak peak, double *rate);
} RpinnDeviceOperations;

struct RpinnDevice {
  const RpinnDeviceOperations *operations;
  size_t num_multiprocessors;
  size_t shared_per_block, shared_per_multiprocessor; /* bytes */
  size_t memory;                                      /* bytes */
  size_t most_members; /* that a group is to have; 0: as many as keep it busy */
  bool has_others;     /* calls go to several devices in turn */
  bool has_products;   /* there is a library for `multiply` */
  bool is_full;        /* the last call that failed wanted more memory than there was */
};

/* A GPU, with a stream of its own; where there are several that compute alike, each call takes the next one. A build without CUDA fails with RPINN_ERROR_UNSUPPORTED, a machine without a
 * GPU that can be used with RPINN_ERROR_DEVICE, both with a sentence. */
RpinnStatus rpinn_cuda_device_open(RpinnContext *context, RpinnDevice **device);
/* Could one be opened? Its name and size as a line, and what bits depend on: its architecture and size and the versions of CUDA and cuBLAS. Either may
 * be NULL. */
RpinnStatus rpinn_cuda_device_find(RpinnContext *context, RpinnText *description, RpinnText *identity);

#endif
