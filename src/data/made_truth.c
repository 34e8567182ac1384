#include "made_truth.h"

#include <math.h>

#include "finite_volume.h"
#include "random_field.h"

static size_t num_cells(const RpinnProblem *problem) {
  size_t count = 1;
  for (size_t i = 0; i < problem->num_coordinates; i++) count *= problem->truth.cells[i];
  return count;
}

/* ---- the field ---- */

RpinnFieldModel rpinn_field_of_law(const RpinnProblem *problem, const RpinnFieldLaw *law) {
  RpinnFieldModel model = {.num_axes = problem->num_coordinates,
                           .correlation = (RpinnCorrelation)law->correlation,
                           .mean = law->mean,
                           .variance = law->variance};
  for (size_t i = 0; i < model.num_axes; i++) model.length[i] = law->length[i];
  return model;
}

RpinnStatus rpinn_made_field(RpinnContext *context, RpinnProblem *problem, uint64_t seed, double **values) {
  RpinnFieldModel model = rpinn_field_of_law(problem, &problem->truth.field.law);
  double *places[RPINN_FIELD_MAX_AXES];
  RpinnRandomField *field;
  for (size_t i = 0; i < model.num_axes; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[i];
    places[i] = RPINN_ARENA_NEW(problem->arena, double, problem->truth.cells[i]);
    if (!places[i]) return rpinn_fail_memory(context);
    rpinn_cell_centres(coordinate->low, coordinate->high, problem->truth.cells[i], places[i]);
  }
  double *made = RPINN_ARENA_NEW(problem->arena, double, num_cells(problem));
  if (!made) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_random_field_create(context, &model, problem->truth.cells, (const double *const *)places,
                                      &field));
  RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_RANDOM_FIELD, 0, 0);
  rpinn_random_field_draw(field, &stream, made);
  rpinn_random_field_destroy(field);
  *values = made;
  return RPINN_OK;
}

/* ---- the flow ---- */

/* What is given on a side, at the middle of every face. */
static RpinnStatus fill_side(RpinnContext *context, const RpinnProblem *problem, size_t side,
                             const RpinnFlow *flow, double *values) {
  const RpinnNamedExpression *given = &problem->truth.flow.sides[side].value;
  size_t axis = side / 2, other = 1 - axis;
  double x[2];
  x[axis] = side % 2 ? flow->high[axis] : flow->low[axis];
  for (size_t f = 0; f < flow->counts[other]; f++) {
    RpinnExpressionInputs inputs = {.coordinates = x};
    x[other] = flow->low[other] +
               (flow->high[other] - flow->low[other]) * (((double)f + 0.5) / (double)flow->counts[other]);
    if (rpinn_expression_evaluate(problem->pool, given->expression, &inputs, &values[f]) != RPINN_OK)
      return rpinn_fail_memory(context);
    if (!isfinite(values[f]))
      return rpinn_fail_at(context, given->place,
                           "the %s of side %s is %g at its face %zu; expected finite values", given->name,
                           rpinn_flow_side_names[side], values[f], f);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_made_flow(RpinnContext *context, RpinnProblem *problem, const double *conductivity,
                            const double *sources, double **values) {
  const RpinnSolvedFlowSpec *spec = &problem->truth.flow;
  RpinnFlow flow = {.counts = {1, 1}, .high = {1, 1}, .conductivity = conductivity, .sources = sources};
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    flow.counts[i] = problem->truth.cells[i];
    flow.low[i] = problem->coordinates[i].low;
    flow.high[i] = problem->coordinates[i].high;
  }
  for (size_t side = 0; side < RPINN_NUM_FLOW_SIDES; side++) {
    if (!spec->sides[side].present) continue;
    double *given = RPINN_ARENA_NEW(problem->arena, double, flow.counts[1 - side / 2]);
    if (!given) return rpinn_fail_memory(context);
    RPINN_TRY(fill_side(context, problem, side, &flow, given));
    flow.sides[side] = (RpinnSideCondition){.fixes_head = spec->sides[side].fixes_head, .values = given};
  }
  RpinnWell *wells = RPINN_ARENA_NEW(problem->arena, RpinnWell, spec->num_wells);
  double *made = RPINN_ARENA_NEW(problem->arena, double, num_cells(problem));
  if (!wells || !made) return rpinn_fail_memory(context);
  for (size_t w = 0; w < spec->num_wells; w++)
    wells[w] = (RpinnWell){{spec->wells[w].x[0], spec->wells[w].x[1]}, spec->wells[w].rate};
  flow.num_wells = spec->num_wells;
  flow.wells = wells;
  RPINN_TRY(rpinn_flow_solve(context, &flow, made, NULL));
  *values = made;
  return RPINN_OK;
}
