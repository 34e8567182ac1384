#include "truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "made_truth.h"
#include "problem_table.h"

/* ---- columns ---- */

int rpinn_truth_column(const RpinnTruth *truth, const char *name) {
  for (size_t k = 0; k < truth->num_columns; k++)
    if (!strcmp(truth->names[k], name)) return (int)k;
  return -1;
}

static bool is_coordinate(const RpinnProblem *problem, const char *name) {
  for (size_t i = 0; i < problem->num_coordinates; i++)
    if (!strcmp(problem->coordinates[i].name, name)) return true;
  return false;
}

/* Coordinates stay coordinates although a table has columns for them: what is an expression of coordinates
 * alone is known everywhere and has derivatives. */
static bool column_name(void *user, const char *name, RpinnExpression *expression) {
  const RpinnTruth *truth = user;
  int column = is_coordinate(truth->problem, name) ? -1 : rpinn_truth_column(truth, name);
  if (column < 0) return false;
  *expression = rpinn_expression_channel(truth->problem->pool, (size_t)column);
  return true;
}

static RpinnStatus parse_with_columns(RpinnContext *context, RpinnTruth *truth,
                                      const RpinnNamedExpression *named, RpinnExpression *expression) {
  return rpinn_problem_expression_with(context, truth->problem,
                                       RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES, column_name, truth,
                                       named->text, named->place, expression);
}

/* Room for the cells' rows: the columns of a table and what is made. */
static RpinnStatus allocate_rows(RpinnContext *context, RpinnArena *arena, size_t num_of_table,
                                 RpinnTruth *truth) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  truth->row_length = num_of_table + spec->field.present + spec->flow.present;
  truth->names = RPINN_ARENA_NEW(arena, const char *, truth->row_length);
  truth->columns = RPINN_ARENA_NEW(arena, double, truth->cells.count * truth->row_length);
  return truth->names && truth->columns ? RPINN_OK : rpinn_fail_memory(context);
}

static RpinnStatus read_coordinate(RpinnContext *context, const RpinnCsvTable *table, size_t coordinate_index,
                                   RpinnTruth *truth) {
  const RpinnProblem *problem = truth->problem;
  const RpinnCoordinate *coordinate = &problem->coordinates[coordinate_index];
  int column = rpinn_csv_column(table, coordinate->name);
  if (column < 0)
    return rpinn_fail_at(context, table->header, "no column '%s' in the truth; expected one per coordinate",
                         coordinate->name);
  double tolerance = RPINN_DOMAIN_TOLERANCE * (coordinate->high - coordinate->low);
  for (size_t row = 0; row < table->num_rows; row++) {
    double x = truth->columns[row * truth->row_length + (size_t)column];
    if (x < coordinate->low - tolerance || x > coordinate->high + tolerance)
      return rpinn_fail_at(context, rpinn_csv_place(table, row, (size_t)column),
                           "%s = %.10g is outside the domain; expected %.10g to %.10g", coordinate->name, x,
                           coordinate->low, coordinate->high);
    truth->cells.x[row * problem->num_coordinates + coordinate_index] = x;
  }
  return RPINN_OK;
}

static RpinnStatus read_table(RpinnContext *context, RpinnArena *arena, RpinnTruth *truth) {
  RpinnProblem *problem = truth->problem;
  RpinnCsvTable *table;
  const char *path = rpinn_problem_path(problem, problem->truth.file);
  if (!path) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_problem_table_read(context, arena, problem, path, problem->truth.place, &table));
  truth->cells =
      (RpinnPointSet){.count = table->num_rows,
                      .x = RPINN_ARENA_NEW(arena, double, table->num_rows * problem->num_coordinates)};
  if (!truth->cells.x) return rpinn_fail_memory(context);
  RPINN_TRY(allocate_rows(context, arena, table->num_columns, truth));
  truth->num_columns = table->num_columns;
  memcpy(truth->names, table->names, table->num_columns * sizeof *truth->names);
  for (size_t row = 0; row < table->num_rows; row++)
    for (size_t k = 0; k < table->num_columns; k++)
      RPINN_TRY(rpinn_csv_number(context, table, row, k, &truth->columns[row * truth->row_length + k]));
  for (size_t i = 0; i < problem->num_coordinates; i++) RPINN_TRY(read_coordinate(context, table, i, truth));
  return RPINN_OK;
}

/* Rows of a table that also declares its cells are as many; where something is made on the cells, they are the
 * cells in their order. */
static RpinnStatus compare_with_grid(RpinnContext *context, const RpinnTruth *truth,
                                     const RpinnPointSet *grid) {
  const RpinnProblem *problem = truth->problem;
  const RpinnTruthSpec *spec = &problem->truth;
  if (grid->count != truth->cells.count)
    return rpinn_fail_at(context, spec->place,
                         "the truth declares %zu cells and its table has %zu rows; expected as many",
                         grid->count, truth->cells.count);
  for (size_t p = 0; (spec->field.present || spec->flow.present) && p < grid->count; p++)
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      size_t k = p * problem->num_coordinates + i;
      double width = problem->coordinates[i].high - problem->coordinates[i].low;
      if (fabs(grid->x[k] - truth->cells.x[k]) > RPINN_DOMAIN_TOLERANCE * width)
        return rpinn_fail_at(
            context, spec->place,
            "row %zu of the truth's table has %s = %.10g and its cell %.10g; expected the cells "
            "in order, the first coordinate fastest",
            p + 1, problem->coordinates[i].name, truth->cells.x[k], grid->x[k]);
    }
  return RPINN_OK;
}

static RpinnStatus make_cells(RpinnContext *context, RpinnArena *arena, RpinnTruth *truth) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  RpinnPointSet grid;
  if (spec->file) RPINN_TRY(read_table(context, arena, truth));
  if (spec->has_cells) {
    RPINN_TRY(rpinn_point_set_cells(context, arena, truth->problem, spec->cells, &grid));
    if (spec->file) {
      RPINN_TRY(compare_with_grid(context, truth, &grid));
    } else {
      truth->cells = grid;
      RPINN_TRY(allocate_rows(context, arena, 0, truth));
    }
  }
  truth->cells.cells = RPINN_ARENA_NEW(arena, size_t, truth->cells.count);
  if (!truth->cells.cells) return rpinn_fail_memory(context);
  for (size_t i = 0; i < truth->cells.count; i++) truth->cells.cells[i] = i;
  return RPINN_OK;
}

/* ---- what is made ---- */

static RpinnStatus add_column(RpinnContext *context, RpinnTruth *truth, const char *name, RpinnPlace place,
                              const double *values) {
  if (rpinn_truth_column(truth, name) >= 0)
    return rpinn_fail_at(context, place,
                         "the truth makes a column '%s' that its table has as well; expected another name",
                         name);
  for (size_t p = 0; p < truth->cells.count; p++)
    truth->columns[p * truth->row_length + truth->num_columns] = values[p];
  truth->names[truth->num_columns++] = name;
  return RPINN_OK;
}

static RpinnStatus draw_field(RpinnContext *context, RpinnTruth *truth, uint64_t seed) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  double *values;
  RPINN_TRY(rpinn_made_field(context, truth->problem, seed, &values));
  return add_column(context, truth, spec->field.name, spec->field.place, values);
}

/* An expression of columns at every cell; *values belongs to the arena. */
static RpinnStatus evaluate_at_cells(RpinnContext *context, RpinnArena *arena, RpinnTruth *truth,
                                     const RpinnNamedExpression *named, double **values) {
  RpinnExpression expression;
  RPINN_TRY(parse_with_columns(context, truth, named, &expression));
  *values = RPINN_ARENA_NEW(arena, double, truth->cells.count);
  if (!*values) return rpinn_fail_memory(context);
  return rpinn_truth_evaluate(context, truth, expression, &truth->cells, named->name, named->place, *values);
}

static RpinnStatus solve_flow(RpinnContext *context, RpinnArena *arena, RpinnTruth *truth) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  double *conductivity, *sources = NULL, *values;
  RPINN_TRY(evaluate_at_cells(context, arena, truth, &spec->flow.conductivity, &conductivity));
  for (size_t p = 0; p < truth->cells.count; p++)
    if (!(conductivity[p] > 0))
      return rpinn_fail_at(context, spec->flow.conductivity.place,
                           "the conductivity is %.10g in cell %zu; expected positive values", conductivity[p],
                           p);
  if (spec->flow.has_source)
    RPINN_TRY(evaluate_at_cells(context, arena, truth, &spec->flow.source, &sources));
  RPINN_TRY(rpinn_made_flow(context, truth->problem, conductivity, sources, &values));
  return add_column(context, truth, spec->flow.name, spec->flow.place, values);
}

bool rpinn_truth_is_drawn(const RpinnTruth *truth) {
  return truth->problem->truth.field.present && truth->num_columns > 0;
}

void rpinn_truth_write(const RpinnTruth *truth, RpinnText *csv) {
  const RpinnProblem *problem = truth->problem;
  char number[RPINN_NUMBER_TEXT];
  size_t num_coordinates = problem->num_coordinates;
  for (size_t i = 0; i < num_coordinates; i++)
    rpinn_text_append(csv, "%s%s", i ? "," : "", problem->coordinates[i].name);
  for (size_t k = 0; k < truth->num_columns; k++)
    if (!is_coordinate(problem, truth->names[k])) rpinn_text_append(csv, ",%s", truth->names[k]);
  rpinn_text_append(csv, "\n");
  for (size_t p = 0; p < truth->cells.count; p++) {
    for (size_t i = 0; i < num_coordinates; i++) {
      rpinn_number_format(truth->cells.x[p * num_coordinates + i], number);
      rpinn_text_append(csv, "%s%s", i ? "," : "", number);
    }
    for (size_t k = 0; k < truth->num_columns; k++) {
      if (is_coordinate(problem, truth->names[k])) continue;
      rpinn_number_format(truth->columns[p * truth->row_length + k], number);
      rpinn_text_append(csv, ",%s", number);
    }
    rpinn_text_append(csv, "\n");
  }
}

/* ---- entries ---- */

/* An unknown is one number, and so is its truth. */
static RpinnStatus check_scalar(RpinnContext *context, const RpinnProblem *problem,
                                const RpinnNamedExpression *entry, RpinnExpression expression) {
  double value = 1;
  for (size_t k = 0; k < problem->num_unknowns; k++) {
    if (strcmp(problem->unknowns[k].name, entry->name) != 0) continue;
    if (!rpinn_expression_is_number(problem->pool, expression, &value))
      return rpinn_fail_at(context, entry->place,
                           "the truth of unknown '%s' changes from point to point; expected a number",
                           entry->name);
    if (problem->unknowns[k].transform == RPINN_TRANSFORM_LOG && value <= 0)
      return rpinn_fail_at(
          context, entry->place,
          "the truth of unknown '%s' is %.10g; expected a positive number for transform: log", entry->name,
          value);
  }
  return RPINN_OK;
}

static RpinnStatus make_columns(RpinnContext *context, RpinnArena *arena, RpinnTruth *truth) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  const RpinnSettingsValues *settings = &truth->problem->settings;
  bool is_own = spec->field.has_seed && settings->values[RPINN_SETTING_TRUTH_SEED].is_auto;
  uint64_t seed = is_own ? spec->field.seed : rpinn_settings_seed(settings, RPINN_SETTING_TRUTH_SEED);
  if (spec->field.present) RPINN_TRY(draw_field(context, truth, seed));
  return spec->flow.present ? solve_flow(context, arena, truth) : RPINN_OK;
}

RpinnStatus rpinn_truth_create(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                               RpinnTruth *truth) {
  const RpinnTruthSpec *spec = &problem->truth;
  *truth = (RpinnTruth){.problem = problem};
  if (!spec->present) return RPINN_OK;
  RPINN_TRY(make_cells(context, arena, truth));
  if (spec->field.present && problem->data_file) {
    truth->num_columns = 0;
    return RPINN_OK;
  }
  RPINN_TRY(make_columns(context, arena, truth));
  truth->entries = RPINN_ARENA_NEW(arena, RpinnExpression, spec->num_entries);
  if (!truth->entries) return rpinn_fail_memory(context);
  for (size_t i = 0; i < spec->num_entries; i++) {
    RPINN_TRY(parse_with_columns(context, truth, &spec->entries[i], &truth->entries[i]));
    RPINN_TRY(check_scalar(context, problem, &spec->entries[i], truth->entries[i]));
  }
  truth->num_entries = spec->num_entries;
  return RPINN_OK;
}

/* ---- what follows from it ---- */

static bool find_entry(const RpinnTruth *truth, const char *name, RpinnExpression *result) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  for (size_t i = 0; i < truth->num_entries; i++)
    if (!strcmp(spec->entries[i].name, name)) {
      *result = truth->entries[i];
      return true;
    }
  return column_name((void *)truth, name, result);
}

static bool uses_columns(const RpinnExpressionPool *pool, RpinnExpression expression) {
  uint8_t *used = rpinn_expression_reachable(pool, expression);
  bool uses = !used; /* no memory: claim the restrictive answer */
  for (size_t i = 0; used && i <= expression; i++)
    uses |= used[i] && pool->nodes[i].operation == RPINN_OPERATION_CHANNEL;
  free(used);
  return uses;
}

typedef struct Substitution {
  const RpinnTruth *truth;
  bool known;
} Substitution;

static RpinnExpression substitute_field(Substitution *job, RpinnNode node, RpinnExpression leaf) {
  RpinnProblem *problem = job->truth->problem;
  RpinnExpression result;
  if (!find_entry(job->truth, problem->fields[node.index].name, &result)) {
    job->known = false;
    return leaf;
  }
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (unsigned k = 0; k < node.orders[i]; k++) {
      if (uses_columns(problem->pool, result)) job->known = false; /* a table has no derivatives */
      result = rpinn_expression_derive(problem->pool, result, i);
    }
  return result;
}

static RpinnExpression substitute_unknown(Substitution *job, RpinnNode node, RpinnExpression leaf) {
  RpinnProblem *problem = job->truth->problem;
  const RpinnUnknown *unknown = &problem->unknowns[node.index];
  RpinnExpression result;
  if (!find_entry(job->truth, unknown->name, &result)) {
    job->known = false;
    return leaf;
  }
  if (unknown->transform == RPINN_TRANSFORM_LOG)
    result = rpinn_expression_apply(problem->pool, RPINN_OPERATION_LOG, result, 0);
  return result;
}

static RpinnExpression substitute_leaf(void *user, RpinnExpression leaf) {
  Substitution *job = user;
  RpinnNode node = job->truth->problem->pool->nodes[leaf];
  if (node.operation == RPINN_OPERATION_FIELD) return substitute_field(job, node, leaf);
  if (node.operation == RPINN_OPERATION_PARAMETER) return substitute_unknown(job, node, leaf);
  return leaf;
}

bool rpinn_truth_derive(const RpinnTruth *truth, RpinnExpression expression, RpinnExpression *result) {
  Substitution job = {truth, truth->problem->truth.present};
  if (!job.known) return false;
  *result = rpinn_expression_substitute(truth->problem->pool, expression, substitute_leaf, &job);
  return job.known && truth->problem->pool->status == RPINN_OK;
}

bool rpinn_truth_of_unknown(const RpinnTruth *truth, size_t unknown, double *value) {
  RpinnExpression expression;
  return find_entry(truth, truth->problem->unknowns[unknown].name, &expression) &&
         rpinn_expression_is_number(truth->problem->pool, expression, value);
}

bool rpinn_truth_find(const RpinnTruth *truth, const char *name, RpinnExpression expression,
                      RpinnExpression *result) {
  if (!truth->problem->truth.present) return false;
  return find_entry(truth, name, result) || rpinn_truth_derive(truth, expression, result);
}

RpinnStatus rpinn_truth_evaluate(RpinnContext *context, const RpinnTruth *truth, RpinnExpression expression,
                                 const RpinnPointSet *points, const char *name, RpinnPlace place,
                                 double *values) {
  const RpinnProblem *problem = truth->problem;
  if (uses_columns(problem->pool, expression) && !points->cells)
    return rpinn_fail_at(
        context, place,
        "the truth of '%s' comes from a table and is known at its rows only; expected points "
        "from at: {cells: …}",
        name);
  for (size_t p = 0; p < points->count; p++) {
    RpinnExpressionInputs inputs = {.coordinates = points->x + p * problem->num_coordinates};
    if (points->cells && truth->num_columns)
      inputs.channels = truth->columns + points->cells[p] * truth->row_length;
    if (rpinn_expression_evaluate(problem->pool, expression, &inputs, &values[p]) != RPINN_OK)
      return rpinn_fail_memory(context);
    if (!isfinite(values[p]))
      return rpinn_fail_at(context, place, "the truth of '%s' is %g at %s = %.10g; expected finite values",
                           name, values[p], problem->coordinates[0].name, inputs.coordinates[0]);
  }
  return RPINN_OK;
}
