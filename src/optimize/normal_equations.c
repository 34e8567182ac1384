#include "normal_equations.h"

#include <math.h>
#include <string.h>

#include "context.h"
#include "dense_algebra.h"

/* product = (J^T J + A) direction */
static RpinnStatus apply(const RpinnNormalEquations *equations) {
  const RpinnLeastSquares *problem = equations->problem;
  *equations->called = "jacobian_times";
  RPINN_TRY(problem->jacobian_times(problem->data, equations->theta, equations->direction, equations->rows));
  *equations->called = "transposed_times";
  RPINN_TRY(problem->transposed_times(problem->data, equations->theta, equations->rows, equations->product));
  for (size_t j = 0; j < problem->num_parameters; j++)
    equations->product[j] += equations->direction[j] / equations->inverse[j];
  return RPINN_OK;
}

/* residual^T A^-1 residual */
static double weigh(const RpinnNormalEquations *equations) {
  double sum = 0;
  for (size_t j = 0; j < equations->problem->num_parameters; j++)
    sum += equations->residual[j] * equations->inverse[j] * equations->residual[j];
  return sum;
}

RpinnStatus rpinn_normal_equations_solve(const RpinnNormalEquations *equations, const double *b, double *d,
                                         bool *solved) {
  size_t N = equations->problem->num_parameters;
  memset(d, 0, N * sizeof *d);
  memset(equations->direction, 0, N * sizeof *d);
  memcpy(equations->residual, b, N * sizeof *b);
  double first = weigh(equations), square = first, last = 1;
  *solved = isfinite(first);
  for (size_t k = 0; *solved && k < equations->max_iterations; k++) {
    if (square <= equations->tolerance * equations->tolerance * first) break;
    double turn = k ? square / last : 0;
    for (size_t j = 0; j < N; j++)
      equations->direction[j] =
          equations->inverse[j] * equations->residual[j] + turn * equations->direction[j];
    RPINN_TRY(apply(equations));
    double length = square / rpinn_dense_dot(N, equations->direction, equations->product);
    *solved = length > 0 && isfinite(length);
    if (!*solved) break;
    rpinn_dense_add(N, length, equations->direction, d);
    rpinn_dense_add(N, -length, equations->product, equations->residual);
    last = square;
    square = weigh(equations);
  }
  return RPINN_OK;
}
