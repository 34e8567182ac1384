/* From stored members to results: one pass in member order, in memory that does not grow with the number of
 * members. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "moments.h"
#include "run_state.h"

enum { KEPT_BYTES = 96 << 20, KEPT_STATISTICS_BYTES = 16 << 20 };

typedef struct Pass {
  RpinnContext *context;
  RpinnRun *run;
  RpinnMoments *moments;
  double *values; /* [outputs.num_values] */
  uint64_t draw;  /* members that did not fail, so far */
} Pass;

static RpinnStop stop_of_name(const char *name) {
  for (int stop = 0; stop <= RPINN_STOP_DAMPING_LIMIT; stop++)
    if (!strcmp(rpinn_stop_name((RpinnStop)stop), name)) return (RpinnStop)stop;
  return RPINN_STOP_RUNNING;
}

static RpinnStatus keep_trace(Pass *pass, const RpinnStoredMember *member) {
  RpinnRunResults *results = &pass->run->results;
  uint64_t every = (pass->run->num_samples - 1) / RPINN_MAX_LOSS_TRACES + 1;
  if (pass->draw % every != 0) return RPINN_OK;
  double *points = malloc((2 * member->num_trace + 1) * sizeof *points);
  if (!points) return rpinn_fail_memory(pass->context);
  for (size_t k = 0; k < 2 * member->num_trace; k++) points[k] = member->trace[k];
  results->traces[results->num_traces++] = (RpinnLossTrace){member->index, member->num_trace, points};
  return RPINN_OK;
}

static RpinnStatus visit_member(void *user, const RpinnStoredMember *member) {
  Pass *pass = user;
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  results->num_members++;
  results->num_failed += member->failed != 0;
  results->num_retried += member->statistics[RPINN_MEMBER_ATTEMPTS] > 0;
  results->num_converged += member->statistics[RPINN_MEMBER_CONVERGED] > 0;
  results->stops[stop_of_name(member->stop)]++;
  if (member->failed) return RPINN_OK;
  RPINN_TRY(keep_trace(pass, member));
  RPINN_TRY(rpinn_draw_outputs_evaluate(&run->outputs, member->parameters, pass->values));
  rpinn_moments_add(pass->moments, pass->values);
  RPINN_TRY(rpinn_kept_draws_add(results->kept, pass->draw, pass->values));
  RPINN_TRY(rpinn_kept_draws_add(results->statistics, pass->draw, member->statistics));
  pass->draw++;
  return RPINN_OK;
}

static RpinnStatus allocate(Pass *pass) {
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  size_t count = run->outputs.num_values, bytes = (count + 1) * sizeof(double);
  size_t num_statistics = RPINN_NUM_MEMBER_STATISTICS + run->posteriors[0]->model.num_terms + 1;
  results->keep_every = rpinn_keep_every(run->num_samples, count ? count : 1, KEPT_BYTES);
  results->mean = malloc(bytes);
  results->deviation = malloc(bytes);
  results->low = malloc(3 * bytes);
  results->kept = rpinn_kept_draws_create(count, results->keep_every);
  results->statistics = rpinn_kept_draws_create(
      num_statistics, rpinn_keep_every(run->num_samples, num_statistics, KEPT_STATISTICS_BYTES));
  pass->values = malloc(bytes);
  pass->moments = rpinn_moments_create(count);
  if (!results->mean || !results->deviation || !results->low || !results->kept || !results->statistics ||
      !pass->values || !pass->moments)
    return rpinn_fail_memory(pass->context);
  results->median = results->low + count;
  results->high = results->median + count;
  return RPINN_OK;
}

static RpinnStatus gather(Pass *pass) {
  static const double probabilities[] = {0.025, 0.5, 0.975};
  RpinnRun *run = pass->run;
  RPINN_TRY(allocate(pass));
  RPINN_TRY(rpinn_member_store_visit(pass->context, run->store, run->num_samples, visit_member, pass));
  if (!pass->draw)
    return rpinn_fail(pass->context, RPINN_ERROR_NUMERIC, "no member is finite: all %llu failed; see run.log",
                      (unsigned long long)run->results.num_failed);
  rpinn_moments_get(pass->moments, run->results.mean, run->results.deviation);
  return rpinn_kept_draws_quantiles(run->results.kept, 3, probabilities, run->results.low);
}

RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run) {
  Pass pass = {.context = context, .run = run};
  RpinnStatus status = gather(&pass);
  rpinn_moments_destroy(pass.moments);
  free(pass.values);
  return status;
}

void rpinn_run_free_results(RpinnRunResults *results) {
  free(results->mean);
  free(results->deviation);
  free(results->low);
  for (size_t k = 0; k < results->num_traces; k++) free(results->traces[k].points);
  free(results->scores);
  rpinn_kept_draws_destroy(results->kept);
  rpinn_kept_draws_destroy(results->statistics);
}
