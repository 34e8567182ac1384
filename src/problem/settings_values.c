/* The settings table at work. */
#include "settings_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

static const RpinnSettingDefinition definitions[RPINN_NUM_SETTINGS] = {
#define RPINN_SETTING_ROW(name, text, kind, role, initial, lowest, highest, choices, help)                   \
  {text, RPINN_SETTING_##kind, RPINN_SETTING_##role, initial, lowest, highest, choices, help},
    RPINN_SETTING_LIST(RPINN_SETTING_ROW)
#undef RPINN_SETTING_ROW
};

const RpinnSettingDefinition *rpinn_setting_definition(RpinnSetting setting) {
  return (size_t)setting < RPINN_NUM_SETTINGS ? &definitions[setting] : NULL;
}

RpinnSetting rpinn_setting_find(const char *name) {
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++)
    if (!strcmp(definitions[i].name, name)) return (RpinnSetting)i;
  return RPINN_NUM_SETTINGS;
}

/* "auto" is a value exactly where it is the default. */
static bool has_auto(RpinnSetting setting) {
  return !strcmp(definitions[setting].initial, "auto");
}

#define LARGE 1e100 /* a limit that nobody meets is not worth showing */

static void describe_reals(const RpinnSettingDefinition *definition, const char *also, char *text,
                           size_t size) {
  bool any_positive = definition->lowest < 1 / LARGE;
  if (isinf(definition->highest))
    snprintf(text, size, "a number above 0, inf included%s%s%s", definition->choices[0] ? ", one of " : "",
             definition->choices, also);
  else if (definition->highest < LARGE && any_positive)
    rpinn_format(text, size, "a number above 0 and at most %g%s", definition->highest, also);
  else if (definition->highest < LARGE)
    rpinn_format(text, size, "a number from %g to %g%s", definition->lowest, definition->highest, also);
  else if (any_positive)
    snprintf(text, size, "a number above 0%s", also);
  else
    rpinn_format(text, size, "a number of at least %g%s", definition->lowest, also);
}

static void describe_range(RpinnSetting setting, char *text, size_t size) {
  const RpinnSettingDefinition *definition = &definitions[setting];
  const char *also = has_auto(setting) ? " or auto" : "";
  switch (definition->kind) {
  case RPINN_SETTING_INTEGER:
    rpinn_format(text, size, "a whole number from %.0f to %.16g%s", definition->lowest, definition->highest,
                 also);
    break;
  case RPINN_SETTING_REAL: describe_reals(definition, also, text, size); break;
  case RPINN_SETTING_CHOICE:
    snprintf(text, size, "%s%s%s", strchr(definition->choices, '|') ? "one of " : "", definition->choices,
             has_auto(setting) ? "|auto" : "");
    break;
  case RPINN_SETTING_TEXT:
    snprintf(text, size, "one of %s%s", definition->choices, has_auto(setting) ? "|auto" : "");
    break;
  }
}

void rpinn_setting_describe(RpinnSetting setting, char *text, size_t size) {
  char range[256];
  describe_range(setting, range, sizeof range);
  snprintf(text, size, "%s; default %s", range, definitions[setting].initial);
}

/* The choice nearest to a typo, for the message; false when none is near. */
static bool nearest_choice(const char *choices, const char *typo, char near[64]) {
  const char *known[RPINN_MAX_CHOICES];
  char words[RPINN_MAX_CHOICES][64];
  size_t count = 0;
  for (const char *start = choices; *start && count < RPINN_MAX_CHOICES; count++) {
    size_t width = strcspn(start, "|");
    snprintf(words[count], sizeof words[count], "%.*s", (int)width, start);
    known[count] = words[count];
    start += width + (start[width] == '|');
  }
  const char *name = rpinn_nearest_name(typo, known, count);
  if (name) snprintf(near, 64, "%s", name);
  return name != NULL;
}

static int count_choices(const char *choices) {
  int count = 1;
  for (; *choices; choices++) count += *choices == '|';
  return count;
}

/* Position of text among "a|b|c"; -1 when it is none of them. */
static int choice_position(const char *choices, const char *text) {
  size_t length = strlen(text);
  int position = 0;
  for (const char *start = choices; *start; position++) {
    size_t width = strcspn(start, "|");
    if (width == length && !strncmp(start, text, width)) return position;
    start += width + (start[width] == '|');
  }
  return -1;
}

int rpinn_settings_choice(const RpinnSettingsValues *settings, RpinnSetting setting) {
  return settings->values[setting].is_auto ? -1 : (int)settings->values[setting].number;
}

bool rpinn_setting_has_choice(RpinnSetting setting, const char *text) {
  return choice_position(definitions[setting].choices, text) >= 0;
}

RpinnStatus rpinn_setting_fail_value(RpinnContext *context, RpinnSetting setting, const char *text,
                                     RpinnPlace place) {
  char range[256], near[64];
  describe_range(setting, range, sizeof range);
  bool suggests = nearest_choice(definitions[setting].choices, text, near);
  return rpinn_fail_at(context, place, "%s is '%s'; expected %s%s%s%s", definitions[setting].name, text,
                       range, suggests ? "; did you mean '" : "", suggests ? near : "", suggests ? "'?" : "");
}

static bool parse_number(RpinnSetting setting, const char *text, double *number) {
  const RpinnSettingDefinition *definition = &definitions[setting];
  if (!rpinn_number_parse(text, number)) return false;
  if (definition->kind == RPINN_SETTING_INTEGER && *number != floor(*number)) return false;
  return *number >= definition->lowest && *number <= definition->highest;
}

RpinnStatus rpinn_settings_set(RpinnContext *context, RpinnSettingsValues *settings, RpinnSetting setting,
                               const char *text, RpinnPlace place) {
  double number = NAN;
  bool is_auto = has_auto(setting) && !strcmp(text, "auto");
  char canonical[RPINN_SETTING_TEXT_SIZE];
  if (strlen(text) >= sizeof canonical)
    return rpinn_fail_at(context, place, "the value of %s has %zu characters; expected fewer than %d",
                         definitions[setting].name, strlen(text), RPINN_SETTING_TEXT_SIZE);
  snprintf(canonical, sizeof canonical, "%s", text);
  switch (definitions[setting].kind) {
  case RPINN_SETTING_INTEGER:
  case RPINN_SETTING_REAL:
    if (is_auto || choice_position(definitions[setting].choices, text) >= 0) break;
    if (!parse_number(setting, text, &number)) return rpinn_setting_fail_value(context, setting, text, place);
    if (definitions[setting].kind == RPINN_SETTING_INTEGER)
      rpinn_format(canonical, sizeof canonical, "%.0f", number + 0.0); /* not -0 */
    else
      rpinn_number_format(number, canonical);
    break;
  case RPINN_SETTING_CHOICE:
    if (is_auto) break;
    number = choice_position(definitions[setting].choices, text);
    if (number < 0) return rpinn_setting_fail_value(context, setting, text, place);
    break;
  case RPINN_SETTING_TEXT:
    if (is_auto) break;
    /* A path may be anything, so that only what looks like a typo of one of the words is refused. */
    if (!*text || (choice_position(definitions[setting].choices, text) < 0 && access(text, F_OK) != 0 &&
                   nearest_choice(definitions[setting].choices, text, (char[64]){0})))
      return rpinn_setting_fail_value(context, setting, text, place);
    number = choice_position(definitions[setting].choices, text);
    if (number < 0) number = count_choices(definitions[setting].choices) - 1;
    break;
  }
  settings->values[setting].number = number;
  settings->values[setting].is_auto = is_auto;
  memcpy(settings->values[setting].text, canonical, sizeof canonical);
  return RPINN_OK;
}

uint64_t rpinn_settings_seed(const RpinnSettingsValues *settings, RpinnSetting setting) {
  if (settings->values[setting].is_auto) setting = RPINN_SETTING_DATA_SEED;
  if (settings->values[setting].is_auto) setting = RPINN_SETTING_SEED;
  return (uint64_t)settings->values[setting].number;
}

void rpinn_settings_reset(RpinnSettingsValues *settings) {
  RpinnContext unused = {0}; /* the defaults are valid: a test sets each of them */
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++)
    rpinn_settings_set(&unused, settings, (RpinnSetting)i, definitions[i].initial, (RpinnPlace){0});
}
