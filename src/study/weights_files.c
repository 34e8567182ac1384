/* scores/NAME.json: what was found of a candidate, a list of numbers. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "json_reader.h"
#include "json_writer.h"
#include "part_file.h"
#include "weights_state.h"
#include "whole_file.h"

static void path_of(const RpinnWeightSearch *search, const char *name, char path[RPINN_PATH_SIZE]) {
  snprintf(path, RPINN_PATH_SIZE, "%.3700s/scores/%.200s.json", search->options->folder, name);
}

static RpinnStatus read_list(RpinnContext *context, const RpinnJsonValue *list, size_t count,
                             double *numbers) {
  if (list->kind != RPINN_JSON_ARRAY || list->count != count)
    return rpinn_fail_at(context, list->place, "expected a list of %zu numbers", count);
  const RpinnJsonValue *item = list->first;
  for (size_t k = 0; k < count; k++, item = item->next)
    if (!rpinn_json_as_number(item, &numbers[k]))
      return rpinn_fail_at(context, item->place, "found something else in a list; expected a number");
  return RPINN_OK;
}

RpinnStatus rpinn_weights_read_numbers(RpinnContext *context, const RpinnWeightSearch *search,
                                       const char *name, size_t count, double *numbers, bool *found) {
  char path[RPINN_PATH_SIZE];
  RpinnText text = {0};
  const RpinnJsonValue *value;
  path_of(search, name, path);
  *found = access(path, F_OK) == 0;
  if (!*found) return RPINN_OK;
  RpinnArena *arena = rpinn_arena_create();
  if (!arena) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &text);
  if (status == RPINN_OK)
    status = rpinn_json_parse(context, arena, path, text.bytes ? text.bytes : "", text.length, &value);
  if (status == RPINN_OK) status = read_list(context, value, count, numbers);
  rpinn_text_free(&text);
  rpinn_arena_destroy(arena);
  return status;
}

RpinnStatus rpinn_weights_write_numbers(RpinnContext *context, const RpinnWeightSearch *search,
                                        const char *name, size_t count, const double *numbers) {
  char path[RPINN_PATH_SIZE];
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '[');
  for (size_t k = 0; k < count; k++) rpinn_json_number(&json, NULL, numbers[k]);
  rpinn_json_close(&json, ']');
  rpinn_text_append(&text, "\n");
  path_of(search, name, path);
  RpinnStatus status = rpinn_part_file_write(context, path, &text);
  rpinn_text_free(&text);
  return status;
}
