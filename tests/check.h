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

typedef struct CheckPlace {
  const char *what, *file;
  int line;
} CheckPlace;

/* |found - expected| <= tolerance */
static inline void check_close_at(CheckPlace place, double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance)) {
    print_error("%s:%d: %s is %.17g, expected %.17g within %g\n", place.file, place.line, place.what, found,
                expected, tolerance);
    fail();
  }
}
#define check_close(found, expected, tolerance)                                                              \
  check_close_at((CheckPlace){#found, __FILE__, __LINE__}, found, expected, tolerance)

/* |found - expected| <= tolerance |expected| */
static inline void check_relative_at(CheckPlace place, double found, double expected, double tolerance) {
  check_close_at(place, found, expected, tolerance * fabs(expected));
}
#define check_relative(found, expected, tolerance)                                                           \
  check_relative_at((CheckPlace){#found, __FILE__, __LINE__}, found, expected, tolerance)

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
