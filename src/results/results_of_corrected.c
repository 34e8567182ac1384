/* Members that NUTS has continued: what they have become are the draws, each of which counts once, and what they were has its
 * losses. */
#include <math.h>

#include "corrected_statistics.h"
#include "member_statistics.h"
#include "results_pass.h"
#include "unknown_noise.h"

/* ---- what they were ---- */

typedef struct Starts {
  RpinnResultsPass *pass;
  uint64_t count; /* that did not fail */
} Starts;

static RpinnStatus look_at_start(void *user, const RpinnVisitedDraw *draw) {
  Starts *starts = user;
  return draw->stored->failed ? RPINN_OK
                              : rpinn_results_keep_member(starts->pass, draw->stored, starts->count++);
}

static RpinnStatus keep_starts(RpinnResultsPass *pass) {
  RpinnDrawPlan members = rpinn_draw_plan_of_members(&pass->run->plan);
  Starts starts = {.pass = pass};
  RPINN_TRY(rpinn_results_count_members(pass));
  return rpinn_draw_store_visit(pass->context, pass->run->store, &members, false, look_at_start, &starts);
}

/* ---- what they are ---- */

static RpinnStatus check_lengths(const RpinnResultsPass *pass, const RpinnStoredMember *draw) {
  size_t num_parameters = draw->failed ? 0 : rpinn_posterior_num_drawn(pass->run->posteriors[0]);
  if (draw->num_parameters == num_parameters && draw->num_statistics == RPINN_NUM_CORRECTED_STATISTICS)
    return RPINN_OK;
  return rpinn_fail_at(pass->context, (RpinnPlace){.file = pass->run->folder},
                       "the corrected draws of this run do not belong to its run.yaml: draw %llu has %zu "
                       "parameters and %zu statistics, expected %zu and %d",
                       (unsigned long long)draw->index, draw->num_parameters, draw->num_statistics,
                       num_parameters, RPINN_NUM_CORRECTED_STATISTICS);
}

static RpinnStatus look_at_draw(void *user, const RpinnVisitedDraw *visited, bool *compute) {
  *compute = !visited->stored->failed;
  return check_lengths(user, visited->stored);
}

static RpinnStatus write_draw(RpinnResultsPass *pass, const RpinnStoredMember *stored, const double *values) {
  const RpinnPosterior *posterior = pass->run->posteriors[0];
  uint64_t stream =
      rpinn_run_stream_member(stored->index, (uint32_t)stored->statistics[RPINN_CORRECTED_ATTEMPTS]);
  double statistics[RPINN_NUM_CORRECTED_COLUMNS + 1];
  if (!pass->with_file) return RPINN_OK;
  for (size_t k = 0; k < RPINN_NUM_CORRECTED_COLUMNS; k++) statistics[k] = stored->statistics[k];
  statistics[RPINN_NUM_CORRECTED_COLUMNS] = rpinn_posterior_member_scale(posterior, stream);
  RpinnPosteriorDraw draw = {.draw = pass->draw,
                             .member = stored->index,
                             .prior_scale = statistics[RPINN_NUM_CORRECTED_COLUMNS],
                             .parameters = stored->parameters,
                             .statistics = statistics};
  rpinn_results_describe(pass, values, &draw);
  return rpinn_posterior_file_add(pass->context, pass->file, &draw);
}

static void sum_up(const double *statistics, RpinnMemberCorrection *correction) {
  double divergences = statistics[RPINN_CORRECTED_DIVERGENCES], n = (double)++correction->num_draws;
  correction->num_divergent += divergences > 0;
  correction->divergences += divergences;
  correction->saturations += statistics[RPINN_CORRECTED_SATURATIONS];
  correction->spent_gradients += statistics[RPINN_CORRECTED_N_STEPS] + 1; /* that of the start */
  correction->spent_seconds += statistics[RPINN_CORRECTED_SECONDS];
  correction->acceptance += (statistics[RPINN_CORRECTED_ACCEPTANCE_RATE] - correction->acceptance) / n;
}

static RpinnStatus take_draw(void *user, const RpinnVisitedDraw *visited, const double *values) {
  RpinnResultsPass *pass = user;
  if (visited->stored->failed) return RPINN_OK;
  sum_up(visited->stored->statistics, &pass->run->correction);
  RPINN_TRY(write_draw(pass, visited->stored, values));
  rpinn_moments_add(pass->moments, values);
  RPINN_TRY(rpinn_results_keep(pass, values));
  pass->draw++;
  return RPINN_OK;
}

static RpinnStatus gather_corrected(RpinnResultsPass *pass) {
  RpinnRun *run = pass->run;
  uint64_t finished, failed;
  RPINN_TRY(rpinn_run_load_correction(pass->context, run));
  RPINN_TRY(keep_starts(pass));
  RPINN_TRY(rpinn_draw_store_count_members(pass->context, run->store, &run->plan, &finished, &failed));
  if (finished == failed)
    return rpinn_fail_at(pass->context, (RpinnPlace){.file = run->folder},
                         "no member of this run is corrected yet");
  run->results.num_draws = finished - failed;
  run->results.num_failed = failed; /* those that were never finite are among them */
  run->results.weights = (RpinnRunWeights){.reason = "members were continued by NUTS, and count once each",
                                           .acceptance = (double)NAN,
                                           .smoothing = {.k = (double)NAN, .effective_size = (double)NAN}};
  RPINN_TRY(rpinn_results_open_file(pass, run->results.num_draws));
  return rpinn_results_visit(pass, false, look_at_draw, take_draw);
}

static const RpinnFileStatistic corrected_statistics[] = {
#define FILE_STATISTIC(name, text) {RPINN_CORRECTED_##name, text, false},
    RPINN_CORRECTED_STATISTIC_LIST(FILE_STATISTIC)
#undef FILE_STATISTIC
};

/* Statistics that are kept are those of the members. */
const RpinnDrawKind rpinn_corrected_draws = {.num_statistics = RPINN_NUM_MEMBER_STATISTICS,
                                             .has_loss_parts = true,
                                             .num_file_statistics = RPINN_NUM_CORRECTED_COLUMNS,
                                             .file_statistics = corrected_statistics,
                                             .gather = gather_corrected};
