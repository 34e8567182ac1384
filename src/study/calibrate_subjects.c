/* What is scored, and the score of a run. */
#include <math.h>
#include <string.h>

#include "calibrate_state.h"
#include "method.h"
#include "rpinn/verdict.h"

/* ---- what ---- */

static RpinnStatus add_subject(RpinnContext *context, RpinnCalibration *calibration, RpinnSubjectKind kind,
                               size_t index, const char *name) {
  RpinnCalibrationSubject *subject = &calibration->subjects[calibration->num_subjects++];
  *subject =
      (RpinnCalibrationSubject){rpinn_arena_copy_text(calibration->arena, name, strlen(name)), kind, index};
  return subject->name ? RPINN_OK : rpinn_fail_memory(context);
}

static bool is_known(const RpinnCalibration *calibration, RpinnSubjectKind kind, size_t index) {
  const RpinnPosterior *posterior = calibration->base->posteriors[0];
  double ignored;
  if (calibration->source == RPINN_FROM_PRIOR) return true;
  return kind == RPINN_SUBJECT_UNKNOWN ? rpinn_draw_outputs_scalar_truth(posterior, index, &ignored)
                                       : posterior->data->predicted_truth[index] != NULL;
}

/* An unknown that predict: names too is scored once, as the number that it is. */
static bool is_unknown_too(const RpinnCalibration *calibration, size_t predicted) {
  const RpinnProblem *problem = calibration->base->posteriors[0]->problem;
  for (size_t k = 0; k < problem->num_unknowns; k++)
    if (!strcmp(problem->unknowns[k].name, problem->predicted[predicted].name))
      return is_known(calibration, RPINN_SUBJECT_UNKNOWN, k);
  return false;
}

static RpinnStatus list_terms(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnProblem *problem = calibration->base->posteriors[0]->problem;
  for (size_t t = 0; t < problem->num_terms; t++)
    if (calibration->folds[t])
      RPINN_TRY(add_subject(context, calibration, RPINN_SUBJECT_TERM, t, problem->terms[t].name));
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_list_subjects(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnPosterior *posterior = calibration->base->posteriors[0];
  const RpinnProblem *problem = posterior->problem;
  size_t num_scalars = problem->num_unknowns + posterior->num_noises;
  calibration->subjects = RPINN_ARENA_NEW(calibration->arena, RpinnCalibrationSubject,
                                          problem->num_predicted + num_scalars + problem->num_terms + 1);
  if (!calibration->subjects) return rpinn_fail_memory(context);
  if (calibration->source == RPINN_FROM_DATA) return list_terms(context, calibration);
  for (size_t q = 0; q < problem->num_predicted; q++)
    if (is_known(calibration, RPINN_SUBJECT_QUANTITY, q) && !is_unknown_too(calibration, q))
      RPINN_TRY(add_subject(context, calibration, RPINN_SUBJECT_QUANTITY, q, problem->predicted[q].name));
  for (size_t k = 0; k < num_scalars; k++)
    if (is_known(calibration, RPINN_SUBJECT_UNKNOWN, k))
      RPINN_TRY(add_subject(context, calibration, RPINN_SUBJECT_UNKNOWN, k,
                            rpinn_draw_outputs_scalar(posterior, k)));
  if (calibration->source != RPINN_FROM_PRIOR) return RPINN_OK;
  return add_subject(context, calibration, RPINN_SUBJECT_LIKELIHOOD, 0, "log likelihood");
}

/* ---- draws that stand alone ---- */

/* Draws of chains are alike, and their ranks not those of so many: as many as the least effective size of a predicted number
 * says are left, evenly, but enough for intervals. */
static RpinnStatus thin(RpinnContext *context, const RpinnRun *run, const RpinnKeptDraws *all,
                        RpinnKeptDraws **thinned) {
  const RpinnChainResults *chains = &run->results.chains;
  double least = (double)NAN;
  size_t count = rpinn_kept_draws_count(all);
  for (size_t i = 0; i < chains->num_outputs; i++) least = fmin(least, chains->outputs[i].ess_bulk);
  size_t wanted = least < (double)count ? (size_t)fmax(least, RPINN_INTERVAL_MIN_DRAWS) : count;
  *thinned = rpinn_kept_draws_create(rpinn_kept_draws_num_values(all), wanted < count ? count / wanted : 1);
  if (!*thinned) return rpinn_fail_memory(context);
  for (size_t k = 0; k < count; k++)
    if (rpinn_kept_draws_add(*thinned, k, rpinn_kept_draws_get(all, k)) != RPINN_OK)
      return rpinn_fail_memory(context);
  return RPINN_OK;
}

/* ---- the score ---- */

typedef struct Scorer {
  RpinnContext *context;
  const RpinnCalibration *calibration;
  const RpinnRun *run;
  const RpinnSimulation *simulation;
  const RpinnKeptDraws *draws, *likelihoods;
  RpinnStream stream;
} Scorer;

static RpinnStatus score_term(Scorer *scorer, size_t term, RpinnCalibrationScore *score) {
  RpinnHeldOutRows rows;
  RPINN_TRY(rpinn_calibration_find_held_out(scorer->context, scorer->calibration, scorer->run, term, &rows));
  return rpinn_calibration_score(scorer->draws, rows.first, rows.count, rows.truth,
                                 rows.count ? &rows.noise : NULL, &scorer->stream, score);
}

static RpinnStatus score_unknown(Scorer *scorer, size_t index, RpinnCalibrationScore *score) {
  size_t at = scorer->run->outputs.unknown_start + index;
  double truth = 0;
  if (scorer->simulation)
    truth = scorer->simulation->outputs[at];
  else
    rpinn_draw_outputs_scalar_truth(scorer->run->posteriors[0], index, &truth);
  return rpinn_calibration_score(scorer->draws, at, 1, &truth, NULL, &scorer->stream, score);
}

static RpinnStatus score_subject(Scorer *scorer, const RpinnCalibrationSubject *subject,
                                 RpinnCalibrationScore *score) {
  const RpinnRun *run = scorer->run;
  size_t points = run->outputs.num_points, first = subject->index * points;
  switch (subject->kind) {
  case RPINN_SUBJECT_TERM: return score_term(scorer, subject->index, score);
  case RPINN_SUBJECT_UNKNOWN: return score_unknown(scorer, subject->index, score);
  case RPINN_SUBJECT_LIKELIHOOD:
    return rpinn_calibration_score(scorer->likelihoods, 0, 1, &scorer->simulation->log_likelihood, NULL,
                                   &scorer->stream, score);
  default:
    return rpinn_calibration_score(scorer->draws, first, points,
                                   scorer->simulation
                                       ? scorer->simulation->outputs + first
                                       : run->posteriors[0]->data->predicted_truth[subject->index],
                                   NULL, &scorer->stream, score);
  }
}

static RpinnStatus score_subjects(Scorer *scorer, RpinnCalibrationRow *row) {
  const RpinnCalibration *calibration = scorer->calibration;
  for (size_t s = 0; s < calibration->num_subjects; s++)
    if (score_subject(scorer, &calibration->subjects[s], &row->scores[s]) != RPINN_OK)
      return rpinn_fail_memory(scorer->context);
  const RpinnVerdict *verdict = rpinn_run_verdict(scorer->run);
  row->verdict = verdict ? (double)verdict->word : (double)NAN;
  row->num_draws = (double)rpinn_kept_draws_count(scorer->draws);
  row->seconds = scorer->run->seconds;
  row->prior_scale = scorer->run->posteriors[0]->sigmas.prior;
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_score_run(RpinnContext *context, const RpinnCalibration *calibration,
                                        const RpinnRun *run, const RpinnSimulation *simulation,
                                        size_t data_set, RpinnCalibrationRow *row) {
  const RpinnRunResults *results = &run->results;
  RpinnKeptDraws *draws = NULL, *likelihoods = NULL;
  size_t count = rpinn_kept_draws_count(results->kept);
  if (count < RPINN_INTERVAL_MIN_DRAWS)
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "the run for data set %zu has %zu draws; expected at least %d, for intervals of 95 %%: a longer "
        "--time-limit, or more --samples of chains",
        data_set + 1, count, RPINN_INTERVAL_MIN_DRAWS);
  RpinnStatus status = RPINN_OK;
  if (run->method->has_chains) {
    status = thin(context, run, results->kept, &draws);
    if (status == RPINN_OK) status = thin(context, run, results->likelihoods, &likelihoods);
  }
  Scorer scorer = {.context = context,
                   .calibration = calibration,
                   .run = run,
                   .simulation = calibration->source == RPINN_FROM_PRIOR ? simulation : NULL,
                   .draws = draws ? draws : results->kept,
                   .likelihoods = likelihoods ? likelihoods : results->likelihoods,
                   .stream = rpinn_stream(run->posteriors[0]->seed, RPINN_PURPOSE_RANKS, data_set, 0)};
  if (status == RPINN_OK) status = score_subjects(&scorer, row);
  rpinn_kept_draws_destroy(draws);
  rpinn_kept_draws_destroy(likelihoods);
  return status;
}
