/* Buffers of the device, and copies between a caller's vectors and them. */
#include <stdlib.h>
#include <string.h>

#include "cuda_engine.h"

enum { MOST_STAGED = 1 << 26 }; /* bytes of numbers that come back together */

RpinnStatus rpinn_cuda_reserve(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                               size_t bytes, void **memory) {
  RpinnGrowingMemory *own = &engine->buffers[buffer];
  if (!own->memory || own->bytes < bytes) {
    engine->device->operations->release(engine->device, own->memory);
    *own = (RpinnGrowingMemory){0};
    RPINN_TRY(engine->device->operations->allocate(context, engine->device, bytes + 16, &own->memory));
    own->bytes = bytes;
  }
  *memory = own->memory;
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_stage(RpinnContext *context, RpinnCudaEngine *engine, size_t bytes, void **memory) {
  RpinnGrowingMemory *own = &engine->staging;
  if (!own->memory || own->bytes < bytes) {
    engine->device->operations->release_host(engine->device, own->memory);
    *own = (RpinnGrowingMemory){0};
    RPINN_TRY(engine->device->operations->allocate_host(context, engine->device, bytes + 16, &own->memory));
    own->bytes = bytes;
  }
  *memory = own->memory;
  return RPINN_OK;
}

void rpinn_cuda_release_buffers(RpinnCudaEngine *engine) {
  for (size_t i = 0; i < RPINN_NUM_DEVICE_BUFFERS; i++) {
    engine->device->operations->release(engine->device, engine->buffers[i].memory);
    engine->buffers[i] = (RpinnGrowingMemory){0};
  }
}

void rpinn_cuda_release_all(RpinnCudaEngine *engine) {
  rpinn_cuda_release_buffers(engine);
  engine->device->operations->release(engine->device, engine->model_scale);
  engine->device->operations->release_host(engine->device, engine->staging.memory);
}

RpinnStatus rpinn_cuda_put_vectors(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, const double *const *vectors, const double *rest,
                                   void **memory) {
  size_t bytes = engine->layout.size * engine->real_size;
  void *staged;
  RPINN_TRY(rpinn_cuda_stage(context, engine, count * bytes, &staged));
  for (size_t k = 0; k < count; k++)
    rpinn_layout_pack(&engine->layout, engine->is_double, vectors[k], rest,
                      (unsigned char *)staged + k * bytes);
  RPINN_TRY(rpinn_cuda_reserve(context, engine, buffer, count * bytes, memory));
  return engine->device->operations->write(context, engine->device, *memory, staged, count * bytes);
}

RpinnStatus rpinn_cuda_get_vectors(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, double *const *vectors) {
  size_t bytes = engine->layout.size * engine->real_size;
  void *staged;
  RPINN_TRY(rpinn_cuda_stage(context, engine, count * bytes, &staged));
  RPINN_TRY(engine->device->operations->read(context, engine->device, staged, engine->buffers[buffer].memory,
                                             count * bytes));
  for (size_t k = 0; k < count; k++)
    if (vectors[k])
      rpinn_layout_unpack(&engine->layout, engine->is_double, (const unsigned char *)staged + k * bytes,
                          vectors[k]);
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_put_numbers(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, size_t size, const double *const *numbers, void **memory) {
  size_t bytes = size * sizeof(double);
  void *staged;
  RPINN_TRY(rpinn_cuda_stage(context, engine, count * bytes, &staged));
  for (size_t k = 0; k < count; k++)
    if (numbers[k])
      memcpy((unsigned char *)staged + k * bytes, numbers[k], bytes);
    else
      memset((unsigned char *)staged + k * bytes, 0, bytes);
  RPINN_TRY(rpinn_cuda_reserve(context, engine, buffer, count * bytes, memory));
  return engine->device->operations->write(context, engine->device, *memory, staged, count * bytes);
}

RpinnStatus rpinn_cuda_get_numbers(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, size_t size, double *const *numbers) {
  const unsigned char *memory = engine->buffers[buffer].memory;
  size_t bytes = size * sizeof(double), most = MOST_STAGED / (bytes + 1);
  void *staged;
  for (size_t first = 0, together; first < count; first += together) {
    together = count - first < most ? count - first : most > 0 ? most : 1;
    if (together == 1)
      staged = numbers[first];
    else
      RPINN_TRY(rpinn_cuda_stage(context, engine, together * bytes, &staged));
    RPINN_TRY(engine->device->operations->read(context, engine->device, staged, memory + first * bytes,
                                               together * bytes));
    for (size_t k = 0; together > 1 && k < together; k++)
      memcpy(numbers[first + k], (const unsigned char *)staged + k * bytes, bytes);
  }
  return RPINN_OK;
}
