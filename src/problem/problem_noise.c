/* The noise of a term: a number, an expression of the coordinates where it differs by row, or unknown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "problem_sections.h"

/* ---- noise that is unknown ---- */

static RpinnStatus read_positive(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                 double *value) {
  RPINN_TRY(rpinn_reader_number(reader, node, what, value));
  if (*value > 0 && isfinite(1 / *value)) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s is %.10g; expected a standard deviation above 0",
                       what, *value);
}

/* prior: {mean, std}, of log s. */
static RpinnStatus read_noise_prior(RpinnReader *reader, const RpinnYaml *node, RpinnUnknownNoise *unknown) {
  static const char *const keys[] = {"mean", "std"};
  const RpinnYaml *mean, *std;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_mapping(reader, node, "prior of the noise"));
  RPINN_TRY(rpinn_reader_keys(reader, node, "prior of the noise", keys, 2));
  RPINN_TRY(rpinn_reader_required(reader, node, "prior of the noise", "mean", &mean));
  RPINN_TRY(rpinn_reader_required(reader, node, "prior of the noise", "std", &std));
  RPINN_TRY(rpinn_reader_number(reader, mean, "the prior mean of log noise", &unknown->prior_mean));
  RPINN_TRY(read_positive(reader, std, "the prior deviation of log noise", &unknown->prior_std));
  unknown->has_prior = true;
  return RPINN_OK;
}

static RpinnStatus read_unknown(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                RpinnTerm *term) {
  static const char *const keys[] = {"unknown", "start", "prior", "truth"};
  RpinnUnknownNoise *unknown = &term->unknown_noise;
  const RpinnYaml *flag, *start = rpinn_yaml_get(node, "start"), *truth = rpinn_yaml_get(node, "truth");
  char what[RPINN_WHAT_SIZE];
  snprintf(what, sizeof what, "noise of %.150s", owner);
  RPINN_TRY(rpinn_reader_keys(reader, node, what, keys, sizeof keys / sizeof keys[0]));
  RPINN_TRY(rpinn_reader_required(reader, node, what, "unknown", &flag));
  RPINN_TRY(rpinn_reader_boolean(reader, flag, "unknown", &unknown->present));
  if (!unknown->present)
    return rpinn_fail_at(reader->context, flag->place,
                         "unknown: false for the %s; expected true, or a number in place of the braces",
                         what);
  if (start) RPINN_TRY(read_positive(reader, start, "the start of the noise", &unknown->start));
  if (truth) RPINN_TRY(read_positive(reader, truth, "the truth of the noise", &unknown->truth));
  RPINN_TRY(read_noise_prior(reader, rpinn_yaml_get(node, "prior"), unknown));
  if (term->is_test)
    return rpinn_fail_at(reader->context, node->place,
                         "the %s is unknown, but the term is held out; expected a term that is fitted", what);
  unknown->place = node->place;
  bool is_made = term->source != RPINN_DATA_CSV && !reader->problem->data_file;
  if (is_made && !truth) unknown->truth = unknown->start;
  return RPINN_OK;
}

/* Results call it noise_<term>. */
static RpinnStatus check_name(RpinnReader *reader, const RpinnTerm *term) {
  const RpinnProblem *problem = reader->problem;
  for (size_t k = 0; k < problem->num_unknowns; k++)
    if (!strncmp(problem->unknowns[k].name, "noise_", 6) &&
        !strcmp(problem->unknowns[k].name + 6, term->name))
      return rpinn_fail_at(
          reader->context, term->unknown_noise.place,
          "the unknown noise of term '%s' is called noise_%s in results, and so is an unknown; "
          "expected another name for one of them",
          term->name, term->name);
  return RPINN_OK;
}

/* Data that are made need a size of their noise; and what is no measurement has none to learn. */
RpinnStatus rpinn_section_check_unknown_noise(RpinnReader *reader, const char *owner, const RpinnTerm *term) {
  const RpinnUnknownNoise *unknown = &term->unknown_noise;
  if (!unknown->present) return RPINN_OK;
  RPINN_TRY(check_name(reader, term));
  if (reader->problem->data_file || term->source == RPINN_DATA_CSV) return RPINN_OK;
  if (!term->perturb)
    return rpinn_fail_at(reader->context, unknown->place,
                         "the noise of %s is unknown, but its data are exact; expected measured data, or "
                         "perturb: true",
                         owner);
  if (!(unknown->truth > 0))
    return rpinn_fail_at(reader->context, unknown->place,
                         "the noise of %s is unknown and its data are made: how much noise have they? "
                         "expected truth: beside unknown:, or start:",
                         owner);
  return RPINN_OK;
}

/* ---- noise that is known ---- */

static RpinnStatus read_known(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                              RpinnTerm *term) {
  RpinnProblem *problem = reader->problem;
  RpinnNamedExpression noise = {.name = term->name, .place = rpinn_reader_text_place(node)};
  RPINN_TRY(rpinn_reader_text(reader, node, "the noise", &noise.text));
  RPINN_TRY(rpinn_problem_expression(reader->context, problem,
                                     RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES, noise.text, noise.place,
                                     &noise.expression));
  noise.state = RPINN_RESOLVED;
  term->has_noise = rpinn_expression_is_number(problem->pool, noise.expression, &term->noise);
  if (!term->has_noise) term->row_noise = noise; /* where it is not above 0 is known with the points */
  if (term->noise < 0)
    return rpinn_fail_at(reader->context, node->place,
                         "the noise of %s is %.10g; expected a standard deviation of 0 or more", owner,
                         term->noise);
  return RPINN_OK;
}

RpinnStatus rpinn_section_noise(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                RpinnTerm *term) {
  return node->kind == RPINN_YAML_MAPPING ? read_unknown(reader, node, owner, term)
                                          : read_known(reader, node, owner, term);
}
