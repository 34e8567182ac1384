/* The values that are looked at: the grid, those that are given, and those that rules add. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prior_choice.h"
#include "weights_state.h"

/* ---- what is given ---- */

static const char given_file[] = "given-prior";

/* The scale that a run would choose: it and the factors of the fields, from an earlier session or now. */
static RpinnStatus choose_scale(RpinnContext *context, RpinnWeightSearch *search, size_t num_fields,
                                double *numbers) {
  const RpinnPosterior *posterior = search->base->posteriors[0];
  RpinnPriorChoice choice = {0};
  RpinnPriorChoiceOptions options = {.rule = posterior->sigmas.rule,
                                     .at_minimum = search->at_minimum,
                                     .num_threads = search->num_threads,
                                     .interrupted = rpinn_weights_are_stopped,
                                     .user = search};
  bool found;
  RPINN_TRY(rpinn_weights_read_numbers(context, search, given_file, num_fields + 1, numbers, &found));
  if (found) return RPINN_OK;
  RpinnStatus status = rpinn_prior_choose(context, posterior, &options, &choice);
  if (status == RPINN_OK) {
    numbers[0] = choice.trials[choice.chosen].scale;
    rpinn_prior_choice_factors(&choice, posterior, numbers + 1);
    status = rpinn_weights_write_numbers(context, search, given_file, num_fields + 1, numbers);
  }
  rpinn_prior_choice_free(&choice);
  return status;
}

/* For good: from here on the base has a scale that is given. */
RpinnStatus rpinn_weights_settle_given(RpinnContext *context, RpinnWeightSearch *search) {
  RpinnPosterior *posterior = search->base->posteriors[0];
  size_t num_fields = posterior->problem->num_fields;
  RpinnScaleCurve none = {0};
  search->given_by = posterior->sigmas.rule;
  if (search->given_by == RPINN_SCALE_GIVEN) return RPINN_OK;
  double *numbers = RPINN_ARENA_NEW(search->arena, double, num_fields + 1);
  if (!numbers) return rpinn_fail_memory(context);
  RPINN_TRY(choose_scale(context, search, num_fields, numbers));
  for (size_t f = 0; f < num_fields; f++)
    if (posterior->sigmas.fields[f].is_separate) search->factors = numbers + 1;
  return rpinn_posterior_choose_prior_scale(context, posterior, search->given_by, numbers[0], &none,
                                            numbers + 1);
}

static RpinnStatus make_values(RpinnContext *context, const RpinnWeightSearch *search,
                               RpinnWeightValues *values) {
  *values = (RpinnWeightValues){.weights = RPINN_ARENA_NEW(search->arena, double, search->num_terms + 1),
                                .noise = RPINN_ARENA_NEW(search->arena, double, search->num_terms + 1)};
  return values->weights && values->noise ? RPINN_OK : rpinn_fail_memory(context);
}

static RpinnStatus take_given(RpinnContext *context, const RpinnWeightSearch *search,
                              RpinnWeightValues *values) {
  const RpinnPosterior *posterior = search->base->posteriors[0];
  const RpinnSigmas *sigmas = &posterior->sigmas;
  bool by_paper = search->likelihood == RPINN_LIKELIHOOD_PAPER;
  bool follows = by_paper && posterior->problem->settings.values[RPINN_SETTING_PRIOR_SCALE].is_auto;
  RPINN_TRY(make_values(context, search, values));
  for (size_t t = 0; t < search->num_terms; t++) {
    values->weights[t] = search->is_weighted[t] ? sigmas->weights[t] : (double)NAN;
    values->noise[t] = 1;
  }
  values->epsilon = by_paper ? posterior->problem->prior_epsilon : (double)NAN;
  values->prior = follows ? (double)NAN : sigmas->prior;
  values->shape =
      search->likelihood == RPINN_LIKELIHOOD_NOISE ? (double)sigmas->fields[0].shape : (double)NAN;
  return RPINN_OK;
}

/* ---- as a problem ---- */

static RpinnStatus set_scale(RpinnContext *context, const RpinnWeightSearch *search, double scale,
                             RpinnProblem *problem) {
  char text[RPINN_NUMBER_TEXT];
  rpinn_number_format(scale, text);
  for (size_t f = 0; search->factors && f < problem->num_fields; f++) {
    if (!search->base->posteriors[0]->sigmas.fields[f].is_separate) continue;
    problem->fields[f].prior.has_factor = true;
    problem->fields[f].prior.factor = search->factors[f];
  }
  return rpinn_settings_set(context, &problem->settings, RPINN_SETTING_PRIOR_SCALE, text,
                            (RpinnPlace){.file = "prior_scale"});
}

RpinnStatus rpinn_weights_apply(RpinnContext *context, const RpinnWeightSearch *search,
                                const RpinnWeightValues *values, RpinnProblem *problem) {
  for (size_t t = 0; t < search->num_terms; t++) {
    RpinnTerm *term = &problem->terms[t];
    if (!isnan(values->weights[t])) {
      term->has_weight = true;
      term->weight = values->weights[t];
    }
    term->noise *= values->noise[t];
  }
  if (!isnan(values->epsilon)) problem->prior_epsilon = values->epsilon;
  if (!isnan(values->shape)) {
    problem->prior.has_shape = true;
    problem->prior.shape = (RpinnPriorShape)values->shape;
  }
  return isnan(values->prior) ? RPINN_OK : set_scale(context, search, values->prior, problem);
}

/* The deviations of a candidate, from a copy of the problem with its values. */
static RpinnStatus find_sigmas(RpinnContext *context, const RpinnWeightSearch *search,
                               RpinnWeightCandidate *candidate) {
  const RpinnPosterior *posterior = search->base->posteriors[0];
  RpinnProblem problem = *posterior->problem;
  RpinnSigmas sigmas;
  problem.terms = RPINN_ARENA_NEW(search->arena, RpinnTerm, problem.num_terms);
  problem.fields = RPINN_ARENA_NEW(search->arena, RpinnField, problem.num_fields);
  if (!problem.terms || !problem.fields) return rpinn_fail_memory(context);
  memcpy(problem.terms, posterior->problem->terms, problem.num_terms * sizeof *problem.terms);
  memcpy(problem.fields, posterior->problem->fields, problem.num_fields * sizeof *problem.fields);
  RPINN_TRY(rpinn_weights_apply(context, search, &candidate->values, &problem));
  RPINN_TRY(rpinn_sigmas_resolve(context, search->arena, &problem, posterior->data, &sigmas));
  candidate->prior = sigmas.prior;
  candidate->sigmas = sigmas.terms;
  for (size_t t = 0; t < search->num_terms; t++) /* the data of the base know the noise as it is stated */
    if (candidate->values.noise[t] != 1) candidate->sigmas[t] *= candidate->values.noise[t];
  return RPINN_OK;
}

/* ---- the list ---- */

static bool is_same(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

static bool are_same(const RpinnWeightSearch *search, const RpinnWeightValues *a,
                     const RpinnWeightValues *b) {
  for (size_t t = 0; t < search->num_terms; t++)
    if (!is_same(a->weights[t], b->weights[t]) || a->noise[t] != b->noise[t]) return false;
  return is_same(a->epsilon, b->epsilon) && is_same(a->prior, b->prior) && is_same(a->shape, b->shape);
}

static RpinnStatus enlist(RpinnContext *context, const RpinnWeightSearch *search, size_t number) {
  RpinnWeightCandidate *candidate = &search->candidates[number];
  candidate->is_there = true;
  candidate->look = (RpinnWeightLook){(double)NAN, (double)NAN, (double)NAN};
  candidate->folds = (double)NAN;
  candidate->same_as = number;
  for (size_t k = 0; k < search->num_candidates; k++) {
    const RpinnWeightCandidate *other = &search->candidates[k];
    if (k == number || !other->is_there || other->same_as != k ||
        !are_same(search, &other->values, &candidate->values))
      continue;
    candidate->same_as = k;
    break;
  }
  return find_sigmas(context, search, candidate);
}

static RpinnStatus copy_values(RpinnContext *context, const RpinnWeightSearch *search,
                               const RpinnWeightValues *given, RpinnWeightValues *values) {
  RpinnWeightValues own;
  RPINN_TRY(make_values(context, search, &own));
  memcpy(own.weights, given->weights, search->num_terms * sizeof *own.weights);
  memcpy(own.noise, given->noise, search->num_terms * sizeof *own.noise);
  *values = *given;
  values->weights = own.weights;
  values->noise = own.noise;
  return RPINN_OK;
}

/* Grid point number k: the last axis moves fastest. */
static RpinnStatus add_point(RpinnContext *context, RpinnWeightSearch *search, size_t k) {
  RpinnWeightCandidate *candidate = &search->candidates[k];
  size_t rest = k;
  RPINN_TRY(copy_values(context, search, &search->candidates[search->num_grid].values, &candidate->values));
  for (size_t a = search->num_axes; a-- > 0; rest /= search->axes[a].count) {
    candidate->at[a] = search->axes[a].values[rest % search->axes[a].count];
    rpinn_axis_set(search, &search->axes[a], candidate->at[a], &candidate->values);
  }
  return enlist(context, search, k);
}

RpinnStatus rpinn_weights_list_candidates(RpinnContext *context, RpinnWeightSearch *search) {
  search->num_grid = 1;
  for (size_t a = 0; a < search->num_axes; a++) search->num_grid *= search->axes[a].count;
  search->num_candidates = search->num_grid + 1 + RPINN_NUM_WEIGHT_RULES * (size_t)RPINN_NUM_BALANCE_POINTS;
  search->candidates = RPINN_ARENA_NEW(search->arena, RpinnWeightCandidate, search->num_candidates);
  if (!search->candidates) return rpinn_fail_memory(context);
  for (size_t k = 0; k < search->num_candidates; k++)
    for (size_t a = 0; a < RPINN_MAX_SEARCH_AXES; a++) search->candidates[k].at[a] = (double)NAN;
  RPINN_TRY(take_given(context, search, &search->candidates[search->num_grid].values));
  for (size_t k = 0; k < search->num_grid; k++) RPINN_TRY(add_point(context, search, k));
  return enlist(context, search, search->num_grid);
}

RpinnStatus rpinn_weights_add_candidate(RpinnContext *context, RpinnWeightSearch *search, size_t number,
                                        const double *weights) {
  RpinnWeightCandidate *candidate = &search->candidates[number];
  RPINN_TRY(copy_values(context, search, &search->candidates[search->num_grid].values, &candidate->values));
  memcpy(candidate->values.weights, weights, search->num_terms * sizeof *weights);
  return enlist(context, search, number);
}
