/* The sections that name things: coordinates, fields with their networks, unknowns, quantities. */
#include <string.h>

#include "problem_sections.h"

RpinnStatus rpinn_section_coordinates(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  char buffer[RPINN_WHAT_SIZE];
  RPINN_TRY(rpinn_reader_size(reader, node, "coordinates", 1, RPINN_MAX_COORDINATES));
  for (size_t i = 0; i < node->count; i++) {
    RpinnCoordinate *coordinate = &problem->coordinates[i];
    RPINN_TRY(rpinn_reader_new_name(reader, node->keys[i], "coordinate"));
    if (!strcmp(node->keys[i]->text, "term") || !strcmp(node->keys[i]->text, "value"))
      return rpinn_fail_at(reader->context, node->keys[i]->place,
                           "'%s' is a column of data files; expected another name for this coordinate",
                           node->keys[i]->text);
    RPINN_TRY(
        rpinn_reader_interval(reader, node->items[i],
                              rpinn_reader_what(buffer, "the range of coordinate '%s'", node->keys[i]->text),
                              &coordinate->low, &coordinate->high));
    coordinate->name = node->keys[i]->text;
    problem->num_coordinates++;
  }
  return RPINN_OK;
}

static RpinnStatus read_inputs(RpinnReader *reader, const RpinnYaml *node, RpinnField *field) {
  RpinnProblem *problem = reader->problem;
  RpinnNetwork *network = &field->network;
  network->num_inputs = problem->num_coordinates;
  for (size_t i = 0; i < problem->num_coordinates; i++) network->input_coordinate[i] = i;
  if (!node) return RPINN_OK;
  if (node->kind != RPINN_YAML_SEQUENCE || !node->count || node->count > problem->num_coordinates)
    return rpinn_fail_at(reader->context, node->place,
                         "inputs of field '%s' is not a list of coordinates; expected such as [%s]",
                         field->name, problem->coordinates[0].name);
  const char *names[RPINN_MAX_COORDINATES];
  bool taken[RPINN_MAX_COORDINATES] = {false};
  for (size_t i = 0; i < problem->num_coordinates; i++) names[i] = problem->coordinates[i].name;
  network->num_inputs = node->count;
  for (size_t i = 0; i < node->count; i++) {
    size_t coordinate;
    RPINN_TRY(rpinn_reader_choice(reader, node->items[i], "coordinate", names, problem->num_coordinates,
                                  &coordinate));
    if (taken[coordinate])
      return rpinn_fail_at(reader->context, node->items[i]->place,
                           "'%s' is listed twice; expected each coordinate once", names[coordinate]);
    taken[coordinate] = true;
    network->input_coordinate[i] = coordinate;
  }
  return RPINN_OK;
}

static bool is_none(const RpinnYaml *node) {
  return node->kind == RPINN_YAML_SCALAR && !strcmp(node->text, "none");
}

/* s = scale x + shift maps the domain onto [low, high] of scale_inputs; u = shift + factor N maps -1 … 1 onto
 * scale_output. */
static RpinnStatus read_scaling(RpinnReader *reader, const RpinnYaml *node, RpinnField *field) {
  RpinnProblem *problem = reader->problem;
  RpinnNetwork *network = &field->network;
  const RpinnYaml *inputs = rpinn_yaml_get(node, "scale_inputs"),
                  *output = rpinn_yaml_get(node, "scale_output");
  bool by_default =
      rpinn_settings_choice(&problem->settings, RPINN_SETTING_SCALE_FIELDS) == RPINN_FIELDS_MAPPED;
  bool inputs_as_they_are = inputs ? is_none(inputs) : !by_default;
  field->scales_inputs = !inputs_as_they_are;
  field->scales_output = output && !is_none(output);
  field->finds_output = output ? false : by_default;
  field->scaled_low = -1;
  field->scaled_high = 1;
  if (inputs && !inputs_as_they_are)
    RPINN_TRY(rpinn_reader_interval(reader, inputs, "scale_inputs", &field->scaled_low, &field->scaled_high));
  for (size_t i = 0; i < network->num_inputs; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[network->input_coordinate[i]];
    double factor = inputs_as_they_are
                        ? 1
                        : (field->scaled_high - field->scaled_low) / (coordinate->high - coordinate->low);
    network->input_scale[i] = factor;
    network->input_shift[i] = inputs_as_they_are ? 0 : field->scaled_low - factor * coordinate->low;
  }
  network->output_factor = 1;
  if (!field->scales_output) return RPINN_OK;
  RPINN_TRY(rpinn_reader_interval(reader, output, "scale_output", &field->output_low, &field->output_high));
  network->output_factor = 0.5 * (field->output_high - field->output_low);
  network->output_shift = 0.5 * (field->output_high + field->output_low);
  return RPINN_OK;
}

static RpinnStatus read_layers(RpinnReader *reader, const RpinnYaml *node, RpinnField *field) {
  char buffer[RPINN_WHAT_SIZE];
  size_t widths[RPINN_MAX_LAYERS];
  rpinn_reader_what(buffer, "the network of field '%s'", field->name);
  if (node->kind != RPINN_YAML_SEQUENCE || !node->count || node->count >= RPINN_MAX_LAYERS)
    return rpinn_fail_at(reader->context, node->place,
                         "%s is %s; expected a list of 1 to %d hidden widths such as [50, 50]", buffer,
                         node->kind != RPINN_YAML_SEQUENCE ? rpinn_yaml_kind_name(node->kind)
                         : node->count                     ? "too deep"
                                                           : "empty",
                         RPINN_MAX_LAYERS - 1);
  for (size_t l = 0; l < node->count; l++)
    RPINN_TRY(
        rpinn_reader_count(reader, node->items[l], "the width of a layer", 1, RPINN_MAX_WIDTH, &widths[l]));
  rpinn_network_lay_out(&field->network, node->count, widths);
  return RPINN_OK;
}

static RpinnStatus read_field(RpinnReader *reader, const RpinnYaml *key, const RpinnYaml *node,
                              RpinnField *field) {
  static const char *const keys[] = {"network",    "inputs",         "scale_inputs", "scale_output",
                                     "activation", "initialization", "trainable",    "prior"};
  static const char *const prior_keys[] = {"shape", "scale", "factor"};
  static const char *const initializations[] = {"glorot_normal", "glorot_uniform"};
  static const char *const trainables[] = {"all", "output"};
  char buffer[RPINN_WHAT_SIZE];
  const RpinnYaml *layers, *value;
  size_t position;
  rpinn_reader_what(buffer, "field '%s'", key->text);
  RPINN_TRY(rpinn_reader_keys(reader, node, buffer, keys, sizeof keys / sizeof keys[0]));
  RPINN_TRY(rpinn_reader_required(reader, node, buffer, "network", &layers));
  *field = (RpinnField){.name = key->text, .place = key->place};
  if ((value = rpinn_yaml_get(node, "activation"))) {
    RPINN_TRY(rpinn_reader_choice(reader, value, "activation", rpinn_activation_names, RPINN_NUM_ACTIVATIONS,
                                  &position));
    field->network.activation = (RpinnActivation)position;
  }
  if ((value = rpinn_yaml_get(node, "initialization"))) {
    RPINN_TRY(rpinn_reader_choice(reader, value, "initialization", initializations, 2, &position));
    field->network.initialization = (RpinnInitialization)position;
  }
  if ((value = rpinn_yaml_get(node, "trainable"))) {
    RPINN_TRY(rpinn_reader_choice(reader, value, "value of trainable", trainables, 2, &position));
    field->network.output_only = position == 1;
  }
  if ((value = rpinn_yaml_get(node, "prior"))) {
    rpinn_reader_what(buffer, "the prior of field '%s'", key->text);
    RPINN_TRY(rpinn_reader_keys(reader, value, buffer, prior_keys, 3));
    RPINN_TRY(rpinn_section_prior_spec(reader, value, buffer, &field->prior));
  }
  RPINN_TRY(read_inputs(reader, rpinn_yaml_get(node, "inputs"), field));
  RPINN_TRY(read_scaling(reader, node, field));
  return read_layers(reader, layers, field);
}

RpinnStatus rpinn_section_fields(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  RPINN_TRY(rpinn_reader_size(reader, node, "fields", 1, RPINN_MAX_FIELDS));
  problem->fields = RPINN_ARENA_NEW(problem->arena, RpinnField, node->count);
  problem->field_inputs = RPINN_ARENA_NEW(problem->arena, unsigned, node->count);
  if (!problem->fields || !problem->field_inputs) return rpinn_fail_memory(reader->context);
  problem->pool->field_inputs = problem->field_inputs;
  size_t start = 0;
  for (size_t i = 0; i < node->count; i++) {
    RpinnField *field = &problem->fields[i];
    RPINN_TRY(rpinn_reader_new_name(reader, node->keys[i], "field"));
    RPINN_TRY(read_field(reader, node->keys[i], node->items[i], field));
    field->network.parameter_start = start;
    start += field->network.num_trainable;
    for (size_t k = 0; k < field->network.num_inputs; k++)
      problem->field_inputs[i] |= 1u << field->network.input_coordinate[k];
    problem->num_fields++;
  }
  return RPINN_OK;
}

static RpinnStatus read_unknown(RpinnReader *reader, const RpinnYaml *key, const RpinnYaml *node,
                                RpinnUnknown *unknown, size_t index) {
  static const char *const keys[] = {"start", "transform", "prior"};
  static const char *const prior_keys[] = {"mean", "std"};
  static const char *const transforms[] = {"none", "log"};
  RpinnProblem *problem = reader->problem;
  char buffer[RPINN_WHAT_SIZE];
  const RpinnYaml *start, *value, *prior;
  rpinn_reader_what(buffer, "unknown '%s'", key->text);
  RPINN_TRY(rpinn_reader_keys(reader, node, buffer, keys, 3));
  *unknown = (RpinnUnknown){.name = key->text, .place = key->place, .prior_std = 1};
  if ((value = rpinn_yaml_get(node, "transform"))) {
    size_t position;
    RPINN_TRY(rpinn_reader_choice(reader, value, "transform", transforms, 2, &position));
    unknown->transform = (RpinnTransform)position;
  }
  RPINN_TRY(rpinn_reader_required(reader, node, buffer, "start", &start));
  RPINN_TRY(rpinn_reader_number(reader, start, "the start", &unknown->start));
  if (unknown->transform == RPINN_TRANSFORM_LOG && unknown->start <= 0)
    return rpinn_fail_at(reader->context, start->place,
                         "%s starts at %.10g; expected a positive value for transform: log", buffer,
                         unknown->start);
  if ((prior = rpinn_yaml_get(node, "prior"))) {
    RPINN_TRY(rpinn_reader_keys(reader, prior, "the prior of an unknown", prior_keys, 2));
    if ((value = rpinn_yaml_get(prior, "mean")))
      RPINN_TRY(rpinn_reader_number(reader, value, "the prior mean", &unknown->prior_mean));
    if ((value = rpinn_yaml_get(prior, "std")))
      RPINN_TRY(rpinn_reader_number(reader, value, "the prior std", &unknown->prior_std));
    if (!(unknown->prior_std > 0))
      return rpinn_fail_at(reader->context, value->place,
                           "the prior std of %s is %.10g; expected a positive number", buffer,
                           unknown->prior_std);
  }
  RpinnExpression parameter = rpinn_expression_parameter(problem->pool, index);
  unknown->expression = unknown->transform == RPINN_TRANSFORM_LOG
                            ? rpinn_expression_apply(problem->pool, RPINN_OPERATION_EXP, parameter, 0)
                            : parameter;
  return rpinn_expression_pool_status(reader->context, problem->pool);
}

RpinnStatus rpinn_section_unknowns(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_size(reader, node, "unknowns", 0, RPINN_MAX_NAMES));
  problem->unknowns = RPINN_ARENA_NEW(problem->arena, RpinnUnknown, node->count);
  if (!problem->unknowns) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(rpinn_reader_new_name(reader, node->keys[i], "unknown"));
    RPINN_TRY(read_unknown(reader, node->keys[i], node->items[i], &problem->unknowns[i], i));
    problem->num_unknowns++;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_section_quantities(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_size(reader, node, "quantities", 0, RPINN_MAX_NAMES));
  problem->quantities = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, node->count);
  if (!problem->quantities) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(rpinn_reader_new_name(reader, node->keys[i], "quantity"));
    RPINN_TRY(rpinn_reader_named(reader, node->keys[i], node->items[i], &problem->quantities[i]));
    problem->num_quantities++;
  }
  for (size_t i = 0; i < problem->num_quantities; i++) { /* each must make sense, used or not */
    RpinnExpression expression;
    RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_ALL, problem->quantities[i].name,
                                       problem->quantities[i].place, &expression));
  }
  return RPINN_OK;
}
