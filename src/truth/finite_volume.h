/* Steady flow through a rectangle of n1 x n2 equal cells,
 *
 *   div(k grad h) = s,
 *
 * by finite volumes: one head h and one conductivity k per cell, harmonic means of k between cells.
 *
 * Signs, here and wherever the library solves: the Darcy flux is q = -k grad h, hence div q = -s, and s > 0
 * takes water out of the domain. The rate of a well is its share of the integral of s: a positive rate pumps
 * water out, a negative one injects. The flux of a side is what flows in through it per unit of length: a
 * positive one brings water into the domain, whatever the side. */
#ifndef RPINN_TRUTH_FINITE_VOLUME_H
#define RPINN_TRUTH_FINITE_VOLUME_H

#include "context.h"

/* Low and high end of the first coordinate, then of the second. */
typedef enum RpinnFlowSide {
  RPINN_FLOW_LEFT,
  RPINN_FLOW_RIGHT,
  RPINN_FLOW_BOTTOM,
  RPINN_FLOW_TOP,
  RPINN_NUM_FLOW_SIDES
} RpinnFlowSide;
extern const char *const rpinn_flow_side_names[RPINN_NUM_FLOW_SIDES];

/* All zero: no flow. */
typedef struct RpinnSideCondition {
  bool fixes_head;      /* the value is the head at the face, half a cell from the centres; else the flux */
  double value;         /* on the whole side, */
  const double *values; /* or one per face, from the low end of the other coordinate; NULL: value */
} RpinnSideCondition;

typedef struct RpinnWell {
  double x[2];
  double rate; /* goes to the cell that holds x */
} RpinnWell;

/* Cells are numbered with the first coordinate fastest: [n2][n1]. In one dimension n2 = 1, and the second
 * range is [0, 1]. All pointers are borrowed for the call. */
typedef struct RpinnFlow {
  size_t counts[2];
  double low[2], high[2];
  const double *conductivity; /* [n2][n1], above 0 */
  double source;              /* s on the whole domain, */
  const double *sources;      /* or per cell, [n2][n1]; NULL: source */
  RpinnSideCondition sides[RPINN_NUM_FLOW_SIDES];
  size_t num_wells;
  const RpinnWell *wells;
} RpinnFlow;

/* head [n2][n1]. *balance_error (NULL: not wanted) is |inflow - outflow| of the whole domain over the larger of
 * them. A domain whose sides all have a flux is refused: its head is known up to a constant at best. */
RpinnStatus rpinn_flow_solve(RpinnContext *context, const RpinnFlow *flow, double *head,
                             double *balance_error);

#endif
