#include "gaussian_term.h"

#include <string.h>

#include "csv_table.h"
#include "gaussian_rows.h"
#include "made_truth.h"

/* ---- what is given ---- */

/* The coordinates, value and perhaps std; nothing else. */
static RpinnStatus check_columns(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnCsvTable *table) {
  const char *known[RPINN_LAW_MAX_AXES + 2];
  size_t count = 0;
  for (size_t i = 0; i < problem->num_coordinates; i++) known[count++] = problem->coordinates[i].name;
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

/* Measurements may lie outside the domain: a field does not end there. */
static RpinnStatus read_given(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                              const RpinnTerm *term, RpinnTermData *data) {
  RpinnCsvTable *table;
  const char *path = rpinn_problem_path(problem, term->gaussian.given);
  if (!path) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_csv_read_named(context, arena, path, term->gaussian.given_place, &table));
  RPINN_TRY(check_columns(context, problem, table));
  size_t dimension = problem->num_coordinates, value = (size_t)rpinn_csv_column(table, "value");
  int std = rpinn_csv_column(table, "std");
  RpinnGivenValues *given = &data->given;
  *given = (RpinnGivenValues){.count = table->num_rows,
                              .places = RPINN_ARENA_NEW(arena, double, table->num_rows *dimension),
                              .values = RPINN_ARENA_NEW(arena, double, table->num_rows),
                              .deviations = RPINN_ARENA_NEW(arena, double, table->num_rows)};
  if (!given->places || !given->values || !given->deviations) return rpinn_fail_memory(context);
  for (size_t row = 0; row < table->num_rows; row++) {
    for (size_t i = 0; i < dimension; i++)
      RPINN_TRY(rpinn_csv_number(context, table, row,
                                 (size_t)rpinn_csv_column(table, problem->coordinates[i].name),
                                 &given->places[row * dimension + i]));
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

static RpinnStatus make_kriging(RpinnContext *context, RpinnArena *arena, const RpinnFieldModel *model,
                                const RpinnGivenValues *given, RpinnKriging **kriging) {
  double *nuggets = RPINN_ARENA_NEW(arena, double, given->count);
  if (!nuggets) return rpinn_fail_memory(context);
  for (size_t k = 0; k < given->count; k++) nuggets[k] = given->deviations[k] * given->deviations[k];
  return rpinn_kriging_create(context, model, given->count, given->places, given->values, nuggets, kriging);
}

void rpinn_gaussian_term_write_given(const RpinnProblem *problem, const RpinnTermData *data, RpinnText *csv) {
  char number[RPINN_NUMBER_TEXT];
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(csv, "%s,", problem->coordinates[i].name);
  rpinn_text_append(csv, "value,std\n");
  for (size_t k = 0; k < data->given.count; k++) {
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      rpinn_number_format(data->given.places[k * problem->num_coordinates + i], number);
      rpinn_text_append(csv, "%s,", number);
    }
    rpinn_number_format(data->given.values[k], number);
    rpinn_text_append(csv, "%s,", number);
    rpinn_number_format(data->given.deviations[k], number);
    rpinn_text_append(csv, "%s\n", number);
  }
}

/* ---- rows ---- */

RpinnStatus rpinn_gaussian_term_fill(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                                     const RpinnTerm *term, RpinnTermData *data) {
  RpinnFieldModel model = rpinn_field_of_law(problem, &term->gaussian.law);
  RpinnKriging *kriging = NULL;
  RpinnGaussianRows rows;
  if (data->points.count > RPINN_GAUSSIAN_MAX_POINTS)
    return rpinn_fail_at(context, term->at.place, "gaussian of term '%s' has %zu points; expected at most %d",
                         term->name, data->points.count, RPINN_GAUSSIAN_MAX_POINTS);
  if (term->gaussian.given) {
    RPINN_TRY(read_given(context, arena, problem, term, data));
    RPINN_TRY(make_kriging(context, arena, &model, &data->given, &kriging));
  }
  RpinnStatus status =
      rpinn_gaussian_rows_create(context, arena, &model, kriging, data->points.count, data->points.x, &rows);
  rpinn_kriging_destroy(kriging);
  RPINN_TRY(status);
  data->values = rows.mean;
  data->mix = rows.mix;
  data->num_rows = rows.num_rows;
  return RPINN_OK;
}
