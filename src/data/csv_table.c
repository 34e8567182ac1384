/* The rows are read twice: once to count and judge them, once to store them in arrays of just their size.
 * Because every row has as many cells as the header by then, rows times columns is at most the number of
 * bytes, and a small file can never ask for a huge table. */
#include "csv_table.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "names.h"
#include "text.h"
#include "whole_file.h"

typedef struct Reader {
  RpinnContext *context;
  const char *file, *bytes;
  size_t length;
} Reader;

/* A line that counts, without its line end. */
typedef struct Line {
  size_t number; /* 1-based */
  size_t begin, end, next;
} Line;

/* The bytes of a cell inside its blanks and quotes. */
typedef struct Cell {
  size_t begin, end;
  size_t column; /* 1-based byte column of its first byte or quote */
  bool quoted;
  size_t next; /* after the comma; past the line's end when this is its last cell */
} Cell;

static bool is_blank(char byte) {
  return byte == ' ' || byte == '\t';
}

static size_t skip_blanks(const Reader *reader, size_t position, size_t end) {
  while (position < end && is_blank(reader->bytes[position])) position++;
  return position;
}

static RpinnPlace place_in(const Reader *reader, const Line *line, size_t position) {
  return (RpinnPlace){reader->file, line->number, position - line->begin + 1};
}

/* ---- Lines and cells ---- */

static RpinnStatus refuse_odd_bytes(const Reader *reader, const Line *line) {
  for (size_t i = line->begin; i < line->end; i++) {
    if (reader->bytes[i] == '\0')
      return rpinn_fail_at(reader->context, place_in(reader, line, i), "found a NUL byte, expected text");
    if (reader->bytes[i] == '\r')
      return rpinn_fail_at(reader->context, place_in(reader, line, i),
                           "found a carriage return inside a line, expected lines that end with LF or CRLF");
  }
  return RPINN_OK;
}

/* Step to the next line that is neither blank nor a comment; *found is false at the end of the file. A zeroed
 * line stands before the first one. */
static RpinnStatus next_line(const Reader *reader, Line *line, bool *found) {
  for (*found = false; line->next < reader->length;) {
    line->number++;
    line->begin = line->next;
    const char *start = reader->bytes + line->begin;
    const char *newline = memchr(start, '\n', reader->length - line->begin);
    line->end = newline ? (size_t)(newline - reader->bytes) : reader->length;
    line->next = line->end + 1;
    if (line->end > line->begin && reader->bytes[line->end - 1] == '\r') line->end--;
    RPINN_TRY(refuse_odd_bytes(reader, line));
    *found = *start != '#' && skip_blanks(reader, line->begin, line->end) < line->end;
    if (*found) return RPINN_OK;
  }
  return RPINN_OK;
}

static RpinnStatus read_quoted(const Reader *reader, const Line *line, Cell *cell, size_t *position) {
  const char *bytes = reader->bytes;
  size_t i = cell->begin;
  while (i < line->end && (bytes[i] != '"' || (i + 1 < line->end && bytes[i + 1] == '"')))
    i += bytes[i] == '"' ? 2 : 1;
  if (i >= line->end)
    return rpinn_fail_at(reader->context, place_in(reader, line, cell->begin - 1),
                         "found a quote that does not end on its line, expected a closing quote");
  cell->end = i;
  *position = skip_blanks(reader, i + 1, line->end);
  if (*position < line->end && bytes[*position] != ',')
    return rpinn_fail_at(reader->context, place_in(reader, line, *position),
                         "found text after a closing quote, expected a comma or the end of the line");
  return RPINN_OK;
}

/* The cell that starts at `position`, which is at most line->end: an empty cell may end a line. */
static RpinnStatus read_cell(const Reader *reader, const Line *line, size_t position, Cell *cell) {
  position = skip_blanks(reader, position, line->end);
  bool quoted = position < line->end && reader->bytes[position] == '"';
  *cell = (Cell){.column = position - line->begin + 1, .begin = position + quoted, .quoted = quoted};
  if (quoted) {
    RPINN_TRY(read_quoted(reader, line, cell, &position));
  } else {
    while (position < line->end && reader->bytes[position] != ',') position++;
    cell->end = position;
    while (cell->end > cell->begin && is_blank(reader->bytes[cell->end - 1])) cell->end--;
  }
  cell->next = position + 1;
  return RPINN_OK;
}

/* The number of cells of a line, and where cell number `limit` starts (the line's end when there are fewer).
 */
static RpinnStatus count_cells(const Reader *reader, const Line *line, size_t limit, size_t *count,
                               size_t *column_of_limit) {
  Cell cell = {.next = line->begin};
  *column_of_limit = line->end - line->begin + 1;
  for (*count = 0; cell.next <= line->end; ++*count) {
    RPINN_TRY(read_cell(reader, line, cell.next, &cell));
    if (*count == limit) *column_of_limit = cell.column;
  }
  return RPINN_OK;
}

/* ---- The table ---- */

/* Texts go one after the other, each with its NUL, into a store of length + 1 bytes: every cell is followed
 * in the file by a comma or a line end, or is the last one. */
static const char *store_cell(const Reader *reader, const Cell *cell, char **store) {
  const char *text = *store;
  for (size_t i = cell->begin; i < cell->end; i++) {
    *(*store)++ = reader->bytes[i];
    if (cell->quoted && reader->bytes[i] == '"') i++;
  }
  *(*store)++ = '\0';
  return text;
}

/* The line has passed count_cells. */
static RpinnStatus store_line(const Reader *reader, const Line *line, const char **texts, size_t *columns,
                              char **store) {
  Cell cell = {.next = line->begin};
  for (size_t i = 0; cell.next <= line->end; i++) {
    RPINN_TRY(read_cell(reader, line, cell.next, &cell));
    texts[i] = store_cell(reader, &cell, store);
    columns[i] = cell.column;
  }
  return RPINN_OK;
}

static RpinnStatus read_header(const Reader *reader, RpinnArena *arena, RpinnCsvTable *table, Line *line,
                               char **store) {
  bool found;
  RPINN_TRY(next_line(reader, line, &found));
  if (!found)
    return rpinn_fail_at(reader->context, (RpinnPlace){reader->file, 1, 1},
                         "found an empty file, expected a line of column names and rows of values");
  size_t column;
  RPINN_TRY(count_cells(reader, line, SIZE_MAX, &table->num_columns, &column));
  table->header = place_in(reader, line, line->begin);
  if (table->num_columns > RPINN_CSV_MAX_COLUMNS)
    return rpinn_fail_at(reader->context, table->header, "found %zu columns, expected at most %d",
                         table->num_columns, (int)RPINN_CSV_MAX_COLUMNS);
  table->names = RPINN_ARENA_NEW(arena, const char *, table->num_columns);
  size_t *columns = RPINN_ARENA_NEW(arena, size_t, table->num_columns);
  if (!table->names || !columns) return rpinn_fail_memory(reader->context);
  RPINN_TRY(store_line(reader, line, table->names, columns, store));
  table->name_columns = columns;
  for (size_t i = 0; i < table->num_columns; i++)
    if (!table->names[i][0])
      return rpinn_fail_at(reader->context, (RpinnPlace){reader->file, line->number, columns[i]},
                           "found an empty name for column %zu, expected a name", i + 1);
  if (table->num_columns == 1 && strpbrk(table->names[0], ";\t"))
    return rpinn_fail_at(reader->context, table->header,
                         "found one column '%.60s', expected commas between the columns", table->names[0]);
  RpinnRepeat repeat;
  RPINN_TRY(rpinn_names_find_repeat(reader->context, table->names, table->num_columns, &repeat));
  if (!repeat.found) return RPINN_OK;
  return rpinn_fail_at(reader->context, (RpinnPlace){reader->file, line->number, columns[repeat.second]},
                       "found the column name '%.60s' again, expected it once: it names column %zu",
                       table->names[repeat.second], repeat.first + 1);
}

/* `line` is the header's; it is passed by value because the rows are walked again to store them. */
static RpinnStatus count_rows(const Reader *reader, RpinnCsvTable *table, Line line) {
  for (bool found;;) {
    RPINN_TRY(next_line(reader, &line, &found));
    if (!found) break;
    size_t count, column;
    RPINN_TRY(count_cells(reader, &line, table->num_columns, &count, &column));
    if (count != table->num_columns)
      return rpinn_fail_at(reader->context, (RpinnPlace){reader->file, line.number, column},
                           "found %zu column%s, expected %zu as in line %zu", count, count == 1 ? "" : "s",
                           table->num_columns, table->header.line);
    table->num_rows++;
  }
  if (table->num_rows) return RPINN_OK;
  return rpinn_fail_at(reader->context, table->header,
                       "found no data rows, expected at least one after the column names");
}

static RpinnStatus store_rows(const Reader *reader, RpinnArena *arena, RpinnCsvTable *table, Line line,
                              char **store) {
  size_t num_cells = table->num_rows * table->num_columns;
  table->text = RPINN_ARENA_NEW(arena, const char *, num_cells);
  size_t *columns = RPINN_ARENA_NEW(arena, size_t, num_cells);
  size_t *lines = RPINN_ARENA_NEW(arena, size_t, table->num_rows);
  if (!table->text || !columns || !lines) return rpinn_fail_memory(reader->context);
  for (size_t row = 0; row < table->num_rows; row++) {
    bool found;
    RPINN_TRY(next_line(reader, &line, &found));
    lines[row] = line.number;
    size_t first = row * table->num_columns;
    RPINN_TRY(store_line(reader, &line, table->text + first, columns + first, store));
  }
  table->columns = columns;
  table->lines = lines;
  return RPINN_OK;
}

RpinnStatus rpinn_csv_parse(RpinnContext *context, RpinnArena *arena, const char *file, const char *bytes,
                            size_t length, RpinnCsvTable **table) {
  *table = NULL;
  RPINN_TRY(rpinn_file_check_size(context, file, length, RPINN_CSV_MAX_MEBIBYTES));
  if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark is no text */
    bytes += 3;
    length -= 3;
  }
  RpinnCsvTable *result = RPINN_ARENA_NEW(arena, RpinnCsvTable, 1);
  char *store = RPINN_ARENA_NEW(arena, char, length + 1);
  const char *file_copy = rpinn_arena_copy_text(arena, file, strlen(file));
  if (!result || !store || !file_copy) return rpinn_fail_memory(context);
  result->file = file_copy;
  const Reader reader = {context, file_copy, bytes, length};
  Line header = {0};
  RPINN_TRY(read_header(&reader, arena, result, &header, &store));
  RPINN_TRY(count_rows(&reader, result, header));
  RPINN_TRY(store_rows(&reader, arena, result, header, &store));
  *table = result;
  return RPINN_OK;
}

RpinnStatus rpinn_csv_read_file(RpinnContext *context, RpinnArena *arena, const char *path,
                                RpinnCsvTable **table) {
  *table = NULL;
  RpinnText bytes = {0};
  RpinnStatus status = rpinn_file_read(context, path, RPINN_CSV_MAX_MEBIBYTES, &bytes);
  if (status == RPINN_OK)
    status = rpinn_csv_parse(context, arena, path, bytes.bytes ? bytes.bytes : "", bytes.length, table);
  rpinn_text_free(&bytes);
  return status;
}

RpinnStatus rpinn_csv_read_named(RpinnContext *context, RpinnArena *arena, const char *path, RpinnPlace named,
                                 RpinnCsvTable **table) {
  RpinnStatus status = rpinn_csv_read_file(context, arena, path, table);
  const RpinnError *error = rpinn_context_error(context);
  if (status != RPINN_ERROR_INPUT || error->line) return status; /* with a line: read, and found wanting */
  char reason[sizeof error->message];
  memcpy(reason, error->message, sizeof reason);
  return rpinn_fail_at(context, named, "'%s': %s", path, reason);
}

/* ---- Looking at the table ---- */

int rpinn_csv_column(const RpinnCsvTable *table, const char *name) {
  for (size_t i = 0; i < table->num_columns; i++)
    if (strcmp(table->names[i], name) == 0) return (int)i;
  return -1;
}

RpinnPlace rpinn_csv_name_place(const RpinnCsvTable *table, size_t column) {
  RpinnPlace place = table->header;
  place.column = table->name_columns[column];
  return place;
}

RpinnPlace rpinn_csv_place(const RpinnCsvTable *table, size_t row, size_t column) {
  return (RpinnPlace){table->file, table->lines[row], table->columns[row * table->num_columns + column]};
}

RpinnStatus rpinn_csv_number(RpinnContext *context, const RpinnCsvTable *table, size_t row, size_t column,
                             double *value) {
  const char *text = table->text[row * table->num_columns + column];
  if (rpinn_number_parse(text, value) && isfinite(*value)) return RPINN_OK;
  RpinnPlace place = rpinn_csv_place(table, row, column);
  if (!*text)
    return rpinn_fail_at(context, place, "found an empty cell in column '%.60s', expected a finite number",
                         table->names[column]);
  return rpinn_fail_at(context, place, "found '%.40s' in column '%.60s', expected a finite number", text,
                       table->names[column]);
}
