/* Memory of the host that chains have their states in: the kernel writes those of complete transitions where they belong, while other
 * chains still move, and nothing is left to be copied. Page-locked memory takes long to get, so it comes in blocks, each as large as all before it
 * together. */
#include <stdlib.h>
#include <string.h>

#include "cuda_engine.h"

enum {
  FIRST_BLOCK = 16, /* vectors */
  LINE = 16         /* numbers, 128 bytes: what a warp writes at once */
};

static size_t length_of(const RpinnCudaEngine *engine) {
  return (engine->layout.num_parameters + LINE - 1) / LINE * LINE;
}

/* Vectors of a block. */
static size_t size_of(size_t block) {
  return (size_t)FIRST_BLOCK << (block ? block - 1 : 0);
}

static RpinnStatus add_block(RpinnContext *context, RpinnCudaEngine *engine) {
  RpinnCudaLoans *loans = &engine->loans;
  size_t length = length_of(engine), count = size_of(loans->num_blocks);
  if (loans->num_blocks == RPINN_CUDA_MOST_BLOCKS) return rpinn_fail_memory(context);
  double **all = realloc(loans->free, (loans->num_vectors + count) * sizeof(double *));
  if (!all) return rpinn_fail_memory(context);
  loans->free = all;
  double **block = &loans->blocks[loans->num_blocks];
  RPINN_TRY(engine->device->operations->allocate_host(context, engine->device,
                                                      count * length * sizeof **block, (void **)block));
  loans->num_blocks++;
  loans->num_vectors += count;
  for (size_t i = count; i-- > 0;) loans->free[loans->num_free++] = *block + i * length;
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_lend_vector(RpinnContext *context, RpinnBackend *backend, double **vector) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  RpinnCudaLoans *loans = &engine->loans;
  if (!loans->num_free) RPINN_TRY(add_block(context, engine));
  *vector = loans->free[--loans->num_free];
  memset(*vector, 0, length_of(engine) * sizeof **vector);
  return RPINN_OK;
}

void rpinn_cuda_return_vector(RpinnBackend *backend, double *vector) {
  RpinnCudaLoans *loans = &((RpinnCudaEngine *)backend)->loans;
  if (vector) loans->free[loans->num_free++] = vector;
}

bool rpinn_cuda_is_lent(const RpinnCudaEngine *engine, const double *vector) {
  for (size_t i = 0; i < engine->loans.num_blocks; i++) {
    const double *block = engine->loans.blocks[i];
    if (vector >= block && vector < block + size_of(i) * length_of(engine)) return true;
  }
  return false;
}

void rpinn_cuda_release_loans(RpinnCudaEngine *engine) {
  for (size_t i = 0; i < engine->loans.num_blocks; i++)
    engine->device->operations->release_host(engine->device, engine->loans.blocks[i]);
  free(engine->loans.free);
}
