/* Texts that must not change by accident: tests/golden/NAME holds what is expected, to the letter. With
 * RPINN_WRITE_GOLDEN=1 in the environment the files are written anew; read the difference before you keep it. */
#ifndef RPINN_TESTS_GOLDEN_H
#define RPINN_TESTS_GOLDEN_H

#include "check.h"

#include "text.h"

static inline void write_golden(const char *path, const RpinnText *text) {
  FILE *file = fopen(path, "w");
  check_true(file != NULL, "cannot write %s", path);
  assert_int_equal(fwrite(text->bytes, 1, text->length, file), text->length);
  assert_int_equal(fclose(file), 0);
}

static inline void check_golden(const char *name, const RpinnText *text) {
  static char golden[1 << 18];
  char path[1024];
  const char *folder = getenv("RPINN_SOURCE_DIR");
  check_true(folder != NULL, "RPINN_SOURCE_DIR is not set: run the tests with ctest");
  snprintf(path, sizeof path, "%s/tests/golden/%s", folder, name);
  assert_false(text->failed);
  if (getenv("RPINN_WRITE_GOLDEN")) write_golden(path, text);
  FILE *file = fopen(path, "r");
  check_true(file != NULL, "no file %s", path);
  size_t length = fread(golden, 1, sizeof golden - 1, file);
  golden[length] = '\0';
  fclose(file);
  const char *found = text->bytes, *expected = golden;
  for (size_t line = 1; *found || *expected; line++) {
    size_t width = strcspn(found, "\n"), wanted = strcspn(expected, "\n");
    check_true(width == wanted && !strncmp(found, expected, width), "line %zu of %s is\n%.*s\nexpected\n%.*s",
               line, name, (int)width, found, (int)wanted, expected);
    found += width + (found[width] == '\n');
    expected += wanted + (expected[wanted] == '\n');
  }
}

#endif
