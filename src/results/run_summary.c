/* The results as summary.json, as a table in the paper's layout, and as CSV. */
#include "run_summary.h"

#include <math.h>
#include <stdlib.h>

#include "finished_run.h"
#include "member_statistics.h"
#include "member_stop.h"
#include "predictive_bands.h"
#include "rpinn/version.h"
#include "run_record.h"
#include "run_verdict.h"

typedef struct Summary {
  RpinnRun *run;
  size_t num_quantities, num_tests;
  const RpinnScore *scores;  /* quantities, then held-out terms */
  double *statistic_medians; /* [statistics and loss parts] */
  size_t num_statistics;
} Summary;

static RpinnStatus make_summary(RpinnContext *context, RpinnRun *run, Summary *summary) {
  double half = 0.5;
  *summary = (Summary){
      .run = run, .num_quantities = run->outputs.num_quantities, .num_tests = run->outputs.num_tests};
  summary->num_statistics = rpinn_kept_draws_num_values(run->results.statistics);
  summary->statistic_medians = calloc(summary->num_statistics, sizeof(double));
  if (!summary->statistic_medians) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_run_score_results(context, run));
  RPINN_TRY(rpinn_run_judge(context, run));
  summary->scores = run->results.scores;
  return rpinn_kept_draws_quantiles(run->results.statistics, 1, &half, summary->statistic_medians);
}

/* ---- JSON ---- */

static void json_score(RpinnJson *json, const RpinnScore *score) {
  rpinn_json_open(json, score->name, '{');
  rpinn_json_number(json, "rl2", score->rl2);
  rpinn_json_number(json, "linf", score->linf);
  rpinn_json_number(json, "mean_std", score->mean_std);
  rpinn_json_number(json, "lpp", score->lpp);
  rpinn_json_number(json, "lpp_table", score->lpp_table);
  rpinn_json_number(json, "coverage", score->coverage);
  rpinn_json_number(json, "interval_coverage", score->interval_coverage);
  rpinn_json_number(json, "crps", score->crps);
  rpinn_json_close(json, '}');
}

/* Draws that are no members: null where a reader looks for what every run has. */
static void json_no_members(RpinnJson *json) {
  static const char *const names[] = {"converged", "failed", "loss_median", "gradient_norm_median",
                                      "iterations"};
  rpinn_json_open(json, "members", '{');
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) rpinn_json_number(json, names[k], (double)NAN);
  rpinn_json_close(json, '}');
}

static void json_members(const Summary *summary, RpinnJson *json) {
  const RpinnRun *run = summary->run;
  const RpinnRunResults *results = &run->results;
  const RpinnLossTrace *first_trace = &results->traces[0];
  const RpinnPosterior *posterior = run->posteriors[0];
  const double *medians = summary->statistic_medians, *parts = medians + RPINN_NUM_MEMBER_STATISTICS;
  rpinn_json_open(json, "members", '{');
  rpinn_json_number(json, "converged", (double)results->num_converged);
  rpinn_json_number(json, "failed", (double)results->num_failed);
  rpinn_json_number(json, "retried", (double)results->num_retried);
  rpinn_json_number(json, "loss_median", medians[RPINN_MEMBER_LOSS]);
  rpinn_json_number(json, "gradient_norm_median", medians[RPINN_MEMBER_GRADIENT_NORM]);
  rpinn_json_number(json, "iterations", medians[RPINN_MEMBER_ITERATIONS]);
  rpinn_json_number(json, "seconds_median", medians[RPINN_MEMBER_SECONDS]);
  rpinn_json_text(json, "optimizer", run->problem->settings.values[RPINN_SETTING_OPTIMIZER].text);
  rpinn_json_boolean(json, "matrix_free", rpinn_run_is_matrix_free(run));
  rpinn_json_text(json, "start", run->problem->settings.values[RPINN_SETTING_START].text);
  rpinn_json_open(json, "term_loss_medians", '{');
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    rpinn_json_number(json, rpinn_posterior_term_name(posterior, t), parts[t]);
  rpinn_json_close(json, '}');
  rpinn_json_number(json, "prior_loss_median", parts[posterior->model.num_terms]);
  rpinn_json_open(json, "stops", '{');
  for (int in_double = 0; in_double < 2; in_double++)
    for (int stop = 0; stop < RPINN_NUM_STOPS; stop++)
      if (results->stops[in_double][stop])
        rpinn_json_number(json, rpinn_member_stop_word((RpinnMemberStop){(RpinnStop)stop, in_double > 0}),
                          (double)results->stops[in_double][stop]);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "first_trace", '[');
  for (size_t k = 0; results->num_traces && k < first_trace->count; k++) {
    rpinn_json_open(json, NULL, '[');
    rpinn_json_number(json, NULL, first_trace->points[2 * k]);
    rpinn_json_number(json, NULL, first_trace->points[2 * k + 1]);
    rpinn_json_close(json, ']');
  }
  rpinn_json_close(json, ']');
  rpinn_json_close(json, '}');
}

static void json_unknowns(const RpinnRun *run, RpinnJson *json) {
  rpinn_json_open(json, "unknowns", '{');
  for (size_t k = 0; k < run->outputs.num_scalars; k++) {
    size_t at = run->outputs.unknown_start + k;
    rpinn_json_open(json, rpinn_draw_outputs_scalar(run->posteriors[0], k), '{');
    rpinn_json_number(json, "mean", run->results.mean[at]);
    rpinn_json_number(json, "std", run->results.deviation[at]);
    rpinn_json_number(json, "q025", run->results.low[at]);
    rpinn_json_number(json, "median", run->results.median[at]);
    rpinn_json_number(json, "q975", run->results.high[at]);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

static void json_weights(const RpinnRun *run, RpinnJson *json) {
  const RpinnRunWeights *weights = &run->results.weights;
  rpinn_json_open(json, "weights", '{');
  rpinn_json_boolean(json, "apply", weights->apply);
  if (weights->reason) rpinn_json_text(json, "reason", weights->reason);
  rpinn_json_boolean(json, "constant", weights->smoothing.constant);
  rpinn_json_number(json, "pareto_k", weights->smoothing.k);
  rpinn_json_number(json, "effective_size", weights->apply ? weights->smoothing.effective_size : (double)NAN);
  rpinn_json_boolean(json, "correction_asked",
                     rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_CORRECT) !=
                         RPINN_CORRECTION_NONE);
  rpinn_json_text(json, "correction",
                  weights->corrected || rpinn_run_is_corrected(run)
                      ? run->problem->settings.values[RPINN_SETTING_CORRECT].text
                      : "none");
  rpinn_json_number(json, "acceptance", weights->acceptance);
  rpinn_json_close(json, '}');
}

static void json_worst(RpinnJson *json, const char *key, size_t count, const RpinnConvergence *convergence) {
  RpinnWorstConvergence worst = rpinn_worst_convergence(count, convergence);
  rpinn_json_open(json, key, '{');
  rpinn_json_number(json, "count", (double)count);
  rpinn_json_number(json, "unmixed", (double)worst.num_unmixed);
  rpinn_json_number(json, "max_rhat", worst.max_rhat);
  rpinn_json_number(json, "max_rhat_paper", worst.max_rhat_paper);
  rpinn_json_number(json, "min_ess_bulk", worst.min_ess_bulk);
  rpinn_json_number(json, "min_ess_tail", worst.min_ess_tail);
  rpinn_json_close(json, '}');
}

static void json_chain(RpinnJson *json, const RpinnRun *run, const RpinnChainResult *chain) {
  rpinn_json_open(json, NULL, '{');
  rpinn_json_number(json, "divergences", (double)chain->divergences);
  rpinn_json_number(json, "saturations", (double)chain->saturations);
  rpinn_json_number(json, "leapfrogs", (double)chain->leapfrogs);
  rpinn_json_number(json, "acceptance", chain->acceptance);
  rpinn_json_number(json, "step_size", chain->step_size);
  rpinn_json_number(json, "ebfmi", chain->energy_fraction);
  rpinn_json_open(json, "quantities", '{');
  for (size_t q = 0; q < run->outputs.num_quantities; q++) json_score(json, &chain->scores[q]);
  rpinn_json_close(json, '}');
  rpinn_json_close(json, '}');
}

/* Chains belong to methods that have them: all null elsewhere, so that readers find the same keys everywhere. The
 * worst figures are those of the parameters and of the predicted quantities together. */
static void json_chains(const RpinnRun *run, RpinnJson *json) {
  const RpinnChainResults *chains = &run->results.chains;
  bool has_chains = chains->chains != NULL;
  RpinnWorstConvergence parameters = rpinn_worst_convergence(chains->num_parameters, chains->parameters),
                        outputs = rpinn_worst_convergence(chains->num_outputs, chains->outputs);
  double divergences = has_chains ? 0 : (double)NAN, lowest = (double)NAN;
  for (uint64_t c = 0; has_chains && c < run->plan.num_chains; c++) {
    divergences += (double)chains->chains[c].divergences;
    lowest = fmin(lowest, chains->chains[c].energy_fraction);
  }
  rpinn_json_open(json, "chains", '{');
  rpinn_json_number(json, "max_rhat", fmax(parameters.max_rhat, outputs.max_rhat));
  rpinn_json_number(json, "min_ess_bulk", fmin(parameters.min_ess_bulk, outputs.min_ess_bulk));
  rpinn_json_number(json, "min_ess_tail", fmin(parameters.min_ess_tail, outputs.min_ess_tail));
  rpinn_json_number(json, "divergences", divergences);
  rpinn_json_number(json, "min_ebfmi", lowest);
  if (has_chains) {
    rpinn_json_number(json, "count", (double)run->plan.num_chains);
    rpinn_json_number(json, "draws", (double)run->plan.num_draws);
    rpinn_json_number(json, "warmup", run->problem->settings.values[RPINN_SETTING_WARMUP].number);
    rpinn_json_number(json, "max_depth", run->problem->settings.values[RPINN_SETTING_MAX_DEPTH].number);
    rpinn_json_text(json, "metric", run->problem->settings.values[RPINN_SETTING_METRIC].text);
    if (chains->num_superchains) {
      rpinn_json_number(json, "superchains", (double)chains->num_superchains);
      rpinn_json_number(json, "max_nested_rhat", rpinn_largest(chains->num_outputs, chains->nested_outputs));
      rpinn_json_number(json, "max_nested_rhat_parameters",
                        rpinn_largest(chains->num_parameters, chains->nested_parameters));
    }
    json_worst(json, "parameters", chains->num_parameters, chains->parameters);
    rpinn_json_open(json, "quantities", '{');
    for (size_t q = 0; q < run->outputs.num_quantities; q++)
      json_worst(json, run->problem->predicted[q].name, run->outputs.num_points,
                 chains->outputs + q * run->outputs.num_points);
    rpinn_json_close(json, '}');
  }
  rpinn_json_open(json, "per_chain", '[');
  for (uint64_t c = 0; has_chains && c < run->plan.num_chains; c++) json_chain(json, run, &chains->chains[c]);
  rpinn_json_close(json, ']');
  rpinn_json_close(json, '}');
}

static void make_json(const Summary *summary, RpinnText *text) {
  const RpinnRun *run = summary->run;
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", run->problem->name);
  rpinn_json_text(&json, "method", run->problem->settings.values[RPINN_SETTING_METHOD].text);
  rpinn_json_text(&json, "backend", rpinn_posterior_backend_name(run->posteriors[0]));
  rpinn_json_text(&json, "precision", rpinn_run_precision_name(run));
  rpinn_json_number(&json, "seed", (double)run->posteriors[0]->seed);
  rpinn_json_number(&json, "samples", (double)run->results.num_draws);
  rpinn_json_number(&json, "samples_asked", (double)(run->num_samples * run->plan.num_chains));
  rpinn_json_number(&json, "interval_draws", (double)rpinn_kept_draws_count(run->results.kept));
  rpinn_json_number(&json, "wall_seconds", run->seconds);
  rpinn_json_number(&json, "threads", (double)run->made_on_threads);
  rpinn_json_text(&json, "version", rpinn_version());
  rpinn_json_boolean(&json, "out_of_time", run->out_of_time);
  rpinn_json_boolean(&json, "partial", run->is_partial);
  rpinn_posterior_json_sigmas(run->posteriors[0], &json);
  rpinn_prior_json(run->posteriors[0], &run->prior, &json);
  rpinn_json_open(&json, "quantities", '{');
  for (size_t q = 0; q < summary->num_quantities; q++) json_score(&json, &summary->scores[q]);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "tests", '{');
  for (size_t k = 0; k < summary->num_tests; k++)
    json_score(&json, &summary->scores[summary->num_quantities + k]);
  rpinn_json_close(&json, '}');
  json_unknowns(run, &json);
  rpinn_run_noise_json(run, &json);
  if (run->results.num_members)
    json_members(summary, &json);
  else
    json_no_members(&json);
  json_weights(run, &json);
  rpinn_run_correction_json(run, &json);
  json_chains(run, &json);
  if (run->method->write_json) run->method->write_json(run, &json);
  rpinn_run_evidence_json(run, &json);
  rpinn_verdict_json(&run->verdict, &json);
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
}

/* ---- table ---- */

/* From the JSON itself, so that `rpinn summary` shows the same for ever. */
static RpinnStatus make_table(RpinnContext *context, const RpinnText *json, RpinnText *table) {
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *summary;
  if (!arena || json->failed) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  RpinnStatus status = rpinn_json_parse(context, arena, "summary.json", json->bytes, json->length, &summary);
  if (status == RPINN_OK) rpinn_summary_table(summary, table);
  rpinn_arena_destroy(arena);
  return status == RPINN_OK && table->failed ? rpinn_fail_memory(context) : status;
}

/* ---- CSV ---- */

void rpinn_csv_append_number(RpinnText *csv, double value, bool last) {
  char number[RPINN_NUMBER_TEXT];
  if (isnan(value))
    rpinn_text_append(csv, "%s", last ? "\n" : ",");
  else {
    rpinn_number_format(value, number);
    rpinn_text_append(csv, "%s%s", number, last ? "\n" : ",");
  }
}

static void make_scores_csv(const Summary *summary, RpinnText *csv) {
  rpinn_text_append(csv, "name,role,rl2,linf,mean_std,lpp,lpp_table,coverage,interval_coverage,crps\n");
  for (size_t k = 0; k < summary->num_quantities + summary->num_tests; k++) {
    const RpinnScore *score = &summary->scores[k];
    rpinn_text_append(csv, "%s,%s,", score->name, k < summary->num_quantities ? "quantity" : "test");
    const double values[] = {score->rl2,       score->linf,     score->mean_std,          score->lpp,
                             score->lpp_table, score->coverage, score->interval_coverage, score->crps};
    for (size_t i = 0; i < 8; i++) rpinn_csv_append_number(csv, values[i], i == 7);
  }
}

/* Does a measurement of the quantity have a band? */
static bool has_predictive(const RpinnRun *run, size_t quantity) {
  return rpinn_run_measuring_term(run, quantity) < run->problem->num_terms;
}

static void csv_head(const RpinnRun *run, RpinnText *csv) {
  const RpinnProblem *problem = run->problem;
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(csv, "%s%s", i ? "," : "", problem->coordinates[i].name);
  for (size_t q = 0; q < run->outputs.num_quantities; q++) {
    const char *name = problem->predicted[q].name;
    rpinn_text_append(csv, ",%s_mean,%s_std,%s_q025,%s_median,%s_q975,%s_truth", name, name, name, name, name,
                      name);
  }
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    if (has_predictive(run, q))
      rpinn_text_append(csv, ",%s_predictive_q025,%s_predictive_q975", problem->predicted[q].name,
                        problem->predicted[q].name);
  rpinn_text_append(csv, "\n");
}

/* <coordinates>, then mean, std, quantiles and truth of every quantity, then the bands of measurements where there are some. */
static void make_predictions_csv(const RpinnRun *run, RpinnText *csv) {
  const RpinnProblem *problem = run->problem;
  const RpinnRunResults *results = &run->results;
  const RpinnDataSet *data = run->posteriors[0]->data;
  size_t num_points = run->outputs.num_points, num_quantities = run->outputs.num_quantities, num_bands = 0;
  for (size_t q = 0; q < num_quantities; q++) num_bands += has_predictive(run, q);
  csv_head(run, csv);
  for (size_t p = 0; p < num_points; p++) {
    for (size_t i = 0; i < problem->num_coordinates; i++)
      rpinn_csv_append_number(csv, data->predict.x[p * problem->num_coordinates + i], false);
    for (size_t q = 0; q < num_quantities; q++) {
      size_t at = q * num_points + p;
      const double values[] = {
          results->mean[at], results->deviation[at],
          results->low[at],  results->median[at],
          results->high[at], data->predicted_truth[q] ? data->predicted_truth[q][p] : (double)NAN};
      for (size_t i = 0; i < 6; i++)
        rpinn_csv_append_number(csv, values[i], i == 5 && q + 1 == num_quantities && !num_bands);
    }
    for (size_t q = 0, written = 0; q < num_quantities; q++) {
      if (!has_predictive(run, q)) continue;
      rpinn_csv_append_number(csv, results->predictive_low[q * num_points + p], false);
      rpinn_csv_append_number(csv, results->predictive_high[q * num_points + p], ++written == num_bands);
    }
  }
}

/* The file that only some methods have. */
static RpinnStatus write_method_file(RpinnContext *context, const RpinnRun *run) {
  RpinnText csv = {0};
  if (!run->method->write_file) return RPINN_OK;
  run->method->write_file(run, &csv);
  RpinnStatus status = rpinn_folder_write(context, run->folder, run->method->about.file, &csv);
  rpinn_text_free(&csv);
  return status;
}

RpinnStatus rpinn_run_write_summary(RpinnContext *context, RpinnRun *run) {
  Summary summary;
  RpinnText csv = {0};
  RpinnStatus status = make_summary(context, run, &summary);
  if (status == RPINN_OK) {
    make_json(&summary, &run->json);
    make_scores_csv(&summary, &csv);
    status = make_table(context, &run->json, &run->table);
    if (status == RPINN_OK) status = rpinn_folder_write(context, run->folder, "summary.csv", &csv);
  }
  rpinn_text_free(&csv);
  if (status == RPINN_OK && run->outputs.num_quantities) {
    make_predictions_csv(run, &csv);
    status = rpinn_folder_write(context, run->folder, "predictions.csv", &csv);
    rpinn_text_free(&csv);
  }
  if (status == RPINN_OK) status = write_method_file(context, run);
  if (status == RPINN_OK) status = rpinn_folder_write(context, run->folder, "summary.json", &run->json);
  free(summary.statistic_medians);
  return status;
}
