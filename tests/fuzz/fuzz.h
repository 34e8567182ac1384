/* What the fuzz programs share: an input, and a way to say that an invariant broke. */
#ifndef RPINN_TESTS_FUZZ_H
#define RPINN_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_require(condition)                                                                              \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                                \
      abort();                                                                                               \
    }                                                                                                        \
  } while (0)

/* A refused text comes with a place inside it and a sentence. Memory is not an excuse at these sizes. */
static inline void fuzz_require_refusal(const RpinnContext *context, RpinnStatus status, size_t size) {
  const RpinnError *error = rpinn_context_error(context);
  fuzz_require(status == RPINN_ERROR_INPUT && error->status == status);
  fuzz_require(error->message[0] && error->file[0]);
  fuzz_require(error->line >= 1 && error->line <= size + 1);
  fuzz_require(error->column >= 1 && error->column <= size + 1);
}

/* The offset of a place in a text whose lines end with '\n'; a byte order mark takes no column. */
static inline size_t fuzz_offset(const char *bytes, size_t size, RpinnPlace place) {
  size_t offset = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  for (size_t line = 1; line < place.line; line++) {
    const char *newline = memchr(bytes + offset, '\n', size - offset);
    fuzz_require(newline);
    offset = (size_t)(newline - bytes) + 1;
  }
  fuzz_require(place.column >= 1 && place.column - 1 <= size - offset);
  return offset + place.column - 1;
}

#endif
