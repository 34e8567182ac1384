/* The CSV reader: cells and their places, and every way to refuse a file. */
#include "check.h"
#include "temporary_folder.h"

#include "context.h"
#include "csv_table.h"

typedef struct Fixture {
  RpinnContext *context;
  RpinnArena *arena;
} Fixture;

static int set_up(void **state) {
  static Fixture fixture;
  fixture = (Fixture){rpinn_context_create(), rpinn_arena_create()};
  *state = &fixture;
  return !fixture.context || !fixture.arena;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  rpinn_context_destroy(fixture->context);
  rpinn_arena_destroy(fixture->arena);
  return 0;
}

static RpinnCsvTable *parse(Fixture *fixture, const char *text) {
  RpinnCsvTable *table;
  RpinnStatus status = rpinn_csv_parse(fixture->context, fixture->arena, "a.csv", text, strlen(text), &table);
  check_true(status == RPINN_OK, "%s", rpinn_context_error(fixture->context)->message);
  return table;
}

static void check_cell(const RpinnCsvTable *table, size_t row, size_t column, const char *text, size_t line,
                       size_t byte_column) {
  assert_string_equal(table->text[row * table->num_columns + column], text);
  RpinnPlace place = rpinn_csv_place(table, row, column);
  assert_string_equal(place.file, "a.csv");
  assert_int_equal(place.line, line);
  assert_int_equal(place.column, byte_column);
}

static void cells_have_texts_and_places(void **state) {
  RpinnCsvTable *table = parse(*state, "term,x,value\n"
                                       "f,0.5, 1.25 \n"
                                       "\"b, too\",\t\"-1\" ,\n");
  assert_int_equal(table->num_columns, 3);
  assert_int_equal(table->num_rows, 2);
  assert_int_equal(rpinn_csv_column(table, "term"), 0);
  assert_int_equal(rpinn_csv_column(table, "value"), 2);
  assert_int_equal(rpinn_csv_column(table, "y"), -1);
  check_cell(table, 0, 0, "f", 2, 1);
  check_cell(table, 0, 1, "0.5", 2, 3);
  check_cell(table, 0, 2, "1.25", 2, 8);
  check_cell(table, 1, 0, "b, too", 3, 1);
  check_cell(table, 1, 1, "-1", 3, 11);
  check_cell(table, 1, 2, "", 3, 17);
}

static void quotes_are_undone(void **state) {
  RpinnCsvTable *table = parse(*state, "\"a \"\"b\"\"\",c\n"
                                       "\"\"\"\", \" 1 \"\n"
                                       "5\" pipe,\"\"");
  assert_string_equal(table->names[0], "a \"b\"");
  check_cell(table, 0, 0, "\"", 2, 1);
  check_cell(table, 0, 1, " 1 ", 2, 7);
  check_cell(table, 1, 0, "5\" pipe", 3, 1);
  check_cell(table, 1, 1, "", 3, 9);
}

static void comments_blank_lines_and_line_ends(void **state) {
  static const char *const variants[] = {
      "x,y\n1,2\n3,4\n",
      "x,y\n1,2\n3,4",
      "x,y\r\n1,2\r\n3,4\r\n",
      "x,y\r\n1,2\r\n3,4\r",
      "\xef\xbb\xbfx,y\n1,2\n3,4\n",
      "# made by hand\n\n x , y \n1,2\n   \n# more, to, come\n3,4\n\n\n",
      "\"x\",\"y\"\n\"1\",\"2\"\n\"3\",\"4\"",
  };
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
    RpinnCsvTable *table = parse(*state, variants[i]);
    assert_int_equal(table->num_columns, 2);
    assert_int_equal(table->num_rows, 2);
    assert_string_equal(table->names[0], "x");
    assert_string_equal(table->names[1], "y");
    for (size_t cell = 0; cell < 4; cell++) {
      const char text[] = {(char)('1' + cell), '\0'};
      assert_string_equal(table->text[cell], text);
    }
  }
  RpinnCsvTable *table = parse(*state, variants[5]);
  assert_int_equal(table->header.line, 3);
  assert_int_equal(table->lines[0], 4);
  assert_int_equal(table->lines[1], 7);
}

static void numbers_are_finite(void **state) {
  Fixture *fixture = *state;
  RpinnCsvTable *table = parse(fixture, "x,y\n-1.5e-3,inf\n 2 ,nan\n1e999,0x10\n\"3\", 1 2\n,abc\n");
  double value;
  assert_int_equal(rpinn_csv_number(fixture->context, table, 0, 0, &value), RPINN_OK);
  check_close(value, -1.5e-3, 0);
  assert_int_equal(rpinn_csv_number(fixture->context, table, 1, 0, &value), RPINN_OK);
  check_close(value, 2, 0);
  assert_int_equal(rpinn_csv_number(fixture->context, table, 3, 0, &value), RPINN_OK);
  check_close(value, 3, 0);
  static const struct {
    size_t row, column;
    const char *error;
  } bad[] = {
      {0, 1, "a.csv:2:9: found 'inf' in column 'y', expected a finite number"},
      {1, 1, "a.csv:3:5: found 'nan' in column 'y', expected a finite number"},
      {2, 0, "a.csv:4:1: found '1e999' in column 'x', expected a finite number"},
      {2, 1, "a.csv:4:7: found '0x10' in column 'y', expected a finite number"},
      {3, 1, "a.csv:5:6: found '1 2' in column 'y', expected a finite number"},
      {4, 0, "a.csv:6:1: found an empty cell in column 'x', expected a finite number"},
      {4, 1, "a.csv:6:2: found 'abc' in column 'y', expected a finite number"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(rpinn_csv_number(fixture->context, table, bad[i].row, bad[i].column, &value),
                     RPINN_ERROR_INPUT);
    char text[2048];
    rpinn_error_format(rpinn_context_error(fixture->context), text, sizeof text);
    assert_string_equal(text, bad[i].error);
  }
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
  const char *bytes;
  size_t length, line, column;
  const char *message;
} mistakes[] = {
    {BYTES(""), 1, 1, "found an empty file, expected a line of column names and rows of values"},
    {BYTES("\xef\xbb\xbf"), 1, 1, "found an empty file, expected a line of column names and rows of values"},
    {BYTES("# nothing\n\n  \n"), 1, 1,
     "found an empty file, expected a line of column names and rows of values"},
    {BYTES("x,y\n"), 1, 1, "found no data rows, expected at least one after the column names"},
    {BYTES("#\nx,y\n# 1,2\n\n"), 2, 1, "found no data rows, expected at least one after the column names"},
    {BYTES("a,b,c,d\n1,2,3,4\n1,2,3\n"), 3, 6, "found 3 columns, expected 4 as in line 1"},
    {BYTES("#\na,b\n1\n"), 3, 2, "found 1 column, expected 2 as in line 2"},
    {BYTES("a,b\n1, 2, 3,4\n"), 2, 7, "found 4 columns, expected 2 as in line 1"},
    {BYTES("a,b\n1,2,\n"), 2, 5, "found 3 columns, expected 2 as in line 1"},
    {BYTES("a,b,a\n1,2,3\n"), 1, 5, "found the column name 'a' again, expected it once: it names column 1"},
    {BYTES("a, ,c\n1,2,3\n"), 1, 4, "found an empty name for column 2, expected a name"},
    {BYTES("a,\"\"\n1,2\n"), 1, 3, "found an empty name for column 2, expected a name"},
    {BYTES("a,b\n1,\"2\n3,4\"\n"), 2, 3,
     "found a quote that does not end on its line, expected a closing quote"},
    {BYTES("a,\"b\"\""), 1, 3, "found a quote that does not end on its line, expected a closing quote"},
    {BYTES("a,b\n\"1\" x,2\n"), 2, 5,
     "found text after a closing quote, expected a comma or the end of the line"},
    {BYTES("a,b\n1,\0\n"), 2, 3, "found a NUL byte, expected text"},
    {BYTES("\xff\xfe\x61\0,\0"), 1, 4, "found a NUL byte, expected text"},
    {BYTES("a,b\r1,2\r"), 1, 4,
     "found a carriage return inside a line, expected lines that end with LF or CRLF"},
};

static void mistakes_are_refused_with_their_place(void **state) {
  Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    RpinnCsvTable *table = NULL;
    RpinnStatus status = rpinn_csv_parse(fixture->context, fixture->arena, "a.csv", mistakes[i].bytes,
                                         mistakes[i].length, &table);
    const RpinnError *error = rpinn_context_error(fixture->context);
    check_true(status == RPINN_ERROR_INPUT && !table, "%s", mistakes[i].bytes);
    check_true(strcmp(error->message, mistakes[i].message) == 0, "%s\n%s\n%s", mistakes[i].bytes,
               error->message, mistakes[i].message);
    check_true(error->line == mistakes[i].line && error->column == mistakes[i].column, "%s\n%zu:%zu",
               mistakes[i].bytes, error->line, error->column);
    assert_string_equal(error->file, "a.csv");
    rpinn_context_clear_error(fixture->context);
  }
}

/* Many rows under a wide header: refused at the first ragged row, not by an attempt to allocate the product.
 */
static void impossible_sizes_cost_nothing(void **state) {
  Fixture *fixture = *state;
  enum { COLUMNS = 100000, ROWS = 100000 };
  char *text = malloc(9 * COLUMNS + 2 * ROWS);
  assert_non_null(text);
  size_t length = 0;
  for (int i = 0; i < COLUMNS; i++)
    length += (size_t)sprintf(text + length, "c%d%c", i, i + 1 < COLUMNS ? ',' : '\n');
  for (int i = 0; i < ROWS; i++) {
    memcpy(text + length, "1\n", 2);
    length += 2;
  }
  RpinnCsvTable *table;
  assert_int_equal(rpinn_csv_parse(fixture->context, fixture->arena, "a.csv", text, length, &table),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(fixture->context)->message,
                      "found 1 column, expected 100000 as in line 1");
  free(text);
  length = RPINN_CSV_MAX_COLUMNS;
  text = malloc(length);
  assert_non_null(text);
  memset(text, ',', length);
  assert_int_equal(rpinn_csv_parse(fixture->context, fixture->arena, "a.csv", text, length, &table),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(fixture->context)->message,
                      "found 1048577 columns, expected at most 1048576");
  free(text);
}

static void files_are_read_or_refused(void **state) {
  Fixture *fixture = *state;
  FILE *file = fopen("test_csv_table.csv", "w");
  assert_non_null(file);
  fputs("x,value\n0.5,2\n", file);
  fclose(file);
  RpinnCsvTable *table;
  assert_int_equal(rpinn_csv_read_file(fixture->context, fixture->arena, "test_csv_table.csv", &table),
                   RPINN_OK);
  double value;
  assert_int_equal(rpinn_csv_number(fixture->context, table, 0, 1, &value), RPINN_OK);
  check_close(value, 2, 0);
  char text[2048];
  assert_int_equal(rpinn_csv_read_file(fixture->context, fixture->arena, "absent.csv", &table),
                   RPINN_ERROR_INPUT);
  rpinn_error_format(rpinn_context_error(fixture->context), text, sizeof text);
  assert_string_equal(text, "absent.csv: cannot open this file: No such file or directory");
  assert_null(table);
  assert_int_equal(rpinn_csv_read_file(fixture->context, fixture->arena, ".", &table), RPINN_ERROR_INPUT);
  /* The size is judged before a byte is read. */
  size_t too_long = ((size_t)RPINN_CSV_MAX_MEBIBYTES << 20) + 1;
  assert_int_equal(rpinn_csv_parse(fixture->context, fixture->arena, "a.csv", "", too_long, &table),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(fixture->context)->message,
                      "found more than 1024 MiB, expected a smaller file");
}

#define TABLE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TABLE_TEST(cells_have_texts_and_places),
      TABLE_TEST(quotes_are_undone),
      TABLE_TEST(comments_blank_lines_and_line_ends),
      TABLE_TEST(numbers_are_finite),
      TABLE_TEST(mistakes_are_refused_with_their_place),
      TABLE_TEST(impossible_sizes_cost_nothing),
      TABLE_TEST(files_are_read_or_refused),
  };
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
