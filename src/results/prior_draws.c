#include "prior_draws.h"

#include <stdlib.h>

#include "moments.h"
#include "run_record.h"

static RpinnStatus require_prior(RpinnContext *context, const RpinnPosterior *posterior) {
  for (size_t j = 0; j < posterior->model.num_parameters; j++)
    if (!(posterior->model.prior_root[j] > 0))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "%s no prior to draw from; expected a finite scale, such as --prior-scale 1",
                        j < posterior->model.unknown_start ? "networks have" : "an unknown has");
  return RPINN_OK;
}

static RpinnStatus allocate(RpinnContext *context, RpinnRun *run) {
  RpinnRunResults *results = &run->results;
  size_t count = run->outputs.num_values, bytes = (count + 1) * sizeof(double);
  results->mean = malloc(bytes);
  results->deviation = malloc(bytes);
  results->low = malloc(3 * bytes);
  results->keep_every = 1;
  results->kept = rpinn_kept_draws_create(count, 1);
  if (!results->mean || !results->deviation || !results->low || !results->kept)
    return rpinn_fail_memory(context);
  results->median = results->low + count;
  results->high = results->median + count;
  return RPINN_OK;
}

/* Draw k is the prior's part of the noise of rPINN's member k, where `start: prior` begins. offsets [M + N], theta [N],
 * values [outputs.num_values]. */
static RpinnStatus draw(RpinnContext *context, RpinnRun *run, RpinnMoments *moments, double *offsets,
                        double *theta, double *values) {
  RpinnPosterior *posterior = run->posteriors[0];
  for (uint64_t k = 0; k < RPINN_NUM_PRIOR_DRAWS; k++) {
    if (rpinn_is_interrupted(context)) return rpinn_fail_interrupted(context);
    rpinn_posterior_draw_offsets(posterior, k, offsets);
    rpinn_posterior_take_scale(posterior, rpinn_posterior_member_scale(posterior, k));
    rpinn_posterior_start_prior(posterior, offsets, theta);
    RPINN_TRY(rpinn_draw_outputs_evaluate(context, &run->outputs, posterior, theta, values));
    rpinn_moments_add(moments, values);
    RPINN_TRY(rpinn_kept_draws_add(run->results.kept, k, values));
  }
  run->results.num_draws = RPINN_NUM_PRIOR_DRAWS;
  return RPINN_OK;
}

RpinnStatus rpinn_run_fill_by_prior(RpinnContext *context, RpinnRun *run) {
  static const double probabilities[] = {0.025, 0.5, 0.975};
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  RPINN_TRY(require_prior(context, run->posteriors[0]));
  RPINN_TRY(allocate(context, run));
  RpinnMoments *moments = rpinn_moments_create(run->outputs.num_values);
  double *room =
      malloc((model->num_rows + 2 * model->num_parameters + run->outputs.num_values + 1) * sizeof *room);
  double *theta = room ? room + model->num_rows + model->num_parameters : NULL;
  RpinnStatus status = room && moments ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK) status = draw(context, run, moments, room, theta, theta + model->num_parameters);
  if (status == RPINN_OK) {
    rpinn_moments_get(moments, run->results.mean, run->results.deviation);
    status = rpinn_kept_draws_quantiles(run->results.kept, 3, probabilities, run->results.low);
  }
  rpinn_moments_destroy(moments);
  free(room);
  return status;
}
