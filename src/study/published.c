#include "published.h"

#include <math.h>
#include <string.h>

#include "csv_table.h"
#include "embedded_text.h"
#include "text.h"

typedef struct Cells {
  RpinnContext *context;
  const RpinnCsvTable *table;
  size_t row;
} Cells;

static RpinnStatus cell_text(const Cells *cells, const char *name, const char **text) {
  int column = rpinn_csv_column(cells->table, name);
  if (column < 0) return rpinn_fail_at(cells->context, cells->table->header, "no column '%s'", name);
  *text = cells->table->text[cells->row * cells->table->num_columns + (size_t)column];
  return RPINN_OK;
}

/* An empty cell is NaN: not stated. */
static RpinnStatus cell_number(const Cells *cells, const char *name, double *number) {
  const char *text;
  *number = (double)NAN;
  RPINN_TRY(cell_text(cells, name, &text));
  if (!*text || rpinn_number_parse(text, number)) return RPINN_OK;
  int column = rpinn_csv_column(cells->table, name);
  return rpinn_fail_at(cells->context, rpinn_csv_place(cells->table, cells->row, (size_t)column),
                       "'%s' is no number", text);
}

static RpinnStatus parse_row(const Cells *cells, RpinnPublishedRow *row) {
  static const char *const keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
      RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
  };
  const char *source;
  RPINN_TRY(cell_text(cells, "Nf", &row->num_points));
  RPINN_TRY(cell_text(cells, "sigma", &row->sigma));
  RPINN_TRY(cell_text(cells, "method", &row->method));
  RPINN_TRY(cell_text(cells, "quantity", &row->quantity));
  RPINN_TRY(cell_text(cells, "source", &source));
  row->is_rerun = !strcmp(source, "rerun");
  if (!row->is_rerun && strcmp(source, "published") != 0)
    return rpinn_fail_at(cells->context, rpinn_csv_place(cells->table, cells->row, 0),
                         "source '%s'; expected published or rerun", source);
  RPINN_TRY(cell_number(cells, "members", &row->members));
  RPINN_TRY(cell_number(cells, "iterations", &row->iterations));
  RPINN_TRY(cell_number(cells, "seconds", &row->seconds));
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    RPINN_TRY(cell_number(cells, keys[k], &row->metrics[k]));
  return RPINN_OK;
}

RpinnStatus rpinn_published_parse(RpinnContext *context, RpinnArena *arena, const char *name,
                                  const char *text, RpinnPublishedTable *table) {
  RpinnCsvTable *csv;
  RPINN_TRY(rpinn_csv_parse(context, arena, name, text, strlen(text), &csv));
  table->name = name;
  table->num_rows = csv->num_rows;
  table->rows = RPINN_ARENA_NEW(arena, RpinnPublishedRow, csv->num_rows);
  if (!table->rows) return rpinn_fail_memory(context);
  for (size_t row = 0; row < csv->num_rows; row++)
    RPINN_TRY(parse_row(&(Cells){context, csv, row}, &table->rows[row]));
  return RPINN_OK;
}

const RpinnPublishedRow *rpinn_published_find(const RpinnPublishedTable *table, const char *num_points,
                                              const char *sigma, const char *method, const char *quantity,
                                              bool is_rerun) {
  for (size_t i = 0; i < table->num_rows; i++) {
    const RpinnPublishedRow *row = &table->rows[i];
    if (row->is_rerun == is_rerun && !strcmp(row->num_points, num_points) && !strcmp(row->sigma, sigma) &&
        !strcmp(row->method, method) && !strcmp(row->quantity, quantity))
      return row;
  }
  return NULL;
}

const char *rpinn_published_text(const char *name) {
  for (const RpinnEmbeddedText *table = rpinn_published_texts; table->name; table++)
    if (!strcmp(table->name, name)) return table->text;
  return NULL;
}
