#include "given_values.h"

#include <string.h>

#include "kriging.h"
#include "text.h"

/* The coordinates, value and perhaps std; nothing else. */
static RpinnStatus check_columns(RpinnContext *context, const RpinnCsvTable *table, size_t num_coordinates,
                                 const char *const *names) {
  const char *known[RPINN_FIELD_MAX_AXES + 2];
  size_t count = 0;
  for (size_t i = 0; i < num_coordinates; i++) known[count++] = names[i];
  known[count++] = "value";
  known[count++] = "std";
  for (size_t k = 0; k < table->num_columns; k++) {
    bool found = false;
    for (size_t i = 0; i < count; i++) found |= !strcmp(known[i], table->names[k]);
    if (found) continue;
    const char *near = rpinn_nearest_name(table->names[k], known, count);
    return rpinn_fail_at(context, rpinn_csv_name_place(table, k),
                         "unknown column '%.60s'; expected the coordinates, value and std%s%s%s",
                         table->names[k], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  for (size_t i = 0; i + 1 < count; i++) /* std may be left out */
    if (rpinn_csv_column(table, known[i]) < 0)
      return rpinn_fail_at(context, table->header,
                           "no column '%s'; expected the coordinates, value and, if known, std", known[i]);
  return RPINN_OK;
}

RpinnStatus rpinn_given_values_read(RpinnContext *context, RpinnArena *arena, const RpinnCsvTable *table,
                                    size_t num_coordinates, const char *const *names,
                                    RpinnGivenValues *given) {
  RPINN_TRY(check_columns(context, table, num_coordinates, names));
  size_t value = (size_t)rpinn_csv_column(table, "value");
  int std = rpinn_csv_column(table, "std");
  *given = (RpinnGivenValues){.count = table->num_rows,
                              .places = RPINN_ARENA_NEW(arena, double, table->num_rows *num_coordinates),
                              .values = RPINN_ARENA_NEW(arena, double, table->num_rows),
                              .deviations = RPINN_ARENA_NEW(arena, double, table->num_rows)};
  if (!given->places || !given->values || !given->deviations) return rpinn_fail_memory(context);
  for (size_t row = 0; row < table->num_rows; row++) {
    for (size_t i = 0; i < num_coordinates; i++)
      RPINN_TRY(rpinn_csv_number(context, table, row, (size_t)rpinn_csv_column(table, names[i]),
                                 &given->places[row * num_coordinates + i]));
    RPINN_TRY(rpinn_csv_number(context, table, row, value, &given->values[row]));
    if (std < 0) continue;
    RPINN_TRY(rpinn_csv_number(context, table, row, (size_t)std, &given->deviations[row]));
    if (given->deviations[row] < 0)
      return rpinn_fail_at(context, rpinn_csv_place(table, row, (size_t)std),
                           "std is %.10g; expected a standard deviation of 0 or more",
                           given->deviations[row]);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_given_values_krige(RpinnContext *context, RpinnArena *arena, const RpinnGivenValues *given,
                                     const RpinnFieldModel *model, RpinnKriging **kriging) {
  double *nuggets = RPINN_ARENA_NEW(arena, double, given->count);
  if (!nuggets) return rpinn_fail_memory(context);
  for (size_t k = 0; k < given->count; k++) nuggets[k] = given->deviations[k] * given->deviations[k];
  return rpinn_kriging_create(context, model, given->count, given->places, given->values, nuggets, kriging);
}
