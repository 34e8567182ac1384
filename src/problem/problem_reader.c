#include "problem_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number_text.h"

const char *rpinn_reader_what(char buffer[RPINN_WHAT_SIZE], const char *format, const char *name) {
  rpinn_format(buffer, RPINN_WHAT_SIZE, format, name);
  return buffer;
}

RpinnPlace rpinn_reader_text_place(const RpinnYaml *node) {
  RpinnPlace place = node->place;
  place.column = node->verbatim ? place.column + node->text_column_shift : 0;
  return place;
}

/* A key with a parenthesis is what is left of {f: d(u, x)}, where YAML splits at the comma. */
static RpinnStatus refuse_pieces(RpinnReader *reader, const RpinnYaml *mapping, const char *what) {
  for (size_t i = 0; i < mapping->count; i++)
    if (strpbrk(mapping->keys[i]->text, "()"))
      return rpinn_fail_at(reader->context, mapping->keys[i]->place,
                           "'%s' in %s looks like a piece of an expression; expected quotes around an "
                           "expression with commas inside braces",
                           mapping->keys[i]->text, what);
  return RPINN_OK;
}

RpinnStatus rpinn_reader_mapping(RpinnReader *reader, const RpinnYaml *node, const char *what) {
  if (node->kind == RPINN_YAML_MAPPING) return refuse_pieces(reader, node, what);
  bool empty = node->kind == RPINN_YAML_SCALAR && !node->text[0];
  return rpinn_fail_at(reader->context, node->place, "%s is %s; expected a mapping such as {key: value}",
                       what, empty ? "empty" : rpinn_yaml_kind_name(node->kind));
}

RpinnStatus rpinn_reader_text(RpinnReader *reader, const RpinnYaml *node, const char *what,
                              const char **text) {
  if (node->kind != RPINN_YAML_SCALAR)
    return rpinn_fail_at(reader->context, node->place, "%s is %s; expected a single value", what,
                         rpinn_yaml_kind_name(node->kind));
  if (!node->text[0])
    return rpinn_fail_at(reader->context, node->place, "%s is empty; expected a value", what);
  *text = node->text;
  return RPINN_OK;
}

RpinnStatus rpinn_reader_fail_unknown(RpinnReader *reader, RpinnPlace place, const char *kind,
                                      const char *name, const char *const *known, size_t num_known) {
  enum { MAX_LISTED = 40 }; /* a longer list would push the suggestion out of the message */
  RpinnText list = {0};
  for (size_t i = 0; i < num_known && i < MAX_LISTED; i++)
    rpinn_text_append(&list, "%s%s", i ? ", " : "", known[i]);
  if (num_known > MAX_LISTED) rpinn_text_append(&list, ", …");
  const char *near = rpinn_nearest_name(name, known, num_known);
  RpinnStatus status = rpinn_fail_at(reader->context, place, "unknown %s '%s'; expected %s%s%s%s%s", kind,
                                     name, num_known > 1 ? "one of " : "",
                                     list.bytes ? list.bytes : "none: there are none in this problem",
                                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  rpinn_text_free(&list);
  return status;
}

RpinnStatus rpinn_reader_keys(RpinnReader *reader, const RpinnYaml *mapping, const char *what,
                              const char *const *allowed, size_t num_allowed) {
  RPINN_TRY(rpinn_reader_mapping(reader, mapping, what));
  for (size_t i = 0; i < mapping->count; i++) {
    const char *key = mapping->keys[i]->text;
    bool known = false;
    for (size_t k = 0; k < num_allowed; k++) known |= !strcmp(key, allowed[k]);
    if (known) continue;
    RpinnText kind = {0};
    rpinn_text_append(&kind, "key in %s:", what);
    RpinnStatus status = rpinn_reader_fail_unknown(
        reader, mapping->keys[i]->place, kind.bytes ? kind.bytes : "key", key, allowed, num_allowed);
    rpinn_text_free(&kind);
    return status;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_reader_required(RpinnReader *reader, const RpinnYaml *mapping, const char *what,
                                  const char *key, const RpinnYaml **value) {
  *value = rpinn_yaml_get(mapping, key);
  if (*value) return RPINN_OK;
  return rpinn_fail_at(reader->context, mapping->place, "%s has no '%s'; expected this key", what, key);
}

RpinnStatus rpinn_reader_number(RpinnReader *reader, const RpinnYaml *node, const char *what, double *value) {
  const char *text;
  RpinnExpression expression;
  RPINN_TRY(rpinn_reader_text(reader, node, what, &text));
  RPINN_TRY(rpinn_problem_expression(reader->context, reader->problem, RPINN_NAMES_CONSTANTS, text,
                                     rpinn_reader_text_place(node), &expression));
  if (rpinn_expression_is_number(reader->problem->pool, expression, value)) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s is '%s'; expected a finite number", what, text);
}

RpinnStatus rpinn_reader_count(RpinnReader *reader, const RpinnYaml *node, const char *what, size_t low,
                               size_t high, size_t *value) {
  double number;
  RPINN_TRY(rpinn_reader_number(reader, node, what, &number));
  if (number != floor(number) || number < (double)low || number > (double)high)
    return rpinn_fail_at(reader->context, node->place, "%s is %.10g; expected a whole number from %zu to %zu",
                         what, number, low, high);
  *value = (size_t)number;
  return RPINN_OK;
}

RpinnStatus rpinn_reader_boolean(RpinnReader *reader, const RpinnYaml *node, const char *what, bool *value) {
  const char *text;
  RPINN_TRY(rpinn_reader_text(reader, node, what, &text));
  *value = !strcmp(text, "true");
  if (*value || !strcmp(text, "false")) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s is '%s'; expected true or false", what, text);
}

RpinnStatus rpinn_reader_choice(RpinnReader *reader, const RpinnYaml *node, const char *what,
                                const char *const *choices, size_t num_choices, size_t *position) {
  const char *text;
  RPINN_TRY(rpinn_reader_text(reader, node, what, &text));
  for (size_t i = 0; i < num_choices; i++)
    if (!strcmp(text, choices[i])) {
      *position = i;
      return RPINN_OK;
    }
  return rpinn_reader_fail_unknown(reader, node->place, what, text, choices, num_choices);
}

RpinnStatus rpinn_reader_interval(RpinnReader *reader, const RpinnYaml *node, const char *what, double *low,
                                  double *high) {
  if (node->kind != RPINN_YAML_SEQUENCE || node->count != 2)
    return rpinn_fail_at(reader->context, node->place, "%s is not a pair; expected [low, high]", what);
  RPINN_TRY(rpinn_reader_number(reader, node->items[0], what, low));
  RPINN_TRY(rpinn_reader_number(reader, node->items[1], what, high));
  if (*low < *high && isfinite(*high - *low)) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s is [%.10g, %.10g]; expected %s", what, *low, *high,
                       *low < *high ? "a width that a double can hold, at most 1.79e308" : "low < high");
}

/* ---- sections ---- */

static bool name_is_taken(const RpinnProblem *problem, const char *name) {
  for (size_t i = 0; i < problem->num_coordinates; i++)
    if (!strcmp(problem->coordinates[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_constants; i++)
    if (!strcmp(problem->constants[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_fields; i++)
    if (!strcmp(problem->fields[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_unknowns; i++)
    if (!strcmp(problem->unknowns[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_quantities; i++)
    if (!strcmp(problem->quantities[i].name, name)) return true;
  return false;
}

RpinnStatus rpinn_reader_new_name(RpinnReader *reader, const RpinnYaml *key, const char *kind) {
  if (!rpinn_name_is_valid(key->text))
    return rpinn_fail_at(
        reader->context, key->place,
        "'%s' is no name for a %s; expected letters, digits and _, not starting with a digit", key->text,
        kind);
  if (rpinn_name_is_reserved(key->text))
    return rpinn_fail_at(reader->context, key->place,
                         "'%s' belongs to the expression language; expected another name for this %s",
                         key->text, kind);
  if (name_is_taken(reader->problem, key->text))
    return rpinn_fail_at(reader->context, key->place,
                         "'%s' is defined twice; expected another name for this %s", key->text, kind);
  return RPINN_OK;
}

RpinnStatus rpinn_reader_size(RpinnReader *reader, const RpinnYaml *node, const char *section, size_t low,
                              size_t high) {
  RPINN_TRY(rpinn_reader_mapping(reader, node, section));
  if (node->count >= low && node->count <= high) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s has %zu entries; expected %zu to %zu", section,
                       node->count, low, high);
}

RpinnStatus rpinn_reader_named(RpinnReader *reader, const RpinnYaml *key, const RpinnYaml *value,
                               RpinnNamedExpression *named) {
  *named = (RpinnNamedExpression){.name = key->text, .place = rpinn_reader_text_place(value)};
  return rpinn_reader_text(reader, value, key->text, &named->text);
}
