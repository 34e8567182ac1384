/* An arena: many small objects that live and die together (a problem, a plan). Allocation is a bump of a
 * pointer; everything is freed at once. Memory is zeroed and aligned to 64 bytes where the request is 64
 * bytes or more. */
#ifndef RPINN_BASE_ARENA_H
#define RPINN_BASE_ARENA_H

#include <stddef.h>

typedef struct RpinnArena RpinnArena;

RpinnArena *rpinn_arena_create(void); /* NULL when out of memory */
void rpinn_arena_destroy(RpinnArena *arena);
/* count * size zeroed bytes; NULL when out of memory or when the product overflows. Never NULL for count 0.
 */
void *rpinn_arena_allocate(RpinnArena *arena, size_t count, size_t size);
/* A NUL-terminated copy of length bytes. */
char *rpinn_arena_copy_text(RpinnArena *arena, const char *text, size_t length);

#define RPINN_ARENA_NEW(arena, type, count) ((type *)rpinn_arena_allocate((arena), (count), sizeof(type)))

#endif
