/* From stored members to results: one pass in member order, in memory that does not grow with the number of
 * members. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moments.h"
#include "posterior_file.h"
#include "run_state.h"

enum { KEPT_BYTES = 96 << 20, KEPT_STATISTICS_BYTES = 16 << 20 };

/* What sample_stats holds of a member's statistics: all but its time, which differs from run to run. */
static const struct {
  RpinnMemberStatistic statistic;
  const char *name;
} file_statistics[] = {{RPINN_MEMBER_LOSS, "loss"},
                       {RPINN_MEMBER_GRADIENT_NORM, "gradient_norm"},
                       {RPINN_MEMBER_ITERATIONS, "iterations"},
                       {RPINN_MEMBER_EVALUATIONS, "evaluations"},
                       {RPINN_MEMBER_CONVERGED, "converged"},
                       {RPINN_MEMBER_ATTEMPTS, "attempts"}};
enum { NUM_FILE_STATISTICS = sizeof file_statistics / sizeof file_statistics[0] };

typedef struct Pass {
  RpinnContext *context;
  RpinnRun *run;
  RpinnPosteriorFile *file;
  double *log_likelihood; /* [M] */
  RpinnMoments *moments;
  double *values;  /* [outputs.num_values] */
  uint64_t member; /* members that did not fail, so far */
  uint64_t draw;   /* draws made of them */
} Pass;

static RpinnStop stop_of_name(const char *name) {
  for (int stop = 0; stop <= RPINN_STOP_DAMPING_LIMIT; stop++)
    if (!strcmp(rpinn_stop_name((RpinnStop)stop), name)) return (RpinnStop)stop;
  return RPINN_STOP_RUNNING;
}

static RpinnStatus keep_trace(Pass *pass, const RpinnStoredMember *member) {
  RpinnRunResults *results = &pass->run->results;
  uint64_t every = (pass->run->num_samples - 1) / RPINN_MAX_LOSS_TRACES + 1;
  if (pass->member % every != 0) return RPINN_OK;
  double *points = malloc((2 * member->num_trace + 1) * sizeof *points);
  if (!points) return rpinn_fail_memory(pass->context);
  for (size_t k = 0; k < 2 * member->num_trace; k++) points[k] = member->trace[k];
  results->traces[results->num_traces++] = (RpinnLossTrace){member->index, member->num_trace, points};
  return RPINN_OK;
}

/* The first pass only counts: whether weights apply depends on all members. */
static RpinnStatus count_member(void *user, const RpinnStoredMember *member) {
  RpinnRunResults *results = &((Pass *)user)->run->results;
  results->num_members++;
  results->num_failed += member->failed != 0;
  results->num_retried += member->statistics[RPINN_MEMBER_ATTEMPTS] > 0;
  results->num_converged += member->statistics[RPINN_MEMBER_CONVERGED] > 0;
  results->stops[stop_of_name(member->stop)]++;
  return RPINN_OK;
}

/* log p(d_i | theta) = -r_i^2 / 2 - log s_t - log(2 pi) / 2 with the whitened row r_i */
static RpinnStatus find_log_likelihood(Pass *pass, const double *theta) {
  RpinnPosterior *posterior = pass->run->posteriors[0];
  RPINN_TRY(rpinn_posterior_residuals(posterior, theta, pass->log_likelihood, NULL));
  double *row = pass->log_likelihood;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    double constant = -log(rpinn_posterior_term_sigma(posterior, t)) - 0.5 * log(6.283185307179586476925);
    for (size_t p = 0; p < posterior->model.terms[t].num_points; p++, row++)
      *row = constant - 0.5 * *row * *row;
  }
  return RPINN_OK;
}

static RpinnStatus write_draw(Pass *pass, const RpinnStoredMember *member) {
  double statistics[NUM_FILE_STATISTICS];
  for (size_t k = 0; k < NUM_FILE_STATISTICS; k++)
    statistics[k] = member->statistics[file_statistics[k].statistic];
  RpinnPosteriorDraw draw = {.draw = pass->draw,
                             .member = member->index,
                             .parameters = member->parameters,
                             .statistics = statistics,
                             .log_likelihood = pass->log_likelihood,
                             .predictions = pass->values};
  return rpinn_posterior_file_add(pass->context, pass->file, &draw);
}

/* A draw counts once, or as often as the Metropolis chain stays at it. */
static RpinnStatus visit_member(void *user, const RpinnStoredMember *member) {
  Pass *pass = user;
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  if (member->failed) return RPINN_OK;
  RPINN_TRY(keep_trace(pass, member));
  RPINN_TRY(rpinn_kept_draws_add(results->statistics, pass->member, member->statistics));
  uint32_t times = results->weights.times ? results->weights.times[pass->member] : 1;
  pass->member++;
  if (!times) return RPINN_OK;
  RPINN_TRY(rpinn_draw_outputs_evaluate(&run->outputs, member->parameters, pass->values));
  RPINN_TRY(find_log_likelihood(pass, member->parameters));
  for (; times; times--, pass->draw++) {
    RPINN_TRY(write_draw(pass, member));
    rpinn_moments_add(pass->moments, pass->values);
    RPINN_TRY(rpinn_kept_draws_add(results->kept, pass->draw, pass->values));
  }
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
  pass->log_likelihood = malloc((run->posteriors[0]->model.num_rows + 1) * sizeof(double));
  pass->moments = rpinn_moments_create(count);
  if (!results->mean || !results->deviation || !results->low || !results->kept || !results->statistics ||
      !pass->values || !pass->log_likelihood || !pass->moments)
    return rpinn_fail_memory(pass->context);
  results->median = results->low + count;
  results->high = results->median + count;
  return RPINN_OK;
}

static RpinnStatus open_file(Pass *pass, uint64_t num_draws) {
  RpinnRun *run = pass->run;
  char path[RPINN_PATH_SIZE];
  const char *names[NUM_FILE_STATISTICS];
  bool is_boolean[NUM_FILE_STATISTICS];
  for (size_t k = 0; k < NUM_FILE_STATISTICS; k++) {
    names[k] = file_statistics[k].name;
    is_boolean[k] = file_statistics[k].statistic == RPINN_MEMBER_CONVERGED;
  }
  RpinnPosteriorFileOptions options = {.method = run->problem->settings.values[RPINN_SETTING_METHOD].text,
                                       .num_chains = 1,
                                       .num_draws = num_draws,
                                       .num_statistics = NUM_FILE_STATISTICS,
                                       .statistic_names = names,
                                       .statistic_is_boolean = is_boolean,
                                       .keep_every = run->results.keep_every};
  snprintf(path, sizeof path, "%s/posterior.nc", run->folder.path);
  return rpinn_posterior_file_create(pass->context, path, run->posteriors[0], &options, &pass->file);
}

static RpinnStatus gather(Pass *pass) {
  static const double probabilities[] = {0.025, 0.5, 0.975};
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  RPINN_TRY(allocate(pass));
  RPINN_TRY(rpinn_member_store_visit(pass->context, run->store, run->num_samples, count_member, pass));
  uint64_t finished = results->num_members - results->num_failed;
  if (!finished)
    return rpinn_fail(pass->context, RPINN_ERROR_NUMERIC, "no member is finite: all %llu failed; see run.log",
                      (unsigned long long)results->num_failed);
  RPINN_TRY(rpinn_run_make_weights(pass->context, run, finished, results->num_converged));
  RPINN_TRY(open_file(pass, finished));
  RPINN_TRY(rpinn_member_store_visit(pass->context, run->store, run->num_samples, visit_member, pass));
  RPINN_TRY(rpinn_posterior_file_finish(pass->context, pass->file));
  rpinn_moments_get(pass->moments, run->results.mean, run->results.deviation);
  return rpinn_kept_draws_quantiles(run->results.kept, 3, probabilities, run->results.low);
}

RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run) {
  Pass pass = {.context = context, .run = run};
  RpinnStatus status = gather(&pass);
  rpinn_posterior_file_destroy(pass.file);
  rpinn_moments_destroy(pass.moments);
  free(pass.values);
  free(pass.log_likelihood);
  return status;
}

void rpinn_run_free_results(RpinnRunResults *results) {
  free(results->mean);
  free(results->deviation);
  free(results->low);
  free(results->weights.times);
  for (size_t k = 0; k < results->num_traces; k++) free(results->traces[k].points);
  free(results->scores);
  rpinn_kept_draws_destroy(results->kept);
  rpinn_kept_draws_destroy(results->statistics);
}
