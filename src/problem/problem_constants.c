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

RpinnStatus rpinn_section_settings(RpinnReader *reader, const RpinnYaml *node) {
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

RpinnStatus rpinn_section_presets(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_size(reader, node, "presets", 0, RPINN_MAX_NAMES));
  problem->presets = RPINN_ARENA_NEW(problem->arena, RpinnPreset, node->count);
  if (!problem->presets) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *values = node->items[i];
    char buffer[RPINN_WHAT_SIZE];
    RPINN_TRY(
        rpinn_reader_mapping(reader, values, rpinn_reader_what(buffer, "preset '%s'", node->keys[i]->text)));
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
RpinnStatus rpinn_section_check_presets(RpinnReader *reader) {
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

RpinnStatus rpinn_section_apply_options(RpinnReader *reader, const RpinnProblemOptions *options) {
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
