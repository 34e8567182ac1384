/* The formulas stand in rpinn/constraint.h. Gradients go backwards through them: with g = dlog p/dx and the derivative of the
 * logarithm of the Jacobian,
 *
 *   ABOVE     g (x - lower) + 1
 *   BELOW     g (x - upper) + 1
 *   BETWEEN   g (upper - lower) s (1-s) + 1 - 2 s
 *   RISING    u_k moves x_k, x_(k+1), … alike: with t_k = g_k + g_(k+1) + …, dlog p/du_1 = t_1 and else t_k exp(u_k) + 1
 *   SIMPLEX   in L_k = log rest_k: x_k = exp(L_k) z_k, L_(k+1) = L_k + log(1-z_k), x_K = exp(L_K); with a_K = g_K x_K,
 *             dlog p/du_k = g_k x_k (1-z_k) - a_(k+1) z_k + 1 - 2 z_k,   a_k = g_k x_k + a_(k+1) + 1. */
#include "rpinn/constraint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

struct RpinnConstraints {
  size_t count, num_values, num_parameters;
  RpinnConstraint list[];
};

static const double sum_tolerance = 1e-8; /* of a simplex */

static size_t num_free(const RpinnConstraint *constraint) {
  return constraint->count - (constraint->kind == RPINN_SIMPLEX);
}

/* 1 / (1 + exp(-u)), and the logarithm of it: neither overflows. */
static double logistic(double u) {
  return u >= 0 ? 1 / (1 + exp(-u)) : exp(u) / (1 + exp(u));
}

static double log_logistic(double u) {
  return u >= 0 ? -log1p(exp(-u)) : u - log1p(exp(u));
}

/* ---- making ---- */

static RpinnStatus check(RpinnContext *context, size_t number, const RpinnConstraint *constraint) {
  bool has_lower = constraint->kind == RPINN_ABOVE || constraint->kind == RPINN_BETWEEN;
  bool has_upper = constraint->kind == RPINN_BELOW || constraint->kind == RPINN_BETWEEN;
  if ((unsigned)constraint->kind > RPINN_SIMPLEX)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "constraint %zu is of kind %d; expected 0 to %d", number,
                      (int)constraint->kind, (int)RPINN_SIMPLEX);
  if (num_free(constraint) == 0 || constraint->count == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "constraint %zu is for %zu values; expected at least %d",
                      number, constraint->count, constraint->kind == RPINN_SIMPLEX ? 2 : 1);
  if ((has_lower && !isfinite(constraint->lower)) || (has_upper && !isfinite(constraint->upper)))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a bound of constraint %zu is %g; expected a finite number",
                      number,
                      has_lower && !isfinite(constraint->lower) ? constraint->lower : constraint->upper);
  if (has_lower && has_upper && !(constraint->lower < constraint->upper))
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the bounds of constraint %zu are %g and %g; expected the lower one first", number,
                      constraint->lower, constraint->upper);
  return RPINN_OK;
}

RpinnStatus rpinn_constraints_create(RpinnContext *context, size_t count, const RpinnConstraint *constraints,
                                     RpinnConstraints **result) {
  *result = NULL;
  for (size_t k = 0; k < count; k++) RPINN_TRY(check(context, k, &constraints[k]));
  RpinnConstraints *all = malloc(sizeof *all + count * sizeof all->list[0]);
  if (!all) return rpinn_fail_memory(context);
  *all = (RpinnConstraints){.count = count};
  for (size_t k = 0; k < count; k++) {
    all->list[k] = constraints[k];
    all->num_values += constraints[k].count;
    all->num_parameters += num_free(&constraints[k]);
  }
  *result = all;
  return RPINN_OK;
}

void rpinn_constraints_destroy(RpinnConstraints *constraints) {
  free(constraints);
}

size_t rpinn_constraints_num_values(const RpinnConstraints *constraints) {
  return constraints->num_values;
}

size_t rpinn_constraints_num_parameters(const RpinnConstraints *constraints) {
  return constraints->num_parameters;
}

/* ---- from free parameters to values: each returns the logarithm of its Jacobian ---- */

static double apply_exponential(const RpinnConstraint *constraint, const double *u, double *x) {
  double sum = 0;
  for (size_t k = 0; k < constraint->count; k++) {
    x[k] = constraint->kind == RPINN_ABOVE ? constraint->lower + exp(u[k]) : constraint->upper - exp(u[k]);
    sum += u[k];
  }
  return sum;
}

static double apply_between(const RpinnConstraint *constraint, const double *u, double *x) {
  double width = constraint->upper - constraint->lower, sum = 0;
  for (size_t k = 0; k < constraint->count; k++) {
    x[k] = constraint->lower + width * logistic(u[k]);
    sum += log(width) + log_logistic(u[k]) + log_logistic(-u[k]);
  }
  return sum;
}

static double apply_rising(const RpinnConstraint *constraint, const double *u, double *x) {
  double sum = 0;
  x[0] = u[0];
  for (size_t k = 1; k < constraint->count; k++) {
    x[k] = x[k - 1] + exp(u[k]);
    sum += u[k];
  }
  return sum;
}

/* u_k - log(K - k), of which z_k is the logistic. */
static double stick(const RpinnConstraint *constraint, const double *u, size_t k) {
  return u[k] - log((double)(constraint->count - 1 - k));
}

static double apply_simplex(const RpinnConstraint *constraint, const double *u, double *x) {
  double log_rest = 0, sum = 0;
  for (size_t k = 0; k + 1 < constraint->count; k++) {
    double log_z = log_logistic(stick(constraint, u, k)), log_other = log_logistic(-stick(constraint, u, k));
    x[k] = exp(log_rest + log_z);
    sum += log_rest + log_z + log_other;
    log_rest += log_other;
  }
  x[constraint->count - 1] = exp(log_rest);
  return sum;
}

static double apply(const RpinnConstraint *constraint, const double *u, double *x) {
  switch (constraint->kind) {
  case RPINN_ABOVE:
  case RPINN_BELOW: return apply_exponential(constraint, u, x);
  case RPINN_BETWEEN: return apply_between(constraint, u, x);
  case RPINN_RISING: return apply_rising(constraint, u, x);
  case RPINN_SIMPLEX: return apply_simplex(constraint, u, x);
  case RPINN_FREE: break;
  }
  memcpy(x, u, constraint->count * sizeof *x);
  return 0;
}

void rpinn_constraints_apply(const RpinnConstraints *constraints, const double *parameters, double *values,
                             double *log_jacobian) {
  double sum = 0;
  for (size_t k = 0; k < constraints->count; k++) {
    const RpinnConstraint *constraint = &constraints->list[k];
    sum += apply(constraint, parameters, values);
    parameters += num_free(constraint);
    values += constraint->count;
  }
  if (log_jacobian) *log_jacobian = sum;
}

/* ---- and back ---- */

/* False: the value is not allowed. */
static bool invert_value(const RpinnConstraint *constraint, double x, double *u) {
  switch (constraint->kind) {
  case RPINN_ABOVE: *u = log(x - constraint->lower); break;
  case RPINN_BELOW: *u = log(constraint->upper - x); break;
  case RPINN_BETWEEN: *u = log(x - constraint->lower) - log(constraint->upper - x); break;
  case RPINN_FREE:
  case RPINN_RISING:
  case RPINN_SIMPLEX: *u = x; break;
  }
  return isfinite(*u);
}

static bool invert_rising(const double *x, size_t k, double *u) {
  *u = k ? log(x[k] - x[k - 1]) : x[0];
  return isfinite(*u);
}

/* Value k of a simplex, of which rest is left: z = x / rest. The last one is what is left. */
static bool invert_simplex(const RpinnConstraint *constraint, const double *x, size_t k, double *rest,
                           double *u) {
  size_t last = constraint->count - 1;
  if (!(x[k] > 0)) return false;
  if (k == last) return fabs(*rest - x[last]) <= sum_tolerance;
  u[k] = log(x[k]) - log(*rest - x[k]) + log((double)(last - k));
  *rest -= x[k];
  return isfinite(u[k]);
}

static bool invert(const RpinnConstraint *constraint, const double *x, size_t k, double *rest, double *u) {
  if (constraint->kind == RPINN_RISING) return invert_rising(x, k, &u[k]);
  if (constraint->kind == RPINN_SIMPLEX) return invert_simplex(constraint, x, k, rest, u);
  return invert_value(constraint, x[k], &u[k]);
}

static const char *expected_text(RpinnConstraintKind kind) {
  switch (kind) {
  case RPINN_ABOVE: return "a finite number above its bound";
  case RPINN_BELOW: return "a finite number below its bound";
  case RPINN_BETWEEN: return "a number between its bounds";
  case RPINN_RISING: return "a finite number above the one before it";
  case RPINN_SIMPLEX: return "positive numbers that add up to one";
  case RPINN_FREE: break;
  }
  return "a finite number";
}

RpinnStatus rpinn_constraints_invert(RpinnContext *context, const RpinnConstraints *constraints,
                                     const double *values, double *parameters) {
  const double *x = values;
  rpinn_context_clear_error(context);
  for (size_t c = 0; c < constraints->count; c++) {
    const RpinnConstraint *constraint = &constraints->list[c];
    double rest = 1;
    for (size_t k = 0; k < constraint->count; k++)
      if (!invert(constraint, x, k, &rest, parameters))
        return rpinn_fail(context, RPINN_ERROR_INPUT, "value %zu is %g; expected %s",
                          (size_t)(x + k - values), x[k], expected_text(constraint->kind));
    parameters += num_free(constraint);
    x += constraint->count;
  }
  return RPINN_OK;
}

/* ---- densities ---- */

struct RpinnFreeDensity {
  const RpinnConstraints *constraints;
  RpinnLogDensity density;
  double *values, *slopes; /* [num_values] x, and the gradient by it */
};

static void pull_between(const RpinnConstraint *constraint, const double *u, const double *slopes,
                         double *gradient) {
  double width = constraint->upper - constraint->lower;
  for (size_t k = 0; k < constraint->count; k++) {
    double s = logistic(u[k]), other = logistic(-u[k]);
    gradient[k] = slopes[k] * width * s * other + other - s;
  }
}

static void pull_rising(const RpinnConstraint *constraint, const double *u, const double *slopes,
                        double *gradient) {
  double sum = 0;
  for (size_t k = constraint->count; k-- > 1;) {
    sum += slopes[k];
    gradient[k] = sum * exp(u[k]) + 1;
  }
  gradient[0] = sum + slopes[0];
}

static void pull_simplex(const RpinnConstraint *constraint, const double *u, const double *x,
                         const double *slopes, double *gradient) {
  size_t last = constraint->count - 1;
  double later = slopes[last] * x[last];
  for (size_t k = last; k-- > 0;) {
    double z = logistic(stick(constraint, u, k)), other = logistic(-stick(constraint, u, k));
    gradient[k] = slopes[k] * x[k] * other - later * z + other - z;
    later += slopes[k] * x[k] + 1;
  }
}

/* The gradient by u from that by x (slopes), with the one of the logarithm of the Jacobian. */
static void pull(const RpinnConstraint *constraint, const double *u, const double *x, const double *slopes,
                 double *gradient) {
  double bound = constraint->kind == RPINN_ABOVE ? constraint->lower : constraint->upper;
  switch (constraint->kind) {
  case RPINN_FREE: memcpy(gradient, slopes, constraint->count * sizeof *gradient); break;
  case RPINN_ABOVE:
  case RPINN_BELOW:
    for (size_t k = 0; k < constraint->count; k++) gradient[k] = slopes[k] * (x[k] - bound) + 1;
    break;
  case RPINN_BETWEEN: pull_between(constraint, u, slopes, gradient); break;
  case RPINN_RISING: pull_rising(constraint, u, slopes, gradient); break;
  case RPINN_SIMPLEX: pull_simplex(constraint, u, x, slopes, gradient); break;
  }
}

static RpinnStatus evaluate(void *data, const double *theta, double *log_density, double *gradient) {
  RpinnFreeDensity *self = data;
  const RpinnConstraints *constraints = self->constraints;
  const double *x = self->values, *slopes = self->slopes;
  double log_jacobian;
  rpinn_constraints_apply(constraints, theta, self->values, &log_jacobian);
  RPINN_TRY(self->density.evaluate(self->density.data, x, log_density, gradient ? self->slopes : NULL));
  *log_density += log_jacobian;
  for (size_t k = 0; gradient && k < constraints->count; k++) {
    const RpinnConstraint *constraint = &constraints->list[k];
    pull(constraint, theta, x, slopes, gradient);
    theta += num_free(constraint);
    gradient += num_free(constraint);
    x += constraint->count;
    slopes += constraint->count;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_free_density_create(RpinnContext *context, const RpinnConstraints *constraints,
                                      const RpinnLogDensity *density, RpinnFreeDensity **result) {
  *result = NULL;
  if (!density->evaluate)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the log density has no function evaluate");
  if (density->num_parameters != constraints->num_values)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the log density has %zu parameters; expected %zu, one for each constrained value",
                      density->num_parameters, constraints->num_values);
  RpinnFreeDensity *self = calloc(1, sizeof *self);
  double *numbers = calloc(2 * constraints->num_values + 1, sizeof *numbers);
  if (!self || !numbers) {
    free(self);
    free(numbers);
    return rpinn_fail_memory(context);
  }
  *self = (RpinnFreeDensity){.constraints = constraints,
                             .density = *density,
                             .values = numbers,
                             .slopes = numbers + constraints->num_values};
  *result = self;
  return RPINN_OK;
}

void rpinn_free_density_destroy(RpinnFreeDensity *self) {
  if (!self) return;
  free(self->values);
  free(self);
}

RpinnLogDensity rpinn_free_density(RpinnFreeDensity *self) {
  return (RpinnLogDensity){.num_parameters = self->constraints->num_parameters,
                           .data = self,
                           .evaluate = evaluate,
                           .epsilon = self->density.epsilon};
}
