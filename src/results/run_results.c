/* From stored draws to results: one pass in their order, on all threads, in memory that does not grow with their number. What
 * it gathers beside moments and quantiles is up to the kind of draws. */
#include "run_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "linear_fields.h"
#include "results_pass.h"
#include "unknown_noise.h"
#include "value_intervals.h"

enum { KEPT_BYTES = 96 << 20, KEPT_STATISTICS_BYTES = 16 << 20 };

/* What a thread computes of a draw: outputs and, for the file, log likelihoods and what is expected. */
struct RpinnResultsWorker {
  const RpinnDrawOutputs *outputs;
  RpinnPosterior *posterior;
  bool with_file;
  RpinnLinearFields *linear; /* NULL: fields are what the network gives */
};

RpinnStatus rpinn_results_check_lengths(const RpinnResultsPass *pass, const RpinnStoredMember *member) {
  size_t num_parameters = member->failed ? 0 : rpinn_posterior_num_drawn(pass->run->posteriors[0]),
         num_statistics = rpinn_kept_draws_num_values(pass->run->results.statistics);
  if (member->num_parameters == num_parameters && member->num_statistics == num_statistics) return RPINN_OK;
  return rpinn_fail_at(
      pass->context, (RpinnPlace){.file = pass->run->folder},
      "the draws of this run do not belong to its run.yaml: draw %llu has %zu parameters and "
      "%zu statistics, expected %zu and %zu",
      (unsigned long long)member->index, member->num_parameters, member->num_statistics, num_parameters,
      num_statistics);
}

/* log p(d_i | theta) = -r_i^2 / 2 - log s_ti - log(2 pi) / 2 with the whitened row r_i, and what is expected in the place of d_i,
 * d_i + s_ti r_i. Rows of a gaussian term have s = 1, and nothing is expected of them. */
static RpinnStatus find_log_likelihood(RpinnContext *context, const RpinnResultsWorker *worker,
                                       const double *theta, double *row) {
  RpinnPosterior *posterior = worker->posterior;
  double *expected = row + posterior->model.num_rows;
  RPINN_TRY(worker->linear ? rpinn_linear_fields_rows(worker->linear, theta, row)
                           : rpinn_posterior_residuals(context, posterior, theta, row, NULL));
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    for (size_t p = 0; p < posterior->model.terms[t].num_rows; p++, row++) {
      double sigma = rpinn_posterior_row_sigma(posterior, t, p);
      double constant = -log(sigma) - 0.5 * log(6.283185307179586476925);
      *expected++ = posterior->model.terms[t].targets[p] + sigma * *row;
      *row = constant - 0.5 * *row * *row;
    }
  }
  return RPINN_OK;
}

/* In a thread. values: outputs, then log likelihoods, then what is expected. */
static RpinnStatus compute_draw(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                                double *values) {
  const RpinnResultsWorker *own = worker;
  const double *theta = draw->stored->parameters;
  rpinn_posterior_set_noise(own->posterior, theta + own->posterior->model.num_parameters);
  RPINN_TRY(own->linear ? rpinn_linear_fields_outputs(own->linear, own->outputs, theta, values)
                        : rpinn_draw_outputs_evaluate(context, own->outputs, own->posterior, theta, values));
  if (!own->with_file) return RPINN_OK;
  return find_log_likelihood(context, own, theta, values + own->outputs->num_values);
}

static void *worker_of(void *user, size_t thread) {
  return &((RpinnResultsPass *)user)->workers[thread];
}

RpinnStatus rpinn_results_visit(RpinnResultsPass *pass, bool warmup,
                                RpinnStatus (*look)(void *user, const RpinnVisitedDraw *draw, bool *compute),
                                RpinnStatus (*take)(void *user, const RpinnVisitedDraw *draw,
                                                    const double *values)) {
  size_t num_rows = pass->with_file ? pass->run->posteriors[0]->model.num_rows : 0;
  RpinnDrawBlocks blocks = {.run = pass->run,
                            .warmup = warmup,
                            .is_checked = pass->is_checked,
                            .num_values = pass->run->outputs.num_values + 2 * num_rows,
                            .user = pass,
                            .look = look,
                            .worker = worker_of,
                            .compute = compute_draw,
                            .take = take};
  return rpinn_draw_blocks_visit(pass->context, &blocks);
}

RpinnStatus rpinn_results_keep(const RpinnResultsPass *pass, const double *values) {
  const RpinnRun *run = pass->run;
  double sum = 0;
  RPINN_TRY(rpinn_kept_draws_add(run->results.kept, pass->draw, values));
  if (!pass->with_file) return RPINN_OK;
  for (size_t i = 0; i < run->posteriors[0]->model.num_rows; i++) sum += values[run->outputs.num_values + i];
  return rpinn_kept_draws_add(run->results.likelihoods, pass->draw, &sum);
}

bool rpinn_results_have_weights(const RpinnRun *run) {
  return run->results.weights.apply && !run->results.weights.corrected;
}

void rpinn_results_describe(const RpinnResultsPass *pass, const double *values, RpinnPosteriorDraw *draw) {
  draw->predictions = values;
  draw->held_out = values + pass->run->outputs.num_quantities * pass->run->outputs.num_points;
  draw->log_likelihood = values + pass->run->outputs.num_values;
  draw->expected = draw->log_likelihood + pass->run->posteriors[0]->model.num_rows;
}

RpinnStatus rpinn_results_open_file(RpinnResultsPass *pass, uint64_t num_draws) {
  const RpinnRun *run = pass->run;
  const RpinnDrawKind *kind = run->draws;
  char path[RPINN_PATH_SIZE];
  const char *names[RPINN_MAX_FILE_STATISTICS];
  bool is_boolean[RPINN_MAX_FILE_STATISTICS];
  size_t count = kind->num_file_statistics;
  if (!pass->with_file) return RPINN_OK;
  for (size_t k = 0; k < count; k++) {
    names[k] = kind->file_statistics[k].name;
    is_boolean[k] = kind->file_statistics[k].is_boolean;
  }
  if (run->posteriors[0]->sigmas.integrates) { /* members alone have scales of their own, behind the rest */
    names[count] = "prior_scale";
    is_boolean[count++] = false;
  }
  if (rpinn_results_have_weights(run)) {
    names[count] = "log_weight";
    is_boolean[count++] = false;
    names[count] = "smoothed_log_weight";
    is_boolean[count++] = false;
  }
  RpinnPosteriorFileOptions options = {.method = run->problem->settings.values[RPINN_SETTING_METHOD].text,
                                       .num_chains = run->plan.num_chains,
                                       .num_draws = num_draws,
                                       .num_warmup = run->num_warmup_kept,
                                       .num_statistics = count,
                                       .statistic_names = names,
                                       .statistic_is_boolean = is_boolean,
                                       .keep_every = run->results.keep_every};
  snprintf(path, sizeof path, "%s/posterior.nc", run->folder);
  rpinn_run_reset_noise(run); /* that of the last draw depends on the threads, and is no constant */
  return rpinn_posterior_file_create(pass->context, path, run->posteriors[0], &options, &pass->file);
}

static RpinnStatus allocate(RpinnResultsPass *pass) {
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  size_t count = run->outputs.num_values, bytes = (count + 1) * sizeof(double);
  uint64_t num_draws = run->plan.num_chains * run->plan.num_draws;
  const RpinnDrawKind *kind = run->draws;
  size_t num_parts = kind->has_loss_parts ? run->posteriors[0]->model.num_terms + 1 : 0;
  size_t num_statistics = kind->num_statistics + num_parts;
  results->keep_every = rpinn_keep_every(num_draws, count ? count : 1, KEPT_BYTES);
  results->mean = malloc(bytes);
  results->deviation = malloc(bytes);
  results->low = malloc(5 * bytes);
  results->kept = rpinn_kept_draws_create(count, results->keep_every);
  results->likelihoods = rpinn_kept_draws_create(1, results->keep_every);
  results->statistics = rpinn_kept_draws_create(
      num_statistics, rpinn_keep_every(num_draws, num_statistics, KEPT_STATISTICS_BYTES));
  results->gains = rpinn_kept_draws_create(1, 1);
  pass->workers = calloc(run->num_posteriors, sizeof *pass->workers);
  pass->moments = rpinn_moments_create(count);
  if (!results->mean || !results->deviation || !results->low || !results->kept || !results->likelihoods ||
      !results->statistics || !results->gains || !pass->workers || !pass->moments)
    return rpinn_fail_memory(pass->context);
  results->median = results->low + count;
  results->high = results->median + count;
  results->crps_distances = results->high + count;
  results->crps_pairs = results->crps_distances + count;
  for (size_t i = 0; i < run->num_posteriors; i++) {
    pass->workers[i] = (RpinnResultsWorker){
        .outputs = &run->outputs, .posterior = run->posteriors[i], .with_file = pass->with_file};
    if (run->laplace.at)
      RPINN_TRY(rpinn_linear_fields_create(pass->context, run->posteriors[i], run->laplace.at,
                                           &pass->workers[i].linear));
  }
  return RPINN_OK;
}

/* The file comes to the disk while threads make intervals. */
static RpinnStatus finish(RpinnResultsPass *pass) {
  RpinnRun *run = pass->run;
  RpinnValueIntervals *intervals;
  RPINN_TRY(rpinn_value_intervals_start(pass->context, run, &intervals));
  rpinn_moments_get(pass->moments, run->results.mean, run->results.deviation);
  RpinnStatus written = pass->with_file ? rpinn_posterior_file_finish(pass->context, pass->file) : RPINN_OK;
  RpinnError error = pass->context->error;
  RpinnStatus made = rpinn_value_intervals_finish(pass->context, intervals);
  if (written == RPINN_OK) return made;
  pass->context->error = error;
  return written;
}

static RpinnStatus gather(RpinnResultsPass *pass) {
  RpinnRun *run = pass->run;
  if (run->method->prepare_results) RPINN_TRY(run->method->prepare_results(pass->context, run));
  RPINN_TRY(allocate(pass));
  RPINN_TRY(run->draws->gather(pass));
  return finish(pass);
}

RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run, bool with_file) {
  RpinnResultsPass pass = {.context = context, .run = run, .with_file = with_file};
  RpinnStatus status = gather(&pass);
  rpinn_run_reset_noise(run);
  rpinn_posterior_file_destroy(pass.file);
  rpinn_moments_destroy(pass.moments);
  for (size_t i = 0; pass.workers && i < run->num_posteriors; i++)
    rpinn_linear_fields_destroy(pass.workers[i].linear);
  free(pass.workers);
  return status;
}

void rpinn_run_free_results(RpinnRun *run) {
  RpinnRunResults *results = &run->results;
  rpinn_chain_results_free(&results->chains, run->plan.num_chains);
  free(results->particles.rows);
  free(results->mean);
  free(results->deviation);
  free(results->low);
  free(results->predictive_low);
  free(results->weights.times);
  free(results->weights.log_weights);
  free(results->weights.smoothed);
  for (size_t k = 0; k < results->num_traces; k++) free(results->traces[k].points);
  free(results->scores);
  rpinn_kept_draws_destroy(results->kept);
  rpinn_kept_draws_destroy(results->likelihoods);
  rpinn_kept_draws_destroy(results->statistics);
  rpinn_kept_draws_destroy(results->gains);
}
