#include "emulated_device.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cblas.h>

#include "cuda_engine.h"

void emulated_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                          const RpinnDeviceCall *call);
void emulated_run_fused(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                        const RpinnDeviceCall *call);
void emulated_run_chains(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                         const RpinnDeviceCall *call, const RpinnDeviceChains *chains);
void emulated_run_product(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                          const RpinnDeviceProduct *product);
void emulated_run_step(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step);
void emulated_run_particles(const RpinnLaunch *launch, const RpinnDeviceParticles *particles);

typedef struct EmulatedDevice {
  RpinnDevice base;
  bool is_lost;
} EmulatedDevice;

/* Several threads may have devices. Calls are counted down: what is to happen does at the one that finds 0. */
static size_t limit, most_bytes = SIZE_MAX;
static _Atomic size_t held_bytes, most_held, calls_to_failure = SIZE_MAX, calls_to_hold = SIZE_MAX;
static _Atomic size_t num_written, num_read, num_products, num_blocks, num_fused_blocks;
static size_t num_multiprocessors = 132;
static _Atomic bool has_failed, is_held;
static bool lacks_products, is_absent;

void emulated_device_limit(size_t shared_per_block) {
  limit = shared_per_block;
}

void emulated_device_fail_at(size_t call) {
  calls_to_failure = call;
  has_failed = false;
}

bool emulated_device_has_failed(void) {
  return has_failed;
}

void emulated_device_hold_at(size_t call) {
  calls_to_hold = call;
  is_held = false;
}

bool emulated_device_is_held(void) {
  return is_held;
}

void emulated_device_have_multiprocessors(size_t count) {
  num_multiprocessors = count;
}

size_t emulated_device_num_blocks(void) {
  return num_blocks;
}

size_t emulated_device_num_fused_blocks(void) {
  return num_fused_blocks;
}

size_t emulated_device_num_products(void) {
  return num_products;
}

void emulated_device_lack_products(bool lacks) {
  lacks_products = lacks;
}

void emulated_device_be_absent(bool absent) {
  is_absent = absent;
}

void emulated_device_have_memory(size_t bytes) {
  most_bytes = bytes;
  most_held = held_bytes;
}

size_t emulated_device_most_held(void) {
  return most_held;
}

size_t emulated_device_num_written(void) {
  return num_written;
}

size_t emulated_device_num_read(void) {
  return num_read;
}

/* Is this the call that they were counted down to? SIZE_MAX: there is none. */
static bool is_reached(_Atomic size_t *calls) {
  size_t left = *calls;
  while (left && left != SIZE_MAX && !atomic_compare_exchange_weak(calls, &left, left - 1)) {
  }
  return left == 0;
}

static void wait_while_held(void) {
  while (is_reached(&calls_to_hold)) {
    is_held = true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

/* Counts a call, and fails the one that is to. A device that is lost stays so. */
static RpinnStatus count(RpinnContext *context, RpinnDevice *device) {
  EmulatedDevice *own = (EmulatedDevice *)device;
  wait_while_held();
  if (is_reached(&calls_to_failure)) {
    calls_to_failure = SIZE_MAX;
    own->is_lost = true;
    has_failed = true;
  }
  return own->is_lost ? rpinn_fail(context, RPINN_ERROR_DEVICE, "the emulated device is lost") : RPINN_OK;
}

static void close_device(RpinnDevice *device) {
  free(device);
}

static RpinnStatus allocate(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory) {
  size_t whole = (bytes + 63) / 64 * 64;
  RPINN_TRY(count(context, device));
  device->is_full = most_bytes != SIZE_MAX && held_bytes + whole > most_bytes;
  if (device->is_full) return rpinn_fail(context, RPINN_ERROR_DEVICE, "the emulated device is out of memory");
  size_t *block = aligned_alloc(64, whole + 64);
  if (!block) return rpinn_fail_memory(context);
  *block = whole;
  held_bytes += whole;
  if (held_bytes > most_held) most_held = held_bytes;
  *memory = (char *)block + 64;
  memset(*memory, 0xff, whole); /* not a number: what is read must have been written */
  return RPINN_OK;
}

static void release(RpinnDevice *device, void *memory) {
  (void)device;
  if (!memory) return;
  void *block = (char *)memory - 64;
  held_bytes -= *(size_t *)block;
  free(block);
}

static RpinnStatus allocate_host(RpinnContext *context, RpinnDevice *device, size_t bytes, void **memory) {
  RPINN_TRY(count(context, device));
  *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *memory ? RPINN_OK : rpinn_fail_memory(context);
}

static void release_host(RpinnDevice *device, void *memory) {
  (void)device;
  free(memory);
}

static RpinnStatus copy(RpinnContext *context, RpinnDevice *device, void *to, const void *from,
                        size_t bytes) {
  RPINN_TRY(count(context, device));
  if (bytes) memcpy(to, from, bytes);
  return RPINN_OK;
}

static RpinnStatus write(RpinnContext *context, RpinnDevice *device, void *to, const void *from,
                         size_t bytes) {
  num_written += bytes;
  return copy(context, device, to, from, bytes);
}

static RpinnStatus read(RpinnContext *context, RpinnDevice *device, void *to, const void *from,
                        size_t bytes) {
  num_read += bytes;
  return copy(context, device, to, from, bytes);
}

static RpinnStatus clear(RpinnContext *context, RpinnDevice *device, void *memory, size_t bytes) {
  RPINN_TRY(count(context, device));
  memset(memory, 0, bytes);
  return RPINN_OK;
}

static RpinnStatus run_members(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  RPINN_TRY(count(context, device));
  num_blocks += launch->num_members * (size_t)call->num_parts;
  emulated_run_members(launch, work, call);
  return RPINN_OK;
}

static RpinnStatus run_fused(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                             const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                             const RpinnDeviceCall *call) {
  RPINN_TRY(count(context, device));
  num_fused_blocks += launch->num_members * (size_t)call->num_shares;
  emulated_run_fused(launch, work, fused, call);
  return RPINN_OK;
}

static RpinnStatus run_chains(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                              const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                              const RpinnDeviceCall *call, const RpinnDeviceChains *chains) {
  RPINN_TRY(count(context, device));
  emulated_run_chains(launch, work, fused, call, chains);
  return RPINN_OK;
}

static RpinnStatus run_product(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                               const RpinnDeviceWork *work, const RpinnDeviceProduct *product) {
  RPINN_TRY(count(context, device));
  emulated_run_product(launch, work, product);
  return RPINN_OK;
}

static RpinnStatus run_step(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                            const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  RPINN_TRY(count(context, device));
  emulated_run_step(launch, work, step);
  return RPINN_OK;
}

static RpinnStatus run_particles(RpinnContext *context, RpinnDevice *device, const RpinnLaunch *launch,
                                 const RpinnDeviceParticles *particles) {
  RPINN_TRY(count(context, device));
  emulated_run_particles(launch, particles);
  return RPINN_OK;
}

/* Launches have ended when they return. */
static RpinnStatus join(RpinnContext *context, RpinnDevice *device) {
  return count(context, device);
}

/* Another library in the place of cuBLAS. */
static RpinnStatus multiply(RpinnContext *context, RpinnDevice *device, const RpinnDeviceMultiply *product) {
  int rows = (int)product->rows, columns = (int)product->columns, depth = (int)product->depth;
  CBLAS_TRANSPOSE b_form = product->is_plain ? CblasNoTrans : CblasTrans;
  RPINN_TRY(count(context, device));
  num_products++;
  for (int64_t k = 0; k < product->batch; k++)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, b_form, rows, columns, depth, 1,
                product->a + k * product->a_step, (int)product->a_stride, product->b + k * product->b_step,
                (int)product->b_stride, 0, product->c + k * product->c_step, (int)product->c_stride);
  return RPINN_OK;
}

static RpinnStatus measure_peak(RpinnContext *context, RpinnDevice *device, RpinnDevicePeak peak,
                                double *rate) {
  RPINN_TRY(count(context, device));
  *rate = 1e9 * (1 + (double)peak);
  return RPINN_OK;
}

static const RpinnDeviceOperations emulated_operations = {.close = close_device,
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

static RpinnStatus describe(RpinnContext *context, RpinnText *line) {
  if (is_absent)
    return rpinn_fail(context, RPINN_ERROR_DEVICE, "backend cuda: the emulated device is absent");
  rpinn_text_append(line, "an emulated device");
  return RPINN_OK;
}

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  enum { KIB = 1024 };
  *backend = NULL;
  if (is_absent) return describe(context, NULL);
  EmulatedDevice *device = calloc(1, sizeof *device);
  if (!device) return rpinn_fail_memory(context);
  device->base = (RpinnDevice){.operations = &emulated_operations,
                               .num_multiprocessors = num_multiprocessors,
                               .shared_per_block = limit ? limit : 227 * KIB,
                               .shared_per_multiprocessor = limit ? limit + KIB : 228 * KIB,
                               .memory = (size_t)1 << 30,
                               .most_members = EMULATED_GROUP,
                               .has_products = !lacks_products};
  return rpinn_cuda_engine_create(context, &device->base, model, precision, backend);
}

static RpinnStatus identify(RpinnContext *context, RpinnText *line) {
  (void)context;
  rpinn_text_append(line, "emulated");
  return RPINN_OK;
}

const RpinnBackendOperations emulated_cuda_backend = {
    .worth_products = EMULATED_WORTH,
    .describe = describe,
    .identify = identify,
    .usual_precision = RPINN_PRECISION_FLOAT,
    .precisions = 1u << RPINN_PRECISION_FLOAT | 1u << RPINN_PRECISION_DOUBLE | 1u << RPINN_PRECISION_TF32,
    .create = create};
