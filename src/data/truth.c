#include "truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the file ---- */

/* Coordinates stay coordinates although the table has columns for them: what is an expression of coordinates
 * alone is known everywhere and has derivatives. */
static bool column_name(void *user, const char *name, RpinnExpression *expression) {
  const RpinnTruth *truth = user;
  for (size_t i = 0; i < truth->problem->num_coordinates; i++)
    if (!strcmp(truth->problem->coordinates[i].name, name)) return false;
  int column = truth->table ? rpinn_csv_column(truth->table, name) : -1;
  if (column < 0) return false;
  *expression = rpinn_expression_channel(truth->problem->pool, (size_t)column);
  return true;
}

static RpinnStatus read_table(RpinnContext *context, RpinnArena *arena, RpinnTruth *truth) {
  RpinnProblem *problem = truth->problem;
  const char *path = rpinn_problem_path(problem, problem->truth.file);
  if (!path) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_csv_read_named(context, arena, path, problem->truth.place, &truth->table));
  const RpinnCsvTable *table = truth->table;
  size_t num_coordinates = problem->num_coordinates;
  truth->columns = RPINN_ARENA_NEW(arena, double, table->num_rows * table->num_columns);
  truth->cells = (RpinnPointSet){.count = table->num_rows,
                                 .x = RPINN_ARENA_NEW(arena, double, table->num_rows *num_coordinates)};
  if (!truth->columns || !truth->cells.x) return rpinn_fail_memory(context);
  for (size_t row = 0; row < table->num_rows; row++)
    for (size_t k = 0; k < table->num_columns; k++)
      RPINN_TRY(rpinn_csv_number(context, table, row, k, &truth->columns[row * table->num_columns + k]));
  for (size_t i = 0; i < num_coordinates; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[i];
    int column = rpinn_csv_column(table, coordinate->name);
    if (column < 0)
      return rpinn_fail_at(context, table->header, "no column '%s' in the truth; expected one per coordinate",
                           coordinate->name);
    double tolerance = RPINN_DOMAIN_TOLERANCE * (coordinate->high - coordinate->low);
    for (size_t row = 0; row < table->num_rows; row++) {
      double x = truth->columns[row * table->num_columns + (size_t)column];
      if (x < coordinate->low - tolerance || x > coordinate->high + tolerance)
        return rpinn_fail_at(context, rpinn_csv_place(table, row, (size_t)column),
                             "%s = %.10g is outside the domain; expected %.10g to %.10g", coordinate->name, x,
                             coordinate->low, coordinate->high);
      truth->cells.x[row * num_coordinates + i] = x;
    }
  }
  return RPINN_OK;
}

static RpinnStatus number_cells(RpinnContext *context, RpinnArena *arena, RpinnPointSet *cells) {
  cells->cells = RPINN_ARENA_NEW(arena, size_t, cells->count);
  if (!cells->cells) return rpinn_fail_memory(context);
  for (size_t i = 0; i < cells->count; i++) cells->cells[i] = i;
  return RPINN_OK;
}

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

RpinnStatus rpinn_truth_create(RpinnContext *context, RpinnArena *arena, RpinnProblem *problem,
                               RpinnTruth *truth) {
  const RpinnTruthSpec *spec = &problem->truth;
  *truth = (RpinnTruth){.problem = problem};
  if (!spec->present) return RPINN_OK;
  if (spec->file) RPINN_TRY(read_table(context, arena, truth));
  if (spec->has_cells) {
    RpinnPointSet grid;
    RPINN_TRY(rpinn_point_set_cells(context, arena, problem, spec->cells, &grid));
    if (spec->file && grid.count != truth->cells.count)
      return rpinn_fail_at(context, spec->place,
                           "the truth declares %zu cells and its table has %zu rows; expected as many",
                           grid.count, truth->cells.count);
    if (!spec->file) truth->cells = grid;
  }
  RPINN_TRY(number_cells(context, arena, &truth->cells));
  truth->entries = RPINN_ARENA_NEW(arena, RpinnExpression, spec->num_entries);
  if (!truth->entries) return rpinn_fail_memory(context);
  for (size_t i = 0; i < spec->num_entries; i++) {
    RPINN_TRY(rpinn_problem_expression_with(context, problem, RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES,
                                            column_name, truth, spec->entries[i].text, spec->entries[i].place,
                                            &truth->entries[i]));
    RPINN_TRY(check_scalar(context, problem, &spec->entries[i], truth->entries[i]));
  }
  return RPINN_OK;
}

/* ---- what follows from it ---- */

static bool find_entry(const RpinnTruth *truth, const char *name, RpinnExpression *result) {
  const RpinnTruthSpec *spec = &truth->problem->truth;
  for (size_t i = 0; spec->present && i < spec->num_entries; i++)
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
    if (points->cells && truth->table)
      inputs.channels = truth->columns + points->cells[p] * truth->table->num_columns;
    if (rpinn_expression_evaluate(problem->pool, expression, &inputs, &values[p]) != RPINN_OK)
      return rpinn_fail_memory(context);
    if (!isfinite(values[p]))
      return rpinn_fail_at(context, place, "the truth of '%s' is %g at %s = %.10g; expected finite values",
                           name, values[p], problem->coordinates[0].name, inputs.coordinates[0]);
  }
  return RPINN_OK;
}
