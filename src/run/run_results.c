/* From stored draws to results: one pass in their order, on all threads, in memory that does not grow with their number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain_diagnostics.h"
#include "draw_blocks.h"
#include "moments.h"
#include "posterior_file.h"

enum { KEPT_BYTES = 96 << 20, KEPT_STATISTICS_BYTES = 16 << 20 };

/* A column of sample_stats in posterior.nc. */
typedef struct FileStatistic {
  size_t statistic; /* its place among those in the store */
  const char *name;
  bool is_boolean;
} FileStatistic;
enum { MAX_FILE_STATISTICS = 16 };

/* What a thread computes of a draw: outputs and, for the file, log likelihoods. */
typedef struct Worker {
  const RpinnDrawOutputs *outputs;
  RpinnPosterior *posterior;
  bool with_file;
} Worker;

typedef struct Pass {
  RpinnContext *context;
  RpinnRun *run;
  bool with_file;
  RpinnPosteriorFile *file;
  Worker *workers;    /* [num_posteriors] */
  uint64_t looked_at; /* members that did not fail, as they are read */
  RpinnMoments *moments;
  uint64_t member; /* members that did not fail, so far */
  uint64_t draw;   /* draws made of them */
  /* of chains: */
  RpinnMoments *chain_moments; /* of the chain under way */
  RpinnDrawSpool *spool;
  double *energies; /* [num_chains][num_draws] */
} Pass;

struct RpinnDrawKind {
  size_t num_statistics; /* of a draw in the store … */
  bool has_loss_parts;   /* … and behind them the parts of its loss */
  size_t num_file_statistics;
  const FileStatistic *file_statistics;
  /* The pass over all draws in the store: opens the file, fills moments, kept draws and what is this kind's own. */
  RpinnStatus (*gather)(Pass *pass);
};

/* A store that another problem has filled would be read beyond its ends. A member that failed has no parameters. */
static RpinnStatus check_lengths(const Pass *pass, const RpinnStoredMember *member) {
  size_t num_parameters = member->failed ? 0 : pass->run->posteriors[0]->model.num_parameters,
         num_statistics = rpinn_kept_draws_num_values(pass->run->results.statistics);
  if (member->num_parameters == num_parameters && member->num_statistics == num_statistics) return RPINN_OK;
  return rpinn_fail_at(
      pass->context, (RpinnPlace){.file = pass->run->folder.path},
      "the draws of this run do not belong to its run.yaml: draw %llu has %zu parameters and "
      "%zu statistics, expected %zu and %zu",
      (unsigned long long)member->index, member->num_parameters, member->num_statistics, num_parameters,
      num_statistics);
}

/* log p(d_i | theta) = -r_i^2 / 2 - log s_t - log(2 pi) / 2 with the whitened row r_i; of data, so that what stands for
 * the rows of a gaussian term is not used. */
static RpinnStatus find_log_likelihood(RpinnPosterior *posterior, const double *theta, double *row) {
  RPINN_TRY(rpinn_posterior_residuals(posterior, theta, row, NULL));
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    double constant = -log(rpinn_posterior_term_sigma(posterior, t)) - 0.5 * log(6.283185307179586476925);
    for (size_t p = 0; p < posterior->model.terms[t].num_rows; p++, row++)
      *row = constant - 0.5 * *row * *row;
  }
  return RPINN_OK;
}

/* In a thread. values: outputs, then log likelihoods. */
static RpinnStatus compute_draw(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                                double *values) {
  const Worker *own = worker;
  const double *theta = draw->stored->parameters;
  (void)context;
  RPINN_TRY(rpinn_draw_outputs_evaluate(own->outputs, own->posterior, theta, values));
  if (!own->with_file) return RPINN_OK;
  return find_log_likelihood(own->posterior, theta, values + own->outputs->num_values);
}

static void *worker_of(void *user, size_t thread) {
  return &((Pass *)user)->workers[thread];
}

static RpinnStatus visit_draws(Pass *pass, bool warmup,
                               RpinnStatus (*look)(void *user, const RpinnVisitedDraw *draw, bool *compute),
                               RpinnStatus (*take)(void *user, const RpinnVisitedDraw *draw,
                                                   const double *values)) {
  size_t num_rows = pass->with_file ? pass->run->posteriors[0]->model.num_rows : 0;
  RpinnDrawBlocks blocks = {.run = pass->run,
                            .warmup = warmup,
                            .num_values = pass->run->outputs.num_values + num_rows,
                            .user = pass,
                            .look = look,
                            .worker = worker_of,
                            .compute = compute_draw,
                            .take = take};
  return rpinn_draw_blocks_visit(pass->context, &blocks);
}

static RpinnStatus open_file(Pass *pass, uint64_t num_draws) {
  const RpinnRun *run = pass->run;
  const RpinnDrawKind *kind = run->method->draws;
  char path[RPINN_PATH_SIZE];
  const char *names[MAX_FILE_STATISTICS];
  bool is_boolean[MAX_FILE_STATISTICS];
  if (!pass->with_file) return RPINN_OK;
  for (size_t k = 0; k < kind->num_file_statistics; k++) {
    names[k] = kind->file_statistics[k].name;
    is_boolean[k] = kind->file_statistics[k].is_boolean;
  }
  RpinnPosteriorFileOptions options = {.method = run->problem->settings.values[RPINN_SETTING_METHOD].text,
                                       .num_chains = run->plan.num_chains,
                                       .num_draws = num_draws,
                                       .num_warmup = run->num_warmup_kept,
                                       .num_statistics = kind->num_file_statistics,
                                       .statistic_names = names,
                                       .statistic_is_boolean = is_boolean,
                                       .keep_every = run->results.keep_every};
  snprintf(path, sizeof path, "%s/posterior.nc", run->folder.path);
  return rpinn_posterior_file_create(pass->context, path, run->posteriors[0], &options, &pass->file);
}

/* ---- members ---- */

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

/* The first pass looks at lengths and counts: whether weights apply depends on all members. */
static RpinnStatus count_member(void *user, const RpinnVisitedDraw *draw) {
  const RpinnStoredMember *member = draw->stored;
  const Pass *pass = user;
  RpinnRunResults *results = &pass->run->results;
  RPINN_TRY(check_lengths(pass, member));
  results->num_members++;
  results->num_failed += member->failed != 0;
  results->num_retried += member->statistics[RPINN_MEMBER_ATTEMPTS] > 0;
  results->num_converged += member->statistics[RPINN_MEMBER_CONVERGED] > 0;
  results->stops[stop_of_name(member->stop)]++;
  return RPINN_OK;
}

/* What the file holds of a member's statistics: all but its time, which differs from run to run. */
static const FileStatistic member_statistics[] = {{RPINN_MEMBER_LOSS, "loss", false},
                                                  {RPINN_MEMBER_GRADIENT_NORM, "gradient_norm", false},
                                                  {RPINN_MEMBER_ITERATIONS, "iterations", false},
                                                  {RPINN_MEMBER_EVALUATIONS, "evaluations", false},
                                                  {RPINN_MEMBER_CONVERGED, "converged", true},
                                                  {RPINN_MEMBER_ATTEMPTS, "attempts", false}};
enum { NUM_MEMBER_COLUMNS = sizeof member_statistics / sizeof member_statistics[0] };

static RpinnStatus write_draw(Pass *pass, const RpinnStoredMember *member, const double *values) {
  if (!pass->with_file) return RPINN_OK;
  double statistics[NUM_MEMBER_COLUMNS];
  for (size_t k = 0; k < NUM_MEMBER_COLUMNS; k++)
    statistics[k] = member->statistics[member_statistics[k].statistic];
  RpinnPosteriorDraw draw = {.draw = pass->draw,
                             .member = member->index,
                             .parameters = member->parameters,
                             .statistics = statistics,
                             .log_likelihood = values + pass->run->outputs.num_values,
                             .predictions = values};
  return rpinn_posterior_file_add(pass->context, pass->file, &draw);
}

/* How often a member counts: once, or as often as the Metropolis chain stays at it. number: among those that did not
 * fail. */
static uint32_t times_of(const Pass *pass, uint64_t number) {
  const uint32_t *times = pass->run->results.weights.times;
  return times ? times[number] : 1;
}

static RpinnStatus look_at_member(void *user, const RpinnVisitedDraw *visited, bool *compute) {
  Pass *pass = user;
  *compute = !visited->stored->failed && times_of(pass, pass->looked_at++) > 0;
  return RPINN_OK;
}

static RpinnStatus take_member(void *user, const RpinnVisitedDraw *visited, const double *values) {
  Pass *pass = user;
  const RpinnStoredMember *member = visited->stored;
  RpinnRunResults *results = &pass->run->results;
  if (member->failed) return RPINN_OK;
  RPINN_TRY(keep_trace(pass, member));
  RPINN_TRY(rpinn_kept_draws_add(results->statistics, pass->member, member->statistics));
  for (uint32_t times = times_of(pass, pass->member++); times; times--, pass->draw++) {
    RPINN_TRY(write_draw(pass, member, values));
    rpinn_moments_add(pass->moments, values);
    RPINN_TRY(rpinn_kept_draws_add(results->kept, pass->draw, values));
  }
  return RPINN_OK;
}

static RpinnStatus gather_members(Pass *pass) {
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  RPINN_TRY(rpinn_draw_store_visit(pass->context, run->store, &run->plan, false, count_member, pass));
  uint64_t finished = results->num_members - results->num_failed;
  if (!results->num_members)
    return rpinn_fail_at(pass->context, (RpinnPlace){.file = run->folder.path}, "this run has no member yet");
  if (!finished)
    return rpinn_fail(pass->context, RPINN_ERROR_NUMERIC, "no member is finite: all %llu failed; see run.log",
                      (unsigned long long)results->num_failed);
  results->num_draws = finished;
  RPINN_TRY(rpinn_run_make_weights(pass->context, run, finished, results->num_converged));
  RPINN_TRY(open_file(pass, finished));
  return visit_draws(pass, false, look_at_member, take_member);
}

const RpinnDrawKind rpinn_member_draws = {.num_statistics = RPINN_NUM_MEMBER_STATISTICS,
                                          .has_loss_parts = true,
                                          .num_file_statistics = NUM_MEMBER_COLUMNS,
                                          .file_statistics = member_statistics,
                                          .gather = gather_members};

/* ---- chains ---- */

static void count_draw(RpinnChainResult *chain, const double *statistics, uint64_t num_draws) {
  chain->divergences += statistics[RPINN_CHAIN_DIVERGING] > 0;
  chain->saturations += statistics[RPINN_CHAIN_REACHED_MAX_DEPTH] > 0;
  chain->leapfrogs += (uint64_t)statistics[RPINN_CHAIN_N_STEPS];
  chain->acceptance += statistics[RPINN_CHAIN_ACCEPTANCE_RATE] / (double)num_draws;
  chain->step_size = statistics[RPINN_CHAIN_STEP_SIZE];
}

static RpinnStatus end_chain(Pass *pass, RpinnChainResult *chain) {
  size_t count = pass->run->outputs.num_values;
  chain->mean = malloc((count + 1) * sizeof(double));
  chain->deviation = malloc((count + 1) * sizeof(double));
  if (!chain->mean || !chain->deviation) return rpinn_fail_memory(pass->context);
  rpinn_moments_get(pass->chain_moments, chain->mean, chain->deviation);
  rpinn_moments_destroy(pass->chain_moments);
  pass->chain_moments = rpinn_moments_create(count);
  return pass->chain_moments ? RPINN_OK : rpinn_fail_memory(pass->context);
}

static RpinnStatus look_at_chain_draw(void *user, const RpinnVisitedDraw *visited, bool *compute) {
  *compute = !visited->is_warmup;
  return check_lengths(user, visited->stored);
}

static RpinnStatus take_chain_draw(void *user, const RpinnVisitedDraw *visited, const double *values) {
  Pass *pass = user;
  RpinnRun *run = pass->run;
  const RpinnStoredMember *stored = visited->stored;
  RpinnChainResult *chain = &run->results.chains.chains[visited->chain];
  RpinnPosteriorDraw draw = {.chain = visited->chain,
                             .draw = visited->draw,
                             .member = visited->draw,
                             .parameters = stored->parameters,
                             .statistics = stored->statistics};
  if (visited->is_warmup) return rpinn_posterior_file_add_warmup(pass->context, pass->file, &draw);
  draw.predictions = values;
  draw.log_likelihood = values + run->outputs.num_values;
  if (pass->with_file) RPINN_TRY(rpinn_posterior_file_add(pass->context, pass->file, &draw));
  RPINN_TRY(
      rpinn_draw_spool_add(pass->context, pass->spool, stored->num_parameters, stored->parameters, values));
  rpinn_moments_add(pass->moments, values);
  rpinn_moments_add(pass->chain_moments, values);
  RPINN_TRY(rpinn_kept_draws_add(run->results.kept, pass->draw, values));
  RPINN_TRY(rpinn_kept_draws_add(run->results.statistics, pass->draw, stored->statistics));
  pass->energies[pass->draw++] = stored->statistics[RPINN_CHAIN_ENERGY];
  count_draw(chain, stored->statistics, run->plan.num_draws);
  return visited->draw + 1 == run->plan.num_draws ? end_chain(pass, chain) : RPINN_OK;
}

static RpinnStatus gather_chains(Pass *pass) {
  RpinnRun *run = pass->run;
  size_t width = run->posteriors[0]->model.num_parameters + run->outputs.num_values;
  uint64_t num_draws = run->plan.num_chains * run->plan.num_draws;
  run->results.num_draws = num_draws;
  RPINN_TRY(open_file(pass, run->plan.num_draws));
  RPINN_TRY(rpinn_run_make_weights(pass->context, run, num_draws, num_draws));
  run->results.chains.chains = calloc(run->plan.num_chains, sizeof *run->results.chains.chains);
  pass->chain_moments = rpinn_moments_create(run->outputs.num_values);
  pass->energies = malloc(num_draws * sizeof *pass->energies);
  if (!run->results.chains.chains || !pass->chain_moments || !pass->energies)
    return rpinn_fail_memory(pass->context);
  RPINN_TRY(rpinn_draw_spool_create(pass->context, run->folder.path, width, &pass->spool));
  RPINN_TRY(visit_draws(pass, run->num_warmup_kept > 0, look_at_chain_draw, take_chain_draw));
  RPINN_TRY(rpinn_run_diagnose_chains(pass->context, run, pass->spool, pass->energies));
  if (!pass->with_file) return RPINN_OK;
  return rpinn_posterior_file_add_convergence(pass->context, pass->file, run->results.chains.parameters,
                                              run->results.chains.outputs);
}

/* All of them, in the order in which they are stored. */
static const FileStatistic chain_statistics[] = {
#define FILE_STATISTIC(name, text, is_boolean) {RPINN_CHAIN_##name, text, is_boolean},
    RPINN_CHAIN_STATISTIC_LIST(FILE_STATISTIC)
#undef FILE_STATISTIC
};
_Static_assert(sizeof chain_statistics / sizeof chain_statistics[0] <= MAX_FILE_STATISTICS, "room for all");

const RpinnDrawKind rpinn_chain_draws = {.num_statistics = RPINN_NUM_CHAIN_STATISTICS,
                                         .num_file_statistics = RPINN_NUM_CHAIN_STATISTICS,
                                         .file_statistics = chain_statistics,
                                         .gather = gather_chains};

/* ---- the pass ---- */

static RpinnStatus allocate(Pass *pass) {
  RpinnRun *run = pass->run;
  RpinnRunResults *results = &run->results;
  size_t count = run->outputs.num_values, bytes = (count + 1) * sizeof(double);
  uint64_t num_draws = run->plan.num_chains * run->plan.num_draws;
  const RpinnDrawKind *kind = run->method->draws;
  size_t num_parts = kind->has_loss_parts ? run->posteriors[0]->model.num_terms + 1 : 0;
  size_t num_statistics = kind->num_statistics + num_parts;
  results->keep_every = rpinn_keep_every(num_draws, count ? count : 1, KEPT_BYTES);
  results->mean = malloc(bytes);
  results->deviation = malloc(bytes);
  results->low = malloc(3 * bytes);
  results->kept = rpinn_kept_draws_create(count, results->keep_every);
  results->statistics = rpinn_kept_draws_create(
      num_statistics, rpinn_keep_every(num_draws, num_statistics, KEPT_STATISTICS_BYTES));
  pass->workers = calloc(run->num_posteriors, sizeof *pass->workers);
  pass->moments = rpinn_moments_create(count);
  if (!results->mean || !results->deviation || !results->low || !results->kept || !results->statistics ||
      !pass->workers || !pass->moments)
    return rpinn_fail_memory(pass->context);
  for (size_t i = 0; i < run->num_posteriors; i++)
    pass->workers[i] = (Worker){&run->outputs, run->posteriors[i], pass->with_file};
  results->median = results->low + count;
  results->high = results->median + count;
  return RPINN_OK;
}

static RpinnStatus gather(Pass *pass) {
  static const double probabilities[] = {0.025, 0.5, 0.975};
  RpinnRun *run = pass->run;
  RPINN_TRY(allocate(pass));
  RPINN_TRY(run->method->draws->gather(pass));
  if (pass->with_file) RPINN_TRY(rpinn_posterior_file_finish(pass->context, pass->file));
  rpinn_moments_get(pass->moments, run->results.mean, run->results.deviation);
  return rpinn_kept_draws_quantiles(run->results.kept, 3, probabilities, run->results.low);
}

RpinnStatus rpinn_run_make_results(RpinnContext *context, RpinnRun *run, bool with_file) {
  Pass pass = {.context = context, .run = run, .with_file = with_file};
  RpinnStatus status = gather(&pass);
  rpinn_posterior_file_destroy(pass.file);
  rpinn_moments_destroy(pass.moments);
  rpinn_moments_destroy(pass.chain_moments);
  rpinn_draw_spool_destroy(pass.spool);
  free(pass.energies);
  free(pass.workers);
  return status;
}

static void free_chains(RpinnChainResults *chains, uint64_t num_chains) {
  for (uint64_t c = 0; chains->chains && c < num_chains; c++) {
    free(chains->chains[c].mean);
    free(chains->chains[c].deviation);
    free(chains->chains[c].scores);
  }
  free(chains->chains);
  free(chains->parameters);
  free(chains->outputs);
  free(chains->best_trace);
  free(chains->worst_trace);
  free(chains->energy_trace);
}

void rpinn_run_free_results(RpinnRun *run) {
  RpinnRunResults *results = &run->results;
  free_chains(&results->chains, run->plan.num_chains);
  free(results->particles.rows);
  free(results->mean);
  free(results->deviation);
  free(results->low);
  free(results->weights.times);
  for (size_t k = 0; k < results->num_traces; k++) free(results->traces[k].points);
  free(results->scores);
  rpinn_kept_draws_destroy(results->kept);
  rpinn_kept_draws_destroy(results->statistics);
}
