/* Weights of randomised minimisers: the Gauss-Newton form of their density, through a determinant of rows. */
#include <math.h>
#include <stdlib.h>

#include "double_target.h"
#include "importance.h"
#include "run_record.h"
#include "unknown_noise.h"

typedef struct Scales {
  RpinnPosterior *posterior;
  const RpinnNoisePosterior *noise; /* what the noise of draws was drawn from */
  RpinnDoubleTarget target;         /* weights are differences of large numbers */
  RpinnImportance *importance;
} Scales;

static const char *reason_against(const RpinnRun *run, uint64_t finished, uint64_t converged) {
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  if (run->posteriors[0]->sigmas.integrates)
    return "weights are those of one prior, and every member has a scale of its own";
  if (converged < finished) return "weights belong to converged members, and some did not converge";
  if (!rpinn_importance_available(model->num_parameters, model->prior_root))
    return "weights need a prior on every parameter";
  return NULL;
}

static RpinnStatus open_scales(RpinnContext *context, const RpinnRun *run, RpinnPosterior *posterior,
                               void **result) {
  const RpinnEnergyModel *model = &posterior->model;
  Scales *scales = *result = calloc(1, sizeof *scales);
  if (!scales) return rpinn_fail_memory(context);
  scales->posterior = posterior;
  scales->noise = &run->noise.posterior;
  RPINN_TRY(rpinn_double_target_open(context, posterior, &scales->target));
  scales->importance =
      rpinn_importance_create(model->num_rows, model->num_parameters, model->prior_root, model->prior_mean);
  return scales->importance ? RPINN_OK : rpinn_fail_memory(context);
}

static void close_scales(void *opened) {
  Scales *scales = opened;
  if (!scales) return;
  rpinn_double_target_close(&scales->target);
  rpinn_importance_destroy(scales->importance);
  free(scales);
}

/* posterior / q over theta given eta, times posterior / q over eta; the latter is 1 where all noise is known. */
static RpinnStatus weigh_member(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                                double *log_weight) {
  Scales *scales = worker;
  const double *theta = draw->stored->parameters, *eta = theta + scales->posterior->model.num_parameters;
  scales->target.context = context;
  rpinn_posterior_set_noise(scales->posterior, eta);
  RPINN_TRY(
      rpinn_importance_log_weight_of_target(scales->importance, &scales->target.squares, theta, log_weight));
  *log_weight -= rpinn_noise_energy(scales->posterior, eta, NULL) +
                 rpinn_noise_posterior_log_density(scales->noise, eta);
  return RPINN_OK;
}

const RpinnWeigher rpinn_gauss_newton_weigher = {.name = "Gauss-Newton weights",
                                                 .largest_k = (double)INFINITY,
                                                 .reason_against = reason_against,
                                                 .open = open_scales,
                                                 .close = close_scales,
                                                 .weigh = weigh_member};
