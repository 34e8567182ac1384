#include "report_table.h"

#include <math.h>
#include <stdbool.h>

#include "markup.h"

void rpinn_table_open(RpinnText *page, size_t num_columns, const char *const *columns) {
  rpinn_text_append(page, "<div class=\"scroll\"><table>\n<thead><tr>");
  for (size_t i = 0; i < num_columns; i++) {
    bool is_text = columns[i][0] == '@';
    rpinn_text_append(page, "<th%s>%s</th>", is_text ? " class=\"text\"" : "", columns[i] + is_text);
  }
  rpinn_text_append(page, "</tr></thead>\n<tbody>\n");
}

void rpinn_table_close(RpinnText *page) {
  rpinn_text_append(page, "</tbody></table></div>\n");
}

void rpinn_table_open_row(RpinnText *page, const char *name) {
  rpinn_text_append(page, "<tr><td><code>");
  rpinn_markup_text(page, name);
  rpinn_text_append(page, "</code></td>");
}

void rpinn_table_number(RpinnText *page, double value, int digits) {
  rpinn_text_append(page, "<td>");
  rpinn_markup_number(page, value, digits);
  rpinn_text_append(page, "</td>");
}

void rpinn_table_percent(RpinnText *page, double share) {
  rpinn_text_append(page, "<td>");
  rpinn_markup_percent(page, share);
  rpinn_text_append(page, "</td>");
}

void rpinn_table_code(RpinnText *page, const char *text) {
  rpinn_text_append(page, "<td class=\"text\"><code>");
  rpinn_markup_text(page, text);
  rpinn_text_append(page, "</code></td>");
}

void rpinn_markup_duration(RpinnText *page, double seconds) {
  if (seconds < 1)
    rpinn_text_append(page, "%.0f&#8201;ms", ceil(1000 * seconds));
  else if (seconds < 120)
    rpinn_text_append(page, "%.1f&#8201;s", seconds);
  else if (seconds < 7200)
    rpinn_text_append(page, "%.1f&#8201;min", seconds / 60);
  else
    rpinn_text_append(page, "%.1f&#8201;h", seconds / 3600);
}
