#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expression_parser.h"
#include "json_writer.h"
#include "part_file.h"
#include "reference_state.h"
#include "vti_image.h"

/* ---- making ---- */

RpinnStatus rpinn_reference_create(RpinnContext *context, RpinnReference **reference) {
  RpinnArena *arena = rpinn_arena_create();
  *reference = arena ? RPINN_ARENA_NEW(arena, RpinnReference, 1) : NULL;
  if (!*reference) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  (*reference)->arena = arena;
  (*reference)->balance_error = (double)NAN;
  return RPINN_OK;
}

void rpinn_reference_destroy(RpinnReference *reference) {
  if (reference) rpinn_arena_destroy(reference->arena);
}

RpinnStatus rpinn_reference_name_axes(RpinnContext *context, RpinnReference *reference, size_t num_axes,
                                      const char *const names[2]) {
  static const char *const usual[2] = {"x1", "x2"}, *const taken[] = {"y", "k", "h", "y_std", "value", "std"};
  reference->num_axes = num_axes;
  for (size_t i = 0; i < num_axes; i++) {
    const char *name = names[i] ? names[i] : usual[i];
    bool good = rpinn_name_is_valid(name) && (i == 0 || strcmp(reference->names[0], name) != 0);
    for (size_t k = 0; k < sizeof taken / sizeof taken[0]; k++) good &= strcmp(taken[k], name) != 0;
    if (!good)
      return rpinn_fail(
          context, RPINN_ERROR_INPUT,
          "'%.60s' is no name for coordinate %zu; expected letters, digits and _, each name once and "
          "none of y, k, h, y_std, value, std",
          name, i + 1);
    reference->names[i] = rpinn_arena_copy_text(reference->arena, name, strlen(name));
    if (!reference->names[i]) return rpinn_fail_memory(context);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_reference_add_column(RpinnContext *context, RpinnReference *reference, const char *name,
                                       double **values) {
  *values = RPINN_ARENA_NEW(reference->arena, double, reference->num_cells);
  if (!*values) return rpinn_fail_memory(context);
  reference->columns[reference->num_columns++] = (RpinnReferenceColumn){name, *values};
  return RPINN_OK;
}

/* ---- the table ---- */

static void append_csv(const RpinnReference *reference, RpinnText *csv) {
  char number[RPINN_NUMBER_TEXT];
  for (size_t i = 0; i < reference->num_axes; i++)
    rpinn_text_append(csv, "%s%s", i ? "," : "", reference->names[i]);
  for (size_t k = 0; k < reference->num_columns; k++)
    rpinn_text_append(csv, ",%s", reference->columns[k].name);
  rpinn_text_append(csv, "\n");
  for (size_t c = 0; c < reference->num_cells; c++) {
    size_t place[2] = {c % reference->counts[0], c / reference->counts[0]};
    for (size_t i = 0; i < reference->num_axes; i++) {
      rpinn_number_format(reference->centres[i][place[i]], number);
      rpinn_text_append(csv, "%s%s", i ? "," : "", number);
    }
    for (size_t k = 0; k < reference->num_columns; k++) {
      rpinn_number_format(reference->columns[k].values[c], number);
      rpinn_text_append(csv, ",%s", number);
    }
    rpinn_text_append(csv, "\n");
  }
}

/* The bytes, which now belong to the caller; NULL when memory ran out. */
static char *give_text(RpinnText *text) {
  if (!text->failed) return text->bytes;
  rpinn_text_free(text);
  return NULL;
}

char *rpinn_reference_csv(const RpinnReference *reference) {
  RpinnText csv = {0};
  append_csv(reference, &csv);
  return give_text(&csv);
}

static RpinnStatus write_image(RpinnContext *context, const RpinnReference *reference, const char *path) {
  RpinnVtiImage image = {.of_cells = true, .num_values = reference->num_cells, .spacing = {1, 1, 1}};
  RpinnVtiArray arrays[RPINN_REFERENCE_MAX_COLUMNS] = {{0}};
  if (reference->num_axes != 2)
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "'%.200s' is a VTK image of an interval; expected two dimensions, or a name that ends in .csv", path);
  for (size_t i = 0; i < 2; i++) {
    image.num_steps[i] = reference->counts[i];
    image.origin[i] = reference->low[i];
    image.spacing[i] = (reference->high[i] - reference->low[i]) / (double)reference->counts[i];
  }
  for (size_t k = 0; k < reference->num_columns; k++)
    arrays[k] = (RpinnVtiArray){.name = reference->columns[k].name, .values = reference->columns[k].values};
  return rpinn_vti_image_write(context, path, &image, reference->num_columns, arrays);
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length > end_length && !strcmp(text + length - end_length, end);
}

RpinnStatus rpinn_reference_write(RpinnContext *context, const RpinnReference *reference, const char *path) {
  if (ends_with(path, ".vti")) return write_image(context, reference, path);
  if (!ends_with(path, ".csv"))
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "cannot tell what '%.200s' is; expected a name that ends in "
                      ".csv or .vti",
                      path);
  RpinnText csv = {0};
  append_csv(reference, &csv);
  RpinnStatus status = rpinn_part_file_write(context, path, &csv);
  rpinn_text_free(&csv);
  return status;
}

/* ---- summaries ---- */

typedef struct Range {
  double mean, std, low, high;
} Range;

static Range range_of(const RpinnReference *reference, size_t column) {
  const double *values = reference->columns[column].values;
  Range range = {.low = INFINITY, .high = -INFINITY};
  double count = (double)reference->num_cells, squares = 0;
  for (size_t c = 0; c < reference->num_cells; c++) {
    range.mean += values[c] / count;
    range.low = fmin(range.low, values[c]);
    range.high = fmax(range.high, values[c]);
  }
  for (size_t c = 0; c < reference->num_cells; c++) squares += pow(values[c] - range.mean, 2);
  range.std = sqrt(squares / count);
  return range;
}

char *rpinn_reference_text(const RpinnReference *reference) {
  RpinnText text = {0};
  rpinn_text_append(&text, "%s\n", reference->title);
  for (size_t i = 0; i < reference->num_axes; i++)
    rpinn_text_append(&text, "%s%zu cells of %s in [%.6g, %.6g]", i ? ", " : "", reference->counts[i],
                      reference->names[i], reference->low[i], reference->high[i]);
  rpinn_text_append(&text, "\n\n  %-8s %12s %12s %12s %12s\n", "column", "mean", "std", "smallest",
                    "largest");
  for (size_t k = 0; k < reference->num_columns; k++) {
    Range range = range_of(reference, k);
    rpinn_text_append(&text, "  %-8s %12.6g %12.6g %12.6g %12.6g\n", reference->columns[k].name, range.mean,
                      range.std, range.low, range.high);
  }
  if (!isnan(reference->balance_error))
    rpinn_text_append(&text, "\ninflow and outflow differ by %.1e of the larger\n", reference->balance_error);
  return give_text(&text);
}

char *rpinn_reference_json(const RpinnReference *reference) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "title", reference->title);
  rpinn_json_open(&json, "coordinates", '{');
  for (size_t i = 0; i < reference->num_axes; i++) {
    rpinn_json_open(&json, reference->names[i], '{');
    rpinn_json_number(&json, "cells", (double)reference->counts[i]);
    rpinn_json_number(&json, "low", reference->low[i]);
    rpinn_json_number(&json, "high", reference->high[i]);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "columns", '{');
  for (size_t k = 0; k < reference->num_columns; k++) {
    Range range = range_of(reference, k);
    rpinn_json_open(&json, reference->columns[k].name, '{');
    rpinn_json_number(&json, "mean", range.mean);
    rpinn_json_number(&json, "std", range.std);
    rpinn_json_number(&json, "smallest", range.low);
    rpinn_json_number(&json, "largest", range.high);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, '}');
  rpinn_json_number(&json, "balance_error", reference->balance_error);
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  return give_text(&text);
}
