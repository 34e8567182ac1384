/* Allocations that are counted, and one that finds no memory: malloc and its kin as the linker puts them in place of the
 * real ones, for tests with LINKS ${counted_allocations}. */
#ifndef RPINN_TESTS_COUNTED_ALLOCATIONS_H
#define RPINN_TESTS_COUNTED_ALLOCATIONS_H

#include <stddef.h>

static size_t num_allocations, fails_at; /* the allocation of this number finds no memory; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return ++num_allocations == fails_at ? NULL : __real_aligned_alloc(alignment, size);
}

#endif
