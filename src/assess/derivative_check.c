#include "derivative_check.h"

#include <math.h>
#include <stdlib.h>

enum { LEVELS = 6 };

/* One column of Ridders' tableau: A[0] = D(h), A[m] = (4^m A[m-1] - previous A[m-1]) / (4^m - 1). Keeps the
 * entry whose distance to both neighbours is least. */
static void extend_tableau(double estimate, int level, double previous[LEVELS], double *best,
                           double *best_error) {
  double current[LEVELS] = {estimate}, factor = 4;
  if (level == 0) {
    *best = estimate;
    *best_error = (double)INFINITY;
  }
  for (int m = 1; m <= level; m++, factor *= 4) {
    current[m] = (factor * current[m - 1] - previous[m - 1]) / (factor - 1);
    double error = fmax(fabs(current[m] - current[m - 1]), fabs(current[m] - previous[m - 1]));
    if (error <= *best_error) {
      *best_error = error;
      *best = current[m];
    }
  }
  for (int m = 0; m <= level; m++) previous[m] = current[m];
}

RpinnStatus rpinn_ridders_derivative(RpinnLineFunction function, void *user, size_t num_values,
                                     double first_step, double *derivative) {
  double *errors = malloc((num_values + 1) * sizeof *errors);
  if (!errors) return RPINN_ERROR_MEMORY;
  RpinnStatus status = rpinn_ridders_estimate(function, user, num_values, first_step, derivative, errors);
  free(errors);
  return status;
}

RpinnStatus rpinn_ridders_estimate(RpinnLineFunction function, void *user, size_t num_values,
                                   double first_step, double *derivative, double *errors) {
  double *memory = malloc((num_values * (2 + LEVELS) + 1) * sizeof *memory);
  if (!memory) return RPINN_ERROR_MEMORY;
  double *ahead = memory, *behind = ahead + num_values, *tableau = behind + num_values;
  RpinnStatus status = RPINN_OK;
  double step = first_step;
  for (int level = 0; level < LEVELS && status == RPINN_OK; level++, step /= 2) {
    status = function(user, step, ahead);
    if (status == RPINN_OK) status = function(user, -step, behind);
    for (size_t i = 0; i < num_values && status == RPINN_OK; i++)
      extend_tableau((ahead[i] - behind[i]) / (2 * step), level, tableau + i * LEVELS, &derivative[i],
                     &errors[i]);
  }
  free(memory);
  return status;
}

/* theta + t v, and the rows or the value there. */
typedef struct Line {
  const RpinnLeastSquares *problem;
  const RpinnObjective *objective;
  const double *theta, *direction;
  double *moved;
} Line;

static void move(Line *line, size_t num_parameters, double t) {
  for (size_t j = 0; j < num_parameters; j++) line->moved[j] = line->theta[j] + t * line->direction[j];
}

static RpinnStatus rows_along(void *user, double t, double *values) {
  Line *line = user;
  move(line, line->problem->num_parameters, t);
  return line->problem->residuals(line->problem->data, line->moved, values);
}

static RpinnStatus value_along(void *user, double t, double *values) {
  Line *line = user;
  move(line, line->objective->num_parameters, t);
  return line->objective->evaluate(line->objective->data, line->moved, values, NULL);
}

/* A first step that moves the largest entry by 1/20: well inside the radius in which networks are analytic.
 */
static double first_step(const double *direction, size_t count) {
  double largest = 0;
  for (size_t j = 0; j < count; j++) largest = fmax(largest, fabs(direction[j]));
  return largest > 0 ? 0.05 / largest : 0.05;
}

/* |J v - numeric| of rows [first, last), relative to the largest |J| |v| among them. */
static double group_error(const double *jacobian, const double *direction, const double *numeric, size_t N,
                          size_t first, size_t last) {
  double difference = 0, scale = 0;
  for (size_t i = first; i < last; i++) {
    double product = 0, size = 0;
    for (size_t j = 0; j < N; j++) {
      product += jacobian[i * N + j] * direction[j];
      size += fabs(jacobian[i * N + j] * direction[j]);
    }
    if (!(fabs(product - numeric[i]) <= difference)) difference = fabs(product - numeric[i]); /* keeps NaN */
    scale = fmax(scale, size);
  }
  return difference == 0 ? 0 : difference / scale;
}

RpinnStatus rpinn_check_jacobian_along(const RpinnLeastSquares *problem, const double *theta,
                                       const double *jacobian, const double *direction, size_t num_groups,
                                       const size_t *group_sizes, double *errors) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  Line line = {.problem = problem,
               .theta = theta,
               .direction = direction,
               .moved = malloc((N + M + 1) * sizeof(double))};
  if (!line.moved) return RPINN_ERROR_MEMORY;
  double *numeric = line.moved + N;
  RpinnStatus status = rpinn_ridders_derivative(rows_along, &line, M, first_step(direction, N), numeric);
  for (size_t k = 0, first = 0; k < num_groups && status == RPINN_OK; first += group_sizes[k], k++)
    errors[k] = group_error(jacobian, direction, numeric, N, first, first + group_sizes[k]);
  free(line.moved);
  return status;
}

RpinnStatus rpinn_check_gradient_along(const RpinnObjective *objective, const double *theta,
                                       const double *gradient, const double *direction, double *error) {
  size_t N = objective->num_parameters;
  Line line = {.objective = objective,
               .theta = theta,
               .direction = direction,
               .moved = malloc((N + 1) * sizeof(double))};
  if (!line.moved) return RPINN_ERROR_MEMORY;
  double numeric = 0, product = 0, scale = 0;
  RpinnStatus status = rpinn_ridders_derivative(value_along, &line, 1, first_step(direction, N), &numeric);
  for (size_t j = 0; j < N; j++) {
    product += gradient[j] * direction[j];
    scale += fabs(gradient[j] * direction[j]);
  }
  *error = product == numeric ? 0 : fabs(product - numeric) / scale;
  free(line.moved);
  return status;
}
