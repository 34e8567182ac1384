#include "emulated_device.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_engine.h"

void emulated_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                          const RpinnDeviceCall *call);
void emulated_run_product(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                          const RpinnDeviceProduct *product);

static size_t limit, calls_left = SIZE_MAX;

void emulated_device_limit(size_t shared_per_block) {
  limit = shared_per_block;
}

void emulated_device_fail_at(size_t call) {
  calls_left = call;
}

/* Counts a call, and fails the one that is to. */
static RpinnStatus count(RpinnContext *context) {
  if (calls_left == SIZE_MAX || calls_left--) return RPINN_OK;
  calls_left = SIZE_MAX;
  return rpinn_fail(context, RPINN_ERROR_DEVICE, "the emulated device is lost");
}

static void close_device(RpinnDevice *device) {
  free(device);
}

static RpinnStatus allocate(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory) {
  (void)device;
  RPINN_TRY(count(context));
  *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!*memory) return rpinn_fail_memory(context);
  memset(*memory, 0xff, (bytes + 63) / 64 * 64); /* not a number: what is read must have been written */
  return RPINN_OK;
}

static void release(RpinnDevice *device, void *memory) {
  (void)device;
  free(memory);
}

static RpinnStatus copy(RpinnContext *context, RpinnDevice *device, void *to, const void *from,
                        size_t bytes) {
  (void)device;
  RPINN_TRY(count(context));
  if (bytes) memcpy(to, from, bytes);
  return RPINN_OK;
}

static RpinnStatus clear(RpinnContext *context, RpinnDevice *device, void *memory, size_t bytes) {
  (void)device;
  RPINN_TRY(count(context));
  memset(memory, 0, bytes);
  return RPINN_OK;
}

static RpinnStatus run_members(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  (void)device;
  RPINN_TRY(count(context));
  emulated_run_members(launch, work, call);
  return RPINN_OK;
}

static RpinnStatus run_product(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceProduct *product) {
  (void)device;
  RPINN_TRY(count(context));
  emulated_run_product(launch, work, product);
  return RPINN_OK;
}

static const RpinnDeviceOperations emulated_operations = {.close = close_device,
                                                          .allocate = allocate,
                                                          .release = release,
                                                          .write = copy,
                                                          .read = copy,
                                                          .clear = clear,
                                                          .run_members = run_members,
                                                          .run_product = run_product};

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  enum { KIB = 1024 };
  RpinnDevice *device = calloc(1, sizeof *device);
  *backend = NULL;
  if (!device) return rpinn_fail_memory(context);
  *device = (RpinnDevice){.operations = &emulated_operations,
                          .num_multiprocessors = 132,
                          .shared_per_block = limit ? limit : 227 * KIB,
                          .shared_per_multiprocessor = limit ? limit + KIB : 228 * KIB,
                          .memory = (size_t)1 << 30,
                          .most_members = EMULATED_GROUP};
  return rpinn_cuda_engine_create(context, device, model, precision, backend);
}

const RpinnBackendOperations emulated_cuda_backend = {.usual_precision = RPINN_PRECISION_FLOAT,
                                                      .precisions = 1u << RPINN_PRECISION_FLOAT |
                                                                    1u << RPINN_PRECISION_DOUBLE,
                                                      .create = create};
