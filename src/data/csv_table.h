/* A CSV file as a table of texts: measurements, points and reference values that a user brings.
 *
 * The first line names the columns; every further line is a row of as many cells. Cells are separated by
 * commas, blanks around them do not count, and a cell may stand in quotes ("" inside is one quote). A cell
 * ends on its own line. Lines that are blank or start with # are skipped; lines end with LF or CRLF. */
#ifndef RPINN_DATA_CSV_TABLE_H
#define RPINN_DATA_CSV_TABLE_H

#include <stddef.h>

#include "arena.h"
#include "context.h"

enum { RPINN_CSV_MAX_MEBIBYTES = 1024, RPINN_CSV_MAX_COLUMNS = 1 << 20 };

typedef struct RpinnCsvTable {
  const char *file;
  size_t num_columns, num_rows; /* both at least 1 */
  RpinnPlace header;            /* of the line that names the columns */
  const char **names;           /* [num_columns] all different, none empty */
  const size_t *name_columns;   /* [num_columns] of each name's first byte, its quote included; 1-based */
  const char **text;            /* [num_rows][num_columns] */
  const size_t *lines;          /* [num_rows] 1-based */
  const size_t *columns; /* [num_rows][num_columns] of each cell's first byte, its quote included; 1-based */
} RpinnCsvTable;

/* The table, in the arena; nothing borrows from file or bytes afterwards. */
RpinnStatus rpinn_csv_parse(RpinnContext *context, RpinnArena *arena, const char *file, const char *bytes,
                            size_t length, RpinnCsvTable **table);
RpinnStatus rpinn_csv_read_file(RpinnContext *context, RpinnArena *arena, const char *path,
                                RpinnCsvTable **table);

/* The same for a file that the user named somewhere: one that cannot be read is reported there. */
RpinnStatus rpinn_csv_read_named(RpinnContext *context, RpinnArena *arena, const char *path, RpinnPlace named,
                                 RpinnCsvTable **table);

/* The index of a column; -1 when absent. */
int rpinn_csv_column(const RpinnCsvTable *table, const char *name);
/* Where a column's name stands. */
RpinnPlace rpinn_csv_name_place(const RpinnCsvTable *table, size_t column);
/* Where a cell stands. */
RpinnPlace rpinn_csv_place(const RpinnCsvTable *table, size_t row, size_t column);
/* A cell as a finite number. */
RpinnStatus rpinn_csv_number(RpinnContext *context, const RpinnCsvTable *table, size_t row, size_t column,
                             double *value);

#endif
