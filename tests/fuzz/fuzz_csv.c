/* Any bytes either give a full table whose cells stand where it says, or are refused with a place. */
#include "fuzz.h"

#include <math.h>

#include "csv_table.h"

static void check_cell(RpinnContext *context, const RpinnCsvTable *table, size_t row, size_t column,
                       const char *bytes, size_t size) {
  const char *text = table->text[row * table->num_columns + column];
  size_t offset = fuzz_offset(bytes, size, rpinn_csv_place(table, row, column));
  if (*text) fuzz_require(offset < size && (bytes[offset] == '"' || bytes[offset] == *text));
  double value;
  RpinnStatus status = rpinn_csv_number(context, table, row, column, &value);
  if (status == RPINN_OK)
    fuzz_require(isfinite(value));
  else
    fuzz_require_refusal(context, status, size);
}

static void check_table(RpinnContext *context, const RpinnCsvTable *table, const char *bytes, size_t size) {
  fuzz_require(table->num_rows >= 1 && table->num_columns >= 1);
  fuzz_require(table->num_rows * table->num_columns <= size);
  for (size_t i = 0; i < table->num_columns; i++) {
    fuzz_require(table->names[i][0]);
    fuzz_require(rpinn_csv_column(table, table->names[i]) == (int)i);
  }
  for (size_t row = 0; row < table->num_rows; row++)
    for (size_t column = 0; column < table->num_columns; column++)
      check_cell(context, table, row, column, bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = (const char *)data;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  fuzz_require(context && arena);
  RpinnCsvTable *table;
  RpinnStatus status = rpinn_csv_parse(context, arena, "fuzz.csv", bytes, size, &table);
  if (status == RPINN_OK)
    check_table(context, table, bytes, size);
  else
    fuzz_require_refusal(context, status, size);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
  return 0;
}
