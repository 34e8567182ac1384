#include "printable.h"

#include <string.h>

/* Bytes of the control character that the text begins with, 0 where it begins with none. The second kind, U+0080 to U+009F,
 * has two bytes in UTF-8; a terminal may also act upon the single byte, where no character of UTF-8 is under way. */
static size_t control_length(const unsigned char *text) {
  if (text[0] < 0x20 || text[0] == 0x7f || (text[0] >= 0x80 && text[0] < 0xa0)) return 1;
  return text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0 ? 2 : 0;
}

/* Bytes of the character of UTF-8 that the text begins with; 1 for a byte that begins none. */
static size_t character_length(const unsigned char *text) {
  size_t length = text[0] < 0xc2 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 1;
  for (size_t i = 1; i < length; i++)
    if ((text[i] & 0xc0) != 0x80) return 1;
  return length;
}

bool rpinn_has_control(const char *text) {
  for (const unsigned char *at = (const unsigned char *)text; *at; at += character_length(at))
    if (control_length(at)) return true;
  return false;
}

char *rpinn_make_printable(char *text) {
  for (unsigned char *at = (unsigned char *)text; *at;) {
    size_t length = *at == '\n' || *at == '\t' ? 0 : control_length(at);
    memset(at, ' ', length);
    at += character_length(at);
  }
  return text;
}
