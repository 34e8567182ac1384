/* What can be searched: the axes of a grid. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study_words.h"
#include "weights_state.h"

struct RpinnAxisKind {
  const char *name;
  bool takes_term; /* NAME:TERM is one of it */
  bool is_word;    /* values are shapes of priors */
  bool may_be_zero;
  /* Why a problem does not have it; NULL: it does. term: num_terms for all. */
  const char *(*why_not)(const RpinnWeightSearch *search, size_t term);
  void (*set)(const RpinnWeightSearch *search, size_t term, double value, RpinnWeightValues *values);
  /* Where a candidate lies; NaN: beside it. */
  double (*get)(const RpinnWeightSearch *search, size_t term, const RpinnWeightCandidate *candidate);
  /* Where nobody says which; of two axes each has fewer. */
  void (*propose)(const RpinnWeightSearch *search, RpinnSearchAxis *axis, bool few);
};

static bool is_of(size_t term, size_t t, size_t num_terms) {
  return term == t || term == num_terms;
}

/* ---- weights ---- */

static const char *refuse_weight(const RpinnWeightSearch *search, size_t term) {
  if (search->likelihood != RPINN_LIKELIHOOD_PAPER)
    return "a term has a weight under likelihood paper alone: elsewhere it is 1/noise^2, and the noise is "
           "stated; expected prior, shape or noise";
  if (term < search->num_terms && !search->is_weighted[term])
    return "the term is held out, or a gaussian prior: it has no weight";
  return NULL;
}

static void set_weight(const RpinnWeightSearch *search, size_t term, double value,
                       RpinnWeightValues *values) {
  for (size_t t = 0; t < search->num_terms; t++) {
    if (!is_of(term, t, search->num_terms) || !search->is_weighted[t]) continue;
    values->weights[t] = term < search->num_terms ? value : value * values->weights[t];
  }
}

/* Of all terms: the factor that all weights have in common. */
static double get_weight(const RpinnWeightSearch *search, size_t term,
                         const RpinnWeightCandidate *candidate) {
  const double *given = search->candidates[search->num_grid].values.weights,
               *weights = candidate->values.weights;
  if (term < search->num_terms) return weights[term];
  double factor = (double)NAN;
  for (size_t t = 0; t < search->num_terms; t++) {
    if (!search->is_weighted[t]) continue;
    double ratio = weights[t] / given[t];
    if (isnan(factor)) factor = ratio;
    if (fabs(ratio / factor - 1) > 1e-9) return (double)NAN;
  }
  return factor;
}

/* Powers of ten about the middle. */
static void propose_decades(RpinnSearchAxis *axis, double middle, bool few) {
  int reach = few ? 2 : 3;
  for (int power = -reach; power <= reach; power++)
    axis->values[axis->count++] = power ? middle * pow(10, power) : middle;
}

static void propose_weights(const RpinnWeightSearch *search, RpinnSearchAxis *axis, bool few) {
  const RpinnSigmas *sigmas = &search->base->posteriors[0]->sigmas;
  propose_decades(axis, axis->term < search->num_terms ? sigmas->weights[axis->term] : 1, few);
}

/* ---- the prior ---- */

static const char *refuse_prior(const RpinnWeightSearch *search, size_t term) {
  const RpinnSigmas *sigmas = &search->base->posteriors[0]->sigmas;
  (void)term;
  bool all = true;
  for (size_t f = 0; f < search->base->problem->num_fields; f++) all = all && sigmas->fields[f].has_own_scale;
  return all ? "every field has a scale of its own" : NULL;
}

static void set_prior(const RpinnWeightSearch *search, size_t term, double value, RpinnWeightValues *values) {
  (void)search, (void)term;
  values->prior = value;
}

static double get_prior(const RpinnWeightSearch *search, size_t term, const RpinnWeightCandidate *candidate) {
  (void)search, (void)term;
  return candidate->prior;
}

/* Under stated noise those of the ladders of a run, for both shapes; else about what the likelihood gives. */
static void propose_priors(const RpinnWeightSearch *search, RpinnSearchAxis *axis, bool few) {
  static const double ladder[] = {0.3, 0.5, 0.8, 1.2, 2, 3, 4.5};
  (void)few;
  double given = search->base->posteriors[0]->sigmas.prior;
  for (int k = 0; k < 7; k++)
    axis->values[axis->count++] =
        search->likelihood == RPINN_LIKELIHOOD_NOISE ? ladder[k] : given * pow(10, (k - 3) / 3.0);
}

static const char *refuse_shape(const RpinnWeightSearch *search, size_t term) {
  (void)term;
  return search->likelihood == RPINN_LIKELIHOOD_NOISE ? NULL : "shapes of priors belong to likelihood noise";
}

static void set_shape(const RpinnWeightSearch *search, size_t term, double value, RpinnWeightValues *values) {
  (void)search, (void)term;
  values->shape = value;
}

static double get_shape(const RpinnWeightSearch *search, size_t term, const RpinnWeightCandidate *candidate) {
  (void)search, (void)term;
  return candidate->values.shape;
}

static void propose_shapes(const RpinnWeightSearch *search, RpinnSearchAxis *axis, bool few) {
  (void)search, (void)few;
  axis->values[axis->count++] = RPINN_PRIOR_IID;
  axis->values[axis->count++] = RPINN_PRIOR_FAN_IN;
}

/* ---- epsilon ---- */

static const char *refuse_epsilon(const RpinnWeightSearch *search, size_t term) {
  (void)term;
  return search->likelihood == RPINN_LIKELIHOOD_PAPER ? NULL : "epsilon belongs to likelihood paper";
}

static void set_epsilon(const RpinnWeightSearch *search, size_t term, double value,
                        RpinnWeightValues *values) {
  (void)search, (void)term;
  values->epsilon = value;
}

static double get_epsilon(const RpinnWeightSearch *search, size_t term,
                          const RpinnWeightCandidate *candidate) {
  (void)search, (void)term;
  return candidate->values.epsilon;
}

/* In units of the noise of the reference term. */
static void propose_epsilons(const RpinnWeightSearch *search, RpinnSearchAxis *axis, bool few) {
  static const double shares[] = {0, 0.1, 0.3, 1, 3, 10};
  const RpinnProblem *problem = search->base->problem;
  (void)few;
  for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++)
    axis->values[axis->count++] = shares[k] * problem->terms[problem->reference_term].noise;
}

/* ---- noise ---- */

static bool has_free_noise(const RpinnWeightSearch *search, size_t t) {
  const RpinnTerm *term = &search->base->problem->terms[t];
  const RpinnTermData *data = &search->base->posteriors[0]->data->terms[t];
  bool is_made = !data->from_file && term->perturb;
  return !term->is_test && term->source != RPINN_DATA_GAUSSIAN && term->has_noise && !data->noise &&
         !term->unknown_noise.present && !is_made;
}

static const char *refuse_noise(const RpinnWeightSearch *search, size_t term) {
  bool any = false;
  if (search->likelihood != RPINN_LIKELIHOOD_NOISE)
    return "factors of the noise belong to likelihood noise; expected weight, prior or epsilon";
  for (size_t t = 0; t < search->num_terms; t++)
    any |= is_of(term, t, search->num_terms) && has_free_noise(search, t);
  return any ? NULL
             : "the data are made with the noise that is stated, or it is not one number for all rows, or "
               "not "
               "known";
}

static void set_noise(const RpinnWeightSearch *search, size_t term, double value, RpinnWeightValues *values) {
  for (size_t t = 0; t < search->num_terms; t++)
    if (is_of(term, t, search->num_terms) && has_free_noise(search, t)) values->noise[t] = value;
}

static double get_noise(const RpinnWeightSearch *search, size_t term, const RpinnWeightCandidate *candidate) {
  for (size_t t = 0; t < search->num_terms; t++)
    if (is_of(term, t, search->num_terms) && has_free_noise(search, t)) return candidate->values.noise[t];
  return (double)NAN;
}

static void propose_noise(const RpinnWeightSearch *search, RpinnSearchAxis *axis, bool few) {
  static const double factors[] = {0.1, 0.3, 1, 3, 10};
  (void)search, (void)few;
  for (size_t k = 0; k < sizeof factors / sizeof factors[0]; k++) axis->values[axis->count++] = factors[k];
}

enum { KIND_WEIGHT, KIND_PRIOR, KIND_SHAPE, KIND_EPSILON, KIND_NOISE, NUM_KINDS };
static const RpinnAxisKind kinds[NUM_KINDS] = {
    [KIND_WEIGHT] = {"weight", true, false, false, refuse_weight, set_weight, get_weight, propose_weights},
    [KIND_PRIOR] = {"prior", false, false, false, refuse_prior, set_prior, get_prior, propose_priors},
    [KIND_SHAPE] = {"shape", false, true, true, refuse_shape, set_shape, get_shape, propose_shapes},
    [KIND_EPSILON] = {"epsilon", false, false, true, refuse_epsilon, set_epsilon, get_epsilon,
                      propose_epsilons},
    [KIND_NOISE] = {"noise", true, false, false, refuse_noise, set_noise, get_noise, propose_noise}};

bool rpinn_weights_search_epsilon(const RpinnWeightSearch *search) {
  for (size_t a = 0; a < search->num_axes; a++)
    if (search->axes[a].kind == &kinds[KIND_EPSILON]) return true;
  return false;
}

void rpinn_axis_set(const RpinnWeightSearch *search, const RpinnSearchAxis *axis, double value,
                    RpinnWeightValues *values) {
  axis->kind->set(search, axis->term, value, values);
}

double rpinn_axis_get(const RpinnWeightSearch *search, const RpinnSearchAxis *axis,
                      const RpinnWeightCandidate *candidate) {
  return axis->kind->get(search, axis->term, candidate);
}

bool rpinn_axis_is_logarithmic(const RpinnSearchAxis *axis) {
  return !axis->kind->may_be_zero;
}

void rpinn_axis_write_value(const RpinnSearchAxis *axis, double value, RpinnText *text) {
  if (axis->kind->is_word)
    rpinn_text_append(text, "%s", rpinn_prior_shape_names[(size_t)value]);
  else
    rpinn_text_append(text, "%.6g", value);
}

/* ---- axes as they are written ---- */

static RpinnStatus refuse_value(RpinnContext *context, const RpinnSearchAxis *axis, const char *text,
                                size_t length) {
  return rpinn_fail_at(context, (RpinnPlace){.file = "--search"},
                       "%s is given '%.*s'; expected numbers %s, with commas between them, or LOW:HIGH:COUNT",
                       axis->name, (int)(length < 60 ? length : 60), text,
                       axis->kind->may_be_zero ? "of at least 0" : "above 0");
}

/* A number that the axis can have. */
static bool read_number(const RpinnSearchAxis *axis, const char *text, size_t length, double *value) {
  char copy[64];
  if (!length || length >= sizeof copy) return false;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return rpinn_number_parse(copy, value) && isfinite(*value) &&
         (*value > 0 || (axis->kind->may_be_zero && *value == 0));
}

static RpinnStatus read_shape(RpinnContext *context, const char *text, size_t length, double *value) {
  char copy[64];
  size_t place;
  snprintf(copy, sizeof copy, "%.*s", (int)(length < 60 ? length : 60), text);
  RPINN_TRY(rpinn_study_read_choice(context, "--search shape", copy, rpinn_prior_shape_names, 2, &place));
  *value = (double)place;
  return RPINN_OK;
}

/* LOW:HIGH:COUNT */
static RpinnStatus read_range(RpinnContext *context, const char *text, RpinnSearchAxis *axis) {
  size_t first = strcspn(text, ":"), second = strcspn(text + first + 1, ":");
  const char *last = text + first + 1 + second;
  double low, high, count;
  bool good = *last == ':' && read_number(axis, text, first, &low) &&
              read_number(axis, text + first + 1, second, &high) && rpinn_number_parse(last + 1, &count) &&
              low > 0 && high > low && count == floor(count) && count >= 2 && count <= RPINN_MAX_AXIS_VALUES;
  if (!good)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--search"},
        "%s is given '%.60s'; expected LOW:HIGH:COUNT with 0 < LOW < HIGH and 2 to %d values", axis->name,
        text, RPINN_MAX_AXIS_VALUES);
  for (size_t k = 0; k < (size_t)count; k++)
    axis->values[axis->count++] = low * pow(high / low, (double)k / (count - 1));
  axis->values[axis->count - 1] = high;
  return RPINN_OK;
}

static RpinnStatus read_values(RpinnContext *context, const char *text, RpinnSearchAxis *axis) {
  if (!axis->kind->is_word && strchr(text, ':')) return read_range(context, text, axis);
  for (const char *at = text; at;) {
    size_t length = strcspn(at, ",");
    double value;
    if (axis->count == RPINN_MAX_AXIS_VALUES)
      return rpinn_fail_at(context, (RpinnPlace){.file = "--search"}, "%s has more than %d values",
                           axis->name, RPINN_MAX_AXIS_VALUES);
    if (axis->kind->is_word)
      RPINN_TRY(read_shape(context, at, length, &value));
    else if (!read_number(axis, at, length, &value))
      return refuse_value(context, axis, at, length);
    for (size_t k = 0; k < axis->count; k++)
      if (axis->values[k] == value)
        return rpinn_fail_at(context, (RpinnPlace){.file = "--search"},
                             "%s has '%.*s' twice; expected every value once", axis->name,
                             (int)(length < 60 ? length : 60), at);
    axis->values[axis->count++] = value;
    at = at[length] ? at + length + 1 : NULL;
  }
  return RPINN_OK;
}

static RpinnStatus read_term(RpinnContext *context, const RpinnWeightSearch *search, RpinnSearchAxis *axis,
                             const char *colon) {
  axis->term = search->num_terms;
  if (!colon) return RPINN_OK;
  if (!axis->kind->takes_term)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--search"}, "found '%s'; expected %s without a term",
                         axis->name, axis->kind->name);
  return rpinn_study_read_choice(context, "--search", colon + 1, search->term_names, search->num_terms,
                                 &axis->term);
}

/* The kind that a text begins with, up to a colon or an equals sign. */
static RpinnStatus find_kind(RpinnContext *context, const char *text, const RpinnAxisKind **kind) {
  const char *names[NUM_KINDS];
  char word[64];
  size_t place, length = strcspn(text, ":=");
  for (size_t k = 0; k < NUM_KINDS; k++) names[k] = kinds[k].name;
  snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), text);
  RPINN_TRY(rpinn_study_read_choice(context, "--search", word, names, NUM_KINDS, &place));
  *kind = &kinds[place];
  return RPINN_OK;
}

/* Which kind, and of which term. */
static RpinnStatus read_name(RpinnContext *context, const RpinnWeightSearch *search, const char *text,
                             size_t length, RpinnSearchAxis *axis) {
  snprintf(axis->name, sizeof axis->name, "%.*s", (int)(length < 300 ? length : 300), text);
  RPINN_TRY(find_kind(context, text, &axis->kind));
  RPINN_TRY(read_term(context, search, axis, strchr(axis->name, ':')));
  const char *why = axis->kind->why_not(search, axis->term);
  if (!why) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--search"}, "'%s' is not for this problem: %s",
                       axis->name, why);
}

static RpinnStatus read_axis(RpinnContext *context, RpinnWeightSearch *search, const char *text, bool few) {
  const char *equals = strchr(text, '=');
  RpinnSearchAxis *axis = &search->axes[search->num_axes];
  *axis = (RpinnSearchAxis){0};
  RPINN_TRY(read_name(context, search, text, equals ? (size_t)(equals - text) : strlen(text), axis));
  for (size_t a = 0; a < search->num_axes; a++)
    if (search->axes[a].kind == axis->kind &&
        (search->axes[a].term == axis->term || search->axes[a].term == search->num_terms ||
         axis->term == search->num_terms))
      return rpinn_fail_at(context, (RpinnPlace){.file = "--search"},
                           "'%s' and '%s' move the same values; expected two that do not",
                           search->axes[a].name, axis->name);
  if (equals)
    RPINN_TRY(read_values(context, equals + 1, axis));
  else
    axis->kind->propose(search, axis, few);
  search->num_axes++;
  return RPINN_OK;
}

/* What the likelihood leaves open: weights of two terms, or of all together; else prior and shape. */
static RpinnStatus propose_axes(RpinnContext *context, RpinnWeightSearch *search) {
  const RpinnProblem *problem = search->base->problem;
  char names[2][320];
  if (search->likelihood == RPINN_LIKELIHOOD_PAPER && search->num_weighted == 2) {
    size_t R = problem->reference_term, other = 0;
    while (other == R || !search->is_weighted[other]) other++;
    snprintf(names[0], sizeof names[0], "weight:%.300s", search->term_names[R]);
    snprintf(names[1], sizeof names[1], "weight:%.300s", search->term_names[other]);
    RPINN_TRY(read_axis(context, search, names[0], true));
    return read_axis(context, search, names[1], true);
  }
  if (search->likelihood == RPINN_LIKELIHOOD_PAPER) return read_axis(context, search, "weight", false);
  RPINN_TRY(read_axis(context, search, "prior", true));
  return search->likelihood == RPINN_LIKELIHOOD_NOISE ? read_axis(context, search, "shape", true) : RPINN_OK;
}

RpinnStatus rpinn_weights_check_axes(RpinnContext *context, const RpinnWeightSearch *search) {
  const RpinnWeightOptions *options = search->options;
  const RpinnAxisKind *ignored;
  if (options->num_searches > RPINN_MAX_SEARCH_AXES)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--search"}, "is given %zu times; expected at most %d",
                         options->num_searches, RPINN_MAX_SEARCH_AXES);
  for (size_t a = 0; a < options->num_searches; a++)
    RPINN_TRY(find_kind(context, options->searches[a], &ignored));
  return RPINN_OK;
}

RpinnStatus rpinn_weights_read_axes(RpinnContext *context, RpinnWeightSearch *search) {
  const RpinnWeightOptions *options = search->options;
  for (size_t a = 0; a < options->num_searches; a++)
    RPINN_TRY(read_axis(context, search, options->searches[a], options->num_searches > 1));
  return options->num_searches ? RPINN_OK : propose_axes(context, search);
}

/* ---- to paste ---- */

static void write_pair(RpinnText *yaml, const char *before, const char *key, double value) {
  char number[RPINN_NUMBER_TEXT];
  rpinn_number_format(value, number);
  rpinn_text_append(yaml, "%s%s: %s", before, key, number);
}

/* terms: of those whose weight means something, or whose noise was multiplied. */
static void write_terms(const RpinnWeightSearch *search, const RpinnWeightValues *values, RpinnText *yaml) {
  bool any = false;
  for (size_t t = 0; t < search->num_terms; t++) {
    bool has_weight = !isnan(values->weights[t]), has_noise = values->noise[t] != 1;
    if (!has_weight && !has_noise) continue;
    rpinn_text_append(yaml, "%s  %s: {", any ? "" : "terms:\n", search->term_names[t]);
    if (has_weight) write_pair(yaml, "", "weight", values->weights[t]);
    if (has_noise)
      write_pair(yaml, has_weight ? ", " : "", "noise",
                 values->noise[t] * search->base->problem->terms[t].noise);
    rpinn_text_append(yaml, "}\n");
    any = true;
  }
}

void rpinn_weights_write_values(const RpinnWeightSearch *search, const RpinnWeightValues *values,
                                RpinnText *yaml) {
  bool by_noise = search->likelihood == RPINN_LIKELIHOOD_NOISE;
  write_terms(search, values, yaml);
  if (!isnan(values->epsilon)) {
    write_pair(yaml, "prior: {", "epsilon", values->epsilon);
    rpinn_text_append(yaml, "}\n");
  }
  if (isnan(values->prior)) return;
  write_pair(yaml, by_noise ? "prior: {" : "settings: {", by_noise ? "scale" : "prior_scale", values->prior);
  if (!isnan(values->shape))
    rpinn_text_append(yaml, ", shape: %s", rpinn_prior_shape_names[(size_t)values->shape]);
  rpinn_text_append(yaml, "}\n");
}
