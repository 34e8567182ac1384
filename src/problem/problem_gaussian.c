/* Gaussian random fields as they are written: covariance, length, mean and variance, in the truth and as the prior of a
 * term (`gaussian:` in place of `expect`, `data` and `noise`). */
#include <string.h>

#include "covariance.h"
#include "problem_sections.h"

_Static_assert((int)RPINN_LAW_MAX_AXES == (int)RPINN_FIELD_MAX_AXES, "axes of a random field");

/* ---- the law ---- */

/* One length for all coordinates, or a list with one per coordinate. */
static RpinnStatus read_lengths(RpinnReader *reader, const RpinnYaml *node, RpinnFieldLaw *law) {
  size_t num_axes = reader->problem->num_coordinates;
  bool is_list = node->kind == RPINN_YAML_SEQUENCE;
  if (is_list && node->count != num_axes)
    return rpinn_fail_at(
        reader->context, node->place,
        "the field has %zu lengths; expected one number, or a list with one per coordinate (%zu)",
        node->count, num_axes);
  for (size_t i = 0; i < num_axes; i++) {
    const RpinnYaml *length = is_list ? node->items[i] : node;
    RPINN_TRY(rpinn_reader_number(reader, length, "the length", &law->length[i]));
    if (!(law->length[i] > 0))
      return rpinn_fail_at(reader->context, length->place,
                           "the length of the field is %.10g; expected a positive number", law->length[i]);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_section_law(RpinnReader *reader, const RpinnYaml *node, const char *what,
                              RpinnFieldLaw *law) {
  const RpinnYaml *covariance, *length, *mean = rpinn_yaml_get(node, "mean"),
                                        *variance = rpinn_yaml_get(node, "variance");
  law->variance = 1;
  RPINN_TRY(rpinn_reader_required(reader, node, what, "covariance", &covariance));
  RPINN_TRY(rpinn_reader_required(reader, node, what, "length", &length));
  RPINN_TRY(rpinn_reader_choice(reader, covariance, "covariance", rpinn_correlation_names,
                                RPINN_NUM_CORRELATIONS, &law->correlation));
  RPINN_TRY(read_lengths(reader, length, law));
  if (mean) RPINN_TRY(rpinn_reader_number(reader, mean, "the mean", &law->mean));
  if (variance) {
    RPINN_TRY(rpinn_reader_number(reader, variance, "the variance", &law->variance));
    if (!(law->variance > 0))
      return rpinn_fail_at(reader->context, variance->place,
                           "the variance of the field is %.10g; expected a positive number", law->variance);
  }
  return RPINN_OK;
}

/* ---- the prior of a term ---- */

/* What says how data are compared has no meaning where there are none. */
static RpinnStatus refuse_keys_of_data(RpinnReader *reader, const RpinnYaml *node, const char *owner) {
  static const char *const keys[] = {"expect", "data", "noise", "weight", "perturb", "role"};
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
    const RpinnYaml *value = rpinn_yaml_get(node, keys[k]);
    if (value)
      return rpinn_fail_at(
          reader->context, value->place,
          "%s has gaussian: and %s:; expected gaussian: with at: alone, for a prior has no data", owner,
          keys[k]);
  }
  return RPINN_OK;
}

/* Data of fitted terms are in the energy already. */
static RpinnStatus read_given(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                              RpinnGaussianSpec *gaussian) {
  RPINN_TRY(rpinn_reader_text(reader, node, "given", &gaussian->given));
  gaussian->given_place = node->place;
  size_t length = strlen(gaussian->given);
  if (length > 4 && !strcmp(gaussian->given + length - 4, ".csv")) return RPINN_OK;
  for (size_t t = 0; t < reader->problem->num_terms; t++)
    if (!strcmp(reader->problem->terms[t].name, gaussian->given))
      return rpinn_fail_at(reader->context, node->place,
                           "given of %s is term '%s', whose data would count twice; expected a CSV file of "
                           "measurements that no term fits",
                           owner, gaussian->given);
  return rpinn_fail_at(reader->context, node->place,
                       "given of %s is '%s'; expected a file whose name ends in .csv", owner,
                       gaussian->given);
}

RpinnStatus rpinn_section_gaussian(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                   RpinnTerm *term) {
  static const char *const keys[] = {"field", "covariance", "length", "mean", "variance", "given"};
  RpinnProblem *problem = reader->problem;
  const RpinnYaml *gaussian = rpinn_yaml_get(node, "gaussian"), *field, *given, *at;
  char what[RPINN_WHAT_SIZE];
  rpinn_reader_what(what, "gaussian of term '%s'", term->name);
  RPINN_TRY(refuse_keys_of_data(reader, node, owner));
  RPINN_TRY(rpinn_reader_keys(reader, gaussian, what, keys, sizeof keys / sizeof keys[0]));
  if (problem->num_coordinates > RPINN_LAW_MAX_AXES)
    return rpinn_fail_at(reader->context, gaussian->place, "%s in %zu coordinates; expected it in one or two",
                         what, problem->num_coordinates);
  term->source = RPINN_DATA_GAUSSIAN;
  RPINN_TRY(rpinn_reader_required(reader, gaussian, what, "field", &field));
  term->expect = (RpinnNamedExpression){.name = term->name, .place = rpinn_reader_text_place(field)};
  RPINN_TRY(rpinn_reader_text(reader, field, "field", &term->expect.text));
  RPINN_TRY(rpinn_section_law(reader, gaussian, what, &term->gaussian.law));
  if ((given = rpinn_yaml_get(gaussian, "given")))
    RPINN_TRY(read_given(reader, given, owner, &term->gaussian));
  RPINN_TRY(rpinn_reader_required(reader, node, owner, "at", &at));
  return rpinn_reader_points(reader, at, "at", NULL, 0, &term->at);
}
