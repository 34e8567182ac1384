/* The prior on network parameters: for all fields, and where a field has its own. */
#include <math.h>
#include <string.h>

#include "problem_sections.h"

#define WORD(enumerator, word) word,
const char *const rpinn_prior_shape_names[2] = {RPINN_PRIOR_SHAPE_LIST(WORD)};
const char *const rpinn_scale_rule_names[2] = {RPINN_SCALE_RULE_LIST(WORD)};
#undef WORD

/* ---- shape and scale ---- */

static RpinnStatus read_scale(RpinnReader *reader, const RpinnYaml *node, const char *what,
                              RpinnPriorSpec *prior) {
  prior->has_scale = true;
  prior->rule = RPINN_SCALE_GIVEN;
  if (node->kind == RPINN_YAML_SCALAR)
    for (size_t k = 0; k < RPINN_SCALE_GIVEN; k++)
      if (!strcmp(node->text, rpinn_scale_rule_names[k])) prior->rule = (RpinnScaleRule)k;
  if (prior->rule != RPINN_SCALE_GIVEN) return RPINN_OK;
  if (node->kind == RPINN_YAML_SCALAR && !strcmp(node->text, "inf")) {
    prior->scale = (double)INFINITY;
    return RPINN_OK;
  }
  RPINN_TRY(rpinn_reader_number(reader, node, what, &prior->scale));
  if (prior->scale > 0) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place,
                       "%s is %.10g; expected a positive number, inf, evidence or loo", what, prior->scale);
}

static RpinnStatus read_factor(RpinnReader *reader, const RpinnYaml *node, const char *what,
                               RpinnPriorSpec *prior) {
  char buffer[RPINN_WHAT_SIZE];
  RPINN_TRY(
      rpinn_reader_number(reader, node, rpinn_reader_what(buffer, "the factor of %s", what), &prior->factor));
  prior->has_factor = true;
  prior->place = node->place;
  if (prior->factor > 0) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "the factor of %s is %.10g; expected a positive number",
                       what, prior->factor);
}

RpinnStatus rpinn_section_prior_spec(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                     RpinnPriorSpec *prior) {
  const RpinnYaml *shape = rpinn_yaml_get(node, "shape"), *scale = rpinn_yaml_get(node, "scale"),
                  *factor = rpinn_yaml_get(node, "factor");
  char buffer[RPINN_WHAT_SIZE];
  if (shape) {
    size_t position;
    RPINN_TRY(rpinn_reader_choice(reader, shape, "shape of a prior", rpinn_prior_shape_names, 2, &position));
    prior->shape = (RpinnPriorShape)position;
    prior->has_shape = true;
  }
  if (factor) RPINN_TRY(read_factor(reader, factor, what, prior));
  if (!scale) return RPINN_OK;
  prior->place = scale->place;
  RPINN_TRY(read_scale(reader, scale, rpinn_reader_what(buffer, "the scale of %s", what), prior));
  if (!factor || prior->rule != RPINN_SCALE_GIVEN) return RPINN_OK;
  return rpinn_fail_at(reader->context, factor->place,
                       "%s has a factor and a scale that is a number; expected one of them", what);
}

/* ---- the section ---- */

static RpinnStatus read_reference(RpinnReader *reader, const RpinnYaml *reference) {
  RpinnProblem *problem = reader->problem;
  const char **names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_terms);
  if (!names) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_terms; i++) names[i] = problem->terms[i].name;
  RPINN_TRY(
      rpinn_reader_choice(reader, reference, "term", names, problem->num_terms, &problem->reference_term));
  if (problem->terms[problem->reference_term].is_test)
    return rpinn_fail_at(reader->context, reference->place,
                         "reference_term '%s' has role: test; expected a fitted term",
                         names[problem->reference_term]);
  if (problem->terms[problem->reference_term].source == RPINN_DATA_GAUSSIAN)
    return rpinn_fail_at(reader->context, reference->place,
                         "reference_term '%s' is gaussian: it has no noise; expected a term with data",
                         names[problem->reference_term]);
  problem->has_reference_term = true;
  problem->prior_place = reference->place;
  return RPINN_OK;
}

/* What run.yaml says of a scale that was chosen. */
static RpinnStatus read_chosen_by(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  size_t position;
  RPINN_TRY(rpinn_reader_choice(reader, node, "rule", rpinn_scale_rule_names, 2, &position));
  problem->was_chosen = true;
  problem->chosen_by = (RpinnScaleRule)position;
  double scale = problem->settings.values[RPINN_SETTING_PRIOR_SCALE].number;
  if (scale > 0) return RPINN_OK;
  return rpinn_fail_at(
      reader->context, node->place,
      "chosen_by without the scale that was chosen; expected a number in settings: {prior_scale: …}");
}

/* … and of the curve that scales are drawn from: [[scale, log density], …]. */
static RpinnStatus read_curve(RpinnReader *reader, const RpinnYaml *node, RpinnScaleCurve *curve) {
  if (node->kind != RPINN_YAML_SEQUENCE || node->count < 2 || node->count > RPINN_MAX_SCALE_TRIALS)
    return rpinn_fail_at(
        reader->context, node->place,
        "the curve of the prior is no list of 2 to %d pairs; expected [[scale, log density], "
        "…]",
        RPINN_MAX_SCALE_TRIALS);
  for (size_t k = 0; k < node->count; k++) {
    const RpinnYaml *pair = node->items[k];
    if (pair->kind != RPINN_YAML_SEQUENCE || pair->count != 2)
      return rpinn_fail_at(reader->context, pair->place, "expected a pair, [scale, log density]");
    RPINN_TRY(rpinn_reader_number(reader, pair->items[0], "a scale of the curve", &curve->scale[k]));
    RPINN_TRY(
        rpinn_reader_number(reader, pair->items[1], "a log density of the curve", &curve->log_density[k]));
    if (!(curve->scale[k] > (k ? curve->scale[k - 1] : 0)))
      return rpinn_fail_at(reader->context, pair->place,
                           "a scale of the curve is %.10g; expected positive scales that rise",
                           curve->scale[k]);
  }
  curve->count = node->count;
  return RPINN_OK;
}

RpinnStatus rpinn_section_prior(RpinnReader *reader, const RpinnYaml *node) {
  static const char *const keys[] = {"reference_term", "epsilon",   "shape", "scale",
                                     "chosen_by",      "integrate", "curve", "per_field"};
  RpinnProblem *problem = reader->problem;
  const RpinnYaml *value;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_keys(reader, node, "prior", keys, sizeof keys / sizeof keys[0]));
  problem->prior_place = node->place;
  if ((value = rpinn_yaml_get(node, "reference_term"))) RPINN_TRY(read_reference(reader, value));
  if ((value = rpinn_yaml_get(node, "epsilon"))) {
    RPINN_TRY(rpinn_reader_number(reader, value, "epsilon", &problem->prior_epsilon));
    if (problem->prior_epsilon < 0)
      return rpinn_fail_at(reader->context, value->place, "epsilon is %.10g; expected 0 or more",
                           problem->prior_epsilon);
  }
  RPINN_TRY(rpinn_section_prior_spec(reader, node, "the prior", &problem->prior));
  if ((value = rpinn_yaml_get(node, "per_field")))
    RPINN_TRY(rpinn_reader_boolean(reader, value, "per_field", &problem->scales_per_field));
  if ((value = rpinn_yaml_get(node, "integrate")))
    RPINN_TRY(rpinn_reader_boolean(reader, value, "integrate", &problem->integrates_scale));
  if ((value = rpinn_yaml_get(node, "curve"))) RPINN_TRY(read_curve(reader, value, &problem->curve));
  if ((value = rpinn_yaml_get(node, "chosen_by"))) return read_chosen_by(reader, value);
  if (!problem->curve.count) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place,
                       "the prior has a curve, and no chosen_by; expected both, as run.yaml has them");
}
