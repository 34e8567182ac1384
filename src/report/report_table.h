/* Tables of a page. */
#ifndef RPINN_REPORT_REPORT_TABLE_H
#define RPINN_REPORT_REPORT_TABLE_H

#include <stdint.h>

#include "text.h"

/* Headings are markup; a column of text, which stands at the left, is marked by an @. */
void rpinn_table_open(RpinnText *page, size_t num_columns, const char *const *columns);
void rpinn_table_close(RpinnText *page);
/* <tr> with a first cell; text is escaped everywhere. */
void rpinn_table_open_row(RpinnText *page, const char *name);
void rpinn_table_number(RpinnText *page, double value, int digits);
void rpinn_table_percent(RpinnText *page, double share);
void rpinn_table_code(RpinnText *page, const char *text);

/* 12 ms, 3.4 s, 5.6 min, 7.8 h */
void rpinn_markup_duration(RpinnText *page, double seconds);
static inline const char *rpinn_plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

#endif
