/* What a truth draws and solves by itself: `field` and `solve` of the section truth. Both fill the cells that the
 * truth declares, and each makes a column that entries of the truth may use like one of a table. */
#include <string.h>

#include "finite_volume.h"
#include "problem_sections.h"
#include "random_field.h"

_Static_assert((int)RPINN_MADE_NUM_SIDES == (int)RPINN_NUM_FLOW_SIDES, "sides of a made truth");

/* The largest whole number up to which all are doubles. */
#define LARGEST_SEED 9007199254740992u

/* ---- what both have ---- */

static RpinnStatus check_cells(RpinnReader *reader, const RpinnYaml *node, const char *what) {
  const RpinnProblem *problem = reader->problem;
  if (problem->num_coordinates > RPINN_MADE_MAX_AXES)
    return rpinn_fail_at(reader->context, node->place,
                         "%s of the truth in %zu coordinates; expected it in one or two", what,
                         problem->num_coordinates);
  if (!problem->truth.has_cells)
    return rpinn_fail_at(reader->context, node->place,
                         "%s of the truth has no grid; expected cells: [%s] beside it", what,
                         problem->num_coordinates == 1 ? "256" : "256, 128");
  return RPINN_OK;
}

/* The column that it makes: like a column of a table it may have the name of a field or a quantity, and is then
 * its truth. */
static RpinnStatus read_name(RpinnReader *reader, const RpinnYaml *mapping, const char *what,
                             const char **name) {
  const RpinnProblem *problem = reader->problem;
  const RpinnYaml *node;
  RPINN_TRY(rpinn_reader_required(reader, mapping, what, "name", &node));
  RPINN_TRY(rpinn_reader_text(reader, node, "the name", name));
  if (!rpinn_name_is_valid(*name) || rpinn_name_is_reserved(*name))
    return rpinn_fail_at(reader->context, node->place,
                         "'%s' is no name for %s; expected letters, digits and _, not starting with a digit "
                         "and no word of the expression language",
                         *name, what);
  bool taken = problem->truth.field.present && !strcmp(problem->truth.field.name, *name);
  for (size_t i = 0; i < problem->num_coordinates; i++) taken |= !strcmp(problem->coordinates[i].name, *name);
  for (size_t i = 0; i < problem->num_constants; i++) taken |= !strcmp(problem->constants[i].name, *name);
  if (taken)
    return rpinn_fail_at(reader->context, node->place,
                         "'%s' is taken; expected another name for %s, such as that of a field", *name, what);
  return RPINN_OK;
}

/* ---- field ---- */

RpinnStatus rpinn_section_drawn_field(RpinnReader *reader, const RpinnYaml *node) {
  static const char *const keys[] = {"name", "covariance", "length", "mean", "variance", "seed"};
  RpinnProblem *problem = reader->problem;
  RpinnDrawnFieldSpec *field = &problem->truth.field;
  const RpinnYaml *seed;
  RPINN_TRY(rpinn_reader_keys(reader, node, "field of the truth", keys, sizeof keys / sizeof keys[0]));
  RPINN_TRY(check_cells(reader, node, "field"));
  field->place = node->place;
  RPINN_TRY(read_name(reader, node, "field of the truth", &field->name));
  RPINN_TRY(rpinn_section_law(reader, node, "field of the truth", &field->law));
  if ((seed = rpinn_yaml_get(node, "seed"))) {
    size_t number;
    RPINN_TRY(rpinn_reader_count(reader, seed, "the seed of the field", 0, LARGEST_SEED, &number));
    field->seed = number;
    field->has_seed = true;
  }
  for (size_t i = 0; i < problem->num_coordinates; i++)
    if (problem->truth.cells[i] > RPINN_FIELD_MAX_PLACES)
      return rpinn_fail_at(reader->context, node->place,
                           "the truth has %zu cells along %s; expected at most %d for a field",
                           problem->truth.cells[i], problem->coordinates[i].name, RPINN_FIELD_MAX_PLACES);
  field->present = true;
  return RPINN_OK;
}

/* ---- solve ---- */

/* {head: value} or {flux: value} */
static RpinnStatus read_side(RpinnReader *reader, const RpinnYaml *node, size_t side) {
  static const char *const keys[] = {"head", "flux"};
  RpinnSolvedFlowSpec *flow = &reader->problem->truth.flow;
  char buffer[RPINN_WHAT_SIZE];
  rpinn_reader_what(buffer, "side %s of solve", rpinn_flow_side_names[side]);
  RPINN_TRY(rpinn_reader_keys(reader, node, buffer, keys, 2));
  if (node->count != 1)
    return rpinn_fail_at(reader->context, node->place, "%s has %zu conditions; expected one of head, flux",
                         buffer, node->count);
  RpinnNamedExpression *value = &flow->sides[side].value;
  RPINN_TRY(rpinn_reader_named(reader, node->keys[0], node->items[0], value));
  flow->sides[side].present = true;
  flow->sides[side].fixes_head = !strcmp(node->keys[0]->text, "head");
  RPINN_TRY(rpinn_problem_expression(reader->context, reader->problem,
                                     RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES, value->text,
                                     value->place, &value->expression));
  value->state = RPINN_RESOLVED;
  return RPINN_OK;
}

static RpinnStatus read_sides(RpinnReader *reader, const RpinnYaml *node) {
  bool fixes_head = false;
  for (size_t side = 0; side < RPINN_NUM_FLOW_SIDES; side++) {
    const RpinnYaml *condition = rpinn_yaml_get(node, rpinn_flow_side_names[side]);
    if (condition) RPINN_TRY(read_side(reader, condition, side));
    fixes_head |= reader->problem->truth.flow.sides[side].fixes_head;
  }
  if (fixes_head) return RPINN_OK;
  return rpinn_fail_at(
      reader->context, node->place,
      "no side of solve has a head, so that it is known up to a constant at best; expected such "
      "as right: {head: 0}");
}

static RpinnStatus read_well(RpinnReader *reader, const RpinnYaml *node, RpinnWellSpec *well) {
  static const char *const keys[] = {"at", "rate"};
  const RpinnProblem *problem = reader->problem;
  const RpinnYaml *at, *rate;
  RPINN_TRY(rpinn_reader_keys(reader, node, "a well", keys, 2));
  RPINN_TRY(rpinn_reader_required(reader, node, "a well", "at", &at));
  RPINN_TRY(rpinn_reader_required(reader, node, "a well", "rate", &rate));
  if (at->kind != RPINN_YAML_SEQUENCE || at->count != problem->num_coordinates)
    return rpinn_fail_at(reader->context, at->place,
                         "the place of a well is not a list of %zu; expected one number per coordinate",
                         problem->num_coordinates);
  *well = (RpinnWellSpec){.x = {0.5, 0.5}}; /* the middle of an axis that is not there */
  for (size_t i = 0; i < at->count; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[i];
    RPINN_TRY(rpinn_reader_number(reader, at->items[i], "the place of a well", &well->x[i]));
    if (well->x[i] < coordinate->low || well->x[i] > coordinate->high)
      return rpinn_fail_at(reader->context, at->items[i]->place,
                           "%s = %.10g is outside the domain; expected %.10g to %.10g", coordinate->name,
                           well->x[i], coordinate->low, coordinate->high);
  }
  return rpinn_reader_number(reader, rate, "the rate of a well", &well->rate);
}

static RpinnStatus read_wells(RpinnReader *reader, const RpinnYaml *node) {
  RpinnSolvedFlowSpec *flow = &reader->problem->truth.flow;
  if (node->kind != RPINN_YAML_SEQUENCE)
    return rpinn_fail_at(reader->context, node->place,
                         "wells is %s; expected a list such as [{at: [0.5, 0.2], rate: 1}]",
                         rpinn_yaml_kind_name(node->kind));
  flow->wells = RPINN_ARENA_NEW(reader->problem->arena, RpinnWellSpec, node->count);
  if (!flow->wells) return rpinn_fail_memory(reader->context);
  for (size_t w = 0; w < node->count; w++) RPINN_TRY(read_well(reader, node->items[w], &flow->wells[w]));
  flow->num_wells = node->count;
  return RPINN_OK;
}

static RpinnStatus read_named(RpinnReader *reader, const RpinnYaml *node, const char *name,
                              RpinnNamedExpression *named) {
  *named = (RpinnNamedExpression){.name = name, .place = rpinn_reader_text_place(node)};
  return rpinn_reader_text(reader, node, name, &named->text);
}

RpinnStatus rpinn_section_solved_flow(RpinnReader *reader, const RpinnYaml *node) {
  static const char *const keys[] = {"name", "conductivity", "source", "wells",
                                     "left", "right",        "bottom", "top"};
  RpinnProblem *problem = reader->problem;
  RpinnSolvedFlowSpec *flow = &problem->truth.flow;
  const RpinnYaml *conductivity, *value;
  size_t num_keys = sizeof keys / sizeof keys[0];
  if (problem->num_coordinates == 1) num_keys -= 2; /* an interval has no bottom and no top */
  RPINN_TRY(rpinn_reader_keys(reader, node, "solve of the truth", keys, num_keys));
  RPINN_TRY(check_cells(reader, node, "solve"));
  flow->place = node->place;
  RPINN_TRY(read_name(reader, node, "solve of the truth", &flow->name));
  RPINN_TRY(rpinn_reader_required(reader, node, "solve of the truth", "conductivity", &conductivity));
  RPINN_TRY(read_named(reader, conductivity, "conductivity", &flow->conductivity));
  if ((value = rpinn_yaml_get(node, "source"))) RPINN_TRY(read_named(reader, value, "source", &flow->source));
  flow->has_source = value != NULL;
  RPINN_TRY(read_sides(reader, node));
  if ((value = rpinn_yaml_get(node, "wells"))) RPINN_TRY(read_wells(reader, value));
  flow->present = true;
  return RPINN_OK;
}
