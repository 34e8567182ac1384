/* rpinn_reference_solve: conductivities of a table to heads. */
#include <math.h>
#include <string.h>

#include "csv_table.h"
#include "finite_volume.h"
#include "reference_state.h"
#include "tensor_grid.h"

/* ---- the cells of the table ---- */

static RpinnStatus read_points(RpinnContext *context, RpinnReference *reference, const RpinnCsvTable *table,
                               RpinnPointSet *points) {
  size_t num_axes = reference->num_axes;
  *points = (RpinnPointSet){.count = table->num_rows,
                            .x = RPINN_ARENA_NEW(reference->arena, double, table->num_rows *num_axes)};
  if (!points->x) return rpinn_fail_memory(context);
  for (size_t i = 0; i < num_axes; i++) {
    int column = rpinn_csv_column(table, reference->names[i]);
    if (column < 0)
      return rpinn_fail_at(context, table->header, "no column '%s'; expected the coordinates of the cells",
                           reference->names[i]);
    for (size_t row = 0; row < table->num_rows; row++)
      RPINN_TRY(rpinn_csv_number(context, table, row, (size_t)column, &points->x[row * num_axes + i]));
  }
  return RPINN_OK;
}

/* Centres of equal cells reach half a cell to both sides. */
static RpinnStatus find_cells(RpinnContext *context, const RpinnCsvTable *table, RpinnReference *reference,
                              RpinnTensorGrid *grid) {
  RpinnPointSet points;
  bool found;
  RPINN_TRY(read_points(context, reference, table, &points));
  RPINN_TRY(rpinn_tensor_grid_find(context, reference->arena, reference->num_axes, &points, grid, &found));
  double step[2] = {0, 0};
  for (size_t i = 0; found && i < reference->num_axes; i++)
    found = rpinn_tensor_grid_is_even(grid, i, &step[i]) && grid->counts[i] > 1;
  if (!found)
    return rpinn_fail_at(
        context, table->header,
        "the %zu rows are no grid; expected the centres of equal cells, each once, at least two "
        "along every coordinate",
        table->num_rows);
  reference->num_cells = table->num_rows;
  reference->counts[1] = 1;
  reference->high[1] = 1;
  for (size_t i = 0; i < reference->num_axes; i++) {
    reference->counts[i] = grid->counts[i];
    reference->centres[i] = grid->axes[i];
    reference->low[i] = grid->axes[i][0] - step[i] / 2;
    reference->high[i] = grid->axes[i][grid->counts[i] - 1] + step[i] / 2;
  }
  return RPINN_OK;
}

/* The column that was named, or else k, or else y. */
static RpinnStatus find_column(RpinnContext *context, const RpinnReferenceFlow *asked,
                               const RpinnCsvTable *table, size_t *column, bool *is_logarithm) {
  int found = rpinn_csv_column(table, asked->column ? asked->column : "k");
  *is_logarithm = asked->column && asked->is_logarithm;
  if (found < 0 && !asked->column) {
    found = rpinn_csv_column(table, "y");
    *is_logarithm = true;
  }
  *column = (size_t)found;
  if (found >= 0) return RPINN_OK;
  if (!asked->column)
    return rpinn_fail_at(context, table->header,
                         "no column k and no column y; expected conductivities k or their logarithms y");
  const char *near = rpinn_nearest_name(asked->column, table->names, table->num_columns);
  return rpinn_fail_at(context, table->header, "no column '%.60s'; expected one of the table%s%s%s",
                       asked->column, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static RpinnStatus read_conductivities(RpinnContext *context, const RpinnReferenceFlow *asked,
                                       const RpinnCsvTable *table, const RpinnTensorGrid *grid,
                                       RpinnReference *reference) {
  size_t column;
  bool is_logarithm;
  double *y, *k;
  RPINN_TRY(find_column(context, asked, table, &column, &is_logarithm));
  RPINN_TRY(rpinn_reference_add_column(context, reference, "y", &y));
  RPINN_TRY(rpinn_reference_add_column(context, reference, "k", &k));
  for (size_t row = 0; row < table->num_rows; row++) {
    size_t cell = grid->slots[row];
    double value;
    RPINN_TRY(rpinn_csv_number(context, table, row, column, &value));
    k[cell] = is_logarithm ? exp(value) : value;
    y[cell] = is_logarithm ? value : log(value);
    if (!(k[cell] > 0) || !isfinite(k[cell]))
      return rpinn_fail_at(context, rpinn_csv_place(table, row, column),
                           "a conductivity of %.10g; expected positive numbers%s", k[cell],
                           is_logarithm ? "" : ", or --log for a column of logarithms");
  }
  return RPINN_OK;
}

/* ---- the flow ---- */

/* The ends of a domain come from a file with few digits: a well on an end belongs to it. */
static double place_of_well(const RpinnReference *reference, size_t axis, double x) {
  double low = reference->low[axis], high = reference->high[axis];
  double tolerance = RPINN_DOMAIN_TOLERANCE * (high - low);
  if (x < low && x >= low - tolerance) return low;
  return x > high && x <= high + tolerance ? high : x;
}

static RpinnStatus set_sides(RpinnContext *context, const RpinnReferenceFlow *asked,
                             const RpinnReference *reference, RpinnFlow *flow) {
  for (size_t side = 0; side < RPINN_NUM_FLOW_SIDES; side++) {
    const RpinnReferenceSide *given = &asked->sides[side];
    if (side / 2 >= reference->num_axes && (given->fixes_head || given->value != 0))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "a condition on side %s of an interval; expected left and right",
                        rpinn_flow_side_names[side]);
    flow->sides[side] = (RpinnSideCondition){.fixes_head = given->fixes_head, .value = given->value};
  }
  return RPINN_OK;
}

static RpinnStatus set_wells(RpinnContext *context, const RpinnReferenceFlow *asked,
                             const RpinnReference *reference, RpinnFlow *flow) {
  RpinnWell *wells = RPINN_ARENA_NEW(reference->arena, RpinnWell, asked->num_wells);
  if (!wells) return rpinn_fail_memory(context);
  for (size_t w = 0; w < asked->num_wells; w++) {
    size_t given = isnan(asked->wells[w].x[1]) ? 1 : 2;
    if (given != reference->num_axes)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "well %zu has %zu coordinate%s; expected %zu and a rate",
                        w + 1, given, given > 1 ? "s" : "", reference->num_axes);
    wells[w] = (RpinnWell){.x = {0.5, 0.5}, .rate = asked->wells[w].rate};
    for (size_t i = 0; i < reference->num_axes; i++)
      wells[w].x[i] = place_of_well(reference, i, asked->wells[w].x[i]);
  }
  flow->num_wells = asked->num_wells;
  flow->wells = wells;
  return RPINN_OK;
}

static RpinnStatus solve(RpinnContext *context, const RpinnReferenceFlow *asked, RpinnReference *reference) {
  RpinnFlow flow = {.counts = {reference->counts[0], reference->counts[1]},
                    .low = {reference->low[0], reference->low[1]},
                    .high = {reference->high[0], reference->high[1]},
                    .conductivity = reference->columns[1].values,
                    .source = asked->source};
  double *head;
  RPINN_TRY(set_sides(context, asked, reference, &flow));
  RPINN_TRY(set_wells(context, asked, reference, &flow));
  RPINN_TRY(rpinn_reference_add_column(context, reference, "h", &head));
  reference->title = "steady flow, div(k grad h) = s";
  return rpinn_flow_solve(context, &flow, head, &reference->balance_error);
}

static RpinnStatus fill(RpinnContext *context, const RpinnReferenceFlow *asked, RpinnReference *reference) {
  RpinnCsvTable *table;
  RpinnTensorGrid grid;
  RPINN_TRY(rpinn_csv_read_file(context, reference->arena, asked->conductivity_file, &table));
  const char *second = asked->coordinates[1] ? asked->coordinates[1] : "x2";
  RPINN_TRY(rpinn_reference_name_axes(context, reference, rpinn_csv_column(table, second) >= 0 ? 2 : 1,
                                      asked->coordinates));
  RPINN_TRY(find_cells(context, table, reference, &grid));
  RPINN_TRY(read_conductivities(context, asked, table, &grid, reference));
  return solve(context, asked, reference);
}

RpinnStatus rpinn_reference_solve(RpinnContext *context, const RpinnReferenceFlow *flow,
                                  RpinnReference **reference) {
  RPINN_TRY(rpinn_reference_create(context, reference));
  RpinnStatus status = fill(context, flow, *reference);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_reference_destroy(*reference);
  *reference = NULL;
  return status;
}
