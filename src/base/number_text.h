/* Numbers as text, the one place that writes and reads them. A host program may have set a locale with a comma in
 * its numbers; files, expressions and messages have a point, whatever it is. */
#ifndef RPINN_BASE_NUMBER_TEXT_H
#define RPINN_BASE_NUMBER_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "rpinn/status.h"

/* snprintf and vsnprintf, strtod, all in the locale "C" and safe in threads. */
int rpinn_format(char *text, size_t size, const char *format, ...) RPINN_PRINTF(3, 4);
int rpinn_format_list(char *text, size_t size, const char *format, va_list arguments);
double rpinn_number_read(const char *text, char **end);

enum { RPINN_NUMBER_TEXT = 32 };
/* The shortest of %.15g, %.16g and %.17g that reads back to the same double. */
void rpinn_number_format(double value, char text[RPINN_NUMBER_TEXT]);
/* The whole text as a finite or infinite number; false when it is anything else. */
bool rpinn_number_parse(const char *text, double *value);

#endif
