/* cmocka with the headers it wants, and comparisons of numbers with a printed reason. */
#ifndef RPINN_TESTS_CHECK_H
#define RPINN_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* |found - expected| <= tolerance * max(1, |expected|) */
static inline void check_close_at(double found, double expected, double tolerance, const char *what,
                                  const char *file, int line) {
  double scale = fabs(expected) > 1 ? fabs(expected) : 1;
  if (!(fabs(found - expected) <= tolerance * scale)) {
    print_error("%s:%d: %s is %.17g, expected %.17g within %g\n", file, line, what, found, expected,
                tolerance * scale);
    fail();
  }
}
#define check_close(found, expected, tolerance)                                                              \
  check_close_at(found, expected, tolerance, #found, __FILE__, __LINE__)

#define check_true(condition, ...)                                                                           \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      print_error("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
      print_error(__VA_ARGS__);                                                                              \
      print_error("\n");                                                                                     \
      fail();                                                                                                \
    }                                                                                                        \
  } while (0)

#endif
