/* Weights of draws of a fitted distribution q: the posterior by q, both of which are known at every draw. */
#include <stdlib.h>

#include "double_target.h"
#include "run_record.h"
#include "unknown_noise.h"
#include "variational_gaussian.h"
#include "verdict.h"

typedef struct Scales {
  RpinnPosterior *posterior;
  const RpinnVariationalGaussian *q;
  RpinnDoubleTarget target; /* weights are differences of large numbers */
  double *rows;             /* [M] */
  double *room;             /* [2 N + rank] of q */
} Scales;

static const char *reason_against(const RpinnRun *run, uint64_t finished, uint64_t converged) {
  (void)run, (void)finished, (void)converged; /* any q will do: its k tells */
  return NULL;
}

static RpinnStatus open_scales(RpinnContext *context, const RpinnRun *run, RpinnPosterior *posterior,
                               void **result) {
  const RpinnVariationalGaussian *q = run->variational.q;
  Scales *scales = *result = calloc(1, sizeof *scales);
  if (!scales) return rpinn_fail_memory(context);
  *scales = (Scales){.posterior = posterior,
                     .q = q,
                     .rows = malloc((posterior->model.num_rows + 1) * sizeof(double)),
                     .room = malloc((2 * q->N + q->rank) * sizeof(double))};
  if (!scales->rows || !scales->room) return rpinn_fail_memory(context);
  return rpinn_double_target_open(context, posterior, &scales->target);
}

static void close_scales(void *opened) {
  Scales *scales = opened;
  if (!scales) return;
  rpinn_double_target_close(&scales->target);
  free(scales->rows);
  free(scales->room);
  free(scales);
}

/* -E(theta, eta) - log q(theta, eta). */
static RpinnStatus weigh_draw(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                              double *log_weight) {
  Scales *scales = worker;
  const RpinnLeastSquares *squares = &scales->target.squares;
  const double *theta = draw->stored->parameters, *eta = theta + squares->num_parameters;
  double energy = rpinn_noise_energy(scales->posterior, eta, NULL);
  scales->target.context = context;
  rpinn_posterior_set_noise(scales->posterior, eta);
  RPINN_TRY(squares->residuals(squares->data, theta, scales->rows));
  for (size_t i = 0; i < squares->num_rows; i++) energy += 0.5 * scales->rows[i] * scales->rows[i];
  for (size_t j = 0; j < squares->num_parameters; j++) {
    double row = (theta[j] - squares->prior_mean[j]) * squares->prior_root[j];
    energy += 0.5 * row * row;
  }
  *log_weight = -energy - rpinn_variational_gaussian_log_density(scales->q, theta, scales->room);
  return RPINN_OK;
}

const RpinnWeigher rpinn_variational_weigher = {.name = "importance weights",
                                                .largest_k = RPINN_PARETO_K_LIMIT,
                                                .reason_against = reason_against,
                                                .open = open_scales,
                                                .close = close_scales,
                                                .weigh = weigh_draw};
