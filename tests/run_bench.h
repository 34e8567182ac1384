/* Runs in a temporary folder that goes after a failure too, and their files read back by name. */
#ifndef RPINN_TESTS_RUN_BENCH_H
#define RPINN_TESTS_RUN_BENCH_H

#include "temporary_folder.h"

#include "csv_table.h"
#include "json_reader.h"
#include "rpinn/run.h"
#include "whole_file.h"

enum { RUN_PATH = 1024, RUN_MAX_SETTINGS = 24 };

typedef struct RunBench {
  RpinnContext *context;
  RpinnArena *arena; /* of all that is read */
  char folder[RUN_PATH / 4];
} RunBench;

static inline int run_bench_setup(void **state) {
  RunBench *bench = calloc(1, sizeof *bench);
  const char *place = getenv("TMPDIR");
  if (!bench) return -1;
  bench->context = rpinn_context_create();
  bench->arena = rpinn_arena_create();
  snprintf(bench->folder, sizeof bench->folder, "%.200s/rpinn_run_XXXXXX", place && *place ? place : "/tmp");
  *state = bench;
  return bench->context && bench->arena && mkdtemp(bench->folder) ? 0 : -1;
}

static inline int run_bench_teardown(void **state) {
  RunBench *bench = *state;
  remove_tree(bench->folder);
  rpinn_arena_destroy(bench->arena);
  rpinn_context_destroy(bench->context);
  free(bench);
  return 0;
}

#define test_in_folder(function)                                                                             \
  cmocka_unit_test_setup_teardown(function, run_bench_setup, run_bench_teardown)

static inline const char *run_message(const RunBench *bench) {
  return rpinn_context_error(bench->context)->message;
}

static inline void run_require(const RunBench *bench, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s", run_message(bench));
}

/* folder/name, or folder/name/file. */
static inline const char *run_path(const RunBench *bench, const char *name, const char *file) {
  char *path = rpinn_arena_allocate(bench->arena, RUN_PATH, 1);
  assert_non_null(path);
  snprintf(path, RUN_PATH, "%s/%s%s%s", bench->folder, name, file ? "/" : "", file ? file : "");
  return path;
}

/* ---- making runs ---- */

/* Split "name=value name=value" in place. */
static inline size_t run_settings(char *text, RpinnOverride *overrides) {
  size_t count = 0;
  for (char *rest, *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *equals = strchr(word, '=');
    assert_true(equals && count < RUN_MAX_SETTINGS);
    *equals = '\0';
    overrides[count++] = (RpinnOverride){word, equals + 1, "test", false};
  }
  return count;
}

/* The YAML text as a problem with the settings. */
static inline RpinnProblem *run_problem(const RunBench *bench, const char *yaml, const char *settings) {
  char text[RUN_PATH];
  RpinnOverride overrides[RUN_MAX_SETTINGS];
  RpinnProblem *problem;
  snprintf(text, sizeof text, "%s", settings);
  RpinnProblemOptions options = {.num_overrides = run_settings(text, overrides), .overrides = overrides};
  run_require(bench,
              rpinn_problem_parse(bench->context, "test.yaml", yaml, strlen(yaml), &options, &problem));
  return problem;
}

/* A run in folder/name; its status. options: folder is filled in. */
static inline RpinnStatus run_try(const RunBench *bench, const char *name, const char *yaml,
                                  const char *settings, RpinnRunOptions options, RpinnRun **run) {
  RpinnProblem *problem = run_problem(bench, yaml, settings);
  options.folder = run_path(bench, name, NULL);
  RpinnStatus status = rpinn_run(bench->context, problem, &options, run);
  rpinn_problem_destroy(problem);
  return status;
}

/* ---- reading files ---- */

static inline const char *run_read(const RunBench *bench, const char *name, const char *file) {
  RpinnText text = {0};
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, name, file), 64, &text));
  char *copy = rpinn_arena_allocate(bench->arena, text.length + 1, 1);
  assert_non_null(copy);
  memcpy(copy, text.bytes, text.length);
  copy[text.length] = '\0';
  rpinn_text_free(&text);
  return copy;
}

static inline bool run_has(const RunBench *bench, const char *name, const char *file) {
  return access(run_path(bench, name, file), F_OK) == 0;
}

static inline const RpinnJsonValue *run_json(const RunBench *bench, const char *name) {
  const char *text = run_read(bench, name, "summary.json");
  const RpinnJsonValue *value;
  run_require(bench,
              rpinn_json_parse(bench->context, bench->arena, "summary.json", text, strlen(text), &value));
  return value;
}

/* A value by its path, such as "chains/per_chain/0/leapfrogs". */
static inline const RpinnJsonValue *json_at(const RpinnJsonValue *value, const char *path) {
  char text[256];
  snprintf(text, sizeof text, "%s", path);
  for (char *rest, *word = strtok_r(text, "/", &rest); word; word = strtok_r(NULL, "/", &rest)) {
    const RpinnJsonValue *item = rpinn_json_find(value, word);
    if (value->kind == RPINN_JSON_ARRAY) {
      item = value->first;
      for (long k = strtol(word, NULL, 10); k > 0 && item; k--) item = item->next;
    }
    check_true(item != NULL, "no '%s' of '%s' in the summary", word, path);
    value = item;
  }
  return value;
}

static inline double json_number(const RpinnJsonValue *value, const char *path) {
  double number = 0;
  check_true(rpinn_json_as_number(json_at(value, path), &number), "'%s' is no number", path);
  return number;
}

static inline const char *json_text(const RpinnJsonValue *value, const char *path) {
  const RpinnJsonValue *text = json_at(value, path);
  check_true(text->kind == RPINN_JSON_TEXT, "'%s' is no text", path);
  return text->text;
}

static inline bool json_flag(const RpinnJsonValue *value, const char *path) {
  const RpinnJsonValue *flag = json_at(value, path);
  check_true(flag->kind == RPINN_JSON_BOOLEAN, "'%s' is neither true nor false", path);
  return flag->boolean;
}

static inline RpinnCsvTable *run_csv(const RunBench *bench, const char *name, const char *file) {
  RpinnCsvTable *table;
  run_require(bench, rpinn_csv_read_file(bench->context, bench->arena, run_path(bench, name, file), &table));
  return table;
}

static inline const char *csv_text(const RpinnCsvTable *table, size_t row, const char *column) {
  int at = rpinn_csv_column(table, column);
  check_true(at >= 0, "no column '%s' in %s", column, table->file);
  assert_true(row < table->num_rows);
  return table->text[row * table->num_columns + (size_t)at];
}

/* NaN for an empty cell. */
static inline double csv_number(const RpinnCsvTable *table, size_t row, const char *column) {
  const char *text = csv_text(table, row, column);
  return *text ? strtod(text, NULL) : (double)NAN;
}

/* ---- short cuts ---- */

/* A run that must succeed, and its summary. */
static inline const RpinnJsonValue *run_make(const RunBench *bench, const char *name, const char *yaml,
                                             const char *settings) {
  RpinnRun *run;
  run_require(bench, run_try(bench, name, yaml, settings, (RpinnRunOptions){0}, &run));
  rpinn_run_destroy(run);
  return run_json(bench, name);
}

static inline const RpinnJsonValue *run_resume(const RunBench *bench, const char *name, const char *yaml,
                                               const char *settings) {
  RpinnRun *run;
  run_require(bench, run_try(bench, name, yaml, settings, (RpinnRunOptions){.resume = true}, &run));
  rpinn_run_destroy(run);
  return run_json(bench, name);
}

/* |found - expected| <= tolerance * |expected|; equal infinities and NaN beside NaN are alike. */
static inline void check_same_at(double found, double expected, double tolerance, const char *what,
                                 const char *file, int line) {
  bool good = isnan(expected) ? isnan(found)
                              : found == expected || fabs(found - expected) <= tolerance * fabs(expected);
  if (good) return;
  print_error("%s:%d: %s is %.17g, expected %.17g\n", file, line, what, found, expected);
  fail();
}
#define check_same(found, expected, tolerance, what)                                                         \
  check_same_at(found, expected, tolerance, what, __FILE__, __LINE__)

#endif
