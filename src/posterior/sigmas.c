#include "sigmas.h"

#include <math.h>
#include <string.h>

/* The paper weighs whole terms. */
static RpinnStatus refuse_rows(RpinnContext *context, const RpinnTerm *term, const char *likelihood) {
  return rpinn_fail_at(context, term->noise_place,
                       "the noise of term '%s' differs by row, which likelihood %s cannot weigh; expected "
                       "likelihood: noise, or one number as noise:",
                       term->name, likelihood);
}

static RpinnStatus refuse_unknown(RpinnContext *context, const RpinnTerm *term, const char *likelihood) {
  return rpinn_fail_at(context, term->noise_place,
                       "the noise of term '%s' is unknown, which likelihood %s has no place for; expected "
                       "likelihood: noise, or a number as noise:",
                       term->name, likelihood);
}

static RpinnStatus find_weight(RpinnContext *context, const RpinnTerm *term, bool needed, double *weight) {
  if (term->has_weight)
    *weight = term->weight;
  else if (term->has_noise && term->noise > 0)
    *weight = 1 / (term->noise * term->noise);
  else if (!needed)
    *weight = NAN;
  else
    return rpinn_fail_at(
        context, term->noise_place,
        "term '%s' has no weight and no noise above 0 to make one of; expected weight: or noise:",
        term->name);
  return RPINN_OK;
}

static RpinnStatus reference_noise(RpinnContext *context, const RpinnProblem *problem, const char *likelihood,
                                   double *noise) {
  if (!problem->has_reference_term)
    return rpinn_fail_at(context, problem->prior_place,
                         "likelihood %s needs a reference term; expected prior: {reference_term: NAME}",
                         likelihood);
  const RpinnTerm *term = &problem->terms[problem->reference_term];
  if (!term->has_noise || !(term->noise > 0))
    return rpinn_fail_at(
        context, term->noise_place,
        "reference term '%s' has no noise above 0; likelihood %s needs it: expected noise: in "
        "that term",
        term->name, likelihood);
  *noise = term->noise;
  return RPINN_OK;
}

static RpinnStatus term_noise(RpinnContext *context, const RpinnTerm *term, const RpinnTermData *data,
                              double *sigma) {
  *sigma = term->unknown_noise.present ? 1 : data->typical_noise; /* its start is known with the data */
  if (data->noise || term->unknown_noise.present) return RPINN_OK;
  if (!term->has_noise || !(term->noise > 0))
    return rpinn_fail_at(
        context, term->noise_place,
        "term '%s' has no noise above 0; expected noise: with the standard deviation of its data (of an "
        "equation: how exactly it is to hold), or likelihood: paper, which goes by weights",
        term->name);
  return RPINN_OK;
}

/* ---- the prior ---- */

static bool every_field_has_a_scale(const RpinnProblem *problem) {
  bool all = true;
  for (size_t f = 0; f < problem->num_fields; f++) {
    const RpinnPriorSpec *own = &problem->fields[f].prior;
    all = all && own->has_scale && own->rule == RPINN_SCALE_GIVEN;
  }
  return all;
}

/* The setting, where it is not auto, wins over what the file says; under stated noise the data choose what neither says. */
static void resolve_scale(const RpinnProblem *problem, bool reads_prior, RpinnSigmas *sigmas) {
  const RpinnSettingsValues *settings = &problem->settings;
  RpinnPriorSpec prior = reads_prior ? problem->prior : (RpinnPriorSpec){0};
  if (!settings->values[RPINN_SETTING_PRIOR_SCALE].is_auto) {
    prior = (RpinnPriorSpec){.has_scale = true,
                             .rule = RPINN_SCALE_GIVEN,
                             .scale = settings->values[RPINN_SETTING_PRIOR_SCALE].number};
    for (size_t k = 0; k < RPINN_SCALE_GIVEN; k++)
      if (!strcmp(settings->values[RPINN_SETTING_PRIOR_SCALE].text, rpinn_scale_rule_names[k]))
        prior.rule = (RpinnScaleRule)k;
  }
  sigmas->rule = RPINN_SCALE_GIVEN;
  if (!prior.has_scale && reads_prior && !every_field_has_a_scale(problem)) {
    prior.has_scale = true;
    prior.rule = RPINN_SCALE_LOO;
  }
  if (!prior.has_scale) return;
  sigmas->rule = prior.rule;
  sigmas->prior = prior.rule == RPINN_SCALE_GIVEN ? prior.scale : 1;
}

static RpinnStatus resolve_spread(RpinnContext *context, const RpinnProblem *problem, RpinnSigmas *sigmas) {
  const RpinnSettingsValues *settings = &problem->settings;
  bool by_setting = !settings->values[RPINN_SETTING_PRIOR_INTEGRATE].is_auto;
  sigmas->start = settings->values[RPINN_SETTING_CORRECT_SCALE].is_auto
                      ? 0
                      : settings->values[RPINN_SETTING_CORRECT_SCALE].number;
  sigmas->integrates =
      by_setting ? rpinn_settings_choice(settings, RPINN_SETTING_PRIOR_INTEGRATE) == RPINN_SCALE_INTEGRATED
                 : problem->integrates_scale;
  if (!sigmas->integrates || sigmas->rule != RPINN_SCALE_GIVEN || problem->curve.count) return RPINN_OK;
  return rpinn_fail_at(context, by_setting ? (RpinnPlace){0} : problem->prior_place,
                       "%s draws scales from what the data say of them, and the scale is given; expected a "
                       "scale by loo or evidence, such as --prior-scale loo",
                       by_setting ? "prior_integrate yes" : "integrate: true");
}

/* A field whose scale is to be chosen by a rule of its own: the problem's is chosen first, and the setting, which wins over the
 * file, may give it. */
static RpinnStatus check_rule(RpinnContext *context, const RpinnProblem *problem, size_t f,
                              const RpinnSigmas *sigmas) {
  const RpinnPriorSpec *own = &problem->fields[f].prior;
  if (!own->has_scale || own->rule == RPINN_SCALE_GIVEN || own->rule == sigmas->rule) return RPINN_OK;
  if (!problem->settings.values[RPINN_SETTING_PRIOR_SCALE].is_auto) return RPINN_OK;
  return rpinn_fail_at(
      context, own->place,
      "field '%s' has its scale by %s, and the problem %s; expected prior: {scale: %s} there too",
      problem->fields[f].name, rpinn_scale_rule_names[own->rule],
      sigmas->rule == RPINN_SCALE_GIVEN ? "has a number" : "by another rule",
      rpinn_scale_rule_names[own->rule]);
}

/* Which fields have factors that the data choose: those with a rule of their own, or all; but one that is alone has its scale. */
static void separate_fields(const RpinnProblem *problem, bool reads_prior, RpinnSigmas *sigmas) {
  const RpinnSettingsValues *settings = &problem->settings;
  bool all = settings->values[RPINN_SETTING_PRIOR_PER_FIELD].is_auto
                 ? problem->scales_per_field
                 : rpinn_settings_choice(settings, RPINN_SETTING_PRIOR_PER_FIELD) == RPINN_SCALE_PER_FIELD;
  bool none = !settings->values[RPINN_SETTING_PRIOR_PER_FIELD].is_auto && !all;
  size_t num_free = 0;
  for (size_t f = 0; f < problem->num_fields; f++) num_free += !sigmas->fields[f].has_own_scale;
  for (size_t f = 0; f < problem->num_fields; f++)
    sigmas->fields[f].is_separate = sigmas->rule != RPINN_SCALE_GIVEN && num_free > 1 && !none &&
                                    !sigmas->fields[f].has_own_scale &&
                                    (all || (reads_prior && problem->fields[f].prior.has_scale));
}

/* What nobody said: fan_in where the data choose the scale, or chose it before, because it means the same whatever the width of
 * a layer (bench/results/calibration.md); iid where a number is given, the deviation of every parameter. */
static RpinnPriorShape usual_shape(const RpinnProblem *problem, const RpinnSigmas *sigmas,
                                   const RpinnFieldPrior *field) {
  bool by_data = sigmas->rule != RPINN_SCALE_GIVEN || problem->was_chosen;
  return by_data && !field->has_own_scale ? RPINN_PRIOR_FAN_IN : RPINN_PRIOR_IID;
}

static RpinnStatus resolve_prior(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                 bool reads_prior, RpinnSigmas *sigmas) {
  resolve_scale(problem, reads_prior, sigmas);
  RPINN_TRY(resolve_spread(context, problem, sigmas));
  sigmas->fields = RPINN_ARENA_NEW(arena, RpinnFieldPrior, problem->num_fields);
  if (!sigmas->fields) return rpinn_fail_memory(context);
  for (size_t f = 0; f < problem->num_fields; f++) sigmas->fields[f].factor = 1;
  for (size_t f = 0; f < problem->num_fields && reads_prior; f++) {
    const RpinnPriorSpec *own = &problem->fields[f].prior;
    RpinnFieldPrior *field = &sigmas->fields[f];
    if (own->has_factor) field->factor = own->factor;
    RPINN_TRY(check_rule(context, problem, f, sigmas));
    field->has_own_scale = own->has_scale && own->rule == RPINN_SCALE_GIVEN;
    if (field->has_own_scale) field->scale = own->scale;
    field->shape = own->has_shape             ? own->shape
                   : problem->prior.has_shape ? problem->prior.shape
                                              : usual_shape(problem, sigmas, field);
  }
  separate_fields(problem, reads_prior, sigmas);
  if (!problem->settings.values[RPINN_SETTING_PRIOR_SHAPE].is_auto)
    for (size_t f = 0; f < problem->num_fields; f++)
      sigmas->fields[f].shape =
          (RpinnPriorShape)rpinn_settings_choice(&problem->settings, RPINN_SETTING_PRIOR_SHAPE);
  return RPINN_OK;
}

/* ---- the whole ---- */

RpinnStatus rpinn_sigmas_resolve(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                 const RpinnDataSet *data, RpinnSigmas *sigmas) {
  RpinnLikelihood likelihood =
      (RpinnLikelihood)rpinn_settings_choice(&problem->settings, RPINN_SETTING_LIKELIHOOD);
  const char *name = problem->settings.values[RPINN_SETTING_LIKELIHOOD].text;
  *sigmas = (RpinnSigmas){.terms = RPINN_ARENA_NEW(arena, double, problem->num_terms),
                          .rows = RPINN_ARENA_NEW(arena, const double *, problem->num_terms),
                          .weights = RPINN_ARENA_NEW(arena, double, problem->num_terms),
                          .prior = 1};
  if (!sigmas->terms || !sigmas->rows || !sigmas->weights) return rpinn_fail_memory(context);
  for (size_t t = 0; t < problem->num_terms; t++) {
    sigmas->rows[t] = data->terms[t].noise;
    if (sigmas->rows[t] && !problem->terms[t].is_test && likelihood != RPINN_LIKELIHOOD_NOISE)
      return refuse_rows(context, &problem->terms[t], name);
    if (problem->terms[t].unknown_noise.present && likelihood != RPINN_LIKELIHOOD_NOISE)
      return refuse_unknown(context, &problem->terms[t], name);
    bool needed = likelihood == RPINN_LIKELIHOOD_PAPER && !problem->terms[t].is_test &&
                  problem->terms[t].source != RPINN_DATA_GAUSSIAN;
    RPINN_TRY(find_weight(context, &problem->terms[t], needed, &sigmas->weights[t]));
  }
  double reference = NAN;
  if (likelihood != RPINN_LIKELIHOOD_NOISE) RPINN_TRY(reference_noise(context, problem, name, &reference));
  if (likelihood == RPINN_LIKELIHOOD_PAPER) {
    size_t R = problem->reference_term;
    sigmas->prior =
        (reference + problem->prior_epsilon) * sqrt(sigmas->weights[R] / (double)data->terms[R].points.count);
  }
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTerm *term = &problem->terms[t];
    double *sigma = &sigmas->terms[t];
    if (term->source == RPINN_DATA_GAUSSIAN)
      *sigma = 1;
    else if (term->is_test)
      *sigma = data->terms[t].typical_noise;
    else if (likelihood == RPINN_LIKELIHOOD_NOISE)
      RPINN_TRY(term_noise(context, term, &data->terms[t], sigma));
    else if (likelihood == RPINN_LIKELIHOOD_UNIFORM)
      *sigma = reference;
    else
      *sigma = sigmas->prior * sqrt((double)data->terms[t].points.count / sigmas->weights[t]);
    if (!term->is_test && !(*sigma > 0 && isfinite(*sigma) && isfinite(1 / *sigma)))
      return rpinn_fail_at(context, term->weight_place,
                           "the standard deviation of term '%s' is not a positive number; expected weights "
                           "and noise levels whose squares are neither 0 nor infinite",
                           term->name);
  }
  return resolve_prior(context, arena, problem, likelihood == RPINN_LIKELIHOOD_NOISE, sigmas);
}

bool rpinn_sigma_exceeds_noise(const RpinnProblem *problem, const RpinnSigmas *sigmas, size_t t) {
  const RpinnTerm *term = &problem->terms[t];
  bool measured = term->source == RPINN_DATA_TRUTH || term->source == RPINN_DATA_CSV;
  return measured && !term->is_test && term->has_noise && !sigmas->rows[t] &&
         sigmas->terms[t] > term->noise * (1 + 1e-9);
}
