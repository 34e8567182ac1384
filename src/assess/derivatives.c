#include "rpinn/derivatives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "derivative_check.h"
#include "number_text.h"
#include "parameter_names.h"
#include "random_stream.h"
#include "target_check.h"

static const double first_steps[] = {0.1, 1e-3, 1e-5}, allowed_uncertainties = 10;
enum { NUM_FIRST_STEPS = sizeof first_steps / sizeof first_steps[0] };

/* Either target along one coordinate. */
typedef struct Subject {
  RpinnContext *context;
  const RpinnLogDensity *density;   /* one of the three */
  const RpinnObjective *objective;  /* … */
  const RpinnLeastSquares *squares; /* … */
  size_t num_parameters, num_values;
  const double *theta;
  RpinnParameterNames *names;
  double tolerance;
  RpinnDerivativeCheck *check;
  double worst; /* share of what is allowed */
  /* ---- room ---- */
  size_t coordinate;
  double *moved;                                     /* [N] */
  double *derivative, *error, *estimate, *own_error; /* [num_values] */
} Subject;

/* ---- comparing ---- */

typedef struct Comparison {
  const char *function;
  bool is_derivative; /* by `parameter` */
  size_t parameter, row;
  double given, expected, uncertainty;
  double size; /* what the tolerance is a share of */
} Comparison;

static void tell(const Subject *subject, const Comparison *found) {
  RpinnDerivativeCheck *check = subject->check;
  char row[40] = "", by[96] = "";
  *check = (RpinnDerivativeCheck){.num_tested = check->num_tested,
                                  .num_wrong = check->num_wrong,
                                  .num_unsure = check->num_unsure,
                                  .parameter = found->parameter,
                                  .row = found->row,
                                  .given = found->given,
                                  .difference = found->expected,
                                  .uncertainty = found->uncertainty};
  snprintf(check->function, sizeof check->function, "%s", found->function);
  if (found->is_derivative) {
    snprintf(check->name, sizeof check->name, "%.60s",
             rpinn_parameter_name(subject->names, found->parameter));
    snprintf(by, sizeof by, " by '%s'", check->name);
  }
  if (subject->squares) snprintf(row, sizeof row, " of row %zu", found->row);
  if (found->is_derivative)
    rpinn_format(check->text, sizeof check->text,
                 "%s: the derivative%s%s is %.10g; differences say %.10g, uncertain by %.2g", check->function,
                 row, by, found->given, found->expected, found->uncertainty);
  else
    rpinn_format(check->text, sizeof check->text, "%s: number %zu is %.10g; expected %.10g", check->function,
                 found->row, found->given, found->expected);
}

/* A share above 1 is wrong; NaN, which compares with nothing, is infinitely wrong. */
static void compare(Subject *subject, const Comparison *found, double largest) {
  RpinnDerivativeCheck *check = subject->check;
  double allowed = subject->tolerance * found->size + allowed_uncertainties * found->uncertainty;
  double distance = fabs(found->given - found->expected);
  double share = distance == 0 ? 0 : isfinite(found->given) ? distance / allowed : HUGE_VAL;
  if (isnan(share)) share = 0; /* differences say nothing: infinitely uncertain */
  check->num_tested++;
  check->num_wrong += share > 1;
  check->num_unsure +=
      share <= 1 && !(allowed_uncertainties * found->uncertainty <= subject->tolerance * largest);
  if (share > subject->worst || check->num_tested == 1) {
    subject->worst = share;
    tell(subject, found);
  }
}

/* ---- differences ---- */

static RpinnStatus explain(const Subject *subject, const char *function, RpinnStatus status) {
  return rpinn_explain_failure(subject->context, "target", function, status);
}

/* Of the target as it is; the failure is explained where it is known which function it was. */
static RpinnStatus evaluate(const Subject *subject, const double *theta, double *values, double *gradient) {
  const RpinnLeastSquares *squares = subject->squares;
  if (subject->density)
    return explain(subject, "evaluate",
                   subject->density->evaluate(subject->density->data, theta, values, gradient));
  if (subject->objective)
    return explain(subject, "evaluate",
                   subject->objective->evaluate(subject->objective->data, theta, values, gradient));
  if (gradient)
    return explain(subject, "jacobian", squares->jacobian(squares->data, theta, values, gradient));
  return explain(subject, "residuals", squares->residuals(squares->data, theta, values));
}

static RpinnStatus values_along(void *user, double t, double *values) {
  Subject *subject = user;
  subject->moved[subject->coordinate] = subject->theta[subject->coordinate] + t;
  RpinnStatus status = evaluate(subject, subject->moved, values, NULL);
  subject->moved[subject->coordinate] = subject->theta[subject->coordinate];
  return status;
}

/* subject->derivative and error of all values by one coordinate: smaller first steps are tried while a value is uncertain. */
static RpinnStatus differentiate(Subject *subject, size_t coordinate) {
  double unit = fmax(1, fabs(subject->theta[coordinate]));
  bool is_sure = false;
  subject->coordinate = coordinate;
  for (int k = 0; k < NUM_FIRST_STEPS && !is_sure; k++) {
    RPINN_TRY(rpinn_ridders_estimate(values_along, subject, subject->num_values, first_steps[k] * unit,
                                     subject->estimate, subject->own_error));
    is_sure = true;
    for (size_t i = 0; i < subject->num_values; i++) {
      if (k == 0 || subject->own_error[i] < subject->error[i]) {
        subject->derivative[i] = subject->estimate[i];
        subject->error[i] = subject->own_error[i];
      }
      is_sure = is_sure && subject->error[i] <= 0.01 * subject->tolerance * fabs(subject->derivative[i]);
    }
  }
  return RPINN_OK;
}

/* given [num_values][N]. */
static RpinnStatus compare_derivatives(Subject *subject, const char *function, const double *given) {
  size_t N = subject->num_parameters;
  double largest = 0;
  for (size_t k = 0; k < subject->num_values * N; k++)
    if (isfinite(given[k])) largest = fmax(largest, fabs(given[k]));
  for (size_t j = 0; j < N; j++) {
    if (rpinn_is_interrupted(subject->context)) return rpinn_fail_interrupted(subject->context);
    RPINN_TRY(differentiate(subject, j));
    for (size_t i = 0; i < subject->num_values; i++) {
      double own = given[i * N + j], numeric = subject->derivative[i];
      Comparison found = {.function = function,
                          .is_derivative = true,
                          .parameter = j,
                          .row = i,
                          .given = own,
                          .expected = numeric,
                          .uncertainty = subject->error[i],
                          .size = fmax(fabs(own), fabs(numeric))};
      compare(subject, &found, largest);
    }
  }
  return RPINN_OK;
}

/* Numbers [count] that should be equal up to rounding; sizes: what rounding is a share of. */
static void compare_numbers(Subject *subject, const char *function, size_t count, const double *given,
                            const double *expected, const double *sizes) {
  for (size_t i = 0; i < count; i++) {
    Comparison found = {.function = function,
                        .row = i,
                        .given = given[i],
                        .expected = expected[i],
                        .size = sizes ? sizes[i] : fabs(expected[i])};
    compare(subject, &found, found.size);
  }
}

/* ---- products of least squares ---- */

typedef struct Products {
  size_t M, N;
  const double *jacobian;                  /* [M][N] */
  double *signs;                           /* [max(M, N)] */
  double *given, *expected, *sizes, *rows; /* [max(M, N)], or [M][M] */
} Products;

/* expected = J signs or J^T signs, and what cancellation may leave of it. */
static void multiply(Products *products, bool transposed) {
  size_t M = products->M, N = products->N, count = transposed ? N : M;
  memset(products->expected, 0, count * sizeof(double));
  memset(products->sizes, 0, count * sizeof(double));
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) {
      double term = products->jacobian[i * N + j] * products->signs[transposed ? i : j];
      products->expected[transposed ? j : i] += term;
      products->sizes[transposed ? j : i] += fabs(term);
    }
}

static void multiply_gram(Products *products) {
  size_t M = products->M, N = products->N;
  for (size_t a = 0; a < M; a++)
    for (size_t b = 0; b < M; b++) {
      double sum = 0, size = 0;
      for (size_t j = 0; j < N; j++) {
        double term = products->jacobian[a * N + j] * products->jacobian[b * N + j];
        sum += term;
        size += fabs(term);
      }
      products->expected[a * M + b] = sum;
      products->sizes[a * M + b] = size;
    }
}

static RpinnStatus compare_products(Subject *subject, Products *products) {
  const RpinnLeastSquares *squares = subject->squares;
  const double *theta = subject->theta;
  size_t M = products->M, N = products->N;
  RpinnStream stream = rpinn_stream(0, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t k = 0; k < (M > N ? M : N); k++)
    products->signs[k] = rpinn_stream_uniform(&stream) < 0.5 ? -1 : 1;
  if (squares->jacobian_times) {
    RPINN_TRY(explain(subject, "jacobian_times",
                      squares->jacobian_times(squares->data, theta, products->signs, products->given)));
    multiply(products, false);
    compare_numbers(subject, "jacobian_times", M, products->given, products->expected, products->sizes);
  }
  if (squares->transposed_times) {
    RPINN_TRY(explain(subject, "transposed_times",
                      squares->transposed_times(squares->data, theta, products->signs, products->given)));
    multiply(products, true);
    compare_numbers(subject, "transposed_times", N, products->given, products->expected, products->sizes);
  }
  if (squares->gram) {
    RPINN_TRY(
        explain(subject, "gram", squares->gram(squares->data, theta, NULL, products->rows, products->given)));
    multiply_gram(products);
    compare_numbers(subject, "gram", M * M, products->given, products->expected, products->sizes);
  }
  return RPINN_OK;
}

static RpinnStatus check_products(Subject *subject, const double *jacobian) {
  size_t M = subject->num_values, N = subject->num_parameters, longer = M > N ? M : N;
  size_t size = subject->squares->gram && M * M > longer ? M * M : longer;
  double *memory = malloc((longer + 3 * size + M + 1) * sizeof *memory);
  if (!memory) return rpinn_fail_memory(subject->context);
  Products products = {.M = M,
                       .N = N,
                       .jacobian = jacobian,
                       .signs = memory,
                       .given = memory + longer,
                       .expected = memory + longer + size,
                       .sizes = memory + longer + 2 * size,
                       .rows = memory + longer + 3 * size};
  RpinnStatus status = compare_products(subject, &products);
  free(memory);
  return status;
}

/* ---- a check ---- */

static RpinnStatus require_finite(const Subject *subject, const double *values) {
  for (size_t i = 0; i < subject->num_values; i++)
    if (!isfinite(values[i]))
      return rpinn_fail(subject->context, RPINN_ERROR_NUMERIC,
                        "%s %zu is %g at the point of the check; expected a finite number",
                        subject->squares ? "row" : "value", i, values[i]);
  return RPINN_OK;
}

/* values and alone [num_values], given [num_values][N]. */
static RpinnStatus look(Subject *subject, double *values, double *alone, double *given) {
  RPINN_TRY(evaluate(subject, subject->theta, alone, NULL));
  RPINN_TRY(evaluate(subject, subject->theta, values, given));
  RPINN_TRY(require_finite(subject, values));
  RPINN_TRY(compare_derivatives(subject, subject->squares ? "jacobian" : "evaluate", given));
  compare_numbers(subject, subject->squares ? "rows" : "value", subject->num_values, alone, values, NULL);
  if (subject->squares && subject->check->num_wrong == 0) RPINN_TRY(check_products(subject, given));
  subject->check->agrees = subject->check->num_wrong == 0;
  return RPINN_OK;
}

static RpinnStatus run_check(RpinnContext *context, Subject *subject, const char *const *names) {
  size_t N = subject->num_parameters, V = subject->num_values;
  *subject->check = (RpinnDerivativeCheck){0};
  rpinn_context_clear_error(context);
  if (!(subject->tolerance > 0))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the tolerance is %g; expected a positive number",
                      subject->tolerance);
  RPINN_TRY(rpinn_parameter_names_create(context, N, names, &subject->names));
  double *memory = malloc((N + 6 * V + V * N + 1) * sizeof *memory);
  RpinnStatus status = memory ? RPINN_OK : rpinn_fail_memory(context);
  if (memory) {
    subject->moved = memory;
    subject->derivative = memory + N;
    subject->error = subject->derivative + V;
    subject->estimate = subject->error + V;
    subject->own_error = subject->estimate + V;
    memcpy(subject->moved, subject->theta, N * sizeof *memory);
    status = look(subject, subject->own_error + V, subject->own_error + 2 * V, subject->own_error + 3 * V);
  }
  free(memory);
  rpinn_parameter_names_destroy(subject->names);
  return status;
}

static RpinnStatus require(RpinnContext *context, bool is_there, const char *function) {
  return is_there ? RPINN_OK
                  : rpinn_fail(context, RPINN_ERROR_INPUT, "the target has no function %s", function);
}

RpinnStatus rpinn_check_log_density(RpinnContext *context, const RpinnLogDensity *density,
                                    const double *theta, const char *const *names, double tolerance,
                                    RpinnDerivativeCheck *check) {
  RPINN_TRY(require(context, density->evaluate, "evaluate"));
  Subject subject = {.context = context,
                     .density = density,
                     .num_parameters = density->num_parameters,
                     .num_values = 1,
                     .theta = theta,
                     .tolerance = tolerance,
                     .check = check};
  return run_check(context, &subject, names);
}

RpinnStatus rpinn_check_objective(RpinnContext *context, const RpinnObjective *objective, const double *theta,
                                  const char *const *names, double tolerance, RpinnDerivativeCheck *check) {
  RPINN_TRY(require(context, objective->evaluate, "evaluate"));
  Subject subject = {.context = context,
                     .objective = objective,
                     .num_parameters = objective->num_parameters,
                     .num_values = 1,
                     .theta = theta,
                     .tolerance = tolerance,
                     .check = check};
  return run_check(context, &subject, names);
}

RpinnStatus rpinn_check_least_squares(RpinnContext *context, const RpinnLeastSquares *problem,
                                      const double *theta, const char *const *names, double tolerance,
                                      RpinnDerivativeCheck *check) {
  RPINN_TRY(require(context, problem->residuals, "residuals"));
  RPINN_TRY(require(context, problem->jacobian, "jacobian"));
  Subject subject = {.context = context,
                     .squares = problem,
                     .num_parameters = problem->num_parameters,
                     .num_values = problem->num_rows,
                     .theta = theta,
                     .tolerance = tolerance,
                     .check = check};
  return run_check(context, &subject, names);
}
