/* A chain of blocks that double in size; a request larger than a block gets one of its own. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

typedef struct Block {
  struct Block *next;
  size_t used, size;
  unsigned char *bytes;
} Block;

struct RpinnArena {
  Block *newest;
  size_t next_size;
};

RpinnArena *rpinn_arena_create(void) {
  RpinnArena *arena = calloc(1, sizeof *arena);
  if (arena) arena->next_size = FIRST_BLOCK;
  return arena;
}

void rpinn_arena_destroy(RpinnArena *arena) {
  if (!arena) return;
  for (Block *block = arena->newest; block;) {
    Block *next = block->next;
    free(block->bytes);
    free(block);
    block = next;
  }
  free(arena);
}

static Block *add_block(RpinnArena *arena, size_t need) {
  size_t size = need > arena->next_size ? need : arena->next_size;
  size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  Block *block = calloc(1, sizeof *block);
  unsigned char *bytes = block ? aligned_alloc(CACHE_LINE, size) : NULL;
  if (!bytes) {
    free(block);
    return NULL;
  }
  memset(bytes, 0, size);
  *block = (Block){.next = arena->newest, .size = size, .bytes = bytes};
  arena->newest = block;
  if (arena->next_size < LARGEST_BLOCK) arena->next_size *= 2;
  return block;
}

void *rpinn_arena_allocate(RpinnArena *arena, size_t count, size_t size) {
  if (size && count > (SIZE_MAX - CACHE_LINE) / size) return NULL;
  size_t need = count * size;
  if (need == 0) need = 1;
  size_t alignment = need >= CACHE_LINE ? CACHE_LINE : sizeof(max_align_t);
  Block *block = arena->newest;
  size_t start = block ? (block->used + alignment - 1) / alignment * alignment : 0;
  if (!block || start > block->size || block->size - start < need) {
    block = add_block(arena, need);
    if (!block) return NULL;
    start = 0;
  }
  block->used = start + need;
  return block->bytes + start;
}

char *rpinn_arena_copy_text(RpinnArena *arena, const char *text, size_t length) {
  if (length == SIZE_MAX) return NULL;
  char *copy = rpinn_arena_allocate(arena, length + 1, 1);
  if (copy && length) memcpy(copy, text, length);
  return copy;
}
