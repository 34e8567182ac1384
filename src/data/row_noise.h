/* Noise that differs by row: an expression of the coordinates, or the column `noise` beside measured values. */
#ifndef RPINN_DATA_ROW_NOISE_H
#define RPINN_DATA_ROW_NOISE_H

#include "csv_table.h"
#include "data_set.h"

/* data->noise from the term's expression, at the points of data; nothing where it has none. Bad input: a value that is not
 * finite and above 0. */
RpinnStatus rpinn_row_noise_evaluate(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                     const RpinnTerm *term, RpinnTermData *data);

/* data->noise from the column `noise` of a table, rows [data->points.count] of it; nothing where there is no such column, or
 * where its cells are empty in all of these rows and may be. Bad input: some cells empty, a value that is not finite and
 * above 0, a term that says its noise itself unless `replaces`. */
typedef struct RpinnNoiseColumn {
  const RpinnCsvTable *table;
  const size_t *rows; /* NULL: 0, 1, … */
  bool may_be_empty;  /* the table has rows of other terms */
  bool replaces;      /* what the problem file says */
} RpinnNoiseColumn;
RpinnStatus rpinn_row_noise_read(RpinnContext *context, RpinnArena *arena, const RpinnNoiseColumn *column,
                                 const RpinnTerm *term, RpinnTermData *data);

/* Root mean square of data->noise, or the term's number; NaN without either. */
double rpinn_row_noise_typical(const RpinnTerm *term, const RpinnTermData *data);

#endif
