/* The rows are a CSV table like any other; the configuration is read from the comments above it. With
 * save_warmup = 1 the first ceil(num_warmup / thin) rows belong to the warmup: CmdStan writes every thin-th
 * iteration, beginning with the first of each phase. */
#include "cmdstan_csv.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "csv_table.h"
#include "text.h"
#include "whole_file.h"

/* ---- the configuration ---- */

enum { VALUE_SIZE = 48, LARGEST_COUNT = 2000000000 };

typedef struct Config {
  size_t num_warmup, thin, max_depth, save_warmup;
  bool has_num_warmup;
  RpinnPlace save_warmup_place;
} Config;

/* "#   num_warmup = 1000 (Default)": the key and the value, cut to the sizes; false for other comments. */
static bool split_comment(const char *line, size_t length, char key[VALUE_SIZE], char value[VALUE_SIZE],
                          size_t *value_column) {
  const char *equals = memchr(line, '=', length), *end = line + length;
  if (!equals) return false;
  const char *first = line + 1, *last = equals;
  while (first < last && rpinn_is_blank(*first)) first++;
  while (last > first && rpinn_is_blank(last[-1])) last--;
  if (last - first >= VALUE_SIZE) return false;
  memcpy(key, first, (size_t)(last - first));
  key[last - first] = '\0';
  first = equals + 1;
  while (first < end && rpinn_is_blank(*first)) first++;
  size_t size = 0;
  while (first + size < end && !rpinn_is_blank(first[size]) && size + 1 < VALUE_SIZE) size++;
  memcpy(value, first, size);
  value[size] = '\0';
  *value_column = (size_t)(first - line) + 1;
  return true;
}

static RpinnStatus take_count(RpinnContext *context, RpinnPlace place, const char *key, const char *text,
                              size_t least, size_t *count) {
  bool digits = *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 10;
  unsigned long long number = digits ? strtoull(text, NULL, 10) : 0;
  if (!digits || number < least || number > LARGEST_COUNT)
    return rpinn_fail_at(context, place, "found %s = '%.40s', expected a whole number from %zu to %d", key,
                         text, least, (int)LARGEST_COUNT);
  *count = (size_t)number;
  return RPINN_OK;
}

static RpinnStatus take_comment(RpinnContext *context, RpinnPlace place, const char *key, const char *value,
                                Config *config) {
  if (!strcmp(key, "num_warmup")) {
    config->has_num_warmup = true;
    return take_count(context, place, key, value, 0, &config->num_warmup);
  }
  if (!strcmp(key, "thin")) return take_count(context, place, key, value, 1, &config->thin);
  if (!strcmp(key, "max_depth")) return take_count(context, place, key, value, 1, &config->max_depth);
  if (!strcmp(key, "save_warmup")) {
    config->save_warmup_place = place;
    if (!strcmp(value, "true") || !strcmp(value, "false")) {
      config->save_warmup = !strcmp(value, "true");
      return RPINN_OK;
    }
    return take_count(context, place, key, value, 0, &config->save_warmup);
  }
  if (!strcmp(key, "method") && strcmp(value, "sample") != 0)
    return rpinn_fail_at(context, place,
                         "found method = '%.40s', expected the output of CmdStan's method sample", value);
  return RPINN_OK;
}

/* The comments before the line of names. */
static RpinnStatus read_config(RpinnContext *context, const char *file, const char *bytes, size_t length,
                               size_t header_line, Config *config) {
  *config = (Config){.thin = 1};
  size_t begin = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  for (size_t line = 1; line < header_line; line++) {
    const char *newline = memchr(bytes + begin, '\n', length - begin);
    size_t end = newline ? (size_t)(newline - bytes) : length, column;
    char key[VALUE_SIZE], value[VALUE_SIZE];
    if (end > begin && bytes[begin] == '#' && split_comment(bytes + begin, end - begin, key, value, &column))
      RPINN_TRY(take_comment(context, (RpinnPlace){file, line, column}, key, value, config));
    begin = end + 1;
  }
  if (config->save_warmup && !config->has_num_warmup)
    return rpinn_fail_at(context, config->save_warmup_place,
                         "found save_warmup = 1 but no num_warmup, expected it to tell warmup from draws");
  return RPINN_OK;
}

/* ---- the draws ---- */

/* Finite, or one of the words that CmdStan writes for what is not. */
static RpinnStatus read_number(RpinnContext *context, const RpinnCsvTable *table, size_t row, size_t column,
                               double *value) {
  const char *text = table->text[row * table->num_columns + column];
  if (!strcmp(text, "nan") || !strcmp(text, "-nan")) {
    *value = (double)NAN;
    return RPINN_OK;
  }
  if (!strcmp(text, "inf") || !strcmp(text, "-inf")) {
    *value = *text == '-' ? -(double)INFINITY : (double)INFINITY;
    return RPINN_OK;
  }
  return rpinn_csv_number(context, table, row, column, value);
}

static RpinnStatus take_draws(RpinnContext *context, RpinnArena *arena, const RpinnCsvTable *table,
                              const Config *config, RpinnCmdstanChain *chain) {
  size_t warmup = config->save_warmup ? (config->num_warmup + config->thin - 1) / config->thin : 0;
  if (warmup >= table->num_rows)
    return rpinn_fail_at(
        context, (RpinnPlace){table->file, table->lines[table->num_rows - 1], 1},
        "found %zu row%s, of which the first %zu are warmup (save_warmup = 1), expected draws "
        "after them",
        table->num_rows, table->num_rows == 1 ? "" : "s", warmup);
  chain->num_draws = table->num_rows - warmup;
  chain->num_warmup_rows = warmup;
  chain->last_line = table->lines[table->num_rows - 1];
  if (chain->num_draws > SIZE_MAX / chain->num_columns) return rpinn_fail_memory(context);
  double *values = RPINN_ARENA_NEW(arena, double, chain->num_columns * chain->num_draws);
  if (!values) return rpinn_fail_memory(context);
  for (size_t row = 0; row < chain->num_draws; row++)
    for (size_t column = 0; column < chain->num_columns; column++)
      RPINN_TRY(read_number(context, table, row + warmup, column, &values[column * chain->num_draws + row]));
  chain->values = values;
  return RPINN_OK;
}

/* The table lives in an arena of its own, for its texts take more room than the numbers. */
static RpinnStatus take_table(RpinnContext *context, RpinnArena *arena, const RpinnCsvTable *table,
                              const char *bytes, size_t length, RpinnCmdstanChain *chain) {
  Config config;
  if (rpinn_csv_column(table, "lp__") < 0)
    return rpinn_fail_at(context, table->header,
                         "found no column 'lp__', expected a CSV file of CmdStan's method sample");
  RPINN_TRY(read_config(context, table->file, bytes, length, table->header.line, &config));
  size_t *columns = RPINN_ARENA_NEW(arena, size_t, table->num_columns);
  chain->file = rpinn_arena_copy_text(arena, table->file, strlen(table->file));
  chain->names = RPINN_ARENA_NEW(arena, const char *, table->num_columns);
  if (!columns || !chain->file || !chain->names) return rpinn_fail_memory(context);
  for (size_t i = 0; i < table->num_columns; i++) {
    columns[i] = table->name_columns[i];
    chain->names[i] = rpinn_arena_copy_text(arena, table->names[i], strlen(table->names[i]));
    if (!chain->names[i]) return rpinn_fail_memory(context);
  }
  chain->num_columns = table->num_columns;
  chain->name_columns = columns;
  chain->header_line = table->header.line;
  chain->max_depth = config.max_depth;
  return take_draws(context, arena, table, &config, chain);
}

RpinnStatus rpinn_cmdstan_csv_parse(RpinnContext *context, RpinnArena *arena, const char *file,
                                    const char *bytes, size_t length, RpinnCmdstanChain **chain) {
  *chain = NULL;
  RpinnArena *texts = rpinn_arena_create();
  RpinnCmdstanChain *result = RPINN_ARENA_NEW(arena, RpinnCmdstanChain, 1);
  RpinnCsvTable *table;
  RpinnStatus status = texts && result ? rpinn_csv_parse(context, texts, file, bytes, length, &table)
                                       : rpinn_fail_memory(context);
  if (status == RPINN_OK) status = take_table(context, arena, table, bytes, length, result);
  rpinn_arena_destroy(texts);
  if (status == RPINN_OK) *chain = result;
  return status;
}

RpinnStatus rpinn_cmdstan_csv_read_file(RpinnContext *context, RpinnArena *arena, const char *path,
                                        RpinnCmdstanChain **chain) {
  RpinnText bytes = {0};
  *chain = NULL;
  RpinnStatus status = rpinn_file_read(context, path, RPINN_CSV_MAX_MEBIBYTES, &bytes);
  if (status == RPINN_OK)
    status =
        rpinn_cmdstan_csv_parse(context, arena, path, bytes.bytes ? bytes.bytes : "", bytes.length, chain);
  rpinn_text_free(&bytes);
  return status;
}

/* ---- several chains ---- */

RpinnStatus rpinn_cmdstan_csv_agree(RpinnContext *context, const RpinnCmdstanChain *first,
                                    const RpinnCmdstanChain *other) {
  for (size_t i = 0; i < first->num_columns && i < other->num_columns; i++)
    if (strcmp(first->names[i], other->names[i]) != 0)
      return rpinn_fail_at(context, (RpinnPlace){other->file, other->header_line, other->name_columns[i]},
                           "found the column '%.60s', expected '%.60s' as in '%.200s'", other->names[i],
                           first->names[i], first->file);
  if (first->num_columns != other->num_columns)
    return rpinn_fail_at(context, (RpinnPlace){other->file, other->header_line, 1},
                         "found %zu columns, expected %zu as in '%.200s'", other->num_columns,
                         first->num_columns, first->file);
  if (first->num_draws != other->num_draws)
    return rpinn_fail_at(context, (RpinnPlace){other->file, other->last_line, 1},
                         "found %zu draws, expected %zu as in '%.200s': was one of the chains cut short?",
                         other->num_draws, first->num_draws, first->file);
  return RPINN_OK;
}

const double *rpinn_cmdstan_csv_column(const RpinnCmdstanChain *chain, const char *name) {
  for (size_t i = 0; i < chain->num_columns; i++)
    if (!strcmp(chain->names[i], name)) return chain->values + i * chain->num_draws;
  return NULL;
}
