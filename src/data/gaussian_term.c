#include "gaussian_term.h"

#include <string.h>

#include "csv_table.h"
#include "gaussian_rows.h"
#include "made_truth.h"
#include "problem_table.h"

/* ---- what is given ---- */

static RpinnStatus read_given(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                              const RpinnTerm *term, RpinnTermData *data) {
  RpinnCsvTable *table;
  const char *names[RPINN_MAX_COORDINATES], *path = rpinn_problem_path(problem, term->gaussian.given);
  if (!path) return rpinn_fail_memory(context);
  for (size_t i = 0; i < problem->num_coordinates; i++) names[i] = problem->coordinates[i].name;
  RPINN_TRY(rpinn_problem_table_read(context, arena, problem, path, term->gaussian.given_place, &table));
  return rpinn_given_values_read(context, arena, table, problem->num_coordinates, names, &data->given);
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
    RPINN_TRY(rpinn_given_values_krige(context, arena, &data->given, &model, &kriging));
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
