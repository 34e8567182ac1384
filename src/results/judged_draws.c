#include "judged_draws.h"

#include <stdlib.h>
#include <string.h>

#include "corrected_statistics.h"
#include "member_statistics.h"
#include "run_record.h"
#include "unknown_noise.h"

/* That its random streams are named by. */
static uint32_t attempt_of(const RpinnRun *run, const RpinnStoredMember *stored) {
  if (!run->method->has_offsets) return 0;
  return (uint32_t)
      stored->statistics[rpinn_run_is_corrected(run) ? RPINN_CORRECTED_ATTEMPTS : RPINN_MEMBER_ATTEMPTS];
}

static RpinnStatus keep_draw(void *user, const RpinnVisitedDraw *draw) {
  RpinnJudgedDraws *draws = user;
  size_t length = rpinn_posterior_num_drawn(draws->posterior);
  draws->streams[draws->count] =
      rpinn_run_stream_member(draw->stored->index, attempt_of(draws->run, draw->stored));
  memcpy(draws->theta + draws->count++ * length, draw->stored->parameters, length * sizeof(double));
  return RPINN_OK;
}

RpinnStatus rpinn_judged_draws_open(RpinnContext *context, const RpinnRun *run, RpinnJudgedDraws *draws) {
  RpinnPosterior *posterior = run->posteriors[0];
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters,
         length = rpinn_posterior_num_drawn(posterior);
  *draws = (RpinnJudgedDraws){.context = context, .run = run, .posterior = posterior};
  uint64_t every = (run->results.num_draws + RPINN_MAX_JUDGED_DRAWS - 1) / RPINN_MAX_JUDGED_DRAWS;
  draws->theta = calloc(RPINN_MAX_JUDGED_DRAWS * length + M + 3 * N + 1, sizeof(double));
  if (!draws->theta) return rpinn_fail_memory(context);
  draws->offsets = draws->theta + RPINN_MAX_JUDGED_DRAWS * length;
  draws->root = draws->offsets + M + N;
  draws->mean = draws->root + N;
  if (run->laplace.at) {
    memcpy(draws->theta, run->laplace.at, N * sizeof(double));
    memcpy(draws->theta + N, posterior->eta, posterior->num_noises * sizeof(double));
    draws->count = 1;
  } else
    RPINN_TRY(rpinn_draw_store_visit_some(context, run->store, &run->plan, every, RPINN_MAX_JUDGED_DRAWS,
                                          keep_draw, draws));
  RPINN_TRY(rpinn_double_target_open(context, posterior, &draws->target));
  draws->squares = draws->target.squares;
  draws->squares.prior_root = draws->root;
  draws->squares.prior_mean = draws->mean;
  return RPINN_OK;
}

void rpinn_judged_draws_close(RpinnJudgedDraws *draws) {
  if (draws->run->noise.posterior.count)
    rpinn_posterior_set_noise(draws->posterior, draws->run->noise.posterior.mode);
  rpinn_double_target_close(&draws->target);
  free(draws->theta);
}

const double *rpinn_judged_draw(RpinnJudgedDraws *draws, size_t k) {
  const RpinnEnergyModel *model = &draws->posterior->model;
  size_t M = model->num_rows, N = model->num_parameters;
  memcpy(draws->root, model->prior_root, N * sizeof(double));
  memcpy(draws->mean, model->prior_mean, N * sizeof(double));
  if (draws->run->method->has_offsets)
    rpinn_posterior_network_roots(
        draws->posterior, rpinn_posterior_member_scale(draws->posterior, draws->streams[k]), draws->root);
  if (rpinn_run_draws_have_offsets(draws->run)) {
    rpinn_posterior_draw_offsets(draws->posterior, draws->streams[k], draws->offsets);
    for (size_t j = 0; j < N; j++)
      if (draws->root[j] > 0) draws->mean[j] += draws->offsets[M + j] / draws->root[j];
  }
  const double *theta = draws->theta + k * rpinn_posterior_num_drawn(draws->posterior);
  rpinn_posterior_set_noise(draws->posterior, theta + N);
  return theta;
}
