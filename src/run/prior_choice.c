/* Which scales are tried, and which of them is taken. */
#include "prior_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prior_trials.h"

enum { FIRST_RUNGS = 3 };     /* tried at once, before the criterion is asked whether to climb on */
static const double fall = 5; /* nats below the highest that end the climb */

/* The lowest rung is where a network of this prior is about as large as the outputs it is scaled to: below it bands do not
 * hold (bench/results/calibration.md). */
static const double ladders[][RPINN_NUM_RUNGS] = {
    [RPINN_PRIOR_IID] = {0.3, 0.5, 0.8, 1.2, 1.9, 3}, [RPINN_PRIOR_FAN_IN] = {1, 1.5, 2, 3, 4.5, 7}};

/* ---- the ladder ---- */

RpinnScaleCurve rpinn_prior_choice_curve(const RpinnPriorChoice *choice) {
  RpinnScaleCurve curve = {0};
  for (size_t t = 0; t < choice->num_trials; t++) {
    double criterion = rpinn_prior_criterion(choice, t);
    if (!isfinite(criterion)) continue;
    curve.scale[curve.count] = choice->trials[t].scale;
    curve.log_density[curve.count++] = criterion;
  }
  return curve;
}

void rpinn_prior_choice_factors(const RpinnPriorChoice *choice, const RpinnPosterior *posterior,
                                double *factors) {
  for (size_t f = 0; f < posterior->problem->num_fields; f++) factors[f] = posterior->sigmas.fields[f].factor;
  for (size_t k = 0; k < choice->num_lines; k++)
    if (choice->lines[k].field < posterior->problem->num_fields)
      factors[choice->lines[k].field] = choice->lines[k].factors[choice->lines[k].chosen];
}

static void find_highest(RpinnPriorChoice *choice) {
  double highest = -(double)INFINITY;
  for (size_t t = 0; t < choice->num_trials; t++) {
    double criterion = rpinn_prior_criterion(choice, t);
    if (!(criterion > highest)) continue;
    highest = criterion;
    choice->chosen = t;
  }
}

/* Scales that foretell the data about as well are alike to them, and not to us: rPINN widens what the data do not hold as the
 * scale grows. Of those whose leave-one-out sum is within one nat of the highest, the smallest is taken, unless the evidence,
 * which foretells the data together and not each from all others, speaks clearly against it; bench/calibration shows what that
 * is worth. */
static void prefer_smaller(RpinnPriorChoice *choice) {
  const double nat = 1, clear = 5;
  if (choice->rule != RPINN_SCALE_LOO) return;
  double least_sum = rpinn_prior_criterion(choice, choice->chosen) - nat, most_evidence = -(double)INFINITY;
  for (size_t t = 0; t < choice->num_trials; t++)
    if (choice->trials[t].leave_one_out >= least_sum)
      most_evidence = fmax(most_evidence, choice->trials[t].log_evidence);
  for (size_t t = choice->num_trials; t-- > 0;)
    if (choice->trials[t].leave_one_out >= least_sum &&
        choice->trials[t].log_evidence >= most_evidence - clear)
      choice->chosen = t;
}

static RpinnStatus try_trials(RpinnContext *context, RpinnPriorTrials *search, size_t first, size_t count) {
  RPINN_TRY(rpinn_prior_trials_make(context, search, first, count));
  find_highest(search->choice);
  return RPINN_OK;
}

static void add_trial(RpinnPriorChoice *choice, double scale) {
  choice->trials[choice->num_trials++] = (RpinnScaleTrial){.scale = scale,
                                                           .energy = (double)INFINITY,
                                                           .log_evidence = (double)NAN,
                                                           .leave_one_out = (double)NAN,
                                                           .misfit = (double)NAN};
}

static RpinnStatus try_rungs(RpinnContext *context, RpinnPriorTrials *search, size_t count) {
  size_t first = search->choice->num_trials;
  const double *ladder = ladders[search->posterior->sigmas.fields[0].shape];
  for (size_t k = 0; k < count; k++) add_trial(search->choice, ladder[first + k]);
  return try_trials(context, search, first, count);
}

static RpinnStatus climb(RpinnContext *context, RpinnPriorTrials *search) {
  const RpinnPriorChoice *choice = search->choice;
  RPINN_TRY(try_rungs(context, search, FIRST_RUNGS));
  while (choice->num_trials < RPINN_NUM_RUNGS) {
    double top = rpinn_prior_criterion(choice, choice->num_trials - 1);
    if (top < rpinn_prior_criterion(choice, choice->chosen) - fall) break;
    RPINN_TRY(try_rungs(context, search, 1));
  }
  return RPINN_OK;
}

/* ---- what was found ---- */

/* u = 0 with all data as noise is a minimum under every prior; a scale that ended there was not chosen, it was not found. */
static RpinnStatus refuse_collapse(RpinnContext *context, RpinnPriorTrials *search) {
  const RpinnPriorChoice *choice = search->choice;
  const RpinnScaleTrial *chosen = &choice->trials[choice->chosen];
  double nothing;
  if (!isfinite(rpinn_prior_criterion(choice, choice->chosen)))
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "the scale of the prior cannot be chosen: no minimum that was found is finite; give it, such as "
        "--prior-scale 1");
  RPINN_TRY(rpinn_prior_trials_misfit_of_nothing(context, search, choice->chosen, &nothing));
  bool is_learnt = search->noise.count > 0; /* then the noise is as large as the misfit, whatever that is */
  if (!((nothing > 2 || is_learnt) && chosen->misfit > (is_learnt ? 0.95 : 0.9) * nothing)) return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "the scale of the prior cannot be chosen: from %.3g to %.3g every minimum that was found explains the "
      "data as noise (mean square of their rows %.3g, %.3g with networks of zero); check the noise of the "
      "terms, or give the scale, such as --prior-scale 1",
      choice->trials[0].scale, choice->trials[choice->num_trials - 1].scale, chosen->misfit, nothing);
}

/* Where a minimum was sought, the one of the chosen trial takes the place of what was known before. */
static RpinnStatus keep_minimum(RpinnContext *context, const RpinnPriorTrials *search, double **theta) {
  if (!search->options->at_minimum) return RPINN_OK;
  if (!*theta) *theta = malloc((search->N + 1) * sizeof **theta);
  if (!*theta) return rpinn_fail_memory(context);
  memcpy(*theta, search->best[search->choice->chosen], search->N * sizeof **theta);
  return RPINN_OK;
}

static RpinnStatus search_scales(RpinnContext *context, RpinnPriorTrials *search) {
  RPINN_TRY(rpinn_prior_trials_open(context, search));
  RPINN_TRY(climb(context, search));
  prefer_smaller(search->choice);
  return refuse_collapse(context, search);
}

/* ---- factors of fields ---- */

static const double line_factors[RPINN_MAX_LINE_TRIALS] = {0.4, 0.625, 1, 1.6, 2.5};

/* The scale of one field with those of all others fixed, by the same rule. */
static RpinnStatus try_line(RpinnContext *context, RpinnPriorTrials *search) {
  RPINN_TRY(rpinn_prior_trials_open(context, search));
  for (size_t i = 0; i < RPINN_MAX_LINE_TRIALS; i++)
    add_trial(search->choice, search->line_scale * search->factors[search->line_field] * line_factors[i]);
  RPINN_TRY(try_trials(context, search, 0, RPINN_MAX_LINE_TRIALS));
  prefer_smaller(search->choice);
  return RPINN_OK;
}

/* factors [num_fields] receives that of the field. */
static RpinnStatus choose_factor(RpinnContext *context, const RpinnPriorTrials *common, size_t field,
                                 double *factors) {
  RpinnPriorChoice *choice = common->choice, along = {.rule = choice->rule};
  RpinnPriorTrials search = {.posterior = common->posterior,
                             .options = common->options,
                             .choice = &along,
                             .factors = factors,
                             .line_field = field,
                             .line_scale = choice->trials[choice->chosen].scale};
  RpinnStatus status = try_line(context, &search);
  if (status == RPINN_OK) status = keep_minimum(context, &search, &choice->theta);
  rpinn_prior_trials_close(&search);
  RPINN_TRY(status);
  RpinnFieldLine *line = &choice->lines[choice->num_lines++];
  *line = (RpinnFieldLine){.field = field, .num_trials = along.num_trials, .chosen = along.chosen};
  for (size_t i = 0; i < along.num_trials; i++) {
    line->trials[i] = along.trials[i];
    line->factors[i] = factors[field] * line_factors[i];
  }
  factors[field] = line->factors[line->chosen];
  return RPINN_OK;
}

static RpinnStatus choose_factors(RpinnContext *context, const RpinnPriorTrials *common) {
  const RpinnPosterior *posterior = common->posterior;
  size_t num_fields = posterior->problem->num_fields;
  double *factors = malloc((num_fields + 1) * sizeof *factors);
  common->choice->lines = calloc(num_fields + 1, sizeof *common->choice->lines);
  RpinnStatus status = factors && common->choice->lines ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t f = 0; f < num_fields && status == RPINN_OK; f++)
    factors[f] = posterior->sigmas.fields[f].factor;
  for (size_t f = 0; f < num_fields && status == RPINN_OK; f++)
    if (posterior->sigmas.fields[f].is_separate) status = choose_factor(context, common, f, factors);
  free(factors);
  return status;
}

/* ---- the whole ---- */

RpinnStatus rpinn_prior_choose(RpinnContext *context, const RpinnPosterior *posterior,
                               const RpinnPriorChoiceOptions *options, RpinnPriorChoice *choice) {
  RpinnPriorTrials search = {.posterior = posterior, .options = options, .choice = choice};
  *choice = (RpinnPriorChoice){.rule = options->rule, .at_minimum = options->at_minimum};
  RpinnStatus status = search_scales(context, &search);
  if (status == RPINN_OK) status = keep_minimum(context, &search, &choice->theta);
  rpinn_prior_trials_close(&search);
  if (status == RPINN_OK) status = choose_factors(context, &search);
  if (status != RPINN_OK) rpinn_prior_choice_free(choice);
  return status;
}
