/* The sections that say with which numbers and settings: constants, settings, presets, and what was given
 * from outside the file. */
#include <string.h>

#include "problem_sections.h"

RpinnStatus rpinn_section_constants(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_size(reader, node, "constants", 0, RPINN_MAX_NAMES));
  problem->constants = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, node->count);
  if (!problem->constants) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(rpinn_reader_new_name(reader, node->keys[i], "constant"));
    RPINN_TRY(rpinn_reader_named(reader, node->keys[i], node->items[i], &problem->constants[i]));
    problem->num_constants++;
  }
  return RPINN_OK;
}

/* `nuts: {warmup: 500}` among settings or in a preset: values for one method. */
static bool is_for_method(const RpinnYaml *key, const RpinnYaml *value) {
  return value->kind == RPINN_YAML_MAPPING && rpinn_setting_has_choice(RPINN_SETTING_METHOD, key->text);
}

static RpinnStatus allocate_preset(RpinnReader *reader, const RpinnYaml *values, RpinnPreset *preset) {
  RpinnArena *arena = reader->problem->arena;
  size_t count = values->count;
  for (size_t k = 0; k < values->count; k++)
    if (is_for_method(values->keys[k], values->items[k])) count += values->items[k]->count;
  preset->names = RPINN_ARENA_NEW(arena, const char *, count);
  preset->values = RPINN_ARENA_NEW(arena, const char *, count);
  preset->methods = RPINN_ARENA_NEW(arena, const char *, count);
  preset->name_places = RPINN_ARENA_NEW(arena, RpinnPlace, count);
  preset->value_places = RPINN_ARENA_NEW(arena, RpinnPlace, count);
  if (!preset->names || !preset->values || !preset->methods || !preset->name_places || !preset->value_places)
    return rpinn_fail_memory(reader->context);
  return RPINN_OK;
}

static RpinnStatus add_to_preset(RpinnReader *reader, const char *method, const RpinnYaml *key,
                                 const RpinnYaml *value, RpinnPreset *preset) {
  size_t k = preset->num_values;
  if (method && !strcmp(key->text, "method"))
    return rpinn_fail_at(reader->context, key->place,
                         "'method' stands among the settings of %s; expected it outside", method);
  preset->names[k] = key->text;
  preset->methods[k] = method;
  preset->name_places[k] = key->place;
  preset->value_places[k] = rpinn_reader_text_place(value);
  RPINN_TRY(rpinn_reader_text(reader, value, key->text, &preset->values[k]));
  preset->num_values++;
  return RPINN_OK;
}

static RpinnStatus add_for_method(RpinnReader *reader, const RpinnYaml *method, const RpinnYaml *values,
                                  RpinnPreset *preset) {
  for (size_t k = 0; k < values->count; k++)
    RPINN_TRY(add_to_preset(reader, method->text, values->keys[k], values->items[k], preset));
  return RPINN_OK;
}

/* What is for all methods comes first, so that what is for one has the last word. */
static RpinnStatus read_preset(RpinnReader *reader, const RpinnYaml *values, RpinnPreset *preset) {
  RPINN_TRY(allocate_preset(reader, values, preset));
  for (size_t k = 0; k < values->count; k++)
    if (!is_for_method(values->keys[k], values->items[k]))
      RPINN_TRY(add_to_preset(reader, NULL, values->keys[k], values->items[k], preset));
  for (size_t k = 0; k < values->count; k++)
    if (is_for_method(values->keys[k], values->items[k]))
      RPINN_TRY(add_for_method(reader, values->keys[k], values->items[k], preset));
  return RPINN_OK;
}

RpinnStatus rpinn_section_settings(RpinnReader *reader, const RpinnYaml *node) {
  RpinnPreset *for_methods = &reader->problem->method_settings;
  rpinn_settings_reset(&reader->problem->settings);
  if (!node) return RPINN_OK;
  const char *names[RPINN_NUM_SETTINGS + RPINN_MAX_CHOICES];
  size_t num_names = 0;
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++)
    names[num_names++] = rpinn_setting_definition((RpinnSetting)i)->name;
  RPINN_TRY(rpinn_reader_mapping(reader, node, "settings"));
  for (size_t i = 0; i < node->count && num_names < sizeof names / sizeof names[0]; i++)
    if (is_for_method(node->keys[i], node->items[i])) names[num_names++] = node->keys[i]->text;
  RPINN_TRY(rpinn_reader_keys(reader, node, "settings", names, num_names));
  RPINN_TRY(allocate_preset(reader, node, for_methods));
  for (size_t i = 0; i < node->count; i++) {
    const char *text;
    if (is_for_method(node->keys[i], node->items[i])) {
      RPINN_TRY(add_for_method(reader, node->keys[i], node->items[i], for_methods));
      continue;
    }
    RPINN_TRY(rpinn_reader_text(reader, node->items[i], node->keys[i]->text, &text));
    RPINN_TRY(rpinn_settings_set(reader->context, &reader->problem->settings,
                                 rpinn_setting_find(node->keys[i]->text), text, node->items[i]->place));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_section_presets(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_size(reader, node, "presets", 0, RPINN_MAX_NAMES));
  problem->presets = RPINN_ARENA_NEW(problem->arena, RpinnPreset, node->count);
  if (!problem->presets) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    char buffer[RPINN_WHAT_SIZE];
    RPINN_TRY(rpinn_reader_mapping(reader, node->items[i],
                                   rpinn_reader_what(buffer, "preset '%s'", node->keys[i]->text)));
    RpinnPreset *preset = &problem->presets[problem->num_presets++];
    *preset = (RpinnPreset){.name = node->keys[i]->text, .place = node->keys[i]->place};
    RPINN_TRY(read_preset(reader, node->items[i], preset));
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

static RpinnStatus check_preset(RpinnReader *reader, const RpinnPreset *preset,
                                RpinnSettingsValues *scratch) {
  RpinnProblem *problem = reader->problem;
  for (size_t k = 0; k < preset->num_values; k++) {
    RpinnSetting setting = rpinn_setting_find(preset->names[k]);
    RpinnExpression value;
    bool is_constant = false;
    for (size_t c = 0; c < problem->num_constants; c++)
      is_constant |= !strcmp(problem->constants[c].name, preset->names[k]);
    if (setting == RPINN_NUM_SETTINGS && !is_constant)
      return fail_unknown_override(reader, preset->name_places[k], preset->names[k]);
    if (setting != RPINN_NUM_SETTINGS)
      RPINN_TRY(
          rpinn_settings_set(reader->context, scratch, setting, preset->values[k], preset->value_places[k]));
    else
      RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_CONSTANTS, preset->values[k],
                                         preset->value_places[k], &value));
  }
  return RPINN_OK;
}

/* Every preset must make sense, chosen or not, and so must what is said for other methods: the names are known
 * and the values are settings or constant expressions. The constants are resolved. */
RpinnStatus rpinn_section_check_presets(RpinnReader *reader) {
  RpinnProblem *problem = reader->problem;
  RpinnSettingsValues *scratch = RPINN_ARENA_NEW(problem->arena, RpinnSettingsValues, 1);
  if (!scratch) return rpinn_fail_memory(reader->context);
  RPINN_TRY(check_preset(reader, &problem->method_settings, scratch));
  for (size_t i = 0; i < problem->num_presets; i++)
    RPINN_TRY(check_preset(reader, &problem->presets[i], scratch));
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

static RpinnStatus find_preset(RpinnReader *reader, const char *name, const RpinnPreset **preset) {
  RpinnProblem *problem = reader->problem;
  const char **known = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_presets);
  if (!known) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_presets; i++) {
    known[i] = problem->presets[i].name;
    *preset = &problem->presets[i];
    if (!strcmp(known[i], name)) return RPINN_OK;
  }
  return rpinn_reader_fail_unknown(reader, (RpinnPlace){.file = "--preset"}, "preset", name, known,
                                   problem->num_presets);
}

/* The method that will be used: the command line's, else the preset's, else that of `settings:`. */
static const char *chosen_method(const RpinnProblem *problem, const RpinnPreset *preset,
                                 const RpinnProblemOptions *options) {
  const char *method = problem->settings.values[RPINN_SETTING_METHOD].text;
  for (size_t k = 0; preset && k < preset->num_values; k++)
    if (!strcmp(preset->names[k], "method")) method = preset->values[k];
  for (size_t i = 0; options && i < options->num_overrides; i++)
    if (!strcmp(options->overrides[i].name, "method")) method = options->overrides[i].value;
  return method;
}

static RpinnStatus apply_preset(RpinnReader *reader, const RpinnPreset *preset, const char *method) {
  for (size_t k = 0; k < preset->num_values; k++)
    if (!preset->methods[k] || !strcmp(preset->methods[k], method))
      RPINN_TRY(override(reader, preset->names[k], preset->values[k], false, preset->name_places[k],
                         preset->value_places[k]));
  return RPINN_OK;
}

RpinnStatus rpinn_section_apply_options(RpinnReader *reader, const RpinnProblemOptions *options) {
  const RpinnPreset *preset = NULL;
  if (options && options->preset) RPINN_TRY(find_preset(reader, options->preset, &preset));
  const char *method = chosen_method(reader->problem, preset, options);
  RPINN_TRY(apply_preset(reader, &reader->problem->method_settings, method));
  if (preset) RPINN_TRY(apply_preset(reader, preset, method));
  for (size_t i = 0; options && i < options->num_overrides; i++) {
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
RpinnStatus rpinn_section_resolve_constants(RpinnReader *reader) {
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
