#include "normal_equations.h"

#include <math.h>
#include <string.h>

#include "dense_algebra.h"

static bool ask(RpinnNormalEquations *equations, RpinnNormalPhase phase) {
  RpinnRequest *request = equations->request;
  bool of_rows = phase == RPINN_NORMAL_ROWS;
  equations->phase = phase;
  request->question = of_rows ? RPINN_QUESTION_JACOBIAN_TIMES : RPINN_QUESTION_TRANSPOSED_TIMES;
  request->theta = equations->theta;
  request->input = of_rows ? equations->direction : equations->rows;
  request->rows = NULL;
  request->output = of_rows ? equations->rows : equations->product;
  return true;
}

/* residual^T A^-1 residual */
static double weigh(const RpinnNormalEquations *equations) {
  double sum = 0;
  for (size_t j = 0; j < equations->num_parameters; j++)
    sum += equations->residual[j] * equations->inverse[j] * equations->residual[j];
  return sum;
}

/* The next direction, unless the residual is small enough. */
static bool turn(RpinnNormalEquations *equations) {
  if (!equations->solved || equations->num_iterations == equations->max_iterations) return false;
  if (equations->square <= equations->tolerance * equations->tolerance * equations->first) return false;
  double share = equations->num_iterations ? equations->square / equations->last : 0;
  for (size_t j = 0; j < equations->num_parameters; j++)
    equations->direction[j] =
        equations->inverse[j] * equations->residual[j] + share * equations->direction[j];
  return ask(equations, RPINN_NORMAL_ROWS);
}

/* As far along the direction as is best. */
static void go(RpinnNormalEquations *equations) {
  size_t N = equations->num_parameters;
  for (size_t j = 0; j < N; j++) /* product = (J^T J + A) direction */
    equations->product[j] += equations->direction[j] / equations->inverse[j];
  double length = equations->square / rpinn_dense_dot(N, equations->direction, equations->product);
  equations->solved = length > 0 && isfinite(length);
  if (!equations->solved) return;
  rpinn_dense_add(N, length, equations->direction, equations->solution);
  rpinn_dense_add(N, -length, equations->product, equations->residual);
  equations->last = equations->square;
  equations->square = weigh(equations);
  equations->num_iterations++;
}

bool rpinn_normal_equations_begin(RpinnNormalEquations *equations, const double *b, double *d) {
  size_t bytes = equations->num_parameters * sizeof *d;
  equations->solution = d;
  memset(d, 0, bytes);
  memset(equations->direction, 0, bytes);
  memcpy(equations->residual, b, bytes);
  equations->first = equations->square = weigh(equations);
  equations->num_iterations = 0;
  equations->solved = isfinite(equations->first);
  return turn(equations);
}

bool rpinn_normal_equations_answered(RpinnNormalEquations *equations) {
  if (equations->phase == RPINN_NORMAL_ROWS) return ask(equations, RPINN_NORMAL_COLUMNS);
  go(equations);
  return turn(equations);
}
