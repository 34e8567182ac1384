/* Kinds of characters in names, numbers and expressions. Those of <ctype.h> know the locale of the host program, in
 * which bytes above 127 may be letters; here they never are. */
#ifndef RPINN_BASE_ASCII_H
#define RPINN_BASE_ASCII_H

#include <stdbool.h>

static inline bool rpinn_is_digit(char c) {
  return c >= '0' && c <= '9';
}

static inline bool rpinn_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool rpinn_is_letter_or_digit(char c) {
  return rpinn_is_letter(c) || rpinn_is_digit(c);
}

/* Blank, tab, and what ends lines and pages. */
static inline bool rpinn_is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

#endif
