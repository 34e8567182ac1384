#include "markup.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number_text.h"

static const char dash[] = "&#8211;", minus[] = "&#8722;";

void rpinn_markup_text(RpinnText *page, const char *text) {
  for (const char *at = text; *at; at++) {
    unsigned char letter = (unsigned char)*at;
    if (letter == '&')
      rpinn_text_append(page, "&amp;");
    else if (letter == '<')
      rpinn_text_append(page, "&lt;");
    else if (letter == '>')
      rpinn_text_append(page, "&gt;");
    else if (letter == '"')
      rpinn_text_append(page, "&quot;");
    else if ((letter >= 32 && letter != 127) || letter == '\n' || letter == '\t')
      rpinn_text_append_bytes(page, at, 1);
  }
}

/* digits in fixed notation, without the point that %#g leaves at the end of 100. */
static void append_plain(RpinnText *page, double magnitude, int digits) {
  char text[64];
  rpinn_format(text, sizeof text, "%#.*g", digits, magnitude);
  size_t length = strlen(text);
  if (length && text[length - 1] == '.') text[length - 1] = '\0';
  rpinn_text_append(page, "%s", text);
}

void rpinn_markup_number(RpinnText *page, double value, int digits) {
  if (isnan(value)) {
    rpinn_text_append(page, "%s", dash);
    return;
  }
  if (value < 0) rpinn_text_append(page, "%s", minus);
  double magnitude = fabs(value);
  if (isinf(value))
    rpinn_text_append(page, "&#8734;");
  else if (magnitude == 0)
    rpinn_text_append(page, "0");
  else if (magnitude == floor(magnitude) && magnitude < 1e7)
    rpinn_text_append(page, "%.0f", magnitude);
  else if (magnitude >= 1e-3 && magnitude < 1e5 && magnitude < pow(10, digits) - 0.5) /* not 1.e+03 */
    append_plain(page, magnitude, digits);
  else if (magnitude >= 1e-3 && magnitude < 1e5)
    rpinn_text_append(page, "%.0f", magnitude);
  else {
    char text[64];
    rpinn_format(text, sizeof text, "%.*e", digits - 1, magnitude);
    char *exponent = strchr(text, 'e');
    int power = atoi(exponent + 1);
    *exponent = '\0';
    rpinn_text_append(page, "%s&#8201;&#215;&#8201;10<sup>%s%d</sup>", text, power < 0 ? minus : "",
                      abs(power));
  }
}

void rpinn_markup_percent(RpinnText *page, double share) {
  if (isnan(share))
    rpinn_text_append(page, "%s", dash);
  else
    rpinn_text_append(page, "%.1f&#8201;%%", share * 100);
}
