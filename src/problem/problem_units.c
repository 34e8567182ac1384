/* The section units: what coordinates, fields, quantities and unknowns are measured in. Units are words for labels;
 * nothing is converted. */
#include <stdio.h>
#include <string.h>

#include "problem_sections.h"

static RpinnStatus check_name(RpinnReader *reader, const RpinnYaml *key) {
  const RpinnProblem *problem = reader->problem;
  size_t most =
      problem->num_coordinates + problem->num_fields + problem->num_quantities + problem->num_unknowns;
  const char **known = RPINN_ARENA_NEW(problem->arena, const char *, most);
  size_t count = 0;
  if (!known) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_coordinates; i++) known[count++] = problem->coordinates[i].name;
  for (size_t i = 0; i < problem->num_fields; i++) known[count++] = problem->fields[i].name;
  for (size_t i = 0; i < problem->num_quantities; i++) known[count++] = problem->quantities[i].name;
  for (size_t i = 0; i < problem->num_unknowns; i++) known[count++] = problem->unknowns[i].name;
  for (size_t i = 0; i < count; i++)
    if (!strcmp(known[i], key->text)) return RPINN_OK;
  return rpinn_reader_fail_unknown(reader, key->place, "name in units", key->text, known, count);
}

static RpinnStatus check_unit(RpinnReader *reader, const RpinnYaml *node, const char *what,
                              const char *text) {
  size_t length = strlen(text);
  if (length == 0 || length > RPINN_MAX_UNIT)
    return rpinn_fail_at(reader->context, node->place, "%s has %zu characters; expected 1 to %d", what,
                         length, RPINN_MAX_UNIT);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
      return rpinn_fail_at(reader->context, node->place,
                           "%s has a line break or a control character; expected words such as m or kg/s",
                           what);
  return RPINN_OK;
}

RpinnStatus rpinn_section_units(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  char what[RPINN_WHAT_SIZE];
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_mapping(reader, node, "units"));
  problem->units = RPINN_ARENA_NEW(problem->arena, RpinnUnit, node->count);
  if (!problem->units) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *key = node->keys[i], *value = node->items[i];
    RpinnUnit *unit = &problem->units[problem->num_units++];
    RPINN_TRY(check_name(reader, key));
    rpinn_reader_what(what, "the unit of '%s'", key->text);
    RPINN_TRY(rpinn_reader_text(reader, value, what, &unit->text));
    RPINN_TRY(check_unit(reader, value, what, unit->text));
    unit->name = key->text;
  }
  return RPINN_OK;
}

const char *rpinn_problem_label(const RpinnProblem *problem, const char *name, char label[RPINN_LABEL_SIZE]) {
  snprintf(label, RPINN_LABEL_SIZE, "%.250s", name);
  for (size_t i = 0; i < problem->num_units; i++)
    if (!strcmp(problem->units[i].name, name))
      snprintf(label, RPINN_LABEL_SIZE, "%.250s [%s]", name, problem->units[i].text);
  return label;
}
