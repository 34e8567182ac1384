/* The balance of cell c with neighbours n, each behind a face of length l at a distance d of the centres:
 *
 *   sum_n T_cn (h_n - h_c) + sum_heads T_c (H - h_c) + sum_fluxes g l - s_c V - rates = 0
 *   T_cn = 2 k_c k_n / (k_c + k_n) l / d,    T_c = k_c l / (d / 2)
 *
 * The harmonic mean makes layers across the flow exact. The left side is b - A h with A symmetric and positive
 * definite as soon as one head is given; at h = 0 it is b. So one function gives the right-hand side, the
 * residual for a step of refinement, which lets the balance hold to rounding also where h is far from 0, and
 * the balance itself.
 *
 * A has a band as wide as the axis that runs fastest in the numbering of the unknowns: the shorter one.
 * Banded Cholesky then costs n1 n2 min(n1, n2)^2 operations and is without tolerances. */
#include "finite_volume.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "blas_threads.h"

const char *const rpinn_flow_side_names[RPINN_NUM_FLOW_SIDES] = {"left", "right", "bottom", "top"};

enum { MAX_GIBIBYTES = 16, MAX_CELLS = 1 << 28 };

typedef struct Solver {
  const RpinnFlow *flow;
  size_t num_cells, band;
  size_t stride[2];   /* between unknowns of neighbours along each axis */
  double ratio[2];    /* length of a face across the axis over the distance of centres along it */
  double face[2];     /* that length */
  double volume;      /* of a cell */
  size_t *well_cells; /* [num_wells] */
  double *matrix;     /* [num_cells][band + 1]: the lower band, column by column */
  double *step;       /* [num_cells] in the order of unknowns */
  double inflow, outflow;
} Solver;

/* ---- geometry ---- */

static size_t cell_at(const Solver *solver, size_t i, size_t j) {
  return j * solver->flow->counts[0] + i;
}

static size_t unknown_at(const Solver *solver, size_t i, size_t j) {
  return i * solver->stride[0] + j * solver->stride[1];
}

/* Cell (i, j) behind face number f of a side, and how well it is connected with that face. */
static double side_face(const Solver *solver, RpinnFlowSide side, size_t f, size_t *i, size_t *j) {
  const RpinnFlow *flow = solver->flow;
  size_t axis = side / 2, across = side % 2 ? flow->counts[axis] - 1 : 0;
  *i = axis == 0 ? across : f;
  *j = axis == 0 ? f : across;
  return 2 * flow->conductivity[cell_at(solver, *i, *j)] * solver->ratio[axis];
}

static double between(const Solver *solver, size_t axis, size_t cell, size_t neighbour) {
  double a = solver->flow->conductivity[cell], b = solver->flow->conductivity[neighbour];
  return 2 / (1 / a + 1 / b) * solver->ratio[axis];
}

static double side_value(const RpinnSideCondition *condition, size_t f) {
  return condition->values ? condition->values[f] : condition->value;
}

/* ---- the balance of every cell ---- */

static void count_flow(Solver *solver, double inflow) {
  if (inflow > 0)
    solver->inflow += inflow;
  else
    solver->outflow -= inflow;
}

/* step [unknowns] = b - A h, or b where head is NULL */
static void fill_balances(Solver *solver, const double *head) {
  const RpinnFlow *flow = solver->flow;
  double *balance = solver->step;
  solver->inflow = solver->outflow = 0;
  for (size_t j = 0; j < flow->counts[1]; j++)
    for (size_t i = 0; i < flow->counts[0]; i++) {
      double source = flow->sources ? flow->sources[cell_at(solver, i, j)] : flow->source;
      balance[unknown_at(solver, i, j)] = -source * solver->volume;
      count_flow(solver, -source * solver->volume);
    }
  for (size_t axis = 0; axis < 2 && head; axis++)
    for (size_t j = 0; j + (axis == 1) < flow->counts[1]; j++)
      for (size_t i = 0; i + (axis == 0) < flow->counts[0]; i++) {
        size_t cell = cell_at(solver, i, j), next = cell_at(solver, i + (axis == 0), j + (axis == 1));
        double along = between(solver, axis, cell, next) * (head[next] - head[cell]);
        balance[unknown_at(solver, i, j)] += along;
        balance[unknown_at(solver, i, j) + solver->stride[axis]] -= along;
      }
  for (size_t side = 0; side < RPINN_NUM_FLOW_SIDES; side++)
    for (size_t f = 0; f < flow->counts[1 - side / 2]; f++) {
      const RpinnSideCondition *condition = &flow->sides[side];
      size_t i, j;
      double conductance = side_face(solver, (RpinnFlowSide)side, f, &i, &j),
             value = side_value(condition, f);
      double inflow = condition->fixes_head ? conductance * (value - (head ? head[cell_at(solver, i, j)] : 0))
                                            : value * solver->face[side / 2];
      balance[unknown_at(solver, i, j)] += inflow;
      count_flow(solver, inflow);
    }
  for (size_t w = 0; w < flow->num_wells; w++) {
    size_t cell = solver->well_cells[w];
    balance[unknown_at(solver, cell % flow->counts[0], cell / flow->counts[0])] -= flow->wells[w].rate;
    count_flow(solver, -flow->wells[w].rate);
  }
}

/* ---- the matrix ---- */

static void fill_matrix(Solver *solver) {
  const RpinnFlow *flow = solver->flow;
  double *matrix = solver->matrix;
  size_t height = solver->band + 1;
  for (size_t axis = 0; axis < 2; axis++)
    for (size_t j = 0; j + (axis == 1) < flow->counts[1]; j++)
      for (size_t i = 0; i + (axis == 0) < flow->counts[0]; i++) {
        size_t unknown = unknown_at(solver, i, j);
        double conductance =
            between(solver, axis, cell_at(solver, i, j), cell_at(solver, i + (axis == 0), j + (axis == 1)));
        matrix[unknown * height] += conductance;
        matrix[(unknown + solver->stride[axis]) * height] += conductance;
        matrix[unknown * height + solver->stride[axis]] -= conductance;
      }
  for (size_t side = 0; side < RPINN_NUM_FLOW_SIDES; side++)
    for (size_t f = 0; flow->sides[side].fixes_head && f < flow->counts[1 - side / 2]; f++) {
      size_t i, j;
      double conductance = side_face(solver, (RpinnFlowSide)side, f, &i, &j);
      matrix[unknown_at(solver, i, j) * height] += conductance;
    }
}

/* h = 0, then h += A^-1 (b - A h): twice, the second time for the digits that the first one lost. */
static RpinnStatus solve(RpinnContext *context, Solver *solver, double *head) {
  const RpinnFlow *flow = solver->flow;
  int n = (int)solver->num_cells, band = (int)solver->band, height = band + 1;
  fill_matrix(solver);
  if (LAPACKE_dpbtrf(LAPACK_COL_MAJOR, 'L', n, band, solver->matrix, height) != 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the flow equations are singular to rounding: conductivities differ too much");
  for (size_t c = 0; c < solver->num_cells; c++) head[c] = 0;
  for (int round = 0; round < 2; round++) {
    fill_balances(solver, head);
    LAPACKE_dpbtrs(LAPACK_COL_MAJOR, 'L', n, band, 1, solver->matrix, height, solver->step, n);
    for (size_t j = 0; j < flow->counts[1]; j++)
      for (size_t i = 0; i < flow->counts[0]; i++)
        head[cell_at(solver, i, j)] += solver->step[unknown_at(solver, i, j)];
  }
  for (size_t c = 0; c < solver->num_cells; c++)
    if (!isfinite(head[c]))
      return rpinn_fail(context, RPINN_ERROR_NUMERIC, "the head of cell %zu is not finite", c);
  fill_balances(solver, head);
  return RPINN_OK;
}

/* ---- what was given ---- */

static RpinnStatus check_size(RpinnContext *context, const RpinnFlow *flow) {
  double num_cells = (double)flow->counts[0] * (double)flow->counts[1];
  double band = (double)(flow->counts[0] < flow->counts[1] ? flow->counts[0] : flow->counts[1]);
  double gibibytes = num_cells * (band + 1) * sizeof(double) / 0x1p30;
  if (!(num_cells >= 1) || num_cells > MAX_CELLS)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a grid of %zu x %zu cells; expected 1 to %d cells",
                      flow->counts[0], flow->counts[1], MAX_CELLS);
  if (gibibytes > MAX_GIBIBYTES)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "%zu x %zu cells need %.3g GiB; expected a grid that needs at most %d", flow->counts[0],
                      flow->counts[1], gibibytes, MAX_GIBIBYTES);
  return RPINN_OK;
}

static RpinnStatus check_flow(RpinnContext *context, const RpinnFlow *flow) {
  bool fixes_head = false;
  for (size_t side = 0; side < RPINN_NUM_FLOW_SIDES; side++) {
    const RpinnSideCondition *condition = &flow->sides[side];
    fixes_head |= condition->fixes_head;
    for (size_t f = 0; f < (condition->values ? flow->counts[1 - side / 2] : 1); f++)
      if (!isfinite(side_value(condition, f)))
        return rpinn_fail(context, RPINN_ERROR_INPUT, "the %s of side %s is %g; expected a finite number",
                          condition->fixes_head ? "head" : "flux", rpinn_flow_side_names[side],
                          side_value(condition, f));
  }
  if (!fixes_head)
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "all sides have a flux, so that the head is known up to a constant at best; expected a head "
        "on at least one side");
  for (size_t c = 0; c < flow->counts[0] * flow->counts[1]; c++) {
    if (!(flow->conductivity[c] > 0) || !isfinite(flow->conductivity[c]))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "the conductivity of cell %zu is %g; expected a positive number", c,
                        flow->conductivity[c]);
    if (!isfinite(flow->sources ? flow->sources[c] : flow->source))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "the source of cell %zu is %g; expected a finite number",
                        c, flow->sources ? flow->sources[c] : flow->source);
  }
  return RPINN_OK;
}

static RpinnStatus find_well_cells(RpinnContext *context, Solver *solver) {
  const RpinnFlow *flow = solver->flow;
  for (size_t w = 0; w < flow->num_wells; w++) {
    size_t place[2];
    for (size_t axis = 0; axis < 2; axis++) {
      double x = flow->wells[w].x[axis], low = flow->low[axis], high = flow->high[axis];
      if (!(x >= low && x <= high))
        return rpinn_fail(
            context, RPINN_ERROR_INPUT,
            "well %zu is at %.10g, %.10g; expected a point of the domain [%.10g, %.10g] x [%.10g, "
            "%.10g]",
            w + 1, flow->wells[w].x[0], flow->wells[w].x[1], flow->low[0], flow->high[0], flow->low[1],
            flow->high[1]);
      place[axis] = (size_t)((x - low) / (high - low) * (double)flow->counts[axis]);
      if (place[axis] >= flow->counts[axis]) place[axis] = flow->counts[axis] - 1; /* the far end */
    }
    if (!isfinite(flow->wells[w].rate))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "the rate of well %zu is %g; expected a finite number",
                        w + 1, flow->wells[w].rate);
    solver->well_cells[w] = cell_at(solver, place[0], place[1]);
  }
  return RPINN_OK;
}

static RpinnStatus prepare(RpinnContext *context, Solver *solver) {
  const RpinnFlow *flow = solver->flow;
  double width[2];
  for (size_t axis = 0; axis < 2; axis++)
    width[axis] = (flow->high[axis] - flow->low[axis]) / (double)flow->counts[axis];
  size_t shorter = flow->counts[0] <= flow->counts[1] ? 0 : 1;
  solver->num_cells = flow->counts[0] * flow->counts[1];
  solver->band = flow->counts[shorter];
  solver->stride[shorter] = 1;
  solver->stride[1 - shorter] = flow->counts[shorter];
  for (size_t axis = 0; axis < 2; axis++) {
    solver->face[axis] = width[1 - axis];
    solver->ratio[axis] = width[1 - axis] / width[axis];
  }
  solver->volume = width[0] * width[1];
  solver->matrix = calloc(solver->num_cells * (solver->band + 1), sizeof(double));
  solver->step = malloc(solver->num_cells * sizeof(double));
  solver->well_cells = malloc((flow->num_wells + 1) * sizeof(size_t));
  if (!solver->matrix || !solver->step || !solver->well_cells) return rpinn_fail_memory(context);
  return find_well_cells(context, solver);
}

RpinnStatus rpinn_flow_solve(RpinnContext *context, const RpinnFlow *flow, double *head,
                             double *balance_error) {
  RPINN_TRY(check_size(context, flow));
  RPINN_TRY(check_flow(context, flow));
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  Solver solver = {.flow = flow};
  RpinnStatus status = prepare(context, &solver);
  if (status == RPINN_OK) status = solve(context, &solver, head);
  double larger = fmax(solver.inflow, solver.outflow);
  if (status == RPINN_OK && balance_error)
    *balance_error = larger > 0 ? fabs(solver.inflow - solver.outflow) / larger : 0;
  free(solver.matrix);
  free(solver.step);
  free(solver.well_cells);
  return status;
}
