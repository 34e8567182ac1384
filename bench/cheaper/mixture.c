/* Mixtures of linearised posteriors at members as one proposal distribution for the whole posterior, weighted by importance or in Metropolis
 * steps. Centres are the members themselves, or the most probable points that Levenberg-Marquardt finds from them; components are normal or
 * Student's with NU degrees of freedom, their deviations those of local_normal.h times a factor; a share of the draws may come from the prior. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "dense_algebra.h"
#include "independence_metropolis.h"
#include "local_normal.h"
#include "rpinn/optimize.h"
#include "rpinn/pareto.h"
#include "ways.h"

enum { SEED = 1, NU = 5 };
static const double prior_share = 0.1;

typedef struct Mixture {
  Subject *subject;
  size_t count, num_draws;
  LocalNormal *components; /* [count] */
  double *z, *v, *theta;   /* [N] */
  double *logs;            /* [count + 1] */
  double *weights;         /* [num_draws] */
  size_t *states;          /* [num_draws] of Metropolis */
} Mixture;

typedef struct Shape {
  const char *name;
  bool is_student, has_prior;
  double factor;
} Shape;

static const Shape shapes[] = {{"normal", false, false, 1},
                               {"normal, 0.3 of the deviations", false, false, 0.3},
                               {"normal, 0.1 of the deviations", false, false, 0.1},
                               {"Student's", true, false, 1},
                               {"Student's, 0.3 of the deviations", true, false, 0.3},
                               {"normal, and the prior", false, true, 1}};

static void close_mixture(Mixture *mixture) {
  for (size_t k = 0; mixture->components && k < mixture->count; k++)
    local_normal_destroy(&mixture->components[k]);
  free(mixture->components);
  free(mixture->z);
  free(mixture->logs);
  free(mixture->weights);
  free(mixture->states);
}

static RpinnStatus open_mixture(Subject *subject, const double *numbers, Mixture *mixture) {
  size_t N = subject->num_parameters;
  *mixture = (Mixture){.subject = subject, .count = (size_t)numbers[0], .num_draws = (size_t)numbers[1]};
  mixture->components = calloc(mixture->count, sizeof *mixture->components);
  mixture->z = calloc(3 * N, sizeof(double));
  mixture->v = mixture->z + N;
  mixture->theta = mixture->v + N;
  mixture->logs = calloc(mixture->count + 1, sizeof(double));
  mixture->weights = calloc(mixture->num_draws, sizeof(double));
  mixture->states = calloc(mixture->num_draws, sizeof(size_t));
  if (!mixture->components || !mixture->z || !mixture->logs || !mixture->weights || !mixture->states)
    return rpinn_fail_memory(subject->context);
  for (size_t k = 0; k < mixture->count; k++)
    RPINN_TRY(local_normal_create(subject, &mixture->components[k]));
  return RPINN_OK;
}

/* The most probable point near theta, which it replaces. */
static RpinnStatus minimise(Subject *subject, double *theta) {
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizer = NULL;
  RPINN_TRY(
      rpinn_levenberg_marquardt_create(subject->context, &subject->squares, NULL, &options, &optimizer));
  RpinnStatus status = rpinn_optimizer_start(subject->context, optimizer, theta);
  if (status == RPINN_OK)
    status = rpinn_optimizer_advance(subject->context, optimizer, options.stop.max_iterations);
  if (status == RPINN_OK)
    memcpy(theta, rpinn_optimizer_optimum(optimizer).best_theta, subject->num_parameters * sizeof *theta);
  rpinn_optimizer_destroy(optimizer);
  return status;
}

static RpinnStatus place_components(Mixture *mixture, const RpinnDraws *members, bool at_modes) {
  Subject *subject = mixture->subject;
  for (size_t k = 0; k < mixture->count; k++) {
    memcpy(mixture->theta, rpinn_draws_get(members, k).parameters, subject->num_parameters * sizeof(double));
    if (at_modes) RPINN_TRY(minimise(subject, mixture->theta));
    subject_whiten(subject, mixture->theta, mixture->components[k].z);
    RPINN_TRY(local_normal_find(subject, &mixture->components[k]));
  }
  return RPINN_OK;
}

/* log density of a component at z, without the constants that all share. */
static double log_component(Mixture *mixture, size_t k, const Shape *shape) {
  LocalNormal *component = &mixture->components[k];
  double N = (double)component->num_parameters, square;
  for (size_t j = 0; j < component->num_parameters; j++) mixture->v[j] = mixture->z[j] - component->z[j];
  square = local_normal_square(component, mixture->v) / (shape->factor * shape->factor);
  double core = shape->is_student ? -0.5 * (NU + N) * log1p(square / NU) : -0.5 * square;
  return component->half_determinant + core;
}

/* log of the whole mixture at z. Normal components and the prior share the constant of a normal distribution but for the factor, which only
 * matters beside the prior, and there it is 1. */
static double log_mixture(Mixture *mixture, const Shape *shape) {
  size_t count = mixture->count, N = mixture->subject->num_parameters;
  double largest = -(double)INFINITY, sum = 0,
         share = log((shape->has_prior ? 1 - prior_share : 1) / (double)count);
  for (size_t k = 0; k < count; k++) mixture->logs[k] = share + log_component(mixture, k, shape);
  if (shape->has_prior)
    mixture->logs[count++] = log(prior_share) - 0.5 * rpinn_dense_dot(N, mixture->z, mixture->z);
  for (size_t k = 0; k < count; k++) largest = fmax(largest, mixture->logs[k]);
  for (size_t k = 0; k < count; k++) sum += exp(mixture->logs[k] - largest);
  return largest + log(sum);
}

static void draw_point(Mixture *mixture, const Shape *shape, RpinnStream *stream) {
  size_t N = mixture->subject->num_parameters;
  if (shape->has_prior && rpinn_stream_uniform(stream) < prior_share) {
    rpinn_stream_normals(stream, N, mixture->z);
    return;
  }
  LocalNormal *component = &mixture->components[rpinn_stream_below(stream, mixture->count)];
  double factor = shape->factor;
  if (shape->is_student) { /* by sqrt(NU / chi^2 of NU degrees) */
    double squares = 0;
    for (size_t i = 0; i < NU; i++) squares += pow(rpinn_stream_normal(stream), 2);
    factor *= sqrt(NU / squares);
  }
  local_normal_draw(component, stream, mixture->v);
  for (size_t j = 0; j < N; j++) mixture->z[j] = component->z[j] + factor * mixture->v[j];
}

static RpinnStatus try_shape(Mixture *mixture, const char *centres, const Shape *shape) {
  Subject *subject = mixture->subject;
  RpinnStream stream = rpinn_stream(SEED, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnParetoSmoothing found;
  double energy;
  for (size_t i = 0; i < mixture->num_draws; i++) {
    draw_point(mixture, shape, &stream);
    subject_theta(subject, mixture->z, mixture->theta);
    RPINN_TRY(subject->objective.evaluate(subject->objective.data, mixture->theta, &energy, NULL));
    mixture->weights[i] = isfinite(energy) ? -energy - log_mixture(mixture, shape) : -(double)INFINITY;
  }
  double accepted =
      rpinn_independence_metropolis(SEED, mixture->num_draws, mixture->weights, mixture->states);
  RPINN_TRY(rpinn_pareto_smooth(mixture->num_draws, mixture->weights, mixture->weights, &found));
  printf("| %zu at %s: %s | %zu | ", mixture->count, centres, shape->name, mixture->num_draws);
  if (isnan(found.k))
    printf("none");
  else
    printf("%.1f", found.k);
  printf(" | %.1f | %.2f %% |\n", found.effective_size, 100 * accepted);
  return RPINN_OK;
}

RpinnStatus run_mixture(Subject *subject, const char *folder, const double *numbers) {
  Mixture mixture;
  RpinnDraws *members = NULL;
  (void)folder;
  RpinnStatus status = open_mixture(subject, numbers, &mixture);
  if (status == RPINN_OK) status = subject_members(subject, mixture.count, 1, &members);
  for (int at_modes = 0; at_modes <= 1 && status == RPINN_OK; at_modes++) {
    status = place_components(&mixture, members, at_modes);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0] && status == RPINN_OK; s++)
      status = try_shape(&mixture, at_modes ? "most probable points" : "members", &shapes[s]);
  }
  rpinn_draws_destroy(members);
  close_mixture(&mixture);
  return status;
}
