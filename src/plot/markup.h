/* Pieces of markup that are the same in HTML and in SVG. */
#ifndef RPINN_PLOT_MARKUP_H
#define RPINN_PLOT_MARKUP_H

#include "text.h"

/* Text as content or as the value of an attribute: what has a meaning in markup is escaped, control
 * characters are left out. */
void rpinn_markup_text(RpinnText *page, const char *text);
/* A number for people, with so many significant digits: 0.0123, 1.23 × 10⁻⁷, ∞, and a dash for NaN. */
void rpinn_markup_number(RpinnText *page, double value, int digits);
/* A share as a percentage with one decimal, and a dash for NaN. */
void rpinn_markup_percent(RpinnText *page, double share);

#endif
