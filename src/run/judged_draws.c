#include "judged_draws.h"

#include <stdlib.h>
#include <string.h>

#include "run_targets.h"

static RpinnStatus keep_draw(void *user, const RpinnVisitedDraw *draw) {
  RpinnJudgedDraws *draws = user;
  size_t N = draws->posterior->model.num_parameters;
  if (draw->stored->failed || draws->seen++ % draws->every != 0) return RPINN_OK;
  if (draws->count == RPINN_MAX_JUDGED_DRAWS) return RPINN_OK;
  uint32_t attempts =
      draws->run->method->has_offsets ? (uint32_t)draw->stored->statistics[RPINN_MEMBER_ATTEMPTS] : 0;
  draws->streams[draws->count] = rpinn_run_stream_member(draw->stored->index, attempts);
  memcpy(draws->theta + draws->count++ * N, draw->stored->parameters, N * sizeof(double));
  return RPINN_OK;
}

RpinnStatus rpinn_judged_draws_open(RpinnContext *context, const RpinnRun *run, RpinnJudgedDraws *draws) {
  RpinnPosterior *posterior = run->posteriors[0];
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
  *draws = (RpinnJudgedDraws){.context = context, .run = run, .posterior = posterior};
  draws->every = (run->results.num_draws + RPINN_MAX_JUDGED_DRAWS - 1) / RPINN_MAX_JUDGED_DRAWS;
  draws->theta = calloc(RPINN_MAX_JUDGED_DRAWS * N + M + 3 * N + 1, sizeof(double));
  if (!draws->theta) return rpinn_fail_memory(context);
  draws->offsets = draws->theta + RPINN_MAX_JUDGED_DRAWS * N;
  draws->root = draws->offsets + M + N;
  draws->mean = draws->root + N;
  if (run->laplace.at)
    memcpy(draws->theta, run->laplace.at, N * sizeof(double)), draws->count = 1;
  else
    RPINN_TRY(rpinn_draw_store_visit(context, run->store, &run->plan, false, keep_draw, draws));
  RPINN_TRY(rpinn_double_target_open(context, posterior, &draws->target));
  draws->squares = draws->target.squares;
  draws->squares.prior_root = draws->root;
  draws->squares.prior_mean = draws->mean;
  return RPINN_OK;
}

void rpinn_judged_draws_close(RpinnJudgedDraws *draws) {
  rpinn_double_target_close(&draws->target);
  free(draws->theta);
}

const double *rpinn_judged_draw(RpinnJudgedDraws *draws, size_t k) {
  const RpinnEnergyModel *model = &draws->posterior->model;
  size_t M = model->num_rows, N = model->num_parameters;
  memcpy(draws->root, model->prior_root, N * sizeof(double));
  memcpy(draws->mean, model->prior_mean, N * sizeof(double));
  if (draws->run->method->has_offsets) {
    rpinn_posterior_network_roots(
        draws->posterior, rpinn_posterior_member_scale(draws->posterior, draws->streams[k]), draws->root);
    rpinn_posterior_draw_offsets(draws->posterior, draws->streams[k], draws->offsets);
    for (size_t j = 0; j < N; j++)
      if (draws->root[j] > 0) draws->mean[j] += draws->offsets[M + j] / draws->root[j];
  }
  return draws->theta + k * N;
}
