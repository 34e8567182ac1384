/* A row of the table as a line of JSON, which one process prints and another reads. */
#include <math.h>
#include <string.h>

#include "json_reader.h"
#include "json_writer.h"
#include "scaling_row.h"

static const struct {
  const char *key;
  size_t offset;
} fields[] = {{"ranks", offsetof(RpinnScalingRow, ranks)},
              {"cores", offsetof(RpinnScalingRow, cores)},
              {"load", offsetof(RpinnScalingRow, load)},
              {"latency", offsetof(RpinnScalingRow, latency)},
              {"bandwidth", offsetof(RpinnScalingRow, bandwidth)},
              {"few_members", offsetof(RpinnScalingRow, few_members)},
              {"few_served", offsetof(RpinnScalingRow, few_served)},
              {"few_collected", offsetof(RpinnScalingRow, few_collected)},
              {"many_members", offsetof(RpinnScalingRow, many_members)},
              {"many_served", offsetof(RpinnScalingRow, many_served)},
              {"many_collected", offsetof(RpinnScalingRow, many_collected)},
              {"member_seconds", offsetof(RpinnScalingRow, member_seconds)},
              {"weak_members", offsetof(RpinnScalingRow, weak_members)},
              {"weak_seconds", offsetof(RpinnScalingRow, weak_seconds)},
              {"weak", offsetof(RpinnScalingRow, weak)},
              {"weak_alone", offsetof(RpinnScalingRow, weak_alone)},
              {"strong_members", offsetof(RpinnScalingRow, strong_members)},
              {"strong_seconds", offsetof(RpinnScalingRow, strong_seconds)},
              {"strong", offsetof(RpinnScalingRow, strong)}};

enum { NUM_FIELDS = sizeof fields / sizeof fields[0] };

void rpinn_scaling_row_write(const RpinnScalingRow *row, RpinnJson *json) {
  rpinn_json_open(json, NULL, '{');
  for (size_t k = 0; k < NUM_FIELDS; k++)
    rpinn_json_number(json, fields[k].key, *(const double *)((const char *)row + fields[k].offset));
  rpinn_json_close(json, '}');
}

char *rpinn_scaling_row_json(const RpinnScalingRow *row) {
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_scaling_row_write(row, &json);
  rpinn_text_append(&text, "\n");
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}

static RpinnStatus take_fields(RpinnContext *context, const RpinnJsonValue *object, RpinnScalingRow *row) {
  for (size_t k = 0; k < NUM_FIELDS; k++) {
    const RpinnJsonValue *value = rpinn_json_find(object, fields[k].key);
    double *number = (double *)((char *)row + fields[k].offset);
    if (!value || !rpinn_json_as_number(value, number))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "a row of the scaling has no number '%s'", fields[k].key);
  }
  return RPINN_OK;
}

/* Launchers print lines of their own before and after. */
RpinnStatus rpinn_scaling_row_read(RpinnContext *context, const char *text, RpinnScalingRow *row) {
  const char *line = strstr(text, "{\"ranks\":");
  const RpinnJsonValue *object;
  if (!line)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "found no row of the scaling; found '%.300s'", text);
  RpinnArena *arena = rpinn_arena_create();
  if (!arena) return rpinn_fail_memory(context);
  RpinnStatus status =
      rpinn_json_parse(context, arena, "row of the scaling", line, strcspn(line, "\n"), &object);
  if (status == RPINN_OK) status = take_fields(context, object, row);
  rpinn_arena_destroy(arena);
  return status;
}
