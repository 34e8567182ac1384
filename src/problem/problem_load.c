/* YAML to problem, section by section, in the order in which they need one another: constants (with what was
 * given from outside), coordinates, fields, unknowns, quantities, truth, terms, prior, predict. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problem_reader.h"
#include "whole_file.h"

static const char *const top_keys[] = {"name",       "coordinates", "constants", "fields", "unknowns",
                                       "quantities", "truth",       "terms",     "prior",  "predict",
                                       "settings",   "presets",     "data"};
enum { NUM_TOP_KEYS = sizeof top_keys / sizeof top_keys[0], WHAT_SIZE = 256 };

/* "the noise of term 'f'" */
static const char *what(char buffer[WHAT_SIZE], const char *format, const char *name) {
  snprintf(buffer, WHAT_SIZE, format, name);
  return buffer;
}

/* ---- names ---- */

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

static RpinnStatus check_new_name(RpinnReader *reader, const RpinnYaml *key, const char *kind) {
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

static RpinnStatus check_size(RpinnReader *reader, const RpinnYaml *node, const char *section, size_t low,
                              size_t high) {
  RPINN_TRY(rpinn_reader_mapping(reader, node, section));
  if (node->count >= low && node->count <= high) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place, "%s has %zu entries; expected %zu to %zu", section,
                       node->count, low, high);
}

static RpinnStatus read_named(RpinnReader *reader, const RpinnYaml *key, const RpinnYaml *value,
                              RpinnNamedExpression *named) {
  *named = (RpinnNamedExpression){.name = key->text, .place = rpinn_reader_text_place(value)};
  return rpinn_reader_text(reader, value, key->text, &named->text);
}

/* ---- constants, settings and what was given from outside ---- */

static RpinnStatus read_constants(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(check_size(reader, node, "constants", 0, RPINN_MAX_NAMES));
  problem->constants = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, node->count);
  if (!problem->constants) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(check_new_name(reader, node->keys[i], "constant"));
    RPINN_TRY(read_named(reader, node->keys[i], node->items[i], &problem->constants[i]));
    problem->num_constants++;
  }
  return RPINN_OK;
}

static RpinnStatus read_settings(RpinnReader *reader, const RpinnYaml *node) {
  rpinn_settings_reset(&reader->problem->settings);
  if (!node) return RPINN_OK;
  const char *names[RPINN_NUM_SETTINGS];
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++) names[i] = rpinn_setting_definition((RpinnSetting)i)->name;
  RPINN_TRY(rpinn_reader_keys(reader, node, "settings", names, RPINN_NUM_SETTINGS));
  for (size_t i = 0; i < node->count; i++) {
    const char *text;
    RPINN_TRY(rpinn_reader_text(reader, node->items[i], node->keys[i]->text, &text));
    RPINN_TRY(rpinn_settings_set(reader->context, &reader->problem->settings,
                                 rpinn_setting_find(node->keys[i]->text), text, node->items[i]->place));
  }
  return RPINN_OK;
}

static RpinnStatus read_presets(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(check_size(reader, node, "presets", 0, RPINN_MAX_NAMES));
  problem->presets = RPINN_ARENA_NEW(problem->arena, RpinnPreset, node->count);
  if (!problem->presets) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *values = node->items[i];
    char buffer[WHAT_SIZE];
    RPINN_TRY(rpinn_reader_mapping(reader, values, what(buffer, "preset '%s'", node->keys[i]->text)));
    RpinnPreset *preset = &problem->presets[problem->num_presets++];
    *preset = (RpinnPreset){.name = node->keys[i]->text,
                            .place = node->keys[i]->place,
                            .num_values = values->count,
                            .names = RPINN_ARENA_NEW(problem->arena, const char *, values->count),
                            .values = RPINN_ARENA_NEW(problem->arena, const char *, values->count),
                            .name_places = RPINN_ARENA_NEW(problem->arena, RpinnPlace, values->count),
                            .value_places = RPINN_ARENA_NEW(problem->arena, RpinnPlace, values->count)};
    if (!preset->names || !preset->values || !preset->name_places || !preset->value_places)
      return rpinn_fail_memory(reader->context);
    for (size_t k = 0; k < values->count; k++) {
      preset->names[k] = values->keys[k]->text;
      preset->name_places[k] = values->keys[k]->place;
      preset->value_places[k] = rpinn_reader_text_place(values->items[k]);
      RPINN_TRY(rpinn_reader_text(reader, values->items[k], preset->names[k], &preset->values[k]));
    }
  }
  return RPINN_OK;
}

static RpinnStatus fail_unknown_override(RpinnReader *reader, RpinnPlace place, const char *name) {
  RpinnProblem *problem = reader->problem;
  size_t count = 0;
  const char **known =
      RPINN_ARENA_NEW(problem->arena, const char *, problem->num_constants + RPINN_NUM_SETTINGS);
  if (!known) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_constants; i++) known[count++] = problem->constants[i].name;
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++)
    known[count++] = rpinn_setting_definition((RpinnSetting)i)->name;
  return rpinn_reader_fail_unknown(reader, place, "constant or setting", name, known, count);
}

/* Every preset must make sense, chosen or not: its names are known and its values are settings or constant
 * expressions. The constants are resolved. */
static RpinnStatus check_presets(RpinnReader *reader) {
  RpinnProblem *problem = reader->problem;
  RpinnSettingsValues *scratch = RPINN_ARENA_NEW(problem->arena, RpinnSettingsValues, 1);
  if (!scratch) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_presets; i++) {
    const RpinnPreset *preset = &problem->presets[i];
    for (size_t k = 0; k < preset->num_values; k++) {
      RpinnSetting setting = rpinn_setting_find(preset->names[k]);
      RpinnExpression value;
      bool is_constant = false;
      for (size_t c = 0; c < problem->num_constants; c++)
        is_constant |= !strcmp(problem->constants[c].name, preset->names[k]);
      if (setting == RPINN_NUM_SETTINGS && !is_constant)
        return fail_unknown_override(reader, preset->name_places[k], preset->names[k]);
      if (setting != RPINN_NUM_SETTINGS)
        RPINN_TRY(rpinn_settings_set(reader->context, scratch, setting, preset->values[k],
                                     preset->value_places[k]));
      else
        RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_CONSTANTS, preset->values[k],
                                           preset->value_places[k], &value));
    }
  }
  return RPINN_OK;
}

/* Give a constant or a setting another value. */
static RpinnStatus override(RpinnReader *reader, const char *name, const char *value, bool setting_only,
                            RpinnPlace name_place, RpinnPlace value_place) {
  RpinnProblem *problem = reader->problem;
  RpinnSetting setting = rpinn_setting_find(name);
  RpinnNamedExpression *constant = NULL;
  for (size_t i = 0; i < problem->num_constants && !setting_only; i++)
    if (!strcmp(problem->constants[i].name, name)) constant = &problem->constants[i];
  if (constant && setting != RPINN_NUM_SETTINGS)
    return rpinn_fail_at(reader->context, name_place,
                         "'%s' is both a constant of this problem and a setting; rename the constant", name);
  if (setting != RPINN_NUM_SETTINGS)
    return rpinn_settings_set(reader->context, &problem->settings, setting, value, value_place);
  if (constant) {
    char *text = rpinn_arena_copy_text(problem->arena, value, strlen(value));
    if (!text) return rpinn_fail_memory(reader->context);
    if (!*text)
      return rpinn_fail_at(reader->context, value_place, "%s has no value; expected %s=VALUE", name, name);
    constant->text = text;
    constant->place = value_place;
    return RPINN_OK;
  }
  return fail_unknown_override(reader, name_place, name);
}

static RpinnStatus apply_preset(RpinnReader *reader, const char *name) {
  RpinnProblem *problem = reader->problem;
  const char **known = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_presets);
  if (!known) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_presets; i++) {
    const RpinnPreset *preset = &problem->presets[i];
    known[i] = preset->name;
    if (strcmp(preset->name, name) != 0) continue;
    for (size_t k = 0; k < preset->num_values; k++)
      RPINN_TRY(override(reader, preset->names[k], preset->values[k], false, preset->name_places[k],
                         preset->value_places[k]));
    return RPINN_OK;
  }
  return rpinn_reader_fail_unknown(reader, (RpinnPlace){.file = "--preset"}, "preset", name, known,
                                   problem->num_presets);
}

static RpinnStatus apply_options(RpinnReader *reader, const RpinnProblemOptions *options) {
  if (!options) return RPINN_OK;
  if (options->preset) RPINN_TRY(apply_preset(reader, options->preset));
  for (size_t i = 0; i < options->num_overrides; i++) {
    const RpinnOverride *given = &options->overrides[i];
    RpinnText origin = {0}; /* "--set k": what is wrong with a value may show far from here */
    rpinn_text_append(&origin, given->setting_only ? "%s" : "%s %s", given->origin, given->name);
    char *file =
        rpinn_arena_copy_text(reader->problem->arena, origin.bytes ? origin.bytes : "", origin.length);
    bool failed = origin.failed || !file;
    rpinn_text_free(&origin);
    if (failed) return rpinn_fail_memory(reader->context);
    RpinnPlace place = {.file = file};
    RPINN_TRY(override(reader, given->name, given->value, given->setting_only, place, place));
  }
  return RPINN_OK;
}

/* Every constant must be a number, used or not. */
static RpinnStatus resolve_constants(RpinnReader *reader) {
  RpinnProblem *problem = reader->problem;
  for (size_t i = 0; i < problem->num_constants; i++) {
    RpinnNamedExpression *constant = &problem->constants[i];
    RpinnExpression value;
    RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_CONSTANTS, constant->name,
                                       constant->place, &value));
    if (!rpinn_expression_is_number(problem->pool, value, NULL))
      return rpinn_fail_at(reader->context, constant->place,
                           "constant '%s' is '%s'; expected a finite number", constant->name, constant->text);
  }
  return RPINN_OK;
}

/* ---- coordinates, fields, unknowns, quantities ---- */

static RpinnStatus read_coordinates(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  char buffer[WHAT_SIZE];
  RPINN_TRY(check_size(reader, node, "coordinates", 1, RPINN_MAX_COORDINATES));
  for (size_t i = 0; i < node->count; i++) {
    RpinnCoordinate *coordinate = &problem->coordinates[i];
    RPINN_TRY(check_new_name(reader, node->keys[i], "coordinate"));
    if (!strcmp(node->keys[i]->text, "term") || !strcmp(node->keys[i]->text, "value"))
      return rpinn_fail_at(reader->context, node->keys[i]->place,
                           "'%s' is a column of data files; expected another name for this coordinate",
                           node->keys[i]->text);
    RPINN_TRY(rpinn_reader_interval(reader, node->items[i],
                                    what(buffer, "the range of coordinate '%s'", node->keys[i]->text),
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

/* s = scale x + shift maps the domain onto [low, high] of scale_inputs; u = shift + factor N maps -1 … 1 onto
 * scale_output. */
static RpinnStatus read_scaling(RpinnReader *reader, const RpinnYaml *node, RpinnField *field) {
  RpinnProblem *problem = reader->problem;
  RpinnNetwork *network = &field->network;
  const RpinnYaml *inputs = rpinn_yaml_get(node, "scale_inputs"),
                  *output = rpinn_yaml_get(node, "scale_output");
  field->scales_inputs = inputs != NULL;
  field->scales_output = output != NULL;
  if (inputs)
    RPINN_TRY(rpinn_reader_interval(reader, inputs, "scale_inputs", &field->scaled_low, &field->scaled_high));
  for (size_t i = 0; i < network->num_inputs; i++) {
    const RpinnCoordinate *coordinate = &problem->coordinates[network->input_coordinate[i]];
    double factor =
        inputs ? (field->scaled_high - field->scaled_low) / (coordinate->high - coordinate->low) : 1;
    network->input_scale[i] = factor;
    network->input_shift[i] = inputs ? field->scaled_low - factor * coordinate->low : 0;
  }
  network->output_factor = 1;
  if (!output) return RPINN_OK;
  RPINN_TRY(rpinn_reader_interval(reader, output, "scale_output", &field->output_low, &field->output_high));
  network->output_factor = 0.5 * (field->output_high - field->output_low);
  network->output_shift = 0.5 * (field->output_high + field->output_low);
  return RPINN_OK;
}

static RpinnStatus read_layers(RpinnReader *reader, const RpinnYaml *node, RpinnField *field) {
  char buffer[WHAT_SIZE];
  size_t widths[RPINN_MAX_LAYERS];
  what(buffer, "the network of field '%s'", field->name);
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
                                     "activation", "initialization", "trainable"};
  static const char *const initializations[] = {"glorot_normal", "glorot_uniform"};
  static const char *const trainables[] = {"all", "output"};
  char buffer[WHAT_SIZE];
  const RpinnYaml *layers, *value;
  size_t position;
  what(buffer, "field '%s'", key->text);
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
  RPINN_TRY(read_inputs(reader, rpinn_yaml_get(node, "inputs"), field));
  RPINN_TRY(read_scaling(reader, node, field));
  return read_layers(reader, layers, field);
}

static RpinnStatus read_fields(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  RPINN_TRY(check_size(reader, node, "fields", 1, RPINN_MAX_FIELDS));
  problem->fields = RPINN_ARENA_NEW(problem->arena, RpinnField, node->count);
  problem->field_inputs = RPINN_ARENA_NEW(problem->arena, unsigned, node->count);
  if (!problem->fields || !problem->field_inputs) return rpinn_fail_memory(reader->context);
  problem->pool->field_inputs = problem->field_inputs;
  size_t start = 0;
  for (size_t i = 0; i < node->count; i++) {
    RpinnField *field = &problem->fields[i];
    RPINN_TRY(check_new_name(reader, node->keys[i], "field"));
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
  char buffer[WHAT_SIZE];
  const RpinnYaml *start, *value, *prior;
  what(buffer, "unknown '%s'", key->text);
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

static RpinnStatus read_unknowns(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(check_size(reader, node, "unknowns", 0, RPINN_MAX_NAMES));
  problem->unknowns = RPINN_ARENA_NEW(problem->arena, RpinnUnknown, node->count);
  if (!problem->unknowns) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(check_new_name(reader, node->keys[i], "unknown"));
    RPINN_TRY(read_unknown(reader, node->keys[i], node->items[i], &problem->unknowns[i], i));
    problem->num_unknowns++;
  }
  return RPINN_OK;
}

static RpinnStatus read_quantities(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(check_size(reader, node, "quantities", 0, RPINN_MAX_NAMES));
  problem->quantities = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, node->count);
  if (!problem->quantities) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(check_new_name(reader, node->keys[i], "quantity"));
    RPINN_TRY(read_named(reader, node->keys[i], node->items[i], &problem->quantities[i]));
    problem->num_quantities++;
  }
  for (size_t i = 0; i < problem->num_quantities; i++) { /* each must make sense, used or not */
    RpinnExpression expression;
    RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_ALL, problem->quantities[i].name,
                                       problem->quantities[i].place, &expression));
  }
  return RPINN_OK;
}

static void collect_names(RpinnProblem *problem, const char **coordinates, const char **fields,
                          const char **unknowns) {
  for (size_t i = 0; i < problem->num_coordinates; i++) coordinates[i] = problem->coordinates[i].name;
  for (size_t i = 0; i < problem->num_fields; i++) fields[i] = problem->fields[i].name;
  for (size_t i = 0; i < problem->num_unknowns; i++) unknowns[i] = problem->unknowns[i].name;
  problem->names =
      (RpinnExpressionNames){.coordinates = coordinates, .fields = fields, .parameters = unknowns};
}

/* ---- truth ---- */

/* The things that may have a truth or be predicted. */
static bool is_result(const RpinnProblem *problem, const char *name) {
  for (size_t i = 0; i < problem->num_fields; i++)
    if (!strcmp(problem->fields[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_quantities; i++)
    if (!strcmp(problem->quantities[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_unknowns; i++)
    if (!strcmp(problem->unknowns[i].name, name)) return true;
  return false;
}

static RpinnStatus check_result_name(RpinnReader *reader, RpinnPlace place, const char *name) {
  RpinnProblem *problem = reader->problem;
  if (is_result(problem, name)) return RPINN_OK;
  size_t count = 0;
  const char **known = RPINN_ARENA_NEW(problem->arena, const char *,
                                       problem->num_fields + problem->num_quantities + problem->num_unknowns);
  if (!known) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_fields; i++) known[count++] = problem->fields[i].name;
  for (size_t i = 0; i < problem->num_quantities; i++) known[count++] = problem->quantities[i].name;
  for (size_t i = 0; i < problem->num_unknowns; i++) known[count++] = problem->unknowns[i].name;
  return rpinn_reader_fail_unknown(reader, place, "field, quantity or unknown", name, known, count);
}

static RpinnStatus read_truth_cells(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (node->kind != RPINN_YAML_SEQUENCE || node->count != problem->num_coordinates)
    return rpinn_fail_at(reader->context, node->place,
                         "cells of the truth is not a list with %zu count%s; expected one per coordinate",
                         problem->num_coordinates, problem->num_coordinates > 1 ? "s" : "");
  double total = 1;
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(rpinn_reader_count(reader, node->items[i], "the number of cells", 1, RPINN_MAX_POINTS,
                                 &problem->truth.cells[i]));
    total *= (double)problem->truth.cells[i];
  }
  if (total > RPINN_MAX_POINTS)
    return rpinn_fail_at(reader->context, node->place, "the truth has %.4g cells; expected at most %d", total,
                         RPINN_MAX_POINTS);
  problem->truth.has_cells = true;
  return RPINN_OK;
}

static RpinnStatus read_truth(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  RpinnTruthSpec *truth = &problem->truth;
  if (!node) return RPINN_OK;
  *truth = (RpinnTruthSpec){.present = true, .place = node->place};
  if (node->kind == RPINN_YAML_SCALAR)
    return rpinn_reader_text(reader, node, "the file of the truth", &truth->file);
  RPINN_TRY(check_size(reader, node, "truth", 1, RPINN_MAX_NAMES));
  truth->entries = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, node->count);
  if (!truth->entries) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *key = node->keys[i], *value = node->items[i];
    if (!is_result(problem, key->text) && !strcmp(key->text, "csv")) {
      RPINN_TRY(rpinn_reader_text(reader, value, "the file of the truth", &truth->file));
    } else if (!is_result(problem, key->text) && !strcmp(key->text, "cells")) {
      RPINN_TRY(read_truth_cells(reader, value));
    } else {
      RPINN_TRY(check_result_name(reader, key->place, key->text));
      RPINN_TRY(read_named(reader, key, value, &truth->entries[truth->num_entries]));
      truth->num_entries++;
    }
  }
  return RPINN_OK;
}

/* ---- terms ---- */

static bool is_csv_name(const char *text) {
  size_t length = strlen(text);
  return length > 4 && !strcmp(text + length - 4, ".csv");
}

/* "wells.txt", "data/wells.CSV": a dot and letters at the end, which no expression has. */
static bool looks_like_a_file(const char *text) {
  const char *dot = strrchr(text, '.');
  return dot && isalpha((unsigned char)dot[1]) && !strpbrk(dot + 1, " ()+-*/^");
}

static RpinnStatus read_term_data(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                  RpinnTerm *term) {
  RpinnProblem *problem = reader->problem;
  if (!node) {
    if (!problem->data_file)
      return rpinn_fail_at(reader->context, term->place,
                           "%s has no 'data'; expected data: truth, an expression or a CSV file", owner);
    term->source = RPINN_DATA_CSV;
    return RPINN_OK;
  }
  term->data = (RpinnNamedExpression){.name = term->name, .place = rpinn_reader_text_place(node)};
  RPINN_TRY(rpinn_reader_text(reader, node, "data", &term->data.text));
  bool own_truth = false; /* a constant or coordinate may be called truth: it is then an expression */
  for (size_t i = 0; i < problem->num_constants; i++)
    own_truth |= !strcmp(problem->constants[i].name, "truth");
  for (size_t i = 0; i < problem->num_coordinates; i++)
    own_truth |= !strcmp(problem->coordinates[i].name, "truth");
  if (!strcmp(term->data.text, "truth") && !own_truth) {
    term->source = RPINN_DATA_TRUTH;
    if (!problem->truth.present && !problem->data_file)
      return rpinn_fail_at(reader->context, node->place,
                           "%s wants the truth but the file has none; expected a truth: section", owner);
    return RPINN_OK;
  }
  if (is_csv_name(term->data.text)) {
    term->source = RPINN_DATA_CSV;
    return RPINN_OK;
  }
  term->source = RPINN_DATA_EXPRESSION;
  if (looks_like_a_file(term->data.text))
    return rpinn_fail_at(reader->context, node->place,
                         "data is '%s'; expected truth, an expression, or a file whose name ends in .csv",
                         term->data.text);
  RPINN_TRY(rpinn_problem_expression(reader->context, problem,
                                     RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES, term->data.text,
                                     term->data.place, &term->data.expression));
  term->data.state = RPINN_RESOLVED;
  return RPINN_OK;
}

static RpinnStatus read_term_weights(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                     RpinnTerm *term) {
  const RpinnYaml *noise = rpinn_yaml_get(node, "noise"), *weight = rpinn_yaml_get(node, "weight");
  term->has_noise = noise != NULL;
  term->has_weight = weight != NULL;
  term->noise_place = noise ? noise->place : term->place;
  term->weight_place = weight ? weight->place : term->place;
  if (noise) {
    RPINN_TRY(rpinn_reader_number(reader, noise, "the noise", &term->noise));
    if (term->noise < 0)
      return rpinn_fail_at(reader->context, noise->place,
                           "the noise of %s is %.10g; expected a standard deviation of 0 or more", owner,
                           term->noise);
  }
  if (weight) {
    RPINN_TRY(rpinn_reader_number(reader, weight, "the weight", &term->weight));
    if (!(term->weight > 0))
      return rpinn_fail_at(reader->context, weight->place,
                           "the weight of %s is %.10g; expected a positive number", owner, term->weight);
  }
  return RPINN_OK;
}

/* Noise on data that are made; measured ones are used as they are. */
static RpinnStatus read_perturb(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                RpinnTerm *term) {
  term->perturb = term->source == RPINN_DATA_TRUTH;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_boolean(reader, node, "perturb", &term->perturb));
  if (!term->perturb) return RPINN_OK;
  if (term->source == RPINN_DATA_CSV)
    return rpinn_fail_at(reader->context, node->place,
                         "perturb: true for %s, whose data come from a file; expected it with data that are "
                         "made: measured ones are used as they are",
                         owner);
  if (!(term->noise > 0))
    return rpinn_fail_at(reader->context, node->place,
                         "perturb: true for %s, which has no noise above 0; expected noise: beside it",
                         owner);
  return RPINN_OK;
}

/* Data can only speak about what depends on the parameters. */
static RpinnStatus check_dependence(RpinnReader *reader, const char *owner, const RpinnTerm *term) {
  const RpinnExpressionPool *pool = reader->problem->pool;
  uint8_t *used = rpinn_expression_reachable(pool, term->expect.expression);
  if (!used) return rpinn_fail_memory(reader->context);
  bool depends = false;
  for (size_t i = 0; i <= term->expect.expression; i++)
    depends |= used[i] && (pool->nodes[i].operation == RPINN_OPERATION_FIELD ||
                           pool->nodes[i].operation == RPINN_OPERATION_PARAMETER);
  free(used);
  if (depends) return RPINN_OK;
  return rpinn_fail_at(reader->context, term->expect.place,
                       "%s expects '%s', which depends on no field and no unknown; expected one that does",
                       owner, term->expect.text);
}

static RpinnStatus read_term(RpinnReader *reader, const RpinnYaml *node, RpinnTerm *term) {
  static const char *const keys[] = {"expect", "at", "data", "noise", "weight", "perturb", "role"};
  static const char *const roles[] = {"fit", "test"};
  RpinnProblem *problem = reader->problem;
  char owner[WHAT_SIZE];
  const RpinnYaml *expect, *at = rpinn_yaml_get(node, "at"), *value;
  what(owner, "term '%s'", term->name);
  RPINN_TRY(rpinn_reader_keys(reader, node, owner, keys, sizeof keys / sizeof keys[0]));
  RPINN_TRY(rpinn_reader_required(reader, node, owner, "expect", &expect));
  term->expect = (RpinnNamedExpression){.name = term->name, .place = rpinn_reader_text_place(expect)};
  RPINN_TRY(rpinn_reader_text(reader, expect, "expect", &term->expect.text));
  RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_ALL, term->expect.text,
                                     term->expect.place, &term->expect.expression));
  term->expect.state = RPINN_RESOLVED;
  RPINN_TRY(check_dependence(reader, owner, term));
  RPINN_TRY(read_term_data(reader, rpinn_yaml_get(node, "data"), owner, term));
  if (at) {
    RPINN_TRY(rpinn_reader_points(reader, at, "at", NULL, 0, &term->at));
  } else if (term->source == RPINN_DATA_CSV || problem->data_file) {
    term->at = (RpinnPointSpec){.sampling = RPINN_POINTS_OF_DATA, .place = term->place};
  } else {
    return rpinn_fail_at(reader->context, node->place, "%s has no 'at'; expected points such as {grid: 32}",
                         owner);
  }
  if ((value = rpinn_yaml_get(node, "role"))) {
    size_t position;
    RPINN_TRY(rpinn_reader_choice(reader, value, "role", roles, 2, &position));
    term->is_test = position == 1;
  }
  RPINN_TRY(read_term_weights(reader, node, owner, term));
  return read_perturb(reader, rpinn_yaml_get(node, "perturb"), owner, term);
}

/* same_as must lead to a term with points of its own. */
static RpinnStatus check_same_as(RpinnReader *reader) {
  const RpinnProblem *problem = reader->problem;
  for (size_t i = 0; i < problem->num_terms; i++) {
    size_t at = i, steps = 0;
    while (problem->terms[at].at.sampling == RPINN_POINTS_SAME_AS && steps++ <= problem->num_terms)
      at = problem->terms[at].at.term;
    if (steps > problem->num_terms)
      return rpinn_fail_at(
          reader->context, problem->terms[i].at.place,
          "same_as of term '%s' leads back to itself; expected a term with points of its own",
          problem->terms[i].name);
  }
  return RPINN_OK;
}

static RpinnStatus read_terms(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  RPINN_TRY(check_size(reader, node, "terms", 1, RPINN_MAX_TERMS));
  problem->terms = RPINN_ARENA_NEW(problem->arena, RpinnTerm, node->count);
  if (!problem->terms) return rpinn_fail_memory(reader->context);
  problem->num_terms = node->count;
  size_t num_fitted = 0;
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *key = node->keys[i];
    if (!rpinn_name_is_valid(key->text))
      return rpinn_fail_at(
          reader->context, key->place,
          "'%s' is no name for a term; expected letters, digits and _, not starting with a digit", key->text);
    problem->terms[i].name = key->text;
    problem->terms[i].place = key->place;
  }
  for (size_t i = 0; i < node->count; i++) {
    char buffer[WHAT_SIZE];
    RPINN_TRY(rpinn_reader_mapping(reader, node->items[i], what(buffer, "term '%s'", node->keys[i]->text)));
    RPINN_TRY(read_term(reader, node->items[i], &problem->terms[i]));
    num_fitted += !problem->terms[i].is_test;
  }
  if (!num_fitted)
    return rpinn_fail_at(reader->context, node->place,
                         "all terms have role: test; expected at least one that is fitted");
  return check_same_as(reader);
}

/* ---- prior, predict ---- */

static RpinnStatus read_prior(RpinnReader *reader, const RpinnYaml *node) {
  static const char *const keys[] = {"reference_term", "epsilon"};
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_keys(reader, node, "prior", keys, 2));
  problem->prior_place = node->place;
  const RpinnYaml *reference = rpinn_yaml_get(node, "reference_term"),
                  *epsilon = rpinn_yaml_get(node, "epsilon");
  if (reference) {
    const char **names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_terms);
    if (!names) return rpinn_fail_memory(reader->context);
    for (size_t i = 0; i < problem->num_terms; i++) names[i] = problem->terms[i].name;
    RPINN_TRY(
        rpinn_reader_choice(reader, reference, "term", names, problem->num_terms, &problem->reference_term));
    if (problem->terms[problem->reference_term].is_test)
      return rpinn_fail_at(reader->context, reference->place,
                           "reference_term '%s' has role: test; expected a fitted term",
                           names[problem->reference_term]);
    problem->has_reference_term = true;
    problem->prior_place = reference->place;
  }
  if (epsilon) {
    RPINN_TRY(rpinn_reader_number(reader, epsilon, "epsilon", &problem->prior_epsilon));
    if (problem->prior_epsilon < 0)
      return rpinn_fail_at(reader->context, epsilon->place, "epsilon is %.10g; expected 0 or more",
                           problem->prior_epsilon);
  }
  return RPINN_OK;
}

static RpinnStatus read_predict(RpinnReader *reader, const RpinnYaml *node) {
  static const char *const extra[] = {"quantities"};
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_points(reader, node, "predict", extra, 1, &problem->predict_at));
  const RpinnYaml *list;
  RPINN_TRY(rpinn_reader_required(reader, node, "predict", "quantities", &list));
  if (list->kind != RPINN_YAML_SEQUENCE || !list->count)
    return rpinn_fail_at(reader->context, list->place,
                         "quantities of predict is not a list of names; expected such as [%s]",
                         problem->fields[0].name);
  problem->predicted = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, list->count);
  if (!problem->predicted) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < list->count; i++) {
    RpinnNamedExpression *predicted = &problem->predicted[i];
    RPINN_TRY(rpinn_reader_text(reader, list->items[i], "the quantity", &predicted->text));
    predicted->name = predicted->text;
    predicted->place = rpinn_reader_text_place(list->items[i]);
    RPINN_TRY(check_result_name(reader, predicted->place, predicted->name));
    for (size_t k = 0; k < i; k++)
      if (!strcmp(problem->predicted[k].name, predicted->name))
        return rpinn_fail_at(reader->context, predicted->place,
                             "'%s' is listed twice; expected each quantity once", predicted->name);
    RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_ALL, predicted->text,
                                       predicted->place, &predicted->expression));
    predicted->state = RPINN_RESOLVED;
    problem->num_predicted++;
  }
  problem->has_predict = true;
  return RPINN_OK;
}

/* ---- the whole ---- */

static RpinnStatus read_data_file(RpinnReader *reader, const RpinnYaml *node,
                                  const RpinnProblemOptions *options) {
  RpinnProblem *problem = reader->problem;
  if (node) {
    const char *text;
    RPINN_TRY(rpinn_reader_text(reader, node, "data", &text));
    problem->data_file = rpinn_problem_path(problem, text);
    problem->data_place = node->place;
    if (!problem->data_file) return rpinn_fail_memory(reader->context);
  }
  if (options && options->data_file) {
    problem->data_file =
        rpinn_arena_copy_text(problem->arena, options->data_file, strlen(options->data_file));
    problem->data_place = (RpinnPlace){.file = "--data"};
    if (!problem->data_file) return rpinn_fail_memory(reader->context);
  }
  return RPINN_OK;
}

static RpinnStatus read_problem(RpinnReader *reader, const RpinnYaml *root,
                                const RpinnProblemOptions *options) {
  RpinnProblem *problem = reader->problem;
  const RpinnYaml *name, *coordinates, *fields, *terms;
  RPINN_TRY(rpinn_reader_keys(reader, root, "the problem file", top_keys, NUM_TOP_KEYS));
  problem->place = problem->prior_place = root->place;
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "name", &name));
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "coordinates", &coordinates));
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "fields", &fields));
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "terms", &terms));
  RPINN_TRY(rpinn_reader_text(reader, name, "name", &problem->name));
  RPINN_TRY(read_constants(reader, rpinn_yaml_get(root, "constants")));
  RPINN_TRY(read_settings(reader, rpinn_yaml_get(root, "settings")));
  RPINN_TRY(read_presets(reader, rpinn_yaml_get(root, "presets")));
  RPINN_TRY(apply_options(reader, options));
  RPINN_TRY(resolve_constants(reader));
  RPINN_TRY(check_presets(reader));
  RPINN_TRY(read_coordinates(reader, coordinates));
  RPINN_TRY(read_fields(reader, fields));
  RPINN_TRY(read_unknowns(reader, rpinn_yaml_get(root, "unknowns")));
  RPINN_TRY(read_quantities(reader, rpinn_yaml_get(root, "quantities")));
  const char **coordinate_names = RPINN_ARENA_NEW(problem->arena, const char *, RPINN_MAX_COORDINATES);
  const char **field_names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_fields);
  const char **unknown_names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_unknowns);
  if (!coordinate_names || !field_names || !unknown_names) return rpinn_fail_memory(reader->context);
  collect_names(problem, coordinate_names, field_names, unknown_names);
  RPINN_TRY(read_data_file(reader, rpinn_yaml_get(root, "data"), options));
  RPINN_TRY(read_truth(reader, rpinn_yaml_get(root, "truth")));
  RPINN_TRY(read_terms(reader, terms));
  RPINN_TRY(read_prior(reader, rpinn_yaml_get(root, "prior")));
  return read_predict(reader, rpinn_yaml_get(root, "predict"));
}

const char *rpinn_problem_path(RpinnProblem *problem, const char *file) {
  if (file[0] == '/' || !problem->folder[0]) return rpinn_arena_copy_text(problem->arena, file, strlen(file));
  size_t folder_length = strlen(problem->folder), length = strlen(file);
  char *path = rpinn_arena_allocate(problem->arena, folder_length + length + 1, 1);
  if (!path) return NULL;
  memcpy(path, problem->folder, folder_length);
  memcpy(path + folder_length, file, length);
  return path;
}

static RpinnStatus create_problem(RpinnContext *context, const char *file, RpinnProblem **problem) {
  RpinnArena *arena = rpinn_arena_create();
  *problem = arena ? RPINN_ARENA_NEW(arena, RpinnProblem, 1) : NULL;
  if (!*problem) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  (*problem)->arena = arena;
  const char *slash = strrchr(file, '/');
  (*problem)->file = rpinn_arena_copy_text(arena, file, strlen(file));
  (*problem)->folder = rpinn_arena_copy_text(arena, file, slash ? (size_t)(slash - file) + 1 : 0);
  RpinnStatus status = (*problem)->file && (*problem)->folder
                           ? rpinn_expression_pool_create(context, &(*problem)->pool)
                           : rpinn_fail_memory(context);
  if (status != RPINN_OK) {
    rpinn_problem_destroy(*problem);
    *problem = NULL;
  }
  return status;
}

RpinnStatus rpinn_problem_parse(RpinnContext *context, const char *file, const char *text, size_t length,
                                const RpinnProblemOptions *options, RpinnProblem **problem) {
  RPINN_TRY(create_problem(context, file, problem));
  RpinnReader reader = {context, *problem};
  RpinnYaml *root;
  RpinnStatus status = rpinn_yaml_parse(context, (*problem)->arena, (*problem)->file, text, length, &root);
  if (status == RPINN_OK) status = read_problem(&reader, root, options);
  if (status != RPINN_OK) {
    rpinn_problem_destroy(*problem);
    *problem = NULL;
  }
  return status;
}

static RpinnStatus load_file(RpinnContext *context, const char *path, const RpinnProblemOptions *options,
                             RpinnProblem **problem) {
  RpinnText bytes = {0};
  RpinnStatus status = rpinn_file_read(context, path, RPINN_YAML_MAX_MEBIBYTES, &bytes);
  if (status == RPINN_OK)
    status =
        rpinn_problem_parse(context, path, bytes.bytes ? bytes.bytes : "", bytes.length, options, problem);
  rpinn_text_free(&bytes);
  return status;
}

static bool looks_like_a_path(const char *text) {
  size_t length = strlen(text);
  return strchr(text, '/') || (length > 5 && !strcmp(text + length - 5, ".yaml")) ||
         (length > 4 && !strcmp(text + length - 4, ".yml"));
}

RpinnStatus rpinn_problem_load(RpinnContext *context, const char *name_or_path,
                               const RpinnProblemOptions *options, RpinnProblem **problem) {
  *problem = NULL;
  if (looks_like_a_path(name_or_path)) return load_file(context, name_or_path, options, problem);
  for (size_t i = 0; i < rpinn_shipped_count(); i++)
    if (!strcmp(rpinn_shipped_name(i), name_or_path))
      return rpinn_problem_parse(context, rpinn_shipped_name(i), rpinn_shipped_text(i),
                                 strlen(rpinn_shipped_text(i)), options, problem);
  if (access(name_or_path, F_OK) == 0) return load_file(context, name_or_path, options, problem);
  const char **names = calloc(rpinn_shipped_count() + 1, sizeof *names);
  if (!names) return rpinn_fail_memory(context);
  for (size_t i = 0; i < rpinn_shipped_count(); i++) names[i] = rpinn_shipped_name(i);
  const char *near = rpinn_nearest_name(name_or_path, names, rpinn_shipped_count());
  free(names);
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "no problem '%s'; expected a shipped name (rpinn list shows them) or a path to a YAML file%s%s%s",
      name_or_path, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

void rpinn_problem_destroy(RpinnProblem *problem) {
  if (!problem) return;
  rpinn_expression_pool_destroy(problem->pool);
  rpinn_arena_destroy(problem->arena); /* the problem itself lives in it */
}

const char *rpinn_problem_name(const RpinnProblem *problem) {
  return problem->name;
}
size_t rpinn_problem_num_terms(const RpinnProblem *problem) {
  return problem->num_terms;
}
const char *rpinn_problem_term_name(const RpinnProblem *problem, size_t term) {
  return problem->terms[term].name;
}
const char *rpinn_problem_setting_text(const RpinnProblem *problem, RpinnSetting setting) {
  return problem->settings.values[setting].text;
}
double rpinn_problem_setting_number(const RpinnProblem *problem, RpinnSetting setting) {
  return problem->settings.values[setting].number;
}
size_t rpinn_problem_num_presets(const RpinnProblem *problem) {
  return problem->num_presets;
}
const char *rpinn_problem_preset_name(const RpinnProblem *problem, size_t preset) {
  return problem->presets[preset].name;
}
