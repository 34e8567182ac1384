#include "number_text.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"

static locale_t c_locale;

static void make_c_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Until uselocale(what this returned) the calling thread, and no other, is in the locale "C". */
static locale_t enter_c_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_c_locale);
  return uselocale(c_locale);
}

int rpinn_format_list(char *text, size_t size, const char *format, va_list arguments) {
  locale_t before = enter_c_locale();
  int length = vsnprintf(text, size, format, arguments);
  uselocale(before);
  return length;
}

int rpinn_format(char *text, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = rpinn_format_list(text, size, format, arguments);
  va_end(arguments);
  return length;
}

double rpinn_number_read(const char *text, char **end) {
  locale_t before = enter_c_locale();
  double value = strtod(text, end);
  uselocale(before);
  return value;
}

void rpinn_number_format(double value, char text[RPINN_NUMBER_TEXT]) {
  for (int digits = 15; digits <= 17; digits++) {
    rpinn_format(text, RPINN_NUMBER_TEXT, "%.*g", digits, value);
    if (digits == 17 || !(rpinn_number_read(text, NULL) != value)) return;
  }
}

bool rpinn_number_parse(const char *text, double *value) {
  /* strtod also takes leading blanks, hexadecimal and "nan(...)": none of these belong in our files. */
  if (!*text || rpinn_is_blank(*text) || strpbrk(text, "xX(")) return false;
  char *end;
  *value = rpinn_number_read(text, &end);
  return *end == '\0' && !isnan(*value);
}
