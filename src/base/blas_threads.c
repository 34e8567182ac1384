#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "blas_threads.h"

#include <cblas.h>
#include <pthread.h>
#include <sys/mman.h>

#include "context.h"

static void decide(void) {
  openblas_set_num_threads(1);
}

void rpinn_blas_use_one_thread(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, decide);
}

bool rpinn_blas_is_shareable(void) {
  return openblas_get_parallel() != OPENBLAS_SEQUENTIAL;
}

const char *rpinn_blas_core_name(void) {
  return openblas_get_corename();
}

/* ---- memory ---- */

/* OpenBLAS maps so many bytes for every product that is under way (BUFFER_SIZE on x86-64) and keeps them for the
 * next one. It has room for 50 or more of these buffers. */
static const size_t buffer_size = (size_t)128 << 20;
enum { MOST_BUFFERS = 48 };

/* Its own names, which no header declares: where a build hides them, memory is only asked for, not taken. */
extern void *blas_memory_alloc(int unused) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

static bool is_there(size_t size) {
  void *probe = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return probe != MAP_FAILED && munmap(probe, size) == 0;
}

static void take_buffers(size_t count) {
  void *buffers[MOST_BUFFERS];
  if (!blas_memory_alloc || !blas_memory_free) return;
  for (size_t k = 0; k < count; k++) buffers[k] = blas_memory_alloc(0);
  for (size_t k = 0; k < count; k++) blas_memory_free(buffers[k]);
}

RpinnStatus rpinn_blas_reserve(RpinnContext *context, size_t num_threads) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static size_t reserved;
  size_t wanted = num_threads < MOST_BUFFERS ? num_threads : MOST_BUFFERS;
  pthread_mutex_lock(&mutex);
  bool is_enough = wanted <= reserved || is_there((wanted - reserved) * buffer_size);
  if (is_enough && wanted > reserved) {
    take_buffers(wanted);
    reserved = wanted;
  }
  pthread_mutex_unlock(&mutex);
  if (is_enough) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_MEMORY, "out of memory: OpenBLAS works in %zu MiB per thread",
                    buffer_size >> 20);
}
