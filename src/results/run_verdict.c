/* Evidence on a finished run, gathered for the judge of verdict.h. */
#include "run_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finished_run.h"
#include "member_statistics.h"
#include "run_record.h"

typedef struct Collection {
  RpinnContext *context;
  const RpinnRun *run;
  RpinnRowEvidence *rows; /* the run's */
  RpinnVerdictEvidence evidence;
  RpinnArena *arena;
} Collection;

/* ---- members ---- */

static int compare_numbers(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* What they still had to gain, which the pass over them has kept. */
static RpinnStatus look_at_members(Collection *collection) {
  const RpinnKeptDraws *kept = collection->run->results.gains;
  size_t count = rpinn_kept_draws_count(kept);
  double *gains = RPINN_ARENA_NEW(collection->arena, double, count);
  if (!gains) return rpinn_fail_memory(collection->context);
  RpinnVerdictEvidence *evidence = &collection->evidence;
  for (size_t k = 0; k < count; k++) gains[k] = *rpinn_kept_draws_get(kept, k);
  qsort(gains, count, sizeof(double), compare_numbers);
  evidence->num_minimised = (double)count;
  for (size_t k = 0; k < count; k++) evidence->num_unconverged += !(gains[k] <= RPINN_GAIN_LIMIT);
  evidence->median_gain = count ? gains[count / 2] : 0;
  collection->rows->num_unconverged = evidence->num_unconverged;
  collection->rows->median_gain = evidence->median_gain;
  return RPINN_OK;
}

/* ---- chains ---- */

static RpinnStatus name_scalars(Collection *collection, size_t count, RpinnScalarHealth *scalars) {
  const RpinnRun *run = collection->run;
  for (size_t i = 0; i < count; i++) {
    char text[128];
    rpinn_draw_outputs_name(&run->outputs, run->posteriors[0], i, text, sizeof text);
    scalars[i].name = rpinn_arena_copy_text(collection->arena, text, strlen(text));
    if (!scalars[i].name) return rpinn_fail_memory(collection->context);
  }
  return RPINN_OK;
}

static RpinnStatus look_at_chains(Collection *collection) {
  const RpinnRun *run = collection->run;
  const RpinnChainResults *results = &run->results.chains;
  size_t num_chains = (size_t)run->plan.num_chains;
  RpinnChainEvidence *chains = RPINN_ARENA_NEW(collection->arena, RpinnChainEvidence, 1);
  RpinnChainHealth *health = RPINN_ARENA_NEW(collection->arena, RpinnChainHealth, num_chains);
  RpinnScalarHealth *scalars = RPINN_ARENA_NEW(collection->arena, RpinnScalarHealth, results->num_outputs);
  if (!chains || !health || !scalars) return rpinn_fail_memory(collection->context);
  for (size_t c = 0; c < num_chains; c++)
    health[c] = (RpinnChainHealth){.energy_fraction = results->chains[c].energy_fraction,
                                   .acceptance = results->chains[c].acceptance,
                                   .step_size = results->chains[c].step_size,
                                   .num_divergent = (size_t)results->chains[c].divergences,
                                   .num_at_limit = (size_t)results->chains[c].saturations};
  for (size_t i = 0; i < results->num_outputs; i++)
    scalars[i] = (RpinnScalarHealth){.constant = results->outputs[i].sd == 0,
                                     .statistics = results->outputs[i],
                                     .nested_rhat = results->nested_outputs ? results->nested_outputs[i] : 0};
  RPINN_TRY(name_scalars(collection, results->num_outputs, scalars));
  *chains = (RpinnChainEvidence){.num_chains = num_chains,
                                 .num_draws = (size_t)run->plan.num_draws,
                                 .num_scalars = results->num_outputs,
                                 .num_superchains = results->num_superchains,
                                 .chains = health,
                                 .scalars = scalars,
                                 .has_divergences = true,
                                 .max_depth =
                                     (size_t)run->problem->settings.values[RPINN_SETTING_MAX_DEPTH].number};
  collection->evidence.chains = chains;
  return RPINN_OK;
}

/* ---- members that were continued ---- */

static RpinnStatus look_at_correction(Collection *collection) {
  const RpinnMemberCorrection *correction = &collection->run->correction;
  RpinnCorrectionEvidence *evidence = RPINN_ARENA_NEW(collection->arena, RpinnCorrectionEvidence, 1);
  if (!evidence) return rpinn_fail_memory(collection->context);
  double num_draws = (double)correction->num_draws, num_iterations = num_draws * (double)correction->length;
  *evidence = (RpinnCorrectionEvidence){.forgets = rpinn_correction_forgets(correction),
                                        .nested_rhat = correction->nested_rhat,
                                        .limit = RPINN_FORGOTTEN_RHAT,
                                        .length = (double)correction->length,
                                        .shortest = RPINN_SHORTEST_CORRECTION,
                                        .budget = correction->budget,
                                        .gradients = correction->gradients,
                                        .acceptance = correction->acceptance,
                                        .divergent_share = correction->divergences / num_iterations,
                                        .num_divergent = (double)correction->num_divergent,
                                        .num_draws = num_draws};
  rpinn_run_name_worst(collection->run, evidence->worst, sizeof evidence->worst);
  collection->evidence.correction = evidence;
  return RPINN_OK;
}

/* ---- what is predicted ---- */

enum { FEW_MEASURED = 8 }; /* fewer points leave most of a domain between them whatever the prior */

static double quantile_of(double *sorted, size_t count, double share) {
  return sorted[(size_t)(share * (double)(count - 1) + 0.5)];
}

/* The point of prediction that is nearest to x, with the domain as the unit of length. */
static size_t nearest_prediction(const RpinnRun *run, const double *x) {
  const RpinnProblem *problem = run->problem;
  const RpinnPointSet *predict = &run->posteriors[0]->data->predict;
  size_t nearest = 0, D = problem->num_coordinates;
  double least = (double)INFINITY;
  for (size_t p = 0; p < predict->count; p++) {
    double distance = 0;
    for (size_t i = 0; i < D; i++) {
      double step =
          (predict->x[p * D + i] - x[i]) / (problem->coordinates[i].high - problem->coordinates[i].low);
      distance += step * step;
    }
    if (distance < least) least = distance, nearest = p;
  }
  return nearest;
}

static double deviation_of(size_t count, const double *values) {
  double mean = 0, sum = 0;
  for (size_t i = 0; i < count; i++) mean += values[i] / (double)count;
  for (size_t i = 0; i < count; i++) sum += (values[i] - mean) * (values[i] - mean);
  return sqrt(sum / (double)(count - 1));
}

/* The fitted term that measures a predicted quantity, by one and the same expression; NULL: none does. */
static const RpinnTermData *find_measurement(const RpinnRun *run, size_t quantity) {
  const RpinnPosterior *posterior = run->posteriors[0];
  const RpinnTermData *found = NULL;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    size_t number = posterior->fitted[t];
    const RpinnTerm *term = &run->problem->terms[number];
    const RpinnTermData *data = &posterior->data->terms[number];
    bool is_measured = term->source == RPINN_DATA_TRUTH || term->source == RPINN_DATA_CSV;
    if (!is_measured || term->expect.expression != run->problem->predicted[quantity].expression) continue;
    if (!found || data->points.count > found->points.count) found = data;
  }
  return found && found->points.count >= FEW_MEASURED ? found : NULL;
}

static RpinnStatus look_at_band(RpinnContext *context, const RpinnRun *run, size_t number,
                                RpinnQuantityEvidence *quantity) {
  const RpinnTermData *data = find_measurement(run, number);
  const double *deviation = run->results.deviation + number * run->outputs.num_points;
  size_t num_points = run->outputs.num_points, count = data ? data->points.count : 0;
  if (!data || (double)count * (double)num_points > 1e8) return RPINN_OK;
  double *at = malloc((count + num_points) * sizeof *at);
  if (!at) return rpinn_fail_memory(context);
  double *all = at + count;
  for (size_t p = 0; p < count; p++)
    at[p] = deviation[nearest_prediction(run, data->points.x + p * run->problem->num_coordinates)];
  memcpy(all, deviation, num_points * sizeof *all);
  qsort(at, count, sizeof *at, compare_numbers);
  qsort(all, num_points, sizeof *all, compare_numbers);
  quantity->at_points = quantile_of(at, count, 0.5);
  quantity->widest = quantile_of(all, num_points, 0.95);
  quantity->spread = deviation_of(count, data->values);
  free(at);
  return RPINN_OK;
}

static RpinnStatus look_at_bands(Collection *collection) {
  const RpinnRun *run = collection->run;
  for (size_t q = 0; q < run->outputs.num_quantities && run->results.num_draws > 1; q++)
    RPINN_TRY(look_at_band(collection->context, run, q, &run->rows.quantities[q]));
  collection->evidence.quantities = run->rows.quantities;
  collection->evidence.num_quantities = run->outputs.num_quantities;
  return RPINN_OK;
}

/* Held-out data within 1.96 deviations of what is predicted of them, their noise included. */
static RpinnStatus look_at_held_out(Collection *collection) {
  const RpinnRun *run = collection->run;
  RpinnHeldOutEvidence *held_out =
      RPINN_ARENA_NEW(collection->arena, RpinnHeldOutEvidence, run->outputs.num_tests);
  if (!held_out) return rpinn_fail_memory(collection->context);
  for (size_t k = 0; k < run->outputs.num_tests; k++) {
    const RpinnScore *score = &run->results.scores[run->outputs.num_quantities + k];
    double sigma = run->posteriors[0]->sigmas.terms[run->outputs.test_terms[k]], inside = 0;
    double noise = isfinite(sigma) ? sigma * sigma : 0;
    for (size_t p = 0; score->reference && p < score->count; p++) {
      double error = score->reference[p] - run->results.mean[score->first + p],
             deviation = run->results.deviation[score->first + p];
      inside += error * error <= 1.96 * 1.96 * (deviation * deviation + noise);
    }
    held_out[k] = (RpinnHeldOutEvidence){
        .name = score->name,
        .num_points = score->reference && run->results.num_draws > 1 ? (double)score->count : 0,
        .coverage = inside / (double)score->count};
  }
  collection->evidence.held_out = held_out;
  collection->evidence.num_held_out = run->outputs.num_tests;
  return RPINN_OK;
}

/* ---- the whole ---- */

/* What the spread of the draws is, where it is not the posterior's, and what it comes to here. */
static RpinnStatus look_at_spread(Collection *collection) {
  const RpinnMethod *method = collection->run->method;
  RpinnText sentence = {0};
  if (method->caution && method->spread_holds && method->spread_holds(collection->run))
    collection->evidence.spread = NULL;
  if (!collection->evidence.spread || !method->describe_spread) return RPINN_OK;
  method->describe_spread(collection->run, &sentence);
  if (sentence.length > 0) rpinn_text_append(&sentence, " ");
  rpinn_text_append(&sentence, "%s", method->caution);
  const char *spread =
      sentence.failed ? NULL : rpinn_arena_copy_text(collection->arena, sentence.bytes, sentence.length);
  rpinn_text_free(&sentence);
  collection->evidence.spread = spread;
  return spread ? RPINN_OK : rpinn_fail_memory(collection->context);
}

static void describe(Collection *collection) {
  const RpinnRun *run = collection->run;
  const RpinnRunResults *results = &run->results;
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  collection->evidence = (RpinnVerdictEvidence){
      .unit = run->method->unit,
      .num_draws = (double)results->num_draws,
      .num_failed = (double)results->num_failed,
      .num_undone = run->out_of_time || run->is_partial
                        ? (double)(run->num_samples * run->plan.num_chains) -
                              (double)(results->num_draws + results->num_failed)
                        : 0,
      .is_partial = run->is_partial,
      .spread = run->method->caution,
      .is_point = run->method->has_one_draw,
      .is_linearised = run->laplace.at != NULL,
      .above_minimum = run->laplace.energy - run->laplace.linear_energy,
      .uses_weights = results->weights.corrected,
      .pareto_k = results->weights.smoothing.constant ? (double)NAN : results->weights.smoothing.k,
      .likelihood = run->problem->settings.values[RPINN_SETTING_LIKELIHOOD].text,
      .num_parameters = (double)model->num_parameters};
}

static void describe_terms(const RpinnRun *run, RpinnTermEvidence *terms, bool *is_data) {
  const RpinnPosterior *posterior = run->posteriors[0];
  const double nan = (double)NAN;
  rpinn_posterior_data_rows(posterior, is_data);
  for (size_t t = 0, first = 0; t < posterior->model.num_terms; first += posterior->terms[t++].num_rows) {
    size_t number = posterior->fitted[t];
    const RpinnTerm *term = &run->problem->terms[number];
    terms[t] = (RpinnTermEvidence){
        .name = term->name,
        .is_measured = is_data[first],
        .sigma = posterior->sigmas.terms[number],
        .noise = term->source != RPINN_DATA_GAUSSIAN ? posterior->data->terms[number].typical_noise : nan,
        .spread = nan,
        .num_rows = (double)posterior->terms[t].num_rows,
        .loss = nan,
        .loss_freedom = nan,
        .z_mean = nan,
        .z_error = nan,
        .z_square = nan,
        .z_freedom = nan};
  }
  for (size_t k = 0; k < posterior->num_noises; k++)
    if (posterior->noises[k].num_rows > 1)
      terms[posterior->noises[k].term].spread = posterior->noises[k].spread;
}

/* All that is not known yet. */
static RpinnStatus prepare(Collection *collection) {
  const RpinnRun *run = collection->run;
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  RpinnRowEvidence *rows = collection->rows;
  const double nan = (double)NAN;
  bool *is_data = RPINN_ARENA_NEW(collection->arena, bool, model->num_rows);
  *rows = (RpinnRowEvidence){.terms = calloc(model->num_terms + 1, sizeof *rows->terms),
                             .quantities = calloc(run->outputs.num_quantities + 1, sizeof *rows->quantities),
                             .energy = nan,
                             .misfit = nan,
                             .misfit_of_nothing = nan,
                             .num_unconverged = nan,
                             .median_gain = nan};
  if (!is_data || !rows->terms || !rows->quantities) return rpinn_fail_memory(collection->context);
  describe_terms(run, rows->terms, is_data);
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    rows->quantities[q] =
        (RpinnQuantityEvidence){run->problem->predicted[q].name, nan, nan, nan, nan, nan, nan};
  return RPINN_OK;
}

/* ---- rows, and draws that are moved ---- */

/* The loss of a member with offsets is about the number of rows, that of the most probable point half of it. */
static double expected_energy(const RpinnRun *run) {
  double M = (double)run->posteriors[0]->model.num_rows;
  return rpinn_run_draws_have_offsets(run) ? M : run->laplace.at ? 0.5 * M : (double)NAN;
}

/* A step of Levenberg–Marquardt takes some M N min(M, N) operations. Some members are a small part of a run; one point is not a
 * small part of what method laplace takes after its search. */
static bool are_movable(const RpinnRun *run) {
  double M = (double)run->posteriors[0]->model.num_rows, N = (double)run->posteriors[0]->model.num_parameters;
  return M * N * fmin(M, N) <= (rpinn_run_draws_are_minimisers(run) ? 5e9 : 5e7);
}

static RpinnStatus move_draws(const Collection *collection, RpinnJudgedDraws *draws) {
  const RpinnRun *run = collection->run;
  const RpinnVerdictEvidence *evidence = &collection->evidence;
  size_t count = run->outputs.num_quantities;
  if (collection->rows->unknown || run->results.num_draws < 2 || !count || !are_movable(run)) return RPINN_OK;
  double *shifts = RPINN_ARENA_NEW(collection->arena, double, count),
         *widths = RPINN_ARENA_NEW(collection->arena, double, count);
  if (!shifts || !widths) return rpinn_fail_memory(collection->context);
  if (evidence->num_unconverged > RPINN_UNCONVERGED_CAUTION * evidence->num_minimised) {
    RPINN_TRY(rpinn_run_move_draws(draws, 1, shifts, widths));
    for (size_t q = 0; q < count; q++)
      collection->rows->quantities[q].shift = shifts[q], collection->rows->quantities[q].width = widths[q];
  } else if (collection->rows->energy > RPINN_PRIOR_PRESSES * evidence->energy_expected) {
    RPINN_TRY(rpinn_run_move_draws(draws, 0.5, shifts, widths));
    for (size_t q = 0; q < count; q++) collection->rows->quantities[q].leaning = shifts[q];
  }
  return RPINN_OK;
}

static RpinnStatus look_at_rows(Collection *collection) {
  RpinnVerdictEvidence *evidence = &collection->evidence;
  RpinnRowEvidence *rows = collection->rows;
  RpinnJudgedDraws draws;
  RpinnStatus status = rpinn_judged_draws_open(collection->context, collection->run, &draws);
  if (status == RPINN_OK) status = rpinn_run_row_evidence(&draws, rows);
  evidence->energy_expected = expected_energy(collection->run);
  if (status == RPINN_OK) status = move_draws(collection, &draws);
  rpinn_judged_draws_close(&draws);
  evidence->terms = rows->terms;
  evidence->num_terms = collection->run->posteriors[0]->model.num_terms;
  evidence->energy = rows->energy;
  evidence->misfit = rows->misfit;
  evidence->misfit_of_nothing = rows->misfit_of_nothing;
  evidence->rows_unknown = rows->unknown;
  return status;
}

static RpinnStatus collect(Collection *collection) {
  const RpinnRun *run = collection->run;
  collection->arena = rpinn_arena_create();
  if (!collection->arena) return rpinn_fail_memory(collection->context);
  describe(collection);
  RPINN_TRY(look_at_spread(collection));
  RPINN_TRY(prepare(collection));
  if (rpinn_run_draws_are_minimisers(run)) RPINN_TRY(look_at_members(collection));
  if (run->method->has_chains) RPINN_TRY(look_at_chains(collection));
  if (rpinn_run_is_corrected(run)) RPINN_TRY(look_at_correction(collection));
  RPINN_TRY(look_at_rows(collection));
  RPINN_TRY(look_at_bands(collection));
  return look_at_held_out(collection);
}

RpinnStatus rpinn_run_judge(RpinnContext *context, RpinnRun *run) {
  Collection collection = {.context = context, .run = run, .rows = &run->rows};
  RpinnStatus status = collect(&collection);
  if (status == RPINN_OK) rpinn_verdict_judge(&collection.evidence, &run->verdict);
  rpinn_arena_destroy(collection.arena);
  return status;
}

/* ---- as JSON ---- */

static void json_term(RpinnJson *json, const RpinnTermEvidence *term) {
  rpinn_json_open(json, term->name, '{');
  rpinn_json_boolean(json, "measured", term->is_measured);
  rpinn_json_number(json, "rows", term->num_rows);
  rpinn_json_number(json, "loss_per_row", term->loss);
  rpinn_json_number(json, "loss_freedom", term->loss_freedom);
  rpinn_json_number(json, "z_mean", term->z_mean);
  rpinn_json_number(json, "z_mean_error", term->z_error);
  rpinn_json_number(json, "z_spread", sqrt(term->z_square));
  rpinn_json_number(json, "z_freedom", term->z_freedom);
  rpinn_json_close(json, '}');
}

static void json_quantity(RpinnJson *json, const RpinnQuantityEvidence *quantity) {
  rpinn_json_open(json, quantity->name, '{');
  rpinn_json_number(json, "std_at_points", quantity->at_points);
  rpinn_json_number(json, "std_widest", quantity->widest);
  rpinn_json_number(json, "spread_of_data", quantity->spread);
  rpinn_json_number(json, "shift_of_converged", quantity->shift);
  rpinn_json_number(json, "std_over_converged", quantity->width);
  rpinn_json_number(json, "shift_by_wider_prior", quantity->leaning);
  rpinn_json_close(json, '}');
}

void rpinn_run_evidence_json(const RpinnRun *run, RpinnJson *json) {
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  rpinn_json_open(json, "evidence", '{');
  rpinn_json_number(json, "rows", (double)model->num_rows);
  rpinn_json_number(json, "loss", run->rows.energy);
  rpinn_json_number(json, "unconverged", run->rows.num_unconverged);
  rpinn_json_number(json, "gain_median", run->rows.median_gain);
  rpinn_json_number(json, "misfit", run->rows.misfit);
  rpinn_json_number(json, "misfit_of_nothing", run->rows.misfit_of_nothing);
  rpinn_json_open(json, "terms", '{');
  for (size_t t = 0; t < model->num_terms; t++) json_term(json, &run->rows.terms[t]);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "quantities", '{');
  for (size_t q = 0; q < run->outputs.num_quantities; q++) json_quantity(json, &run->rows.quantities[q]);
  rpinn_json_close(json, '}');
  rpinn_json_close(json, '}');
}

/* ---- from a summary ---- */

void rpinn_summary_verdict(const RpinnJsonValue *summary, const RpinnChainEvidence *chains,
                           RpinnVerdict *verdict) {
  if (rpinn_verdict_read(rpinn_json_find(summary, "verdict"), verdict)) return;
  const RpinnMethod *method = rpinn_method_find(rpinn_summary_text(summary, "method"));
  const RpinnJsonValue *members = rpinn_json_find(summary, "members"),
                       *weights = rpinn_json_find(summary, "weights");
  bool is_partial = rpinn_summary_flag(summary, "partial"),
       has_undone = is_partial || rpinn_summary_flag(summary, "out_of_time");
  double samples = rpinn_summary_number(summary, "samples"), failed = rpinn_summary_number(members, "failed");
  RpinnVerdictEvidence evidence = {.unit = method ? method->unit : "draw",
                                   .num_draws = samples,
                                   .num_failed = fmax(failed, 0),
                                   .num_undone = has_undone ? rpinn_summary_number(summary, "samples_asked") -
                                                                  samples - fmax(failed, 0)
                                                            : 0,
                                   .is_partial = is_partial,
                                   .spread = method ? method->caution : NULL,
                                   .is_point = method && method->has_one_draw,
                                   .num_minimised = method && method->minimises ? samples : 0,
                                   .median_gain = (double)NAN,
                                   .uses_weights = !strcmp(rpinn_summary_text(weights, "correction"), "mh"),
                                   .pareto_k = rpinn_summary_number(weights, "pareto_k"),
                                   .chains = chains,
                                   .is_old = true};
  if (evidence.num_minimised > 0)
    evidence.num_unconverged = samples - rpinn_summary_number(members, "converged");
  rpinn_verdict_judge(&evidence, verdict);
}
