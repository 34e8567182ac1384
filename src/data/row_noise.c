#include "row_noise.h"

#include <math.h>

RpinnStatus rpinn_row_noise_evaluate(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                     const RpinnTerm *term, RpinnTermData *data) {
  if (!term->row_noise.text) return RPINN_OK;
  data->noise = RPINN_ARENA_NEW(arena, double, data->points.count);
  if (!data->noise) return rpinn_fail_memory(context);
  for (size_t p = 0; p < data->points.count; p++) {
    RpinnExpressionInputs inputs = {.coordinates = data->points.x + p * problem->num_coordinates};
    double *noise = &data->noise[p];
    if (rpinn_expression_evaluate(problem->pool, term->row_noise.expression, &inputs, noise) != RPINN_OK)
      return rpinn_fail_memory(context);
    if (*noise > 0 && isfinite(*noise) && isfinite(1 / *noise)) continue;
    return rpinn_fail_at(
        context, term->row_noise.place,
        "the noise of term '%s' is %.10g at %s = %.10g; expected a finite standard deviation "
        "above 0 at every point",
        term->name, *noise, problem->coordinates[0].name, inputs.coordinates[0]);
  }
  return RPINN_OK;
}

static size_t row_of(const RpinnNoiseColumn *column, size_t point) {
  return column->rows ? column->rows[point] : point;
}

static bool all_empty(const RpinnNoiseColumn *column, size_t number, size_t count) {
  const RpinnCsvTable *table = column->table;
  for (size_t p = 0; p < count; p++)
    if (table->text[row_of(column, p) * table->num_columns + number][0]) return false;
  return true;
}

RpinnStatus rpinn_row_noise_read(RpinnContext *context, RpinnArena *arena, const RpinnNoiseColumn *column,
                                 const RpinnTerm *term, RpinnTermData *data) {
  const RpinnCsvTable *table = column->table;
  int found = rpinn_csv_column(table, "noise");
  size_t number = (size_t)found, count = data->points.count;
  if (found < 0 || (column->may_be_empty && all_empty(column, number, count))) return RPINN_OK;
  bool is_said = term->has_noise || term->row_noise.text;
  if (term->unknown_noise.present || (is_said && !column->replaces))
    return rpinn_fail_at(
        context, rpinn_csv_name_place(table, number),
        "a column 'noise' for term '%s', whose noise is in the problem file too; expected it "
        "in one of the two",
        term->name);
  data->noise = RPINN_ARENA_NEW(arena, double, count);
  if (!data->noise) return rpinn_fail_memory(context);
  data->noise_from_file = true;
  for (size_t p = 0; p < count; p++) {
    double *noise = &data->noise[p];
    RPINN_TRY(rpinn_csv_number(context, table, row_of(column, p), number, noise));
    if (*noise > 0 && isfinite(1 / *noise)) continue;
    return rpinn_fail_at(context, rpinn_csv_place(table, row_of(column, p), number),
                         "the noise is %.10g; expected a standard deviation above 0", *noise);
  }
  return RPINN_OK;
}

double rpinn_row_noise_typical(const RpinnTerm *term, const RpinnTermData *data) {
  double sum = 0;
  if (!data->noise) return term->has_noise ? term->noise : (double)NAN;
  for (size_t p = 0; p < data->points.count; p++) sum += data->noise[p] * data->noise[p];
  return sqrt(sum / (double)data->points.count);
}
